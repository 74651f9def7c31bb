"""How sets are stored, what may be stated of a file of sets, and what reading one gives."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incrowd.errors import DataError, unknown
from incrowd.sets.sets import (
    BIPARTITE,
    DIRECTED,
    GRAPHS,
    IN_MEMORY,
    UNDIRECTED,
    EntryStorage,
    Sets,
    memory_limit,
)
from incrowd.tables.table import COMPRESSIONS

BASKETS, EDGES, PAIRS, LISTS, NPZ, MTX = "baskets", "edges", "pairs", "lists", "npz", "mtx"

FILE_KINDS = (BASKETS, EDGES, PAIRS, LISTS, NPZ, MTX)
"""Baskets, edge lists, Parquet with two columns or a list column, SciPy, Matrix Market."""

FRAME_KINDS = ("scipy", "pandas", "polars", "pyarrow")

ONE_HOT = "one-hot"
"""Frames with a column of yes and no per item."""

BLANKS = " "
"""The delimiter that stands for any run of blanks and tabs."""

BINARY, NONZERO = "binary", "nonzero"

MOST = (1 << 31) - 1
"""The most rows and the most items: their numbers are 32-bit."""

_ANY_MATRIX = 20_000_000  # rows and columns that any matrix may claim

_SUFFIXES = {
    ".dat": BASKETS,
    ".txt": EDGES,
    ".csv": EDGES,
    ".tsv": EDGES,
    ".parquet": PAIRS,
    ".pq": PAIRS,
    ".npz": NPZ,
    ".mtx": MTX,
}


@dataclass(frozen=True)
class SetOptions:
    """What is stated of a file of sets; what is not stated is found, or asked for.

    ``values`` says what the numbers of a matrix mean: ``binary`` takes 0 and 1 alone, ``nonzero``
    takes whatever is not 0 as present. ``memory`` bounds, in bytes, what a file may take once it
    is read (half of the machine's, if not stated).
    """

    graph: str = BIPARTITE
    kind: str | None = None
    row_column: str | None = None
    item_column: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    values: str = BINARY
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.graph not in GRAPHS:
            raise unknown("kind of graph", self.graph, GRAPHS)
        if self.kind is not None and self.kind not in (*FILE_KINDS, ONE_HOT):
            raise unknown("format of sets", self.kind, (*FILE_KINDS, ONE_HOT))
        if self.values not in (BINARY, NONZERO):
            raise unknown("meaning of values", self.values, (BINARY, NONZERO))


@dataclass(frozen=True)
class SetFormat:
    """How sets are stored, so that a release can come back the same way.

    ``delimiter`` is of edge lists; a blank stands for any run of blanks. ``value_type`` is the
    type of a matrix's ones, and ``is_array`` says that it is one of SciPy's arrays. ``row_type``
    and ``item_type`` are the types of names in Parquet and frames. ``layout`` is how a frame holds
    sets (pairs, lists, one-hot), and ``item_columns`` what the columns of a one-hot frame are
    called.
    """

    kind: str = BASKETS
    compression: str = ""
    delimiter: str = BLANKS
    newline: str = "\n"
    has_header: bool = False
    row_column: str = ""
    item_column: str = ""
    value_type: str = "int8"
    is_array: bool = False
    row_type: str = ""
    item_type: str = ""
    layout: str = PAIRS
    item_columns: tuple[Any, ...] = ()

    def options(self, graph: str = BIPARTITE) -> SetOptions:
        """Return what a reader may be told of a file that was written like this."""
        if self.kind == EDGES:
            return SetOptions(
                graph, EDGES, delimiter=self.delimiter, encoding="utf-8", header=self.has_header
            )
        if self.kind in (PAIRS, LISTS):
            names = self.row_column or None, self.item_column or None
            return SetOptions(graph, self.kind, *names)
        return SetOptions(graph, self.kind)


@dataclass(frozen=True, eq=False)
class SetFile:
    """Sets as they were read, how they were stored, and notes on what reading did to them."""

    sets: Sets
    format: SetFormat
    notes: list[str] = field(default_factory=list)
    name: str = "the sets"


@dataclass(frozen=True)
class SetSource:
    """A file of sets, or a folder of part files, which are read as one in the order of names."""

    path: Path
    parts: tuple[Path, ...]

    @property
    def where(self) -> str:
        """How it is called in messages."""
        return str(self.path)


def kind_by_suffix(path: Path) -> tuple[str, str, str]:
    """Return the kind, the compression and the last ending but that of a packed file.

    Case does not matter. Raises DataError for a name that ends in nothing known.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1], "") if suffixes else ""
    if compression:
        suffixes.pop()
    ending = suffixes[-1] if suffixes else ""
    kind = _SUFFIXES.get(ending, "")
    if not kind:
        says = f"ends in {ending!r}" if ending else "has no ending"
        raise DataError(
            f"{path}: the name {says}, which tells no format of sets",
            remedy=f"Known are {', '.join(_SUFFIXES)}; .dat, .txt, .csv, .tsv and .mtx may be "
            "followed by .gz or .zst.",
        )
    if compression and kind in (PAIRS, NPZ):
        raise DataError(
            f"{path}: {ending} files are not compressed as a whole",
            remedy=f"Leave {path.suffix} off; of an input, unpack it first.",
        )
    return kind, compression, ending


