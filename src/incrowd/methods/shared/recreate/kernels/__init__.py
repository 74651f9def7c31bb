"""Loops of ruin and recreate."""
