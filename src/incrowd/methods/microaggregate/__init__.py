"""Microaggregation: groups of rows with near numbers, each shown as its mean."""

from incrowd.methods.microaggregate.method import Microaggregate

__all__ = ["Microaggregate"]
