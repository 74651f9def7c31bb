"""What every group must meet, as arrays, and the rows that a method works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows, Trace

L_KINDS = ("none", "distinct", "entropy", "recursive")
"""Kinds of l-diversity; kernels know each by its place here."""


@dataclass(frozen=True, eq=False)
class SensitiveCondition:
    """l-diversity and t-closeness of one sensitive column.

    ``codes[row]`` is the value's number, −1 where it is missing or ``*`` (no distinct value, but
    a value of its own for t). ``l`` is 0 where no diversity is asked for; ``l_kind`` is distinct,
    entropy or recursive, the last with ``c``. ``t`` is −1.0 where no closeness is asked for.

    Entropy and recursive diversity look at the known values alone: a missing value is neither a
    value nor part of the whole that shares are taken of.

    Every distance between distributions is the earth mover's distance on a tree:
    Σ over nodes of ``tree_weight[node]`` · |share of the group under it − share of all rows|.
    Node i < n_values is value i, node n_values is "missing", further nodes are inner nodes;
    ``tree_parent[node]`` is larger than node, or −1 at the top. Without a tree all values are
    equally far from each other.
    """

    codes: NDArray[np.int32]
    n_values: int
    l: float = 0.0  # noqa: E741
    l_kind: str = "distinct"
    c: float = 1.0
    t: float = -1.0
    tree_parent: NDArray[np.int32] | None = None
    tree_weight: NDArray[np.float64] | None = None

    def tree(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the tree's parents and weights; without a tree, those of the equal distance."""
        if self.tree_parent is None or self.tree_weight is None:
            return np.full(self.n_values + 1, -1, dtype=np.int32), np.full(self.n_values + 1, 0.5)
        parent = np.asarray(self.tree_parent, dtype=np.int32)
        weight = np.asarray(self.tree_weight, dtype=np.float64)
        if len(parent) != len(weight) or len(parent) <= self.n_values:
            raise ValueError("a tree needs a parent and a weight per value, and for missing values")
        if np.any((parent >= 0) & (parent <= np.arange(len(parent)))):
            raise ValueError("parents in a tree of values must have larger numbers than children")
        return parent, weight


class PackedConditions(NamedTuple):
    """Conditions as flat arrays of fixed types, so that kernels compile once for all of them.

    Absent parts have length 0. ``code_of_row[sensitive, row]`` is n_values where the value is
    missing. The trees of the sensitive columns lie one after the other; a column's begins at
    ``tree_start[sensitive]``, and its parents are counted from there.
    """

    k: int
    k_of_row: NDArray[np.int32]
    person_of_row: NDArray[np.int32]
    n_people: int
    code_of_row: NDArray[np.int32]
    n_values: NDArray[np.int64]
    l: NDArray[np.float64]  # noqa: E741
    l_kind: NDArray[np.int64]
    c: NDArray[np.float64]
    t: NDArray[np.float64]
    tree_start: NDArray[np.int64]
    tree_parent: NDArray[np.int32]
    tree_weight: NDArray[np.float64]
    tree_share: NDArray[np.float64]

    def without_rows(self) -> PackedConditions:
        """Return the same limits over no rows, to be sent to workers."""
        none = np.zeros(0, dtype=np.int32)
        return self.of_rows(none, none, np.zeros((len(self.l), 0), dtype=np.int32))

    def of_rows(
        self,
        k_of_row: NDArray[np.int32],
        person_of_row: NDArray[np.int32],
        code_of_row: NDArray[np.int32],
    ) -> PackedConditions:
        """Return the same limits, and the whole table's distribution, over other rows."""
        people, person = np.unique(person_of_row, return_inverse=True)
        return self._replace(
            k_of_row=np.require(k_of_row, np.int32, ["C", "W"]),  # else copied by every call
            person_of_row=person.astype(np.int32),
            n_people=len(people),
            code_of_row=np.ascontiguousarray(code_of_row, dtype=np.int32),
        )


