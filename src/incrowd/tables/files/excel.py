"""Excel workbooks (.xlsx): one sheet is read as a table, and a release is written as one.

Workbooks go through memory. Cells keep their types: numbers, dates, times, truth values and text;
formulas are read as the values that Excel saved with them, and errors such as #N/A as missing.
"""

from __future__ import annotations

import io
import logging
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import DataError
from incrowd.tables.columns.types import labels_of
from incrowd.tables.files.sniff import check_names
from incrowd.tables.frames import normalize_table

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""What a sheet and a cell of Excel can hold; one of the rows is the header."""

MOST_UNPACKED_BYTES = 4 << 30
"""The largest workbook that is read, unpacked."""

SHEET = "release"
"""The name of the sheet that a release is written to."""

_DEFLATE_RATIO = 1032  # the most that unpacking can enlarge
_PIECE_BYTES = 1 << 20
_EXACT_INTEGERS = 2**53
_EPOCH = date(1899, 12, 31)  # times without a date are on this day
_FIRST_DAY = date(1900, 3, 1)  # before it, Excel counts a day that was none
_DATE_FORMAT, _TIME_FORMAT = "yyyy-mm-dd", "hh:mm:ss"


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def read_excel(path: Path, sheet: str | None, where: str | None = None) -> pa.Table:
    """Return the table of a sheet; without a name, of the only visible sheet that holds any cells.

    Its first row that is not empty names the columns. Empty rows, and columns without a name and
    without cells, are left out. Raises DataError, listing the sheets, where there are several.
    """
    import fastexcel

    where = where or str(path)
    with path.open("rb") as file:
        content = file.read()
    _refuse_large(content, where)
    with _excel_errors(where):
        workbook = fastexcel.read_excel(content)
        name = _choose_sheet(workbook, sheet, where)
        head = workbook.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_arrow()
        names = [column[0].as_py() for column in head.columns] if head.num_rows else []
        cells = workbook.load_sheet(name, header_row=0, schema_sample_rows=None).to_arrow()
    table = pa.Table.from_batches([cells])
    if not names:
        raise DataError(f"{where}: the sheet is empty", remedy="Name another one with --sheet.")
    return _clean(table, names, where)


def _clean(table: pa.Table, names: list[str | None], where: str) -> pa.Table:
    kept = [
        place
        for place, (name, column) in enumerate(zip(names, table.columns, strict=True))
        if name or column.null_count < len(column)
    ]
    check_names([names[place] or "" for place in kept], where, of_file=True)
    columns = [settle_type(table.column(place)) for place in kept]
    table = pa.table(columns, names=[names[place] or "" for place in kept])
    is_blank = [pc.is_null(column) for column in table.columns]
    all_blank = is_blank[0]
    for flags in is_blank[1:]:
        all_blank = pc.and_(all_blank, flags)
    return normalize_table(table.filter(pc.invert(all_blank)), where)


def settle_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers as whole ones, and moments as days or times, where all of them are."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.string())
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if column.null_count == len(column):
        return column
    if pa.types.is_floating(kind):
        is_whole = pc.and_(
            pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), float(_EXACT_INTEGERS))
        )
        return column.cast(pa.int64()) if pc.all(is_whole).as_py() else column
    if pa.types.is_timestamp(kind):
        days = column.cast(pa.date32(), safe=False)
        if pc.all(pc.equal(days, pa.scalar(_EPOCH))).as_py():
            return column.cast(pa.time32("ms"))
        if pc.all(pc.equal(days.cast(kind), column)).as_py():
            return days
    return column


def _choose_sheet(workbook: Any, stated: str | None, where: str) -> str:
    names = list(workbook.sheet_names)
    listed = ", ".join(repr(name) for name in names)
    if stated is not None:
        if stated in names:
            return stated
        raise DataError(
            f"{where}: has no sheet {stated!r}", remedy=f"Its sheets are {listed}: state --sheet."
        )
    filled = []
    for name in names:
        sheet = workbook.load_sheet(name, header_row=None, n_rows=1, dtypes="string")
        if sheet.visible == "visible" and sheet.total_height:
            filled.append(name)
    if len(filled) == 1:
        return str(filled[0])
    what = "has several sheets with data" if filled else "has no sheet with data"
    raise DataError(f"{where}: {what}", remedy=f"Name one with --sheet; its sheets are {listed}.")


@contextmanager
def _excel_errors(where: str) -> Iterator[None]:
    """Raise DataError for workbooks that cannot be read; their own messages may hold values."""
    import fastexcel

    logger = logging.getLogger("fastexcel")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it tells of columns without cells
    try:
        yield
    except DataError:
        raise
    except (fastexcel.FastExcelError, pa.ArrowException, ValueError, RuntimeError):
        raise damaged_workbook_error(where) from None
    finally:
        logger.setLevel(level)


def damaged_workbook_error(where: str) -> DataError:
    """Return the error for a workbook that cannot be read."""
    return DataError(
        f"{where}: not a valid Excel workbook (corrupt or truncated)",
        remedy="Open it in Excel and save it again as .xlsx.",
    )


def _refuse_large(content: bytes, where: str) -> None:
    """Raise for what is no workbook, and for one that unpacks to more than is read."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise DataError(
            f"{where}: is encrypted, or a workbook of an old Excel",
            remedy="Open it in Excel and save it as .xlsx without a password.",
        )
    too_large = DataError(
        f"{where}: the workbook unpacks to more than {MOST_UNPACKED_BYTES >> 30} GiB",
        remedy="Save the sheet as CSV or Parquet.",
    )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_UNPACKED_BYTES:
                raise too_large
            if len(content) * _DEFLATE_RATIO <= MOST_UNPACKED_BYTES:
                return
            for member in members:  # a stated size may be wrong: Python's reader goes by it
                with archive.open(member) as file:
                    while file.read(_PIECE_BYTES):
                        pass
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise damaged_workbook_error(where) from None


