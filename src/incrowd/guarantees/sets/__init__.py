"""Guarantees of sets: smooth, majority, suppression, differential privacy."""
