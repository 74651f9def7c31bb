"""Searches over sets of items: groups of rows that will be shown as one set."""
