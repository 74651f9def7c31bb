"""The attacks that are asked for, each a finding that informs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.truth import prove_key
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.attacks.known_items import known_items_finding
from incrowd.measures.attacks.linkage import homogeneity_finding, linkage_finding
from incrowd.measures.attacks.sustained import sustained_finding
from incrowd.measures.options import (
    HOMOGENEITY,
    LINKAGE,
    OF_SETS,
    OF_TABLES,
    SUSTAINED,
    AttackOptions,
)
from incrowd.measures.people import people_of_release
from incrowd.sets.sets import Sets
from incrowd.tables.frames import as_table
from incrowd.tables.schema import Schema


def attack_findings(
    released: Any,
    schema: Schema,
    options: AttackOptions,
    *,
    original: Any = None,
    original_row: NDArray[np.int64] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> list[Finding]:
    """Carry out attacks on a released table, or frame.

    ``original_row[released row]`` is the key; it is proven before it is used. Raises InputError
    where an attack needs what only the owner has, and JobError for attacks on sets.
    """
    table = as_table(released)
    table.require([*schema.quasi, *schema.sensitive], table.name)
    _require_supported(options.attack, OF_TABLES, "tables")
    whole = None if original is None else as_table(original)
    if whole is not None:
        needed = [*schema.quasi, *schema.sensitive, *([schema.person] if schema.person else [])]
        whole.require(needed, whole.name)
    if whole is not None and original_row is not None:
        proof = prove_key(
            whole.frame, table.frame, original_row, schema.quasi, dict(hierarchies or {})
        )
        if not proof.holds:
            raise InputError(
                f"the key does not hold, so nobody can be attacked by it: {proof.summary}",
                remedy="Give the original and the key that belong to this release.",
            )
    findings = []
    for name in options.attack:
        if name == HOMOGENEITY:
            people = people_of_release(table, schema, whole, original_row)
            findings.append(
                homogeneity_finding(
                    table,
                    schema.quasi,
                    schema.sensitive,
                    options,
                    original=whole,
                    people=people,
                    person=schema.person,
                )
            )
            continue
        if whole is None or original_row is None:
            raise _missing_key_error(name)
        if name == LINKAGE:
            findings.append(
                linkage_finding(
                    table,
                    whole,
                    original_row,
                    schema.quasi,
                    options,
                    hierarchies,
                    schema.person,
                )
            )
        elif name == SUSTAINED:
            findings.append(sustained_finding(table, whole, original_row, schema.quasi, options))
    return findings


def set_attack_findings(
    released: Sets,
    options: AttackOptions,
    *,
    original: Sets | None = None,
    original_row: NDArray[np.int64] | None = None,
    original_item: NDArray[np.int64] | None = None,
    is_generalized: bool = False,
) -> list[Finding]:
    """Carry out attacks on released sets; raises as ``attack_findings`` does."""
    _require_supported(options.attack, OF_SETS, "sets")
    findings = []
    for name in options.attack:
        if original is None or original_row is None:
            raise _missing_key_error(name)
        if not np.array_equal(np.sort(original_row), np.arange(original.n_rows)):
            raise InputError(
                "the key does not name each original row once, so nobody can be attacked by it",
                remedy="Give the original and the key that belong to this release.",
            )
        findings.append(
            known_items_finding(
                released,
                original,
                original_row,
                options,
                original_item=original_item,
                is_generalized=is_generalized,
            )
        )
    return findings


def _require_supported(names: tuple[str, ...], possible: tuple[str, ...], kind: str) -> None:
    others = [name for name in names if name not in possible]
    if others:
        raise JobError(
            f"the attack {others[0]!r} is not one on {kind}",
            remedy=f"On {kind} there are: {', '.join(possible)}.",
        )


def _missing_key_error(name: str) -> InputError:
    return InputError(
        f"the attack {name!r} is carried out on known people: it needs the original and who is "
        "which row",
        remedy="State them: --original DATA with --key KEY or --aligned.",
    )
