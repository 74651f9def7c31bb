"""The greedy method (GkAA)."""
