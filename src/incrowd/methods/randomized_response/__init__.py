"""Randomized response: every cell of rows × items lies with a small, known probability."""

from incrowd.methods.randomized_response.method import RandomizedResponse

__all__ = ["RandomizedResponse"]
