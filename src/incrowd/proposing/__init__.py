"""Proposals: roles, hierarchies and a job for a table, and what a release of it would lose."""
