"""From all public items in one part down to parts that no further split would keep valid."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.interrupts import is_end_wished
from incrowd.methods.rbat.feasible import refuse_problem
from incrowd.methods.rbat.keep_km import KmKeeper
from incrowd.methods.rbat.keep_rules import RuleKeeper
from incrowd.methods.rbat.parts import Parts, Split
from incrowd.methods.rbat.problem import problem_of
from incrowd.methods.rbat.promise import FoundParts, KmPromise, RulePromise, SplitTree
from incrowd.progress import Progress

STAGE = "splitting items"


class Keeper(Protocol):
    """Says of a split whether the promise is kept, and follows what was made of it."""

    def keeps(self, split: Split) -> bool:
        """Whether the promise is kept once this split is made."""

    def accepted(self, split: Split, left: int, right: int) -> None:
        """Take note that a part has become two."""

    def rejected(self, split: Split) -> None:
        """Take note that a part stays as it is."""


def search(
    sets: Sets,
    promise: RulePromise | KmPromise,
    *,
    alpha: int | str,
    gamma: int,
    order: str,
    progress: Progress,
) -> FoundParts:
    """Return a partition of the public items that keeps the promise.

    Raises InfeasibleError where not even one part of all items does. An end that is wished for
    returns the parts as they are, which keep it too.
    """
    problem = problem_of(sets, promise)
    if not problem.n_public:
        part_of_item = np.full(sets.n_items, -1, dtype=np.int32)
        none = np.empty(0, dtype=np.int32)
        return FoundParts(part_of_item, SplitTree(none, none, none))
    refuse_problem(problem, promise)
    parts = Parts(problem)
    keeper: Keeper = (
        KmKeeper(parts, promise)
        if isinstance(promise, KmPromise)
        else RuleKeeper(parts, promise, gamma)
    )
    n_tried = split_down(parts, keeper, alpha, order, progress)
    figures: dict[str, object] = {"splits_tried": n_tried, "parts": parts.n_leaves}
    if problem.n_absent:
        figures["absent_rules"] = problem.n_absent
    return FoundParts(_numbered(parts.part_of_item, problem.items, sets.n_items), parts.tree(), figures)


def split_down(
    parts: Parts, keeper: Keeper, alpha: int | str, order: str, progress: Progress
) -> int:
    """Split part after part, first come first served (Algorithm 1); return how many were tried."""
    queue = deque([0])
    n_settled = n_tried = 0
    while queue and not is_end_wished():
        part = queue.popleft()
        n_items = len(parts.items[part])
        if n_items == 1:
            n_settled += 1
            continue
        split = parts.begin(part, alpha, order)
        n_tried += 1
        if keeper.keeps(split):
            sides = parts.accept(split)
            keeper.accepted(split, *sides)
            queue.extend(sides)
        else:
            keeper.rejected(split)
            n_settled += n_items
        parts.end(split)
        progress(STAGE, n_settled, parts.problem.n_public)
    return n_tried


def _numbered(
    part_of_public: NDArray[np.int32], items: NDArray[np.int32], n_items: int
) -> NDArray[np.int32]:
    """Return a part for every item, numbered by their first items; −1 for all other items."""
    parts, firsts, numbers = np.unique(part_of_public, return_index=True, return_inverse=True)
    place = np.empty(len(parts), dtype=np.int32)
    place[np.argsort(firsts)] = np.arange(len(parts), dtype=np.int32)
    part_of_item = np.full(n_items, -1, dtype=np.int32)
    part_of_item[items] = place[numbers]
    return part_of_item
