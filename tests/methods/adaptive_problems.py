"""Small problems of adaptive anonymity."""

import numpy as np

from incrowd.methods.adaptive.search import Problem


def problem_of(rows, k, n_values=None, is_bit=False):
    """Return rows of codes and everybody's k as a ``Problem``."""
    n_columns = -1 if n_values is None else len(n_values)
    codes = np.ascontiguousarray(np.asarray(rows, dtype=np.int32).reshape(len(rows), n_columns).T)
    if n_values is None:
        n_values = codes.max(axis=1, initial=0) + 1
    return Problem(
        codes, np.asarray(n_values, dtype=np.int64), np.asarray(k, dtype=np.int32), is_bit
    )
