"""The finding ``risk`` of released sets: rows with equal sets are a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.data.sets import Sets
from incrowd.errors import JobError
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.set_groups import equal_rows
from incrowd.risk.measures import summary
from incrowd.risk.options import RiskOptions
from incrowd.risk.uniqueness import uniqueness

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
        "release": _measured(released, options),
        "original": None if original is None else _measured(original, options),
    }
    after, before = figures["release"]["prosecutor"], figures["original"]
    told = f"a known set is found with {after['mean']:.4g} on average, at most "
    told += f"{after['highest']:.4g}"
    if before is not None:
        was = before["prosecutor"]
        told += f" (original: {was['mean']:.4g}, {was['highest']:.4g})"
    told += f"; {after['share_above']:.2%} of the rows are above {options.threshold:g}"
    return Finding("risk", None, told, figures, is_public=False)


def _measured(sets: Sets, options: RiskOptions) -> dict[str, Any]:
    groups = equal_rows(sets)
    risk = 1.0 / groups.size[groups.group_of_row]
    prosecutor = summary(risk, options.threshold)
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
        "uniqueness": None if fraction is None else uniqueness(groups.size, fraction),
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
