"""Files of SPSS (.sav, .zsav), Stata (.dta) and SAS (.sas7bdat, .xpt), read with pyreadstat.

They go through memory. Dates are dates, user-defined missing values are missing, and columns in
which every value has a label are read as their labels, unless codes are asked for. Releases are not
written in these formats: they carry the time of writing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from incrowd.errors import DataError, InputError
from incrowd.tables.files.excel import settle_type
from incrowd.tables.frames import normalize_table

_READERS = {
    "sav": "read_sav",
    "dta": "read_dta",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}
_PROGRAMS = {"sav": "SPSS", "dta": "Stata", "sas7bdat": "SAS", "xpt": "SAS transport"}


def read_statistics(path: Path, kind: str, value_labels: str) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table of a statistics file, and a note on columns that were read as labels."""
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            f"{path}: reading {_PROGRAMS[kind]} files needs pyreadstat, which is not installed",
            remedy="Install it with:  pip install 'incrowd[statistics]'",
        ) from None
    damaged = DataError(
        f"{path}: not a valid {_PROGRAMS[kind]} file (corrupt or truncated)",
        remedy="Write it again, or export it as CSV in UTF-8.",
    )
    try:
        frame, about = getattr(pyreadstat, _READERS[kind])(str(path), output_format="polars")
        table = frame.to_arrow()
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OverflowError):
        raise damaged from None
    columns, labelled = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = settle_type(column)
        shown = _labels(column, about.variable_value_labels.get(name, {}))
        if value_labels == "labels" and shown is not None:
            column = shown
            labelled.append(name)
        columns.append(column)
    notes: tuple[str, ...] = ()
    if labelled:
        notes = (
            f"value labels are read for {len(labelled)} of {len(columns)} columns; read codes with "
            "--value-labels codes",
        )
    return normalize_table(pa.table(columns, names=table.column_names), str(path)), notes


def _labels(column: pa.ChunkedArray, label_of: dict[Any, str]) -> pa.ChunkedArray | None:
    """Return the labels of a column's values; None if one has none, or two values share one."""
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.dictionary.to_pylist()
    labels = [label_of.get(code) for code in codes]
    if not codes or not all(labels) or len(set(labels)) < len(labels):
        return None
    return pa.chunked_array([pa.array(labels, pa.string()).take(encoded.indices)])
