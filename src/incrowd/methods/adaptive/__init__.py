"""Adaptive anonymity by covers and partitions."""
