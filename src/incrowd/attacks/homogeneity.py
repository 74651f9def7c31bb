"""Homogeneity: somebody who has found a person's group learns what all in it have in common.

Everybody is counted and nothing is drawn. ``*`` and missing are no sensitive values: people whose
row shows none are not counted, and shares are of those who show one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.attacks.options import AttackOptions
from incrowd.attacks.rates import exact, told
from incrowd.codes import numbered
from incrowd.data.encoding import coded
from incrowd.data.fitting import numbered_rows
from incrowd.data.hierarchy import STAR
from incrowd.data.table import Table
from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding


def homogeneity(
    released: Table,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    options: AttackOptions,
    *,
    original: Table | None = None,
    people: pa.ChunkedArray | None = None,
    person: str | None = None,
) -> Finding:
    """Measure how many people's sensitive value their group gives away, for each such column.

    ``people`` says whose each released row is, where groups count people.
    """
    if not sensitive:
        raise InputError(
            "the attack 'homogeneity' is about a sensitive column, and none is stated",
            remedy="Name what nobody should learn of a person: --sensitive COLUMN.",
        )
    columns: dict[str, Any] = {}
    for name in sensitive:
        after = _measured(released, quasi, name, people, options.confidence)
        before = None
        if original is not None:
            everybody = original.frame.column(person) if person else None
            before = _measured(original, quasi, name, everybody, options.confidence)
        columns[name] = {"before": before, "after": after}
    figures = {
        "confidence": options.confidence,
        "counts": "rows" if people is None else "people",
        "columns": columns,
    }
    return Finding("attack: homogeneity", None, _told(figures), figures, is_public=original is None)


def _measured(
    table: Table,
    quasi: tuple[str, ...],
    sensitive: str,
    people: pa.ChunkedArray | None,
    confidence: float,
) -> dict[str, Any]:
    share = _share_of_own_value(table, quasi, sensitive, people)
    certain = share >= 1.0
    return {
        "certain": exact(certain.astype(np.float64)),
        "above": exact((share >= confidence).astype(np.float64)),
        "n_without_value": table.n_rows - len(share) if people is None else None,
    }


def _share_of_own_value(
    table: Table, quasi: tuple[str, ...], sensitive: str, people: pa.ChunkedArray | None
) -> NDArray[np.float64]:
    """Return, per row or (group, person, value), the share of its group that has that value."""
    cells = coded(table.frame.column(sensitive), (*table.missing_values, STAR))
    keys = []
    for name in quasi:
        codes = coded(table.frame.column(name))
        keys.append((codes.codes + np.int32(1), len(codes.texts) + 1))
    group = numbered_rows(keys, table.n_rows)
    is_shown = cells.codes >= 0
    group, value = group[is_shown], cells.codes[is_shown].astype(np.int64)
    n_values = max(1, len(cells.texts))
    if people is None:
        in_group = np.bincount(group)
        of_value = np.unique(group * n_values + value, return_inverse=True, return_counts=True)
        return np.asarray(of_value[2][of_value[1].reshape(-1)] / in_group[group])
    person = numbered(people).codes.astype(np.int64)[is_shown]
    n_people = int(person.max(initial=0)) + 1
    pairs = np.unique(group * n_people + person)
    in_group = np.bincount(pairs // n_people)
    kind = np.unique(group * n_values + value, return_inverse=True)[1].reshape(-1)
    # who: one entry for every value that a person shows in a group
    who, first = np.unique(kind * n_people + person, return_index=True)
    n_with = np.bincount(who // n_people)
    return np.asarray(n_with[who // n_people] / in_group[group[first]])


def _told(figures: dict[str, Any]) -> str:
    parts = []
    for name, found in figures["columns"].items():
        part = f"{name} is certain for {told(found['after']['certain'])}"
        if found["before"] is not None:
            part += f" (original: {told(found['before']['certain'])})"
        part += f", known with {figures['confidence']:.0%} for {told(found['after']['above'])}"
        parts.append(part)
    return "; ".join(parts) + f" of the {figures['counts']}"