@dataclass(frozen=True, eq=False)
class Conditions:
    """A group is valid when its crowd is large enough and its sensitive values are mixed enough.

    The crowd counts rows, or distinct ``person_of_row`` where that is given; it must reach ``k``,
    and the largest ``k_of_row`` of the group's rows where those are given. A search may leave
    ``n_suppressible`` rows (not people) out of every group: it returns them with
    ``Rows.is_suppressed``. Where crowds are compatible rows instead of groups,
    ``is_belief_bound`` says that nobody may be believed to be a row with more than 1 / k.
    """

    k: int
    k_of_row: NDArray[np.int32] | None = None
    person_of_row: NDArray[np.int32] | None = None
    sensitive: tuple[SensitiveCondition, ...] = ()
    n_suppressible: int = 0
    is_belief_bound: bool = False

    @property
    def is_size_only(self) -> bool:
        """Whether counting rows against one k is all there is to test."""
        return self.k_of_row is None and self.person_of_row is None and not self.sensitive

    def take(self, rows: NDArray[np.int64]) -> Conditions:
        """Return the conditions of these rows alone; t then compares with these rows' values.

        Nothing may be suppressed then: who splits a table shares ``n_suppressible`` out.
        """
        return Conditions(
            self.k,
            None if self.k_of_row is None else self.k_of_row[rows],
            None if self.person_of_row is None else self.person_of_row[rows],
            tuple(replace(column, codes=column.codes[rows]) for column in self.sensitive),
        )

    def packed(self, n_rows: int) -> PackedConditions:
        """Return the flat arrays that kernels take, with the distribution of all rows for t."""
        trees = [column.tree() for column in self.sensitive]
        starts = np.cumsum([0, *(len(parent) for parent, _ in trees)])
        codes = np.zeros((len(self.sensitive), n_rows), dtype=np.int32)
        shares = np.zeros(int(starts[-1]))
        for place, (column, (parent, _)) in enumerate(zip(self.sensitive, trees, strict=True)):
            if column.l > 0 and column.l_kind not in L_KINDS[1:]:
                raise ValueError(f"no kind of l-diversity is called {column.l_kind!r}")
            codes[place] = np.where(column.codes < 0, column.n_values, column.codes)
            shares[starts[place] : starts[place + 1]] = _shares(codes[place], parent)
        none = np.zeros(0, dtype=np.int32)
        persons = none if self.person_of_row is None else self.person_of_row
        packed = PackedConditions(
            k=int(self.k),
            k_of_row=none,
            person_of_row=none,
            n_people=0,
            code_of_row=codes,
            n_values=np.asarray([column.n_values for column in self.sensitive], dtype=np.int64),
            l=np.asarray([column.l for column in self.sensitive], dtype=np.float64),
            l_kind=np.asarray(
                [L_KINDS.index(x.l_kind) if x.l > 0 else 0 for x in self.sensitive], dtype=np.int64
            ),
            c=np.asarray([column.c for column in self.sensitive], dtype=np.float64),
            t=np.asarray([column.t for column in self.sensitive], dtype=np.float64),
            tree_start=starts.astype(np.int64),
            tree_parent=np.concatenate([none, *(parent for parent, _ in trees)]).astype(np.int32),
            tree_weight=np.concatenate([np.zeros(0), *(weight for _, weight in trees)]),
            tree_share=shares,
        )
        return packed.of_rows(none if self.k_of_row is None else self.k_of_row, persons, codes)


def _shares(codes: NDArray[np.int32], parent: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of all rows under each node of a tree of values."""
    count = np.bincount(codes, minlength=len(parent)).astype(np.int64)
    for node in range(len(parent)):
        if parent[node] >= 0:
            count[parent[node]] += count[node]
    return np.asarray(count / max(1, len(codes)), dtype=np.float64)


# ── the rows that a method works on: all but the suppressed ones, and the way back ────────────────


def keep_rows(rows: Rows, conditions: Conditions) -> tuple[Rows, PackedConditions]:
    """Return the rows that are not suppressed, and the packed conditions of those alone."""
    if not rows.is_suppressed.any():
        return rows, conditions.packed(rows.n_rows)
    kept = np.flatnonzero(~rows.is_suppressed)
    nodes = np.ascontiguousarray(rows.nodes[:, kept])
    return (
        Rows(rows.names, nodes, rows.hierarchies),
        conditions.take(kept).packed(len(kept)),
    )


LEFT_OUT = -1
"""What stands in place of a node where a search leaves a row out of the release."""


def put_back(rows: Rows, nodes: NDArray[np.int32], trace: Trace | None = None) -> Rows:
    """Return all rows, the kept ones with their new nodes, the suppressed ones at the roots.

    Rows whose nodes are LEFT_OUT are suppressed too.
    """
    is_left_out = np.any(nodes == LEFT_OUT, axis=0)
    if not rows.is_suppressed.any() and not is_left_out.any():
        return rows.with_nodes(nodes, trace=trace)
    is_suppressed = rows.is_suppressed.copy()
    is_suppressed[~rows.is_suppressed] = is_left_out
    roots = np.asarray([[hierarchy.root] for hierarchy in rows.hierarchies], dtype=np.int32)
    every = np.repeat(roots, rows.n_rows, axis=1) if rows.n_columns else rows.nodes.copy()
    every[:, ~is_suppressed] = nodes[:, ~is_left_out]
    return rows.with_nodes(every, is_suppressed, trace)


def n_suppressible_of(conditions: Conditions) -> int:
    """Return how many rows a search may leave out that tests groups against all rows' values.

    None where groups must be close to the whole: leaving rows out would move the whole.
    """
    if any(column.t >= 0 for column in conditions.sensitive):
        return 0
    return conditions.n_suppressible


class Validity:
    """Tests spans of rows in a given order against packed conditions."""

    def __init__(self, rows: NDArray[np.int64], limits: PackedConditions) -> None:
        from incrowd.kernels.validity import scratch_for

        self._rows = rows.astype(np.int32)
        self._limits = limits
        self._scratch = scratch_for(limits)

    def of_span(self, start: int, end: int) -> bool:
        """Return whether the rows from ``start`` up to ``end`` are valid as one group."""
        from incrowd.kernels.validity import is_valid

        return bool(is_valid(self._rows[start:end], end - start, self._limits, self._scratch))
