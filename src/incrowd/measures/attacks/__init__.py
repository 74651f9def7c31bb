"""Attacks on a release, each a finding that informs."""
