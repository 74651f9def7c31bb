"""Mondrian's cutting of tables."""
