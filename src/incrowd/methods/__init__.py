"""Searches that keep a guarantee: one folder each, listed in ``table.METHODS``."""
