"""Whether a release keeps to its limits: no value below bottom or above top is shown."""

from __future__ import annotations

import numpy as np

from incrowd.data.coding import Coding
from incrowd.data.kinds import labels_of, parse_numbers
from incrowd.data.table import Table
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding


def check_coding(released: Table, column: str, limits: Coding) -> Finding:
    """Count the coded cells of a released column, and the values beyond its limits."""
    texts = labels_of(released.frame.column(column))
    below, above = limits.sides(parse_numbers(texts))
    beyond = np.flatnonzero(below | above)
    shown = texts.to_pylist()
    n_coded = {label: shown.count(label) for label in limits.labels if label}
    said = ", ".join(f"{n_cells} cells are {label}" for label, n_cells in n_coded.items())
    if len(beyond):
        said = f"{len(beyond)} cells show a value beyond the limits; {said}"
    return Finding(
        "coding",
        not len(beyond),
        f"column {column!r}: {said}",
        {
            "column": column,
            **limits.to_toml(),
            "n_coded": n_coded,
            "n_exposed": len(beyond),
        },
        tuple((beyond[:MOST_ROWS_NAMED] + 1).tolist()),
    )
