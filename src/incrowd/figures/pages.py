"""The owner's page, values included, and the public page, a function of the release and its
certificate alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.material import Material, SetMaterial, TableMaterial
from incrowd.figures.blocks import Block, Cell, Facts, Listing, Page, Section, Unit
from incrowd.figures.columns import (
    column_sections,
    count_changes,
    loss_section,
    released_section,
    unchanged_section,
)
from incrowd.figures.data import sets_section, table_section
from incrowd.figures.findings import finding_section
from incrowd.figures.groups import (
    ratio_shares,
    requested_sizes_section,
    set_group_of_row,
    sizes_section,
    table_group_of_row,
)
from incrowd.figures.item_lists import entries_section, items_section, parts_section, rules_section
from incrowd.figures.item_lists import sizes_section as list_sizes_section
from incrowd.figures.record import (
    describe_assumption,
    describe_promise,
    findings_section,
    join_names,
    losses_section,
    notes_section,
    repeat_section,
    technical_section,
    times_section,
)

GROUPS = ("k-anonymity", "smooth", "majority", "suppression")
"""Guarantees whose crowds are groups of equal rows."""

PARTS = ("rules", "km")
"""Guarantees that are kept by items that stand for several."""


@dataclass(frozen=True)
class Heading:
    """What stands above a report: the owner's title, words and date, and the files it is of."""

    title: str = ""
    note: str = ""
    date: str = ""
    data: str = ""
    released: str = ""

    def about(self, guarantee: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what the page is of, a phrase each."""
        files = [
            (self.data, f"original: {self.data}"),
            (self.released, f"release: {self.released}"),
        ]
        named = [said for name, said in files if name and name != self.title]
        dated = [format_date(self.date)] if self.date else []
        return (describe_guarantee(guarantee), *named, *dated)


def format_date(text: str) -> str:
    """Return a date in words; anything else as it is.

    >>> format_date("2026-11-08")
    '8 November 2026'
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)


def owner_page(
    audit: Audit, job_text: str | None, material: Material, heading: Heading | None = None
) -> Page:
    """Return the page of a release for its owner; without ``material.own`` that of any file.

    ``job_text`` is the job as TOML, None where there is none.
    """
    own, heading = material.own, heading or Heading()
    has_own_k = own is not None and own.k_of_row is not None
    findings = _plain_findings(audit)
    sections: list[Section | None] = [
        promise_section(audit.guarantee, audit.quasi, has_own_k=has_own_k),
        findings_section(findings),
    ]
    if isinstance(material, TableMaterial):
        sections += _table_sections(audit, material)
    else:
        sections += _set_sections(audit, material)
    sections += [
        finding_section(finding.name, finding.summary, finding.figures)
        for finding in audit.findings
    ]
    sections += [
        technical_section(findings),
        losses_section(audit.losses),
        times_section(audit),
        notes_section(audit.notes),
        repeat_section(audit, job_text, is_table=isinstance(material, TableMaterial)),
    ]
    return Page(
        title=heading.title or _default_title(heading, audit),
        lead=_lead(audit),
        sections=tuple(section for section in sections if section is not None),
        edition="owner",
        verdict=audit.holds,
        highlights=_highlights(audit),
        data={"audit": audit.to_dict()},
        about=heading.about(audit.guarantee),
        note=heading.note,
        warnings=audit.warnings,
    )


def _default_title(heading: Heading, audit: Audit) -> str:
    """Return what a page is called by the file it is of."""
    if heading.data:
        return f"Release of {heading.data}"
    return f"Release of {audit.n_rows:,} rows"


def describe_guarantee(guarantee: Mapping[str, Any]) -> str:
    """Return the promise in a few words.

    >>> describe_guarantee({"name": "k-anonymity", "parameters": {"k": 5, "l": 3.0}})
    'k-anonymity, k = 5, l = 3'
    """
    parameters = guarantee.get("parameters", {})
    stated = [
        f"{name} = {_format_parameter(parameters[name])}"
        for name in ("k", "l", "t", "m", "confidence", "epsilon")
        if parameters.get(name) is not None
    ]
    if parameters.get("k_column"):
        stated[0] = f"k of each row in column {parameters['k_column']}"
    return ", ".join([guarantee["name"], *stated])


