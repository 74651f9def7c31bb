"""The released data at a glance: columns with their roles and what became of them, and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.checking.material import SetMaterial, TableMaterial
from incrowd.figures.blocks import Block, Cell, Listing, Section
from incrowd.figures.columns import ColumnChange
from incrowd.measures.outcomes import choose_sample_rows, describe_released
from incrowd.sets.names import item_names_of
from incrowd.tables.columns.normalize import as_written

MOST_COLUMNS_SHOWN = 12
MOST_COLUMNS_LISTED = 200
LONGEST_CELL = 100
MOST_ITEMS_SHOWN = 15


def table_section(
    material: TableMaterial,
    changes: Sequence[ColumnChange] = (),
    guarantee: Mapping[str, Any] | None = None,
) -> Section:
    """Return the columns of a table with their roles, and five of its rows.

    ``changes`` say what became of columns where the original is known; then columns that were
    removed are listed too.
    """
    frame = as_written(material.released)
    columns = _columns(material, changes) + _removed_columns(material, guarantee or {})
    blocks: list[Block] = [
        Listing(
            ("column", "role", "in the release"),
            tuple(columns[:MOST_COLUMNS_LISTED]),
            title="Columns",
            note=_count_left(len(columns) - MOST_COLUMNS_LISTED, "columns", "listed"),
        )
    ]
    if frame.num_rows:
        names = frame.column_names[:MOST_COLUMNS_SHOWN]
        places = choose_sample_rows(frame.num_rows)
        sample = frame.select(names).take(places)
        rows = tuple(tuple(_cell(value) for value in row.values()) for row in sample.to_pylist())
        n_left = frame.num_columns - len(names)
        blocks.append(
            Listing(
                tuple(names),
                rows,
                title=_count_rows(len(places), frame.num_rows, "rows"),
                note=_count_left(n_left, "columns", "shown"),
            )
        )
    return Section("data", "The released data", (), tuple(blocks))


def sets_section(material: SetMaterial) -> Section | None:
    """Return five of the released lists."""
    released = material.released
    if not released.n_rows:
        return None
    places = choose_sample_rows(released.n_rows)
    labels = [str(name) for name in item_names_of(released).to_pylist()]
    rows = []
    for place in places:
        items = released.items[released.starts[place] : released.starts[place + 1]].tolist()
        said = ", ".join(labels[item] for item in items[:MOST_ITEMS_SHOWN])
        n_left = len(items) - MOST_ITEMS_SHOWN
        rows.append(
            (f"{place + 1:,}", said + (f", {n_left} more" if n_left > 0 else ""), len(items))
        )
    listing = Listing(
        ("row", "items", "number of items"),
        tuple(rows),
        title=_count_rows(len(places), released.n_rows, "lists"),
    )
    return Section("data", "The released data", (), (listing,))


def _columns(material: TableMaterial, changes: Sequence[ColumnChange]) -> list[tuple[Cell, ...]]:
    roles = material.schema.roles
    outcome_of = {change.name: change.outcome.words for change in changes}
    rows: list[tuple[Cell, ...]] = []
    for name in material.released.frame.column_names:
        role = roles.get(name, "insensitive")
        if role != "quasi-identifying":
            words: str | None = "unchanged" if material.own is not None else None
        elif name in outcome_of:
            words = outcome_of[name]
        else:
            words = describe_released(name, material.released.frame.column(name)).words
        rows.append((name, role, words))
    return rows


def _removed_columns(
    material: TableMaterial, guarantee: Mapping[str, Any]
) -> list[tuple[Cell, ...]]:
    """Return the columns of the original that are not in the release, and why."""
    if material.own is None:
        return []
    schema = material.schema
    k_column = guarantee.get("parameters", {}).get("k_column")
    rows: list[tuple[Cell, ...]] = []
    for name in material.own.removed:
        role = "no role stated"
        if name in schema.identifying:
            role = "identifying"
        elif name == schema.person:
            role = "person"
        elif name == k_column:
            role = "k of each row"
        rows.append((name, role, "removed"))
    return rows


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _count_rows(n_shown: int, n_rows: int, noun: str) -> str:
    if n_shown == n_rows:
        return f"All {n_rows:,} {noun}"
    return f"{n_shown} of {n_rows:,} {noun}, spread over the file"


def _count_left(n_left: int, noun: str, verb: str) -> str:
    return f"{n_left:,} further {noun} are not {verb}." if n_left > 0 else ""
