"""The papers' ways from rows to groups: Alg. 1, Alg. 2 and the practical variant; small groups
merged, large groups cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError
from incrowd.methods.facility.location import (
    OPENING_COSTS,
    DistinctSets,
    Location,
    Work,
    best_of_orders,
    collapse_sets,
    facilities_at,
    nearest_facilities,
    nearest_sums,
)
from incrowd.methods.facility.median import medians
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import (
    SUPPRESSION,
    Found,
    SetConditions,
    number_by_first_row,
    utility,
)
from incrowd.progress import Progress, is_stop_requested, silent
from incrowd.sets.bounds import least_changes, similarity_at_most
from incrowd.sets.sets import IN_MEMORY, EntryStorage, Sets

if TYPE_CHECKING:
    from incrowd.engines.base import Engine


PRACTICAL, ALG1, ALG2 = "practical", "alg1", "alg2"

MOST_MEMBERS = 4096
"""A larger group is first laid out by its members' first items and cut into spans: the cutting
itself looks at every member once per part."""


CHUNK_ROWS = 100_000
"""About how many rows a chunk has; up to half as many again are searched at once."""

LOOSE_SHARE = 0.5
"""The share of all entries, those kept worst, whose rows the first repair groups anew; the nth
an nth of it."""

STAGE = "grouping chunks"

_WHOLE = 1_000_000
"""The whole of a search in chunks, as its progress is told."""


def search(
    sets: Sets,
    conditions: SetConditions,
    *,
    variant: str = PRACTICAL,
    alpha: float = 0.5,
    beta: float = 2.0,
    orders: int = 10,
    cut: bool = True,
    chunk_rows: int = CHUNK_ROWS,
    repairs: int = 2,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress = silent,
    storage: EntryStorage | None = None,
) -> Found:
    """Return groups of at least as many rows as the most demanding of them asks for.

    Esfandiari et al. 2022, §5 and Appendix D. Deviations: the cited approximation algorithms are
    replaced by Meyerson's on random orders (practical, alg2; there with facilities closed while
    that pays off) and by greedy stars with local search (alg1), so no factor is claimed; rows with
    equal sets stay together, if a chunk has them all; with ``cut`` groups of 2k rows and more are
    cut. Above half as many again as ``chunk_rows`` rows are searched in chunks of near ones, each
    by itself, on the engine; then the rows of the worst groups of all chunks are searched again in
    other chunks, ``repairs`` times. The seed decides; threads and engines do not.
    """
    from incrowd.engines.base import threads_of

    largest = max(conditions.k, int(conditions.needs(sets.n_rows).max(initial=0)))
    if largest > sets.n_rows:
        raise InfeasibleError(
            f"a group of {largest} is asked for, and there are {sets.n_rows} rows",
            remedy=f"The largest k that can be kept is {sets.n_rows}.",
        )
    part = PartSearch(replace(conditions, k_of_row=None), variant, alpha, beta, orders, cut, seed)
    if sets.n_rows > 1.5 * chunk_rows:
        from incrowd.engines.local.engine import LocalEngine

        chunks = _Chunks(
            part,
            chunk_rows,
            repairs,
            engine or LocalEngine(threads=1),
            storage or IN_MEMORY,
            progress,
        )
        found = chunks.search(sets, conditions)
        if found is not None:
            return found
    work = Work(np.random.default_rng([seed, _SALT]), threads_of(engine), progress)
    return part(sets, conditions, work)


_SALT = 0x0FAC


@dataclass(frozen=True, eq=False)
class PartSearch:
    """Everything but the rows and how large a group each asks for."""

    conditions: SetConditions
    variant: str
    alpha: float
    beta: float
    orders: int
    cut: bool
    seed: int

    def __call__(self, sets: Sets, conditions: SetConditions, work: Work) -> Found:
        """Return groups of rows that are searched together."""
        distinct = collapse_sets(sets, conditions)
        figures: dict[str, object] = {
            "variant": self.variant,
            "n_distinct_rows": distinct.n_distinct,
        }
        n_nearest = distinct.need
        if self.variant == PRACTICAL:
            n_nearest = np.ceil(self.beta * distinct.need).astype(np.int64)
        least_need = np.full(distinct.n_distinct, sets.n_rows, dtype=np.int64)
        np.minimum.at(least_need, distinct.distinct_of_row, conditions.needs(sets.n_rows))
        summed, of_need = nearest_sums(distinct, np.stack([n_nearest, least_need]), work)
        changed = least_changes(distinct.weight, least_need, of_need)
        adds_entries = conditions.kind != SUPPRESSION
        at_most = similarity_at_most(sets.n_entries, changed, adds_entries=adds_entries)
        figures["jaccard_at_most"] = at_most
        if self.variant == ALG1:
            group_of_distinct = medians(distinct, summed.astype(np.float64), work)
        elif self.variant == ALG2:
            cost = _factor(self.alpha) * summed
            group_of_distinct = _alg2(distinct, cost, self.alpha, self.orders, work, figures)
        else:
            cost = _factor(1.0 / self.beta) * summed
            group_of_distinct = _practical(distinct, cost, self.orders, work, figures)
        figures["n_clusters"] = len(np.unique(group_of_distinct))
        if self.cut:
            group_of_distinct = cut_groups(distinct, group_of_distinct, work)
        group_of_row = number_by_first_row(group_of_distinct[distinct.distinct_of_row])
        figures["n_groups"] = int(group_of_row.max()) + 1
        return Found(group_of_row, figures)

    def search_chunk(
        self,
        part: Part,
        number: int,
        group_of_row: NDArray[np.int32] | None,
        progress: Progress,
    ) -> NDArray[np.int32]:
        """Search one of several chunks on a single thread, as if there were no others."""
        del group_of_row  # nothing is begun with

        def tell(stage: str, done: int, total: int, _loss: float | None = None, /) -> None:
            # opening costs take most of the time; what comes after has no length known before
            is_first = stage == OPENING_COSTS and total > 0
            progress("", 7 * done if is_first else 7, 10 * total if is_first else 10)

        part = part.compact()
        conditions = replace(self.conditions, k_of_row=part.needs)
        work = Work(np.random.default_rng([self.seed, _SALT, number]), 1, tell)
        found = self(Sets(part.starts, part.items, part.n_items), conditions, work)
        progress("", 1, 1)
        return found.group_of_row


@dataclass(frozen=True, eq=False)
class _Chunks:
    """Many rows: chunks of near ones, each searched as if there were no others (Appendix D)."""

    part: PartSearch
    chunk_rows: int
    repairs: int
    engine: Engine
    storage: EntryStorage
    progress: Progress

    def search(self, sets: Sets, conditions: SetConditions) -> Found | None:
        """Return the groups of all chunks, or None where all rows are one chunk.

        Deviation: near rows that hashes kept apart end in bad groups. The rows of the worst of
        them are sorted by other hashes, cut into chunks and searched once more; the outcome counts
        if the release is more like the input with it.
        """
        from incrowd.methods.shared.set_groups.chunks import chunks_of_rows, loose_rows

        seed = self.part.seed
        chunk_of_row = chunks_of_rows(sets, conditions, self.chunk_rows, seed)
        n_chunks = int(chunk_of_row.max()) + 1
        if n_chunks == 1:
            return None
        best = self._round(0, sets, conditions, chunk_of_row)
        similarity = utility(sets, best, conditions).jaccard
        for turn in range(1, self.repairs + 1):
            most = LOOSE_SHARE / turn
            loose = np.flatnonzero(loose_rows(sets, best, conditions, similarity, most))
            if not len(loose) or is_stop_requested():
                break
            # whole groups: together they have the rows that the most demanding of them asks for
            some, of_some = sets.take(loose, self.storage), conditions.of_rows(loose)
            chunk_of_loose = chunks_of_rows(some, of_some, self.chunk_rows, seed + turn)
            found = best.copy()
            found[loose] = best.max() + 1 + self._round(turn, some, of_some, chunk_of_loose)
            found = number_by_first_row(found)
            found_similarity = utility(sets, found, conditions).jaccard
            if found_similarity > similarity:
                best, similarity = found, found_similarity
        self.progress(STAGE, _WHOLE, _WHOLE, 1.0 - similarity)
        n_groups = int(best.max()) + 1
        return Found(best, {"variant": self.part.variant, "chunks": n_chunks, "n_groups": n_groups})

    def _round(
        self, turn: int, sets: Sets, conditions: SetConditions, chunk_of_row: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Search all chunks of a round on the engine."""
        from incrowd.methods.shared.set_groups.chunks import Span, search_chunks

        lengths = [1.0, *(LOOSE_SHARE / one for one in range(1, self.repairs + 1))]
        first = round(_WHOLE * sum(lengths[:turn]) / sum(lengths))
        last = round(_WHOLE * sum(lengths[: turn + 1]) / sum(lengths))
        told = Span(self.progress, STAGE, first, last, _WHOLE)
        part = replace(self.part, seed=self.part.seed + turn)
        return search_chunks(sets, conditions, part, chunk_of_row, None, self.engine, told)


