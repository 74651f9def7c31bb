"""A table in parts: where it is cut, and each part searched as if it were the table.

What a part promises its rows holds in the whole release: NOTES.md says why, and for what it does
not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import EngineError
from incrowd.methods.adaptive.search import Found, Problem
from incrowd.methods.shared.fragments import sort_into_runs, sort_key
from incrowd.methods.shared.parts import PartProgress
from incrowd.methods.shared.reorganize import cut
from incrowd.progress import Progress, is_abort_requested, is_stop_requested, silent
from incrowd.threads import use_threads

if TYPE_CHECKING:
    from incrowd.methods.adaptive.method import Adaptive


MOST_ROWS, MOST_BYTES = 1 << 20, 1 << 30
"""What one part has at most unless parts are stated: rows, and bytes of codes and counts."""

STAGE = "parts"

SEARCHED = pa.schema([("row", pa.int64()), ("masked", pa.binary()), ("figures", pa.string())])
"""What comes back: a line per row, its masked cells as bits; the part's figures in its first."""

MOST_MASK_BYTES = (1 << 31) - 1
"""What the bits of one part's masks may take on the way back."""

ADDED = (
    "iterations",
    "edges",
    "needy_rows",
    "free_rows",
    "groups",
    "unmasked_cells",
    "changed_rows",
    "undone_rows",
)
"""Figures of parts that add up; what is named nowhere here is left out."""

AVERAGED = (
    "utility_first",
    "utility",
    "shown_before",
    "shown_before_sweeps",
    "shown_as_wildcard",
)
"""Shares of cells, which the table has as the average of its parts."""

LARGEST = ("sweeps",)
"""Figures of which the largest counts."""


