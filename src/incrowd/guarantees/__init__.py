"""Promises about a release, one per file, each with its check on the released file.

Nothing here imports a method or a kernel: a check recomputes everything from the file.
"""
