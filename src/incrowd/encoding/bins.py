"""Bin numbers into groups of nearly equal counts, each shown as its median.

Khan et al. (2018), Section V-A: the values of a continuous column are grouped into deciles, and
each is replaced by the median of its group. Deviations: equal values are never separated, so that
groups are only nearly equal; the median is the lower one, hence a value of the column; and a
column with few values is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.errors import DataError, JobError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from incrowd.tables.table import Table


DECILES = 10
"""The number of groups where none is stated."""

MOST_VALUES = 20
"""A column with up to this many distinct values is kept as it is."""


def propose_bins(
    table: Table, quasi: Sequence[str], stated: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the columns to bin and the number of groups of each.

    Stated numbers are kept, 0 for a column to leave as it is; other columns of numbers with more
    than ``MOST_VALUES`` distinct values get ``DECILES``, unless the numbers are codes.
    """
    from incrowd.hierarchies.proposals import is_code
    from incrowd.tables.columns.types import kind_of, labels_of

    stated = stated or {}
    table.require(list(stated), "bins")
    for name in stated:
        if name not in quasi:
            raise JobError(
                f"bins: column {name!r} is not quasi-identifying",
                remedy="Only quasi-identifying columns are binned: omit it, or state its role.",
            )
    found = {}
    for name in quasi:
        if name in stated:
            found[name] = stated[name]
            continue
        column = table.frame.column(name)
        kind = kind_of(column, table.missing_values)
        if kind.kind not in ("integer", "decimal") or kind.n_values <= MOST_VALUES:
            continue
        labels = labels_of(column.unique()).drop_null().to_pylist()
        known = {"", *table.missing_values}
        if not is_code(name, [label for label in labels if label not in known], kind):
            found[name] = DECILES
    return {name: n_bins for name, n_bins in found.items() if n_bins != 0}


def bin_columns(table: Table, bins: Mapping[str, int]) -> tuple[Table, list[str]]:
    """Return the table with each named column's numbers replaced by medians, and notes on it.

    A median is written as a cell with its value was; missing cells stay as they are. Raises for
    columns that are not there or that hold anything but numbers. O(rows + values · log values).
    """
    table.require(list(bins), "bins")
    frame, notes = table.frame, []
    for name, n_bins in bins.items():
        if not isinstance(n_bins, int) or isinstance(n_bins, bool) or n_bins < 0:
            raise JobError(
                f"bins: the number of groups of column {name!r} is not a whole number",
                remedy="State how many groups, or 0 to keep the column as it is.",
            )
        if n_bins == 0:
            continue
        cells, note = _bin_column(table, name, n_bins)
        frame = frame.set_column(frame.column_names.index(name), name, cells)
        notes.append(note)
    return replace(table, frame=frame), notes


def _bin_column(table: Table, name: str, n_bins: int) -> tuple[pa.ChunkedArray, str]:
    """Return a column's cells after binning, and a note on it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from incrowd.codes import factorize
    from incrowd.tables.columns.types import labels_of, to_mask

    column = table.frame.column(name)
    cells = factorize(column)
    labels = labels_of(cells.values)
    tokens = pa.array(["", *table.missing_values], labels.type)
    is_missing = np.append(to_mask(pc.is_in(labels, tokens)) | to_mask(pc.is_null(labels)), True)
    order, rank_of_place = _sorted_values(cells.values, is_missing[:-1], table, name)
    if len(order) == 0:
        return column, f"column {name!r}: no numbers to group"
    counts = np.bincount(cells.codes, minlength=cells.n_codes)[order]
    starts = np.flatnonzero(np.append(True, np.diff(rank_of_place) > 0))  # equal ones together
    ends = np.cumsum(np.add.reduceat(counts, starts))
    firsts = starts[_find_cuts(ends, n_bins)]  # where in the order each group begins
    limits = np.append(firsts, len(order))
    shown = np.arange(cells.n_codes)  # a missing cell shows itself
    sizes = []
    for first, limit in zip(limits[:-1].tolist(), limits[1:].tolist(), strict=True):
        below = np.cumsum(counts[first:limit])
        sizes.append(int(below[-1]))
        middle = int(np.searchsorted(below, (below[-1] - 1) // 2, side="right"))
        spelled = np.searchsorted(rank_of_place, rank_of_place[first + middle])  # the first way
        shown[order[first:limit]] = order[spelled]
    codes = shown[cells.codes].astype(np.int32)
    nothing = codes == cells.n_values
    places = pa.array(np.where(nothing, 0, codes), mask=nothing)
    note = (
        f"column {name!r}: {len(starts)} numbers in {len(sizes)} groups of {min(sizes)} to "
        f"{max(sizes)} rows, each shown as its group's median"
    )
    return pa.chunked_array([cells.values.take(places)]), note


def _sorted_values(
    values: pa.Array, is_missing: NDArray[np.bool_], table: Table, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of a column's numbers by size, and a rank of each: equal ones share it.

    Columns of numbers are ordered in their own type, so that long whole numbers stay apart.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from incrowd.tables.columns.types import labels_of, parse_numbers

    kind = values.type
    present = np.flatnonzero(~is_missing)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        some = values.take(pa.array(present))
        order = np.asarray(pc.array_sort_indices(some), dtype=np.int64)
        return present[order], np.arange(len(order), dtype=np.int64)
    labels = labels_of(values)
    numbers = parse_numbers(labels)
    odd = present[np.isnan(numbers[present])]
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if len(odd) or not (is_text or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"{table.name}, column {name!r}: {max(len(odd), 1)} of its values are not numbers, so "
            "it cannot be binned into groups of equal counts",
            remedy="Leave its bins out (or state 0); name tokens for missing cells with "
            "--missing-values.",
            examples=[labels[int(place)].as_py() for place in odd[:3]],
        )
    texts = np.array(labels.to_pylist(), dtype=object)[present]
    order = np.lexsort((texts.astype(str), numbers[present])) if len(present) else present
    ranks = np.cumsum(np.append(0, np.diff(numbers[present][order]) > 0))[: len(order)]
    return present[order], ranks.astype(np.int64)


def _find_cuts(ends: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
    """Return the values at which groups begin: cuts nearest to equal counts, ties to the lower.

    ``ends[value]`` counts the rows up to and with a value.
    """
    import numpy as np

    n_rows = int(ends[-1])
    before = np.append(0, ends[:-1]).astype(np.int64)  # rows below each value
    wanted = np.arange(n_bins, dtype=np.int64) * n_rows  # in units of 1 / n_bins of a row
    scaled = before * n_bins
    right = np.minimum(np.searchsorted(scaled, wanted), len(scaled) - 1)
    left = np.maximum(right - 1, 0)
    is_left = wanted - scaled[left] <= np.abs(scaled[right] - wanted)
    is_left &= scaled[right] != wanted
    return np.asarray(np.unique(np.where(is_left, left, right)), dtype=np.int64)
