"""Numba loops that several methods share: plain functions on arrays, compiled once and cached.

Numba's cache looks at a kernel's own file alone. After a change to a kernel that kernels of other
files call, remove their ``*.nbi`` and ``*.nbc`` files, or old code runs.
"""
