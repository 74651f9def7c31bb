"""A table on an engine as a search sees it: its hierarchies, its distinct rows and how many there
are of each, and what conditions look at beside them, all from counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.encoding.coding import CodedView, add_coded_nodes, note_on_coding, refuse_uncodable
from incrowd.encoding.derived import (
    Counts,
    derive_frame,
    derived_specs,
    derived_type,
    judge_derived,
    name_derivations,
    reference_columns,
)
from incrowd.encoding.encode import encode_labels, nodes_of
from incrowd.encoding.personal_k import columns_of_rules, refuse_unknown_columns
from incrowd.encoding.rows import Rows
from incrowd.engines.base import N_ROWS, Blocks, OutOfCoreEngine
from incrowd.errors import unknown
from incrowd.flow.conditions import derive_conditions, sensitive_hierarchies_of
from incrowd.guarantees.table import TableGuarantee
from incrowd.hierarchies.builders import ColumnValues, hierarchy_of_values
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.column_readings import ReadingPlan
from incrowd.job.job import Job
from incrowd.job.preparation import plan_job_reading
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.fragments import content_key, sort_into_runs, sort_key
from incrowd.tables.columns.formats import ColumnReading, is_text
from incrowd.tables.columns.normalize import (
    DistinctCells,
    Readings,
    choose_reading,
    normalize_frame,
)
from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class SearchedRows:
    """Rows that differ in what a search sees, in the order of their content.

    There are ``n_of_row[row]`` of each, and ``conditions`` speak of one each.
    ``row_of_line[line]`` is where a distinct row of the table is among them.
    """

    rows: Rows
    n_of_row: NDArray[np.int64]
    conditions: Conditions
    row_of_line: NDArray[np.int64]

    def one_by_one(self) -> tuple[NDArray[np.int64], Rows, Conditions]:
        """Return every row by itself: where it is among these, its nodes, its conditions."""
        row = np.repeat(np.arange(self.rows.n_rows), self.n_of_row)
        nodes = np.repeat(self.rows.nodes, self.n_of_row, axis=1)
        conditions = replace(
            self.conditions.take(row), n_suppressible=self.conditions.n_suppressible
        )
        return row, Rows(self.rows.names, nodes, self.rows.hierarchies), conditions


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a table, as leaves, and how many rows equal each.

    Rows are told apart by their quasi-identifying cells and by the other cells that conditions
    look at: ``codes[place, row]`` is the number of the cell of column ``looked_at[place]`` among
    its sorted ``labels[place]``, or how many those are where it is missing. ``conditions`` speak
    of one row each.
    """

    rows: Rows
    n_of_row: NDArray[np.int64]
    notes: tuple[str, ...]
    readings: Readings
    view: CodedView
    """The rows as a search sees them, of which several may be equal."""

    conditions: Conditions
    looked_at: tuple[str, ...] = ()
    labels: tuple[pa.Array, ...] = ()
    codes: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32))
    sensitive_hierarchies: dict[str, Hierarchy] = field(default_factory=dict)

    @cached_property
    def searched(self) -> SearchedRows:
        """The rows that a search tells apart, and how many rows equal each."""
        seen = self.view.rows
        order, start = sort_into_runs(content_key(seen, self.conditions))
        first = order[start[:-1]]
        n_of_row = np.add.reduceat(self.n_of_row[order], start[:-1]) if len(order) else order
        row_of_line = np.empty(len(order), dtype=np.int64)
        row_of_line[order] = np.repeat(np.arange(len(first)), np.diff(start))
        conditions = self.conditions.take(first)
        return SearchedRows(
            Rows(seen.names, np.ascontiguousarray(seen.nodes[:, first]), seen.hierarchies),
            n_of_row.astype(np.int64),
            replace(conditions, n_suppressible=self.conditions.n_suppressible),
            row_of_line,
        )

    @property
    def n_all(self) -> int:
        """How many rows the table has."""
        return int(self.n_of_row.sum())

    @property
    def n_distinct(self) -> int:
        """How many combinations of quasi-identifying cells there are."""
        if not self.looked_at:
            return self.rows.n_rows
        sizes = [hierarchy.n_all_nodes for hierarchy in self.rows.hierarchies]
        return len(np.unique(sort_key(list(self.rows.nodes), sizes, self.rows.n_rows)))

    def counts_of_leaves(self) -> list[NDArray[np.int64]]:
        """Return, per column, how many rows hold each node."""
        return [
            np.bincount(nodes, weights=self.n_of_row, minlength=hierarchy.n_all_nodes).astype(
                np.int64
            )
            for nodes, hierarchy in zip(self.rows.nodes, self.rows.hierarchies, strict=True)
        ]


