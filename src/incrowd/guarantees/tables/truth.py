"""Whether a release is true to its original: the proof of a key, of means and of coded limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.encoding.coding import Coding
from incrowd.encoding.encode import encode_labels, nodes_of
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.hierarchies.means import exact_numbers, sums_of_groups
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.types import labels_of, parse_numbers
from incrowd.threads import iter_in_threads


def line_of_row(frame: pa.Table, names: Sequence[str]) -> NDArray[np.int32]:
    """Return a number per row that is equal where the cells of these columns all are."""
    line = np.zeros(frame.num_rows, dtype=np.int64)
    for name in names:
        cells = encode_labels(frame.column(name))
        line = line * (len(cells.labels) + 1) + cells.codes + 1
        line = np.unique(line, return_inverse=True)[1]
    return line.astype(np.int32)


def not_the_mean(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    hierarchy: Hierarchy,
    line: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which rows do not show their line's mean, rounded to the column's unit.

    A number is the mean rounded if it is a multiple of the unit and the mean lies from half a
    unit below it, that included, to half a unit above it.
    """
    unit = hierarchy.mean_unit
    if unit is None:
        raise ValueError("the column shows no means")
    leaves = nodes_of(before, hierarchy, "the original")
    numbers, scale = exact_numbers(hierarchy.labels[: hierarchy.n_leaves])
    sums = sums_of_groups(numbers, leaves, line)
    sizes = np.bincount(line, minlength=len(sums)).tolist()
    cells = encode_labels(after)
    is_number = ~np.isnan(parse_numbers(cells.labels))
    _, first_row = np.unique(line, return_index=True)
    is_wrong = np.zeros(len(sums), dtype=np.bool_)
    for number, row in enumerate(first_row.tolist()):
        code = int(cells.codes[row])
        if code < 0 or not is_number[code]:
            is_wrong[number] = True
            continue
        shown = Fraction(cells.labels[code].strip())
        above = Fraction(sums[number], sizes[number] * scale) - shown
        is_wrong[number] = (shown / unit).denominator != 1 or not -unit <= 2 * above < unit
    return is_wrong[line]


# Proof of a key: that each released row is a true, coarser picture of one original row.

MOST_ROWS_IN_PROOF = 20

ROWS_AT_ONCE = 1 << 20
"""Rows whose cells are held against their originals at a time."""


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

    def wrong_rows(name: str) -> NDArray[np.bool_]:
        before, after = original.column(name), released.column(name)
        if name in means:
            originals = before.take(pa.array(original_row))
            return not_the_mean(originals, after, hierarchies[name], line)
        if name in quasi and name in hierarchies:
            return _not_above(before, after, original_row, hierarchies[name])
        return _differs(before, after, original_row, may_be_starred=name in quasi)

    is_wrong = np.zeros(released.num_rows, dtype=np.bool_)
    wrong_columns = []
    names = released.column_names
    for name, wrong in zip(names, iter_in_threads(wrong_rows, names), strict=True):
        if wrong.any():
            wrong_columns.append(name)
            is_wrong |= wrong
    n_wrong = int(is_wrong.sum())
    named = tuple(int(row) + 1 for row in np.flatnonzero(is_wrong)[:MOST_ROWS_IN_PROOF])
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
    is_named = np.zeros(n_original, dtype=np.bool_)
    is_named[original_row] = True
    if np.count_nonzero(is_named) != len(original_row):
        return "the key names an original row twice"
    return ""


def _not_above(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    original_row: NDArray[np.int64],
    hierarchy: Hierarchy,
) -> NDArray[np.bool_]:
    leaves = nodes_of(before, hierarchy, "the original")[original_row]
    nodes = nodes_of(after, hierarchy, "the release")
    is_wrong = np.empty(len(nodes), dtype=np.bool_)
    for start in range(0, len(nodes), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        is_wrong[part] = ~hierarchy.is_ancestor(nodes[part], leaves[part])
    return is_wrong


def _differs(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    original_row: NDArray[np.int64],
    *,
    may_be_starred: bool,
) -> NDArray[np.bool_]:
    cells_before, cells_after = encode_labels(before), encode_labels(after)
    # expected: the original's code of each released text, −2 where it has none, −1 missing
    known = pc.index_in(cells_after.texts, cells_before.texts.cast(cells_after.texts.type))
    expected = np.append(known.fill_null(-2).to_numpy().astype(np.int32), np.int32(-1))
    is_wrong: NDArray[np.bool_] = expected[cells_after.codes] != cells_before.codes[original_row]
    if may_be_starred:
        star = pc.index(cells_after.texts, STAR).as_py()
        is_wrong &= (cells_after.codes != star) | (star < 0)
    return is_wrong


# Whether a release keeps to its limits: no value below bottom or above top is shown.


def check_coding(
    column: str, cells: pa.ChunkedArray, limits: Coding, n_of_cell: NDArray[np.int64] | None = None
) -> Finding:
    """Count the coded cells of a released column, and the values beyond its limits.

    ``cells`` are the column's, or lines of ``n_of_cell`` rows each: then no rows are named.
    """
    distinct = factorize(cells)
    texts = labels_of(distinct.values)
    below, above = limits.sides(parse_numbers(texts))
    is_beyond = np.append(below | above, False)
    n_of_value = np.bincount(distinct.codes, weights=n_of_cell, minlength=distinct.n_codes)
    shown = dict(zip(texts.to_pylist(), n_of_value.tolist(), strict=False))
    n_coded = {label: int(shown.get(label, 0)) for label in limits.labels if label}
    n_exposed = int(n_of_value[is_beyond].sum())
    beyond = np.flatnonzero(is_beyond[distinct.codes]) if n_of_cell is None else np.zeros(0, int)
    said = ", ".join(f"{n_cells} cells are {label}" for label, n_cells in n_coded.items())
    if n_exposed:
        said = f"{n_exposed} cells show a value beyond the limits; {said}"
    return Finding(
        "coding",
        not n_exposed,
        f"column {column!r}: {said}",
        {
            "column": column,
            **limits.to_toml(),
            "n_coded": n_coded,
            "n_exposed": n_exposed,
        },
        tuple((beyond[:MOST_ROWS_NAMED] + 1).tolist()),
    )
