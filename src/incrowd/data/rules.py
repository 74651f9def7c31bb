"""Rules p → s: public items that somebody may know, and sensitive ones they must not tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules in numbers of the items ``names``, in the order in which they were stated.

    Rule r has the public items ``public[public_starts[r]:public_starts[r + 1]]`` and the
    sensitive ones ``sensitive[sensitive_starts[r]:sensitive_starts[r + 1]]``, each ascending,
    distinct and at least one. ``names`` are the items' names as texts.
    """

    public_starts: NDArray[np.int64]
    public: NDArray[np.int32]
    sensitive_starts: NDArray[np.int64]
    sensitive: NDArray[np.int32]
    names: pa.Array

    @property
    def n_rules(self) -> int:
        """How many rules there are."""
        return len(self.public_starts) - 1
