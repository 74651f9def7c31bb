"""Rows put on the released combinations of a policy, and what becomes of those that fit none."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled
from incrowd.encoding.rows import Rows, Trace
from incrowd.errors import InfeasibleError, InputError, JobError
from incrowd.methods.shared.conditions import LEFT_OUT, Validity, n_suppressible_of, put_back
from incrowd.methods.shared.fragments import search_rows, sort_into_runs, sort_key
from incrowd.methods.shared.recreate.table import search_table

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.methods.policy.method import Policy
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.progress import Progress


NONE = -1


@compiled
def first_lines(
    places: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return each row's first line whose every cell holds the row's; −1 where there is none.

    ``places[column, row]`` is where a row's leaf lies among the column's leaves in their order;
    a line's cell holds the places from ``low[column, line]`` to before ``high[column, line]``.
    O(rows · lines) in the worst case; most lines fail at their first cell.
    """
    n_columns, n_rows = places.shape
    n_lines = low.shape[1]
    found = np.full(n_rows, NONE, dtype=np.int64)
    for row in range(n_rows):
        for line in range(n_lines):
            column = 0
            while (
                column < n_columns
                and low[column, line] <= places[column, row]
                and places[column, row] < high[column, line]
            ):
                column += 1
            if column == n_columns:
                found[row] = line
                break
    return found


# Rows put on the lines of a policy, and what becomes of those that fit none.


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a policy among these rows' hierarchies, the cheapest first.

    ``low`` and ``high`` say which of a column's leaves, in their order, a line's cell holds.
    """

    nodes: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    n_unknown: int

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        return int(self.nodes.shape[1])

    def only(self, kept: NDArray[np.bool_]) -> Lines:
        """Return the lines that are kept."""
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
    """Show every row as the first line it fits whose rows are a valid group."""
    lines = _lines_of(Path(method.lines), rows)
    line_of_row, is_valid = _fit_rows(rows, lines, conditions)
    nodes = np.where(line_of_row >= 0, lines.nodes[:, line_of_row], rows.nodes)
    unfit = np.flatnonzero(line_of_row == NONE)
    figures: dict[str, int | float | str] = {
        "policy_lines": lines.n_lines + lines.n_unknown,
        "policy_lines_used": int(is_valid.sum()),
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
            "lines that would be a valid group here",
            remedy="Have those rows searched anew with --policy-unfit search, or left out with "
            "--suppression-limit.",
        )
    searched = _enough(unfit, line_of_row, is_valid, conditions)
    figures["searched_rows"] = len(searched)
    progress(f"searching {len(searched):,} rows anew", 0, 0)
    part = Rows(rows.names, np.ascontiguousarray(rows.nodes[:, searched]), rows.hierarchies)
    asked = conditions.take(searched)
    search = partial(search_table, conditions=asked, engine=engine, seed=seed, progress=progress)
    found = search_rows(part, asked, search, is_collapsed=asked.is_size_only)
    nodes[:, searched] = found.nodes
    return rows.with_nodes(nodes, trace=Trace(figures))


def _fit_rows(
    rows: Rows, lines: Lines, conditions: Conditions
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each row's line, −1 for none, and which lines have a valid group of rows."""
    places = np.stack(
        [
            hierarchy.leaf_order[rows.nodes[column]]
            for column, hierarchy in enumerate(rows.hierarchies)
        ]
    ).astype(np.int32)
    line_of_row = _first_lines(places, lines)
    is_valid = _valid_lines(line_of_row, lines.n_lines, conditions)
    first_of_row = line_of_row.copy()
    line_of_row[(line_of_row >= 0) & ~is_valid[line_of_row]] = NONE
    if conditions.is_size_only:
        # more rows make no group too small: rows of groups that were go where they fit besides
        again = np.flatnonzero((first_of_row >= 0) & (line_of_row == NONE))
        kept = np.append(np.flatnonzero(is_valid), NONE)
        line_of_row[again] = kept[_first_lines(places[:, again], lines.only(is_valid))]
        _fill_up(line_of_row, first_of_row, places, lines, conditions.k)
        is_valid = np.bincount(line_of_row[line_of_row >= 0], minlength=lines.n_lines) > 0
    return line_of_row, is_valid


def _fill_up(
    line_of_row: NDArray[np.int64],
    first_of_row: NDArray[np.int64],
    places: NDArray[np.int32],
    lines: Lines,
    k: int,
) -> None:
    """Make lines valid that unfit rows fit, by rows that fit them and that their groups can spare.

    The line that most unfit rows fit first comes first. O(lines of unfit rows · rows).
    """
    sizes = np.bincount(line_of_row[line_of_row >= 0], minlength=lines.n_lines)
    lacking = np.bincount(
        first_of_row[(line_of_row == NONE) & (first_of_row >= 0)], minlength=lines.n_lines
    )
    for line in np.argsort(-lacking, kind="stable")[: int((lacking > 0).sum())].tolist():
        is_held = ((lines.low[:, line, None] <= places) & (places < lines.high[:, line, None])).all(
            axis=0
        )
        moved = np.flatnonzero(is_held & (line_of_row == NONE))
        if not len(moved):
            continue
        spare = _spared(np.flatnonzero(is_held & (line_of_row >= 0)), line_of_row, sizes, k)
        n_needed = k - len(moved)
        if n_needed > len(spare):
            continue
        moved = np.concatenate([moved, spare[: max(0, n_needed)]])
        left = line_of_row[moved]
        np.subtract.at(sizes, left[left >= 0], 1)
        line_of_row[moved] = line
        sizes[line] += len(moved)


