"""Groups split by the sign of a zero: 0.0 and −0.0 count as one value and differ in a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import RowKey, numbered
from incrowd.engines.base import Blocks, SpreadEngine
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding


def find_signed_zeros(frame: pa.Table, quasi: Sequence[str]) -> list[Finding]:
    """Look for groups of a table whose rows differ in the sign of a zero; nothing if none does."""
    signed = [name for name in quasi if _is_negative_zero(frame.column(name)).any()]
    if not signed:
        return []
    group, written = RowKey(frame.num_rows), RowKey(frame.num_rows)
    for name in quasi:
        for key, has_signed_zeros in ((group, False), (written, True)):
            cells = numbered(frame.column(name), has_signed_zeros=has_signed_zeros)
            key.add(cells.codes, cells.n_codes)
    rows = pl.DataFrame({"group": group.numbers, "written": written.numbers})
    is_split = rows.select(pl.col("written").n_unique().over("group") > 1).to_series()
    n_groups = rows.filter(is_split)["group"].n_unique()
    exposed = (np.flatnonzero(is_split.to_numpy())[:MOST_ROWS_NAMED] + 1).tolist()
    return _finding(signed, n_groups, tuple(exposed))


def find_spread_signed_zeros(
    engine: SpreadEngine, blocks: Blocks, quasi: Sequence[str]
) -> list[Finding]:
    """Look for the same where the rows lie."""
    held = engine.schema(blocks)
    floating = [name for name in quasi if pa.types.is_floating(held.field(name).type)]
    if not floating:
        return []
    cells = [f"cell {number}" for number in range(len(quasi))]
    signs = [f"sign {number}" for number in range(len(floating))]
    kinds = [*(held.field(name).type for name in quasi), *(pa.bool_() for _ in floating)]
    schema = pa.schema(list(zip([*cells, *signs], kinds, strict=True)))

    def with_signs(block: pa.Table) -> pa.Table:
        columns = [block.column(name) for name in quasi]
        columns += [pa.array(_is_negative_zero(block.column(name))) for name in floating]
        return pa.table(columns, schema=schema)

    marked = engine.map_blocks(engine.select(blocks, list(quasi)), with_signs, schema)
    # lines: one per combination of cells and signs; a group with several is split
    lines = pl.DataFrame(engine.count(marked, schema.names))
    signed = [name for name, sign in zip(floating, signs, strict=True) if lines[sign].any()]
    n_lines = lines.group_by(cells).len()["len"]
    return _finding(signed, int((n_lines > 1).sum()))


def _finding(
    columns: list[str], n_groups: int, exposed_rows: tuple[int, ...] = ()
) -> list[Finding]:
    if not n_groups:
        return []
    quoted = ", ".join(map(repr, columns))
    summary = (
        f"{n_groups} groups are split by the sign of a zero: {quoted} holds both 0.0 and -0.0, "
        "which are counted as one value and are told apart in the file"
    )
    figures = {"columns": columns, "n_groups": n_groups}
    return [Finding("signed zeros", False, summary, figures, exposed_rows)]


def _is_negative_zero(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    numbers = column.to_numpy()
    return np.asarray((numbers == 0) & np.signbit(numbers))
