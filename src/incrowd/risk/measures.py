"""Measures of the risk of being found: how large the groups are that people stand in.

A group is the rows that are equal, as written, in every quasi-identifying column; a row's risk is
one divided by how many rows, or people, its group has. Where a release counts crowds by
compatibility instead (stars as wildcards, adaptive), equal rows are at most the crowd, and the
risk is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.encoding import coded
from incrowd.data.fitting import numbered_rows


@dataclass(frozen=True, eq=False)
class Cells:
    """A table's columns as codes, ``codes[column][row]`` below ``n_codes[column]``.

    ``person_of_row`` numbers people where one may have several rows.
    """

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    labels: tuple[list[str], ...]
    n_rows: int
    person_of_row: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, frame: pa.Table, names: tuple[str, ...], person: pa.ChunkedArray | None) -> Cells:
        """Number the cells; a missing cell is a value, shown as the empty text."""
        codes, labels = [], []
        for name in names:
            cells = coded(frame.column(name))
            codes.append(cells.codes + np.int32(1))
            labels.append(["", *cells.labels])
        people = None
        if person is not None:
            people = coded(person).codes.astype(np.int64) + 1
        return cls(names, tuple(codes), tuple(labels), frame.num_rows, people)

    def groups(self, without: int | None = None) -> NDArray[np.int64]:
        """Number the groups; ``without`` is a column that is taken to show ``*`` everywhere."""
        columns = [
            (codes, len(self.labels[place]))
            for place, codes in enumerate(self.codes)
            if place != without
        ]
        return numbered_rows(columns, self.n_rows)

    def sizes(self, group_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows, or people, each group has."""
        if self.person_of_row is None:
            return np.bincount(group_of_row).astype(np.int64)
        n_people = int(self.person_of_row.max(initial=0)) + 1
        pairs = np.unique(group_of_row * n_people + self.person_of_row)
        return np.bincount(pairs // n_people).astype(np.int64)

    @property
    def counts(self) -> str:
        """What groups count."""
        return "rows" if self.person_of_row is None else "people"


def risk_of_rows(cells: Cells, without: int | None = None) -> NDArray[np.float64]:
    """Return every row's risk: one divided by the size of its group."""
    group_of_row = cells.groups(without)
    return 1.0 / cells.sizes(group_of_row)[group_of_row]


def summary(risk: NDArray[np.float64], threshold: float) -> dict[str, Any]:
    """Return the highest, mean and lowest risk, and how many rows are above the threshold."""
    if not len(risk):
        return dict.fromkeys(("highest", "mean", "lowest", "share_above"), 0.0) | {"n_above": 0}
    n_above = int((risk > threshold).sum())
    return {
        "highest": float(risk.max()),
        "mean": float(risk.mean()),
        "lowest": float(risk.min()),
        "share_above": n_above / len(risk),
        "n_above": n_above,
    }


def column_contributions(cells: Cells, threshold: float) -> list[dict[str, Any]]:
    """Return how far the measures fall if one column shows ``*`` everywhere, the largest first.

    Columns are ranked by the fall of the mean risk, then of the share above the threshold.
    """
    whole = summary(risk_of_rows(cells), threshold)
    found = []
    for place, name in enumerate(cells.names):
        left = summary(risk_of_rows(cells, place), threshold)
        found.append(
            {
                "column": name,
                "mean_without": left["mean"],
                "highest_without": left["highest"],
                "share_above_without": left["share_above"],
                "mean_falls_by": whole["mean"] - left["mean"],
                "share_above_falls_by": whole["share_above"] - left["share_above"],
            }
        )
    return sorted(found, key=lambda item: (-item["mean_falls_by"], -item["share_above_falls_by"]))


def value_contributions(cells: Cells, threshold: float, most: int) -> list[dict[str, Any]]:
    """Return the values that rows above the threshold have, those of the most such rows first.

    ``share_of_at_risk`` is which share of the rows at risk has the value, ``share_at_risk`` which
    share of the rows with the value is at risk.
    """
    is_at_risk = risk_of_rows(cells) > threshold
    n_at_risk = int(is_at_risk.sum())
    if not n_at_risk:
        return []
    found = []
    for name, codes, labels in zip(cells.names, cells.codes, cells.labels, strict=True):
        n_rows = np.bincount(codes, minlength=len(labels))
        n_of_value = np.bincount(codes[is_at_risk], minlength=len(labels))
        for code in np.argsort(-n_of_value, kind="stable")[:most].tolist():
            if n_of_value[code]:
                found.append(
                    {
                        "column": name,
                        "value": labels[code],
                        "n_rows": int(n_rows[code]),
                        "n_at_risk": int(n_of_value[code]),
                        "share_of_at_risk": int(n_of_value[code]) / n_at_risk,
                        "share_at_risk": int(n_of_value[code]) / int(n_rows[code]),
                    }
                )
    found.sort(key=lambda item: (-item["n_at_risk"], -item["share_at_risk"]))
    return found[:most]
