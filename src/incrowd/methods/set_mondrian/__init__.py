"""Mondrian on sets: cut the rows in two by whether they hold an item, and again."""

from incrowd.methods.set_mondrian.method import SetMondrian

__all__ = ["SetMondrian"]
