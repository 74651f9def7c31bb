"""One run of the adaptive method over the rows of a table: which search, then which cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.one_hot import SET_BIT
from incrowd.encoding.rows import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.errors import JobError
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.options import seconds_of
from incrowd.progress import Progress

if TYPE_CHECKING:
    from incrowd.methods.adaptive.method import Adaptive


@dataclass(frozen=True, eq=False)
class Problem:
    """People as rows of category codes, and the crowd that each asks for.

    ``codes[attribute, row]`` counts from 0 below ``n_values[attribute]``; a missing value is a
    value of its own. ``k[row]`` of 1 is no wish. A *cell* is what is shown or masked: an attribute,
    or with ``is_bit`` one bit of its one-hot code (bit ``first_cell[attribute] + code``). Two rows
    that differ in an attribute differ in its cell, or in the two bits of their values.
    """

    codes: NDArray[np.int32]
    n_values: NDArray[np.int64]
    k: NDArray[np.int32]
    is_bit: bool = False

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.n_values), len(self.k)):
            raise ValueError("one line of codes per attribute and one k per row")

    @property
    def n_rows(self) -> int:
        """How many people there are."""
        return int(self.codes.shape[1])

    @property
    def n_attributes(self) -> int:
        """How many quasi-identifying columns there are."""
        return int(self.codes.shape[0])

    @cached_property
    def first_cell(self) -> NDArray[np.int64]:
        """Where each attribute's cells begin; the last entry is the number of cells in a row."""
        widths = self.n_values if self.is_bit else np.ones_like(self.n_values)
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """How many cells a row has."""
        return int(self.first_cell[-1])


@dataclass(frozen=True, eq=False)
class Found:
    """Which cells are masked, ``is_masked[row, cell]``, and what the search says of itself."""

    is_masked: NDArray[np.bool_]
    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> float:
        """The share of cells that are shown: the paper's utility."""
        return 1.0 - float(self.is_masked.mean()) if self.is_masked.size else 1.0


# ── one run of the adaptive method over the rows of a table: which search, then which cells ───────

FEW_ATTRIBUTES = 16
"""Up to so many columns a partition shows more than a cover, belief aside."""

SWEEPS_AFTER_COVER = 3


def searched(
    method: Adaptive,
    rows: Rows,
    conditions: Conditions,
    engine: Engine,
    seed: int,
    progress: Progress,
) -> Rows:
    """Search as the method says and return the rows with masked cells at their roots."""
    problem = problem_of(rows, conditions)
    is_bound = conditions.is_belief_bound
    search = _chosen(method, problem, is_bound)
    n_parts = _n_parts(method, problem, search, is_bound)
    part_of_row = None
    if n_parts > 1:
        from incrowd.methods.adaptive import parts

        part_of_row = parts.part_of_rows(problem, n_parts)
    settings: dict[str, int | float | str] = {}
    if part_of_row is not None and part_of_row.max(initial=0) > 0:
        found = parts.search_parts(method, problem, part_of_row, is_bound, engine, seed, progress)
        found = _certified(method, problem, search, found)
        settings["partitions"] = n_parts
    else:
        found = found_in(method, problem, is_bound, engine, seed, progress)
        if search == "partition":
            settings["effort"] = found.figures["iterations"]
    figures = {**found.figures, "shown": round(found.shown, 6)}
    nodes = rows.nodes.copy()
    for column, hierarchy in enumerate(rows.hierarchies):
        nodes[column, found.is_masked[:, column]] = hierarchy.root
    return rows.with_nodes(nodes, trace=Trace(figures, settings, _told(method, found)))


def found_in(
    method: Adaptive,
    problem: Problem,
    is_bound: bool,
    engine: Engine,
    seed: int,
    progress: Progress,
) -> Found:
    """Search a table, or a part of one, as the method says; sweeps are part of it."""
    search = _chosen(method, problem, is_bound)
    if search == "partition":
        found = _partition(method, problem, engine, seed, progress)
    else:
        found = _cover(method, problem, engine, progress)
    figures: dict[str, int | float | str] = {"search_used": search, **found.figures}
    n_sweeps = _n_sweeps(method, search)
    if not n_sweeps:
        return replace(found, figures=figures)
    from incrowd.methods.adaptive import sweeps

    swept = sweeps.improve(
        problem,
        found.is_masked,
        n_sweeps=n_sweeps,
        is_bound=is_bound,
        seed=seed,
        progress=progress,
    )
    figures |= {"shown_before_sweeps": round(found.shown, 6), **swept.figures}
    return replace(swept, figures=figures, notes=(*found.notes, *swept.notes))


