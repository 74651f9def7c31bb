"""A release at a glance: what each column became, or what became of lists, and a few of its rows.

Everything shown is of the released file or a share of it: it may be shown where the release may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.outcomes import (
    ColumnOutcome,
    choose_sample_rows,
    describe_outcome,
    format_share,
)
from incrowd.sets.sets import Sets
from incrowd.tables.columns.types import labels_of
from incrowd.tables.schema import Schema

Counts = NDArray[np.int64]

MOST_ITEMS = 8
"""Items of a list that are shown; the others are counted."""


@dataclass(frozen=True)
class Overview:
    """What each column of a release became, and a few rows spread over it.

    Of sets and transactions ``outcomes`` are about their entries and items, and ``rows`` are lists.
    """

    outcomes: tuple[ColumnOutcome, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def overview_of_table(
    schema: Schema,
    hierarchies: Sequence[Hierarchy],
    released_nodes: Sequence[Counts],
    columns: Sequence[str],
    sample: pa.Table | None,
) -> Overview:
    """Return the overview of a released table.

    ``released_nodes[column][node]`` counts the released cells of each quasi-identifying column;
    ``sample`` is the release or a part of it, of which a few rows are shown.
    """
    generalized = {
        hierarchy.name: describe_outcome(hierarchy.name, hierarchy, counts)
        for hierarchy, counts in zip(hierarchies, released_nodes, strict=True)
    }
    outcomes = []
    for name in columns:
        if name in generalized:
            outcomes.append(generalized[name])
        else:
            role = "sensitive" if name in schema.sensitive else "insensitive"
            outcomes.append(ColumnOutcome(name, f"unchanged ({role})", 1.0, 0.0))
    rows: list[tuple[str, ...]] = []
    if sample is not None and sample.num_rows:
        chosen = sample.select(list(columns)).take(choose_sample_rows(sample.num_rows))
        shown = [labels_of(chosen.column(name)).to_pylist() for name in columns]
        rows = [
            tuple("" if cell is None else cell for cell in row) for row in zip(*shown, strict=True)
        ]
    return Overview(tuple(outcomes), tuple(columns), tuple(rows))


def count_fragments(
    hierarchies: Sequence[Hierarchy], nodes: NDArray[np.int32], n_of_group: Counts
) -> list[Counts]:
    """Return released cells by node from groups and their sizes."""
    return [
        np.bincount(of_column, weights=n_of_group, minlength=hierarchy.n_all_nodes).astype(np.int64)
        for hierarchy, of_column in zip(hierarchies, nodes, strict=True)
    ]


def overview_of_sets(released: Sets, losses: Mapping[str, float]) -> Overview:
    """Return the overview of released lists: which entries are kept, lost and new."""
    suppressed, created = losses.get("suppressed"), losses.get("created")
    outcomes = []
    if suppressed is not None and created is not None:
        words = f"{format_share(1 - suppressed)} kept, {format_share(suppressed)} suppressed"
        words += f"; {format_share(created)} more were added" if created else ", none added"
        outcomes.append(ColumnOutcome("entries", words, 1 - suppressed, suppressed))
    n_shown = len(np.unique(released.items)) if released.n_entries else 0
    n_empty = int((released.sizes == 0).sum())
    mean = released.n_entries / max(1, released.n_rows)
    lists = f"{mean:.1f} items on average"
    lists += f", {format_share(n_empty / released.n_rows)} empty" if n_empty else ""
    outcomes.append(ColumnOutcome("lists", lists, 0.0, 0.0))
    outcomes.append(ColumnOutcome("items", f"{n_shown:,} are still shown", 0.0, 0.0))
    return Overview(tuple(outcomes), ("list",), _sample_lists(released))


def overview_of_transactions(released: Sets, losses: Mapping[str, float]) -> Overview:
    """Return the overview of transactions: which public items are shown as they are."""
    share = losses.get("share_ungeneralized", 0.0)
    words = f"{format_share(share)} of the public items unchanged"
    if share < 1:
        size, largest = losses.get("mean_part_size"), losses.get("largest_part")
        words += f", {format_share(1 - share)} shown as one of several"
        if size is not None and largest is not None:
            words += f" (a shown item stands for {size:.1f} on average, {largest:.0f} at most)"
    outcome = ColumnOutcome("items", words, share, 0.0)
    return Overview((outcome,), ("transaction",), _sample_lists(released))


def _sample_lists(released: Sets) -> tuple[tuple[str, ...], ...]:
    names = None if released.item_names is None else released.item_names
    rows = []
    for row in choose_sample_rows(released.n_rows):
        items = released.items[released.starts[row] : released.starts[row + 1]]
        shown = items[:MOST_ITEMS].tolist()
        texts = [str(item if names is None else names[item].as_py()) for item in shown]
        if len(items) > MOST_ITEMS:
            texts.append(f"… {len(items) - MOST_ITEMS:,} more")
        rows.append((" ".join(texts) or "(empty)",))
    return tuple(rows)
