"""Read sets from files, and write them back the same way: equal sets, equal bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.errors import DataError
from incrowd.sets.build import sort_in_rows
from incrowd.sets.format import (
    BASKETS,
    BLANKS,
    EDGES,
    LISTS,
    MTX,
    NPZ,
    ONE_HOT,
    PAIRS,
    SetFile,
    SetFormat,
    SetOptions,
    SetSource,
    format_of_path,
    kind_by_suffix,
)
from incrowd.sets.matrix import Names, read_mtx, read_npz
from incrowd.sets.names import item_names_of, normalize_names, row_names_of, sort_names
from incrowd.sets.parquet import read_parquet
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, EntryStorage, Sets, count_items, row_blocks
from incrowd.sets.text import read_baskets, read_edges, read_name_list
from incrowd.tables.files.read import check_file, part_files, reason_of
from incrowd.tables.files.write import compressed_stream, join_bytes

_BLOCK_ENTRIES = 1 << 20  # fixed, since row groups show in the bytes of a file
_BLOCK_BYTES = 1 << 28  # fewer entries at once where names are long, as those of large parts
_NPY: Any = np.lib.format  # its functions carry no types
_NEEDS_QUOTES = r"""[\s"(),;|\x{feff}]|^[#%]"""
_PLAIN_PART = r"""^\([^\s"\x{feff}]*\)$"""


def write_files(
    sets: Sets, path: Path, format: SetFormat, is_generalized: bool = False
) -> list[Path]:
    """Write sets and the lists that must stand beside them; return what was written."""
    beside: dict[str, pa.Array] = {}
    if format.kind in (EDGES, PAIRS) or (format.kind != LISTS and sets.row_names is not None):
        beside["rows"] = row_names_of(sets)
    named = _drop_unused_items(sets) if format.kind in (NPZ, MTX) else _sort_by_name(sets)
    if format.kind in (NPZ, MTX) and sets.item_names is not None and sets.graph == BIPARTITE:
        beside["items"] = named.names
    writers: dict[str, Callable[[_NamedSets, Any, SetFormat], None]] = {
        BASKETS: partial(_write_baskets, is_generalized=is_generalized),
        EDGES: partial(_write_edges, is_generalized=is_generalized),
        PAIRS: _write_pairs,
        LISTS: _write_lists,
        NPZ: _write_npz,
        MTX: _write_mtx,
    }
    with _on_disk(path) as file:
        writers[format.kind](named, file, format)
    written = [path]
    for ending in ("rows", "items"):
        listed = path.with_name(f"{path.name}.{ending}")
        if ending not in beside:
            listed.unlink(missing_ok=True)  # of a file that stood here before: it would be read
            continue
        names = beside[ending]
        with _on_disk(listed) as file:
            for block in _text_blocks(names):
                file.write(join_bytes(pc.binary_join_element_wise(block, "\n", "")))
        written.append(listed)
    return written


def write_rows(named: NamedRows, path: Path, format: SetFormat) -> None:
    """Write generalized rows that come block by block, as ``write_files`` does."""
    with _on_disk(path) as file:
        if format.kind == BASKETS:
            _write_baskets(named, file, format, is_generalized=True)
        else:
            _write_lists(named, file, format)


@contextmanager
def _on_disk(path: Path) -> Iterator[Any]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


# ── rows and names ──────────────────────────────────────────────────────────────────────────


class NamedRows:
    """Rows of items block by block; ``names`` are sorted, and rows may have names too."""

    def __init__(self, names: pa.Array, row_names: pa.Array | None = None) -> None:
        self.names, self.row_names = names, row_names

    def rows(self) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield a block's rows, where their entries start in it, and these as places of names."""
        raise NotImplementedError


class _NamedSets(NamedRows):
    """Sets in the order of their items' names, block by block."""

    def __init__(
        self, sets: Sets, names: pa.Array, place_of_item: NDArray[np.int32] | None = None
    ) -> None:
        super().__init__(names, sets.row_names)
        self.sets, self.place_of_item = sets, place_of_item

    def rows(self) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield a block's rows, where their entries start in it, and these as places of names."""
        for first, end in row_blocks(self.sets.starts, entries_at_once(self.names)):
            starts = self.sets.starts[first : end + 1]
            items = self.sets.items[starts[0] : starts[-1]]
            starts = starts - starts[0]
            if self.place_of_item is not None:
                items = self.place_of_item[items]
                sort_in_rows(starts, items)
            yield first, end, starts, items

    def entries(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the row and the item of each entry, block by block."""
        for first, end, starts, items in self.rows():
            yield np.repeat(np.arange(first, end, dtype=np.int64), np.diff(starts)), items


def entries_at_once(names: pa.Array) -> int:
    if not len(names) or types.is_integer(names.type):
        return _BLOCK_ENTRIES
    longest = pc.max(pc.binary_length(names)).as_py() or 1
    return max(1, min(_BLOCK_ENTRIES, _BLOCK_BYTES // longest))


def _sort_by_name(sets: Sets) -> _NamedSets:
    """Return the sets with their items as places in the sorted names."""
    if sets.item_names is None:
        return _NamedSets(sets, item_names_of(sets))
    names, place = sort_names(item_names_of(sets))
    return _NamedSets(sets, names, None if _is_in_place(place) else place)


def _drop_unused_items(sets: Sets) -> _NamedSets:
    """Return the sets without the named items that no row holds, in the order of their names."""
    if sets.item_names is None or sets.graph != BIPARTITE:
        return _NamedSets(sets, item_names_of(sets))
    used = np.flatnonzero(count_items(sets.items, sets.n_items))
    names, place = sort_names(item_names_of(sets).take(pa.array(used)))
    place_of_item = np.zeros(sets.n_items, dtype=np.int32)
    place_of_item[used] = place
    return _NamedSets(sets, names, None if _is_in_place(place_of_item) else place_of_item)


def _is_in_place(place: NDArray[np.int32]) -> bool:
    return np.array_equal(place, np.arange(len(place)))


def _quote_names(names: pa.Array, delimiter: str, is_generalized: bool = False) -> pa.Array:
    """Return names as texts, quoted as in CSV where they would be read as something else.

    Labels of parts, ``(a,b,f)``, stay as they are where names are such and hold no blank or quote.
    """
    if types.is_integer(names.type):
        return names.cast(pa.string())
    if len(names) and pc.any(pc.match_substring(names, "\0")).as_py():
        raise DataError(
            "names hold NUL characters, which text files cannot hold",
            remedy="Take them out, or write Parquet.",
        )
    needs = pc.match_substring_regex(names, _NEEDS_QUOTES)
    if delimiter not in (BLANKS, "\t", ""):
        needs = pc.or_(needs, pc.match_substring(names, delimiter))
    if is_generalized:
        needs = pc.and_not(needs, pc.match_substring_regex(names, _PLAIN_PART))
    if not pc.any(needs).as_py():
        return names
    doubled = pc.replace_substring(names, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), names)


def _text_blocks(names: pa.Array) -> Iterator[pa.Array]:
    for start in range(0, len(names), _BLOCK_ENTRIES):
        yield _quote_names(names.slice(start, _BLOCK_ENTRIES), "")


def _cast_names(names: pa.Array, type_name: str) -> pa.Array:
    """Return names in the type that the input had, where all of them have a place in it."""
    if not type_name:
        return names
    try:
        return names.cast(pa.type_for_alias(type_name))
    except (ValueError, pa.ArrowException):
        return names


# ── text ────────────────────────────────────────────────────────────────────────────────────


def _write_baskets(named: NamedRows, file: Any, format: SetFormat, is_generalized: bool) -> None:
    texts = _quote_names(named.names, BLANKS, is_generalized)
    with compressed_stream(file, format.compression) as stream:
        for _, _, starts, items in named.rows():
            cells = texts.take(pa.array(items))
            offsets = pa.array(starts.astype(np.int32))
            lines = pc.binary_join(pa.ListArray.from_arrays(offsets, cells), " ")
            stream.write(join_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_edges(named: _NamedSets, file: Any, format: SetFormat, is_generalized: bool) -> None:
    is_plain = is_generalized and format.delimiter == BLANKS
    item_texts = _quote_names(named.names, format.delimiter, is_plain)
    row_texts = _quote_names(row_names_of(named.sets), format.delimiter)
    with compressed_stream(file, format.compression) as stream:
        if format.has_header:
            top = pa.array([format.row_column or "row", format.item_column or "item"])
            cells = _quote_names(top, format.delimiter).to_pylist()
            stream.write((format.delimiter.join(cells) + format.newline).encode())
        for rows, items in named.entries():
            lines = pc.binary_join_element_wise(
                row_texts.take(pa.array(rows)), item_texts.take(pa.array(items)), format.delimiter
            )
            stream.write(join_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_mtx(named: _NamedSets, file: Any, format: SetFormat) -> None:
    with compressed_stream(file, format.compression) as stream:
        head = (
            "%%MatrixMarket matrix coordinate pattern general",
            (f"{named.sets.n_rows} {len(named.names)} {named.sets.n_entries}"),
        )
        stream.write((format.newline.join(head) + format.newline).encode())
        for rows, items in named.entries():
            lines = pc.binary_join_element_wise(
                pa.array(rows + 1).cast(pa.string()),
                pa.array(items.astype(np.int64) + 1).cast(pa.string()),
                " ",
            )
            stream.write(join_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


# ── Parquet ─────────────────────────────────────────────────────────────────────────────────


def pair_blocks(sets: Sets, format: SetFormat) -> Iterator[pa.Table]:
    """Yield an entry a row: the row's name and the item's, sorted by row and item."""
    return _pair_blocks(_sort_by_name(sets), format)


def list_blocks(sets: Sets, format: SetFormat) -> Iterator[pa.Table]:
    """Yield a row's name, where it has one, and the list of its items."""
    return _list_blocks(_sort_by_name(sets), format)


def _pair_blocks(named: _NamedSets, format: SetFormat) -> Iterator[pa.Table]:
    item_names = _cast_names(named.names, format.item_type)
    row_names = _cast_names(row_names_of(named.sets), format.row_type)
    columns = [format.row_column or "row", format.item_column or "item"]
    yield pa.table([row_names.slice(0, 0), item_names.slice(0, 0)], names=columns)
    for rows, items in named.entries():
        cells = row_names.take(pa.array(rows)), item_names.take(pa.array(items))
        yield pa.table(list(cells), names=columns)


def _write_pairs(named: _NamedSets, file: Any, format: SetFormat) -> None:
    _write_blocks(_pair_blocks(named, format), file)


def _write_lists(named: NamedRows, file: Any, format: SetFormat) -> None:
    _write_blocks(_list_blocks(named, format), file)


def _list_blocks(named: NamedRows, format: SetFormat) -> Iterator[pa.Table]:
    item_names = _cast_names(named.names, format.item_type)
    shows_rows = bool(format.row_column) or named.row_names is not None
    columns = [format.row_column or "row"] * shows_rows + [format.item_column or "items"]
    none = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    for first, end, starts, items in chain([(0, 0, *none)], named.rows()):
        cells = item_names.take(pa.array(items))
        lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), cells)
        rows = pa.array(np.arange(first, end, dtype=np.int64))
        if named.row_names is not None:
            rows = normalize_names(named.row_names.slice(first, end - first))
        rows = _cast_names(rows, format.row_type)
        yield pa.table([rows] * shows_rows + [lists], names=columns)


