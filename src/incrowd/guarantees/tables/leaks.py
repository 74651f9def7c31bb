"""What a released table gives away beside its quasi-identifying columns.

Looks at the table alone, on purpose with plain counting of its own: columns that number the rows,
groups that the sign of a zero splits, insensitive columns that single people out or stand in for a
quasi-identifying one, the order of the rows, and cells that a spreadsheet would run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import ColumnCodes, RowKey, factorize
from incrowd.engines.base import Blocks, OutOfCoreEngine
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.tables.cells import shows_nothing, to_frame
from incrowd.guarantees.tables.row_order import find_order


def find_signed_zeros(frame: pa.Table, quasi: Sequence[str]) -> list[Finding]:
    """Look for groups of a table whose rows differ in the sign of a zero; nothing if none does."""
    signed = [name for name in quasi if _is_negative_zero(frame.column(name)).any()]
    if not signed:
        return []
    group, written = RowKey(frame.num_rows), RowKey(frame.num_rows)
    for name in quasi:
        for key, has_signed_zeros in ((group, False), (written, True)):
            cells = factorize(frame.column(name), has_signed_zeros=has_signed_zeros)
            key.add(cells.codes, cells.n_codes)
    rows = pl.DataFrame({"group": group.numbers, "written": written.numbers})
    is_split = rows.select(pl.col("written").n_unique().over("group") > 1).to_series()
    n_groups = rows.filter(is_split)["group"].n_unique()
    exposed = (np.flatnonzero(is_split.to_numpy())[:MOST_ROWS_NAMED] + 1).tolist()
    return _finding(signed, n_groups, tuple(exposed))


def find_spread_signed_zeros(
    engine: OutOfCoreEngine, blocks: Blocks, quasi: Sequence[str]
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


# What a released table gives away beside its quasi-identifying columns.

DETERMINED = 0.95
"""The share of rows whose quasi-identifying value an insensitive column gives away from which on
it stands in for it …"""

LEAST_GAIN = 0.5
"""… if it also halves the mistakes of somebody who always guesses the commonest value."""

FEWEST_NUMBERED = 10
"""In a shorter table a sensitive column may hold the numbers from 1 to n by chance."""

FORMULA = r"^[=+\-@\t\r]."
NUMBER = r"^\s*[+-]?([0-9]+([.,][0-9]*)*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*%?\s*$"


def find_leaks(
    frame: pa.Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    original: pa.Table | None = None,
    *,
    accepted: Sequence[str] = (),
) -> list[Finding]:
    """Look for everything above; with the original also for rows that kept their order."""
    findings = [_row_numbers(frame, quasi, sensitive, insensitive, accepted)]
    findings += find_signed_zeros(frame, quasi)
    findings += insensitive_leaks(frame, quasi, insensitive, accepted)
    findings += find_order(frame, original)
    findings += _formula_cells(frame)
    stated = {*quasi, *sensitive, *insensitive}
    unstated = [name for name in frame.column_names if name not in stated]
    if unstated:
        findings.append(
            Finding(
                "unstated columns",
                None,
                f"no role is stated for {_listed(unstated)}: not looked at",
                {"columns": unstated},
            )
        )
    return findings


def insensitive_leaks(
    frame: pa.Table,
    quasi: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str] = (),
) -> list[Finding]:
    """Look for insensitive columns that single rows out or give a quasi-identifying one away.

    Columns in ``accepted`` only inform, on their own and together with one another; columns that
    are not accepted must be harmless alone and together.
    """
    if not insensitive:
        return []
    codes = _codes(frame, [*quasi, *insensitive])
    refused = [name for name in insensitive if name not in accepted]
    findings = []
    for names, holds in ((refused, False), (list(insensitive), None)):
        # the second round, with the accepted columns too, is only for information
        if names and (holds is False or len(names) > len(refused)):
            findings.append(_unique_rows(codes, names, holds))
    for name in insensitive:
        findings += _stand_ins(codes, [name], quasi, None if name in accepted else False)
    if len(refused) > 1:
        alone = {finding.figures["quasi"] for finding in findings if finding.name == "stand-in"}
        rest = [name for name in quasi if name not in alone]
        findings += _stand_ins(codes, refused, rest, False)
    if not any(finding.name == "stand-in" for finding in findings):
        findings.append(no_stand_in())
    return findings


def no_stand_in() -> Finding:
    """Say that no insensitive column stands in for a quasi-identifying one."""
    return Finding(
        "stand-in",
        True,
        "no insensitive column nearly determines a quasi-identifying one",
        {"threshold": DETERMINED},
    )


def _codes(frame: pa.Table, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns as numbers of their distinct values; null where a cell shows nothing."""
    columns = {}
    for name in dict.fromkeys(names):
        cells = factorize(frame.column(name))
        values = _values(cells)
        is_blank = values.select(shows_nothing("c", values.schema["c"], ())).to_series()
        codes = pl.Series(np.append(np.arange(cells.n_values, dtype=np.int32), np.int32(0)))
        code_of_cell = pl.select(pl.when(~is_blank.extend(pl.Series([True]))).then(codes))
        columns[name] = code_of_cell.to_series().gather(cells.codes)
    return pl.DataFrame(columns)


