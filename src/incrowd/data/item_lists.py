"""Lines and cells of small text files about items, and all their problems at once."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.set_names import places_in
from incrowd.errors import DataError

_SHOWN_LINES = 5


class Problems:
    """Collects what is wrong with a file by kind, each with its lines and examples of values."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._lines: dict[str, list[int]] = {}
        self._examples: list[str] = []

    def add(self, kind: str, line: int, example: str = "") -> None:
        """Note a problem in a line, counted from 1; the example is a value of the data."""
        self._lines.setdefault(kind, []).append(line)
        if example:
            self._examples.append(example)

    def raise_any(self, remedies: Mapping[str, str]) -> None:
        """Raise one DataError that lists every kind, with the remedies of those that occur."""
        if not self._lines:
            return
        said = [
            f"{kind}: {len(lines):,} ({_of_lines(lines)})" for kind, lines in self._lines.items()
        ]
        told = dict.fromkeys(remedies[kind] for kind in self._lines if kind in remedies)
        raise DataError(
            f"{self._where}: " + "; ".join(said), remedy=" ".join(told), examples=self._examples
        )


def _of_lines(lines: list[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:_SHOWN_LINES])
    more = ", …" if len(lines) > _SHOWN_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"


def lines_of(path: str | Path, what: str) -> list[str]:
    """Return a text file's lines; a byte order mark is no part of the first."""
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: {what} cannot be read ({type(error).__name__})",
            remedy="Give a text file in UTF-8.",
        ) from None


def cells_of(text: str, delimiter: str = ",") -> list[str] | None:
    """Return the cells of one line, quoted as in CSV; None where a quote is left open."""
    try:
        found = list(csv.reader([text], delimiter=delimiter, strict=True, skipinitialspace=True))
    except csv.Error:
        return None
    return found[0] if found else []


def texts_of(names: pa.Array | Iterable[object]) -> pa.Array:
    """Return items' names as texts."""
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    if isinstance(names, pa.Array):
        return names.cast(pa.string())
    return pa.array([str(name) for name in names], pa.string())


def items_called(found: list[str], names: pa.Array) -> NDArray[np.int32]:
    """Return each text's item; −1 where none is called so."""
    return places_in(pa.array(found, pa.string()), names)
