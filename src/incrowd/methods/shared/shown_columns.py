"""How a method's columns are shown: as means, or as they are or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.errors import JobError
from incrowd.hierarchies.specs import MEAN, HierarchySpec
from incrowd.methods.base import TableMethod
from incrowd.tables.schema import Schema


def with_means(
    method: TableMethod,
    schema: Schema,
    k: int,
    specs: Mapping[str, HierarchySpec],
    coded: Mapping[str, Any],
) -> dict[str, HierarchySpec]:
    """Return the hierarchies with ``mean`` for every column of a method that shows means.

    Raises JobError where another is stated for such a column, where the column is coded, where k
    is less than the method's least, and where ``mean`` is stated for any other column.
    """
    settled = dict(specs)
    shown = schema.quasi if method.shows_means else ()
    for column, spec in specs.items():
        if spec.grouping_kind == MEAN and column not in shown:
            raise JobError(
                f"column {column!r}: method {method.name!r} shows no means"
                if column in schema.quasi
                else f"column {column!r}: only quasi-identifying columns are shown as means",
                remedy="Use --method microaggregate, or state another hierarchy.",
            )
    for column in shown:
        settled[column] = settled.get(column, HierarchySpec(MEAN)).with_grouping(MEAN)
        if settled[column].grouping_kind != MEAN:
            raise JobError(
                f"column {column!r}: method {method.name!r} shows means, and its hierarchy is "
                f"{settled[column].kind!r}",
                remedy=f"Leave the hierarchy out or state {column}=mean, or use another method.",
            )
        if column in coded:
            raise JobError(
                f"column {column!r} is shown as means and has a coding",
                remedy="A mean has no limits: take the coding away, or use another method.",
            )
    if shown and k < method.least_k:
        raise JobError(
            f"method {method.name!r} needs a k of at least {method.least_k}: of a mean of two "
            "numbers each of the two people can tell the other's",
            remedy=f"State --k {method.least_k} or more.",
        )
    return settled


# ── columns that are shown as they are or not at all: what a method that masks cells asks for ─────

FLAT = "flat"


def with_flat(
    method: TableMethod,
    schema: Schema,
    specs: Mapping[str, HierarchySpec],
    coded: Mapping[str, Any],
) -> dict[str, HierarchySpec]:
    """Return the hierarchies with ``flat`` for every column of a method that masks cells.

    Raises JobError where another is stated for such a column, and where the column is coded.
    """
    settled = dict(specs)
    for column in schema.quasi if method.masks_cells else ():
        settled[column] = settled.get(column, HierarchySpec(FLAT)).with_grouping(FLAT)
        if settled[column].grouping_kind != FLAT:
            raise JobError(
                f"column {column!r}: method {method.name!r} shows a value or '*', and its "
                f"hierarchy is {settled[column].kind!r}",
                remedy="Leave the hierarchy out (numbers can be cut into --bins), "
                "or use another method.",
            )
        if column in coded:
            raise JobError(
                f"column {column!r}: method {method.name!r} shows a value or '*', and the column "
                "has a coding",
                remedy=f"Cut it into bins instead: --bins {column}=10.",
            )
    return settled
