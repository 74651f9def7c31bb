"""What each column of a release became, in words: "decades, 16% suppressed"."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.errors import JobError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.specs import DEFAULT_DATE_UNITS, HierarchySpec
from incrowd.hierarchies.tree import STAR, Hierarchy

Counts = NDArray[np.int64]

UNCHANGED, EXACT, SUPPRESSED = "unchanged", "exact", "suppressed"
MOST_KINDS = 3
"""Kinds of cells that are named; rarer ones are told as "other"."""

LEAST_SHARE = 0.02
"""Kinds of cells below this share are told as "other"."""

N_SAMPLE_ROWS = 5

LEVELS_OF_TEMPLATE = {
    "icd10": ("categories", "blocks", "chapters"),
    "country": ("subregions", "regions"),
    "ages": ("bands of 5 years", "stages of life"),
    "isco": ("minor groups", "sub-major groups", "major groups"),
}
"""What the levels of a template's hierarchy are called, the finest first."""


@dataclass(frozen=True)
class ColumnOutcome:
    """A released column: what its cells show, and the shares that are unchanged or suppressed.

    ``loss`` is the share of the column's information that is lost, of 0 (as it was) to 1 (``*`` in
    every row); ``has_groups`` is False where a cell is shown as it was or not at all.
    """

    column: str
    words: str
    share_unchanged: float
    share_suppressed: float
    loss: float = 0.0
    has_groups: bool = True

    def __str__(self) -> str:
        return f"{self.column}: {self.words}"


def describe_outcome(column: str, hierarchy: Hierarchy, released: Counts) -> ColumnOutcome:
    """Return what became of a column; ``released[node]`` counts released cells by node.

    >>> ages = Hierarchy.from_ladder("age", [["1", "2", "3"], ["1-2", "1-2", "3"], ["*"] * 3])
    >>> str(describe_outcome("age", ages, np.array([0, 0, 1, 8, 1])))
    'age: level 1 of 2 (80%), unchanged (10%), 10% suppressed'
    """
    n_cells = int(released.sum())
    if not n_cells:
        return ColumnOutcome(column, "no rows", 0.0, 0.0)
    n_unchanged = int(released[: hierarchy.n_leaves].sum())
    n_suppressed = int(released[hierarchy.root])
    if hierarchy.mean_unit is not None:
        return ColumnOutcome(column, "means of groups", n_unchanged / n_cells, 0.0)
    counted: dict[str, int] = defaultdict(int)
    if n_unchanged:
        counted[UNCHANGED] = n_unchanged
    is_inner = np.arange(len(released)) >= hierarchy.n_leaves
    is_inner[hierarchy.root] = False
    nodes = np.flatnonzero(is_inner & (released > 0))
    if hierarchy.runs is not None:
        if len(nodes):
            counted[_describe_ranges(hierarchy, nodes, released[nodes])] = int(
                released[nodes].sum()
            )
    else:
        name_of = _namer(hierarchy)
        for node in nodes.tolist():
            counted[name_of(node)] += int(released[node])
    words = _join_kinds(counted, n_suppressed, n_cells)
    derivation = _stated_origin(hierarchy).derivation
    if derivation:
        words = f"{derivation}: {words.replace(UNCHANGED, EXACT)}"
    return ColumnOutcome(
        column,
        words,
        n_unchanged / n_cells,
        n_suppressed / n_cells,
        _loss_of_column(hierarchy, released),
        hierarchy.n_all_nodes > hierarchy.n_leaves + 1,
    )


def _loss_of_column(hierarchy: Hierarchy, released: Counts) -> float:
    """Return the column's part in ``loss``, from 0 to 1."""
    kept = cost_to_root(hierarchy, "loss")
    dearest = float(kept.max()) * int(released.sum())
    return 1.0 - math.fsum((released * kept).tolist()) / dearest if dearest > 0 else 0.0


def describe_released(column: str, cells: pa.ChunkedArray) -> ColumnOutcome:
    """Return what a column of a released file shows, where the original is not known."""
    found = factorize(cells)
    labels = found.values.to_pylist()
    counts = np.bincount(found.codes, minlength=found.n_codes)
    n_suppressed = sum(
        int(counts[place]) for place, label in enumerate(labels) if str(label) == STAR
    )
    share = n_suppressed / len(cells) if len(cells) else 0.0
    n_shown = sum(1 for label in labels if str(label) != STAR)
    words = f"{n_shown:,} {'value or range' if n_shown == 1 else 'values or ranges'}"
    if share == 1:
        words = SUPPRESSED
    elif share:
        words += f", {format_share(share)} {SUPPRESSED}"
    return ColumnOutcome(column, words, 0.0, share)


