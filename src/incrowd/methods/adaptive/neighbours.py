"""Exact nearest neighbours of every row that needs some, in slices on an engine; ties in a fixed
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import BlockFunction, Engine
from incrowd.errors import EngineError
from incrowd.methods.adaptive.search import Problem
from incrowd.methods.shared.fragments import sort_key
from incrowd.methods.shared.parts import PartProgress
from incrowd.progress import Progress, is_abort_requested, is_stop_requested

if TYPE_CHECKING:
    from incrowd.methods.adaptive.kernels.nearest import Groups
    from incrowd.methods.adaptive.kernels.weighted import Cells, Tiles


TILE_BYTES = 400_000
"""What the planes of a tile take: they stay in a core's second cache."""

LEAST_TILE, LARGEST_TILE = 256, 8192

MOST_COMBINATIONS = 1024
"""Up to how many combinations of values attributes are joined."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows by falling k or need, then by profile: ties between rows go to the lower rank.

    ``need[rank]`` is how many rows of other profiles its crowd lacks: those of its own profile
    are compatible as they are. ``row[rank]`` is the row's number in the problem.
    """

    problem: Problem
    row: NDArray[np.int64]
    profile: NDArray[np.int32]
    need: NDArray[np.int32]

    @classmethod
    def of(cls, problem: Problem) -> Ranked:
        """Return the rows of a problem in the order of their ranks."""
        n_values = problem.n_values.tolist()
        key = sort_key(list(problem.codes), n_values, problem.n_rows)
        _, profile, size = np.unique(key, return_inverse=True, return_counts=True)
        need = np.maximum(0, problem.k - size[profile])
        # measured: bits are masked less in the order of k, attributes in that of need
        first = problem.k if problem.is_bit else need
        row = np.lexsort((problem.k, profile, -first))
        return cls(problem, row, profile[row].astype(np.int32), need[row].astype(np.int32))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.row)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The codes, a line per rank."""
        return np.ascontiguousarray(self.problem.codes[:, self.row].T)

    @cached_property
    def n_others(self) -> NDArray[np.int64]:
        """How many rows have another profile, per rank."""
        return self.n_rows - np.bincount(self.profile)[self.profile]

    @cached_property
    def first_value(self) -> NDArray[np.int64]:
        """Where each attribute's values begin when all are counted through."""
        return np.concatenate([[0], np.cumsum(self.problem.n_values)]).astype(np.int64)

    @cached_property
    def groups(self) -> Groups:
        """Rows of one profile and need together."""
        from incrowd.methods.adaptive.kernels.nearest import Groups

        first = np.flatnonzero(_is_start(self.profile) | _is_start(self.need))
        is_narrow = self.problem.n_values <= 256
        codes = self.problem.codes[:, self.row[first]]
        return Groups(
            codes[is_narrow].astype(np.uint8, order="C"),
            codes[~is_narrow].astype(_code_type(self.problem), order="C"),
            self.profile[first],
            first.astype(np.int32),
            np.diff(first, append=self.n_rows).astype(np.int32),
        )

    @cached_property
    def tiles(self) -> Tiles:
        """Rows sorted by profile, cut so that a tile's planes stay in the cache."""
        from incrowd.methods.adaptive.kernels.weighted import MOST_LAYERS, Tiles

        n_lines = max(1, self.problem.n_cells)
        n_places = int(np.clip(TILE_BYTES // (2 * n_lines), LEAST_TILE, LARGEST_TILE))
        rank = np.argsort(self.profile, kind="stable")
        profile, tile = self.profile[rank], np.arange(self.n_rows) // n_places
        # a segment starts with every tile and profile, and where it has all the rows it may have
        start = _is_start(profile) | _is_start(tile)
        within = np.arange(self.n_rows) - np.maximum.accumulate(
            np.where(start, np.arange(self.n_rows), 0)
        )
        start |= within % MOST_LAYERS == 0
        first = np.flatnonzero(start)
        size = np.diff(first, append=self.n_rows)
        # segments: by tile, those with most rows first; rows: by tile, layer and segment
        order = np.lexsort((-size, tile[first]))
        place_of_segment = np.empty_like(order)
        place_of_segment[order] = np.arange(len(order))
        segment_of_row = place_of_segment[np.cumsum(start) - 1]
        layer_of_row = within % MOST_LAYERS
        rank = rank[np.lexsort((segment_of_row, layer_of_row, tile))]
        sizes = np.bincount(tile * MOST_LAYERS + layer_of_row, minlength=MOST_LAYERS)
        n_tiles = int(tile[-1]) + 1 if self.n_rows else 0
        sizes = np.pad(sizes, (0, n_tiles * MOST_LAYERS - len(sizes))) if n_tiles else sizes[:0]
        layer = np.zeros((n_tiles, MOST_LAYERS + 1), dtype=np.int64)
        layer[:, 1:] = np.cumsum(sizes).reshape(n_tiles, MOST_LAYERS)
        layer[1:, 0] = layer[:-1, -1]
        representative = self.row[np.argsort(self.profile, kind="stable")[first[order]]]
        combination, value_start, values = joined(
            self.problem.codes[:, representative], self.first_value
        )
        return Tiles(
            rank.astype(np.int32),
            np.searchsorted(tile[first[order]], np.arange(n_tiles + 1)),
            layer,
            profile[first[order]],
            np.ascontiguousarray(combination.T),
            value_start,
            values,
        )

    def cells(self, counts: NDArray[np.uint8], weights: NDArray[np.int32]) -> Cells:
        """Return the rows with what their cells weigh."""
        from incrowd.methods.adaptive.kernels.weighted import Cells

        return Cells(
            self.codes,
            self.planes,
            self.profile,
            counts,
            weights,
            self.first_value,
            self.problem.is_bit,
        )

    @cached_property
    def planes(self) -> NDArray[Any]:
        """The codes in the order of tiles, where attributes are compared one at a time."""
        if self.problem.is_bit:
            return np.empty((0, 0), dtype=np.uint8)
        return self.problem.codes[:, self.row[self.tiles.rank]].astype(
            _code_type(self.problem), order="C"
        )


def _is_start(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where sorted numbers change, the first included."""
    is_start = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_start[1:])
    return is_start


def _code_type(problem: Problem) -> type[np.generic]:
    most = int(problem.n_values.max(initial=0))
    if most <= 1 << 8:
        return np.uint8
    return np.uint16 if most <= 1 << 16 else np.int32


def joined(
    codes: NDArray[np.int32], first_value: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32]]:
    """Join attributes, those with few values first, while few combinations occur.

    Returns the combination of each row of ``codes[attribute, row]`` per joined attribute, all
    combinations counted through; and the values that each is made of.
    """
    by_width = np.argsort(np.diff(first_value), kind="stable")
    parts: list[tuple[list[int], NDArray[np.int64]]] = []
    for attribute in by_width.tolist():
        if parts:
            members, number = parts[-1]
            together = number * int(codes[attribute].max(initial=0) + 1) + codes[attribute]
            distinct, renumbered = np.unique(together, return_inverse=True)
            if len(distinct) <= MOST_COMBINATIONS:
                parts[-1] = ([*members, attribute], renumbered)
                continue
        _, number = np.unique(codes[attribute], return_inverse=True)
        parts.append(([attribute], number))
    n_combinations = 0
    combination = np.empty((len(parts), codes.shape[1]), dtype=np.int64)
    lengths: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int64]] = []
    for line, (members, number) in enumerate(parts):
        _, representative = np.unique(number, return_index=True)
        made_of = codes[np.ix_(np.array(members), representative)] + first_value[members][:, None]
        combination[line] = number + n_combinations
        n_combinations += len(representative)
        lengths.append(np.full(len(representative), len(members)))
        values.append(made_of.T.ravel())
    value_start = np.cumsum(np.concatenate([[0], *lengths])).astype(np.int64)
    number_type = np.uint16 if n_combinations <= 1 << 16 else np.int32
    made = np.concatenate(values) if values else np.zeros(0)
    return combination.astype(number_type), value_start, made.astype(np.int32)


# Exact nearest neighbours of every row that needs some, in slices on an engine.

PAIRS_PER_SLICE = 1_000_000_000
"""About how many pairs are compared between two looks at whether somebody wants to stop."""

LEAST_QUERIES = 64
"""A slice of fewer takes longer to hand over than to search; so many need little memory."""

SLICES_PER_WORKER = 4
"""At least so many slices, so that no worker waits long for the others."""

LISTED = pa.schema([("query", pa.int32()), ("neighbours", pa.binary()), ("distances", pa.binary())])
"""What comes back: a line per query, its list as the bytes of 32-bit numbers."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Neighbours of every rank, ``neighbour[start[rank] : start[rank + 1]]``, with distances.

    Sorted by distance, then by rank.
    """

    start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    distance: NDArray[np.int32]


def starts_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return where lists of these lengths begin when they follow each other, and the end."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


@dataclass(frozen=True, eq=False)
class Profiles:
    """What all slices look at where cells weigh the same: all groups, and who asks for how many."""

    groups: Groups
    query_group: NDArray[np.int32]
    length: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class HammingSlice:
    """Lists neighbours of some profiles on one worker, every cell weighing the same."""

    profiles: Callable[[], Profiles]
    progress: PartProgress

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the lists of a block's queries."""
        from incrowd.methods.adaptive.kernels import nearest as nearest_kernels

        if is_abort_requested():
            return LISTED.empty_table()
        shared = self.profiles()
        queries = np.sort(block.column("query").to_numpy())
        start = starts_of(shared.length[queries])
        n_attributes = len(shared.groups.narrow) + len(shared.groups.wide)
        differing = np.empty(
            nearest_kernels.TILE, dtype=np.uint8 if n_attributes < 255 else np.int32
        )
        neighbour, n_differing = np.empty((2, start[-1]), dtype=np.int32)
        nearest_kernels.nearest_ranks(
            shared.groups, shared.query_group[queries], start, differing, neighbour, n_differing
        )
        self.progress.of(int(block.column("slice")[0].as_py()))("", 1, 1)
        return _packed(queries, start, neighbour, n_differing)


@dataclass(frozen=True, eq=False)
class Standing:
    """What all slices of all iterations look at: the cells, without this iteration's counts."""

    cells: Cells
    tiles: Tiles
    length: NDArray[np.int32]
    shift: int


@dataclass(frozen=True, eq=False)
class WeightedSlice:
    """Lists neighbours of some ranks on one worker, by weighted distance."""

    standing: Callable[[], Standing]
    counts: Callable[[], NDArray[np.uint8]]
    progress: PartProgress

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the lists of a block's queries."""
        from incrowd.methods.adaptive.kernels import weighted as weighted_kernels

        if is_abort_requested() or is_stop_requested():
            return LISTED.empty_table()
        shared = self.standing()
        cells = shared.cells._replace(counts=self.counts())
        ranks = block.column("query").to_numpy()
        order = np.lexsort((ranks, cells.profile[ranks]))
        queries = ranks[order]
        start = starts_of(shared.length[queries])
        previous = _unpacked(block.column("previous").take(pa.array(order)))
        neighbour, distance = np.empty((2, start[-1]), dtype=np.int32)
        weighted_kernels.nearest_ranks(
            cells, shared.tiles, queries, start, previous, shared.shift, neighbour, distance
        )
        self.progress.of(int(block.column("slice")[0].as_py()))("", 1, 1)
        return _packed(queries, start, neighbour, distance)


@dataclass(frozen=True)
class Workshop:
    """Where neighbours are looked for: an engine, a bound on its memory, and who hears of it."""

    engine: Engine
    memory_bytes: int
    progress: Progress
    stage: str

    def slices(self, n_queries: int, n_others: int, bytes_per_query: int) -> NDArray[np.int32]:
        """Return the slice of each query: small enough for the memory, and for a quick stop."""
        per_worker = self.memory_bytes // (4 * self.engine.n_workers)
        most = min(per_worker // bytes_per_query, PAIRS_PER_SLICE // max(1, n_others))
        n_slices = max(
            -(-n_queries // max(LEAST_QUERIES, most)),
            min(n_queries, SLICES_PER_WORKER * self.engine.n_workers),
        )
        return (np.arange(n_queries) * n_slices // n_queries).astype(np.int32)

    def heard(self, slice_of_query: NDArray[np.int32]) -> PartProgress:
        """Return what adds up the slices' progress."""
        sizes = np.bincount(slice_of_query).astype(np.float64)
        total = len(slice_of_query)
        return PartProgress(self.progress, self.stage, 0, total, total, sizes, sizes)

    def run(self, queries: pa.Table, function: BlockFunction) -> pa.Table:
        """Call a function for every slice of the queries and bring the lists back."""
        engine = self.engine
        self.progress(self.stage, 0, queries.num_rows)
        listed = engine.map_groups(engine.load(queries), "slice", function, LISTED)
        return engine.collect(listed)


def by_differences(ranked: Ranked, length: NDArray[np.int32], workshop: Workshop) -> Lists:
    """Return for each rank its nearest ranks of other profiles, all cells weighing the same.

    ``length[rank]`` of them, by the number of attributes that differ, which is the distance.
    Rows of one profile have one list, of which each takes as much as it asks for.
    """
    from incrowd.methods.adaptive.kernels import nearest as nearest_kernels

    groups = ranked.groups
    longest = np.zeros(int(ranked.profile.max(initial=-1)) + 1, dtype=np.int32)
    np.maximum.at(longest, ranked.profile, length)
    profiles = np.flatnonzero(longest)
    start = starts_of(length)
    if not len(profiles):
        return Lists(start, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))
    group_of_profile = np.zeros(len(longest), dtype=np.int32)
    group_of_profile[groups.profile] = np.arange(len(groups.profile))
    lengths = longest[profiles]
    n_attributes = ranked.problem.n_attributes
    slice_of_query = workshop.slices(
        len(profiles), len(groups.profile), 24 * int(lengths.max()) + 8 * n_attributes + 1024
    )
    search = HammingSlice(
        workshop.engine.broadcast(Profiles(groups, group_of_profile[profiles], lengths)),
        workshop.heard(slice_of_query),
    )
    queries = pa.table({"query": np.arange(len(profiles), dtype=np.int32), "slice": slice_of_query})
    listed = _gathered(workshop, queries, search, starts_of(lengths))
    list_of_profile = np.zeros(len(longest), dtype=np.int64)
    list_of_profile[profiles] = starts_of(lengths)[:-1]
    shared = []
    for column in listed:
        into = np.empty(start[-1], dtype=np.int32)
        nearest_kernels.share_prefixes(ranked.profile, start, list_of_profile, column, into)
        shared.append(into)
    return Lists(start, *shared)


def standing(
    ranked: Ranked, weights: NDArray[np.int32], length: NDArray[np.int32], engine: Engine
) -> Callable[[], Standing]:
    """Send out what ``by_weight`` needs of the rows in every iteration, once for all of them."""
    no_counts = np.zeros((0, ranked.problem.n_cells), dtype=np.uint8)
    cells = ranked.cells(no_counts, weights)
    return engine.broadcast(Standing(cells, ranked.tiles, length, bound_shift(ranked, weights)))


def by_weight(
    ranked: Ranked,
    counts: NDArray[np.uint8],
    shared: Callable[[], Standing],
    previous: Lists,
    workshop: Workshop,
) -> Lists | None:
    """Return for each rank its nearest ranks of other profiles by weight, or None if told to end.

    As many as it has in ``previous``, which only bounds the search. ``counts[rank, cell]`` of at
    most 255 point into the weights that are ``shared``, which may not rise; a distance is the sum
    of both rows' weights in the cells where they differ.
    """
    length = np.diff(previous.start).astype(np.int32)
    ranks = np.flatnonzero(length)
    ranks = ranks[np.argsort(ranked.profile[ranks], kind="stable")].astype(np.int32)
    if not len(ranks):
        return previous
    slice_of_query = workshop.slices(
        len(ranks), ranked.n_rows, 2 * len(ranked.tiles.value_start) + 40 * int(length.max()) + 512
    )
    search = WeightedSlice(
        shared, workshop.engine.broadcast(counts), workshop.heard(slice_of_query)
    )
    ordered = starts_of(length[ranks])
    given = np.empty(len(previous.neighbour), dtype=np.int32)
    _collect_lists(ranks, previous, given)
    queries = pa.table(
        {"query": ranks, "slice": slice_of_query, "previous": _as_binary(ordered, given)}
    )
    gathered = _gathered(workshop, queries, search, previous.start, may_end=True)
    return Lists(previous.start, *gathered) if gathered else None


def bound_shift(ranked: Ranked, weights: NDArray[np.int32]) -> int:
    """Return how many bits a weight loses so that every distance fits 16."""
    cells_per_attribute = 2 if ranked.problem.is_bit else 1
    farthest = 2 * cells_per_attribute * ranked.problem.n_attributes * int(weights.max())
    return max(0, farthest.bit_length() - 16)


def _collect_lists(ranks: NDArray[np.int32], lists: Lists, into: NDArray[np.int32]) -> None:
    from incrowd.methods.adaptive.kernels import nearest as nearest_kernels

    nearest_kernels.gather(ranks, lists.neighbour, lists.start, into)


def _gathered(
    workshop: Workshop,
    queries: pa.Table,
    search: BlockFunction,
    start: NDArray[np.int64],
    *,
    may_end: bool = False,
) -> list[NDArray[np.int32]]:
    """Return neighbours and distances where ``start`` says; nothing if the search may end."""
    from incrowd.methods.adaptive.kernels import nearest as nearest_kernels

    listed = workshop.run(queries, search)
    found = listed.column("query").to_numpy()
    if may_end and is_stop_requested():
        return []
    if not np.array_equal(np.sort(found), np.sort(queries.column("query").to_numpy())):
        raise EngineError(
            f"{workshop.engine.name}: lists were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    gathered = []
    for name in ("neighbours", "distances"):
        into = np.empty(start[-1], dtype=np.int32)
        nearest_kernels.scatter(found, _unpacked(listed.column(name)), start, into)
        gathered.append(into)
    return gathered


def _packed(
    queries: NDArray[np.int32],
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    distance: NDArray[np.int32],
) -> pa.Table:
    lists = [_as_binary(start, numbers) for numbers in (neighbour, distance)]
    return pa.table([pa.array(queries, pa.int32()), *lists], schema=LISTED)


def _as_binary(start: NDArray[np.int64], numbers: NDArray[np.int32]) -> pa.Array:
    """Return lists of 32-bit numbers as a column of their bytes, without copying them."""
    offsets = (4 * start).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(pa.binary(), len(start) - 1, buffers)


def _unpacked(column: pa.ChunkedArray) -> NDArray[np.int32]:
    """Return the numbers of all lists of a column, one list after the other."""
    parts = [np.zeros(0, dtype=np.int32)]
    for chunk in column.chunks:
        _, offsets, bytes_of_lists = chunk.buffers()
        edges = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if len(chunk) and edges[-1] > edges[0]:
            parts.append(
                np.frombuffer(bytes_of_lists, dtype=np.int32)[edges[0] // 4 : edges[-1] // 4]
            )
    return np.concatenate(parts)
