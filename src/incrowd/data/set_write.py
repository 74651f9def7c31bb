"""Sets written to files that hold the released sets and nothing else; equal sets, equal bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from incrowd.data.set_format import BASKETS, BLANKS, EDGES, LISTS, MTX, NPZ, PAIRS, SetFormat
from incrowd.data.set_names import in_order, item_names_of, row_names_of
from incrowd.data.sets import BIPARTITE, Sets
from incrowd.data.write import joined_bytes, packed
from incrowd.errors import DataError

_BLOCK_ENTRIES = 1 << 20  # fixed, since row groups show in the bytes of a file
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
    if format.kind in (NPZ, MTX):
        sets = _only_released_items(sets)
        if sets.item_names is not None and sets.graph == BIPARTITE:
            beside["items"] = item_names_of(sets)
    writers: dict[str, Callable[[Sets, Any, SetFormat], None]] = {
        BASKETS: partial(_write_baskets, is_generalized=is_generalized),
        EDGES: partial(_write_edges, is_generalized=is_generalized),
        PAIRS: _write_pairs,
        LISTS: _write_lists,
        NPZ: _write_npz,
        MTX: _write_mtx,
    }
    with _on_disk(path) as file:
        writers[format.kind](sets, file, format)
    written = [path]
    for ending in ("rows", "items"):
        listed = path.with_name(f"{path.name}.{ending}")
        if ending not in beside:
            listed.unlink(missing_ok=True)  # of a file that stood here before: it would be read
            continue
        names = beside[ending]
        with _on_disk(listed) as file:
            for block in _text_blocks(names):
                file.write(joined_bytes(pc.binary_join_element_wise(block, "\n", "")))
        written.append(listed)
    return written


@contextmanager
def _on_disk(path: Path) -> Iterator[Any]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


# ── rows and names ──────────────────────────────────────────────────────────────────────────


def _only_released_items(sets: Sets) -> Sets:
    """Return the sets without the named items that no row holds, in the order of their names."""
    if sets.item_names is None or sets.graph != BIPARTITE:
        return sets
    is_used = np.zeros(sets.n_items, dtype=np.bool_)
    is_used[sets.items] = True
    used = np.flatnonzero(is_used)
    names, place = in_order(item_names_of(sets).take(pa.array(used)))
    place_of_item = np.zeros(sets.n_items, dtype=np.int32)
    place_of_item[used] = place
    items = _sorted_in_rows(sets.starts, place_of_item[sets.items])
    return replace(sets, items=items, n_items=len(names), item_names=names)


def _by_name(sets: Sets) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the entries as places in the sorted names, ascending within rows, and the names."""
    if sets.item_names is None:
        return sets.items, item_names_of(sets)
    names, place = in_order(item_names_of(sets))
    return _sorted_in_rows(sets.starts, place[sets.items]), names


def _sorted_in_rows(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.int32]:
    falls = np.flatnonzero(np.diff(items) < 0) + 1
    if np.isin(falls, starts).all():
        return items
    keys = np.repeat(np.arange(len(starts) - 1, dtype=np.int64) << 32, np.diff(starts))
    keys |= items
    keys.sort()
    keys &= (1 << 32) - 1
    return keys.astype(np.int32)


