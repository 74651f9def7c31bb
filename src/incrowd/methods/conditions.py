"""What every group must meet, as arrays: the guarantee in the words of a search.

Methods test validity with loops of their own (``kernels/validity.py``); the audit recomputes
everything from the released file with other code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SensitiveCondition:
    """l-diversity and t-closeness of one sensitive column.

    ``codes[row]`` is the value's number, −1 where it is missing or ``*`` (no distinct value, but
    a value of its own for t). ``l`` is 0 where no diversity is asked for; ``l_kind`` is distinct,
    entropy or recursive, the last with ``c``. ``t`` is −1.0 where no closeness is asked for.

    Every distance between distributions is the earth mover's distance on a tree:
    Σ over nodes of ``tree_weight[node]`` · |share of the group under it − share of all rows|.
    Node i < n_values is value i, node n_values is "missing", further nodes are inner nodes;
    ``tree_parent[node]`` is larger than node, or −1 at the top.
    """

    codes: NDArray[np.int32]
    n_values: int
    l: float = 0.0  # noqa: E741
    l_kind: str = "distinct"
    c: float = 1.0
    t: float = -1.0
    tree_parent: NDArray[np.int32] | None = None
    tree_weight: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Conditions:
    """A group is valid when its crowd is large enough and its sensitive values are mixed enough.

    The crowd counts rows, or distinct ``person_of_row`` where that is given; it must reach ``k``,
    or the largest ``k_of_row`` of the group's rows where those are given.
    """

    k: int
    k_of_row: NDArray[np.int32] | None = None
    person_of_row: NDArray[np.int32] | None = None
    sensitive: tuple[SensitiveCondition, ...] = ()

    @property
    def is_size_only(self) -> bool:
        """Whether counting rows against one k is all there is to test."""
        return self.k_of_row is None and self.person_of_row is None and not self.sensitive
