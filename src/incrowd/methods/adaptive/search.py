"""One run of the adaptive method over the rows of a table: which search, then which cells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.data.dataset import Rows, Trace
from incrowd.engines.base import Engine
from incrowd.methods.adaptive.problem import Found, Problem
from incrowd.methods.conditions import Conditions
from incrowd.progress import Progress

if TYPE_CHECKING:
    from incrowd.methods.adaptive.method import Adaptive

FEW_ATTRIBUTES = 16
"""Up to so many columns a partition shows more than a cover, belief aside."""

SWEEPS_AFTER_COVER = 3

SET_BIT = "1"


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
    search = _chosen(method, problem, conditions)
    if search == "partition":
        found = _partition(method, problem, engine, seed, progress)
    else:
        found = _cover(method, problem, engine, progress)
    figures: dict[str, int | float | str] = {"search_used": search, **found.figures}
    notes = list(found.notes)
    settings = {"effort": found.figures["iterations"]} if search == "partition" else {}
    n_sweeps = _n_sweeps(method, search)
    if n_sweeps:
        from incrowd.methods.adaptive import sweeps

        swept = sweeps.improve(
            problem,
            found.is_masked,
            n_sweeps=n_sweeps,
            is_bound=conditions.is_belief_bound,
            seed=seed,
            progress=progress,
        )
        figures |= {"shown_before_sweeps": round(found.shown, 6), **swept.figures}
        notes += swept.notes
        found = swept
    figures["shown"] = round(found.shown, 6)
    nodes = rows.nodes.copy()
    for column, hierarchy in enumerate(rows.hierarchies):
        nodes[column, found.is_masked[:, column]] = hierarchy.root
    return rows.with_nodes(nodes, trace=Trace(figures, settings, tuple(notes)))


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


def _chosen(method: Adaptive, problem: Problem, conditions: Conditions) -> str:
    if problem.is_bit:
        return "cover"
    if method.search != "auto":
        return method.search
    is_few = problem.n_attributes <= FEW_ATTRIBUTES
    is_partition = is_few or conditions.is_belief_bound or method.as_value
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
    more = found.shown - equal.shown
    note = (
        f"rows that are equal as written mask {more:.2%} of the cells more than "
        "crowds of compatible rows do"
    )
    figures = {**equal.figures, "shown_as_wildcard": round(found.shown, 6)}
    return replace(equal, figures=figures, notes=(*equal.notes, note))


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


def starred_missing(
    before: Rows, after: Rows, missing_values: tuple[str, ...]
) -> NDArray[np.int32]:
    """Return the nodes of ``after`` with every missing cell of ``before`` at its root.

    Rows that are shown equal stay equal: they are missing in the same columns, or masked there.
    """
    nodes = after.nodes.copy()
    for column, hierarchy in enumerate(before.hierarchies):
        leaves = [hierarchy.leaf_of_value.get(token, -1) for token in ("", *missing_values)]
        nodes[column, np.isin(before.nodes[column], leaves)] = hierarchy.root
    return nodes
