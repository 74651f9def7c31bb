"""Adaptive anonymity: every person their own k, cells shown or masked.

Start with ``method.py``; ``NOTES.md`` maps the paper to functions.
"""
