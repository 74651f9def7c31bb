"""One run of randomized response: foreseen from ε and density, refused or warned of, then drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import DataError, EngineError, InputError, JobError
from incrowd.progress import Progress, silent
from incrowd.sets.sets import BIPARTITE, UNDIRECTED, Sets

Numbers = NDArray[np.int64]
"""Cells by their numbers, row by row."""

Bytes = Callable[[int], bytes]
"""Returns so many random bytes."""

DRAWS_AT_ONCE, LEAST_DRAWS = 1 << 20, 64

LEAST_BLOCKS, NOISE_OF_BLOCK, ROWS_OF_BLOCK = 16, 1 << 18, 1 << 16

_DRAWN = pa.schema([("block", pa.int64()), ("cells", pa.large_binary())])


@dataclass(frozen=True)
class Cells:
    """Cells row by row: rows × items; in graphs without loops, if so; in undirected ones v > u."""

    n_rows: int
    n_items: int
    graph: str
    has_self_loops: bool

    @classmethod
    def of(cls, sets: Sets, *, self_loops: bool) -> Cells:
        """Return the cells of these rows and items; refuse entries that are in none."""
        is_graph = sets.graph != BIPARTITE
        if is_graph and sets.n_rows != sets.n_items:
            raise DataError(
                f"a graph of {sets.n_rows} rows and {sets.n_items} items: both must be its nodes",
                remedy="Read the file as a graph, so that every node is a row and an item.",
            )
        cells = cls(sets.n_rows, sets.n_items, sets.graph, self_loops or not is_graph)
        if not cells.has_self_loops:
            n_loops = int(np.count_nonzero(sets.items == _row_of_entry(sets)))
            if n_loops:
                raise DataError(
                    f"{n_loops} nodes list themselves, and self_loops is false",
                    remedy="Set self_loops = true, or leave these entries out: whether nodes may "
                    "list themselves is public.",
                )
        return cells

    @property
    def is_undirected(self) -> bool:
        """Whether a pair of nodes is one cell."""
        return self.graph == UNDIRECTED

    @property
    def n_cells(self) -> int:
        """How many cells there are: a function of n and m alone."""
        if self.is_undirected:
            return self.n_rows * (self.n_rows + (1 if self.has_self_loops else -1)) // 2
        return self.n_rows * (self.n_items - (0 if self.has_self_loops else 1))

    @property
    def n_cells_of_row(self) -> int:
        """How many cells a change of one row can change; a pair counts for both of its nodes."""
        return self.n_items

    def ranks(self, sets: Sets) -> Numbers:
        """Return the numbers of the cells that hold an entry, ascending.

        In an undirected graph an edge that is listed once counts as if listed twice.
        """
        rows, items = _row_of_entry(sets), sets.items.astype(np.int64)
        if not self.is_undirected:
            return np.asarray(self.first_of_row(rows) + items - self._n_skipped(rows, items))
        low, high = np.minimum(rows, items), np.maximum(rows, items)
        ranks: Numbers = np.unique(self.first_of_row(low) + high - low - (not self.has_self_loops))
        return ranks

    def sets_of(self, ranks: Numbers, like: Sets) -> Sets:
        """Return the sets with entries in these cells, which are ascending."""
        if not self.is_undirected:
            width = max(self.n_items - (not self.has_self_loops), 1)
            rows = ranks // width
            items = ranks - rows * width
            if not self.has_self_loops:
                items += items >= rows
        else:
            firsts = self.first_of_row(np.arange(self.n_rows, dtype=np.int64))
            low = np.searchsorted(firsts, ranks, side="right") - 1
            high = low + ranks - firsts[low] + (not self.has_self_loops)
            is_pair = low != high
            both = np.concatenate([low * self.n_rows + high, (high * self.n_rows + low)[is_pair]])
            both.sort(kind="stable")
            rows, items = both // max(self.n_rows, 1), both % max(self.n_rows, 1)
        starts = np.searchsorted(rows, np.arange(self.n_rows + 1)).astype(np.int64)
        return like.with_entries(starts, items.astype(np.int32))

    def first_of_row(self, rows: Numbers) -> Numbers:
        """Return the number of each row's first cell."""
        if not self.is_undirected:
            return rows * (self.n_items - (not self.has_self_loops))
        if self.has_self_loops:
            return rows * self.n_rows - rows * (rows - 1) // 2
        return rows * (2 * self.n_rows - rows - 1) // 2

    def _n_skipped(self, rows: Numbers, items: Numbers) -> Numbers:
        """Return how many cells of the row before the item do not exist: the node's own."""
        if self.has_self_loops:
            return np.zeros_like(items)
        return (items > rows).astype(np.int64)


