"""Rules p → s: public items that an attacker may know and sensitive items they must not tell;
and the closure of stated rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.sets.names import find_names


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules in numbers of the items ``names``, in the order in which they were stated.

    Rule r has the public items ``public[public_starts[r]:public_starts[r + 1]]`` and the
    sensitive ones ``sensitive[sensitive_starts[r]:sensitive_starts[r + 1]]``, each ascending,
    distinct and at least one. ``names`` are the items' names as texts.
    """

    public_starts: NDArray[np.int64]
    public: NDArray[np.int32]
    sensitive_starts: NDArray[np.int64]
    sensitive: NDArray[np.int32]
    names: pa.Array

    @classmethod
    def of(cls, stated: Sequence[tuple[Sequence[int], Sequence[int]]], names: pa.Array) -> Rules:
        """Return rules from pairs of public and sensitive items, in numbers of ``names``.

        >>> Rules.of([([2, 0], [3])], pa.array(["a", "b", "c", "h"])).public.tolist()
        [0, 2]
        """
        public_starts, public = _pack([public for public, _ in stated])
        sensitive_starts, sensitive = _pack([sensitive for _, sensitive in stated])
        return cls(public_starts, public, sensitive_starts, sensitive, names)

    @property
    def n_rules(self) -> int:
        """How many rules there are."""
        return len(self.public_starts) - 1

    @property
    def public_sizes(self) -> NDArray[np.int64]:
        """How many public items each rule has."""
        return np.diff(self.public_starts)

    @property
    def sensitive_sizes(self) -> NDArray[np.int64]:
        """How many sensitive items each rule has."""
        return np.diff(self.sensitive_starts)

    @property
    def lacks_public(self) -> NDArray[np.bool_]:
        """Whether a public item of each rule is −1, none of ``names``: it has no support."""
        return np.minimum.reduceat(self.public, self.public_starts[:-1]) < 0

    @property
    def lacks_sensitive(self) -> NDArray[np.bool_]:
        """Whether a sensitive item of each rule is −1, none of ``names``: its confidence is 0."""
        return np.minimum.reduceat(self.sensitive, self.sensitive_starts[:-1]) < 0

    def rule(self, number: int) -> tuple[list[str], list[str]]:
        """Return one rule's public and sensitive items by name; all of them must have one."""
        public = self.public[self.public_starts[number] : self.public_starts[number + 1]]
        sensitive = self.sensitive[
            self.sensitive_starts[number] : self.sensitive_starts[number + 1]
        ]
        return (
            self.names.take(pa.array(public)).to_pylist(),
            self.names.take(pa.array(sensitive)).to_pylist(),
        )

    def take(self, rules: NDArray[np.int64]) -> Rules:
        """Return these rules, in this order."""
        public_starts, public = _take_lists(self.public_starts, self.public, rules)
        sensitive_starts, sensitive = _take_lists(self.sensitive_starts, self.sensitive, rules)
        return Rules(public_starts, public, sensitive_starts, sensitive, self.names)

    def distinct(self) -> Rules:
        """Return the rules once each, where they first stand."""
        n_public, public = number_lists(self.public_starts, self.public)
        _, sensitive = number_lists(self.sensitive_starts, self.sensitive)
        _, first = np.unique(sensitive * n_public + public, return_index=True)
        return self if len(first) == self.n_rules else self.take(np.sort(first))

    def in_items(self, names: pa.Array) -> Rules:
        """Return the same rules in numbers of another list of distinct names.

        An item that is none of these is −1, at the front of its rule: with such a public item a
        rule has no support (``lacks_public``), with such a sensitive one its confidence is 0
        (``lacks_sensitive``). Rules of items that are all there are as any others.
        """
        names = names.cast(pa.string())
        place = find_names(self.names, names)
        return Rules(
            self.public_starts,
            _sort_lists(self.public_starts, place[self.public]),
            self.sensitive_starts,
            _sort_lists(self.sensitive_starts, place[self.sensitive]),
            names,
        )


def number_lists(
    starts: NDArray[np.int64], items: NDArray[np.int32]
) -> tuple[int, NDArray[np.int64]]:
    """Return how many different lists there are, and for each list which of them it is."""
    sizes = np.diff(starts)
    number = np.zeros(len(sizes), dtype=np.int64)
    n_different = 0
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        if size == 0:
            number[which] = n_different
            n_different += 1
            continue
        matrix = items[starts[which][:, None] + np.arange(size)]
        different, inverse = np.unique(matrix, axis=0, return_inverse=True)
        number[which] = n_different + inverse.reshape(-1)
        n_different += len(different)
    return n_different, number


def _pack(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in lists], out=starts[1:])
    items = np.array([item for one in lists for item in sorted(one)], dtype=np.int32)
    return starts, items


def _take_lists(
    starts: NDArray[np.int64], items: NDArray[np.int32], lists: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    sizes = np.diff(starts)[lists]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(begins[-1]) - np.repeat(begins[:-1] - starts[lists], sizes)
    return begins, items[places]


def _sort_lists(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.int32]:
    lists = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    ascending: NDArray[np.int32] = items[np.lexsort((items, lists))]
    return ascending
