"""kᵐ-anonymity while parts are split."""

from __future__ import annotations

import numpy as np

from incrowd.methods.rbat import kernel_km
from incrowd.methods.rbat.parts import Parts, Split
from incrowd.methods.rbat.promise import KmPromise


class KmKeeper:
    """Counts the sets of parts that a split makes; all others are as they were."""

    def __init__(self, parts: Parts, promise: KmPromise) -> None:
        self._parts = parts
        self._promise = promise
        self._counts = np.zeros(2 * parts.problem.n_public, dtype=np.int64)
        baskets = parts.problem.baskets
        per_row = len(baskets.items) / max(1, len(baskets.n_equal))
        self._steps_per_row = max(1, round(per_row * per_row)) if promise.m > 2 else 1

    def keeps(self, split: Split) -> bool:
        """Whether every set of up to m parts that a row shows is shown by k rows."""
        parts = self._parts
        return not kernel_km.few_rows_break(
            parts.shown,
            split.rows,
            parts.flags,
            split.part,
            split.other_part,
            self._promise.m,
            self._promise.k,
            split.n_left > split.n_right,
            self._counts,
            parts.support,
        )

    def steps(self, split: Split) -> int:
        """Return the rows that are read, times the pairs in them where sets of three count."""
        return len(split.rows) * self._steps_per_row

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Nothing is kept between splits."""
