"""Guarantees of tables: k-anonymity, l-diversity, t-closeness, further models, leaks."""
