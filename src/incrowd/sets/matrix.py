"""Sets as sparse matrices of zeros and ones: SciPy's .npz and Matrix Market's .mtx.

A header is believed only as far as the file bears it out: nothing is allocated for what a file
merely claims to hold.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.errors import DataError
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.format import (
    BLANKS,
    MTX,
    NONZERO,
    NPZ,
    MemoryLimit,
    SetFile,
    SetFormat,
    SetOptions,
)
from incrowd.sets.text import Block, detect_newline, read_blocks, skip_comments
from incrowd.tables.files.text import TextStream, open_stream

_SAVE = "Save it with scipy.sparse.save_npz(path, matrix.tocsr())."
_VALUES = (
    "Sets have an item or do not have it: give 0 and 1, or state values = nonzero to take all "
    "that is not 0 as present."
)


_NPY: Any = np.lib.format  # its functions carry no types


class Names(NamedTuple):
    """What rows and columns of a matrix are called, where lists stand beside it."""

    rows: pa.Array | None = None
    items: pa.Array | None = None


def find_present(
    values: NDArray[Any], options: SetOptions, where: str
) -> tuple[NDArray[np.bool_] | None, list[str]]:
    """Tell which entries are there by their values; None means all of them.

    Raises DataError for NaN, and for anything but 0 and 1 unless ``values`` is stated as nonzero.
    """
    if values.dtype.kind not in "buif":
        raise DataError(f"{where}: its values are no numbers", remedy=_VALUES)
    is_odd = (values != 0) & (values != 1)
    if values.dtype.kind == "f" and np.isnan(values).any():
        n_nan = int(np.isnan(values).sum())
        raise DataError(f"{where}: {n_nan:,} values are NaN", remedy="Give 0 and 1.")
    n_odd = int(np.count_nonzero(is_odd))
    if n_odd and options.values != NONZERO:
        raise DataError(
            f"{where}: {n_odd:,} values are neither 0 nor 1 (first at entry "
            f"{int(np.argmax(is_odd)) + 1:,})",
            remedy=_VALUES,
        )
    notes = []
    if n_odd:
        notes.append(f"{where}: {n_odd:,} values other than 0 and 1 are taken as present")
    is_there = values != 0
    n_zeros = len(values) - int(np.count_nonzero(is_there))
    if n_zeros:
        notes.append(f"{where}: {n_zeros:,} entries are stored as 0, which is no entry")
    return (is_there if n_zeros else None), notes


def from_csr(
    starts: NDArray[Any],
    items: NDArray[Any],
    values: NDArray[Any],
    shape: tuple[int, int],
    names: Names,
    options: SetOptions,
    where: str,
) -> tuple[Any, list[str]]:
    """Return the sets of a CSR matrix's arrays, which are proven first."""
    n_rows, n_items = shape
    if starts.dtype.kind not in "iu" or items.dtype.kind not in "iu":
        raise DataError(f"{where}: indices or indptr are no whole numbers", remedy=_SAVE)
    if starts.ndim != 1 or items.ndim != 1 or values.ndim != 1:
        raise DataError(f"{where}: indices, indptr or data are no plain lists", remedy=_SAVE)
    if len(starts) != n_rows + 1 or len(items) != len(values):
        raise DataError(
            f"{where}: {n_rows:,} rows need {n_rows + 1:,} starts, there are {len(starts):,}; of "
            f"{len(items):,} entries {len(values):,} have values",
            remedy=_SAVE,
        )
    starts = starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise DataError(
            f"{where}: indptr does not go from 0 up to the number of entries", remedy=_SAVE
        )
    if len(items) and (items.min() < 0 or items.max() >= n_items):
        at = int(np.flatnonzero((items < 0) | (items >= n_items))[0])
        row = int(np.searchsorted(starts, at, side="right"))
        raise DataError(
            f"{where}: row {row:,} has an item that is negative or beyond the {n_items:,} columns",
            remedy=_SAVE,
        )
    is_there, notes = find_present(values, options, where)
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(starts))
    items = items.astype(np.int32)
    if is_there is not None:
        rows, items = rows[is_there], items[is_there]
    require_names(names, shape, where)
    pairs = Pairs(rows, items, n_rows, n_items)
    del rows, items
    sets, more = from_pairs(pairs, names.rows, names.items, options, where)
    return sets, [*notes, *more]


def require_names(names: Names, shape: tuple[int, int], where: str) -> None:
    """Raise where a list beside a matrix is not as long as the matrix."""
    for listed, count, ending in zip(names, shape, ("rows", "items"), strict=True):
        if listed is not None and len(listed) != count:
            raise DataError(
                f"{where}: there are {count:,} {ending}, and {where}.{ending} lists "
                f"{len(listed):,}",
                remedy="List the names of this very file, or take the list away.",
            )


