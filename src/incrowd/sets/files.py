"""Read sets from files and write them back the same way.

| ending | format |
| --- | --- |
| ``.dat`` (``.gz``, ``.zst``) | baskets: the items of a row on every line |
| ``.txt``, ``.csv``, ``.tsv`` (``.gz``, ``.zst``) | edge list: a row and an item on every line |
| ``.parquet``, ``.pq`` | two columns, or a column of lists |
| ``.npz`` | a CSR matrix of SciPy |
| ``.mtx`` (``.gz``, ``.zst``) | Matrix Market, coordinates |

Names that a format cannot show stand beside it: ``<file>.rows`` lists all rows (an edge list
shows none that is empty), ``<file>.items`` names a matrix's columns; both are read where they
stand. A folder of part files of one of the first three kinds is read as one file of it; the
lists stand beside the folder. Every fault is a DataError: an exception of a library never comes
through.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from incrowd.errors import DataError
from incrowd.sets.format import (
    BASKETS,
    EDGES,
    LISTS,
    MTX,
    NPZ,
    PAIRS,
    SetFile,
    SetFormat,
    SetOptions,
    SetSource,
    format_of_path,
    kind_by_suffix,
)
from incrowd.sets.matrix import Names, read_mtx, read_npz
from incrowd.sets.parquet import read_parquet
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, Sets, Shelf
from incrowd.sets.text import read_baskets, read_edges, read_listed
from incrowd.sets.write import write_files
from incrowd.tables.read import check_file, part_files, reason_of

__all__ = [
    "SetFile",
    "SetFormat",
    "SetOptions",
    "format_of_path",
    "read_set_file",
    "read_sets",
    "write_sets",
]


def read_sets(
    path: str | os.PathLike[str], options: SetOptions | None = None, shelf: Shelf = IN_MEMORY
) -> Sets:
    """Read the sets of a file; its name's ending tells the format, unless it is stated."""
    return read_set_file(path, options, shelf).sets


def read_set_file(
    path: str | os.PathLike[str], options: SetOptions | None = None, shelf: Shelf = IN_MEMORY
) -> SetFile:
    """Read a file of sets, or a folder of part files: the sets, how they are stored, and what
    reading did to them.

    Rows and items are sorted by name, numbers by value and texts by text; names that are 0, 1, 2
    and so on are left out. Entries that occur again are one; in graphs rows and items are the
    same nodes, edges to oneself are kept, and undirected edges get both directions: all noted.

    Raises DataError with the line or the entry at fault.
    """
    path = Path(path)
    options = options or SetOptions()
    source, kind, ending = _source(path, options)
    try:
        rows = read_listed(path.with_name(f"{path.name}.rows"), options)
        if kind == BASKETS:
            return read_baskets(source, options, rows, shelf)
        if kind == EDGES:
            return read_edges(source, options, rows, ending, shelf)
        if kind in (PAIRS, LISTS):
            return read_parquet(source, options, rows, shelf)
        names = Names(rows, _listed_items(path, options, rows))
        if kind == NPZ:
            return read_npz(path, options, names)
        if kind == MTX:
            return read_mtx(path, options, names)
    except OSError as error:
        raise DataError(f"{path}: it cannot be read ({reason_of(error)})") from None
    except MemoryError:
        raise DataError(
            f"{path}: does not fit into memory, or is corrupt",
            remedy="Read it on a larger machine, or write it again.",
        ) from None
    raise ValueError(f"no sets are stored as {kind!r}")


def _source(path: Path, options: SetOptions) -> tuple[SetSource, str, str]:
    """Return the files that are read, their kind and the ending of the first one's name."""

    def kind_of(part: Path) -> str:
        return options.kind or kind_by_suffix(part)[0]

    is_folder = path.is_dir()
    parts = part_files(path, kind_of) if is_folder else [path]
    kind = kind_of(parts[0])
    if is_folder and kind in (NPZ, MTX):
        raise DataError(
            f"{path}: a matrix is one file, and this is a folder", remedy="Name one file in it."
        )
    has_rows = kind == EDGES and path.with_name(f"{path.name}.rows").exists()
    is_text = kind in (BASKETS, EDGES)
    for part in parts:
        check_file(part, may_be_empty=has_rows or (is_folder and is_text))
    ending = "" if options.kind else kind_by_suffix(parts[0])[2]
    return SetSource(path, tuple(parts)), kind, ending


def write_sets(
    sets: Sets,
    path: str | os.PathLike[str],
    format: SetFormat | None = None,
    *,
    is_generalized: bool = False,
) -> list[Path]:
    """Write sets and return the files that were made: it, and the lists that stand beside it.

    Without a format the name's ending tells it. The files hold the sets and nothing else: items
    sorted within a row, no item that no row holds, no time, no name, no metadata. Lists of a file
    that stood there before are removed. ``is_generalized``: items are labels of parts, which
    baskets and edge lists with blanks show as they are, ``(a,b,f)``. Raises OSError
    as the system does; what was written by then is the caller's.
    """
    path = Path(path)
    return write_files(sets, path, format or format_of_path(path), is_generalized)


def _listed_items(path: Path, options: SetOptions, rows: pa.Array | None) -> pa.Array | None:
    if options.graph != BIPARTITE:
        return rows
    return read_listed(path.with_name(f"{path.name}.items"), options)
