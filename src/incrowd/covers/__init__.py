"""b-edge covers and b-matchings of any weighted graph.

A graph is three arrays, an entry per edge: its ends ``u`` and ``v`` (vertices count from 0) and its
``weight``; ``b`` has an entry per vertex. What comes back says of every edge whether it is taken.

>>> import numpy as np
>>> u, v = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3])
>>> weight = np.array([1, 5, 6, 2, 7, 3])
>>> mce(u, v, weight, b=np.array([1, 1, 1, 1])).tolist()
[True, False, False, False, False, True]

Edges are ordered strictly, by weight, then by their smaller and their larger end, so that every
result is unique and the same on every machine. Khan, Choromanski, Pothen, Ferdous, Halappanavar
and Tumeo (2018) group people by such covers; Khan, Pothen and Ferdous (2018) is where they are
compared.
"""

from incrowd.covers.cover import b_matching, lse, mce, mce_by_matching, nearest

__all__ = ["b_matching", "lse", "mce", "mce_by_matching", "nearest"]
