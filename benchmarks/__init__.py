"""Workloads that measure time, peak memory and loss together, and the tables made from them."""
