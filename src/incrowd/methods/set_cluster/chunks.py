"""Many rows: chunks of near ones searched side by side, then other chunks of whole groups.

Rows are sorted by eight minhashes (locality-sensitive hashing) and cut into chunks. Two near rows
that a cut or an unlucky hash kept apart meet in a later round, whose chunks are made of whole
groups in the order of other hashes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.engines.base import Engine
from incrowd.errors import EngineError
from incrowd.methods.part_progress import PartProgress, SilentParts
from incrowd.methods.set_cluster.kinds import Part, numbered_by_first_row
from incrowd.methods.set_cluster.part_search import PartSearch, Told
from incrowd.methods.sets.promise import SMOOTH, SetPromise
from incrowd.methods.sets.vote import rule_of

N_HASHES = 8
"""How many minhashes a row is sorted by."""

_SCHEMA = pa.schema([("row", pa.int64()), ("group", pa.int32())])


def chunks_of_rows(
    sets: Sets, promise: SetPromise, chunk_rows: int, seed: int
) -> NDArray[np.int32]:
    """Return every row's chunk, of about ``chunk_rows`` near rows and no fewer than any row needs.

    O(rows · log rows + 8 · entries); empty rows are near each other.
    """
    order = _by_minhashes(sets.starts, sets.items, seed)
    largest_need = int(promise.needs(sets.n_rows).max(initial=1))
    n_chunks = max(1, min(round(sets.n_rows / chunk_rows), sets.n_rows // largest_need))
    chunk_of_row = np.empty(sets.n_rows, dtype=np.int32)
    chunk_of_row[order] = np.arange(sets.n_rows, dtype=np.int64) * n_chunks // sets.n_rows
    return chunk_of_row


def chunks_of_groups(
    sets: Sets, group_of_row: NDArray[np.int32], chunk_rows: int, seed: int
) -> NDArray[np.int32]:
    """Return every row's chunk, all rows of a group in one, near groups together.

    A group is hashed by the items that at least half of its rows hold, or by its first row's.
    """
    from incrowd.methods.sets import kernel_vote

    n_groups = int(group_of_row.max()) + 1
    group_starts, rows = kernel_vote.rows_by_group(group_of_row, n_groups)
    half = rule_of(SetPromise(SMOOTH, 1), 0.0)
    needs = np.ones(sets.n_rows, dtype=np.int32)
    given = (sets.starts, sets.items, sets.n_items, group_starts, rows, needs, half)
    *_, n_shown = kernel_vote.tally_rows(*given)
    starts, items = kernel_vote.shown_items(*given, n_shown)
    hashes = _hashes(starts, items, seed)
    is_empty = starts[1:] == starts[:-1]
    first_rows = sets.take(rows[group_starts[:-1]][is_empty])
    hashes[:, is_empty] = _hashes(first_rows.starts, first_rows.items, seed)
    order = np.lexsort(hashes[::-1])
    sizes = np.diff(group_starts)[order]
    n_chunks = max(1, round(sets.n_rows / chunk_rows))
    before = np.cumsum(sizes) - sizes
    chunk_of_group = np.empty(n_groups, dtype=np.int32)
    chunk_of_group[order] = before * n_chunks // sets.n_rows
    _, chunk_of_group = np.unique(chunk_of_group, return_inverse=True)
    return chunk_of_group.reshape(-1).astype(np.int32)[group_of_row]


def search_chunks(
    sets: Sets,
    search: PartSearch,
    chunk_of_row: NDArray[np.int32],
    group_of_row: NDArray[np.int32] | None,
    engine: Engine,
    report: PartProgress,
) -> NDArray[np.int32]:
    """Search every chunk on the engine; return the groups of all rows, numbered by first row."""
    columns = {
        "row": pa.array(np.arange(sets.n_rows)),
        "part": pa.array(chunk_of_row),
        "items": pa.LargeListArray.from_arrays(pa.array(sets.starts), pa.array(sets.items)),
    }
    if search.promise.k_of_row is not None:
        columns["k"] = pa.array(search.promise.needs(sets.n_rows))
    if group_of_row is not None:
        columns["group"] = pa.array(group_of_row)
    function = _SearchChunk(
        replace(search, promise=replace(search.promise, k_of_row=None)), sets.n_items, report
    )
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
    return numbered_by_first_row((first[chunk_of_row] + in_chunk).astype(np.int32))


@dataclass(frozen=True, eq=False)
class _SearchChunk:
    """Search the rows of one chunk: numbers and items in, numbers and groups of the chunk out."""

    search: PartSearch
    n_items: int
    report: PartProgress | SilentParts

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the groups; an engine may hand rows over in any order."""
        block = block.sort_by("row")
        items = block.column("items").combine_chunks()
        if isinstance(items, pa.ChunkedArray):
            items = pa.concat_arrays(items.chunks)
        sizes = pc.list_value_length(items).to_numpy()
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        needs = (
            block.column("k").to_numpy()
            if "k" in block.column_names
            else self.search.promise.needs(block.num_rows)
        )
        given = None
        if "group" in block.column_names:
            given = numbered_by_first_row(block.column("group").to_numpy())
        number = int(block.column("part")[0].as_py())
        progress = self.report.of(number)

        def tell(told: Told) -> bool:
            progress("", told.n_passes, self.search.n_passes, 1.0 - told.utility.jaccard)
            return True

        part = Part(starts, items.flatten().to_numpy(), self.n_items, needs)
        group_of_row = self.search(part, number, given, tell)
        return pa.table({"row": block.column("row"), "group": group_of_row}, schema=_SCHEMA)


def _by_minhashes(
    starts: NDArray[np.int64], items: NDArray[np.int32], seed: int
) -> NDArray[np.int64]:
    """Return rows in the lexicographic order of their minhashes."""
    hashes = _hashes(starts, items, seed)
    order: NDArray[np.int64] = np.lexsort(hashes[::-1])
    return order


def _hashes(starts: NDArray[np.int64], items: NDArray[np.int32], seed: int) -> NDArray[np.uint32]:
    from incrowd.methods.set_cluster.kernel_kinds import minhashes

    salts = np.random.default_rng(seed).integers(0, 1 << 63, size=N_HASHES, dtype=np.uint64)
    return minhashes(starts, items, salts)
