"""What is done to a table before it is encoded: dates become ages or days, numbers are cut into
bins, columns into bits.

Everything later, the audit included, is about the prepared table: a released row is held against
the prepared row of the same person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.bins import bin_columns, propose_bins
from incrowd.encoding.derived import derive_columns, reference_columns
from incrowd.encoding.encode import encode
from incrowd.encoding.one_hot import SET_BIT, encode_one_hot
from incrowd.encoding.rows import Rows
from incrowd.guarantees.table import TableGuarantee
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.column_readings import ReadingPlan, plan_reading
from incrowd.job.job import Job
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.shown_columns import FLAT
from incrowd.tables.files.read import count_formula_cells
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as it is searched and audited, and the schema of its columns.

    Where columns are bits, ``attribute_of_bit`` says of which attribute, and ``attributes`` is the
    table before it was cut into bits.
    """

    table: Table
    schema: Schema
    hierarchies: Mapping[str, HierarchySpec]
    bins: Mapping[str, int]
    attribute_of_bit: Mapping[str, int] = field(default_factory=dict)
    attributes: Prepared | None = None
    notes: tuple[str, ...] = ()

    @property
    def attribute_of_column(self) -> NDArray[np.int64] | None:
        """Which attribute each quasi-identifying column is a bit of; None where none is."""
        if not self.attribute_of_bit:
            return None
        return np.array([self.attribute_of_bit[bit] for bit in self.schema.quasi], dtype=np.int64)


def prepare(job: Job, table: Table) -> Prepared:
    """Return a job's table as its method takes it.

    A method that masks cells has numbers with many values cut into bins, unless the job says
    otherwise; what was decided is in ``bins``, for the job that repeats this.
    """
    bins = dict(job.bins)
    method = cast(TableMethod, job.method)
    table, specs, notes = derive_columns(table, job.hierarchy_specs)
    if method.masks_cells:
        bins |= propose_bins(table, job.schema.quasi, bins)
    prepared = prepare_table(table, job.schema, bins, specs, is_bit=method.masks_bits)
    return replace(prepared, notes=(*notes, *prepared.notes))


def plan_job_reading(job: Job) -> ReadingPlan:
    """Return which columns of a job's table are read as dates and numbers."""
    return plan_reading(
        job.schema,
        job.hierarchy_specs,
        cast(TableGuarantee, job.guarantee),
        job.input,
        coding=job.coding,
        bins=job.bins,
        masks_cells=cast(TableMethod, job.method).masks_cells,
    )


def prepare_table(
    table: Table,
    schema: Schema,
    bins: Mapping[str, int],
    hierarchies: Mapping[str, HierarchySpec] | None = None,
    *,
    is_bit: bool = False,
) -> Prepared:
    """Return a table with ages and days, columns cut into bins and, with ``is_bit``, into bits."""
    table, specs, derived = derive_columns(table, hierarchies or {})
    table, binned = bin_columns(table, {name: count for name, count in bins.items() if count})
    attributes = Prepared(table, schema, specs, bins, notes=(*derived, *binned))
    if not is_bit:
        return attributes
    bits = encode_one_hot(table, schema.quasi)
    specs = {name: spec for name, spec in specs.items() if name not in schema.quasi}
    specs |= dict.fromkeys(bits.names, HierarchySpec(FLAT))
    return Prepared(
        bits.table,
        replace_quasi(schema, bits.names),
        specs,
        bins,
        dict(zip(bits.names, bits.attribute_of_name, strict=True)),
        attributes,
        attributes.notes,
    )


def without_unshown_bits(prepared: Prepared, after: Rows) -> tuple[Prepared, Rows]:
    """Leave out the bits of values that no row shows: their names alone would tell that they occur.

    Their columns are masked for everybody, and so are not written; who is compatible with whom
    never depended on a 1 there, and no longer depends on a 0.
    """
    nodes, kept = after.nodes.copy(), []
    for column, hierarchy in enumerate(after.hierarchies):
        if bool((nodes[column] == hierarchy.leaf_of_value[SET_BIT]).any()):
            kept.append(after.names[column])
        else:
            nodes[column] = hierarchy.root
    n_left_out = len(after.names) - len(kept)
    if not n_left_out:
        return prepared, after
    note = f"{n_left_out} bits of values that no row shows are left out"
    ready = replace(
        prepared,
        schema=replace_quasi(prepared.schema, tuple(kept)),
        notes=(*prepared.notes, note),
    )
    return ready, replace(after, nodes=nodes)