def _write_blocks(blocks: Iterator[pa.Table], file: Any) -> None:
    from pyarrow import parquet

    schema = next(blocks).schema
    with parquet.ParquetWriter(
        file, schema, version="2.6", data_page_version="1.0", compression="snappy"
    ) as writer:
        for block in blocks:
            writer.write_table(block)


# ── SciPy ───────────────────────────────────────────────────────────────────────────────────


def csr_arrays(sets: Sets, format: SetFormat) -> dict[str, NDArray[Any]]:
    """Return fresh arrays of the sets as a matrix of ones, in SciPy's words."""
    fits = sets.n_entries < 1 << 31
    value_type = np.dtype(format.value_type)
    return {
        "indices": sets.items.astype(np.int32),
        "indptr": sets.starts.astype(np.int32 if fits else np.int64),
        "format": np.array(b"csr"),
        "shape": np.array([sets.n_rows, sets.n_items], dtype=np.int64),
        "data": np.ones(sets.n_entries, dtype=value_type),
    } | ({"_is_array": np.array(True)} if format.is_array else {})


def _write_npz(named: _NamedSets, file: Any, format: SetFormat) -> None:
    """Write what ``csr_arrays`` returns, of named items, without having all of it."""
    sets = named.sets
    none = Sets(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), len(named.names))
    plain = csr_arrays(none, format)
    fits = sets.n_entries < 1 << 31
    n_rows = np.array([sets.n_rows, len(named.names)], dtype=np.int64)
    parts: dict[str, tuple[tuple[int, ...], Iterator[NDArray[Any]]]] = {
        "indices": ((sets.n_entries,), (items for *_, items in named.rows())),
        "indptr": ((sets.n_rows + 1,), iter([sets.starts.astype(np.int32 if fits else np.int64)])),
        "shape": ((2,), iter([n_rows])),
        "data": (
            (sets.n_entries,),
            (np.ones(len(items), plain["data"].dtype) for *_, items in named.rows()),
        ),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, values in plain.items():
            shape, blocks = parts.get(name, (values.shape, iter([values])))
            dtype = np.dtype(np.int64) if name == "indptr" and not fits else values.dtype
            info = zipfile.ZipInfo(f"{name}.npy")  # its time is the first that ZIP knows
            info.compress_type = zipfile.ZIP_DEFLATED
            head = {"descr": _NPY.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            n_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            with archive.open(info, "w", force_zip64=n_bytes > 1 << 30) as member:
                _NPY.write_array_header_1_0(member, head)
                for block in blocks:
                    member.write(np.ascontiguousarray(block).tobytes())


# Read sets from files and write them back the same way.

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
    path: str | os.PathLike[str],
    options: SetOptions | None = None,
    storage: EntryStorage = IN_MEMORY,
) -> Sets:
    """Read the sets of a file; its name's ending tells the format, unless it is stated."""
    return read_set_file(path, options, storage).sets


def read_set_file(
    path: str | os.PathLike[str],
    options: SetOptions | None = None,
    storage: EntryStorage = IN_MEMORY,
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
    if options.kind == ONE_HOT:
        raise DataError(
            f"{path}: one-hot columns are read from frames in Python",
            remedy="Read it into a frame, or write an entry a line: row and item.",
        )
    source, kind, ending = find_source(path, options)
    try:
        rows = read_name_list(path.with_name(f"{path.name}.rows"), options)
        if kind == BASKETS:
            return read_baskets(source, options, rows, storage)
        if kind == EDGES:
            return read_edges(source, options, rows, ending, storage)
        if kind in (PAIRS, LISTS):
            return read_parquet(source, options, rows, storage)
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


def find_source(path: Path, options: SetOptions) -> tuple[SetSource, str, str]:
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
    return read_name_list(path.with_name(f"{path.name}.items"), options)
