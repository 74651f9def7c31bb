"""Microaggregation: groups of rows with near numbers, each shown as its mean."""