def format_of_path(path: str | os.PathLike[str], like: SetFormat | None = None) -> SetFormat:
    """Return the format that an output's name asks for, in the manner of ``like``."""
    kind, compression, ending = kind_by_suffix(Path(path))
    if kind == PAIRS and like is not None and like.kind == LISTS:
        kind = LISTS
    known = like if like is not None else SetFormat(kind)
    if kind != EDGES:
        return replace(known, kind=kind, compression=compression)
    by_ending = {".csv": ",", ".tsv": "\t"}.get(ending, BLANKS)
    if like is None or like.kind != EDGES:
        return replace(
            known, kind=EDGES, compression=compression, delimiter=by_ending, has_header=False
        )
    return replace(known, compression=compression)


class MemoryLimit:
    """What a file may take in memory, asked before anything of that size is made."""

    def __init__(self, options: SetOptions, where: str, storage: EntryStorage = IN_MEMORY) -> None:
        self.where = where
        self._storage = storage
        self.n_bytes = memory_limit(options.memory)
        self.is_stated = options.memory is not None

    def require(self, n_rows: int, n_items: int, n_entries: int, n_text: int = 0) -> None:
        """Raise where that many would not fit, or have no 32-bit numbers.

        In a storage with files entries move there instead. ``n_text`` is the bytes of names.
        """
        for count, what in ((n_rows, "rows"), (n_items, "items")):
            if count > MOST:
                raise DataError(
                    f"{self.where}: there are {count:,} {what}, and there may be {MOST:,}",
                    remedy="Is the file damaged? If not, release it in parts.",
                )
        if self._storage.has_folder:
            self._storage.expect(n_rows, n_items, n_entries, n_text)
        else:
            self.require_bytes(16 * (n_rows + n_entries) + 8 * n_items + n_text)

    def require_claimed(self, n_rows: int, n_items: int, n_entries: int) -> None:
        """Raise for a matrix that claims far more rows or columns than it has entries.

        A few bytes can claim what takes all memory; whoever states the memory may have it.
        """
        self.require(n_rows, n_items, n_entries)
        most = max(_ANY_MATRIX, 1000 * n_entries)
        if max(n_rows, n_items) > most and not self.is_stated:
            raise DataError(
                f"{self.where}: it claims {n_rows:,} rows and {n_items:,} columns for "
                f"{n_entries:,} entries",
                remedy="Is the file damaged? If not, state the memory that reading may take.",
            )

    def require_bytes(self, needed: int) -> None:
        """Raise where that many bytes would not fit."""
        if needed > self.n_bytes:
            raise DataError(
                f"{self.where}: read, it would take about {needed / 1e9:,.1f} GB, and "
                f"{self.n_bytes / 1e9:,.1f} GB may be used",
                remedy="Is the file damaged? If not, state more --memory, read it on a larger "
                "machine or in parts.",
            )


def released_graph(graph: str) -> str:
    """Return how a release's lists are to be read: of each node its own, in one direction."""
    return DIRECTED if graph == UNDIRECTED else graph


def storage_in(folder: Path, memory: int | None) -> EntryStorage:
    """Return where entries lie: in memory as far as its bound goes, else in a folder."""
    return EntryStorage(folder, memory_limit(memory))
