"""The finding ``risk``: every measure of a release and, with its owner, of the original; for
tables and sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import JobError
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.sets.check import equal_rows
from incrowd.measures.options import RiskOptions
from incrowd.measures.people import people_of_release
from incrowd.measures.risk.measures import (
    Cells,
    column_contributions,
    estimate_uniqueness,
    match_population,
    risk_of_rows,
    summarize_risk,
    value_contributions,
)
from incrowd.sets.sets import Sets
from incrowd.tables.frames import as_table
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table

if TYPE_CHECKING:
    from incrowd.hierarchies.tree import Hierarchy


MOST_VALUES = 20
"""Values that a finding names; it ranks all of them."""


@dataclass(frozen=True, eq=False)
class _Request:
    """What every table is measured for."""

    options: RiskOptions
    quasi: tuple[str, ...]
    person: str | None
    population: Table | None
    with_values: bool


def risk_finding(
    released: Any,
    schema: Schema,
    options: RiskOptions | None = None,
    *,
    original: Any = None,
    original_row: NDArray[np.int64] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    population: Any = None,
    with_values: bool = True,
) -> Finding:
    """Measure the risk of a release, and of the original where its owner brings it.

    Tables may be frames. A population that the options name is read by the caller.

    ``original_row[released row]`` is needed where people have several rows. ``hierarchies`` say
    what a released cell stands for when it is held against a population. Public only where it is
    a function of the released file alone and no value is named.
    """
    released = as_table(released)
    original, population = (
        None if frame is None else as_table(frame) for frame in (original, population)
    )
    asked = _Request(options or RiskOptions(), schema.quasi, schema.person, population, with_values)
    released.require(schema.quasi, released.name)
    frame = released.frame
    people = people_of_release(released, schema, original, original_row)
    after = _measure_table(asked, frame, people, dict(hierarchies or {}))
    before = None
    if original is not None:
        original.require(schema.quasi, original.name)
        everybody = original.frame.column(schema.person) if schema.person else None
        # exact values are compared as texts: every one of them is a leaf, if it is placed at all
        before = _measure_table(asked, original.frame, everybody, {})
    figures = {
        "threshold": asked.options.threshold,
        "counts": "people" if people is not None else "rows",
        "quasi": list(schema.quasi),
        "release": after,
        "original": before,
    }
    depends = (original, population, asked.options.sampling_fraction)
    is_public = all(thing is None for thing in depends) and not with_values
    return Finding("risk", None, _summarize(figures), figures, is_public=is_public)


def _measure_table(
    asked: _Request,
    frame: pa.Table,
    people: pa.ChunkedArray | None,
    hierarchies: dict[str, Hierarchy],
) -> dict[str, Any]:
    threshold = asked.options.threshold
    cells = Cells.of(frame, asked.quasi, people)
    group_of_row = cells.groups()
    sizes = cells.sizes(group_of_row)
    risk = risk_of_rows(cells)
    prosecutor = summarize_risk(risk, threshold)
    prosecutor["n_unique"] = int((sizes == 1).sum())
    figures: dict[str, Any] = {
        "n_rows": cells.n_rows,
        "n_groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "prosecutor": prosecutor,
        "journalist": None,
        "marketer": {"rate": prosecutor["mean"], "against": "the file itself"},
        "columns": column_contributions(cells, threshold),
        "values": value_contributions(cells, threshold, MOST_VALUES) if asked.with_values else None,
        "uniqueness": None,
    }
    if asked.population is not None:
        figures |= _measure_against_population(asked, frame, group_of_row, hierarchies)
    if asked.options.sampling_fraction is not None:
        figures["uniqueness"] = estimate_uniqueness(sizes, asked.options.sampling_fraction)
    return figures


def _measure_against_population(
    asked: _Request,
    frame: pa.Table,
    group_of_row: NDArray[np.int64],
    hierarchies: dict[str, Hierarchy],
) -> dict[str, Any]:
    """Return the journalist's and the marketer's risk against the population."""
    assert asked.population is not None
    against = match_population(frame, asked.quasi, asked.population, hierarchies, asked.person)
    n_fitting = against.n_fitting
    fits_somebody = n_fitting > 0
    risk = 1.0 / n_fitting[fits_somebody]
    n_rows_of_group = np.bincount(group_of_row)[group_of_row] if len(group_of_row) else n_fitting
    journalist = summarize_risk(risk, asked.options.threshold) | {
        "k_map": int(n_fitting[fits_somebody].min()) if fits_somebody.any() else 0,
        "n_population": against.n_population,
        "columns": list(against.columns),
        "compared_by_text": list(against.by_text),
        "n_unplaced_cells": against.n_unplaced,
        "n_rows_fitting_nobody": int((~fits_somebody).sum()),
        # the population is not a whole one where it has fewer people than the release
        "n_rows_in_short_groups": int((n_fitting < n_rows_of_group).sum()),
    }
    rate = float(risk.sum() / len(n_fitting)) if len(n_fitting) else 0.0
    return {
        "journalist": journalist,
        "marketer": {"rate": rate, "against": "the population"},
    }


def _summarize(figures: dict[str, Any]) -> str:
    """Return one sentence, without any value of the data."""
    after, before = figures["release"], figures["original"]
    prosecutor = after["prosecutor"]
    told = (
        f"a known {'person' if figures['counts'] == 'people' else 'row'} is found with "
        f"{prosecutor['mean']:.4g} on average, at most {prosecutor['highest']:.4g}"
    )
    if before is not None:
        was = before["prosecutor"]
        told += f" (original: {was['mean']:.4g}, {was['highest']:.4g})"
    told += f"; {prosecutor['share_above']:.2%} of the rows are above {figures['threshold']:g}"
    journalist = after["journalist"]
    if journalist is None:
        told += "; journalist's risk: unknown without a population"
    else:
        told += (
            f"; against the population {journalist['mean']:.4g} on average, at most "
            f"{journalist['highest']:.4g}"
        )
        if journalist["n_rows_fitting_nobody"]:
            told += f" ({journalist['n_rows_fitting_nobody']} rows fit nobody in it)"
    estimated = after["uniqueness"]
    if estimated is not None:
        chosen = estimated["estimates"][estimated["chosen"]]
        told += (
            f"; estimated {chosen['share']:.2%} of the population unique ({estimated['chosen']})"
        )
    if after["columns"] and after["columns"][0]["mean_falls_by"] > 0:
        told += f"; coarsening {after['columns'][0]['column']} helps most"
    return told


# The finding ``risk`` of released sets: rows with equal sets are a group.

MOST_ITEMS = 20


def set_risk_finding(
    released: Sets, options: RiskOptions | None = None, *, original: Sets | None = None
) -> Finding:
    """Measure the risk of released sets, and of the original ones where their owner brings them.

    The attacker knows a whole set. Rows of transactions with rules are groups in the same way,
    though their promise is another.
    """
    options = options or RiskOptions()
    if options.population is not None:
        raise JobError(
            "--population is a table, and this release is one of sets",
            remedy="Leave it out: sets are held against the original only.",
        )
    figures: dict[str, Any] = {
        "threshold": options.threshold,
        "counts": "rows",
        "quasi": [],
        "release": _measure_sets(released, options),
        "original": None if original is None else _measure_sets(original, options),
    }
    after, before = figures["release"]["prosecutor"], figures["original"]
    told = f"a known set is found with {after['mean']:.4g} on average, at most "
    told += f"{after['highest']:.4g}"
    if before is not None:
        was = before["prosecutor"]
        told += f" (original: {was['mean']:.4g}, {was['highest']:.4g})"
    told += f"; {after['share_above']:.2%} of the rows are above {options.threshold:g}"
    return Finding("risk", None, told, figures, is_public=False)


def _measure_sets(sets: Sets, options: RiskOptions) -> dict[str, Any]:
    groups = equal_rows(sets)
    risk = 1.0 / groups.size[groups.group_of_row]
    prosecutor = summarize_risk(risk, options.threshold)
    prosecutor["n_unique"] = int((groups.size == 1).sum())
    fraction = options.sampling_fraction
    return {
        "n_rows": sets.n_rows,
        "n_groups": groups.n_groups,
        "smallest_group": int(groups.size.min()) if groups.n_groups else 0,
        "prosecutor": prosecutor,
        "journalist": None,
        "marketer": {"rate": prosecutor["mean"], "against": "the file itself"},
        "columns": [],
        "values": _items_at_risk(sets, risk > options.threshold),
        "uniqueness": None if fraction is None else estimate_uniqueness(groups.size, fraction),
    }


def _items_at_risk(sets: Sets, is_at_risk: np.ndarray[Any, np.dtype[np.bool_]]) -> list[Any]:
    """Return the items that rows above the threshold have, those of the most such rows first."""
    n_at_risk = int(is_at_risk.sum())
    if not n_at_risk:
        return []
    at_risk = np.repeat(is_at_risk, sets.sizes)
    n_rows = np.bincount(sets.items, minlength=sets.n_items)
    n_of_item = np.bincount(sets.items[at_risk], minlength=sets.n_items)
    first = np.argsort(-n_of_item, kind="stable")[:MOST_ITEMS]
    names = None if sets.item_names is None else sets.item_names.take(first).to_pylist()
    return [
        {
            "column": "item",
            "value": str(item) if names is None else str(names[place]),
            "n_rows": int(n_rows[item]),
            "n_at_risk": int(n_of_item[item]),
            "share_of_at_risk": int(n_of_item[item]) / n_at_risk,
            "share_at_risk": int(n_of_item[item]) / int(n_rows[item]),
        }
        for place, item in enumerate(first.tolist())
        if n_of_item[item]
    ]
