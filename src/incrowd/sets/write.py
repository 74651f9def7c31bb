"""Sets written to files that hold the released sets and nothing else; equal sets, equal bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from incrowd.sets.format import BASKETS, BLANKS, EDGES, LISTS, MTX, NPZ, PAIRS, SetFormat
from incrowd.sets.names import in_order, item_names_of, row_names_of
from incrowd.sets.sets import BIPARTITE, Sets, item_counts, row_blocks
from incrowd.tables.write import compressed_stream, join_bytes

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
    named = _only_released_items(sets) if format.kind in (NPZ, MTX) else _by_name(sets)
    if format.kind in (NPZ, MTX) and sets.item_names is not None and sets.graph == BIPARTITE:
        beside["items"] = named.names
    writers: dict[str, Callable[[_Named, Any, SetFormat], None]] = {
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


@contextmanager
def _on_disk(path: Path) -> Iterator[Any]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


# ── rows and names ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Named:
    """Sets in the order of their items' names, block by block."""

    sets: Sets
    names: pa.Array
    place_of_item: NDArray[np.int32] | None = None

    def rows(self) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield a block's rows, where their entries start in it, and these as places of names."""
        for first, end in row_blocks(self.sets.starts, _entries_at_once(self.names)):
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


def _entries_at_once(names: pa.Array) -> int:
    if not len(names) or types.is_integer(names.type):
        return _BLOCK_ENTRIES
    longest = pc.max(pc.binary_length(names)).as_py() or 1
    return max(1, min(_BLOCK_ENTRIES, _BLOCK_BYTES // longest))


def _by_name(sets: Sets) -> _Named:
    """Return the sets with their items as places in the sorted names."""
    if sets.item_names is None:
        return _Named(sets, item_names_of(sets))
    names, place = in_order(item_names_of(sets))
    return _Named(sets, names, None if _is_in_place(place) else place)


def _only_released_items(sets: Sets) -> _Named:
    """Return the sets without the named items that no row holds, in the order of their names."""
    if sets.item_names is None or sets.graph != BIPARTITE:
        return _Named(sets, item_names_of(sets))
    used = np.flatnonzero(item_counts(sets.items, sets.n_items))
    names, place = in_order(item_names_of(sets).take(pa.array(used)))
    place_of_item = np.zeros(sets.n_items, dtype=np.int32)
    place_of_item[used] = place
    return _Named(sets, names, None if _is_in_place(place_of_item) else place_of_item)


def _is_in_place(place: NDArray[np.int32]) -> bool:
    return np.array_equal(place, np.arange(len(place)))


def _quoted(names: pa.Array, delimiter: str, is_generalized: bool = False) -> pa.Array:
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
        yield _quoted(names.slice(start, _BLOCK_ENTRIES), "")


def _typed(names: pa.Array, type_name: str) -> pa.Array:
    """Return names in the type that the input had, where all of them have a place in it."""
    if not type_name:
        return names
    try:
        return names.cast(pa.type_for_alias(type_name))
    except (ValueError, pa.ArrowException):
        return names


# ── text ────────────────────────────────────────────────────────────────────────────────────


def _write_baskets(named: _Named, file: Any, format: SetFormat, is_generalized: bool) -> None:
    texts = _quoted(named.names, BLANKS, is_generalized)
    with compressed_stream(file, format.compression) as stream:
        for _, _, starts, items in named.rows():
            cells = texts.take(pa.array(items))
            offsets = pa.array(starts.astype(np.int32))
            lines = pc.binary_join(pa.ListArray.from_arrays(offsets, cells), " ")
            stream.write(join_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_edges(named: _Named, file: Any, format: SetFormat, is_generalized: bool) -> None:
    is_plain = is_generalized and format.delimiter == BLANKS
    item_texts = _quoted(named.names, format.delimiter, is_plain)
    row_texts = _quoted(row_names_of(named.sets), format.delimiter)
    with compressed_stream(file, format.compression) as stream:
        if format.has_header:
            top = pa.array([format.row_column or "row", format.item_column or "item"])
            cells = _quoted(top, format.delimiter).to_pylist()
            stream.write((format.delimiter.join(cells) + format.newline).encode())
        for rows, items in named.entries():
            lines = pc.binary_join_element_wise(
                row_texts.take(pa.array(rows)), item_texts.take(pa.array(items)), format.delimiter
            )
            stream.write(join_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_mtx(named: _Named, file: Any, format: SetFormat) -> None:
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
    return _pair_blocks(_by_name(sets), format)


def _pair_blocks(named: _Named, format: SetFormat) -> Iterator[pa.Table]:
    item_names = _typed(named.names, format.item_type)
    row_names = _typed(row_names_of(named.sets), format.row_type)
    columns = [format.row_column or "row", format.item_column or "item"]
    yield pa.table([row_names.slice(0, 0), item_names.slice(0, 0)], names=columns)
    for rows, items in named.entries():
        cells = row_names.take(pa.array(rows)), item_names.take(pa.array(items))
        yield pa.table(list(cells), names=columns)


def _write_pairs(named: _Named, file: Any, format: SetFormat) -> None:
    _write_blocks(_pair_blocks(named, format), file)


def _write_lists(named: _Named, file: Any, format: SetFormat) -> None:
    _write_blocks(_list_blocks(named, format), file)


def _list_blocks(named: _Named, format: SetFormat) -> Iterator[pa.Table]:
    item_names = _typed(named.names, format.item_type)
    row_names = _typed(row_names_of(named.sets), format.row_type)
    shows_rows = bool(format.row_column) or named.sets.row_names is not None
    columns = [format.row_column or "row"] * shows_rows + [format.item_column or "items"]
    none = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    for first, end, starts, items in chain([(0, 0, *none)], named.rows()):
        cells = item_names.take(pa.array(items))
        lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), cells)
        rows = row_names.slice(first, end - first)
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


def _write_npz(named: _Named, file: Any, format: SetFormat) -> None:
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
