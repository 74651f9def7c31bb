"""Microaggregation: groups show means."""
