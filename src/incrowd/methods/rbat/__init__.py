"""RBAT: rule-based anonymization of transactions."""
