"""Proof of a key: that each released row is a true, coarser picture of one original row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.audit.means import line_of_row, not_the_mean
from incrowd.data.encoding import nodes_of
from incrowd.data.hierarchy import STAR, Hierarchy
from incrowd.data.kinds import labels_of
from incrowd.guarantees.evidence import Finding

MOST_ROWS_NAMED = 20


def prove_key(
    original: pa.Table,
    released: pa.Table,
    original_row: NDArray[np.int64],
    quasi: tuple[str, ...],
    hierarchies: dict[str, Hierarchy],
) -> Finding:
    """Check that ``original_row[released row]`` is a one-to-one key and every cell is true.

    A quasi-identifying cell must be the original's value, an ancestor of it, or ``*`` (where a
    column has no hierarchy here, the value or ``*``); every other released cell must be equal.
    Where a column shows means, the cell must be the rounded mean of the originals of all released
    rows that are equal in every quasi-identifying column.
    """
    problem = _not_one_to_one(original_row, original.num_rows, released.num_rows)
    if problem:
        return Finding("key", False, problem, {"is_bijection": False}, is_public=False)
    rows = pa.array(original_row)
    is_wrong = np.zeros(released.num_rows, dtype=np.bool_)
    wrong_columns = []
    means = [name for name in quasi if _unit_of(name, hierarchies) is not None]
    line = line_of_row(released, quasi) if means else np.zeros(0, dtype=np.int32)
    for name in released.column_names:
        if name not in original.column_names:
            return Finding(
                "key",
                False,
                f"column {name!r} of the release is not in the original",
                {},
                is_public=False,
            )
        before = original.column(name).take(rows)
        after = released.column(name)
        if name in means:
            wrong = not_the_mean(before, after, hierarchies[name], line)
        elif name in quasi and name in hierarchies:
            wrong = _not_above(before, after, hierarchies[name])
        else:
            wrong = _differs(before, after, may_be_starred=name in quasi)
        if wrong.any():
            wrong_columns.append(name)
            is_wrong |= wrong
    n_wrong = int(is_wrong.sum())
    named = tuple(int(row) + 1 for row in np.flatnonzero(is_wrong)[:MOST_ROWS_NAMED])
    if n_wrong:
        summary = (
            f"{n_wrong} released rows are not true to their originals "
            f"(columns {', '.join(wrong_columns)})"
        )
    else:
        summary = "every released row is one original row, as it was or coarser"
        if means:
            summary += f", or with its group's mean ({', '.join(means)})"
    return Finding(
        "key",
        n_wrong == 0,
        summary,
        {"is_bijection": True, "n_untrue_rows": n_wrong, "columns": wrong_columns},
        named,
        is_public=False,
    )


def _unit_of(name: str, hierarchies: dict[str, Hierarchy]) -> Fraction | None:
    return hierarchies[name].mean_unit if name in hierarchies else None


def _not_one_to_one(original_row: NDArray[np.int64], n_original: int, n_released: int) -> str:
    if len(original_row) != n_released:
        return f"the key has {len(original_row)} lines for {n_released} released rows"
    if len(original_row) and (original_row.min() < 0 or original_row.max() >= n_original):
        return "the key names an original row that does not exist"
    if len(np.unique(original_row)) != len(original_row):
        return "the key names an original row twice"
    return ""


def _not_above(
    before: pa.ChunkedArray, after: pa.ChunkedArray, hierarchy: Hierarchy
) -> NDArray[np.bool_]:
    leaves = nodes_of(before, hierarchy, "the original")
    nodes = nodes_of(after, hierarchy, "the release")
    return ~hierarchy.is_ancestor(nodes, leaves)


def _differs(
    before: pa.ChunkedArray, after: pa.ChunkedArray, *, may_be_starred: bool
) -> NDArray[np.bool_]:
    texts_before, texts_after = labels_of(before), labels_of(after)
    same = pc.fill_null(pc.equal(texts_before, texts_after), False)
    both_missing = pc.and_(pc.is_null(texts_before), pc.is_null(texts_after))
    accepted = pc.or_(same, both_missing)
    if may_be_starred:
        accepted = pc.or_(accepted, pc.fill_null(pc.equal(texts_after, STAR), False))
    return ~np.asarray(accepted.to_numpy(zero_copy_only=False), dtype=np.bool_)
