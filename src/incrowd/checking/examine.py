"""The check of one released table, the same for a run's own release and for anyone's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.coding import Coding
from incrowd.encoding.encode import nodes_of
from incrowd.encoding.rows import Rows
from incrowd.engines.base import Engine
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.leaks import find_table_leaks
from incrowd.guarantees.tables.likeness import check_thresholds, measure
from incrowd.guarantees.tables.truth import check_coding, line_of_row, prove_key
from incrowd.hierarchies.means import covering_ranges
from incrowd.hierarchies.tree import Hierarchy
from incrowd.memory import return_free_memory
from incrowd.tables.columns.normalize import as_written
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table
from incrowd.threads import iter_in_threads

K_OF_ROW = "k(v)"
"""The column of personal k that rules state, beside the released columns."""


@dataclass(frozen=True)
class Owner:
    """What only the owner has: the original, who is which released row, the hierarchies.

    ``original_row[released row]`` numbers the original's rows from 0; None where nobody knows.
    ``k_of_row`` is each original row's own k where rules state it. ``attribute_of_bit`` has all
    bits of the original, released or not, where columns are bits.
    """

    original: Table
    original_row: NDArray[np.int64] | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    keeps_order: bool = False
    k_of_row: NDArray[np.int32] | None = None
    attribute_of_bit: Mapping[str, int] = field(default_factory=dict)


def examine(
    released: Table,
    schema: Schema,
    guarantee: TableGuarantee,
    engine: Engine,
    *,
    owner: Owner | None = None,
    sensitive_hierarchies: Mapping[str, Hierarchy] | None = None,
    accepted: tuple[str, ...] = (),
    thresholds: Mapping[str, float] | None = None,
    measures: bool = False,
    codings: Mapping[str, Coding] | None = None,
) -> list[Finding]:
    """Check a released table for its guarantee, for leaks and, with the owner, for truth.

    ``thresholds`` hold for further models (alpha, beta, enhanced_beta, delta); ``measures`` adds
    what the file achieves under every model. No value beyond the limits of ``codings`` may be
    shown.
    """
    findings: list[Finding] = []
    evidence_frame, original = released.frame, None
    k_column = guarantee.k_column
    if owner is not None and owner.original_row is not None:
        hierarchies = dict(owner.hierarchies or {})
        proof = prove_key(
            owner.original.frame, released.frame, owner.original_row, schema.quasi, hierarchies
        )
        if not proof.holds:
            return [proof]
        findings.append(proof)
        return_free_memory()
        evidence_frame = _with_owner_columns(released.frame, schema, guarantee, owner)
        original = owner.original.frame.select(list(schema.quasi)).take(
            pa.array(owner.original_row)
        )
        if guarantee.k_rules:
            k_column = K_OF_ROW
    evidence = Evidence(
        engine=engine,
        blocks=engine.load(evidence_frame),
        n_rows=released.n_rows,
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        person=schema.person,
        k_column=k_column,
        missing_values=released.missing_values,
        sensitive_hierarchies=dict(sensitive_hierarchies or {}),
        frame=evidence_frame,
        original=original,
        n_originals=owner.original.n_rows if owner is not None else 0,
        attribute_of_bit=dict(owner.attribute_of_bit) if owner is not None else {},
    )
    findings = guarantee.check(evidence) + findings
    stated = dict(thresholds or {})
    findings += check_thresholds(
        evidence,
        stated.get("alpha"),
        stated.get("beta"),
        stated.get("enhanced_beta"),
        stated.get("delta"),
        stars=guarantee.stars,
        joint=guarantee.joint,
    )
    findings += [
        check_coding(name, released.frame.column(name), limits)
        for name, limits in (codings or {}).items()
    ]
    if measures:
        findings.append(_report_measures(evidence, guarantee))
    leaks = find_table_leaks(
        as_written(released),
        schema.quasi,
        schema.sensitive,
        schema.insensitive,
        original=as_written(owner.original) if owner else None,
        accepted=accepted,
    )
    if owner is not None and owner.keeps_order:
        leaks = [_if_order_is_unknown(finding) for finding in leaks]
    return findings + leaks


def _report_measures(evidence: Evidence, guarantee: TableGuarantee) -> Finding:
    figures = measure(
        evidence, stars=guarantee.stars, l=int(guarantee.l or 2), joint=guarantee.joint
    )
    words = [f"k {figures['k']}"]
    for column, achieved in figures["columns"].items():
        shown = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in achieved.items()
            if value is not None
        )
        words.append(f"{column}: {shown}")
    return Finding("measured", None, "; ".join(words), figures)


def encode_release(before: Rows, released: Table, original_row: NDArray[np.int64]) -> Rows:
    """Return the rows as the released file shows them, in the original's order.

    Rows that are not in the file are suppressed: every cell at its root.
    """
    nodes = np.empty_like(before.nodes)
    shown = released_nodes(before, released, original_row)
    for position, hierarchy in enumerate(before.hierarchies):
        nodes[position] = hierarchy.root
        nodes[position, original_row] = shown[position]
    is_suppressed = np.ones(before.n_rows, dtype=np.bool_)
    is_suppressed[original_row] = False
    return before.with_nodes(nodes, is_suppressed)


def released_nodes(
    before: Rows, released: Table, original_row: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return ``nodes[column, released row]`` as the released file shows them.

    A column that is not in the file is suppressed: every cell at its root. A mean counts as the
    least range that holds the numbers it is the mean of.
    """

    def of_column(position: int) -> NDArray[np.int32]:
        name, hierarchy = before.names[position], before.hierarchies[position]
        if name not in released.frame.column_names:
            return np.full(released.n_rows, hierarchy.root, dtype=np.int32)
        if hierarchy.mean_unit is not None:
            line = line_of_row(released.frame, before.names)
            return covering_ranges(hierarchy, before.nodes[position, original_row], line)
        return nodes_of(released.frame.column(name), hierarchy, released.name)

    nodes = np.empty((before.n_columns, released.n_rows), dtype=np.int32)
    for position, shown in enumerate(iter_in_threads(of_column, range(before.n_columns))):
        nodes[position] = shown
    return nodes


def _with_owner_columns(
    frame: pa.Table, schema: Schema, guarantee: TableGuarantee, owner: Owner
) -> pa.Table:
    rows = pa.array(owner.original_row)
    for name in (schema.person, guarantee.k_column):
        if name and name not in frame.column_names:
            frame = frame.append_column(name, owner.original.frame.column(name).take(rows))
    if guarantee.k_rules:
        if owner.k_of_row is None:
            raise ValueError("rules state each person's k, and the owner brings none")
        frame = frame.append_column(K_OF_ROW, pa.array(owner.k_of_row).take(rows))
    return frame


def _if_order_is_unknown(finding: Finding) -> Finding:
    if finding.name != "row order":
        return finding
    summary = "rows keep the original's order: holds if the order is unknown"
    return replace(finding, holds=None, summary=summary)
