"""Losses that see only how large the released groups are, not what they show."""

from __future__ import annotations

from incrowd.metrics.tally import Tally


def discernibility(tally: Tally) -> float:
    """Return how many rows each row cannot be told from, summed; a suppressed row counts all.

    Bayardo & Agrawal 2005, with Σ |E|² over released groups and n per suppressed row.
    """
    within = int((tally.group_sizes * tally.group_sizes).sum())
    return float(within + tally.n_suppressed * tally.n_rows)


def average_class_size(tally: Tally) -> float:
    """Return the mean size of the released groups in units of k.

    LeFevre et al. 2006. A release without rows counts as one group of all, the worst there is.
    """
    n_groups = len(tally.group_sizes)
    if n_groups == 0:
        return tally.n_rows / tally.k
    return (tally.n_rows - tally.n_suppressed) / (n_groups * tally.k)