def _n_parts(method: Adaptive, problem: Problem, search: str, is_bound: bool) -> int:
    """Return how many parts are wished for: as stated, else one as long as a table is no more.

    Where parts cannot keep what is asked for, several are refused, and none are cut unasked.
    """
    from incrowd.methods.adaptive.parts import n_parts_of

    if method.partitions == 1:
        return 1
    refused = None
    if is_bound and (search == "cover" or _n_sweeps(method, search)):
        refused = JobError(
            "a cover and sweeps bound belief within a part, which does not bound it in the whole",
            remedy="State --partitions 1, a partition without sweeps, or --posterior report.",
        )
    elif search == "partition" and seconds_of(method.effort):
        refused = JobError(
            "an effort in seconds comes to another number of changes in every part",
            remedy="State --partitions 1, or the effort as a number or a word.",
        )
    if method.partitions > 1 and refused is not None:
        raise refused
    return method.partitions or (1 if refused is not None else n_parts_of(problem))


def _certified(method: Adaptive, problem: Problem, search: str, found: Found) -> Found:
    """Return what the parts of a partition found, once its crowds are counted in the whole."""
    if search == "partition" and not _n_sweeps(method, search):
        from incrowd.methods.adaptive.partition import require_crowds

        require_crowds(problem, found.is_masked, is_as_value=method.as_value)
    return found


def _told(method: Adaptive, found: Found) -> tuple[str, ...]:
    """Return the notes of a search, and what it costs that rows are equal as written."""
    if not method.as_value:
        return found.notes
    more = float(found.figures["shown_as_wildcard"]) - found.shown
    note = (
        f"rows that are equal as written mask {more:.2%} of the cells more than "
        "crowds of compatible rows do"
    )
    return (*found.notes, note)


def problem_of(rows: Rows, conditions: Conditions) -> Problem:
    """Return the rows as category codes; columns that are bits of one attribute are one code."""
    k = conditions.k_of_row
    if k is None:
        k = np.full(rows.n_rows, conditions.k, dtype=np.int32)
    if rows.attribute_of_column is None:
        n_leaves = [hierarchy.n_leaves for hierarchy in rows.hierarchies]
        return Problem(rows.nodes, np.asarray(n_leaves, dtype=np.int64), k)
    n_attributes = int(rows.attribute_of_column.max()) + 1
    n_values = np.bincount(rows.attribute_of_column, minlength=n_attributes)
    codes = np.zeros((n_attributes, rows.n_rows), dtype=np.int32)
    first = np.cumsum(np.append(0, n_values))
    for column, attribute in enumerate(rows.attribute_of_column.tolist()):
        one = rows.hierarchies[column].leaf_of_value[SET_BIT]
        codes[attribute, rows.nodes[column] == one] = column - first[attribute]
    return Problem(codes, n_values.astype(np.int64), k, is_bit=True)


def _chosen(method: Adaptive, problem: Problem, is_bound: bool) -> str:
    if problem.is_bit:
        return "cover"
    if method.search != "auto":
        return method.search
    is_few = problem.n_attributes <= FEW_ATTRIBUTES
    is_partition = is_few or is_bound or method.as_value
    return "partition" if is_partition else "cover"


def _n_sweeps(method: Adaptive, search: str) -> int:
    if method.as_value:
        return 0
    if isinstance(method.sweeps, int):
        return method.sweeps
    return SWEEPS_AFTER_COVER if search == "cover" else 0


def _partition(
    method: Adaptive, problem: Problem, engine: Engine, seed: int, progress: Progress
) -> Found:
    from incrowd.methods.adaptive import partition

    def search(is_as_value: bool) -> Found:
        return partition.search(
            problem,
            effort=method.effort,
            seed=seed,
            engine=engine,
            progress=progress,
            is_as_value=is_as_value,
        )

    found = search(False)
    if not method.as_value:
        return found
    equal = search(True)
    figures = {**equal.figures, "shown_as_wildcard": round(found.shown, 6)}
    return replace(equal, figures=figures)


def _cover(method: Adaptive, problem: Problem, engine: Engine, progress: Progress) -> Found:
    from incrowd.methods.adaptive import cover

    return cover.search(
        problem,
        cover=method.cover,
        epsilon=float(method.epsilon_weight),
        most_iterations=method.rounds,
        memory_bytes=engine.memory_bytes,
        engine=engine,
        progress=progress,
    )