def _practical(
    distinct: DistinctSets,
    cost: NDArray[np.float64],
    orders: int,
    work: Work,
    figures: dict[str, object],
) -> NDArray[np.int32]:
    """Appendix D: α = 1/β, costs over the βk nearest, then close every cluster under k."""
    location = best_of_orders(distinct, cost, orders, work)
    figures |= {"facility_cost": location.cost, "n_opened": len(location.facility)}
    return _close_facilities(distinct, location, 1.0, None, work)


def _alg2(
    distinct: DistinctSets,
    cost: NDArray[np.float64],
    alpha: float,
    orders: int,
    work: Work,
    figures: dict[str, object],
) -> NDArray[np.int32]:
    """§5.3: costs over the k nearest; close clusters under αk, merge those under k."""
    location = best_of_orders(distinct, cost, orders, work)
    figures |= {"facility_cost": location.cost, "n_opened": len(location.facility)}
    number_of_distinct = _close_facilities(distinct, location, alpha, cost, work)
    figures["n_clusters_before_merge"] = len(np.unique(number_of_distinct))
    return merge_small(distinct, number_of_distinct, location.facility, work)


def _factor(alpha: float) -> float:
    return 2.0 * alpha / (1.0 - alpha)


def _close_facilities(
    distinct: DistinctSets,
    location: Location,
    share: float,
    cost: NDArray[np.float64] | None,
    work: Work,
) -> NDArray[np.int32]:
    """Close facilities with too few rows, in an order drawn by the seed; return who is whose.

    With ``cost`` those are closed first whose closing makes the whole cheaper.
    """
    from incrowd.methods.facility.kernels import location as location_kernels

    number_of_distinct = location.number_of_distinct.copy()
    distance_of_distinct = location.distance_of_distinct.copy()
    n_facilities = len(location.facility)
    state = (
        distinct.starts,
        distinct.items,
        distinct.weight,
        distinct.need,
        facilities_at(distinct, location.facility),
        location_kernels.clients_of(
            n_facilities, number_of_distinct, distinct.weight, distinct.need
        ),
        number_of_distinct,
        distance_of_distinct,
    )
    order = work.rng.permutation(n_facilities)
    work.progress("closing facilities", 0, 0)
    if cost is not None:
        location_kernels.close_facilities(order, cost, share, *state)
    location_kernels.close_facilities(order, None, share, *state)
    return number_of_distinct


