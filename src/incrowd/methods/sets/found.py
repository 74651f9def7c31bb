"""What a search over sets finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """Groups of rows, numbered from 0 by their first rows, and what the search says of itself.

    ``settings`` are fields of the method that left something open, with what they came to.
    """

    group_of_row: NDArray[np.int32]
    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    settings: Mapping[str, int | float | str] = field(default_factory=dict)