def promise_section(
    guarantee: dict[str, Any], quasi: tuple[str, ...], *, has_own_k: bool = False
) -> Section:
    """Return the promise in plain words; what it rests on comes first, what it leaves open last."""
    promise = describe_promise(guarantee, has_own_k=has_own_k)
    parameters = guarantee.get("parameters", {})
    stated = tuple(
        (name.replace("_", " "), _format_parameter(value))
        for name, value in parameters.items()
        if value not in (None, "", (), [], {}, False) and _is_stated(name, parameters)
    )
    blocks: list[Block] = [
        Listing(
            ("what it does not stop",),
            tuple((said,) for said in promise.not_stopped),
            title="What it does not stop",
        ),
        Facts(stated, title="As it was stated"),
    ]
    text = (
        describe_assumption(guarantee, quasi),
        promise.plain,
        f"Against whom: {_lower_first(promise.attacker)}",
        f"Who can check it: {_lower_first(promise.who_can_check)}",
    )
    return Section("promise", "The promise", text, tuple(blocks))


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _is_stated(name: str, parameters: dict[str, Any]) -> bool:
    """Return whether a parameter is about something that was asked for."""
    if name in ("l_kind", "t_kind", "joint"):
        return parameters.get(name[0]) is not None
    return name != "c" or parameters.get("l_kind") == "recursive"


def _format_parameter(value: Any) -> Cell:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value)
    return str(value)


def _plain_findings(audit: Audit) -> list[dict[str, Any]]:
    return [asdict(finding) for finding in audit.findings]


def _lead(audit: Audit) -> str:
    broken = audit.broken
    if broken:
        reasons = "; ".join(f"{finding.name}: {finding.summary}" for finding in broken)
        return f"The released file does not keep what was promised. {reasons}."
    n_checks = sum(1 for finding in audit.findings if finding.holds)
    return (
        f"Promised: {audit.guarantee.get('claim', '')}. {n_checks} checks were made on the "
        "released file itself and all of them hold; what the promise does not stop is said below."
    )


def _highlights(audit: Audit) -> Facts:
    facts: list[tuple[str, Cell]] = [("rows released", audit.n_rows)]
    units: dict[str, Unit] = {}
    if audit.n_suppressed:
        facts.append(("rows left out", audit.n_suppressed))
    crowd = next((f for f in audit.findings if f.name == "mutual compatibility"), None)
    if crowd is not None and "smallest_crowd" in crowd.figures:
        facts.append(("smallest crowd", int(crowd.figures["smallest_crowd"])))
    elif audit.n_groups and audit.guarantee["name"] in GROUPS:
        facts += [("groups", audit.n_groups), ("smallest group", audit.smallest_group)]
    for name, said in (
        ("loss", "loss"),
        ("jaccard", "Jaccard similarity"),
        ("suppressed", "entries suppressed"),
        ("created", "entries created"),
        ("share_ungeneralized", "items unchanged"),
    ):
        if name in audit.losses:
            facts.append((said, audit.losses[name]))
            units[said] = "number" if name == "jaccard" else "share"
    return Facts(tuple(facts), units=units)


# ── what people look for ─────────────────────────────────────────────────────────────────────


def _group_sections(audit: Audit, material: Material) -> list[Section | None]:
    """Return sizes of groups, and what people got of the k they requested, where it differs."""
    name = audit.guarantee["name"]
    if name not in (*GROUPS, "adaptive"):
        return []
    k = audit.guarantee.get("parameters", {}).get("k")
    if isinstance(material, TableMaterial):
        group_of_row = table_group_of_row(material.released, material.schema)
        alike = join_names(material.schema.quasi, 8)
    else:
        group_of_row, alike = set_group_of_row(material.released), "all items"
    promised = int(k) if isinstance(k, int) and name != "adaptive" else None
    sections: list[Section | None] = [sizes_section(group_of_row, promised, alike)]
    own = material.own
    wished = (
        None if own is None or own.k_of_row is None else _wishes(own.k_of_row, own.original_row)
    )
    has_wishes = wished is not None and len(np.unique(wished)) > 1
    if name == "adaptive" and (has_wishes or wished is None):
        sections.append(_adaptive_section(audit))
    elif wished is not None and has_wishes:
        sections.append(requested_sizes_section(group_of_row, wished))
    return sections


