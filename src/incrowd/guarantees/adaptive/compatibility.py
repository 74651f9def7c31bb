"""Crowds of people: how many released rows could be theirs, and how many of those are mutual.

Person v's original is *compatible* with a released row if they agree in every cell that the row
shows. The *literal* crowd of v is the rows that v is compatible with; the *mutual* crowd those of
them whose people are compatible with v's row in turn. Both count v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.adaptive.kernels import (
    crowds_by_scan,
    meet,
    mutual_by_edges,
    mutual_work,
    transpose,
)
from incrowd.guarantees.adaptive.people import MASKED, People

MOST_TESTS = 4_000_000_000
"""Comparisons of two rows above which crowds are not counted for everybody: about ten seconds."""

MOST_EDGES = 50_000_000
"""Compatible (profile, pattern) pairs above which they are not kept: 600 MB in all."""

FEW_TESTS, FEW_EDGES = 200_000_000, 2_000_000
"""The same bounds where closed forms settle everybody, and counts only make figures exact."""

COMMON_SHARE = 16
"""A value is common where one in so many profiles has it."""

N_SAMPLED = 2_000
"""People of a sample, where not everybody's crowd can be counted."""


@dataclass(frozen=True, eq=False)
class Index:
    """Profiles by the value they have in each column, to find those that fit a pattern.

    Every value has a list of profiles; a value of at least ``shortest_common`` profiles also has
    them as bits, ``words[words_of_value[value]]``. The last line of words has every profile.
    """

    first_value: NDArray[np.int64]
    list_start: NDArray[np.int64]
    listed: NDArray[np.int32]
    words_of_value: NDArray[np.int32]
    words: NDArray[np.uint64]
    shortest_common: int

    @classmethod
    def of(cls, profiles: NDArray[np.int32], patterns: NDArray[np.int32]) -> Index:
        """List the profiles of every value; O(profiles × columns)."""
        highest = np.maximum(profiles.max(axis=0, initial=0), patterns.max(axis=0, initial=0))
        first_value = np.concatenate([[0], np.cumsum(highest + 1)]).astype(np.int64)
        values = (profiles + first_value[:-1]).T.reshape(-1)
        counts = np.bincount(values, minlength=int(first_value[-1]))
        list_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        n_profiles = len(profiles)
        listed = (np.argsort(values, kind="stable") % max(n_profiles, 1)).astype(np.int32)
        # bits of a value then take no more room than its list
        shortest_common = max(1, n_profiles // COMMON_SHARE)
        common = np.flatnonzero(counts >= shortest_common)
        words_of_value = np.full(len(counts), -1, dtype=np.int32)
        words_of_value[common] = np.arange(len(common), dtype=np.int32)
        words = np.empty((len(common) + 1, -(-n_profiles // 64)), dtype=np.uint64)
        for line, value in enumerate(common):
            words[line] = _as_words(listed[list_start[value] : list_start[value + 1]], n_profiles)
        words[-1] = _as_words(np.arange(n_profiles, dtype=np.int32), n_profiles)
        return cls(first_value, list_start, listed, words_of_value, words, shortest_common)

    def n_tests(self, patterns: NDArray[np.int32], n_profiles: int) -> int:
        """Count the comparisons, of two rows or of 64 bits, that finding all pairs takes."""
        shortest = np.full(len(patterns), n_profiles, dtype=np.int64)
        n_shown = (patterns != MASKED).sum(axis=1)
        lengths = np.diff(self.list_start)
        for column, first in enumerate(self.first_value[:-1]):
            codes = patterns[:, column]
            is_shown = codes != MASKED
            found = lengths[first + codes[is_shown]]
            shortest[is_shown] = np.minimum(shortest[is_shown], found)
        by_bits = (n_shown + 1) * self.words.shape[1]
        return int(np.where(shortest < self.shortest_common, shortest, by_bits).sum())


@dataclass(frozen=True, eq=False)
class Edges:
    """Compatible pairs: pattern p fits ``profile_of_edge[edge_start[p]:edge_start[p + 1]]``.

    ``pattern_of_edge`` with ``out_start`` is the same by profile.
    """

    edge_start: NDArray[np.int64]
    profile_of_edge: NDArray[np.int32]
    out_start: NDArray[np.int64]
    pattern_of_edge: NDArray[np.int32]

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.profile_of_edge)


@dataclass(frozen=True, eq=False)
class Compatibility:
    """What is known of compatible pairs: all of them, or only counts, or nothing.

    ``literal[profile]`` counts rows, None where that takes more than ``MOST_TESTS``; ``edges`` is
    None where there are more than ``MOST_EDGES``.
    """

    n_tests: int
    literal: NDArray[np.int64] | None = None
    n_edges: int = 0
    edges: Edges | None = None


def compatible_pairs(
    people: People, most_tests: int = MOST_TESTS, most_edges: int = MOST_EDGES
) -> Compatibility:
    """Find every compatible pair of a profile and a pattern, within the bounds."""
    profiles, patterns = people.profiles, people.patterns
    index = Index.of(profiles.cells, patterns.cells)
    n_tests = index.n_tests(patterns.cells, profiles.n)
    if n_tests > most_tests:
        return Compatibility(n_tests)
    edge_start = np.zeros(patterns.n + 1, dtype=np.int64)
    literal = np.zeros(profiles.n, dtype=np.int64)
    lists = (
        index.first_value, index.list_start, index.listed, index.words_of_value, index.words,
        index.shortest_common,
    )  # fmt: skip
    nothing = np.empty(0, dtype=np.int32)
    meet(profiles.cells, patterns.cells, patterns.counts, *lists, edge_start, nothing, literal)
    np.cumsum(edge_start, out=edge_start)
    n_edges = int(edge_start[-1])
    if n_edges > most_edges or n_edges == 0:
        return Compatibility(n_tests, literal, n_edges)
    profile_of_edge = np.empty(n_edges, dtype=np.int32)
    meet(
        profiles.cells, patterns.cells, patterns.counts, *lists, edge_start, profile_of_edge,
        literal,
    )  # fmt: skip
    out_start = np.zeros(profiles.n + 1, dtype=np.int64)
    pattern_of_edge = np.empty(n_edges, dtype=np.int32)
    transpose(edge_start, profile_of_edge, out_start, pattern_of_edge)
    edges = Edges(edge_start, profile_of_edge, out_start, pattern_of_edge)
    return Compatibility(n_tests, literal, n_edges, edges)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Closed forms for every person, exact by exchangeability.

    ``docs/reference/guarantees/adaptive.md`` derives them.

    ``crowd`` is at most the mutual crowd, ``posterior`` at least the posterior, and equal to it
    where ``is_exact``: where the row is shown whole.
    """

    crowd: NDArray[np.int64]
    posterior: NDArray[np.float64]
    is_exact: NDArray[np.bool_]

    @classmethod
    def of(cls, people: People) -> Bounds:
        """Count equal rows, equal originals and rows that are shown whole; O(people)."""
        profile, pattern, kind = people.profiles.of_row, people.patterns.of_row, people.kinds.of_row
        z, s = people.profiles.counts[profile], people.patterns.counts[pattern]
        is_whole = ~people.is_masked.any(axis=1)
        n_whole = np.bincount(profile[is_whole], minlength=people.profiles.n)[profile]
        crowd = s + z - people.kinds.counts[kind]
        posterior = np.where(is_whole, 1.0 / z, np.minimum(z - n_whole, s) / (z * s))
        return cls(crowd, posterior, is_whole)


@dataclass(frozen=True, eq=False)
class Crowds:
    """Each person's literal and mutual crowd: exact where counted, else at least so many.

    ``sampled`` are people of a seeded sample of those whose crowd neither a closed form nor a
    full count settles; ``n_unsettled`` is how many such people there are.
    """

    literal: NDArray[np.int64]
    mutual: NDArray[np.int64]
    is_literal_counted: NDArray[np.bool_]
    is_mutual_counted: NDArray[np.bool_]
    sampled: NDArray[np.int64]
    n_unsettled: int

    @cached_property
    def is_complete(self) -> bool:
        """Whether everybody's crowd is counted or settled by a closed form."""
        return self.n_unsettled == 0


def count_crowds(
    people: People,
    bounds: Bounds,
    pairs: Compatibility | None,
    seed: int = 0,
    most_tests: int = MOST_TESTS,
) -> Crowds:
    """Count everybody's crowds as far as the bounds allow, the unsettled people's first."""
    kind_of = people.kinds.of_row
    literal, mutual = bounds.crowd.copy(), bounds.crowd.copy()
    is_literal, is_mutual = (np.zeros(people.n, dtype=np.bool_) for _ in range(2))
    if pairs is not None and pairs.literal is not None:
        literal, is_literal = pairs.literal[people.profiles.of_row], ~is_literal
    is_unsettled = bounds.crowd < people.k
    if pairs is not None and pairs.edges is not None:
        for is_wanted in (np.ones(people.n, dtype=np.bool_), is_unsettled):
            is_chosen = np.zeros(people.kinds.n, dtype=np.bool_)
            is_chosen[kind_of[is_wanted]] = True
            counted = _mutual(people, pairs.edges, is_chosen, most_tests)
            if counted is not None:
                mutual = np.where(is_wanted, counted[kind_of], mutual)
                return Crowds(literal, mutual, is_literal, is_wanted, _nobody(), 0)
    unsettled = np.flatnonzero(is_unsettled)
    n_scanned = most_tests // max(people.kinds.n, 1)
    wanted = unsettled
    if len(np.unique(kind_of[unsettled])) > n_scanned:
        drawn = np.random.default_rng(seed).permutation(len(unsettled))
        wanted = np.sort(unsettled[drawn[: max(1, min(N_SAMPLED, n_scanned))]])
    by_kind = np.zeros((2, people.kinds.n), dtype=np.int64)
    rarest_first = np.argsort([-len(np.unique(column)) for column in people.profiles.cells.T])
    crowds_by_scan(
        np.unique(kind_of[wanted]).astype(np.int64), people.kinds.cells, people.kinds.counts,
        people.profiles.cells, people.patterns.cells, rarest_first.astype(np.int64), *by_kind,
    )  # fmt: skip
    literal[wanted], mutual[wanted] = by_kind[:, kind_of[wanted]]
    is_literal[wanted] = is_mutual[wanted] = True
    is_sample = len(wanted) < len(unsettled)
    return Crowds(
        literal,
        mutual,
        is_literal,
        is_mutual,
        wanted if is_sample else _nobody(),
        len(unsettled) if is_sample else 0,
    )


def _mutual(
    people: People, edges: Edges, is_chosen: NDArray[np.bool_], most_tests: int
) -> NDArray[np.int64] | None:
    kinds = people.kinds.cells
    by_pattern = np.argsort(kinds[:, 1], kind="stable").astype(np.int64)
    n_kinds = np.bincount(kinds[:, 1], minlength=people.patterns.n)
    kind_start = np.concatenate([[0], np.cumsum(n_kinds)]).astype(np.int64)
    work = mutual_work(kinds, kind_start, edges.out_start, edges.pattern_of_edge, is_chosen)
    if work > most_tests:
        return None
    mutual = np.zeros(people.kinds.n, dtype=np.int64)
    mutual_by_edges(
        kinds, people.kinds.counts, by_pattern, kind_start, edges.edge_start,
        edges.profile_of_edge, edges.out_start, edges.pattern_of_edge, is_chosen, mutual,
    )  # fmt: skip
    return mutual


def _as_words(members: NDArray[np.int32], n: int) -> NDArray[np.uint64]:
    """Return the members as bits of words, the first in the lowest bit."""
    bits = np.zeros(-(-n // 64) * 64, dtype=np.bool_)
    bits[members] = True
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def _nobody() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)
