"""Charts of a release at a glance: what each column lost, or a column before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incrowd.audit import Audit
from incrowd.checking.material import Material, SetMaterial, TableMaterial
from incrowd.errors import unknown
from incrowd.figures.blocks import Bars, Section, Steps
from incrowd.figures.columns import before_after_block, column_block, count_changes
from incrowd.figures.item_lists import entries_section, items_section, sizes_section
from incrowd.measures.outcomes import ColumnOutcome

SET_CHARTS = ("entries", "items", "sizes")
"""Charts of sets and transactions: entries kept and created, the commonest items, list sizes."""


def release_chart(audit: Audit, material: Material, what: str | None) -> Bars | Steps:
    """Return a chart of a release: of a column of a table, of a side of sets, or of all.

    Raises JobError where there is no such column or chart.
    """
    if isinstance(material, SetMaterial):
        return _set_chart(audit, material, what)
    return _losses_by_column(material) if what is None else _column_chart(material, what)


def outcome_chart(outcomes: Sequence[ColumnOutcome]) -> Bars:
    """Return which share of each column is as it was, and which is suppressed."""
    return Bars(
        "What each column became",
        tuple(each.column for each in outcomes),
        {
            "as it was": tuple(each.share_unchanged for each in outcomes),
            "suppressed": tuple(each.share_suppressed for each in outcomes),
        },
        unit="share",
        is_horizontal=True,
        y_title="column",
        note="What is neither was generalized.",
    )


def _losses_by_column(material: TableMaterial) -> Bars:
    assert material.own is not None
    lost = {change.name: change.loss("loss") for change in count_changes(material.own)}
    order = sorted(lost, key=lambda name: (-lost[name], name))
    return Bars(
        "What each column lost",
        tuple(order),
        {"loss": tuple(lost[name] for name in order)},
        unit="share",
        is_horizontal=True,
        y_title="column",
        note="0%: nothing was generalized; 100%: nothing of the column is left.",
    )


def _column_chart(material: TableMaterial, name: str) -> Bars | Steps:
    assert material.own is not None
    for change in count_changes(material.own):
        if change.name == name:
            return replace(before_after_block(change), title=f"{name}, before and after")
    released, original = material.released.frame, material.own.original.frame
    if name not in released.column_names:
        raise unknown("released column", name, released.column_names)
    before = original.column(name) if name in original.column_names else None
    title = f"{name}, before and after" if before is not None else name
    return column_block(released.column(name), title, before, material.released.missing_values)


def _set_chart(audit: Audit, material: SetMaterial, what: str | None) -> Bars | Steps:
    sections: dict[str, Section | None] = {
        "entries": entries_section(audit.losses),
        "items": items_section(material),
        "sizes": sizes_section(material),
    }
    drawn = {name: section for name, section in sections.items() if section is not None}
    if what is not None and what not in drawn:
        raise unknown("chart", what, drawn)
    chosen = drawn[what] if what is not None else next(iter(drawn.values()))
    return next(block for block in chosen.blocks if isinstance(block, (Bars, Steps)))