def _wishes(k_of_row: NDArray[np.int32], original_row: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(k_of_row[original_row], dtype=np.int64)


def _adaptive_section(audit: Audit) -> Section | None:
    """Return achieved over requested crowds by each reading, as the audit counted them."""
    blocks: list[Block] = [
        ratio_shares(finding.name[:1].upper() + finding.name[1:], shares)
        for finding in audit.findings
        if (shares := finding.figures.get("achieved_over_wished"))
    ]
    if not blocks:
        return None
    text = (
        "The size of each person's crowd over the k they requested, by what is counted: 1 or more "
        "is what was promised. The groups above are merely rows that are written alike."
    )
    return Section("wishes", "Achieved against requested k", (text,), tuple(blocks))


def _table_sections(audit: Audit, material: TableMaterial) -> list[Section | None]:
    own, groups = material.own, _group_sections(audit, material)
    if own is None:
        data = table_section(material)
        return [data, *groups, released_section(material), unchanged_section(material)]
    changes = count_changes(own)
    data = table_section(material, changes, audit.guarantee)
    metric = audit.method.get("parameters", {}).get("metric")
    losses = loss_section(changes, metric) if changes else None
    columns = column_sections(changes, material)
    return [data, *groups, losses, *columns, unchanged_section(material)]


def _set_sections(audit: Audit, material: SetMaterial) -> list[Section | None]:
    own = material.own
    is_of_parts = audit.guarantee["name"] in PARTS
    return [
        sets_section(material),
        *_group_sections(audit, material),
        entries_section(audit.losses),
        list_sizes_section(material),
        parts_section(material) if is_of_parts else items_section(material),
        rules_section(own) if own is not None else None,
    ]


# The page for publication: a function of the released file and of its certificate alone.

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
    if isinstance(material, TableMaterial):
        sections.append(table_section(material))
    else:
        sections.append(sets_section(material))
    k = guarantee.get("parameters", {}).get("k")
    if guarantee["name"] in GROUPS:
        promised = int(k) if isinstance(k, int) else None
        if isinstance(material, TableMaterial):
            group_of_row = table_group_of_row(material.released, material.schema)
            alike = join_names(material.schema.quasi, 8)
        else:
            group_of_row, alike = set_group_of_row(material.released), "all items"
        sections.append(sizes_section(group_of_row, promised, alike))
    if isinstance(material, TableMaterial):
        sections += [released_section(material), unchanged_section(material)]
    else:
        sections += [
            list_sizes_section(material),
            parts_section(material) if guarantee["name"] in PARTS else items_section(material),
        ]
    sections += [technical_section(certificate["findings"]), _record(certificate)]
    words = certificate.get("report", {})
    heading = Heading(words.get("title", ""), words.get("note", ""), words.get("date", ""))
    return Page(
        title=heading.title or "Report of an anonymized release",
        lead=_public_lead(certificate),
        sections=tuple(section for section in sections if section is not None),
        edition="public",
        verdict=bool(certificate["holds"]),
        highlights=_public_highlights(certificate, guarantee["name"]),
        data={"certificate": dict(certificate)},
        about=heading.about(guarantee),
        note=heading.note,
    )


def _public_lead(certificate: Mapping[str, Any]) -> str:
    n_checks = sum(1 for finding in certificate["findings"] if finding["holds"])
    if not certificate["holds"]:
        return "The file does not keep what was promised."
    return (
        f"Promised: {certificate['guarantee'].get('claim', '')}. {n_checks} of the checks that "
        "were made can be made again by anybody who has the file."
    )


def _public_highlights(certificate: Mapping[str, Any], name: str) -> Facts:
    facts: list[tuple[str, Cell]] = [("rows", certificate["n_rows"])]
    if name in GROUPS and certificate.get("n_groups"):
        facts += [
            ("groups", certificate["n_groups"]),
            ("smallest group", certificate["smallest_group"]),
        ]
    units: dict[str, Unit] = {}
    for scalar, (said, unit) in SCALARS.items():
        value = certificate.get("scalars", {}).get(scalar)
        if certificate.get("quasi"):  # of tables, rows are suppressed and not entries
            said = said.replace("entries", "rows")
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
        "Only the owner can open the commitment; by itself it reveals nothing of the input."
    )
    blocks = (Facts(facts, title="Record"),)
    return Section("record", "On which bytes", (text,), blocks, is_appendix=True)
