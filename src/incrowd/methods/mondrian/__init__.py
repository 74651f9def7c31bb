"""Mondrian on tables and sets."""
