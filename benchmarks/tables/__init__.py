"""Methods on Adult by settings and k."""