# ── SciPy ───────────────────────────────────────────────────────────────────────────────────


def read_npz(path: Path, options: SetOptions, names: Names) -> SetFile:
    """Read a CSR matrix that SciPy saved; nothing in it is unpickled."""
    where = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            room = MemoryLimit(options, where)
            sort = str(_read_member(archive, "format", where, room).item())
            sort = sort[2:-1] if sort.startswith("b'") else sort
            if sort != "csr":
                raise DataError(f"{where}: it is a matrix of another kind than CSR", remedy=_SAVE)
            shape = _parse_shape(_read_member(archive, "shape", where, room), where)
            room.require(*shape, 0)
            is_array = "_is_array.npy" in archive.namelist()
            arrays = [
                _read_member(archive, name, where, room) for name in ("indptr", "indices", "data")
            ]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise _damaged_error(where) from None
    starts, items, values = arrays
    room.require_claimed(*shape, items.size)
    stored = SetFormat(NPZ, value_type=values.dtype.name, is_array=is_array)
    sets, notes = from_csr(starts, items, values, shape, names, options, where)
    return SetFile(sets, stored, notes, path.name)


def _read_member(
    archive: zipfile.ZipFile, name: str, where: str, room: MemoryLimit
) -> NDArray[Any]:
    """Return an array of the archive; its header must fit the bytes that are there."""
    try:
        info = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise DataError(f"{where}: it has no {name!r}, so it is no CSR matrix", remedy=_SAVE) from (
            None
        )
    room.require_bytes(info.file_size)
    with archive.open(info) as file:
        try:
            version = _NPY.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = _NPY.read_array_header_1_0(file)
            else:
                shape, _, dtype = _NPY.read_array_header_2_0(file)
        except (ValueError, SyntaxError, TypeError):
            raise _damaged_error(where) from None
        if dtype.hasobject:
            raise DataError(f"{where}: {name!r} holds pickled objects, not numbers", remedy=_SAVE)
        n_values = 1
        for length in shape:
            n_values *= int(length)
        content = file.read()  # at most what the archive says, which fits
    if len(content) != n_values * dtype.itemsize:
        raise _damaged_error(where)
    values: NDArray[Any] = np.frombuffer(content, dtype=dtype).reshape(shape)
    return values


def _parse_shape(values: NDArray[Any], where: str) -> tuple[int, int]:
    if values.shape != (2,) or values.dtype.kind not in "iu" or (values < 0).any():
        raise DataError(f"{where}: its shape is not two whole numbers", remedy=_SAVE)
    return int(values[0]), int(values[1])


def _damaged_error(where: str) -> DataError:
    return DataError(
        f"{where}: not a valid .npz file of SciPy (corrupt or truncated)", remedy=_SAVE
    )


# ── Matrix Market ───────────────────────────────────────────────────────────────────────────


def read_mtx(path: Path, options: SetOptions, names: Names) -> SetFile:
    """Read a Matrix Market file of coordinates; a symmetric one gets both halves."""
    where = str(path)
    room = MemoryLimit(options, where)
    rows: list[NDArray[np.int32]] = []
    items: list[NDArray[np.int32]] = []
    values: list[NDArray[np.float64]] = []
    with open_stream(path, "utf-8") as stream:
        stored = SetFormat(MTX, stream.compression, newline=detect_newline(stream))
        field, symmetry = _parse_banner(stream, where)
        first_line = 1 + skip_comments(stream)
        width = 2 if field == "pattern" else 3
        shape: tuple[int, int] | None = None
        n_stated = n_read = 0
        for block in read_blocks(stream, BLANKS, where, first_line):
            firsts = block.firsts[block.n_cells > 0]
            widths = block.n_cells[block.n_cells > 0]
            if shape is None and len(firsts):
                shape, n_stated = _parse_size(block, int(widths[0]))
                room.require(*shape, 0)
                firsts, widths = firsts[1:], widths[1:]
            _require_widths(block, firsts, widths, width)
            n_read += len(firsts)
            room.require(0, 0, n_read)
            if shape is not None and len(firsts):
                rows.append(_parse_indices(block, firsts, shape[0], "row"))
                items.append(_parse_indices(block, firsts + 1, shape[1], "column"))
                if width == 3:
                    values.append(_parse_values(block, firsts + 2))
    if shape is None:
        raise DataError(f"{where}: there is no line with its size", remedy=_MTX)
    if n_read != n_stated:
        raise DataError(
            f"{where}: it says {n_stated:,} entries, and {n_read:,} are there",
            remedy="Is it cut off? Write it again, or fetch it again.",
        )
    room.require_claimed(*shape, n_read)
    notes: list[str] = []
    row_of, item_of = _concatenate(rows), _concatenate(items)
    if values:
        is_there, notes = find_present(np.concatenate(values), options, where)
        if is_there is not None:
            row_of, item_of = row_of[is_there], item_of[is_there]
    if symmetry == "symmetric":
        row_of, item_of, more = _mirror(row_of, item_of, shape, where)
        notes += more
    require_names(names, shape, where)
    pairs = Pairs(row_of, item_of, *shape)
    sets, more = from_pairs(pairs, names.rows, names.items, options, where)
    return SetFile(sets, stored, [*notes, *more], path.name)


