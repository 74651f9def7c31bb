"""Measures of a release: losses, risk, attacks, utility."""
