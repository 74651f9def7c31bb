"""From all public items in one part down to parts that no further split would keep valid."""

from __future__ import annotations

from collections import deque

import numpy as np

from incrowd.methods.rbat.improve import improve
from incrowd.methods.rbat.parts import Keeper, Parts
from incrowd.methods.rbat.problem import problem_of
from incrowd.methods.rbat.validity import KmKeeper, RuleKeeper, refuse_infeasible
from incrowd.methods.shared.item_parts import (
    FoundParts,
    KmConditions,
    RuleConditions,
    SplitTree,
    number_parts,
)
from incrowd.methods.shared.options import seconds_of
from incrowd.progress import Progress, is_stop_requested
from incrowd.sets.sets import Sets
from incrowd.threads import Team

STAGE = "splitting items"


def search(
    sets: Sets,
    conditions: RuleConditions | KmConditions,
    *,
    alpha: int | str,
    gamma: int,
    order: str,
    effort: int | str,
    progress: Progress,
    n_threads: int = 1,
) -> FoundParts:
    """Return a partition of the public items that meets the conditions.

    Raises InfeasibleError where not even one part of all items does. An end that is wished for
    returns the parts as they are, which keep it too.
    """
    problem = problem_of(sets, conditions)
    if not problem.n_public:
        part_of_item = np.full(sets.n_items, -1, dtype=np.int32)
        none = np.empty(0, dtype=np.int32)
        return FoundParts(part_of_item, SplitTree(none, none, none))
    refuse_infeasible(problem, conditions)
    with Team(n_threads) as team:
        parts = Parts(problem, team)
        keeper: Keeper = (
            KmKeeper(parts, conditions, team)
            if isinstance(conditions, KmConditions)
            else RuleKeeper(parts, conditions, gamma, team)
        )
        n_tried = split_down(parts, keeper, alpha, order, progress)
        n_rounds = keeper.n_rounds if isinstance(keeper, RuleKeeper) else 0
        more = improve(parts, keeper, effort, progress)
    figures: dict[str, object] = {
        "parts": parts.n_leaves,
        "splits_tried": n_tried,
        "more_splits": more.n_splits,
        "moved_items": more.n_moves,
        "passes": more.n_passes,
    }
    if isinstance(keeper, RuleKeeper):
        figures["check_rounds"] = n_rounds
    if problem.n_absent:
        figures["absent_rules"] = problem.n_absent
    part_of_item = number_parts(parts.part_of_item, problem.items, sets.n_items)
    settings: dict[str, object] = {"improve": more.n_passes} if seconds_of(effort) else {}
    return FoundParts(part_of_item, parts.tree(), figures, settings)


def split_down(
    parts: Parts, keeper: Keeper, alpha: int | str, order: str, progress: Progress
) -> int:
    """Split part after part, first come first served (Algorithm 1); return how many were tried."""
    queue = deque([0])
    n_settled = n_tried = 0
    while queue and not is_stop_requested():
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
            n_settled += n_items
        parts.end(split)
        progress(STAGE, n_settled, parts.problem.n_public)
    return n_tried
