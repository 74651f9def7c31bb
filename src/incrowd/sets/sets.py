"""Sets: a set of items for every row, its entries in memory or in mapped files."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from incrowd.errors import InputError, JobError

if TYPE_CHECKING:
    import pyarrow as pa


BYTES_PER_ROW, BYTES_PER_ITEM, BYTES_PER_ENTRY = 150, 60, 20
"""What a run takes at its peak: for a row, for an item, and for an entry that is in memory."""

BYTES_PER_SEARCHED_ENTRY = 60
"""What an entry of a chunk takes while the chunk is searched."""

RESERVE = 640 << 20
"""Bytes of a bound that are left for the program and its blocks of work; at most half of it."""


class EntryStorage:
    """A place for the arrays that grow with the entries, under a bound on memory.

    Arrays are in memory until ``expect`` is told of more than the bound has room for; from then on
    new ones lie in files in ``folder``. Without a folder all of them are in memory.
    """

    def __init__(self, folder: Path | None = None, n_bytes: int = 0) -> None:
        self._folder = folder
        self.n_bytes = n_bytes
        self.is_on_disk = False
        self._needed = 0

    @property
    def has_folder(self) -> bool:
        """Whether arrays may lie on disk."""
        return self._folder is not None

    def expect(self, n_rows: int, n_items: int, n_entries: int, n_text: int = 0) -> None:
        """Tell how much there will be, names of ``n_text`` bytes in all included.

        Raises JobError where not even what must be in memory has room there.
        """
        if not self.has_folder:
            return
        needed = BYTES_PER_ROW * n_rows + BYTES_PER_ITEM * n_items + n_text
        if needed > self._usable:
            least = format_bytes(needed + min(RESERVE, needed))
            raise JobError(
                f"engine: {n_rows:,} rows and {n_items:,} items need {least} of memory, all "
                f"entries on disk, and {format_bytes(self.n_bytes)} may be used",
                remedy=f"State --memory {least}, or release the rows in parts.",
            )
        needed += BYTES_PER_ENTRY * n_entries
        if needed > self._usable:
            self.is_on_disk = True
            self._needed = max(self._needed, needed)

    def require_memory(self, method: str, remedy: str) -> None:
        """Raise JobError where entries are on disk, for a method that needs them in memory."""
        if self.is_on_disk:
            least = format_bytes(self._needed + min(RESERVE, self._needed))
            raise JobError(
                f"engine: method {method!r} needs all entries in memory, about {least}, and "
                f"{format_bytes(self.n_bytes)} may be used",
                remedy=f"State --memory {least}{remedy}.",
            )

    def require_search(self, n_rows: int, n_items: int, n_entries: int, n_workers: int) -> None:
        """Raise JobError where chunks of so many entries have no room beside the rows."""
        if not self.is_on_disk:
            return
        searched = max(0, n_workers * BYTES_PER_SEARCHED_ENTRY * n_entries - RESERVE // 2)
        needed = BYTES_PER_ROW * n_rows + BYTES_PER_ITEM * n_items + searched
        if needed > self._usable:
            least = format_bytes(needed + min(RESERVE, needed))
            raise JobError(
                f"engine: {n_workers} chunks of {n_entries:,} entries searched side by side need "
                f"{least} of memory, and {format_bytes(self.n_bytes)} may be used",
                remedy=f"State --memory {least}, fewer --threads or smaller --chunk-rows.",
            )

    @property
    def _usable(self) -> int:
        return self.n_bytes - min(RESERVE, self.n_bytes // 2)

    def array(self, length: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a new array; what it holds is not said. Raises InputError if the disk is full."""
        if not self.is_on_disk or length == 0:
            return np.empty(length, dtype=dtype)
        with self.translate_disk_errors(), self.file() as file:
            # room is taken now: a full disk must not show as a fault of memory later
            os.posix_fallocate(file.fileno(), 0, length * np.dtype(dtype).itemsize)
            return map_file(file, dtype)

    def file(self) -> BinaryIO:
        """Return a new file without a name, open for writing and reading."""
        assert self._folder is not None  # nothing asks for files in memory
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self._folder, buffering=0))

    @contextmanager
    def translate_disk_errors(self) -> Iterator[None]:
        """Say what it means where the system has no room for a file."""
        try:
            yield
        except OSError as error:
            assert self._folder is not None
            raise InputError(
                f"{self._folder.parent}: there is no room for the entries of a run "
                f"({os.strerror(error.errno or 0)})",
                remedy="Nothing was published. Make room, choose another folder with -o, or state "
                "more --memory.",
            ) from None


IN_MEMORY = EntryStorage()
"""The storage of whoever has no folder."""


def map_file(file: BinaryIO, dtype: DTypeLike) -> NDArray[Any]:
    """Return all of a file as an array to work in; it lives as long as the array."""
    if os.fstat(file.fileno()).st_size == 0:
        return np.empty(0, dtype=dtype)
    return np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype)


