"""Distinct rows and how many there are of each: what a search needs where k alone counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import stable_order
from incrowd.encoding.rows import Rows, Trace
from incrowd.methods.shared.conditions import Conditions, PackedConditions, keep_rows, put_back

_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Fragments:
    """Distinct rows as they are released: ``count[f]`` of those equal to ``row[f]`` show
    ``nodes[:, f]``.

    Sorted by row, the fragments of a row by their nodes, the first column first; no two of a row
    show the same.
    """

    row: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    trace: Trace = field(default_factory=Trace)

    @classmethod
    def of(
        cls,
        row: NDArray[np.int64],
        nodes: NDArray[np.int32],
        count: NDArray[np.int64],
        trace: Trace | None = None,
    ) -> Fragments:
        """Sort fragments that stand in any order; those of a row that show the same become one."""
        trace = trace or Trace()
        if np.all(row[1:] > row[:-1]):
            return cls(row, nodes, count, trace)
        order = stable_order(row)
        if np.any(row[order][1:] == row[order][:-1]):
            order = np.lexsort([*nodes[::-1], row])
        row, nodes, count = row[order], np.ascontiguousarray(nodes[:, order]), count[order]
        is_first = np.ones(len(row), dtype=np.bool_)
        is_first[1:] = (row[1:] != row[:-1]) | np.any(nodes[:, 1:] != nodes[:, :-1], axis=0)
        first = np.flatnonzero(is_first)
        merged = np.add.reduceat(count, first).astype(np.int64)
        return cls(row[first], np.ascontiguousarray(nodes[:, first]), merged, trace)

    @classmethod
    def of_each(
        cls, nodes: NDArray[np.int32], count: NDArray[np.int64], trace: Trace | None = None
    ) -> Fragments:
        """Return the fragments of rows that stay whole: ``nodes[column, row]``."""
        return cls(np.arange(len(count), dtype=np.int64), nodes, count, trace or Trace())


DistinctRowSearch = Callable[[Rows, NDArray[np.int64], PackedConditions], Fragments]
"""Searches rows with their numbers under conditions that speak of these rows."""


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A table's distinct rows in the order of their first rows, the number of each, and the way
    back: ``distinct_of_row[row]``."""

    rows: Rows
    n_of_row: NDArray[np.int64]
    distinct_of_row: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows) -> Collapsed:
        """Collapse equal rows. O(rows · log rows)."""
        by_content, start = sort_into_runs(_key_of_row(rows))
        first = by_content[start[:-1]]
        order = np.argsort(first)
        number = np.empty(len(first), dtype=np.int64)
        number[order] = np.arange(len(first))
        sizes = np.diff(start)
        distinct_of_row = np.empty(rows.n_rows, dtype=np.int64)
        distinct_of_row[by_content] = np.repeat(number, sizes)
        nodes = np.ascontiguousarray(rows.nodes[:, first[order]])
        return cls(Rows(rows.names, nodes, rows.hierarchies), sizes[order], distinct_of_row)

    def expand(self, found: Fragments) -> NDArray[np.int32]:
        """Return ``nodes[column, row]``; equal rows, by number, take their fragments in order."""
        if len(found.row) == len(self.n_of_row):
            return np.ascontiguousarray(found.nodes[:, self.distinct_of_row])
        nodes = np.empty((len(found.nodes), len(self.distinct_of_row)), dtype=np.int32)
        by_distinct = stable_order(self.distinct_of_row)
        nodes[:, by_distinct] = np.repeat(found.nodes, found.count, axis=1)
        return nodes


def search_rows(
    rows: Rows, conditions: Conditions, search: DistinctRowSearch, *, is_collapsed: bool
) -> Rows:
    """Return all rows as a search releases them, those that it leaves out suppressed.

    Equal rows are searched as one with a number where ``is_collapsed``, else each by itself.
    """
    kept, limits = keep_rows(rows, conditions)
    if kept.n_rows == 0:
        return put_back(rows, kept.nodes)
    if not is_collapsed:
        found = search(kept, np.ones(kept.n_rows, dtype=np.int64), limits)
        return put_back(rows, found.nodes, found.trace)
    whole = Collapsed.of(kept)
    found = search(whole.rows, whole.n_of_row, conditions.packed(whole.rows.n_rows))
    return put_back(rows, whole.expand(found), found.trace)


def content_key(rows: Rows, conditions: Conditions) -> NDArray[np.int64]:
    """Return a number per row that sorts rows by all that a search sees: equal for equal rows.

    Their nodes first, then what conditions look at: sensitive values, their own k, their person.
    """
    columns = [column.codes + 1 for column in conditions.sensitive]
    columns += [
        values for values in (conditions.k_of_row, conditions.person_of_row) if values is not None
    ]
    n_nodes = [hierarchy.n_nodes for hierarchy in rows.hierarchies]
    n_values = [int(column.max(initial=0)) + 1 for column in columns]
    return sort_key([*rows.nodes, *columns], [*n_nodes, *n_values], rows.n_rows)


def search_distinct(
    rows: Rows, n_of_row: NDArray[np.int64], conditions: Conditions, search: DistinctRowSearch
) -> Fragments:
    """Search distinct rows with their numbers, in an order that their content decides.

    Groups are tested by their size alone; fragments that are left out show LEFT_OUT.
    """
    if not conditions.is_size_only:
        raise ValueError("distinct rows stand for several where their number alone counts")
    if rows.n_rows == 0:
        none = np.zeros(0, dtype=np.int64)
        return Fragments(none, rows.nodes.copy(), none)
    key = _key_of_row(rows)
    order = stable_order(key)
    if np.any(key[order][1:] == key[order][:-1]):
        raise ValueError("rows that should be distinct are not")
    if len(n_of_row) != rows.n_rows or np.any(n_of_row < 1) or rows.is_suppressed.any():
        raise ValueError("a distinct row stands for one row at least, and for none suppressed")
    sorted_rows = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, order]), rows.hierarchies)
    limits = conditions.packed(rows.n_rows)
    found = search(sorted_rows, n_of_row[order].astype(np.int64), limits)
    # the fragments of a row stay together, and in their order
    row = order[found.row]
    place = stable_order(row)
    nodes = np.ascontiguousarray(found.nodes[:, place])
    return replace(found, row=row[place], nodes=nodes, count=found.count[place])


def _key_of_row(rows: Rows) -> NDArray[np.int64]:
    n_nodes = [hierarchy.n_nodes for hierarchy in rows.hierarchies]
    return sort_key(list(rows.nodes), n_nodes, rows.n_rows)


# ── rows sorted by content ──────────────────────────────────────────────────────────────────────


def sort_key(
    columns: Sequence[NDArray[np.integer[Any]]], n_values: Sequence[int], n_rows: int
) -> NDArray[np.int64]:
    """Return one number per row that orders rows as the columns do, the first column first.

    ``columns[c]`` holds numbers from 0 to ``n_values[c] − 1``. Equal numbers mean equal rows.
    """
    key = np.zeros(n_rows, dtype=np.int64)
    used = 1
    for column, count in zip(columns, n_values, strict=True):
        if used * count >= _ROOM:  # number the combinations that do occur, and go on from there
            distinct, key = np.unique(key, return_inverse=True)
            used = len(distinct)
        key *= count
        key += column
        used *= count
    return key


def sort_into_runs(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows sorted by their key, where each run of equal keys starts, and the end."""
    rows = stable_order(key)
    ordered = key[rows]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts = np.concatenate([[0], changes, [len(key)]]) if len(key) else np.zeros(1)
    return rows, starts.astype(np.int64)