def _spared(
    rows: NDArray[np.int64], line_of_row: NDArray[np.int64], sizes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the rows that their groups can spare, those of the largest groups first."""
    of_row = line_of_row[rows]
    order = np.lexsort((rows, of_row, -sizes[of_row]))
    rows, of_row = rows[order], of_row[order]
    starts = np.flatnonzero(np.append(True, of_row[1:] != of_row[:-1])) if len(rows) else rows
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    can_go: NDArray[np.bool_] = rank < sizes[of_row] - k
    return rows[can_go]


def _first_lines(places: NDArray[np.int32], lines: Lines) -> NDArray[np.int64]:
    """Return each row's first line; equal rows are looked up once."""
    n_values = [int(column.max(initial=0)) + 1 for column in places]
    order, starts = sort_into_runs(sort_key(list(places), n_values, places.shape[1]))
    sizes = np.diff(starts)
    found = first_lines(
        np.ascontiguousarray(places[:, order[starts[:-1]]]),
        np.ascontiguousarray(lines.low),
        np.ascontiguousarray(lines.high),
    )
    of_row = np.empty(places.shape[1], dtype=np.int64)
    of_row[order] = np.repeat(found, sizes)
    return of_row


def _valid_lines(
    line_of_row: NDArray[np.int64], n_lines: int, conditions: Conditions
) -> NDArray[np.bool_]:
    """Return which lines' rows meet the conditions as a group."""
    order, starts = sort_into_runs(line_of_row)
    test = Validity(order, conditions.packed(len(line_of_row)))
    is_valid = np.zeros(n_lines, dtype=np.bool_)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        line = int(line_of_row[order[start]])
        if line != NONE:
            is_valid[line] = test.of_span(start, end)
    return is_valid


def _enough(
    unfit: NDArray[np.int64],
    line_of_row: NDArray[np.int64],
    is_valid: NDArray[np.bool_],
    conditions: Conditions,
) -> NDArray[np.int64]:
    """Return the unfit rows with as few of the smallest groups as make one valid group of them.

    All rows where groups are held against the values of the whole: a part has another whole.
    """
    n_rows = len(line_of_row)
    if any(column.t >= 0 for column in conditions.sensitive):
        return np.arange(n_rows)
    sizes = np.bincount(line_of_row[line_of_row >= 0], minlength=len(is_valid))
    taken = unfit
    for line in np.argsort(sizes, kind="stable"):
        if _is_valid_together(taken, conditions):
            break
        if sizes[line]:
            taken = np.sort(np.concatenate([taken, np.flatnonzero(line_of_row == line)]))
    return taken


def _is_valid_together(rows: NDArray[np.int64], conditions: Conditions) -> bool:
    part = conditions.take(rows)
    return Validity(np.arange(len(rows)), part.packed(len(rows))).of_span(0, len(rows))


def _lines_of(path: Path, rows: Rows) -> Lines:
    """Read a policy's lines; those with a cell that these hierarchies do not have are left out."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *read = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: the policy's lines cannot be read ({type(error).__name__})",
            remedy="Name a folder that run --save-policy made.",
        ) from None
    if set(head) != set(rows.names) or any(len(line) != len(head) for line in read):
        raise JobError(
            f"the policy is of other columns: {', '.join(head)}",
            remedy="State the same quasi-identifying columns, or leave --quasi out.",
        )
    labels = [[line[head.index(name)] for line in read] for name in rows.names]
    nodes = np.asarray(
        [
            [hierarchy.node_of_label.get(label, NONE) for label in column]
            for hierarchy, column in zip(rows.hierarchies, labels, strict=True)
        ],
        dtype=np.int32,
    ).reshape(rows.n_columns, len(read))
    is_known = (nodes != NONE).all(axis=0)
    nodes = nodes[:, is_known]
    spans = [_spans(tree, nodes[place]) for place, tree in enumerate(rows.hierarchies)]
    low = np.stack([first for first, _ in spans])
    high = np.stack([end for _, end in spans])
    price = np.zeros(nodes.shape[1])
    for place, tree in enumerate(rows.hierarchies):
        price += (high[place] - low[place] - 1) / max(1, tree.n_leaves - 1)
    order = np.argsort(price, kind="stable")
    return Lines(nodes[:, order], low[:, order], high[:, order], int((~is_known).sum()))


def _spans(tree: Hierarchy, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int32], ...]:
    """Return which places among the leaves, in their order, each node holds."""
    leaves = np.arange(tree.n_leaves, dtype=np.int32)
    distinct, number = np.unique(nodes, return_inverse=True)
    low = np.zeros(len(distinct), dtype=np.int32)
    high = np.zeros(len(distinct), dtype=np.int32)
    for place, node in enumerate(distinct):
        held = tree.leaf_order[tree.is_ancestor(np.full(tree.n_leaves, node, np.int32), leaves)]
        if len(held) and held.max() - held.min() + 1 == len(held):
            low[place], high[place] = held.min(), held.max() + 1
    return low[number], high[number]