def _values(cells: ColumnCodes) -> pl.DataFrame:
    """Return a column's distinct values as the column ``c`` of a frame."""
    import pyarrow as pa

    return to_frame(pa.table([cells.values], names=["c"]), ["c"])


def _unique_rows(codes: pl.DataFrame, names: Sequence[str], holds: bool | None) -> Finding:
    """Count rows that no other row equals on the given columns together."""
    is_unique = codes.select(pl.struct(list(names)).is_unique()).to_series().to_numpy()
    return unique_finding(names, holds, int(is_unique.sum()), _first_rows(is_unique))


def unique_finding(
    names: Sequence[str], holds: bool | None, n_unique: int, rows: tuple[int, ...] = ()
) -> Finding:
    """Say how many rows are alone with their values of insensitive columns."""
    figures = {"columns": list(names), "n_exposed": n_unique}
    if not n_unique:
        summary = f"no row is alone with its values of {_listed(names)}"
        return Finding("unique rows", True, summary, figures)
    summary = f"{n_unique} rows are alone with their values of the insensitive {_listed(names)}"
    if holds is None:
        summary += " (accepted)"
    return Finding("unique rows", holds, summary, figures, rows)


def _stand_ins(
    codes: pl.DataFrame, given: Sequence[str], quasi: Sequence[str], holds: bool | None
) -> list[Finding]:
    """Find the quasi-identifying columns whose value the given columns nearly determine.

    The measure is the share of rows (among those that show a quasi-identifying value) that are
    guessed right by taking the commonest value per combination of the given ones. A column that is
    nearly unique guesses nearly everything right, and is meant to be found.
    """
    findings = []
    for name in quasi:
        if name in given:
            continue
        shown = codes.filter(pl.col(name).is_not_null())
        if not shown.height:
            continue
        counts = shown.group_by([*given, name]).len("n")
        right = counts.group_by(list(given)).agg(pl.col("n").max())["n"].sum() / shown.height
        commonest = shown.group_by(name).len("n")["n"].to_numpy().max() / shown.height
        findings += stand_in_finding(
            Guess(list(given), name, float(right), float(commonest)), holds
        )
    return findings


@dataclass(frozen=True)
class Guess:
    """How often a quasi-identifying value is guessed right by given columns, and by none."""

    given: list[str]
    quasi: str
    right: float
    commonest: float


def stand_in_finding(guess: Guess, holds: bool | None) -> list[Finding]:
    """Say that columns give a quasi-identifying one away, where they do."""
    right, commonest = guess.right, guess.commonest
    if commonest == 1.0 or right < DETERMINED:
        return []
    if (right - commonest) / (1.0 - commonest) < LEAST_GAIN:
        return []
    figures = {
        "columns": guess.given,
        "quasi": guess.quasi,
        "guessed_right": right,
        "commonest": commonest,
        "threshold": DETERMINED,
    }
    summary = (
        f"the insensitive {_listed(guess.given)} gives the quasi-identifying {guess.quasi!r} away "
        f"in {right:.1%} of the rows (guessing without it: {commonest:.1%})"
    )
    if holds is None:
        summary += " (accepted)"
    return [Finding("stand-in", holds, summary, figures)]


