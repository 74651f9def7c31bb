"""Attacks on a release, carried out: how often they succeed, with and without it."""
