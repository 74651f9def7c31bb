"""Loops of facility location."""