class GrowingArray:
    """A list of numbers that comes block by block, moved to disk when its storage is."""

    def __init__(
        self, dtype: DTypeLike, storage: EntryStorage = IN_MEMORY, n_expected: int = 0
    ) -> None:
        self._storage = storage
        self._dtype = np.dtype(dtype)
        self._numbers = np.empty(0 if storage.is_on_disk else n_expected, dtype=dtype)
        self._file: BinaryIO | None = None
        self.length = 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Add numbers at the end."""
        if self._file is None and self._storage.is_on_disk:
            with self._storage.translate_disk_errors():
                self._file = self._storage.file()
                weakref.finalize(self, self._file.close)  # a fault may end it unsettled
                _write_numbers(self._file, self._numbers[: self.length])
            self._numbers = np.empty(0, dtype=self._dtype)
        end = self.length + len(numbers)
        if self._file is not None:
            with self._storage.translate_disk_errors():
                _write_numbers(self._file, numbers.astype(self._dtype, copy=False))
        else:
            if end > len(self._numbers):
                self._numbers.resize(end * 5 // 4, refcheck=False)
            self._numbers[self.length : end] = numbers
        self.length = end

    def view(self) -> NDArray[Any]:
        """Return what there is by now, to work in; it is gone when more is added."""
        if self._file is not None:
            return map_file(self._file, self._dtype)
        return self._numbers[: self.length]

    def finish(self) -> NDArray[Any]:
        """Return all of it, and give it up."""
        if self._file is not None:
            numbers = map_file(self._file, self._dtype)
            self._file.close()
            self._file = None
        else:
            numbers, self._numbers = self._numbers, np.empty(0, dtype=self._dtype)
            numbers.resize(self.length, refcheck=False)
        self.length = 0
        return numbers


def memory_limit(stated: int | None) -> int:
    """Return how many bytes data may take in memory: what is stated, or half of the machine's."""
    if stated is not None:
        return stated
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")
        physical = min(physical, int(limit))
    return max(1 << 30, physical // 2)


def format_bytes(n_bytes: int) -> str:
    """Return bytes as --memory takes them, rounded up."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB")):
        if n_bytes >= unit or name == "MB":
            return f"{-(-n_bytes * 10 // unit) / 10:g}{name}"
    raise AssertionError


def _write_numbers(file: BinaryIO, numbers: NDArray[Any]) -> None:
    if not len(numbers):
        return
    content = np.ascontiguousarray(numbers).data.cast("B")
    while len(content):
        content = content[file.write(content) :]


# The second shape of data: a set of items for every row.

BIPARTITE, DIRECTED, UNDIRECTED = "bipartite", "directed", "undirected"

GRAPHS = (BIPARTITE, DIRECTED, UNDIRECTED)
"""What rows and items are to each other: people and things, or the same nodes."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Lists, baskets, a sparse binary matrix or a graph's neighbours, row by row.

    Row r holds ``items[starts[r]:starts[r + 1]]``, ascending and distinct, each below
    ``n_items``. A row may be empty. ``row_names`` and ``item_names`` are the texts or whole
    numbers that rows and items have in files; None means that they are called by their numbers.
    In a graph that is not bipartite rows and items are the same nodes. ``n_repeated`` is how many
    entries a file held again when it was read; one of each was kept.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    n_items: int
    row_names: pa.Array | None = None
    item_names: pa.Array | None = None
    graph: str = BIPARTITE
    n_repeated: int = 0

    def __post_init__(self) -> None:
        if not len(self.starts) or self.starts[0] != 0 or self.starts[-1] != len(self.items):
            raise ValueError("starts must begin at 0 and end at the number of entries")

    @property
    def n_rows(self) -> int:
        """How many rows there are, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_entries(self) -> int:
        """How many pairs of a row and an item there are."""
        return len(self.items)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each row holds."""
        return np.diff(self.starts)

    def with_entries(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> Sets:
        """Return the same rows and items with other entries."""
        return replace(self, starts=starts, items=items, n_repeated=0)

    def take(self, rows: NDArray[np.integer[Any]], storage: EntryStorage = IN_MEMORY) -> Sets:
        """Return these rows, in this order, their entries on the storage."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(self.starts[rows + 1] - self.starts[rows], out=starts[1:])
        items = storage.array(int(starts[-1]), np.int32)
        for first, end in row_blocks(starts):
            of_block = rows[first:end]
            sizes = np.diff(starts[first : end + 1])
            places = np.arange(starts[first], starts[end])
            places -= np.repeat(starts[first:end] - self.starts[of_block], sizes)
            items[starts[first] : starts[end]] = self.items[places]
        names = None if self.row_names is None else self.row_names.take(rows)
        return replace(self, starts=starts, items=items, row_names=names, n_repeated=0)


ENTRIES_AT_ONCE = 1 << 20
"""About how many entries are worked on together."""


def row_blocks(
    starts: NDArray[np.int64], n_entries: int = ENTRIES_AT_ONCE
) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of about as many entries; one row's entries stay together."""
    row, n_rows = 0, len(starts) - 1
    while row < n_rows:
        by_entries = int(np.searchsorted(starts, starts[row] + n_entries, side="right")) - 1
        end = min(max(row + 1, by_entries), row + n_entries, n_rows)
        yield row, end
        row = end


def count_items(items: NDArray[np.int32], n_items: int) -> NDArray[np.int64]:
    """Return how many entries each item has."""
    counts = np.zeros(n_items, dtype=np.int64)
    for start in range(0, len(items), ENTRIES_AT_ONCE << 2):
        counts += np.bincount(items[start : start + (ENTRIES_AT_ONCE << 2)], minlength=n_items)
    return counts
