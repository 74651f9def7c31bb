"""Rows put on the released combinations of a policy, and what becomes of those that fit none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows, Trace
from incrowd.errors import InfeasibleError, JobError
from incrowd.methods.policy.dates import rebase_dates
from incrowd.methods.policy.files import read_combinations
from incrowd.methods.policy.kernel import NONE, first_covering
from incrowd.methods.shared.conditions import LEFT_OUT, Validity, n_suppressible_of, put_back
from incrowd.methods.shared.fragments import search_rows, sort_into_runs, sort_key
from incrowd.methods.shared.recreate.table import search_table

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.methods.policy.method import Policy
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.progress import Progress


MOST_ROUNDS = 500
"""Rounds after which all groups that are not valid are given up at once."""


# Rows put on the combinations of a policy, and what becomes of those that fit none.


@dataclass(frozen=True, eq=False)
class Combinations:
    """A policy's combinations as nodes of these rows' hierarchies, the cheapest first.

    ``low`` and ``high`` say which of a column's leaves, in their order, a cell covers. ``n_read``
    counts the combinations that the policy has, ``n_unknown`` those of them without nodes here.
    """

    nodes: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    n_read: int
    n_unknown: int

    @property
    def n_combinations(self) -> int:
        """How many combinations there are."""
        return int(self.nodes.shape[1])

    def only(self, kept: NDArray[np.bool_]) -> Combinations:
        """Return the combinations that are kept."""
        return replace(
            self, nodes=self.nodes[:, kept], low=self.low[:, kept], high=self.high[:, kept]
        )


def apply_policy(
    method: Policy,
    rows: Rows,
    conditions: Conditions,
    engine: Engine,
    seed: int,
    progress: Progress,
) -> Rows:
    """Show every row as the first combination it fits whose rows are a valid group."""
    combinations = _read_combinations(Path(method.combinations), rows, method.rebase)
    combination_of_row, is_valid = _fit_rows(rows, combinations, conditions)
    nodes = rows.nodes.copy()
    fit, unfit = np.flatnonzero(combination_of_row >= 0), np.flatnonzero(combination_of_row == NONE)
    nodes[:, fit] = combinations.nodes[:, combination_of_row[fit]]
    figures: dict[str, int | float | str] = {
        "policy_combinations": combinations.n_read,
        "policy_combinations_unknown": combinations.n_unknown,
        "policy_combinations_used": int(is_valid.sum()),
        "unfit_rows": len(unfit),
    }
    if not len(unfit):
        return rows.with_nodes(nodes, trace=Trace(figures))
    if len(unfit) <= n_suppressible_of(conditions):
        nodes[:, unfit] = LEFT_OUT
        return put_back(rows, nodes, Trace(figures))
    if method.unfit == "refuse":
        raise InfeasibleError(
            f"the policy does not fit: {len(unfit):,} of {rows.n_rows:,} rows fit none of its "
            "combinations that would be a valid group in this batch"
            + _name_uncovered(rows, combinations),
            remedy="Search those rows anew with --policy-unfit search, leave them out with "
            "--suppression-limit, or name date columns that move with every batch: --rebase "
            "COLUMN.",
        )
    searched = _enough(unfit, combination_of_row, is_valid, conditions)
    figures["searched_rows"] = len(searched)
    progress(f"searching {len(searched):,} rows anew", 0, 0)
    part = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, searched]), rows.hierarchies)
    asked = conditions.take(searched)
    search = partial(search_table, conditions=asked, engine=engine, seed=seed, progress=progress)
    found = search_rows(part, asked, search, is_collapsed=asked.is_size_only)
    nodes[:, searched] = found.nodes
    return rows.with_nodes(nodes, trace=Trace(figures))


def _fit_rows(
    rows: Rows, combinations: Combinations, conditions: Conditions
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each row's combination, −1 for none, and which ones have a valid group of rows.

    The smallest groups that are not valid are given up round by round: their rows go to the next
    combination that covers them, where they may make another group valid.
    """
    places = _places(rows)
    combination_of_row = _first_covering(places, combinations)
    first_of_row = combination_of_row.copy()
    is_open = np.ones(combinations.n_combinations, dtype=np.bool_)
    for n_rounds in count(1):
        sizes, is_valid = _test_groups(combination_of_row, combinations.n_combinations, conditions)
        is_lacking = (sizes > 0) & ~is_valid
        if not is_lacking.any():
            break
        if n_rounds < MOST_ROUNDS:
            is_lacking &= sizes == sizes[is_lacking].min()
        is_open &= ~is_lacking
        # the flag after the last combination's is that of rows without a combination
        moved = np.flatnonzero(np.append(is_lacking, False)[combination_of_row])
        still_open = np.append(np.flatnonzero(is_open), NONE)
        combination_of_row[moved] = still_open[
            _first_covering(places[:, moved], combinations.only(is_open))
        ]
    if conditions.is_size_only:
        _fill_up(combination_of_row, first_of_row, places, combinations, conditions.k)
        is_valid = _count_groups(combination_of_row, combinations.n_combinations) > 0
    return combination_of_row, is_valid


