"""Groups of rows that show one set each: the whole search, in one part or in chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.methods.cluster.sets.start import (
    Placements,
    collapse_part,
    first_groups,
    lay_out_groups,
    place_rows,
    read_placements,
)
from incrowd.methods.shared.options import AUTO, FULL, QUICK, parse_effort, seconds_of
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import SetConditions, Utility, rule_of, utility
from incrowd.progress import Progress, is_stop_requested, silent
from incrowd.sets.sets import Sets

if TYPE_CHECKING:
    from incrowd.methods.cluster.sets.kernels.state import DistinctSets
    from incrowd.methods.shared.set_groups.vote_kernel import Rule


FIRST_PRICE = 0.5
"""What a created entry costs while the first groups are made."""

N_LOOKED_AT = 64
"""Of how many distinct sets of a group swaps are tried at once."""

N_PARTNERS, N_HOLDERS = 12, 30
"""With how many near groups a group is paired, and how many holders of an item are asked."""

N_TARGETS, N_HOLDERS_OF_TARGETS = 6, 10
"""The same for the rows of a group that may be dissolved."""

GROUPS_PER_SLICE = 2_000
"""How many groups are visited between two looks at whether an end is wished."""


@dataclass(frozen=True)
class Told:
    """How far a part is: passes done, and the utility of the groups as they are."""

    n_passes: int
    utility: Utility


Tell = Callable[[Told], bool]
"""Takes a report after each pass, and answers whether to go on."""


@dataclass(frozen=True, eq=False)
class PartSearch:
    """Everything but the rows: the conditions, how many passes, the seed, and a fixed price.

    ``price`` is what a created entry costs where more than this part decides it; None makes it
    the part's own Jaccard similarity, anew for each pass.
    """

    conditions: SetConditions
    n_passes: int
    seed: int
    price: float | None = None

    def __call__(
        self,
        part: Part,
        number: int = 0,
        group_of_row: NDArray[np.int32] | None = None,
        tell: Tell = lambda _told: True,
    ) -> NDArray[np.int32]:
        """Return valid groups of a part's rows.

        The search begins with the groups of ``group_of_row``, numbered from 0, and never makes
        them worse; rows of group −1 are in none yet. Without it no row is in one, and it begins
        with groups grown from seeds and with others cut item by item, and goes on with those that
        keep more after a pass. The result
        depends on the rows, the seed and the part's number alone. An end that is wished for
        returns the groups as they are.
        """
        part = part.compact()
        distinct_sets, distinct_of_row = collapse_part(part)
        order = np.random.default_rng([self.seed, number])
        random = order.integers(1, 1 << 62, size=1)
        given = None
        if group_of_row is not None:
            is_placed = group_of_row >= 0
            given = place_rows(distinct_of_row[is_placed], group_of_row[is_placed])
        first = FIRST_PRICE if self.price is None else self.price
        placed = first_groups(distinct_sets, rule_of(self.conditions, first), order, random, given)
        begun = [_State(self, distinct_sets, placed, len(part.items), order, random)]
        if given is None and not is_stop_requested():
            cut = place_rows(distinct_of_row, _cut_by_items(part, self.conditions))
            begun.append(_State(self, distinct_sets, cut, len(part.items), order, random))
        tell_on = tell(Told(0, _best(begun).utility))
        if len(begun) > 1 and tell_on and self.n_passes and not is_stop_requested():
            for state in begun:
                state.next_pass()
            tell_on = tell(Told(1, _best(begun).utility))
        state = _best(begun)
        while tell_on and state.n_passes < self.n_passes and not is_stop_requested():
            state.next_pass()
            tell_on = tell(Told(state.n_passes, state.utility)) and not state.is_settled
        return state.placed.groups_of_rows(distinct_of_row)

    def search_chunk(
        self,
        part: Part,
        number: int,
        group_of_row: NDArray[np.int32] | None,
        progress: Progress,
    ) -> NDArray[np.int32]:
        """Search one of several chunks, and tell how far it is."""
        lost = 0.0

        def tell(told: Told) -> bool:
            nonlocal lost
            lost = 1.0 - told.utility.jaccard
            progress("", told.n_passes, self.n_passes, lost)
            return True

        found = self(part, number, group_of_row, tell)
        progress("", 1, 1, lost)
        return found


def _cut_by_items(part: Part, conditions: SetConditions) -> NDArray[np.int32]:
    """Return groups as Mondrian cuts them, which suit rows with few different items, all common."""
    from incrowd.methods.shared.set_groups.cut import cut_rows
    from incrowd.sets.sets import Sets

    rows = Sets(part.starts, part.items, part.n_items)
    return cut_rows(rows, replace(conditions, k_of_row=part.needs)).group_of_row


def _best(begun: list[_State]) -> _State:
    """Return the groups that keep most, the first among equals."""
    return max(begun, key=lambda state: state.utility.jaccard)


class _State:
    """Groups under way. Between two methods they are valid, and never worse than before."""

    def __init__(
        self,
        search: PartSearch,
        distinct_sets: DistinctSets,
        placed: Placements,
        n_entries: int,
        order: np.random.Generator,
        random: NDArray[np.int64],
    ) -> None:
        self.search = search
        self.distinct_sets = distinct_sets
        self.n_entries = n_entries
        self.order = order
        self.random = random
        self.n_passes = 0
        self.n_idle = 0
        self.placed = placed
        self.is_changed = np.zeros(0, dtype=np.bool_)
        self.least_size = int(2 * distinct_sets.need.min())
        self._lay_out()
        self.utility = self._best_utility()

    @property
    def rule(self) -> Rule:
        """The vote at the price of now."""
        price = self.search.price
        return rule_of(self.search.conditions, self.utility.jaccard if price is None else price)

    @property
    def is_settled(self) -> bool:
        """Whether neither of the last two passes changed anything."""
        return self.n_idle >= 2

    def next_pass(self) -> None:
        """Cut large groups, pair groups with near ones, and dissolve those that are worth less.

        Every other pass cuts none and visits only groups that the one before has changed.
        """
        from incrowd.methods.cluster.sets.kernels.passes import dissolve_groups, pair_groups

        rule = self.rule
        is_odd = self.n_passes % 2 == 1
        n_changes = 0
        if not is_odd:
            n_changes += self._cut(rule)
        n_groups = len(self.groups.size)
        visited = np.flatnonzero(self.is_changed) if is_odd else np.arange(n_groups)
        self.is_changed = np.zeros(n_groups, dtype=np.bool_)
        visited = self.order.permutation(visited)
        for some in _slices(visited):
            pair_groups(
                self.distinct_sets,
                self.groups,
                self.scratch,
                rule,
                some,
                self.is_changed,
                N_PARTNERS,
                N_HOLDERS,
                self.random,
            )
        for some in _slices(self.order.permutation(visited)):
            n_changes += dissolve_groups(
                self.distinct_sets,
                self.groups,
                self.scratch,
                rule,
                some,
                self.is_changed,
                N_TARGETS,
                N_HOLDERS_OF_TARGETS,
                self.random,
            )
        n_changes += int(self.is_changed.sum())
        self.placed = read_placements(self.groups)
        self._lay_out()
        self.utility = self._utility(rule)
        if self.search.price is None:
            self.utility = max(self.utility, self._best_utility(), key=lambda one: one.jaccard)
        self.n_idle = 0 if n_changes else self.n_idle + 1
        self.n_passes += 1

    def _cut(self, rule: Rule) -> int:
        """Cut groups in two until none is worth more so; return how many cuts."""
        from incrowd.methods.cluster.sets.kernels.split import cut_groups

        n_cuts = 0
        while True:
            slots, units, new_group, n_new = cut_groups(
                self.distinct_sets, self.groups, self.scratch, rule, self.least_size, self.random
            )
            if not n_new:
                return n_cuts
            n_cuts += int(n_new)
            distinct = self.groups.distinct[slots]
            self.groups.units[slots] -= units
            rest = read_placements(self.groups)
            is_left = rest.units > 0
            self.placed = Placements(
                np.concatenate([rest.distinct[is_left], distinct]),
                np.concatenate([rest.units[is_left], units]),
                np.concatenate([rest.group[is_left], new_group]),
            )
            self._lay_out()

    def _lay_out(self) -> None:
        from incrowd.methods.cluster.sets.kernels.state import new_scratch

        self.groups, before = lay_out_groups(self.distinct_sets, self.placed)
        self.scratch = new_scratch(
            len(self.distinct_sets.list_starts) - 1, len(self.groups.size), N_LOOKED_AT
        )
        if len(self.is_changed):
            self.is_changed = np.append(self.is_changed, True)[
                np.minimum(before, len(self.is_changed))
            ]

    def _utility(self, rule: Rule) -> Utility:
        from incrowd.methods.cluster.sets.kernels.state import tally

        kept, created = tally(self.distinct_sets, self.groups, self.scratch, rule)
        return Utility(self.n_entries, int(kept), int(created))

    def _best_utility(self) -> Utility:
        """Return the utility at the price that is its own Jaccard similarity, or near it."""
        found = self._utility(rule_of(self.search.conditions, 0.0))
        return max(
            found,
            self._utility(rule_of(self.search.conditions, found.jaccard)),
            key=lambda one: one.jaccard,
        )


def _slices(visited: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(visited), GROUPS_PER_SLICE):
        if start and is_stop_requested():
            return
        yield visited[start : start + GROUPS_PER_SLICE]


# Groups of rows that show one set each: the whole search, in one part or in chunks.

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
    from incrowd.methods.shared.set_groups.chunks import (
        Span,
        chunks_of_groups,
        chunks_of_rows,
        loose_rows,
        search_chunks,
    )

    chunk_of_row = chunks_of_rows(sets, conditions, chunk_rows, seed)
    n_chunks = int(chunk_of_row.max()) + 1
    if seconds_of(effort):
        trial = _TrialOfChunk(sets, conditions, chunk_of_row, seed)
        n_passes = trial.passes(seconds_of(effort), n_chunks / engine.n_workers)
    else:
        n_passes = _passes(effort, PASSES_IN_CHUNKS)
    first, *repairs = rounds_of(n_passes)

    def told(done: int, more: int) -> Span:
        ends = round(_WHOLE * done / n_passes), round(_WHOLE * (done + more) / n_passes)
        return Span(progress, STAGE, *ends, _WHOLE)

    # what travels with the search knows no row's own k: chunks bring it along
    plain = replace(conditions, k_of_row=None)
    begin = PartSearch(plain, first, seed)
    best = search_chunks(sets, conditions, begin, chunk_of_row, None, engine, told(0, first))
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
            conditions,
            PartSearch(plain, more, seed + turn, price),
            chunk_of_row,
            begun,
            engine,
            told(done, more),
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
