"""Many rows: chunks of near ones searched side by side, then other chunks of whole groups.

Rows are sorted by eight minhashes (locality-sensitive hashing) and cut into chunks. Two near rows
that a cut or an unlucky hash kept apart meet in a later round, whose chunks are made of whole
groups in the order of other hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import EngineError
from incrowd.methods.shared.parts import PartProgress, SilentParts
from incrowd.methods.shared.set_groups.part import Part
from incrowd.methods.shared.set_groups.vote import (
    SUPPRESSION,
    SetConditions,
    number_by_first_row,
    rule_of,
)
from incrowd.progress import Progress
from incrowd.sets.packed import packed, unpack
from incrowd.sets.sets import Sets, count_items

N_HASHES = 8
"""How many minhashes a row is sorted by."""

_SCHEMA = pa.schema([("row", pa.int64()), ("group", pa.int32())])


def chunks_of_rows(
    sets: Sets, conditions: SetConditions, chunk_rows: int, seed: int
) -> NDArray[np.int32]:
    """Return every row's chunk, of about ``chunk_rows`` near rows and no fewer than any row needs.

    O(rows · log rows + 8 · entries); empty rows are near each other.
    """
    from incrowd.methods.shared.set_groups.minhash_kernel import least_keys

    hashes = np.empty((N_HASHES, sets.n_rows), dtype=np.uint32)
    for place, keys in enumerate(_keys_of_items(sets, conditions, seed)):
        least_keys(sets.starts, sets.items, keys, hashes[place])
    order = np.lexsort(hashes[::-1])
    del hashes
    largest_need = int(conditions.needs(sets.n_rows).max(initial=1))
    n_chunks = max(1, min(round(sets.n_rows / chunk_rows), sets.n_rows // largest_need))
    chunk_of_row = np.empty(sets.n_rows, dtype=np.int32)
    ends = -(-np.arange(1, n_chunks + 1, dtype=np.int64) * sets.n_rows // n_chunks)
    sizes = np.diff(ends, prepend=0)
    chunk_of_row[order] = np.repeat(np.arange(n_chunks, dtype=np.int32), sizes)
    return chunk_of_row


def loose_rows(
    sets: Sets,
    group_of_row: NDArray[np.int32],
    conditions: SetConditions,
    price: float,
    most: float,
) -> NDArray[np.bool_]:
    """Return which rows are in groups that keep so little that they are better made anew.

    Groups are sorted by the share of their entries that they are worth at this price; the worst
    are loose, up to this share of all entries.
    """
    from incrowd.methods.shared.set_groups import vote_kernel

    n_groups = int(group_of_row.max()) + 1
    group_starts, rows = vote_kernel.rows_by_group(group_of_row, n_groups)
    needs = conditions.needs(sets.n_rows)
    rule = rule_of(conditions, price)
    kept, created, _ = vote_kernel.tally_rows(
        sets.starts, sets.items, sets.n_items, group_starts, rows, needs, rule
    )
    n_entries = np.bincount(group_of_row, weights=sets.sizes, minlength=n_groups)
    share = (kept - price * created) / np.maximum(n_entries, 1)
    share[n_entries == 0] = 1.0
    order = np.argsort(share, kind="stable")
    is_loose = np.zeros(n_groups, dtype=np.bool_)
    before = np.cumsum(n_entries[order]) - n_entries[order]
    is_loose[order] = before < most * sets.n_entries
    is_loose &= share < 1.0
    loose: NDArray[np.bool_] = is_loose[group_of_row]
    return loose


def chunks_of_groups(
    sets: Sets,
    group_of_row: NDArray[np.int32],
    is_loose: NDArray[np.bool_],
    conditions: SetConditions,
    chunk_rows: int,
    seed: int,
) -> NDArray[np.int32]:
    """Return every row's chunk, all rows of a group in one, near groups together.

    A group is hashed by the items that at least half of its rows hold, or by its first row's.
    Loose rows go by themselves. No chunk has fewer rows than any row needs.
    """
    from incrowd.methods.shared.set_groups import vote_kernel

    # what is sorted: whole groups, then loose rows as groups of one
    loose = np.flatnonzero(is_loose)
    thing_of_row = np.empty(sets.n_rows, dtype=np.int32)
    thing_of_row[~is_loose] = number_by_first_row(group_of_row[~is_loose])
    n_groups = int(thing_of_row[~is_loose].max(initial=-1)) + 1
    thing_of_row[loose] = n_groups + np.arange(len(loose), dtype=np.int32)
    n_things = n_groups + len(loose)
    starts_of_thing, rows = vote_kernel.rows_by_group(thing_of_row, n_things)
    hashes = np.empty((N_HASHES, n_things), dtype=np.uint32)
    keys = _keys_of_items(sets, conditions, seed)
    vote_kernel.least_keys_of_groups(sets.starts, sets.items, starts_of_thing, rows, keys, hashes)
    del rows
    order = np.lexsort(hashes[::-1])
    sizes = np.diff(starts_of_thing)[order]
    largest_need = int(conditions.needs(sets.n_rows).max())
    size_of_chunk = max(chunk_rows, largest_need)
    before = np.cumsum(sizes) - sizes
    chunk = before * max(1, round(sets.n_rows / size_of_chunk)) // sets.n_rows
    chunk_of_thing = np.empty(n_things, dtype=np.int32)
    chunk_of_thing[order] = _large_enough(chunk, sizes, largest_need)
    return chunk_of_thing[thing_of_row]


def _large_enough(
    chunk: NDArray[np.int64], sizes: NDArray[np.int64], least: int
) -> NDArray[np.int32]:
    """Return chunks numbered from 0, small ones joined with the next or with the one before."""
    n_rows = np.bincount(chunk, weights=sizes).astype(np.int64)
    number = np.empty(len(n_rows), dtype=np.int32)
    n_chunks, size = 0, 0
    for place, more in enumerate(n_rows.tolist()):
        number[place] = n_chunks
        size += more
        if size >= least:
            n_chunks, size = n_chunks + 1, 0
    if size:
        number[number == n_chunks] = max(0, n_chunks - 1)
    return number[chunk]


class ChunkSearch(Protocol):
    """Finds groups of the rows of one chunk; it travels to where the engine works."""

    def search_chunk(
        self,
        part: Part,
        number: int,
        group_of_row: NDArray[np.int32] | None,
        progress: Progress,
    ) -> NDArray[np.int32]:
        """Return valid groups, numbered from 0; the result depends on the rows and the number.

        ``group_of_row`` are groups to begin with, numbered from 0; rows of group −1 are in none.
        """


class Span(NamedTuple):
    """Which stretch of a search's progress a round over all chunks is."""

    progress: Progress
    stage: str
    first: int
    last: int
    total: int