def _count_groups(combination_of_row: NDArray[np.int64], n_combinations: int) -> NDArray[np.int64]:
    return np.bincount(combination_of_row[combination_of_row >= 0], minlength=n_combinations)


def _places(rows: Rows) -> NDArray[np.int32]:
    """Return where each row's leaves lie among the leaves of their columns, in their order."""
    every = [tree.leaf_order[rows.nodes[column]] for column, tree in enumerate(rows.hierarchies)]
    return np.asarray(np.stack(every), dtype=np.int32)


def _name_uncovered(rows: Rows, combinations: Combinations) -> str:
    """Return the columns with values that no combination covers, and in how many rows."""
    named = []
    for column, (name, places) in enumerate(zip(rows.names, _places(rows), strict=True)):
        steps = np.zeros(rows.hierarchies[column].n_leaves + 1, dtype=np.int64)
        np.add.at(steps, combinations.low[column], 1)
        np.add.at(steps, combinations.high[column], -1)
        n_rows = int((np.cumsum(steps)[places] <= 0).sum())
        if n_rows:
            named.append(f"{name!r} in {n_rows:,} rows")
    return f"; no combination covers the values of {', '.join(named)}" if named else ""


def _fill_up(
    combination_of_row: NDArray[np.int64],
    first_of_row: NDArray[np.int64],
    places: NDArray[np.int32],
    combinations: Combinations,
    k: int,
) -> None:
    """Make combinations valid that unfit rows fit, by further rows that their groups can spare.

    The one that most unfit rows fit first comes first. O(combinations of unfit rows · rows).
    """
    sizes = _count_groups(combination_of_row, combinations.n_combinations)
    lacking = np.bincount(
        first_of_row[(combination_of_row == NONE) & (first_of_row >= 0)],
        minlength=combinations.n_combinations,
    )
    for combination in np.argsort(-lacking, kind="stable")[: int((lacking > 0).sum())].tolist():
        is_held = (
            (combinations.low[:, combination, None] <= places)
            & (places < combinations.high[:, combination, None])
        ).all(axis=0)
        moved = np.flatnonzero(is_held & (combination_of_row == NONE))
        if not len(moved):
            continue
        spare = _spared(
            np.flatnonzero(is_held & (combination_of_row >= 0)), combination_of_row, sizes, k
        )
        n_needed = k - len(moved)
        if n_needed > len(spare):
            continue
        moved = np.concatenate([moved, spare[: max(0, n_needed)]])
        left = combination_of_row[moved]
        np.subtract.at(sizes, left[left >= 0], 1)
        combination_of_row[moved] = combination
        sizes[combination] += len(moved)


