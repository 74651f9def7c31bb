"""Transactions: rules, roles of items, generalized items."""
