"""Which columns are read as dates and numbers, and of which the format must be known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incrowd.encoding.derived import reference_columns
from incrowd.encoding.personal_k import columns_of_rules
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.templates.table import TEMPLATES
from incrowd.job.inputs import InputOptions
from incrowd.tables.columns.normalize import StatedFormats, read_columns
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table

AS_WRITTEN = (
    *("file", "prefix"),
    *(name for name, template in TEMPLATES.items() if not template.is_numeric),
)
"""Hierarchies of a column's texts as they are written."""


@dataclass(frozen=True, eq=False)
class ReadingPlan:
    """Columns whose dates and numbers are read as such.

    ``names`` are looked at; of ``needed`` ones the format must be known, of ``lenient`` ones a
    value may be something else.
    """

    names: frozenset[str]
    needed: frozenset[str]
    lenient: frozenset[str]
    stated: StatedFormats = field(default_factory=StatedFormats)

    def read(self, table: Table) -> Table:
        """Return a table with canonical dates and numbers."""
        return read_columns(
            table, self.names, self.stated, needed=self.needed, lenient=self.lenient
        )


def plan_reading(
    schema: Schema,
    specs: Mapping[str, HierarchySpec],
    guarantee: TableGuarantee,
    options: InputOptions,
    *,
    coding: Mapping[str, Any] | None = None,
    bins: Mapping[str, int] | None = None,
    masks_cells: bool = False,
) -> ReadingPlan:
    """Return which columns are read as dates and numbers, by what is to be done with them."""
    kinds = {name: spec.kind for name, spec in specs.items()}
    references = reference_columns(specs)
    of_rules = columns_of_rules(guarantee.k_rules)
    names = {*schema.published, *references, *of_rules}
    names -= {name for name, kind in kinds.items() if kind in AS_WRITTEN}
    counted = {*(coding or {}), *(name for name, n_bins in (bins or {}).items() if n_bins)}
    needed = {*references, *of_rules, *counted}
    for name in schema.quasi:
        if kinds.get(name, "auto") != "flat" or masks_cells:
            needed.add(name)
    if (
        isinstance(guarantee, KAnonymity)
        and guarantee.t is not None
        and guarantee.t_kind != "equal"
    ):
        needed |= set(schema.sensitive)
    lenient = {name for name, spec in specs.items() if spec.missing == "suppress"}
    return ReadingPlan(
        frozenset(names), frozenset(needed & names), frozenset(lenient), options.stated_formats
    )
