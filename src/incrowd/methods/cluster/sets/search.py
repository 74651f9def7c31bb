"""Groups of rows that show one set each: the whole search, in one part or in chunks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.interrupts import is_stop_requested
from incrowd.methods.cluster.sets.part_search import PartSearch, Told
from incrowd.methods.cluster.sets.start import Part
from incrowd.methods.shared.options import AUTO, FULL, QUICK, parse_effort, seconds_of
from incrowd.methods.shared.set_groups.vote import SetConditions, Utility, utility
from incrowd.progress import Progress, silent
from incrowd.sets.sets import Sets

STAGE = "grouping sets"

PASSES = {QUICK: 2, AUTO: 8, FULL: 60}
PASSES_IN_CHUNKS = {QUICK: 2, AUTO: 4, FULL: 20}
"""How many passes the words for an effort come to, for one part and for chunks."""

MOST_PASSES = 100_000

CHUNK_ROWS = 100_000
"""About how many rows a chunk has; up to half as many again are searched as one part."""

REPAIRS = 4
"""In how many rounds groups of different chunks meet."""

LOOSE_SHARE = 0.12
"""The share of all entries, those kept worst, whose rows the first repair groups anew; the nth
an nth of it."""

_WHOLE = 1_000_000
"""The whole of a search, as its progress is told."""


@dataclass(frozen=True)
class SetGroups:
    """What a search found: groups numbered by their first row, their utility, passes and chunks.

    ``n_passes`` as an effort makes the same groups again, unless the search was ended early.
    """

    group_of_row: NDArray[np.int32]
    utility: Utility
    n_passes: int
    n_chunks: int


def search(
    sets: Sets,
    conditions: SetConditions,
    *,
    engine: Engine,
    effort: int | str = AUTO,
    seed: int = 0,
    progress: Progress = silent,
    chunk_rows: int = CHUNK_ROWS,
) -> SetGroups:
    """Return groups that meet the conditions and keep much (Jaccard similarity of entries).

    Every group has as many rows as each of its rows needs. Raises ValueError where there are
    fewer rows than that (or none at all), JobError where the effort is none. ``effort`` is a
    number of passes, quick, auto, full or a time; a time settles a number of passes, and with it
    the result. Depends on the rows, their order, the seed, the effort and ``chunk_rows``, never
    on the number of threads. An end that is wished for returns the groups as they are.
    """
    if sets.n_rows < int(conditions.needs(sets.n_rows).max(initial=conditions.k)):
        raise ValueError("there are fewer rows than a group needs")
    effort = parse_effort(effort)
    if sets.n_rows > 1.5 * chunk_rows:
        found = _in_chunks(sets, conditions, engine, effort, seed, progress, chunk_rows)
    else:
        found = _as_one(sets, conditions, effort, seed, progress)
    group_of_row, n_passes, n_chunks = found
    kept = utility(sets, group_of_row, conditions)
    progress(STAGE, _WHOLE, _WHOLE, 1.0 - kept.jaccard)
    return SetGroups(group_of_row, kept, n_passes, n_chunks)


def _as_one(
    sets: Sets, conditions: SetConditions, effort: int | str, seed: int, progress: Progress
) -> tuple[NDArray[np.int32], int, int]:
    """Search all rows as one part; a time ends after the pass in which it is over."""
    seconds = seconds_of(effort)
    n_passes = MOST_PASSES if seconds else _passes(effort, PASSES)
    begin = time.monotonic()
    n_done = 0

    def tell(told: Told) -> bool:
        nonlocal n_done
        n_done = told.n_passes
        spent = time.monotonic() - begin
        share = spent / seconds if seconds else n_done / n_passes
        progress(STAGE, round(_WHOLE * min(1.0, share)), _WHOLE, 1.0 - told.utility.jaccard)
        return not seconds or spent < seconds or n_done == 0

    part = Part(sets.starts, sets.items, sets.n_items, conditions.needs(sets.n_rows))
    group_of_row = PartSearch(conditions, n_passes, seed)(part, tell=tell)
    return group_of_row, n_done if seconds else n_passes, 1


def _in_chunks(
    sets: Sets,
    conditions: SetConditions,
    engine: Engine,
    effort: int | str,
    seed: int,
    progress: Progress,
    chunk_rows: int,
) -> tuple[NDArray[np.int32], int, int]:
    """Search chunks of near rows, then chunks of near groups."""
    from incrowd.methods.cluster.sets.chunks import (
        chunks_of_groups,
        chunks_of_rows,
        loose_rows,
        search_chunks,
    )
    from incrowd.methods.shared.parts import PartProgress

    chunk_of_row = chunks_of_rows(sets, conditions, chunk_rows, seed)
    n_chunks = int(chunk_of_row.max()) + 1
    if seconds_of(effort):
        trial = _TrialOfChunk(sets, conditions, chunk_of_row, seed)
        n_passes = trial.passes(seconds_of(effort), n_chunks / engine.n_workers)
    else:
        n_passes = _passes(effort, PASSES_IN_CHUNKS)
    first, *repairs = rounds_of(n_passes)

    def report(done: int, more: int) -> PartProgress:
        return PartProgress(
            progress,
            STAGE,
            round(_WHOLE * done / n_passes),
            round(_WHOLE * (done + more) / n_passes),
            _WHOLE,
            np.bincount(chunk_of_row).astype(np.float64),
            np.bincount(chunk_of_row, weights=sets.sizes).astype(np.float64),
        )

    best = search_chunks(
        sets, PartSearch(conditions, first, seed), chunk_of_row, None, engine, report(0, first)
    )
    done = first
    best_utility = utility(sets, best, conditions)
    for turn, more in enumerate(repairs, 1):
        if is_stop_requested():
            break
        # One price for all chunks: what one of them gains is gained by the whole.
        price = best_utility.jaccard
        is_loose = loose_rows(sets, best, conditions, price, LOOSE_SHARE / turn)
        chunk_of_row = chunks_of_groups(sets, best, is_loose, conditions, chunk_rows, seed + turn)
        begun = np.where(is_loose, np.int32(-1), best)
        found = search_chunks(
            sets,
            PartSearch(conditions, more, seed + turn, price),
            chunk_of_row,
            begun,
            engine,
            report(done, more),
        )
        done += more
        found_utility = utility(sets, found, conditions)
        if found_utility.jaccard > price:
            best, best_utility = found, found_utility
    return best, n_passes, n_chunks


def rounds_of(n_passes: int) -> list[int]:
    """Return how many passes the first chunks get, and how many each round of repair."""
    n_rounds = min(REPAIRS, n_passes // 2)
    if n_rounds == 0:
        return [n_passes]
    n_repair = n_passes // (2 * n_rounds)
    return [n_passes - n_rounds * n_repair, *[n_repair] * n_rounds]


def _passes(effort: int | str, passes: Mapping[str, int]) -> int:
    return min(effort, MOST_PASSES) if isinstance(effort, int) else passes[effort]


@dataclass(frozen=True, eq=False)
class _TrialOfChunk:
    """How long the passes of one chunk take, to turn a time into a number of passes."""

    sets: Sets
    conditions: SetConditions
    chunk_of_row: NDArray[np.int32]
    seed: int

    def passes(self, seconds: float, chunks_per_worker: float) -> int:
        """Return how many passes all chunks have time for, at least 1; tries two on one chunk."""
        rows = np.flatnonzero(self.chunk_of_row == 0)
        some = self.sets.take(rows)
        moments: list[float] = []

        def tell(_told: Told) -> bool:
            moments.append(time.monotonic())
            return True

        begin = time.monotonic()
        needs = self.conditions.needs(self.sets.n_rows)[rows]
        PartSearch(self.conditions, 2, self.seed)(
            Part(some.starts, some.items, some.n_items, needs), tell=tell
        )
        to_begin = moments[0] - begin
        per_pass = max((moments[-1] - moments[0]) / max(1, len(moments) - 1), 1e-6)
        left = (seconds - (moments[-1] - begin)) / max(1.0, chunks_per_worker) - to_begin
        return int(min(max(1, left // per_pass), MOST_PASSES))
