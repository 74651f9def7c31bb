"""Adaptive anonymity beside its paper."""
