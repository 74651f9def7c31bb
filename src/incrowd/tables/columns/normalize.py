"""Tables whose dates and numbers are written in another way: read as canonical ones, restored.

Which columns are, and how, is decided once, on the original; a release is restored by the same
readings, and read back by them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import count_values
from incrowd.errors import DataError
from incrowd.tables.columns.format_detection import detect_format, may_have_format, unit_of
from incrowd.tables.columns.formats import (
    ColumnFormat,
    ColumnReading,
    DateFormat,
    NumberFormat,
    is_text,
    parse_format,
)
from incrowd.tables.columns.types import to_mask
from incrowd.tables.table import Table

Readings = Mapping[str, ColumnReading]

_SHOWN = 5  # rows and values that are named
_FLAGS: dict[type[ColumnFormat], str] = {
    DateFormat: "--date-format",
    NumberFormat: "--number-format",
}


@dataclass(frozen=True)
class StatedFormats:
    """The formats that a user states, by column: ``dd.mm.yyyy``, ``1.234,5 €`` or ``text``."""

    dates: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, column: str) -> bool:
        return column in self.dates or column in self.numbers

    def format_of(self, column: str) -> ColumnFormat | None:
        """Return a column's stated format; None where its values are taken as they are."""
        if column in self.dates:
            return parse_format(self.dates[column], DateFormat, f"--date-format {column}")
        return parse_format(self.numbers[column], NumberFormat, f"--number-format {column}")

    def refuse_unreadable(self) -> None:
        """Raise where a stated format is none, before any data is read."""
        for column in (*self.dates, *self.numbers):
            self.format_of(column)


@dataclass(frozen=True, eq=False)
class DistinctCells:
    """The distinct cells of a column of text and how many cells hold each.

    ``cells`` is the column itself, where rows are to be named in messages.
    """

    where: str
    column: str
    values: pa.Array
    counts: NDArray[np.int64]
    tokens: tuple[str, ...] = ()
    cells: pa.ChunkedArray | None = None

    @classmethod
    def of(cls, table: Table, column: str) -> DistinctCells:
        """Count the cells of a table's column."""
        cells = _viewless(table.frame.column(column))
        values, counts = count_values(cells)
        return cls(table.name, column, values, counts, table.missing_values, cells)

    def present(self) -> DistinctCells:
        """Return those that are not missing."""
        tokens = pa.array(["", *self.tokens], self.values.type)
        is_there = ~to_mask(pc.is_in(self.values, tokens)) & ~to_mask(pc.is_null(self.values))
        return replace(
            self, values=self.values.filter(pa.array(is_there)), counts=self.counts[is_there]
        )

    def name_rows(self, is_named: NDArray[np.bool_]) -> str:
        """Return how many cells hold certain values and the rows of the first few."""
        n_cells = int(self.counts[is_named].sum())
        said = f"{n_cells:,} {'row' if n_cells == 1 else 'rows'}"
        if self.cells is None:
            return said
        odd = pc.is_in(_plain_text(self.cells), self.values.filter(pa.array(is_named)))
        rows = np.flatnonzero(to_mask(odd))[:_SHOWN] + 1
        listed = ", ".join(str(row) for row in rows.tolist())
        return f"{said} (row {listed}{', …' if n_cells > len(rows) else ''})"


def choose_reading(
    found: DistinctCells, stated: StatedFormats, *, is_needed: bool, is_lenient: bool = False
) -> ColumnReading | None:
    """Return how a column of text is read; None where its cells are canonical or plain text.

    Where ``is_needed``, a format that the values leave open is asked for, and values written in
    several ways are refused. A stated format must fit every value, unless ``is_lenient``.
    """
    present = found.present()
    reading = _stated_reading(present, stated, is_lenient=is_lenient)
    if found.column not in stated:
        detected = detect_format(present.values, present.counts)
        if detected.choices and is_needed:
            raise _ambiguous_error(found, detected.choices)
        if detected.format is not None:
            reading = ColumnReading(detected.format, found.tokens)
    if reading is None:
        return None
    conflicts = reading.conflicts(present.values)
    if not conflicts.any():
        return reading
    if is_needed:
        raise DataError(
            f"{found.where}, column {found.column!r}: {reading.format.noun} as "
            f"{reading.format.text}, and {present.name_rows(conflicts)} with "
            f"{reading.format.noun} written in another way",
            remedy="Write them all alike, or take the values as text: "
            f"{_flag_of(reading.format)} {found.column}=text.",
            examples=present.values.filter(pa.array(conflicts))[:3].to_pylist(),
        )
    return None


