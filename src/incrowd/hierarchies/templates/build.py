"""Make the hierarchy of a column's values from a template."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import DataError, HierarchyError
from incrowd.hierarchies.templates.postcodes import countries_fitting
from incrowd.hierarchies.templates.table import TEMPLATES, Place
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.types import parse_numbers


def settle_variant(name: str, variant: str, column: str, labels: Sequence[str]) -> str:
    """Return the variant that is stated, or the only one that the values are written like."""
    template = TEMPLATES[name]
    if variant or not template.variants:
        return variant
    fitting = countries_fitting(labels)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        what = f"are written like those of several countries ({', '.join(fitting)})"
    else:
        what = "are not all written like those of one country"
    raise HierarchyError(
        f"column {column!r}: its {template.noun}s {what}",
        remedy=f"State the country: --hierarchy {column}={name}:{(fitting or ['DE'])[0]}, or group "
        f"leading characters: --hierarchy {column}=prefix.",
    )


def build_from_template(
    name: str,
    variant: str,
    column: str,
    labels: Sequence[str],
    counts: NDArray[np.int64],
    *,
    is_lenient: bool,
    origin: str,
) -> Hierarchy:
    """Return the hierarchy of the values; those that do not fit are refused.

    With ``is_lenient`` they go directly under the root. Labels of groups depend on nothing but the
    template, so that another batch of values gets the same ones; only where a group's label is
    also a value beside others it reads ``label (group)``.
    """
    template = TEMPLATES[name]
    place: Place = template.places[variant]
    order = list(range(len(labels)))
    numbers = parse_numbers(labels) if template.is_numeric else None
    if numbers is not None:
        order.sort(key=lambda leaf: (np.isnan(numbers[leaf]), numbers[leaf], labels[leaf]))
    else:
        order.sort(key=labels.__getitem__)
    paths = {labels[leaf]: place(labels[leaf]) for leaf in order}
    outside = [label for label, path in paths.items() if path is None]
    inside = [label for label, path in paths.items() if path is not None]
    if outside and not (is_lenient and inside):
        raise _unfit_error(name, variant, column, labels, counts, outside)
    ladder = _rename_shared([(label, *(paths[label] or ()), STAR) for label in inside])
    tree = Hierarchy.from_ladder(
        column,
        [list(level) for level in zip(*ladder, strict=True)],
        values=_numbers_of(inside) if template.is_numeric else None,
        origin=origin,
    )
    return tree.with_leaves(outside)


def _numbers_of(labels: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the numbers behind the leaves; None where one (90+) is none."""
    numbers = parse_numbers(labels)
    return None if np.isnan(numbers).any() else numbers


def _rename_shared(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the paths with groups renamed whose label is also that of one of several members."""
    members: dict[str, set[str]] = defaultdict(set)
    for leaf, *groups in paths:
        for label in groups[:-1]:
            members[label].add(leaf)
    leaves = {path[0] for path in paths}
    shared = {label for label in members if label in leaves and members[label] != {label}}
    if not shared:
        return paths
    return [
        (leaf, *(f"{label} (group)" if label in shared else label for label in groups))
        for leaf, *groups in paths
    ]


def _unfit_error(
    name: str,
    variant: str,
    column: str,
    labels: Sequence[str],
    counts: NDArray[np.int64],
    outside: list[str],
) -> DataError:
    stated = f"{name}:{variant}" if variant else name
    lost = set(outside)
    n_rows = int(sum(counts[leaf] for leaf, label in enumerate(labels) if label in lost))
    noun = TEMPLATES[name].noun + (f" of {variant}" if variant else "")
    values = "1 value is" if len(outside) == 1 else f"{len(outside):,} values are"
    return DataError(
        f"column {column!r}: {values} no {noun} ({n_rows:,} {'row' if n_rows == 1 else 'rows'})",
        remedy="If they mean missing, say so:  --missing-values '?,NA'.\n"
        f"Or put them directly under the root:  --hierarchy {column}={stated},missing=suppress.",
        examples=outside,
    )