def decode_bits(prepared: Prepared, after: Rows) -> tuple[Prepared, Rows, Rows]:
    """Return attributes in place of masked bits: the table, its rows, and the rows as released.

    A cell is its value where the value's bit is shown as 1, else ``*``: also where shown zeros
    leave several values, or one, which a release of bits tells and this one does not. So whoever
    is compatible with a row of bits is compatible with the decoded row.
    """
    attributes = prepared.attributes
    if attributes is None:
        raise ValueError("columns are not bits")
    before, _ = encode(attributes.table, attributes.schema.quasi, attributes.hierarchies)
    is_shown = np.zeros(before.nodes.shape, dtype=np.bool_)
    for column, name in enumerate(after.names):
        is_one = after.nodes[column] == after.hierarchies[column].leaf_of_value[SET_BIT]
        is_shown[prepared.attribute_of_bit[name]] |= is_one
    root = np.array([hierarchy.root for hierarchy in before.hierarchies], dtype=np.int32)
    nodes = np.where(is_shown, before.nodes, root[:, None])
    return attributes, before, before.with_nodes(nodes, after.is_suppressed, after.trace)


def replace_quasi(schema: Schema, quasi: tuple[str, ...]) -> Schema:
    """Return a schema with other quasi-identifying columns."""
    return Schema(quasi, schema.sensitive, schema.insensitive, schema.identifying, schema.person)


def required_columns(job: Job) -> list[str]:
    """Return the columns that a job on a table names, which must be there."""
    withheld = [job.schema.person, cast(TableGuarantee, job.guarantee).k_column]
    named = [*job.schema.roles, *(name for name in withheld if name), *job.hierarchies]
    named += reference_columns(job.hierarchy_specs)
    return list(dict.fromkeys(named))


def notes_on_columns(job: Job, table: Table) -> list[str]:
    """Return what is worth saying of a table's columns: which go, and what stands out in them."""
    from incrowd.tables.identifiers import repeating_identifiers

    schema = job.schema
    notes = [*table.notes, *notes_on_removed(job, table.columns)]
    if not schema.person:
        for name in repeating_identifiers(table):
            notes.append(
                f"column {name!r} looks like an identifier and repeats: if it tells people apart, "
                f"say --person {name}, so that groups count people instead of rows"
            )
    for name, n_cells in count_formula_cells(table).items():
        if name in schema.published:
            notes.append(
                f"column {name!r}: {n_cells} cells would run as formulas in a spreadsheet; "
                "they are kept as they are"
            )
    return notes


def notes_on_removed(job: Job, columns: list[str]) -> list[str]:
    """Return which of a table's columns are not released, and which hierarchies are not used."""
    schema = job.schema
    notes = []
    withheld = {schema.person, cast(TableGuarantee, job.guarantee).k_column}
    unstated = [name for name in columns if name not in schema.roles and name not in withheld]
    removed = list(dict.fromkeys([*schema.identifying, *sorted(filter(None, withheld))]))
    if removed:
        notes.append(f"removed as stated: {', '.join(removed)}")
    if unstated:
        notes.append(f"removed, since no role is stated: {', '.join(unstated)}")
    for name in idle_hierarchies(job):
        role = schema.roles.get(name, "not released")
        notes.append(f"column {name!r} is {role}: its hierarchy is not used")
    return notes


def idle_hierarchies(job: Job) -> list[str]:
    """Return the columns that a hierarchy is stated for and that are never generalized."""
    used = (*job.schema.quasi, *job.schema.sensitive)
    return [name for name in job.hierarchies if name not in used]
