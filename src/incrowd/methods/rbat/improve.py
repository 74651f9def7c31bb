"""Splits that the top-down pass did not think of: for parts that are larger than rules need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ldexp

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.rbat.parts import Keeper, Parts, Split
from incrowd.methods.shared.options import AUTO, FULL, QUICK, seconds_of
from incrowd.progress import Progress, is_stop_requested

STAGE = "improving parts"


N_TARGETS = 3
"""To how many other parts an item is tried to be moved."""


PASSES = {QUICK: 1, AUTO: 3, FULL: 100}
"""How many passes the words for an effort come to; a pass that changes nothing is the last."""

STEPS = {QUICK: 200_000_000, AUTO: 1_000_000_000}
"""After about how many steps the words for an effort end a search all the same."""

STEPS_PER_TRY = 20_000
"""What trying a split takes besides its check."""

MOST_PASSES = 100_000


@dataclass(frozen=True)
class Improved:
    """How many passes were made, and how many splits and moves in them."""

    n_passes: int
    n_splits: int
    n_moves: int


@dataclass
class _Steps:
    """How many steps are left; None is no bound. What they count does not depend on time."""

    left: int | None

    def take(self, n_steps: int) -> None:
        """Count the try of a split."""
        if self.left is not None:
            self.left -= n_steps + STEPS_PER_TRY

    @property
    def is_end(self) -> bool:
        """Whether the search is to end, for want of steps or because somebody wishes it."""
        return (self.left is not None and self.left <= 0) or is_stop_requested()


def improve(parts: Parts, keeper: Keeper, effort: int | str, progress: Progress) -> Improved:
    """Split and move items for so many passes, or for so long, while something changes.

    The first pass looks at all parts, the others at those that the pass before has changed. The
    conditions hold after every step, and no step raises the utility loss.
    """
    seconds = seconds_of(effort)
    if isinstance(effort, int):
        most = min(effort, MOST_PASSES)
    else:
        most = MOST_PASSES if seconds else PASSES.get(effort, 0)
    steps = _Steps(STEPS.get(effort) if isinstance(effort, str) else None)
    begin = time.monotonic()
    n_passes = n_splits = n_moves = 0
    among = set(range(len(parts.items)))
    while n_passes < most and not steps.is_end:
        n_passes += 1
        changed: set[int] = set()
        tell = _Told(progress, n_passes - 1, most)
        tell(0, 1)
        more_splits = split_further(parts, keeper, among, changed, steps)
        more_moves = move_items(parts, keeper, among | changed, changed, steps, tell)
        among = changed
        n_splits += more_splits
        n_moves += more_moves
        if not more_splits + more_moves or (seconds and time.monotonic() - begin >= seconds):
            break
    return Improved(n_passes, n_splits, n_moves)


@dataclass(frozen=True)
class _Told:
    """Tells of a pass over all parts as a part of all passes; an end that is not known is 0."""

    progress: Progress
    n_done: int
    n_passes: int

    def __call__(self, n_parts_done: int, n_parts: int) -> None:
        total = self.n_passes * n_parts if self.n_passes < MOST_PASSES else 0
        self.progress(STAGE, self.n_done * n_parts + n_parts_done, total)


def split_further(
    parts: Parts, keeper: Keeper, among: set[int], changed: set[int], steps: _Steps
) -> int:
    """Try other splits of these parts, the largest first; return how many were made.

    Their sides are added to those that have changed. What is left of a part that an item was
    taken from is gone through from the next item on.
    """
    waiting = [(part, 0) for part in _largest_first(parts, among)]
    n_made = 0
    while waiting and not steps.is_end:
        part, n_tried = waiting.pop(0)
        for place, (left, right) in enumerate(_ways(parts, parts.items[part], n_tried), n_tried):
            split = parts.begin_with(part, left, right)
            steps.take(keeper.steps(split))
            is_kept = keeper.keeps(split)
            if is_kept:
                sides = parts.accept(split)
                keeper.accepted(split, *sides)
                changed.update(sides)
                again = 0 if place < N_EVEN_WAYS else place
                waiting[:0] = [(side, again) for side in sides if len(parts.items[side]) > 1]
                n_made += 1
            parts.end(split)
            if is_kept or steps.is_end:
                break
    return n_made


N_EVEN_WAYS = 2


def _ways(
    parts: Parts, items: NDArray[np.int32], n_tried: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield ways to split a part: even sides first, then one item after the other by itself.

    The first ``n_tried`` of them are left out.
    """
    by_support = items[np.argsort(-parts.problem.baskets.support[items], kind="stable")]
    n_items = len(items)
    even = (np.arange(n_items) % 2 == 0, np.arange(n_items) < n_items // 2)
    for is_left in even[n_tried:]:
        yield np.sort(by_support[is_left]), np.sort(by_support[~is_left])
    if n_items > 2:
        for item in by_support[max(0, n_tried - N_EVEN_WAYS) :]:
            yield np.array([item], dtype=np.int32), items[items != item]


def move_items(
    parts: Parts,
    keeper: Keeper,
    among: set[int],
    changed: set[int],
    steps: _Steps,
    tell: Callable[[int, int], None],
) -> int:
    """Move items of these parts to smaller ones where less is lost; return how many moved.

    The parts that lost or gained an item are added to those that have changed.
    """
    n_moved = 0
    sizes = np.array([len(items) for items in parts.items], dtype=np.int64)
    leaves = _largest_first(parts, among)
    for number, part in enumerate(leaves):
        tell(number, len(leaves))
        items = parts.items[part]
        support = parts.problem.baskets.support[items]
        for item in items[np.argsort(support, kind="stable")].tolist():
            if steps.is_end:
                return n_moved
            target = _move_item(parts, keeper, part, item, sizes, steps)
            if target >= 0:
                n_moved += 1
                changed.update((part, target))
    return n_moved


def _move_item(
    parts: Parts,
    keeper: Keeper,
    part: int,
    item: int,
    sizes: NDArray[np.int64],
    steps: _Steps,
) -> int:
    """Move an item to the first of some parts that meets the conditions and loses less.

    Returns that part, or −1. Items that stand alone are let be: they are what an analyst can
    count exactly.
    """
    left = parts.items[part][parts.items[part] != item]
    smaller = np.flatnonzero((sizes > 1) & (sizes < len(left)))
    order = np.lexsort([-parts.support[smaller], sizes[smaller]])
    targets: list[int] = smaller[order[:N_TARGETS]].tolist()
    for other in targets:
        right = np.sort(np.append(parts.items[other], np.int32(item)))
        split = parts.begin_with(part, left, right, other)
        steps.take(keeper.steps(split))
        is_better = _is_better(parts, split) and keeper.keeps(split)
        if is_better:
            parts.replace(split)
            keeper.accepted(split, part, other)
            sizes[part] -= 1
            sizes[other] += 1
        parts.end(split)
        if is_better:
            return other
    return -1


def _is_better(parts: Parts, split: Split) -> bool:
    """Whether the two sides lose less than the two parts whose places they would take."""
    largest = max(len(parts.items[split.part]), len(split.left), len(split.right))
    before = _loss(parts, parts.items[split.part], int(parts.support[split.part]), largest)
    before += _loss(
        parts, parts.items[split.other_part], int(parts.support[split.other_part]), largest
    )
    after = _loss(parts, split.left, split.n_left, largest)
    after += _loss(parts, split.right, split.n_right, largest)
    return after < before * (1 - 1e-9)


def _loss(parts: Parts, items: NDArray[np.int32], n_rows: int, largest: int) -> float:
    """Return the utility loss of a part, in units of 2 to the size of the largest."""
    weight = parts.problem.weight
    mean = float(weight[items].mean()) if len(weight) else 1.0
    return (ldexp(1.0, len(items) - largest) - ldexp(1.0, -largest)) * mean * n_rows


def _largest_first(parts: Parts, among: set[int]) -> list[int]:
    leaves = [part for part in among if len(parts.items[part]) > 1]
    return sorted(leaves, key=lambda part: (-len(parts.items[part]), part))
