"""Numba loops that several methods share: plain functions on arrays, compiled once and cached."""
