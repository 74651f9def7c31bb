"""Mondrian: cut the table top down, along one column at a time."""

from incrowd.methods.mondrian.method import Mondrian

__all__ = ["Mondrian"]