def format_share(share: float) -> str:
    """Return a share in whole percent; what is nearly nothing or nearly all says so.

    >>> [format_share(share) for share in (0, 0.002, 0.156, 0.999, 1)]
    ['0%', '<1%', '16%', '>99%', '100%']
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def choose_sample_rows(n_rows: int, n_wanted: int = N_SAMPLE_ROWS) -> list[int]:
    """Return places spread evenly over a release: its rows are sorted, so that the first are alike.

    >>> choose_sample_rows(100), choose_sample_rows(2)
    ([10, 30, 50, 70, 90], [0, 1])
    """
    n_chosen = min(n_rows, n_wanted)
    return [(2 * place + 1) * n_rows // (2 * n_chosen) for place in range(n_chosen)]


def _join_kinds(counted: dict[str, int], n_suppressed: int, n_cells: int) -> str:
    """Return the kinds of cells, the commonest first, with shares where there are several."""
    if not counted:
        return SUPPRESSED
    order = sorted(counted.items(), key=lambda kind: -kind[1])
    named = [
        kind
        for place, kind in enumerate(order)
        if place == 0 or (place < MOST_KINDS and kind[1] >= LEAST_SHARE * n_cells)
    ]
    n_other = n_cells - n_suppressed - sum(n for _, n in named)
    if len(named) == 1 and not n_other:
        words = [named[0][0]]
    else:
        words = [f"{name} ({format_share(n / n_cells)})" for name, n in named]
        words += [f"other ({format_share(n_other / n_cells)})"] if n_other else []
    if n_suppressed:
        words.append(f"{format_share(n_suppressed / n_cells)} {SUPPRESSED}")
    return ", ".join(words)


def _describe_ranges(hierarchy: Hierarchy, nodes: Counts, counts: Counts) -> str:
    """Return how wide the ranges are that cells show; those with an open end are not measured."""
    runs = hierarchy.runs
    assert runs is not None
    labels = hierarchy.all_labels
    is_closed = np.array([not labels[node].startswith(("<", ">=")) for node in nodes.tolist()])
    if not is_closed.any():
        return "open ranges"
    closed, weights = nodes[is_closed], counts[is_closed]
    spans = (runs.last[closed] - runs.first[closed] + 1) * _grid_step(hierarchy)
    order = np.argsort(spans, kind="stable")
    before = np.cumsum(weights[order])
    median = spans[order][np.searchsorted(before, before[-1] / 2)]
    low, high = spans.min(), spans.max()
    if low == high:
        return f"ranges of {low:g}"
    return f"ranges of {low:g} to {high:g}, median {median:g}"


def _grid_step(hierarchy: Hierarchy) -> float:
    """Return the width of a cell of a grid, as its origin states it."""
    widths = _parse_origin(hierarchy).widths
    return float(widths[0]) if widths else 1.0


def _namer(hierarchy: Hierarchy) -> Callable[[int], str]:
    """Return what names the level of an inner node, by how the hierarchy was made."""
    spec = _parse_origin(hierarchy)
    if spec.kind == "dates":
        units = spec.units or DEFAULT_DATE_UNITS
        return partial(_name_by_depth, hierarchy, tuple(f"{unit}s" for unit in units))
    if spec.kind == "intervals":
        return partial(
            _name_by_depth, hierarchy, tuple(f"ranges of {width:g}" for width in spec.widths)
        )
    if spec.kind in ("prefix", "postcode"):
        return partial(_name_prefix, hierarchy)
    if spec.kind in LEVELS_OF_TEMPLATE:
        return partial(_name_by_depth, hierarchy, LEVELS_OF_TEMPLATE[spec.kind])
    return partial(_name_level, hierarchy)


def _parse_origin(hierarchy: Hierarchy) -> HierarchySpec:
    """Return what groups a column, after it was derived."""
    stated = _stated_origin(hierarchy)
    return stated.number_spec if stated.is_derived else stated


def _stated_origin(hierarchy: Hierarchy) -> HierarchySpec:
    try:
        return HierarchySpec.parse(hierarchy.origin)
    except JobError:
        return HierarchySpec("auto")


def _name_by_depth(hierarchy: Hierarchy, names: tuple[str, ...], node: int) -> str:
    """Return the name of a node's level, counted from the root down."""
    depth = int(hierarchy.depth[node])
    return names[-depth] if 0 < depth <= len(names) else _name_level(hierarchy, node)


def _name_prefix(hierarchy: Hierarchy, node: int) -> str:
    kept = re.sub(r"\*+$", "", hierarchy.labels[node])
    if kept == hierarchy.labels[node]:
        return _name_level(hierarchy, node)
    noun = "digit" if kept.isdigit() else "character"
    return f"first {len(kept)} {noun}s" if len(kept) > 1 else f"first {noun}"


def _name_level(hierarchy: Hierarchy, node: int) -> str:
    return f"level {int(hierarchy.height[node])} of {int(hierarchy.height[hierarchy.root])}"