def _spared(
    rows: NDArray[np.int64], combination_of_row: NDArray[np.int64], sizes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the rows that their groups can spare, those of the largest groups first."""
    of_row = combination_of_row[rows]
    order = np.lexsort((rows, of_row, -sizes[of_row]))
    rows, of_row = rows[order], of_row[order]
    starts = np.flatnonzero(np.append(True, of_row[1:] != of_row[:-1])) if len(rows) else rows
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    can_go: NDArray[np.bool_] = rank < sizes[of_row] - k
    return rows[can_go]


def _first_covering(places: NDArray[np.int32], combinations: Combinations) -> NDArray[np.int64]:
    """Return each row's first combination; equal rows are looked up once."""
    n_values = [int(column.max(initial=0)) + 1 for column in places]
    order, starts = sort_into_runs(sort_key(list(places), n_values, places.shape[1]))
    sizes = np.diff(starts)
    found = first_covering(
        np.ascontiguousarray(places[:, order[starts[:-1]]]),
        np.ascontiguousarray(combinations.low),
        np.ascontiguousarray(combinations.high),
    )
    of_row = np.empty(places.shape[1], dtype=np.int64)
    of_row[order] = np.repeat(found, sizes)
    return of_row


def _test_groups(
    combination_of_row: NDArray[np.int64], n_combinations: int, conditions: Conditions
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many rows each combination has, and whether they meet the conditions."""
    sizes = _count_groups(combination_of_row, n_combinations)
    if conditions.is_size_only:
        return sizes, sizes >= conditions.k
    order, starts = sort_into_runs(combination_of_row)
    test = Validity(order, conditions.packed(len(combination_of_row)))
    is_valid = np.zeros(n_combinations, dtype=np.bool_)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        combination = int(combination_of_row[order[start]])
        if combination != NONE:
            is_valid[combination] = test.of_span(start, end)
    return sizes, is_valid


def _enough(
    unfit: NDArray[np.int64],
    combination_of_row: NDArray[np.int64],
    is_valid: NDArray[np.bool_],
    conditions: Conditions,
) -> NDArray[np.int64]:
    """Return the unfit rows with as few of the smallest groups as make one valid group of them.

    All rows where groups are held against the values of the whole: a part has another whole.
    """
    n_rows = len(combination_of_row)
    if any(column.t >= 0 for column in conditions.sensitive):
        return np.arange(n_rows)
    sizes = _count_groups(combination_of_row, len(is_valid))
    smallest_first = np.argsort(sizes, kind="stable")
    taken = unfit
    for combination in smallest_first[sizes[smallest_first] > 0]:
        if _is_valid_together(taken, conditions):
            break
        taken = np.sort(np.concatenate([taken, np.flatnonzero(combination_of_row == combination)]))
    return taken


def _is_valid_together(rows: NDArray[np.int64], conditions: Conditions) -> bool:
    part = conditions.take(rows)
    return Validity(np.arange(len(rows)), part.packed(len(rows))).of_span(0, len(rows))


def _read_combinations(path: Path, rows: Rows, rebase: tuple[str, ...]) -> Combinations:
    """Read a policy's combinations; those that these hierarchies have no nodes for are left out."""
    head, read = read_combinations(path)
    if set(head) != set(rows.names) or any(len(cells) != len(head) for cells in read):
        raise JobError(
            f"the policy is of other columns: {', '.join(head)}",
            remedy="State the same quasi-identifying columns, or leave --quasi out.",
        )
    labels = [[cells[head.index(name)] for cells in read] for name in rows.names]
    nodes = np.asarray(
        [
            [hierarchy.node_of_label.get(label, NONE) for label in column]
            for hierarchy, column in zip(rows.hierarchies, labels, strict=True)
        ],
        dtype=np.int32,
    ).reshape(rows.n_columns, len(read))
    is_known = (nodes != NONE).all(axis=0)
    nodes, trees = rebase_dates(nodes[:, is_known], rows, rebase), rows.hierarchies
    low = np.stack(
        [tree.leaf_spans[0][nodes[place]] for place, tree in enumerate(rows.hierarchies)]
    )
    high = np.stack(
        [tree.leaf_spans[1][nodes[place]] for place, tree in enumerate(rows.hierarchies)]
    )
    price = np.zeros(nodes.shape[1])
    for place, tree in enumerate(trees):
        price += (high[place] - low[place] - 1) / max(1, tree.n_leaves - 1)
    order = np.argsort(price, kind="stable")
    return Combinations(
        nodes[:, order], low[:, order], high[:, order], len(read), int((~is_known).sum())
    )