def _row_of_entry(sets: Sets) -> Numbers:
    return np.repeat(np.arange(sets.n_rows, dtype=np.int64), sets.sizes)


# ── which cells are flipped: one skip per flipped cell ──────────────────────────────────────────


def bytes_from(insecure_seed: int | tuple[int, int] | None) -> Bytes:
    """Return where noise comes from: the operating system or, for tests, a seeded generator."""
    if insecure_seed is None:
        return os.urandom
    return np.random.default_rng(insecure_seed).bytes


def keep_entries(n_entries: int, q: float, noise: Bytes) -> NDArray[np.bool_]:
    """Return which entries stay: each is flipped with probability q, rounded up to n / 2⁶⁴."""
    least = np.uint64(min(math.ceil(q * 2**64), 2**64 - 1))
    is_kept = np.empty(n_entries, dtype=np.bool_)
    for first in range(0, n_entries, DRAWS_AT_ONCE):
        n_draws = min(DRAWS_AT_ONCE, n_entries - first)
        words = np.frombuffer(noise(8 * n_draws), dtype=np.uint64)
        is_kept[first : first + n_draws] = words >= least
    return is_kept


def flip_places(n_places: int, q: float, noise: Bytes, progress: Progress = silent) -> Numbers:
    """Return which of so many empty cells are flipped, each with probability q, ascending.

    The way to the next flipped cell is 1 + ⌊ln U / ln(1 − q)⌋ with U uniform in 53 bits, never 0.
    O(flipped cells).
    """
    log_stays = math.log1p(-q)
    found: list[Numbers] = []
    reached = -1
    while reached < n_places - 1:
        progress("drawing noise", reached + 1, n_places)
        expected = (n_places - 1 - reached) * q
        n_draws = int(min(DRAWS_AT_ONCE, expected + 4.0 * math.sqrt(expected) + LEAST_DRAWS))
        words = np.frombuffer(noise(8 * n_draws), dtype=np.uint64)
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        ways = np.floor(np.log(uniform) / log_stays)
        # a way beyond the end is as good as any other beyond it, and cannot overflow a sum
        ways = np.minimum(ways, float(n_places)).astype(np.int64) + 1
        places = reached + _accumulate(ways, n_places)
        found.append(places[places < n_places])
        reached = int(places[-1])
    progress("drawing noise", n_places, n_places)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _accumulate(ways: Numbers, n_places: int) -> Numbers:
    """Return sums of the first, first two, … ways; those past the end stay just past it."""
    sums = np.cumsum(ways)
    beyond = np.flatnonzero(np.cumsum(ways.astype(np.float64)) > 2.0 * n_places + 2.0)
    if len(beyond):
        sums[beyond[0] :] = 2 * n_places + 2
    return sums


def nth_empty(places: Numbers, entries: Numbers) -> Numbers:
    """Return the numbers of the cells that are the ``places``-th without an entry, from 0.

    ``entries`` are the cells with one, ascending: before the i-th of them are entries[i] − i empty
    cells.
    """
    return places + np.searchsorted(entries - np.arange(len(entries)), places, side="right")


# ── noise drawn where the engine works: whole rows in blocks, each with noise of its own ────────


