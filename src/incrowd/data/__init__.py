"""Data at rest and at the edge: roles, hierarchies, codes, files."""
