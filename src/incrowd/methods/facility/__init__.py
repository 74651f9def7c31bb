"""Facility location (the papers' algorithms)."""
