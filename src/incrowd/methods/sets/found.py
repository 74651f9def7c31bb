"""What a search over sets comes back with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Found:
    """Groups of rows, numbered from 0 by their first rows, and figures of how they came about.

    ``settings`` are fields of the method that left something open, with what they came to.
    """

    group_of_row: NDArray[np.int32]
    figures: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)


def numbered_by_first_row(group_of_row: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the same groups, numbered from 0 in the order of their first rows."""
    from incrowd.methods.sets.kernel_vote import renumbered

    return renumbered(group_of_row)