def _row_blocks(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of about as many entries; one row's entries stay together."""
    row, n_rows = 0, len(starts) - 1
    while row < n_rows:
        by_entries = int(np.searchsorted(starts, starts[row] + _BLOCK_ENTRIES, side="right")) - 1
        end = min(max(row + 1, by_entries), row + _BLOCK_ENTRIES, n_rows)
        yield row, end
        row = end


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


def _write_baskets(sets: Sets, file: Any, format: SetFormat, is_generalized: bool) -> None:
    items, names = _by_name(sets)
    texts = _quoted(names, BLANKS, is_generalized)
    with packed(file, format.compression) as stream:
        for first, end in _row_blocks(sets.starts):
            starts = sets.starts[first : end + 1]
            cells = texts.take(pa.array(items[starts[0] : starts[-1]]))
            offsets = pa.array((starts - starts[0]).astype(np.int32))
            lines = pc.binary_join(pa.ListArray.from_arrays(offsets, cells), " ")
            stream.write(joined_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_edges(sets: Sets, file: Any, format: SetFormat, is_generalized: bool) -> None:
    items, names = _by_name(sets)
    item_texts = _quoted(names, format.delimiter, is_generalized and format.delimiter == BLANKS)
    row_texts = _quoted(row_names_of(sets), format.delimiter)
    with packed(file, format.compression) as stream:
        if format.has_header:
            top = pa.array([format.row_column or "row", format.item_column or "item"])
            cells = _quoted(top, format.delimiter).to_pylist()
            stream.write((format.delimiter.join(cells) + format.newline).encode())
        for rows, entries in _entry_blocks(sets):
            lines = pc.binary_join_element_wise(
                row_texts.take(pa.array(rows)),
                item_texts.take(pa.array(items[entries])),
                format.delimiter,
            )
            stream.write(joined_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _write_mtx(sets: Sets, file: Any, format: SetFormat) -> None:
    with packed(file, format.compression) as stream:
        head = (
            "%%MatrixMarket matrix coordinate pattern general",
            (f"{sets.n_rows} {sets.n_items} {sets.n_entries}"),
        )
        stream.write((format.newline.join(head) + format.newline).encode())
        for rows, entries in _entry_blocks(sets):
            lines = pc.binary_join_element_wise(
                pa.array(rows + 1).cast(pa.string()),
                pa.array(sets.items[entries].astype(np.int64) + 1).cast(pa.string()),
                " ",
            )
            stream.write(joined_bytes(pc.binary_join_element_wise(lines, format.newline, "")))


def _entry_blocks(sets: Sets) -> Iterator[tuple[NDArray[np.int64], slice]]:
    """Yield the row of each entry, block by block, with the entries' places."""
    for first, end in _row_blocks(sets.starts):
        sizes = sets.sizes[first:end]
        yield (
            np.repeat(np.arange(first, end, dtype=np.int64), sizes),
            slice(int(sets.starts[first]), int(sets.starts[end])),
        )


# ── Parquet ─────────────────────────────────────────────────────────────────────────────────


def pair_blocks(sets: Sets, format: SetFormat) -> Iterator[pa.Table]:
    """Yield an entry a row: the row's name and the item's, sorted by row and item."""
    items, names = _by_name(sets)
    item_names = _typed(names, format.item_type)
    row_names = _typed(row_names_of(sets), format.row_type)
    columns = [format.row_column or "row", format.item_column or "item"]
    yield pa.table([row_names.slice(0, 0), item_names.slice(0, 0)], names=columns)
    for rows, entries in _entry_blocks(sets):
        cells = row_names.take(pa.array(rows)), item_names.take(pa.array(items[entries]))
        yield pa.table(list(cells), names=columns)


def _write_pairs(sets: Sets, file: Any, format: SetFormat) -> None:
    _write_blocks(pair_blocks(sets, format), file)


def _write_lists(sets: Sets, file: Any, format: SetFormat) -> None:
    _write_blocks(_list_blocks(sets, format), file)


def _list_blocks(sets: Sets, format: SetFormat) -> Iterator[pa.Table]:
    items, names = _by_name(sets)
    item_names = _typed(names, format.item_type)
    row_names = _typed(row_names_of(sets), format.row_type)
    shows_rows = bool(format.row_column) or sets.row_names is not None
    columns = [format.row_column or "row"] * shows_rows + [format.item_column or "items"]
    for first, end in [(0, 0), *_row_blocks(sets.starts)]:
        starts = sets.starts[first : end + 1]
        cells = item_names.take(pa.array(items[starts[0] : starts[-1]]))
        offsets = pa.array((starts - starts[0]).astype(np.int32))
        lists = pa.ListArray.from_arrays(offsets, cells)
        rows = row_names.take(pa.array(np.arange(first, end)))
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


def _write_npz(sets: Sets, file: Any, format: SetFormat) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, values in csr_arrays(sets, format).items():
            info = zipfile.ZipInfo(f"{name}.npy")  # its time is the first that ZIP knows
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=values.nbytes > 1 << 30) as member:
                _NPY.write_array(member, values, allow_pickle=False)
