"""How like its input a release of sets can be at best, whatever made it.

The Jaccard similarity of entries against the number of changed ones, after Lemmas 3.2 and 3.3 of
Esfandiari et al., *Anonymizing List Data* (5.2 and 5.3 of *Smooth Anonymity for Sparse Binary
Matrices*). Their proofs count every changed entry twice; counted once, J = 1 − φ means that
exactly φ/(1 − φ)·|E| entries are changed if all of them are created, and fewer otherwise.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def least_changes(
    n_rows: NDArray[np.int64], need: NDArray[np.int64], nearest: NDArray[np.int64]
) -> int:
    """Return how many entries every release changes at least.

    Of each distinct set: how many rows have it, the least group that one of these asks for, and
    the sum of its Hamming distances to so many nearest rows, itself among them. Why: in a group of
    s rows that show c, d(u, v) ≤ d(u, c) + d(v, c); summed over its ordered pairs that is
    Σᵤ Σᵥ d(u, v) ≤ 2(s − 1) Σᵤ d(u, c), and the s − 1 others are on average no nearer to u than
    the k − 1 nearest of all rows, k ≤ s. So Σ d(u, c) ≥ Σᵤ nearest(u) / (2(k − 1)).
    """
    least = Fraction(0)
    for k in np.unique(need[need > 1]).tolist():
        is_asked = need == k
        least += Fraction(int((n_rows[is_asked] * nearest[is_asked]).sum()), 2 * (k - 1))
    return -(-least.numerator // least.denominator)


def similarity_at_most(n_entries: int, n_changed: int, *, adds_entries: bool) -> float:
    """Return the largest similarity to so many entries if at least so many are changed.

    Entries that are created cost least: |E| / (|E| + n). If none may be, (|E| − n) / |E|.
    """
    if not n_entries:
        return 1.0 if not n_changed else 0.0
    if adds_entries:
        return n_entries / (n_entries + n_changed)
    return max(0, n_entries - n_changed) / n_entries
