"""Which columns of a job show means: those of a method that makes them, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.data.schema import Schema
from incrowd.data.specs import MEAN, HierarchySpec
from incrowd.errors import JobError


def with_means(
    method: Any,
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
    shown = schema.quasi if getattr(method, "shows_means", False) else ()
    for column, spec in specs.items():
        if spec.kind == MEAN and column not in shown:
            raise JobError(
                f"column {column!r}: method {method.name!r} shows no means"
                if column in schema.quasi
                else f"column {column!r}: only quasi-identifying columns are shown as means",
                remedy="Use --method microaggregate, or state another hierarchy.",
            )
    for column in shown:
        if settled.setdefault(column, HierarchySpec(MEAN)).kind != MEAN:
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