# ── small clusters merged (Alg. 2, step 5) ──────────────────────────────────────────────────────


def merge_small(
    distinct: DistinctSets,
    number_of_distinct: NDArray[np.int32],
    facility: NDArray[np.int32],
    work: Work,
) -> NDArray[np.int32]:
    """Return the group of each distinct set, none smaller than its rows ask for.

    Small clusters are merged in an order drawn by the seed, each batch until it has enough rows:
    two clusters under k never make more than 2k − 2. What is left over takes the rows it lacks
    from a larger cluster that can spare them (the paper's footnote 3), or else joins the cluster
    with the nearest facility.
    """
    groups, group_of_distinct = np.unique(number_of_distinct, return_inverse=True)
    group_of_distinct = group_of_distinct.astype(np.int32)
    n_rows, asked = distinct.sums_of(group_of_distinct, len(groups))
    is_small = n_rows < asked
    batch_of_group = np.arange(len(groups))
    batch: list[int] = []
    for group in work.rng.permutation(np.flatnonzero(is_small)).tolist():
        batch.append(group)
        if n_rows[batch].sum() >= asked[batch].max():
            batch_of_group[batch] = batch[0]
            batch = []
    if batch:
        batch_of_group[batch] = batch[0]
    merged = batch_of_group[group_of_distinct].astype(np.int32)
    if batch:
        merged = _place_leftover(distinct, merged, batch[0], facility[groups], work)
    return merged


