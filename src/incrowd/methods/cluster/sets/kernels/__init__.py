"""Loops of the cluster method of sets."""
