"""Parts of a table that are searched side by side on an engine, and how far such a search is."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.engines.base import Engine
from incrowd.errors import EngineError
from incrowd.methods.shared.conditions import PackedConditions
from incrowd.methods.shared.fragments import Fragments
from incrowd.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class PartProgress:
    """Adds up what the parts of one search report, and passes it on as one.

    ``weights`` say how much of the work each part is, ``dearest`` how much of all that can be
    lost. The parts' work is the span from ``first`` to ``last`` of ``total``. The loss is told
    once every part has told its own. Sent to another machine it is silent.
    """

    progress: Progress
    stage: str
    first: int
    last: int
    total: int
    weights: NDArray[np.float64]
    dearest: NDArray[np.float64]
    _lock: Lock = field(default_factory=Lock)
    _shares: dict[int, float] = field(default_factory=dict)
    _losses: dict[int, float] = field(default_factory=dict)

    def of(self, part: int) -> Progress:
        """Return the function that one part reports to."""

        def report(_stage: str, done: int, total: int, loss: float | None = None, /) -> None:
            with self._lock:
                self._shares[part] = done / total if total else 0.0
                if loss is not None:
                    self._losses[part] = loss
                self.progress(self.stage, self._done(), self.total, self._loss())

        return report

    def ended(self) -> None:
        """Tell that all parts are searched, where they were searched out of hearing."""
        if not self._shares:
            self.progress(self.stage, self.last, self.total)

    def _done(self) -> int:
        done = sum(self.weights[part] * share for part, share in self._shares.items())
        share = done / max(float(self.weights.sum()), 1e-300)
        return self.first + round((self.last - self.first) * min(1.0, float(share)))

    def _loss(self) -> float | None:
        if len(self._losses) < len(self.weights):
            return None
        lost = sum(self.dearest[part] * loss for part, loss in self._losses.items())
        dearest = float(self.dearest.sum())
        return float(lost) / dearest if dearest > 0 else 0.0

    def __reduce__(self) -> tuple[type[SilentParts], tuple[()]]:
        """Travel as silence: nobody hears a report elsewhere."""
        return (SilentParts, ())


@dataclass(frozen=True)
class SilentParts:
    """What a search's progress becomes on another machine."""

    def of(self, part: int) -> Progress:  # noqa: ARG002
        """Return a function that shows nothing."""
        return silent


# ── parts of a table that are searched on their own, side by side on an engine ────────────────────


class PartSearch(Protocol):
    """Searches one part: its rows with number and nodes in, row numbers and released nodes out.

    Where it takes rows apart, it says how many of each show what.
    """

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out."""

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the part's rows as they are released."""


def part_table(
    nodes: NDArray[np.int32],
    part_of_row: NDArray[np.int64],
    limits: PackedConditions,
    start: NDArray[np.int32] | None = None,
    *,
    count: NDArray[np.int64],
    row: NDArray[np.int64] | None = None,
) -> pa.Table:
    """Return rows for an engine: number, part, how many, nodes, what the conditions look at.

    ``start`` are nodes that an earlier search released, where the parts' search begins with them.
    ``row`` are the rows' numbers where they do not count up: a row's parts share one.
    """
    row = np.arange(nodes.shape[1]) if row is None else row
    columns: dict[str, NDArray[Any]] = {"row": row, "part": part_of_row, "count": count}
    columns |= {f"c{column}": node_of_row for column, node_of_row in enumerate(nodes)}
    if start is not None:
        columns |= {f"n{column}": node_of_row for column, node_of_row in enumerate(start)}
    if limits.k_of_row.size:
        columns["k"] = limits.k_of_row
    if limits.person_of_row.size:
        columns["person"] = limits.person_of_row
    columns |= {f"s{place}": codes for place, codes in enumerate(limits.code_of_row)}
    return pa.table(columns)


def limits_of_part(part: pa.Table, limits: PackedConditions) -> PackedConditions:
    """Return the conditions of a part's rows; t compares with what ``limits`` knows of all."""
    none = np.zeros(0, dtype=np.int32)
    names = set(part.column_names)
    return limits.of_rows(
        part.column("k").to_numpy() if "k" in names else none,
        part.column("person").to_numpy() if "person" in names else none,
        nodes_of_part(part, "s", len(limits.l)),
    )


def nodes_of_part(part: pa.Table, prefix: str, n_columns: int) -> NDArray[np.int32]:
    """Return the columns named by a prefix and a number as one matrix, a line per column."""
    matrix = np.empty((n_columns, part.num_rows), dtype=np.int32)
    for column in range(n_columns):
        matrix[column] = part.column(f"{prefix}{column}").to_numpy()
    return matrix


def released_schema(n_columns: int) -> pa.Schema:
    """Return the columns of a searched part: the row's number, how many of it, and its nodes."""
    nodes = [(f"c{column}", pa.int32()) for column in range(n_columns)]
    return pa.schema([("row", pa.int64()), ("count", pa.int64()), *nodes])


def release_part(
    row: NDArray[np.int64], count: NDArray[np.int64], released: NDArray[np.int32]
) -> pa.Table:
    """Return the rows of a searched part by number, with the nodes that they are released as."""
    schema = released_schema(len(released))
    return pa.table([pa.array(array) for array in (row, count, *released)], schema=schema)


def search_parts(
    engine: Engine,
    rows: pa.Table,
    search: PartSearch,
    n_of_row: NDArray[np.int64],
) -> Fragments:
    """Search every part on the engine; return what the rows are released as.

    ``rows`` is a ``part_table``; there are ``n_of_row[row]`` of each.
    """
    searched = engine.collect(engine.map_groups(engine.load(rows), "part", search, search.schema))
    n_columns = len(search.schema) - 2
    row = searched.column("row").to_numpy()
    count = searched.column("count").to_numpy()
    nodes = nodes_of_part(searched, "c", n_columns)
    found = Fragments.of(row, nodes, count)
    if not _is_all_there(found, n_of_row):
        raise EngineError(
            f"{engine.name}: rows were lost or doubled on the way back",
            remedy="Nothing was released. Run again, or use --engine local.",
        )
    return found


def _is_all_there(found: Fragments, n_of_row: NDArray[np.int64]) -> bool:
    """Return whether the fragments of every row add up to it."""
    if len(found.row) == 0 or np.any(found.count < 1):
        return len(found.row) == len(n_of_row) == 0
    starts = np.flatnonzero(np.diff(found.row, prepend=found.row[0] - 1))
    is_each = np.array_equal(found.row[starts], np.arange(len(n_of_row)))
    return is_each and np.array_equal(np.add.reduceat(found.count, starts), n_of_row)