def n_parts_of(problem: Problem) -> int:
    """Return how many parts a table is cut into where none are stated. Depends on it alone."""
    n_bytes = problem.n_rows * (4 * problem.n_attributes + problem.n_cells)
    return max(1, -(-problem.n_rows // MOST_ROWS), -(-n_bytes // MOST_BYTES))


def part_of_rows(problem: Problem, n_parts: int) -> NDArray[np.int64]:
    """Return the part of every row, counted from 0: about equal numbers, equal rows together.

    Rows are sorted by the attribute that tells least about a row (least entropy) first, its most
    frequent value first: rows of a part agree where most rows agree, and what they differ in is
    what crowds mask anyway. Cuts are counted, never sampled, and depend on what rows hold alone.
    A part is as large as the largest k in it, joined to the next one until it is.
    O(cells + rows · log rows).
    """
    lines, entropies = [], []
    for codes, n_values in zip(problem.codes, problem.n_values.tolist(), strict=True):
        counts = np.bincount(codes, minlength=n_values)
        place = np.empty(n_values, dtype=np.int32)
        place[np.argsort(-counts, kind="stable")] = np.arange(n_values)
        lines.append(place[codes])
        shares = counts[counts > 0] / max(1, problem.n_rows)
        entropies.append(-float(np.sum(shares * np.log(shares))))
    by_entropy = np.argsort(np.round(entropies, 9), kind="stable").tolist()
    n_values = [int(problem.n_values[attribute]) for attribute in by_entropy]
    key = sort_key([lines[attribute] for attribute in by_entropy], n_values, problem.n_rows)
    order, run_start = sort_into_runs(key)
    k = problem.k[order]

    def is_valid(start: int, end: int) -> bool:
        return end - start >= int(k[start:end].max(initial=1))

    starts = cut(run_start, n_parts, is_valid)
    parts = np.empty(problem.n_rows, dtype=np.int64)
    parts[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return parts


@dataclass(frozen=True, eq=False)
class PartSearch:
    """Searches one part on one worker, with one thread; ``effort[part]`` where it is a number."""

    method: Adaptive
    n_values: NDArray[np.int64]
    is_bit: bool
    is_bound: bool
    effort: tuple[int, ...] | None
    seed: int
    memory_bytes: int
    progress: PartProgress

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the masks of a part's rows."""
        from incrowd.engines.local.engine import LocalEngine
        from incrowd.methods.adaptive.search import found_in

        if is_abort_requested():
            return SEARCHED.empty_table()
        block = block.sort_by("row")  # ties between equal rows go by their numbers
        part = int(block.column("part")[0].as_py())
        codes = np.empty((len(self.n_values), block.num_rows), dtype=np.int32)
        for attribute in range(len(codes)):
            codes[attribute] = block.column(f"c{attribute}").to_numpy()
        problem = Problem(codes, self.n_values, block.column("k").to_numpy(), self.is_bit)
        method = self.method
        if self.effort is not None:
            method = replace(method, effort=self.effort[part])
        engine = LocalEngine(threads=1, memory=self.memory_bytes)
        with use_threads(1):
            found = found_in(method, problem, self.is_bound, engine, self.seed + part, silent)
        self.progress.of(part)("", 1, 1, 1.0 - found.shown)
        said = json.dumps({"figures": dict(found.figures), "notes": found.notes})
        figures = pa.array([said] + [None] * (block.num_rows - 1), pa.string())
        columns = [block.column("row"), _as_bits(found.is_masked), figures]
        return pa.table(columns, schema=SEARCHED)


def search_parts(
    method: Adaptive,
    problem: Problem,
    part_of_row: NDArray[np.int64],
    is_bound: bool,
    engine: Engine,
    seed: int,
    progress: Progress,
) -> Found:
    """Search every part on the engine, one task a part, and put the masks together.

    The result depends on the parts, never on the engine. Raises as the search of one part does.
    """
    sizes = np.bincount(part_of_row)
    bytes_per_row = -(-problem.n_cells // 8)
    if int(sizes.max()) * bytes_per_row > MOST_MASK_BYTES:
        raise EngineError(
            f"the masks of a part of {int(sizes.max()):,} rows are too large to be sent back",
            remedy="Ask for more parts with --partitions.",
        )
    weights = sizes.astype(np.float64)
    n_parts = len(sizes)
    search = PartSearch(
        method,
        problem.n_values,
        problem.is_bit,
        is_bound,
        _effort_of_parts(method.effort, sizes) if isinstance(method.effort, int) else None,
        seed,
        engine.memory_bytes // engine.n_workers,
        PartProgress(progress, STAGE, 0, n_parts, n_parts, weights, weights),
    )
    columns = {"row": np.arange(problem.n_rows), "part": part_of_row, "k": problem.k}
    columns |= {f"c{attribute}": codes for attribute, codes in enumerate(problem.codes)}
    progress(STAGE, 0, n_parts)
    blocks = engine.map_groups(engine.load(pa.table(columns)), "part", search, SEARCHED)
    searched = engine.collect(blocks).sort_by("row")
    if not np.array_equal(searched.column("row").to_numpy(), np.arange(problem.n_rows)):
        raise EngineError(
            f"{engine.name}: rows were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    is_masked = _from_bits(searched.column("masked"), bytes_per_row, problem.n_cells)
    first_rows = np.unique(part_of_row, return_index=True)[1]
    said = [json.loads(text) for text in searched.column("figures").take(first_rows).to_pylist()]
    figures: dict[str, int | float | str] = {
        "partitions_searched": n_parts,
        "smallest_part": int(sizes.min()),
        **_together([of_part["figures"] for of_part in said], sizes),
    }
    notes = tuple(dict.fromkeys(note for of_part in said for note in of_part["notes"]))
    if is_stop_requested():
        notes += ("the search of parts was ended early: the job makes this release no second time",)
    return Found(is_masked, figures, notes)


def _effort_of_parts(effort: int, sizes: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the changes of each part: as many as its rows are of all, at least one."""
    n_rows = int(sizes.sum())
    edges = [effort * int(end) // n_rows for end in np.cumsum(np.append(0, sizes))]
    return tuple(max(1, end - start) for start, end in pairwise(edges))


def _together(
    figures: list[dict[str, int | float | str]], sizes: NDArray[np.int64]
) -> dict[str, int | float | str]:
    """Return the figures of a table whose parts say these of themselves."""
    whole: dict[str, int | float | str] = {}
    for name, first in figures[0].items():
        if isinstance(first, str):
            whole[name] = first
        elif name in ADDED:
            whole[name] = sum(int(of_part[name]) for of_part in figures)
        elif name in LARGEST:
            whole[name] = max(int(of_part[name]) for of_part in figures)
        elif name in AVERAGED:
            shares = [float(of_part[name]) for of_part in figures]
            whole[name] = round(float(np.average(shares, weights=sizes)), 6)
    return whole


def _as_bits(is_masked: NDArray[np.bool_]) -> pa.Array:
    """Return each row's cells as the bytes of their bits."""
    bits = np.packbits(is_masked, axis=1)
    offsets = np.arange(len(bits) + 1, dtype=np.int64) * bits.shape[1]
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(bits.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(bits), buffers)


def _from_bits(column: pa.ChunkedArray, bytes_per_row: int, n_cells: int) -> NDArray[np.bool_]:
    """Return the cells of all rows of a column of their bits."""
    lines = [np.zeros((0, n_cells), dtype=np.bool_)]
    for chunk in column.chunks:
        joined = b"".join(chunk.to_pylist())
        bits = np.frombuffer(joined, dtype=np.uint8).reshape(len(chunk), bytes_per_row)
        lines.append(np.unpackbits(bits, axis=1, count=n_cells).astype(np.bool_))
    return np.concatenate(lines)
