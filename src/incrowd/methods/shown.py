"""Columns that are shown as they are or not at all: what a method that masks cells asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.data.schema import Schema
from incrowd.data.specs import HierarchySpec
from incrowd.errors import JobError

FLAT = "flat"


def with_flat(
    method: Any, schema: Schema, specs: Mapping[str, HierarchySpec], coded: Mapping[str, Any]
) -> dict[str, HierarchySpec]:
    """Return the hierarchies with ``flat`` for every column of a method that masks cells.

    Raises JobError where another is stated for such a column, and where the column is coded.
    """
    settled = dict(specs)
    for column in schema.quasi if getattr(method, "masks_cells", False) else ():
        if settled.setdefault(column, HierarchySpec(FLAT)).kind != FLAT:
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
