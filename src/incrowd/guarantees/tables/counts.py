"""What leaks are found from: counts of a table's values, of a frame or where the rows lie.

Both kinds answer the same few questions. A frame also says which rows are meant; an engine sends
only sums here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import ColumnCodes, RowKey, factorize
from incrowd.engines.base import N_ROWS, Blocks, OutOfCoreEngine
from incrowd.guarantees.evidence import MOST_ROWS_NAMED
from incrowd.guarantees.tables.cells import shows_nothing, to_frame

FORMULA = r"^[=+\-@\t\r]."
NUMBER = r"^\s*[+-]?([0-9]+([.,][0-9]*)*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*%?\s*$"


@dataclass(frozen=True)
class ColumnFacts:
    """What the distinct values of a column come to.

    ``is_consecutive``: they are a, a + 1, …, which numbers the rows if each occurs once.
    """

    n_values: int
    n_missing: int
    n_formulas: int
    is_consecutive: bool


@dataclass(frozen=True)
class Guess:
    """How often a quasi-identifying value is guessed right by given columns, and by none."""

    given: list[str]
    quasi: str
    right: float
    commonest: float


@dataclass(frozen=True)
class Counted:
    """How many rows or groups there are of a kind, and the first rows, from 1, where known."""

    n: int
    rows: tuple[int, ...] = ()


class TableCounts(Protocol):
    """Counts of one table."""

    n_rows: int

    @property
    def columns(self) -> list[str]:
        """The table's columns."""

    def facts(self, name: str) -> ColumnFacts:
        """Return what a column's distinct values come to."""

    def alone(self, names: Sequence[str]) -> Counted:
        """Count the rows that no other row equals on these columns together."""

    def guess(self, given: Sequence[str], quasi: str) -> Guess | None:
        """Return how well given columns tell another; None where it shows nothing.

        The measure is the share of rows (among those that show a value) that are guessed right by
        taking the commonest value per combination of the given ones.
        """

    def split_by_zeros(self, quasi: Sequence[str]) -> tuple[list[str], Counted]:
        """Return the columns with signed zeros, and how many groups the sign of a zero splits."""


def is_formula(values: pl.Series) -> pl.Series:
    """Return which texts begin like a formula and are no number."""
    return values.str.contains(FORMULA) & ~values.str.contains(NUMBER)


class FrameCounts:
    """Counts of a table in memory."""

    def __init__(self, frame: pa.Table) -> None:
        self.frame, self.n_rows = frame, frame.num_rows
        self._shown: dict[str, pl.Series] = {}

    @property
    def columns(self) -> list[str]:
        """The table's columns."""
        return list(self.frame.column_names)

    def facts(self, name: str) -> ColumnFacts:
        """Return what a column's distinct values come to."""
        column = self.frame.column(name)
        cells = factorize(column)
        values = _values(cells)["c"]
        n_formulas = 0
        if values.dtype == pl.String:
            n_of_code = np.bincount(cells.codes, minlength=cells.n_codes)
            n_formulas = int(n_of_code[:-1][is_formula(values).to_numpy()].sum())
        n_missing = int(column.null_count)
        is_numbering = 1 < self.n_rows == cells.n_values and not n_missing
        return ColumnFacts(
            cells.n_values, n_missing, n_formulas, is_numbering and _is_consecutive(values)
        )

    def alone(self, names: Sequence[str]) -> Counted:
        """Count the rows that no other row equals on these columns together."""
        is_alone = self._codes(names).select(pl.struct(list(names)).is_unique()).to_series()
        return Counted(int(is_alone.sum()), _first_rows(is_alone.to_numpy()))

    def guess(self, given: Sequence[str], quasi: str) -> Guess | None:
        """Return how well given columns tell another; None where it shows nothing."""
        codes = self._codes([*given, quasi])
        # numbered: a column of the table may have the name of the count
        codes.columns = [f"c{place}" for place in range(codes.width)]
        *keys, asked = codes.columns
        shown = codes.filter(pl.col(asked).is_not_null())
        if not shown.height:
            return None
        counts = shown.group_by([*keys, asked]).len("n")
        right = counts.group_by(keys).agg(pl.col("n").max())["n"].sum() / shown.height
        commonest = shown.group_by(asked).len("n")["n"].to_numpy().max() / shown.height
        return Guess(list(given), quasi, float(right), float(commonest))

    def split_by_zeros(self, quasi: Sequence[str]) -> tuple[list[str], Counted]:
        """Return the columns with signed zeros, and how many groups the sign of a zero splits."""
        frame = self.frame
        signed = [name for name in quasi if _is_negative_zero(frame.column(name)).any()]
        if not signed:
            return [], Counted(0)
        group, written = RowKey(frame.num_rows), RowKey(frame.num_rows)
        for name in quasi:
            for key, has_signed_zeros in ((group, False), (written, True)):
                cells = factorize(frame.column(name), has_signed_zeros=has_signed_zeros)
                key.add(cells.codes, cells.n_codes)
        rows = pl.DataFrame({"group": group.numbers, "written": written.numbers})
        is_split = rows.select(pl.col("written").n_unique().over("group") > 1).to_series()
        n_groups = rows.filter(is_split)["group"].n_unique()
        return signed, Counted(n_groups, _first_rows(is_split.to_numpy()))

    def _codes(self, names: Sequence[str]) -> pl.DataFrame:
        """Return columns as numbers of their distinct values; null where a cell shows nothing."""
        for name in names:
            if name not in self._shown:
                cells = factorize(self.frame.column(name))
                values = _values(cells)
                is_blank = values.select(shows_nothing("c", values.schema["c"], ())).to_series()
                codes = pl.Series(np.append(np.arange(cells.n_values, dtype=np.int32), np.int32(0)))
                shown = pl.select(pl.when(~is_blank.extend(pl.Series([True]))).then(codes))
                self._shown[name] = shown.to_series().gather(cells.codes)
        return pl.DataFrame({name: self._shown[name] for name in names})