# ── writing ─────────────────────────────────────────────────────────────────────────────────


def refuse_too_large(n_rows: int, n_columns: int, where: str) -> None:
    """Raise for a table that does not fit into one sheet with its header."""
    if n_rows >= MOST_ROWS or n_columns > MOST_COLUMNS:
        raise DataError(
            f"{where}: {n_rows:,} rows and {n_columns:,} columns do not fit into an Excel sheet of "
            f"{MOST_ROWS:,} rows, one of them the header, and {MOST_COLUMNS:,} columns",
            remedy="Name the release .csv or .parquet.",
        )


def write_excel(table: pa.Table, file: Any, folder: Path) -> None:
    """Write a table as the only sheet of a workbook; the same rows give the same bytes.

    Text is written as text, never as a formula or a link; numbers, dates and times as Excel's own
    where it can hold them exactly, else as text. What is spooled meanwhile lies in ``folder``.
    """
    import xlsxwriter

    refuse_too_large(table.num_rows, table.num_columns, "the release")
    _refuse_long_cells(table)
    options = {
        "constant_memory": True,
        "tmpdir": str(folder),
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    workbook = xlsxwriter.Workbook(file, options)
    workbook.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
    sheet = workbook.add_worksheet(SHEET)
    for place, name in enumerate(table.column_names):
        sheet.write_string(0, place, name)
    columns = [_cells_of(column, sheet, workbook) for column in table.columns]
    for row in range(table.num_rows):
        for place, (values, write) in enumerate(columns):
            value = values[row]
            if value is not None:
                write(row + 1, place, value)
    workbook.close()


_Writer = Callable[[int, int, Any], Any]


def _cells_of(column: pa.ChunkedArray, sheet: Any, workbook: Any) -> tuple[list[Any], _Writer]:
    """Return a column's values as they are written, and what writes them."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column.to_pylist(), sheet.write_boolean
    if pa.types.is_integer(kind) and _is_exact(column):
        return [_exact(value) for value in column.to_pylist()], sheet.write_number
    if pa.types.is_float64(kind) and pc.all(pc.is_finite(column)).as_py() is not False:
        return [_exact(value) for value in column.to_pylist()], sheet.write_number
    serials = _serial_numbers(column)
    if serials is not None:
        number_format = _TIME_FORMAT if pa.types.is_time(kind) else _DATE_FORMAT
        if pa.types.is_timestamp(kind):
            number_format = f"{_DATE_FORMAT} {_TIME_FORMAT}"
        style = workbook.add_format({"num_format": number_format})
        return serials, lambda row, place, value: sheet.write_number(row, place, value, style)
    return pc.fill_null(labels_of(column), "").to_pylist(), _write_text(sheet)


def _write_text(sheet: Any) -> _Writer:
    def write(row: int, place: int, text: str) -> None:
        if text:
            sheet.write_string(row, place, text)

    return write


class _ExactNumber(float):
    """A number that is written with all its digits; Excel's own 16 do not tell all apart."""

    def __format__(self, spec: str) -> str:
        return repr(float(self)).removesuffix(".0")


def _exact(value: float | None) -> _ExactNumber | None:
    return None if value is None else _ExactNumber(value)


def _is_exact(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column).as_py()
    least, greatest = extremes["min"] or 0, extremes["max"] or 0
    return bool(least > -_EXACT_INTEGERS and greatest < _EXACT_INTEGERS)


def _serial_numbers(column: pa.ChunkedArray) -> list[_ExactNumber | None] | None:
    """Return days and times as Excel's numbers; None where it has none for one of them."""
    kind = column.type
    try:
        if pa.types.is_date(kind):
            days = column.cast(pa.date32()).to_pylist()
            moments = [None if day is None else datetime.combine(day, time()) for day in days]
        elif pa.types.is_time(kind):
            clocks = column.cast(pa.time32("ms")).to_pylist()
            moments = [
                None if clock is None else datetime.combine(_EPOCH, clock) for clock in clocks
            ]
        elif pa.types.is_timestamp(kind) and kind.tz is None:
            moments = column.cast(pa.timestamp("ms")).to_pylist()
        else:
            return None
    except pa.ArrowInvalid:  # finer than a millisecond
        return None
    if not pa.types.is_time(kind) and any(
        moment is not None and moment.date() < _FIRST_DAY for moment in moments
    ):
        return None
    zero = datetime.combine(_EPOCH, time())
    if not pa.types.is_time(kind):
        zero -= timedelta(days=1)  # Excel counts 29 February 1900
    day = timedelta(days=1)
    return [None if moment is None else _ExactNumber((moment - zero) / day) for moment in moments]


def _refuse_long_cells(table: pa.Table) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type):
            longest = pc.max(pc.utf8_length(column)).as_py() or 0
            if max(longest, len(name)) > MOST_CHARACTERS:
                raise DataError(
                    f"column {name!r} has a text of {longest:,} characters, and a cell of Excel "
                    f"holds {MOST_CHARACTERS:,}",
                    remedy="Name the release .csv or .parquet.",
                )
