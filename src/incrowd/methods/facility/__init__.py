"""Facility location: groups are the clients of rows that were opened at a price."""

from incrowd.methods.facility.method import Facility

__all__ = ["Facility"]