def _values(cells: ColumnCodes) -> pl.DataFrame:
    """Return a column's distinct values as the column ``c`` of a frame."""
    return to_frame(pa.table([cells.values], names=["c"]), ["c"])


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


def _is_negative_zero(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    numbers = column.to_numpy()
    return np.asarray((numbers == 0) & np.signbit(numbers))


def _first_rows(is_chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple((np.flatnonzero(is_chosen)[:MOST_ROWS_NAMED] + 1).tolist())


class EngineCounts:
    """Counts of a table whose rows lie on an engine.

    ``groups`` counts the rows of every combination of the quasi-identifying columns, where that
    is known already.
    """

    def __init__(
        self,
        engine: OutOfCoreEngine,
        blocks: Blocks,
        n_rows: int = 0,
        groups: pa.Table | None = None,
    ) -> None:
        self.engine, self.blocks, self.n_rows, self.groups = engine, blocks, n_rows, groups

    @property
    def columns(self) -> list[str]:
        """The table's columns."""
        return list(self.engine.schema(self.blocks).names)

    def facts(self, name: str) -> ColumnFacts:
        """Return what a column's distinct values come to."""
        if self.groups is not None and name in self.groups.column_names:
            by_value = self.groups.select([name, N_ROWS]).group_by(name)
            counted = by_value.aggregate([(N_ROWS, "sum")]).select([name, f"{N_ROWS}_sum"])
            return _sum_of_facts(_facts_of_values(counted))
        lines = self.engine.count_in_place(self.blocks, [name])
        of_blocks = self.engine.map_blocks(lines, _facts_of_values, _FACTS)
        return _sum_of_facts(self.engine.collect(of_blocks))

    def alone(self, names: Sequence[str]) -> Counted:
        """Count the rows that no other row equals on these columns together."""
        lines = self.engine.count_in_place(self.blocks, list(names))
        of_blocks = self.engine.collect(self.engine.map_blocks(lines, _count_alone, _ONE))
        return Counted(sum(of_blocks.column("n").to_pylist()))

    def guess(self, given: Sequence[str], quasi: str) -> Guess | None:
        """Return how well given columns tell another; None where it shows nothing."""
        engine = self.engine
        lines = engine.count_in_place(self.blocks, [*given, quasi])
        keyed = engine.map_blocks(
            lines, _with_keys(len(given)), engine.schema(lines).append(pa.field("key", pa.int64()))
        )
        guessed = engine.collect(engine.map_groups(keyed, "key", _guesses(len(given)), _GUESSES))
        n_shown = sum(guessed.column("n_shown").to_pylist())
        if not n_shown:
            return None
        values = to_frame(engine.count(self.blocks, [quasi]), ["c", "n"])
        is_blank = shows_nothing("c", values.schema["c"], ())
        commonest = int(values.filter(~is_blank)["n"].max()) / n_shown  # type: ignore[arg-type]
        right = sum(guessed.column("n_right").to_pylist()) / n_shown
        return Guess(list(given), quasi, right, commonest)

    def split_by_zeros(self, quasi: Sequence[str]) -> tuple[list[str], Counted]:
        """Return the columns with signed zeros, and how many groups the sign of a zero splits."""
        engine, held = self.engine, self.engine.schema(self.blocks)
        floating = [name for name in quasi if pa.types.is_floating(held.field(name).type)]
        if not floating:
            return [], Counted(0)
        cells = [f"cell {number}" for number in range(len(quasi))]
        signs = [f"sign {number}" for number in range(len(floating))]
        kinds = [*(held.field(name).type for name in quasi), *(pa.bool_() for _ in floating)]
        schema = pa.schema(list(zip([*cells, *signs], kinds, strict=True)))

        def with_signs(block: pa.Table) -> pa.Table:
            columns = [block.column(name) for name in quasi]
            columns += [pa.array(_is_negative_zero(block.column(name))) for name in floating]
            return pa.table(columns, schema=schema)

        marked = engine.map_blocks(engine.select(self.blocks, list(quasi)), with_signs, schema)
        # lines: one per combination of cells and signs; a group with several is split
        lines = pl.DataFrame(engine.count(marked, schema.names))
        signed = [name for name, sign in zip(floating, signs, strict=True) if lines[sign].any()]
        n_lines = lines.group_by(cells).len()["len"]
        return signed, Counted(int((n_lines > 1).sum()))


_N_KEYS = 64
"""In how many groups the values of given columns meet."""

_WHOLE = r"^\s*[0-9]{1,18}\s*$"

_FACTS = pa.schema(
    [
        ("n_values", pa.int64()),
        ("n_missing", pa.int64()),
        ("n_formulas", pa.int64()),
        ("is_whole", pa.bool_()),
        ("least", pa.int64()),
        ("most", pa.int64()),
    ]
)


def _sum_of_facts(of_blocks: pa.Table) -> ColumnFacts:
    """Put together what was found in parts of a column's values."""
    frame = pl.DataFrame(pl.from_arrow(of_blocks))
    n_values = int(frame["n_values"].sum())
    numbers = frame.filter(pl.col("n_values") > 0)
    is_consecutive = False
    if n_values and bool(numbers["is_whole"].all()):
        span = pl.concat([numbers["least"], numbers["most"]])
        is_consecutive = int(span.max()) - int(span.min()) == n_values - 1  # type: ignore[arg-type]
    return ColumnFacts(
        n_values, int(frame["n_missing"].sum()), int(frame["n_formulas"].sum()), is_consecutive
    )


def _facts_of_values(block: pa.Table) -> pa.Table:
    """Return one line of facts on values with their counts."""
    lines = to_frame(block, ["c", "n"])
    shown = lines.filter(pl.col("c").is_not_null())
    values, counts = shown["c"], shown["n"]
    n_formulas, is_whole = 0, values.dtype.is_integer()
    numbers = values
    if values.dtype == pl.String:
        n_formulas = int(counts.filter(is_formula(values)).sum())
        is_whole = bool(values.str.contains(_WHOLE).all())
        numbers = values.str.strip_chars().cast(pl.Int64, strict=False)
    least = most = None
    if is_whole and len(values):
        least, most = numbers.min(), numbers.max()
    line = {
        "n_values": [len(values)],
        "n_missing": [int(lines.filter(pl.col("c").is_null())["n"].sum())],
        "n_formulas": [n_formulas],
        "is_whole": [is_whole],
        "least": [least],
        "most": [most],
    }
    return pa.table(line, schema=_FACTS)


_ONE = pa.schema([("n", pa.int64())])


def _count_alone(block: pa.Table) -> pa.Table:
    n_of_line = block.column(N_ROWS).to_numpy()
    return pa.table({"n": [int((n_of_line == 1).sum())]}, schema=_ONE)


_GUESSES = pa.schema([("n_right", pa.int64()), ("n_shown", pa.int64())])


def _with_keys(n_given: int) -> Callable[[pa.Table], pa.Table]:
    """Return a block function that says in which group lines with equal given values meet."""

    def keyed(block: pa.Table) -> pa.Table:
        columns = [f"c{place}" for place in range(block.num_columns)]
        given = to_frame(block, columns).select(columns[:n_given])
        floats = [name for name, kind in given.schema.items() if kind.is_float()]
        given = given.with_columns(pl.col(floats) + 0.0)  # −0.0 and 0.0 are one value
        keys = given.hash_rows(seed=0) % _N_KEYS
        return block.append_column("key", pa.array(keys.cast(pl.Int64).to_numpy()))

    return keyed


def _guesses(n_given: int) -> Callable[[pa.Table], pa.Table]:
    """Return a block function that counts the rows guessed right by their given values."""

    def guessed(block: pa.Table) -> pa.Table:
        names = [*(f"g{place}" for place in range(n_given)), "c", "n", "key"]
        lines = to_frame(block, names)
        shown = lines.filter(~shows_nothing("c", lines.schema["c"], ()))
        most = shown.group_by(names[:n_given]).agg(pl.col("n").max())
        line = {"n_right": [int(most["n"].sum())], "n_shown": [int(shown["n"].sum())]}
        return pa.table(line, schema=_GUESSES)

    return guessed