def draw_in_blocks(
    cells: Cells, entries: Numbers, q: float, insecure_seed: int | None, engine: Engine
) -> Numbers:
    """Return the cells that are shown, ascending; every block draws on a worker of the engine.

    How cells are cut into blocks follows from n, m and ε alone. A block that a worker lost is
    drawn anew, with other noise; only one of its draws ever comes back.
    """
    edges = _edges(cells, q)
    places = np.searchsorted(entries, edges)
    blocks = [
        (entries[start:end] - first).tobytes()
        for start, end, first in zip(places[:-1], places[1:], edges[:-1], strict=True)
    ]
    table = pa.table(
        {
            "block": np.arange(len(blocks)),
            "n_cells": np.diff(edges),
            "cells": pa.array(blocks, pa.large_binary()),
        }
    )
    drawn = engine.collect(engine.map_blocks(engine.load(table), _Draw(q, insecure_seed), _DRAWN))
    numbers = drawn.column("block").to_numpy()
    if not np.array_equal(np.sort(numbers), np.arange(len(blocks))):
        raise EngineError(
            f"{engine.name}: blocks of noise were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    shown = [np.empty(0, dtype=np.int64)]
    column = drawn.column("cells")
    for place in np.argsort(numbers).tolist():
        first = edges[numbers[place]]
        shown.append(first + np.frombuffer(column[place].as_buffer(), np.int64))
    return np.concatenate(shown)


def flip_cells(
    entries: Numbers, n_cells: int, q: float, noise: Bytes, progress: Progress
) -> Numbers:
    """Return which of so many cells are shown, ascending, each flipped with probability q."""
    kept = entries[keep_entries(len(entries), q, noise)]
    added = nth_empty(flip_places(n_cells - len(entries), q, noise, progress), entries)
    shown: Numbers = np.concatenate([kept, added])
    shown.sort(kind="stable")  # two runs in order: a merge
    return shown


def _edges(cells: Cells, q: float) -> Numbers:
    """Return where blocks of whole rows begin, and where the last one ends."""
    wanted = max(
        LEAST_BLOCKS,
        math.ceil(q * cells.n_cells / NOISE_OF_BLOCK),
        math.ceil(cells.n_rows / ROWS_OF_BLOCK),
    )
    n_blocks = max(1, min(cells.n_rows, wanted))
    rows = np.arange(n_blocks, dtype=np.int64) * cells.n_rows // n_blocks
    return np.append(cells.first_of_row(rows), cells.n_cells)


@dataclass(frozen=True)
class _Draw:
    """Flip the cells of blocks: the operating system's noise, or for tests a seed per block."""

    q: float
    insecure_seed: int | None

    def __call__(self, lines: pa.Table) -> pa.Table:
        shown = []
        for line in lines.to_pylist():
            entries = np.frombuffer(line["cells"], np.int64)
            seed = None if self.insecure_seed is None else (self.insecure_seed, line["block"])
            noise = bytes_from(seed)
            shown.append(flip_cells(entries, line["n_cells"], self.q, noise, silent).tobytes())
        columns = {"block": lines.column("block"), "cells": pa.array(shown, pa.large_binary())}
        return pa.table(columns, schema=_DRAWN)


# One run of randomized response: foreseen from ε and density, refused or warned of, then drawn.

AT_MOST_PROBABILITY = 0.95
"""How sure the bound is that an owner is told."""

USELESS = 0.5
"""Below this expected Jaccard similarity the owner is warned."""


def flip_probability(cell_epsilon: float) -> float:
    """Return q = 1 / (1 + e^ε): a cell is shown as it is not with this probability.

    The paper's p = 2 / (1 + e^ε) is the probability of a coin in its place, which is right half of
    the time: q = p / 2. (1 − q) / q = e^ε is the most by which any outcome's odds can change.
    """
    return math.exp(-cell_epsilon) / (1.0 + math.exp(-cell_epsilon))


def expected_jaccard(density: float, q: float) -> float:
    """Return about what |E ∩ E′| / |E ∪ E′| will be: Theorem 4.1 without its deviation.

    Expected kept entries (1 − q)|E| over the expected union |E| + q(N − |E|), N cells.
    """
    if density <= 0.0:
        return 1.0 if q == 0.0 else 0.0
    return (1.0 - q) / (1.0 + q * (1.0 - density) / density)


def jaccard_bound(density: float, n_cells: int, q: float, delta: float) -> float:
    """Return what the Jaccard similarity exceeds with probability at most δ.

    Theorem 4.1, mended (NOTES.md: as printed it is exceeded too often on sparse data). Kept
    entries and created ones are binomial; but for δ/2 each, the first are at most and the second
    at least what Chernoff's inequality says.
    """
    if density <= 0.0:
        return 1.0 if q == 0.0 else 0.0
    n_entries = density * n_cells
    n_empty = n_cells - n_entries
    log_odds = math.log(2.0 / delta)
    kept = _extreme_share(1.0 - q, 1.0, log_odds / n_entries)
    created = _extreme_share(q, 0.0, log_odds / n_empty) * n_empty if n_empty > 0 else 0.0
    return kept * n_entries / (n_entries + created)


def _extreme_share(p: float, limit: float, divergence: float) -> float:
    """Return the share between p and the limit whose divergence from p is this, or the limit.

    Of n draws with probability p a share beyond it (away from p) comes up with a probability of at
    most exp(−n · divergence).
    """
    inner, outer = p, limit
    for _ in range(100):
        middle = (inner + outer) / 2.0
        found = sum(
            one * math.log(one / other)
            for one, other in ((middle, p), (1.0 - middle, 1.0 - p))
            if one > 0.0
        )
        inner, outer = (inner, middle) if found >= divergence else (middle, outer)
    return outer


def epsilon_for(jaccard: float, density: float) -> float:
    """Return the ε of one cell at which the expected Jaccard similarity is this. (Figure 2.)"""
    q = (1.0 - jaccard) / (1.0 + jaccard * (1.0 - density) / density)
    return math.log((1.0 - q) / q)


def epsilon_that_fits(n_cells: int, most_entries: int) -> float:
    """Return the least ε of one cell at which so many noisy entries are expected at most."""
    return math.log(max(n_cells / most_entries - 1.0, 1.0))


# ── one run of randomized response: foreseen, refused or warned of, then drawn ────────────────────

EDGE, NODE = "edge", "node"

LARGEST_CELL_EPSILON = 50.0
"""Beyond it a cell is flipped less than once in 10²¹."""

MOST_CELLS = 1 << 60
"""Numbers of cells are 64-bit numbers, with room to add two."""


@dataclass(frozen=True)
class Outlook:
    """What a run will do. ``density``, ``expected_jaccard`` and ``jaccard_at_most``, which is not
    exceeded with a probability of 0.95, are the owner's, like the warning; the rest follows from
    n, m and ε."""

    level: str
    epsilon: float
    cell_epsilon: float
    flip_probability: float
    n_cells: int
    expected_noise: float
    density: float
    expected_jaccard: float
    jaccard_at_most: float
    warning: str


@dataclass(frozen=True, eq=False)
class Noisy:
    """Released sets, and what was foreseen of them."""

    released: Sets
    outlook: Outlook
    figures: dict[str, object] = field(default_factory=dict)


def foresee(
    sets: Sets, *, level: str, epsilon: float, self_loops: bool, most_entries: int
) -> Outlook:
    """Say what a run would do, before it; refuse what would not fit, judged on n, m and ε alone."""
    cells = Cells.of(sets, self_loops=self_loops)
    share = cells.n_cells_of_row if level == NODE else 1
    cell_epsilon = epsilon / max(share, 1)
    q = flip_probability(cell_epsilon)
    expected_noise = q * cells.n_cells
    if cell_epsilon > LARGEST_CELL_EPSILON:
        raise JobError(
            f"epsilon = {epsilon:g} would publish the data as they are",
            remedy=f"State {LARGEST_CELL_EPSILON * share:g} or less.",
        )
    if cells.n_cells > MOST_CELLS:
        raise InputError(
            f"{cells.n_rows} rows and {cells.n_items} items are more than 2⁶⁰ cells",
            remedy="Take fewer rows or items.",
        )
    if expected_noise > most_entries:
        least = epsilon_that_fits(cells.n_cells, most_entries) * share
        raise InputError(
            f"epsilon = {epsilon:g} on {cells.n_rows} rows and {cells.n_items} items would show "
            f"about {expected_noise:.3g} entries of noise, more than {most_entries}",
            remedy=f"epsilon of {least:.4g} or more fits; or take fewer rows or items, or raise "
            "most_entries.",
        )
    n_entries = len(cells.ranks(sets))
    density = n_entries / cells.n_cells if cells.n_cells else 0.0
    jaccard = expected_jaccard(density, q)
    return Outlook(
        level,
        epsilon,
        cell_epsilon,
        q,
        cells.n_cells,
        expected_noise,
        density,
        jaccard,
        jaccard_bound(density, cells.n_cells, q, 1.0 - AT_MOST_PROBABILITY),
        _warning(density, q, jaccard, share),
    )


def _warning(density: float, q: float, jaccard: float, share: int) -> str:
    if jaccard >= USELESS or density <= 0.0:
        return ""
    n_true, n_noise = (1.0 - q) * density, q * (1.0 - density)
    needed = epsilon_for(USELESS, density) * share
    return (
        f"the release will be nearly useless: a Jaccard similarity of about {jaccard:.2g} is "
        f"expected, {n_true / (n_true + n_noise):.2%} of the entries shown will be true, and a "
        f"similarity of {USELESS:g} needs epsilon = {needed:.3g}"
    )


def respond(
    sets: Sets,
    *,
    level: str,
    epsilon: float,
    self_loops: bool = False,
    most_entries: int = 50_000_000,
    insecure_noise_seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Noisy:
    """Return the sets with every cell flipped with probability 1 / (1 + e^ε).

    With an engine noise is drawn in blocks on its workers, else in this process.

    Esfandiari et al. 2022, Algorithm 1; for a whole row (node) ε/m takes the place of ε. Rows
    stay in their places, and items keep their names. O(entries in + entries out).
    """
    outlook = foresee(
        sets, level=level, epsilon=epsilon, self_loops=self_loops, most_entries=most_entries
    )
    cells = Cells.of(sets, self_loops=self_loops)
    q = outlook.flip_probability
    entries = cells.ranks(sets)
    if engine is None:
        noise = bytes_from(insecure_noise_seed)
        ranks = flip_cells(entries, cells.n_cells, q, noise, progress)
    else:
        ranks = draw_in_blocks(cells, entries, q, insecure_noise_seed, engine)
    return Noisy(
        cells.sets_of(ranks, sets),
        outlook,
        {
            "expected_jaccard": outlook.expected_jaccard,
            "jaccard_at_most": outlook.jaccard_at_most,
            "at_most_probability": AT_MOST_PROBABILITY,
            "expected_noise": outlook.expected_noise,
        },
    )
