"""Guarantees of transactions: protected rules, kᵐ-anonymity."""
