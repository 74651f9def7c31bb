"""What the order of a release's rows gives away."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import ColumnCodes, RowKey, factorize, stable_order
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.tables.cells import blank_out, to_frame
from incrowd.tables.files.leading_rows import lead
from incrowd.threads import iter_in_threads

LEAST_EXCESS = 0.5
"""Agreement by position above chance, as a share of what chance leaves, that is an order kept …"""

LEAST_DEVIATIONS = 4.0
"""… if it also lies that many standard deviations above chance (short tables agree by luck)."""

LONGER_THAN_CHANCE = 2.0
"""How many times longer than the original a chance walk through it must be, on average, for a
complete walk in the original's order to mean something."""

NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


_ORDERS = ((False, False), (False, True), (True, False), (True, True))
"""Ways in which rows may be sorted: number texts as numbers or not, missing cells last or not."""


def find_order(frame: pa.Table, original: pa.Table | None) -> list[Finding]:
    """Say whether rows lie in the order of their content; else whether they kept the original's."""
    is_canonical = is_in_canonical_order(frame)
    findings = [order_finding(is_canonical)]
    if original is not None:
        findings.append(_kept_order(frame, original, is_canonical))
    return findings


def order_finding(is_canonical: bool) -> Finding:
    """Say whether rows lie in the order of their content."""
    summary = (
        "rows lie in the order of their released content, which carries nothing"
        if is_canonical
        else "rows do not lie in the order of their released content, so it may tell something"
    )
    return Finding(
        "canonical order", True if is_canonical else None, summary, {"is_sorted": is_canonical}
    )


def is_in_canonical_order(frame: pa.Table) -> bool:
    """Return whether rows are sorted by their cells from left to right.

    Text is compared as text; a file whose numbers were numbers when it was sorted is accepted too,
    and so are missing cells that all lie first or all lie last, and the leading rows of a text
    file (``tables.leading_rows``), which are determined by the content too.
    """
    return bool(_orders_of(frame)) or any(_has_leading_rows(frame, *order) for order in _ORDERS)


def _has_leading_rows(frame: pa.Table, is_numeric: bool, nulls_last: bool) -> bool:
    """Return whether rows are sorted but for leading rows, which are those that must lead."""
    key = RowKey(frame.num_rows)
    for column in frame.columns:
        cells = factorize(column)
        ranks = _ranks(cells)[is_numeric]
        rank_of_missing = len(ranks) + 1 if nulls_last else 0
        rank = np.append(ranks, np.int32(rank_of_missing))
        key.add(rank[cells.codes], len(ranks) + 2)
    if np.count_nonzero(key.numbers[1:] < key.numbers[:-1]) > 1:
        return False
    expected = lead(frame, stable_order(key.numbers))
    return np.array_equal(key.numbers[expected], key.numbers)


def are_in_canonical_order(tables: Iterable[pa.Table]) -> bool:
    """Return whether the rows of a file are so, read a table at a time."""
    orders, last = set(_ORDERS), None
    for table in tables:
        orders &= _orders_of(table if last is None else pa.concat_tables([last, table]))
        if table.num_rows:
            last = table.slice(table.num_rows - 1)
    return bool(orders)


def _orders_of(frame: pa.Table) -> set[tuple[bool, bool]]:
    """Return the ways in which rows are sorted: numbers read as such or not, missing cells last."""
    if frame.num_rows < 2 or not frame.num_columns:
        return set(_ORDERS)
    # undecided: per way of sorting, which rows equal the one after them in all columns so far
    undecided = dict.fromkeys(_ORDERS, np.ones(frame.num_rows - 1, dtype=np.bool_))
    for cells, *ranks in iter_in_threads(_ranked_cells, frame.columns):
        steps: dict[tuple[int, int, bool], NDArray[np.bool_] | None] = {}  # alike for several ways
        for order, rows in list(undecided.items()):
            is_numeric, nulls_last = order
            of_value, nulls_last = ranks[is_numeric], nulls_last and cells.has_missing
            step = (id(rows), id(of_value), nulls_last)
            if step not in steps:
                steps[step] = _go_on(rows, cells.codes, of_value, nulls_last)
            left = steps[step]
            if left is None:
                del undecided[order]
            else:
                undecided[order] = left
        if not undecided:
            break
    return set(undecided)


def _go_on(
    undecided: NDArray[np.bool_],
    codes: NDArray[np.int32],
    rank_of_value: NDArray[np.int32],
    nulls_last: bool,
) -> NDArray[np.bool_] | None:
    """Return which rows are still undecided after a column; None where it is not sorted."""
    is_equal: NDArray[np.bool_] = codes[1:] == codes[:-1]
    places = np.flatnonzero(undecided & ~is_equal)
    rank = np.append(rank_of_value, np.int32(len(rank_of_value) + 1 if nulls_last else 0))
    rises = rank[codes[places + 1]] - rank[codes[places]]
    if np.any(rises < 0):
        return None
    is_equal &= undecided
    is_equal[places[rises == 0]] = True
    return is_equal


def _ranked_cells(
    column: pa.ChunkedArray,
) -> tuple[ColumnCodes, NDArray[np.int32], NDArray[np.int32]]:
    cells = factorize(column)
    return cells, *_ranks(cells)


