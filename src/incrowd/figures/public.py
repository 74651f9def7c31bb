"""The page for publication: a function of the released file and of its certificate alone.

There is no “before” in it, no risk by value, no split that was refused and no time: whoever has
the release and the certificate can make the same page, and learns nothing new from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.figures.blocks import Cell, Facts, Page, Section, Unit
from incrowd.figures.columns import kept_section, shown_section
from incrowd.figures.groups import set_group_of_row, sizes_section, table_group_of_row
from incrowd.figures.item_lists import items_section, parts_section
from incrowd.figures.item_lists import sizes_section as list_sizes_section
from incrowd.figures.material import Material, TableMaterial
from incrowd.figures.owner import GROUPS, PARTS, page_title, promise_section
from incrowd.figures.record import findings_section
from incrowd.figures.words import joined

SCALARS: dict[str, tuple[str, Unit]] = {
    "loss": ("loss", "share"),
    "jaccard": ("Jaccard similarity", "number"),
    "suppressed": ("entries suppressed", "share"),
    "created": ("entries created", "share"),
    "are": ("average relative error of counts", "share"),
    "n_suppressed": ("rows left out", "count"),
}
"""All that may be told of the original: rounded beforehand, in the certificate."""


def public_page(certificate: Mapping[str, Any], material: Material) -> Page:
    """Return the page of a release for everybody; ``material`` must hold nothing of its owner."""
    if material.own is not None:
        raise ValueError("a public page is made without the owner's material")
    guarantee = dict(certificate["guarantee"])
    quasi = tuple(certificate.get("quasi", ()))
    sections: list[Section | None] = [
        promise_section(guarantee, quasi),
        findings_section(certificate["findings"]),
    ]
    k = guarantee.get("parameters", {}).get("k")
    if guarantee["name"] in GROUPS:
        promised = int(k) if isinstance(k, int) else None
        if isinstance(material, TableMaterial):
            group_of_row = table_group_of_row(material.released, material.schema)
            alike = joined(material.schema.quasi, 8)
        else:
            group_of_row, alike = set_group_of_row(material.released), "all their items"
        sections.append(sizes_section(group_of_row, promised, alike))
    if isinstance(material, TableMaterial):
        sections += [shown_section(material), kept_section(material)]
    else:
        sections += [
            list_sizes_section(material),
            parts_section(material) if guarantee["name"] in PARTS else items_section(material),
        ]
    sections.append(_record(certificate))
    return Page(
        title=page_title(guarantee),
        lead=_lead(certificate),
        sections=tuple(section for section in sections if section is not None),
        edition="public",
        verdict=bool(certificate["holds"]),
        highlights=_highlights(certificate, guarantee["name"]),
        data={"certificate": dict(certificate)},
    )


def _lead(certificate: Mapping[str, Any]) -> str:
    n_checks = sum(1 for finding in certificate["findings"] if finding["holds"])
    if not certificate["holds"]:
        return "The file does not keep what was promised."
    return (
        f"Promised: {certificate['guarantee'].get('claim', '')}. {n_checks} of the checks that "
        "were made can be made again by anybody who has the file."
    )


def _highlights(certificate: Mapping[str, Any], name: str) -> Facts:
    facts: list[tuple[str, Cell]] = [("rows", certificate["n_rows"])]
    if name in GROUPS and certificate.get("n_groups"):
        facts += [
            ("groups", certificate["n_groups"]),
            ("smallest group", certificate["smallest_group"]),
        ]
    units: dict[str, Unit] = {}
    for scalar, (said, unit) in SCALARS.items():
        value = certificate.get("scalars", {}).get(scalar)
        if value is not None:
            facts.append((said, value))
            units[said] = unit
    return Facts(tuple(facts), units=units)


def _record(certificate: Mapping[str, Any]) -> Section:
    method = certificate.get("method")
    facts: tuple[tuple[str, Cell], ...] = (
        ("release, SHA-256", certificate.get("release_sha256") or None),
        ("commitment to the input", certificate.get("input_commitment") or None),
        ("method", str(method["name"]) if isinstance(method, Mapping) else method),
        ("incrowd", certificate.get("incrowd_version")),
    )
    text = (
        "This page is made of the released file and of its certificate, and of nothing else. "
        "The commitment can be opened by the owner only; it tells nothing of the input by itself."
    )
    return Section("record", "On which bytes", (text,), (Facts(facts, title="Record"),))
