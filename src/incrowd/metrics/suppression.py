"""Losses that count what is not shown at all."""

from __future__ import annotations

from incrowd.metrics.tally import Tally


def suppressed_cells(tally: Tally) -> float:
    """Return the share of cells at the root of their hierarchy, suppressed rows included."""
    if tally.n_cells == 0:
        return 0.0
    pairs = zip(tally.hierarchies, tally.after, strict=True)
    at_root = sum(int(after[hierarchy.root]) for hierarchy, after in pairs)
    return at_root / tally.n_cells


def suppressed_rows(tally: Tally) -> float:
    """Return the share of rows that are left out of the release."""
    return tally.n_suppressed / tally.n_rows