def search_chunks(
    sets: Sets,
    conditions: SetConditions,
    search: ChunkSearch,
    chunk_of_row: NDArray[np.int32],
    group_of_row: NDArray[np.int32] | None,
    engine: Engine,
    told: Span,
) -> NDArray[np.int32]:
    """Search every chunk on the engine; return the groups of all rows, numbered by first row."""
    n_rows = np.bincount(chunk_of_row).astype(np.float64)
    n_entries = np.bincount(chunk_of_row, weights=sets.sizes).astype(np.float64)
    report = PartProgress(*told, n_rows, n_entries)
    columns = {
        "row": pa.array(np.arange(sets.n_rows)),
        "part": pa.array(chunk_of_row),
        "items": packed(sets.starts, sets.items),
    }
    if conditions.k_of_row is not None:
        columns["k"] = pa.array(conditions.needs(sets.n_rows))
    if group_of_row is not None:
        columns["group"] = pa.array(group_of_row)
    function = _SearchChunk(search, sets.n_items, conditions.k, report)
    rows = engine.load(pa.table(columns))
    found = engine.collect(engine.map_groups(rows, "part", function, _SCHEMA))
    report.ended()
    numbers = found.column("row").to_numpy()
    if not np.array_equal(np.sort(numbers), np.arange(sets.n_rows)):
        raise EngineError(
            f"{engine.name}: rows were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    in_chunk = np.empty(sets.n_rows, dtype=np.int32)
    in_chunk[numbers] = found.column("group").to_numpy()
    # groups of a chunk are numbered from 0: those of all chunks one after the other
    n_groups = np.zeros(int(chunk_of_row.max()) + 1, dtype=np.int64)
    np.maximum.at(n_groups, chunk_of_row, in_chunk + 1)
    first = np.cumsum(n_groups) - n_groups
    return number_by_first_row((first[chunk_of_row] + in_chunk).astype(np.int32))


@dataclass(frozen=True, eq=False)
class _SearchChunk:
    """Search the rows of one chunk: numbers and items in, numbers and groups of the chunk out."""

    search: ChunkSearch
    n_items: int
    k: int
    report: PartProgress | SilentParts

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the groups; an engine may hand rows over in any order."""
        rows = block.column("row").to_numpy()
        if (rows[1:] < rows[:-1]).any():
            block = block.sort_by("row")
        starts, items = unpack(block.column("items"))
        needs = (
            block.column("k").to_numpy()
            if "k" in block.column_names
            else np.full(block.num_rows, self.k, dtype=np.int32)
        )
        given = None
        if "group" in block.column_names:
            given = block.column("group").to_numpy().copy()
            given[given >= 0] = number_by_first_row(given[given >= 0])
        number = int(block.column("part")[0].as_py())
        part = Part(starts, items, self.n_items, needs)
        group_of_row = self.search.search_chunk(part, number, given, self.report.of(number))
        return pa.table({"row": block.column("row"), "group": group_of_row}, schema=_SCHEMA)


def _keys_of_items(sets: Sets, conditions: SetConditions, seed: int) -> NDArray[np.uint32]:
    """Return ``keys[hash, item]``, whose least ones among its items are a row's minhashes."""
    from incrowd.methods.shared.set_groups.minhash_kernel import keys_of_items

    n_holders = count_items(sets.items, sets.n_items)
    least = conditions.k if conditions.kind == SUPPRESSION else (conditions.k + 1) // 2
    salts = np.random.default_rng(seed).integers(0, 1 << 63, size=N_HASHES, dtype=np.uint64)
    return np.stack([keys_of_items(n_holders, least, salt) for salt in salts])
