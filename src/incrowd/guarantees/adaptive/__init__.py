"""Adaptive anonymity: a crowd of the size that each person asked for."""