def _ranks(cells: ColumnCodes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each value's rank, from 1, as it is and where number texts are read as numbers."""
    values = _series(cells)
    ranks = _dense(values)
    if values.dtype != pl.String or not values.str.contains(NUMBER).all():
        return ranks, ranks
    return ranks, _dense(values.str.strip_chars().cast(pl.Float64))


def _dense(values: pl.Series) -> NDArray[np.int32]:
    return values.rank("dense").to_numpy().astype(np.int32)


def _kept_order(frame: pa.Table, original: pa.Table, is_canonical: bool) -> Finding:
    shared = [name for name in frame.column_names if name in original.column_names]
    figures: dict[str, object] = {"is_canonical": is_canonical, "columns": shared}
    name = "row order"
    if is_canonical:
        summary = "rows are ordered by their content, not as in the original"
        return Finding(name, True, summary, figures, is_public=False)
    kept = []
    verbatim = [column for column in shared if _is_verbatim(frame, original, column)]
    if frame.num_rows == original.num_rows:
        kept = [column for column in shared if _agrees_by_position(frame, original, [column])]
        if not kept and verbatim and _agrees_by_position(frame, original, verbatim):
            kept = verbatim
    elif verbatim and _walks_in_order(frame, original, verbatim):
        kept = verbatim
    figures["kept_in"] = kept
    if kept:
        listed = ", ".join(repr(column) for column in kept)
        summary = f"rows lie in the original's order (seen in {listed}): position names people"
        figures["n_exposed"] = frame.num_rows
        rows = tuple(range(1, min(frame.num_rows, MOST_ROWS_NAMED) + 1))
        return Finding(name, False, summary, figures, rows, is_public=False)
    summary = "rows follow the original's order no more than by chance"
    return Finding(name, True, summary, figures, is_public=False)


def _agrees_by_position(frame: pa.Table, original: pa.Table, columns: list[str]) -> bool:
    """Return whether columns agree with the original's, row by row, far beyond chance.

    Only cells that occur in the original can agree; stars and generalized cells say nothing.
    """
    released, source = _common_codes(frame, original, columns)
    n_source = np.bincount(source, minlength=int(released.max(initial=0)) + 1)
    can_agree = (released > 0) & (n_source[released] > 0)
    n_cells = int(can_agree.sum())
    if n_cells == 0:
        return False
    agreed = float((released == source)[can_agree].mean())
    chances = n_source[released[can_agree]] / len(source)
    chance = float(chances.mean())
    if chance >= 1.0:
        return False
    deviation = float(np.sqrt((chances * (1.0 - chances)).sum())) / n_cells
    is_beyond_luck = agreed - chance >= LEAST_DEVIATIONS * deviation
    return is_beyond_luck and (agreed - chance) / (1.0 - chance) >= LEAST_EXCESS


def _walks_in_order(frame: pa.Table, original: pa.Table, verbatim: list[str]) -> bool:
    """Return whether the released rows can be met one after the other going down the original.

    A row that is a share s of the original is met every 1/s rows by chance, so the walk of an
    unrelated order would need the sum of these, and that must be well beyond the original's length.
    """
    released, source = _common_codes(frame, original, verbatim)
    n_source = np.bincount(source, minlength=int(released.max(initial=0)) + 1)
    if (n_source[released] == 0).any():
        return False
    expected = float((len(source) / n_source[released]).sum())
    if expected < LONGER_THAN_CHANCE * len(source):
        return False
    wanted = released.tolist()
    met = 0
    for row in source.tolist():
        if row == wanted[met]:
            met += 1
            if met == len(wanted):
                return True
    return False


def _is_verbatim(frame: pa.Table, original: pa.Table, column: str) -> bool:
    """Return whether every released cell of a column is one of the original's."""
    released, source = _common_codes(frame, original, [column])
    return bool(np.isin(released, source).all())


def _common_codes(
    frame: pa.Table, original: pa.Table, columns: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number both tables' rows by their cells in some columns, from 1; 0 where all are blank."""
    key = RowKey(frame.num_rows + original.num_rows)
    is_blank = np.ones(len(key.numbers), dtype=np.bool_)
    for name in columns:
        sides = [
            factorize(table.column(name), has_signed_zeros=True) for table in (frame, original)
        ]
        texts = pl.concat([_series(side).cast(pl.String) for side in sides]).to_frame("c")
        labels = factorize(blank_out(texts, ["c"], ())["c"].to_arrow())
        codes = np.concatenate(
            [
                np.append(code_of_value, np.int32(labels.n_values))[side.codes]
                for side, code_of_value in zip(
                    sides, np.split(labels.codes, [sides[0].n_values]), strict=True
                )
            ]
        )
        is_blank &= codes == labels.n_values
        key.add(codes, labels.n_codes)
    codes_of_rows = np.unique(key.numbers, return_inverse=True)[1].astype(np.int64) + 1
    codes_of_rows[is_blank] = 0
    return codes_of_rows[: frame.num_rows], codes_of_rows[frame.num_rows :]


def _series(cells: ColumnCodes) -> pl.Series:
    """Return a column's distinct values."""
    return to_frame(pa.table([cells.values], names=["c"]), ["c"])["c"]