def _stated_reading(
    present: DistinctCells, stated: StatedFormats, *, is_lenient: bool
) -> ColumnReading | None:
    way = stated.format_of(present.column) if present.column in stated else None
    if way is None:
        return None
    if isinstance(way, NumberFormat) and not (way.prefix or way.suffix):
        prefix, suffix = unit_of(present.values, present.counts)
        way = replace(way, prefix=prefix, suffix=suffix)
    reading = ColumnReading(way, present.tokens)
    unfit = reading.unfit(present.values)
    if unfit.any() and not is_lenient:
        raise DataError(
            f"{present.where}, column {present.column!r}: {present.name_rows(unfit)} not written "
            f"as {way.text}, the stated format",
            remedy="State another format, leave it out to have it detected, or name the tokens of "
            "missing cells with --missing-values.",
            examples=present.values.filter(pa.array(unfit))[:3].to_pylist(),
        )
    return None if way.is_canonical else reading


def _ambiguous_error(found: DistinctCells, choices: tuple[ColumnFormat, ...]) -> DataError:
    flag = _flag_of(choices[0])
    texts = [way.text for way in choices]
    ways = [f"{flag} {_quoted(f'{found.column}={text}')}" for text in texts]
    return DataError(
        f"{found.where}, column {found.column!r}: its {choices[0].noun} may be written as "
        f"{' or '.join(texts)}, and its values do not decide",
        remedy=f"State which:  {'  or  '.join(ways)}.",
    )


def _flag_of(way: ColumnFormat) -> str:
    return _FLAGS[type(way)]


def _quoted(text: str) -> str:
    return f'"{text}"' if any(sign in text for sign in " '’$") else text


def read_columns(
    table: Table,
    names: Collection[str],
    stated: StatedFormats | None = None,
    *,
    needed: Collection[str] = (),
    lenient: Collection[str] = (),
) -> Table:
    """Return a table with the dates and numbers of some columns in the canonical form.

    Only columns of text are looked at. Raises for a ``needed`` column that leaves its format open
    and for a stated format that values do not fit, but for ``lenient`` columns.
    """
    readings, stated = {}, stated or StatedFormats()
    for name in table.columns:
        column = table.frame.column(name)
        if name not in names or not is_text(column.type):
            continue
        if name in stated or may_have_format(_viewless(column), table.missing_values):
            reading = choose_reading(
                DistinctCells.of(table, name),
                stated,
                is_needed=name in needed,
                is_lenient=name in lenient,
            )
            if reading is not None:
                readings[name] = reading
    return normalize_table(table, readings)


def read_tentatively(table: Table, stated: StatedFormats) -> tuple[Table, list[str]]:
    """Return a table with the dates and numbers of all columns read, and questions on them.

    A column that leaves its format open is read in the first that fits, to see what it holds; the
    question names all.
    """
    readings, questions = {}, []
    for name in table.columns:
        column = table.frame.column(name)
        if not is_text(column.type):
            continue
        if name not in stated and not may_have_format(_viewless(column), table.missing_values):
            continue
        found = DistinctCells.of(table, name)
        reading = choose_reading(found, stated, is_needed=False, is_lenient=True)
        if reading is None and name not in stated:
            present = found.present()
            choices = detect_format(present.values, present.counts).choices
            if choices:
                questions.append(_ambiguous_error(found, choices))
                reading = ColumnReading(choices[0], table.missing_values)
        if reading is not None and not reading.conflicts(found.present().values).any():
            readings[name] = reading
    notes = [f"{error.what}; {error.remedy[0].lower()}{error.remedy[1:]}" for error in questions]
    return normalize_table(table, readings), notes


def _plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return _viewless(column)


def _viewless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.large_string()) if column.type == pa.string_view() else column


def normalize_table(table: Table, readings: Readings) -> Table:
    """Return a table as it is read by known readings; columns that it lacks do not matter."""
    known = {
        name: reading
        for name, reading in readings.items()
        if name in table.columns and is_text(table.frame.schema.field(name).type)
    }
    return replace(table, frame=normalize_frame(table.frame, known), readings=known)


def normalize_frame(frame: pa.Table, readings: Readings) -> pa.Table:
    """Return a frame with the columns that have a reading in the canonical form."""
    for place, name in enumerate(frame.column_names):
        if name in readings:
            frame = frame.set_column(place, name, readings[name].normalize(frame.column(name)))
    return frame


def restore_frame(frame: pa.Table, readings: Readings) -> pa.Table:
    """Return a frame with the columns that have a reading as the file writes them."""
    for place, name in enumerate(frame.column_names):
        if name in readings and is_text(frame.schema.field(name).type):
            frame = frame.set_column(place, name, readings[name].restore(frame.column(name)))
    return frame


def as_written(table: Table) -> pa.Table:
    """Return a table's cells as its file writes them."""
    return restore_frame(table.frame, table.readings)


def notes_on_readings(readings: Readings) -> list[str]:
    """Return how columns write their dates and numbers, where it is not the canonical way."""
    return [
        f"column {name!r}: {reading.format.noun} as {reading.format.text}"
        for name, reading in readings.items()
    ]


def stated_of(readings: Readings) -> StatedFormats:
    """Return the formats that state the same readings."""
    dates: dict[str, str] = {}
    numbers: dict[str, str] = {}
    for name, reading in readings.items():
        place = dates if isinstance(reading.format, DateFormat) else numbers
        place[name] = reading.format.text
    return StatedFormats(dates, numbers)