def _place_leftover(
    distinct: DistinctSets,
    group_of_distinct: NDArray[np.int32],
    left: int,
    facility: NDArray[np.int32],
    work: Work,
) -> NDArray[np.int32]:
    """Give the group that is still too small what it lacks, or give it away."""
    n_rows, asked = distinct.sums_of(group_of_distinct, len(facility))
    lacking = int(asked[left] - n_rows[left])
    near = facilities_at(distinct, facility[left : left + 1])
    _, distance = nearest_facilities(distinct, near, work)
    for group in np.argsort(-n_rows, kind="stable").tolist():
        if group == left or n_rows[group] - lacking < asked[group]:
            continue
        members = np.flatnonzero((group_of_distinct == group) & (distinct.need <= asked[left]))
        members = members[np.argsort(distance[members], kind="stable")]
        n_after = np.cumsum(distinct.weight[members])
        n_taken = int(np.searchsorted(n_after, lacking)) + 1
        if n_taken <= len(members) and n_rows[group] - n_after[n_taken - 1] >= asked[group]:
            given = group_of_distinct.copy()
            given[members[:n_taken]] = left
            return given
    others = np.flatnonzero((n_rows > 0) & (np.arange(len(facility)) != left))
    if not len(others):
        return group_of_distinct
    joined = others[np.argmin(distance[facility[others]])]
    while True:
        given = np.where(group_of_distinct == left, joined, group_of_distinct).astype(np.int32)
        n_rows, asked = distinct.sums_of(given, len(facility))
        is_short = (n_rows < asked) & (n_rows > 0)
        if not is_short.any():
            return given
        # somebody in it asks for more rows than the two have together: join the next
        group_of_distinct, left = given, int(joined)
        others = np.flatnonzero((n_rows > 0) & (np.arange(len(facility)) != left))
        joined = others[np.argmax(n_rows[others])]


# ── large groups cut ────────────────────────────────────────────────────────────────────────────


def cut_groups(
    distinct: DistinctSets, group_of_distinct: NDArray[np.int32], work: Work
) -> NDArray[np.int32]:
    """Return smaller groups, each of which still has the rows that its members ask for.

    Without personal k and equal rows every group then has k to 2k − 1 rows.
    """
    from incrowd.methods.facility.kernels.cut import cut_group

    members_of = np.argsort(group_of_distinct, kind="stable").astype(np.int32)
    bounds = np.flatnonzero(np.diff(group_of_distinct[members_of])) + 1
    part_of_distinct = np.empty(distinct.n_distinct, dtype=np.int32)
    n_holding = np.zeros(distinct.n_items, dtype=np.int64)
    is_held = np.zeros(distinct.n_items, dtype=np.bool_)
    next_part = n_done = 0
    for members in np.split(members_of, bounds):
        work.progress("cutting groups", n_done, distinct.n_distinct)
        n_done += len(members)
        for span in _spans(distinct, members):
            next_part = cut_group(
                span,
                distinct.starts,
                distinct.items,
                distinct.weight,
                distinct.need,
                n_holding,
                is_held,
                part_of_distinct,
                next_part,
            )
    work.progress("cutting groups", distinct.n_distinct, distinct.n_distinct)
    return part_of_distinct


def _spans(distinct: DistinctSets, members: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Return the members in spans of at most ``MOST_MEMBERS``, if each has rows enough."""
    if len(members) <= MOST_MEMBERS:
        return [members]
    sizes = np.diff(distinct.starts)[members]
    keys = []
    for place in range(4):
        item = np.full(len(members), -1, dtype=np.int64)
        has_item = sizes > place
        item[has_item] = distinct.items[distinct.starts[members[has_item]] + place]
        keys.append(item)
    laid_out = members[np.lexsort(keys[::-1])]
    spans = np.array_split(laid_out, -(-len(members) // MOST_MEMBERS))
    if all(distinct.weight[span].sum() >= distinct.need[span].max() for span in spans):
        return [np.sort(span) for span in spans]
    return [members]
