"""Rows that come first in a text file, so that readers infer the types of its columns correctly.

Readers look at the first rows of a text file (polars at 100) and take a column that shows only
numbers there for numbers; a range such as 20-24 in a later row is then an error. So if a column
has values of several kinds and its first rows in the order of content do not show them, the first
rows that do are written before all others. Which ones these are depends on the released content
alone, so the order of rows still discloses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import ColumnCodes, canonical_order, factorize
from incrowd.tables.columns.types import NUMBER, labels_of, to_mask
from incrowd.threads import iter_in_threads

HEAD_ROWS = 50
"""Rows that must show all kinds of values: with leading rows fewer than any reader looks at."""

MISSING, TEXT = 0, 1
_PATTERNS = {
    2: r"[+-]?[0-9]{1,18}",
    3: NUMBER,
    4: r"(?i:true|false)",
    5: r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}",
    6: r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}[ T][0-9].*",
    7: r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?",
}  # kinds of values that readers infer; everything else is text

_COLUMN, _KIND = "column", "kind"


def kinds_of(column: pa.ChunkedArray) -> NDArray[np.int8]:
    """Return the kind of each cell's text, as readers infer it."""
    cells = factorize(column)
    return _kinds_of_codes(cells)[cells.codes]


def _kinds_of_codes(cells: ColumnCodes) -> NDArray[np.int8]:
    """Return the kind of each value's text, and last that of a missing cell."""
    texts = pc.utf8_trim_whitespace(pc.fill_null(labels_of(cells.values), ""))
    kinds = np.full(cells.n_codes, TEXT, dtype=np.int8)
    kinds[-1] = MISSING
    for kind, pattern in reversed(_PATTERNS.items()):
        kinds[:-1][to_mask(pc.match_substring_regex(texts, f"^({pattern})$"))] = kind
    kinds[:-1][to_mask(pc.equal(texts, ""))] = MISSING
    return kinds


def leading_places(frame: pa.Table, order: NDArray[np.int64]) -> list[int]:
    """Return the places in ``order``, that of the rows' content, of the leading rows."""
    found = iter_in_threads(lambda column: _leading_places(column, order), frame.columns)
    return sorted(set().union(*found))


def _leading_places(column: pa.ChunkedArray, order: NDArray[np.int64]) -> set[int]:
    """Return the places of the first rows that show what a column's first rows do not."""
    cells = factorize(column)
    kinds = _kinds_of_codes(cells)
    held = set(kinds[cells.counts > 0].tolist())
    shown = set(kinds[cells.codes[order[:HEAD_ROWS]]].tolist())
    return {int(np.argmax((kinds == kind)[cells.codes][order])) for kind in _unshown(held, shown)}


def _unshown(kinds: set[int], shown: set[int]) -> set[int]:
    """Return the kinds that the first rows lack; text among them makes a column text."""
    needed = kinds - {MISSING}
    if TEXT in needed:
        needed = {TEXT}
    return needed - shown if len(kinds - {MISSING}) > 1 else set()


