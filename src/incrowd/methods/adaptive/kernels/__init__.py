"""Loops of the adaptive method."""
