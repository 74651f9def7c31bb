"""Greedy merging of groups (GkAA), whole or in partitions (PGPkAA)."""

from incrowd.methods.greedy.method import Greedy

__all__ = ["Greedy"]