_MTX = "Write it with scipy.io.mmwrite(path, matrix.tocoo())."


def _parse_banner(stream: TextStream, where: str) -> tuple[str, str]:
    """Return the field and the symmetry that the first line states."""
    sample, _ = stream.peek(1 << 10)
    words = sample.split(b"\n")[0].decode(errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(f"{where}: it does not begin with %%MatrixMarket matrix", remedy=_MTX)
    _, _, layout, field, symmetry = words
    if layout != "coordinate" or field not in ("pattern", "integer", "real"):
        raise DataError(
            f"{where}: only coordinates with pattern, integer or real values are read", remedy=_MTX
        )
    if symmetry not in ("general", "symmetric"):
        raise DataError(f"{where}: only general and symmetric matrices are read", remedy=_MTX)
    return field, symmetry


def _parse_size(block: Block, n_cells: int) -> tuple[tuple[int, int], int]:
    if n_cells != 3:
        raise DataError(
            f"{block.where}: line {block.line_of(0):,} does not state rows, columns and entries",
            remedy=_MTX,
        )
    n_rows, n_items, n_entries = _parse_integers(block, np.arange(3)).tolist()
    if min(n_rows, n_items, n_entries) < 0:
        raise DataError(f"{block.where}: line {block.line_of(0):,} is negative", remedy=_MTX)
    return (n_rows, n_items), n_entries


def _require_widths(
    block: Block, firsts: NDArray[np.int64], widths: NDArray[np.int64], width: int
) -> None:
    odd = np.flatnonzero(widths != width)
    if len(odd):
        raise DataError(
            f"{block.where}: line {block.line_of(int(firsts[odd[0]])):,} has "
            f"{int(widths[odd[0]]):,} numbers, and {width} are expected",
            remedy=_MTX,
        )


def _parse_indices(
    block: Block, cells: NDArray[np.int64], most: int, what: str
) -> NDArray[np.int32]:
    """Return places from 0 for numbers from 1 to ``most``."""
    numbers = _parse_integers(block, cells)
    is_beyond = (numbers < 1) | (numbers > most)
    if is_beyond.any():
        at = int(cells[np.flatnonzero(is_beyond)[0]])
        raise DataError(
            f"{block.where}: line {block.line_of(at):,} has a {what} that is not from 1 to "
            f"{most:,}, as its size says",
            remedy="Rows and columns count from 1. Is the line with the size right?",
        )
    return (numbers - 1).astype(np.int32)


def _parse_integers(block: Block, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return cells as numbers; raises with the line of the first that is none or too large."""
    texts = block.texts(cells)
    is_whole = pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$")
    if not pc.all(is_whole).as_py():
        at = int(np.flatnonzero(~is_whole.to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{block.where}: line {block.line_of(int(cells[at])):,} has something other than a "
            "whole number where a row or a column is numbered",
            remedy="Number rows and columns from 1, or give an edge list, which may have names.",
            examples=[texts[at].as_py()],
        )
    numbers: NDArray[np.int64] = pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _parse_values(block: Block, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    texts = block.texts(cells)
    try:
        values: NDArray[np.float64] = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise DataError(
            f"{block.where}: lines from {block.first_line:,} on have a value that is no number",
            remedy=_MTX,
        ) from None
    return values


def _concatenate(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def _mirror(
    rows: NDArray[np.int32], items: NDArray[np.int32], shape: tuple[int, int], where: str
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[str]]:
    if shape[0] != shape[1]:
        raise DataError(f"{where}: it is symmetric and not square", remedy=_MTX)
    if (items > rows).any() and (items < rows).any():
        raise DataError(
            f"{where}: it is symmetric, and entries stand in both of its halves", remedy=_MTX
        )
    is_off = rows != items
    note = f"{where}: it is stored as symmetric; both halves are made"
    other_rows = np.concatenate([rows, items[is_off]])
    return other_rows, np.concatenate([items, rows[is_off]]), [note]