def columns_looked_at(job: Job) -> tuple[str, ...]:
    """Return the columns that conditions look at and that are not quasi-identifying."""
    guarantee = cast(TableGuarantee, job.guarantee)
    names = list(columns_of_rules(guarantee.k_rules))
    if guarantee.l is not None or guarantee.t is not None:
        names += job.schema.sensitive
    if guarantee.k_column:
        names.append(guarantee.k_column)
    return tuple(name for name in dict.fromkeys(names) if name not in job.schema.quasi)


def count_distinct_rows(
    engine: OutOfCoreEngine, blocks: Blocks, job: Job, where: str
) -> DistinctRows:
    """Count a table's values and distinct rows on its engine; encode those here.

    Raises as reading and encoding a table does.
    """
    quasi, specs, plan = job.schema.quasi, job.hierarchy_specs, plan_job_reading(job)
    rules = cast(TableGuarantee, job.guarantee).k_rules
    columns = engine.schema(blocks).names
    refuse_unknown_columns(rules, columns)
    looked_at = columns_looked_at(job)
    counted = engine.count(blocks, [*quasi, *looked_at])
    n_of_line = counted.column(N_ROWS).to_numpy()
    readings: dict[str, ColumnReading] = {}
    cells_of: dict[str, pa.Table] = {}
    for name in sorted((*quasi, *looked_at), key=columns.index):
        cells = counted.select([name]).append_column(N_ROWS, counted.column(N_ROWS))
        by_value = cells.group_by(name).aggregate([(N_ROWS, "sum")])
        spec = specs.get(name)
        if name in plan.names and not (spec and spec.is_derived):
            reading = _choose_reading(plan, where, name, by_value, job.input.missing_values)
            if reading is not None:
                readings[name] = reading
                by_value = normalize_frame(by_value, readings)
        cells_of[name] = by_value

    def values_of(name: str) -> ColumnValues:
        return ColumnValues.of_counts(
            f"{where}, column {name!r}",
            cells_of[name].column(name).combine_chunks(),
            cells_of[name].column(f"{N_ROWS}_sum").to_numpy(),
            job.input.missing_values,
        )

    read = normalize_frame(counted, readings)
    hierarchies, nodes = [], np.empty((len(quasi), counted.num_rows), dtype=np.int32)
    notes: list[str] = []
    for place, name in enumerate(quasi):
        spec = specs.get(name)
        grouped = spec.number_spec if spec and spec.is_derived else spec
        limits, values = job.coding.get(name), values_of(name)
        if limits is not None:
            refuse_uncodable(f"{where}, column {name!r}", values)
        hierarchy, said = hierarchy_of_values(name, values, grouped)
        if limits is not None:
            hierarchy = add_coded_nodes(hierarchy, limits)
        nodes[place] = nodes_of(read.column(name), hierarchy, where)
        hierarchies.append(hierarchy)
        notes += said
        if limits is not None:
            n_of_leaf = np.bincount(nodes[place], n_of_line, minlength=hierarchy.n_leaves)
            notes.append(note_on_coding(hierarchy, limits, n_of_leaf))
    texts = [encode_labels(counted.column(name)) for name in looked_at]
    codes = np.empty((len(looked_at), counted.num_rows), dtype=np.int32)
    for place, cells in enumerate(texts):
        codes[place] = np.where(cells.codes < 0, len(cells.texts), cells.codes)
    del counted
    # several values of a column may have one label, and so one leaf
    n_values = [tree.n_all_nodes for tree in hierarchies] + [
        len(cells.texts) + 1 for cells in texts
    ]
    order, start = sort_into_runs(sort_key([*nodes, *codes], n_values, len(n_of_line)))
    first = order[start[:-1]]
    n_of_row = np.add.reduceat(n_of_line[order], start[:-1]) if len(order) else n_of_line
    rows = Rows(quasi, np.ascontiguousarray(nodes[:, first]), name_derivations(hierarchies, specs))
    trees = sensitive_hierarchies_of(job, values_of)
    lines = Table(read.take(pa.array(first)), missing_values=job.input.missing_values, name=where)
    conditions = derive_conditions(job, lines, trees, n_of_row)
    return DistinctRows(
        rows,
        n_of_row.astype(np.int64),
        tuple(notes),
        readings,
        CodedView.of(rows, job.coding),
        conditions,
        looked_at,
        tuple(cells.texts for cells in texts),
        np.ascontiguousarray(codes[:, first]),
        trees,
    )


