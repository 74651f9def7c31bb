"""Cluster: cut the table top down, then tear small parts up and rebuild them cheaper."""

from incrowd.methods.cluster.method import Cluster

__all__ = ["Cluster"]