def _row_numbers(
    frame: pa.Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str],
) -> Finding:
    """Find columns that number the rows, or are different in every row.

    Nobody is assumed to know sensitive values, so a sensitive column that merely differs in every
    row only informs; consecutive numbers are a numbering whatever the column is called.
    """
    n_rows = frame.num_rows
    differing: dict[str, bool] = {}
    for name in (*quasi, *sensitive, *insensitive):
        cells = frame.column(name)
        if n_rows < 2 or cells.null_count or factorize(cells).n_values < n_rows:
            continue
        differing[name] = _is_consecutive(to_frame(frame.select([name]), ["c"])["c"])
    return numbering_finding(differing, sensitive, accepted, n_rows)


def numbering_finding(
    differing: dict[str, bool], sensitive: Sequence[str], accepted: Sequence[str], n_rows: int
) -> Finding:
    """Say which columns differ in every row; ``differing`` tells which of them are consecutive."""
    numbering: list[str] = []
    others: list[str] = []
    sensitive_only: list[str] = []
    for name, is_consecutive in differing.items():
        if name in sensitive and not (is_consecutive and n_rows >= FEWEST_NUMBERED):
            sensitive_only.append(name)
        elif name not in accepted:
            (numbering if is_consecutive else others).append(name)
    figures = {
        "numbering": numbering,
        "differing": others,
        "differing_sensitive": sensitive_only,
        "n_exposed": n_rows if numbering or others else 0,
    }
    if numbering or others:
        parts = []
        if numbering:
            parts.append(f"rows are numbered by {_listed(numbering)}")
        if others:
            parts.append(f"no two rows agree in {_listed(others)}")
        rows = tuple(range(1, min(n_rows, MOST_ROWS_NAMED) + 1))
        return Finding("row numbers", False, " and ".join(parts), figures, rows)
    if sensitive_only:
        summary = f"no two rows agree in the sensitive {_listed(sensitive_only)}"
        return Finding("row numbers", None, summary, figures)
    return Finding("row numbers", True, "no column numbers the rows", figures)


def _is_consecutive(column: pl.Series) -> bool:
    """Return whether a column of distinct values is some order of a, a + 1, …, a + n − 1."""
    if column.dtype == pl.String:
        if not column.str.contains(r"^\s*[0-9]{1,18}\s*$").all():
            return False
        numbers = column.str.strip_chars().cast(pl.Int64).to_numpy()
    elif column.dtype.is_integer():
        numbers = column.cast(pl.Int64).to_numpy()
    else:
        return False
    is_gapless = int(numbers.max()) - int(numbers.min()) == len(numbers) - 1
    return is_gapless and len(np.unique(numbers)) == len(numbers)


def _formula_cells(frame: pa.Table) -> list[Finding]:
    """Count cells that begin like a formula and are no number."""
    n_cells = {}
    for name in frame.column_names:
        cells = factorize(frame.column(name))
        column = _values(cells)["c"]
        if column.dtype == pl.String:
            n_of_code = np.bincount(cells.codes, minlength=cells.n_codes)
            n_cells[name] = int(n_of_code[:-1][is_formula(column).to_numpy()].sum())
    return formula_finding(n_cells)


def is_formula(values: pl.Series) -> pl.Series:
    """Return which texts begin like a formula and are no number."""
    return values.str.contains(FORMULA) & ~values.str.contains(NUMBER)


def formula_finding(n_of_column: dict[str, int]) -> list[Finding]:
    """Say how many cells of each column would run as formulas; nothing where none would."""
    n_cells = {name: count for name, count in n_of_column.items() if count}
    if not n_cells:
        return []
    n_all = sum(n_cells.values())
    summary = f"{n_all} cells of {_listed(n_cells)} would run as formulas in a spreadsheet"
    return [Finding("formula cells", None, summary, {"n_cells": n_cells})]


def _first_rows(is_chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple((np.flatnonzero(is_chosen)[:MOST_ROWS_NAMED] + 1).tolist())


def _listed(names: Sequence[str] | dict[str, int]) -> str:
    quoted = ", ".join(repr(name) for name in names)
    return f"column {quoted}" if len(names) == 1 else f"columns {quoted}"