def _choose_reading(
    plan: ReadingPlan, where: str, name: str, by_value: pa.Table, tokens: tuple[str, ...]
) -> ColumnReading | None:
    """Return how a column of text is read, from its values and the number of rows of each."""
    values = by_value.column(name).combine_chunks()
    if not is_text(values.type):
        return None
    counts = by_value.column(f"{N_ROWS}_sum").to_numpy()
    found = DistinctCells(where, name, values, counts, tokens)
    return choose_reading(
        found, plan.stated, is_needed=name in plan.needed, is_lenient=name in plan.lenient
    )


# Dates that become ages or days where the rows lie.


@dataclass(frozen=True, eq=False)
class DeriveBlock:
    """Replace the dates of a block by ages or days; or count what does not fit."""

    derived: dict[str, HierarchySpec]
    readings: dict[str, ColumnReading]
    tokens: tuple[str, ...]
    counts_only: bool = False

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the block with its derived columns, or a line of counts for each."""
        dates = [*self.derived, *reference_columns(self.derived)]
        read = normalize_frame(block.select(list(dict.fromkeys(dates))), self.readings)
        derived, counts = derive_frame(read, self.derived, self.tokens)
        if self.counts_only:
            lines = [[name, *counts[name].numbers] for name in self.derived]
            return pa.table(list(zip(*lines, strict=True)), names=_FAULTS.names).cast(_FAULTS)
        for name in self.derived:
            place = block.column_names.index(name)
            block = block.set_column(place, name, derived.column(name))
        return block


_FAULTS = pa.schema([("column", pa.string()), *((f"n{n}", pa.int64()) for n in range(4))])


def derive_blocks(
    engine: OutOfCoreEngine, blocks: Blocks, job: Job, where: str
) -> tuple[Blocks, Readings, list[str]]:
    """Return rows with ages and days in place of dates, how the dates were read, and notes.

    Raises as ``derive_columns`` does.
    """
    derived, plan = derived_specs(job.hierarchy_specs), plan_job_reading(job)
    if not derived:
        return blocks, {}, []
    schema, tokens = engine.schema(blocks), job.input.missing_values
    dates = list(dict.fromkeys([*derived, *reference_columns(derived)]))
    readings = {}
    for name in dates:
        if name not in schema.names:
            raise unknown("column", name, schema.names, where="reference of a date")
        if is_text(schema.field(name).type):
            counted = engine.count(blocks, [name]).rename_columns([name, f"{N_ROWS}_sum"])
            reading = _choose_reading(plan, where, name, counted, tokens)
            if reading is not None:
                readings[name] = reading
    faults = engine.collect(
        engine.map_blocks(
            engine.select(blocks, dates), DeriveBlock(derived, readings, tokens, True), _FAULTS
        )
    )
    notes: list[str] = []
    for name, spec in derived.items():
        lines = faults.filter(pc.equal(faults.column("column"), name)).drop_columns(["column"])
        counts = Counts.of_numbers(sum(column.to_pylist()) for column in lines.columns)
        notes += judge_derived(where, name, spec, counts)
    returned = pa.schema(
        [
            pa.field(item.name, derived_type(item.type)) if item.name in derived else item
            for item in schema
        ]
    )
    made = engine.map_blocks(blocks, DeriveBlock(derived, readings, tokens), returned)
    return made, readings, notes
