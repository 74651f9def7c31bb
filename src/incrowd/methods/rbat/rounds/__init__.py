"""MR-RBAT: the search by rounds on an engine."""