def lead(frame: pa.Table, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``order``, that of the rows' content, with the leading rows before the others."""
    first = leading_places(frame, order)
    return np.concatenate([order[first], np.delete(order, first)]) if first else order


# ── rows on an engine ───────────────────────────────────────────────────────────────────────


def candidate_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of candidates: a column's position, a kind, and a row that shows it."""
    fields = [field.with_name(f"c{place}") for place, field in enumerate(schema)]
    return pa.schema([(_COLUMN, pa.int64()), (_KIND, pa.int64()), *fields])


def find_candidates(block: pa.Table) -> pa.Table:
    """Return, per column and kind of value, the first row of a block by content that shows it."""
    ordered = block.take(pa.array(canonical_order(block)))
    found = []
    for position, column in enumerate(ordered.columns):
        kinds, places = np.unique(kinds_of(column), return_index=True)
        found += [(position, kind, place) for kind, place in zip(kinds, places, strict=True)]
    rows = ordered.take(pa.array([int(place) for _, _, place in found], pa.int64()))
    columns = [
        pa.array([position for position, _, _ in found], pa.int64()),
        pa.array([int(kind) for _, kind, _ in found], pa.int64()),
        *rows.columns,
    ]
    return pa.table(columns, schema=candidate_schema(block.schema))


@dataclass
class LeadingRows:
    """Puts the leading rows of ordered tables first; ``rows`` are those that were, once it did."""

    candidates: pa.Table
    rows: pa.Table | None = None

    def put_first(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield the leading rows, then all other rows, of tables in the order of content."""
        held: list[pa.Table] = []
        while sum(table.num_rows for table in held) < HEAD_ROWS:
            table = next(tables, None)
            if table is None:
                break
            held.append(table)
        if not held:
            return
        first = pa.concat_tables(held)
        self.rows = self._choose(first)
        if self.rows.num_rows:
            yield self.rows
        yield from _without(chain([first], tables), self.rows)

    def _choose(self, first: pa.Table) -> pa.Table:
        ordered = self.candidates.select(range(2, self.candidates.num_columns))
        order = canonical_order(ordered)
        rows = ordered.take(pa.array(order)).rename_columns(first.column_names)
        positions, kinds = (
            self.candidates.column(name).to_numpy()[order] for name in (_COLUMN, _KIND)
        )
        chosen = set()
        for position, column in enumerate(first.slice(0, HEAD_ROWS).columns):
            of_column = positions == position
            shown = set(kinds_of(column).tolist())
            for kind in _unshown(set(kinds[of_column].tolist()), shown):
                chosen.add(int(np.flatnonzero(of_column & (kinds == kind))[0]))
        leading = rows.take(pa.array(sorted(chosen), pa.int64()))
        return leading.take(pa.array(_distinct_places(leading), pa.int64())).cast(first.schema)


def _distinct_places(ordered: pa.Table) -> list[int]:
    rows = ordered.to_pylist()
    return [place for place in range(len(rows)) if not place or rows[place] != rows[place - 1]]


def _without(tables: Iterator[pa.Table], taken: pa.Table) -> Iterator[pa.Table]:
    """Yield tables without the first occurrence of each of some rows."""
    left = list(range(taken.num_rows))
    for table in tables:
        places = []
        for row in list(left):
            is_same = np.ones(table.num_rows, dtype=np.bool_)
            for column, cells in zip(table.columns, taken.columns, strict=True):
                is_same &= _equals(column, cells[row])
            if is_same.any():
                places.append(int(np.argmax(is_same)))
                left.remove(row)
        if places:
            kept = np.delete(np.arange(table.num_rows), places)
            table = table.take(pa.array(kept))
        yield table


def _equals(column: pa.ChunkedArray, cell: pa.Scalar) -> NDArray[np.bool_]:
    if not cell.is_valid:
        return to_mask(pc.is_null(column))
    return to_mask(pc.fill_null(pc.equal(column, cell), False))


def skip_leading(tables: Iterator[pa.Table], leading: pa.Table | None) -> Iterator[pa.Table]:
    """Yield the rows of a text file after its leading rows; all of them if it has others first."""
    n_left = 0 if leading is None else leading.num_rows
    if leading is None or not n_left:
        yield from tables
        return
    held: list[pa.Table] = []
    n_held = 0
    for table in tables:
        held.append(table)
        n_held += table.num_rows
        if n_held >= n_left:
            break
    first = pa.concat_tables(held) if held else None
    if first is not None and _texts(first.slice(0, n_left)) == _texts(leading):
        first = first.slice(n_left)
    yield from chain([] if first is None else [first], tables)


def _texts(table: pa.Table) -> list[list[str]]:
    return [pc.fill_null(labels_of(column), "").to_pylist() for column in table.columns]


Arrange = Callable[[Iterator[pa.Table]], Iterator[pa.Table]]
"""What changes the order in which an engine writes rows."""
