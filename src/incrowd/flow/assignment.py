"""Which released row each original row becomes, where rows stay on an engine: distinct rows
counted, looked up and generalized block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.codes import RowKey, canonical_order, stable_order
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
from incrowd.encoding.encode import nodes_of, shown_cells
from incrowd.encoding.rows import Rows
from incrowd.engines.base import N_ROWS, Blocks, Engine, OutOfCoreEngine
from incrowd.errors import EngineError, unknown
from incrowd.hierarchies.builders import ColumnValues, hierarchy_of_values
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.job.column_readings import ReadingPlan
from incrowd.job.job import Job
from incrowd.job.preparation import plan_job_reading
from incrowd.methods.shared.fragments import Fragments
from incrowd.tables.columns.formats import ColumnReading, is_text
from incrowd.tables.columns.normalize import (
    DistinctCells,
    Readings,
    choose_reading,
    normalize_frame,
    notes_on_readings,
)
from incrowd.tables.columns.types import labels_of


def assign_by_content(
    before: NDArray[np.int32], after: NDArray[np.int32], others: pa.Table
) -> NDArray[np.int32]:
    """Return ``after[column, row]`` with places traded among rows that a search took as equal.

    ``others`` are the released columns that are not generalized.
    """
    distinct, shown = _numbers(before), _numbers(after)
    rows = _shown_differently(distinct, shown)
    if not len(rows):
        return after
    by_content = np.arange(len(rows), dtype=np.int64)
    if others.num_columns:
        by_content = canonical_order(others.take(pa.array(rows)).combine_chunks())
    takers = rows[by_content[stable_order(distinct[rows][by_content])]]
    by_shown = stable_order(shown[rows])
    places = rows[by_shown[stable_order(distinct[rows][by_shown])]]
    assigned = after.copy()
    assigned[:, takers] = after[:, places]
    return assigned


def _shown_differently(distinct: NDArray[np.int64], shown: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows with equals that show something else, in ascending order."""
    order = stable_order(distinct)
    ordered = distinct[order]
    is_same_row = ordered[1:] == ordered[:-1]
    differs = is_same_row & (shown[order[1:]] != shown[order[:-1]])
    if not differs.any():
        return np.zeros(0, dtype=np.int64)
    run_of_place = np.concatenate([[0], np.cumsum(~is_same_row)])
    is_parted = np.zeros(int(run_of_place[-1]) + 1, dtype=np.bool_)
    is_parted[run_of_place[1:][differs]] = True
    return np.sort(order[is_parted[run_of_place]])


def _numbers(nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number per row that sorts rows by their nodes, the first column first."""
    key = RowKey(nodes.shape[1])
    for column in nodes:
        key.add(column, int(column.max(initial=0)) + 1)
    return key.numbers


# Where a row of nodes stands among known ones: rows as one number, found by halving.

_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Lookup:
    """Finds rows of nodes among those it was made of.

    ``prefixes[column]`` are the sorted numbers that the columns before it come to, where those
    have to be numbered anew for the next column to fit; None where it fits. ``keys`` are the
    rows' numbers, sorted, ``places`` the rows that have them.
    """

    n_nodes: tuple[int, ...]
    prefixes: tuple[NDArray[np.int64] | None, ...]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: NDArray[np.int32], n_nodes: tuple[int, ...]) -> Lookup:
        """Make it of distinct rows: ``nodes[column, row]`` lies below ``n_nodes[column]``."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        used = 1
        prefixes: list[NDArray[np.int64] | None] = []
        for column, size in zip(nodes, n_nodes, strict=True):
            prefix = None
            if used * size >= _ROOM:
                prefix, key = np.unique(key, return_inverse=True)
                used = len(prefix)
            prefixes.append(prefix)
            key = key * size + column
            used *= size
        places = np.argsort(key, kind="stable")
        return cls(n_nodes, tuple(prefixes), key[places], places)

    def find(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each row; raise where one was never seen."""
        key = np.zeros(nodes.shape[1], dtype=np.int64)
        for column, size, prefix in zip(nodes, self.n_nodes, self.prefixes, strict=True):
            if prefix is not None:
                key = _find_positions(prefix, key)
            key = key * size + column
        return self.places[_find_positions(self.keys, key)]


def _find_positions(known: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
    if len(asked) and (not len(known) or not np.array_equal(known[place], asked)):
        raise EngineError(
            "a row has other values than when rows were counted",
            remedy="Nothing was released. Make sure that nobody writes to the data meanwhile.",
        )
    return place


# A table's hierarchies and distinct rows, from counts that its engine makes.


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct quasi-identifying rows of a table as leaves, and how many rows equal each."""

    rows: Rows
    n_of_row: NDArray[np.int64]
    notes: tuple[str, ...]
    readings: Readings
    view: CodedView
    """The rows as a search sees them, of which several may be equal."""

    def searched(self) -> tuple[Rows, NDArray[np.int64]]:
        """Return the distinct rows that a search sees, and how many rows equal each."""
        seen = self.view.rows
        nodes, n_of_row = sum_equal(seen.nodes, seen.hierarchies, self.n_of_row)
        return Rows(seen.names, nodes, seen.hierarchies), n_of_row

    @property
    def n_all(self) -> int:
        """How many rows the table has."""
        return int(self.n_of_row.sum())

    def counts_of_leaves(self) -> list[NDArray[np.int64]]:
        """Return, per column, how many rows hold each node."""
        return [
            np.bincount(nodes, weights=self.n_of_row, minlength=hierarchy.n_all_nodes).astype(
                np.int64
            )
            for nodes, hierarchy in zip(self.rows.nodes, self.rows.hierarchies, strict=True)
        ]


def count_distinct_rows(engine: Engine, blocks: Blocks, job: Job, where: str) -> DistinctRows:
    """Count a table's values and distinct rows on its engine; encode those here.

    Raises as reading and encoding a table does.
    """
    quasi, specs, plan = job.schema.quasi, job.hierarchy_specs, plan_job_reading(job)
    counted = engine.count(blocks, list(quasi))
    readings: dict[str, ColumnReading] = {}
    n_of_line = counted.column(N_ROWS).to_numpy()
    hierarchies, nodes = [], np.empty((len(quasi), counted.num_rows), dtype=np.int32)
    notes: list[str] = []
    for place, name in enumerate(quasi):
        cells = counted.select([name]).append_column(N_ROWS, counted.column(N_ROWS))
        by_value = cells.group_by(name).aggregate([(N_ROWS, "sum")])
        spec = specs.get(name)
        if name in plan.names and not (spec and spec.is_derived):
            reading = _choose_reading(plan, where, name, by_value, job.input.missing_values)
            if reading is not None:
                readings[name] = reading
                by_value = normalize_frame(by_value, readings)
        values = ColumnValues.of_counts(
            f"{where}, column {name!r}",
            by_value.column(name).combine_chunks(),
            by_value.column(f"{N_ROWS}_sum").to_numpy(),
            job.input.missing_values,
        )
        grouped = spec.number_spec if spec and spec.is_derived else spec
        limits = job.coding.get(name)
        if limits is not None:
            refuse_uncodable(f"{where}, column {name!r}", values)
        hierarchy, said = hierarchy_of_values(name, values, grouped)
        if limits is not None:
            hierarchy = add_coded_nodes(hierarchy, limits)
        column = normalize_frame(counted.select([name]), readings).column(name)
        nodes[place] = nodes_of(column, hierarchy, where)
        hierarchies.append(hierarchy)
        notes += said
        if limits is not None:
            n_of_leaf = np.bincount(nodes[place], n_of_line, minlength=hierarchy.n_leaves)
            notes.append(note_on_coding(hierarchy, limits, n_of_leaf))
    del counted
    # several values of a column may have one label, and so one leaf
    named = name_derivations(hierarchies, specs)
    nodes, n_of_row = sum_equal(nodes, named, n_of_line)
    rows = Rows(quasi, nodes, named)
    notes = [*notes_on_readings(readings), *notes]
    return DistinctRows(rows, n_of_row, tuple(notes), readings, CodedView.of(rows, job.coding))


def sum_equal(
    nodes: NDArray[np.int32], hierarchies: Sequence[Hierarchy], n_of_line: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct ones of ``nodes[column, line]``, sorted, and the rows of each."""
    key = RowKey(nodes.shape[1])
    for column, hierarchy in zip(nodes, hierarchies, strict=True):
        key.add(column, hierarchy.n_all_nodes)
    order = np.argsort(key.numbers, kind="stable")
    ordered = key.numbers[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    n_of_row = np.add.reduceat(n_of_line[order], first) if len(first) else n_of_line
    return np.ascontiguousarray(nodes[:, order[first]]), n_of_row.astype(np.int64)


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
    notes = notes_on_readings(readings)
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


# Fragments put on the rows where they lie: block functions for an engine.

PART = "part of the rows"
"""The column that says where rows meet whose equals are released in several groups."""

ROWS_PER_PART = 250_000


@dataclass(frozen=True, eq=False)
class Generalization:
    """What every row shows, by its quasi-identifying values.

    Distinct row d, as a search sees it, is shown as the fragments from ``first[d]`` up to
    ``first[d + 1]``. ``is_shown_as_text[column]`` where some row shows more than a value of its
    own.
    """

    names: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    view: CodedView
    lookup: Lookup
    first: NDArray[np.int64]
    nodes: NDArray[np.int32]
    count: NDArray[np.int64]
    is_shown_as_text: tuple[bool, ...]
    readings: Readings

    @classmethod
    def of(cls, distinct: DistinctRows, fragments: Fragments) -> Generalization:
        """Make it of distinct rows and what became of those that a search saw."""
        rows, (searched, _) = distinct.rows, distinct.searched()
        first = np.searchsorted(fragments.row, np.arange(searched.n_rows + 1))
        sizes = tuple(hierarchy.n_all_nodes for hierarchy in searched.hierarchies)
        is_shown = tuple(
            bool((column >= hierarchy.n_leaves).any())
            for column, hierarchy in zip(fragments.nodes, rows.hierarchies, strict=True)
        )
        return cls(
            rows.names,
            rows.hierarchies,
            distinct.view.without_rows(),
            Lookup.of(searched.nodes, sizes),
            first.astype(np.int64),
            fragments.nodes,
            fragments.count,
            is_shown,
            distinct.readings,
        )

    @property
    def parts_rows(self) -> bool:
        """Whether rows that are equal are released in several groups."""
        return bool((np.diff(self.first) > 1).any())

    def nodes_of_block(self, block: pa.Table) -> NDArray[np.int32]:
        """Return a block's quasi-identifying cells as a search sees them."""
        nodes = np.empty((len(self.names), block.num_rows), dtype=np.int32)
        cells = normalize_frame(block.select(list(self.names)), self.readings)
        for place, (name, hierarchy) in enumerate(zip(self.names, self.hierarchies, strict=True)):
            nodes[place] = nodes_of(cells.column(name), hierarchy, "the data")
        return self.view.see(nodes)

    def shown(self, block: pa.Table, nodes: NDArray[np.int32]) -> pa.Table:
        """Return a block with what its rows show, after each cell was held against its original."""
        from incrowd.guarantees.tables.truth import prove_key

        columns = []
        for name in block.column_names:
            column = block.column(name)
            if name in self.names:
                place = self.names.index(name)
                if self.is_shown_as_text[place]:
                    cells = shown_cells(self.hierarchies[place], nodes[place])
                    if name in self.readings:
                        cells = self.readings[name].restore(cells)
                    column = pa.chunked_array([labels_of(cells)])
            columns.append(column)
        released = pa.table(columns, names=block.column_names)
        quasi = list(self.names)
        proof = prove_key(
            normalize_frame(block.select(quasi), self.readings),
            normalize_frame(released.select(quasi), self.readings),
            np.arange(block.num_rows, dtype=np.int64),
            self.names,
            dict(zip(self.names, self.hierarchies, strict=True)),
        )
        if not proof.holds:
            raise EngineError(f"a block was generalized wrongly: {proof.summary}")
        return released


@dataclass(frozen=True, eq=False)
class ShowRows:
    """Generalize a block whose equal rows all show the same."""

    generalization: Callable[[], Generalization]

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return what the rows show."""
        made = self.generalization()
        place = made.lookup.find(made.nodes_of_block(block))
        return made.shown(block, made.nodes[:, made.first[place]])


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """Say of a block's rows where they meet those equals with which they share fragments."""

    generalization: Callable[[], Generalization]
    n_parts: int

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the rows with a part each; rows with one fragment may be in any."""
        made = self.generalization()
        place = made.lookup.find(made.nodes_of_block(block))
        is_parted = made.first[place + 1] - made.first[place] > 1
        anywhere = np.arange(block.num_rows, dtype=np.int64) * self.n_parts // block.num_rows
        part = np.where(is_parted, place % self.n_parts, anywhere)
        return block.append_column(PART, pa.array(part, pa.int64()))


@dataclass(frozen=True, eq=False)
class ShowParts:
    """Generalize the rows of one part, in which equal rows that share fragments are together."""

    generalization: Callable[[], Generalization]

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return what the rows show, places among equal rows by their other columns."""
        made = self.generalization()
        block = block.drop_columns([PART])
        before = made.nodes_of_block(block)
        place = made.lookup.find(before)
        after = made.nodes[:, self._fragments(made, place)]
        others = block.select([name for name in block.column_names if name not in made.names])
        return made.shown(block, assign_by_content(before, after, others))

    @staticmethod
    def _fragments(made: Generalization, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a fragment per row, each as often as it counts."""
        fragment = made.first[place]
        is_parted = made.first[place + 1] - fragment > 1
        rows = np.flatnonzero(is_parted)
        rows = rows[np.argsort(place[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(place[rows], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            distinct = int(place[rows[start]])
            of_row = np.arange(made.first[distinct], made.first[distinct + 1])
            if int(made.count[of_row].sum()) != end - start:
                raise EngineError("rows that are equal did not meet in one part")
            fragment[rows[start:end]] = np.repeat(of_row, made.count[of_row])
        return fragment


def generalize_blocks(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    published: list[str],
    generalization: Generalization,
    n_rows: int,
) -> Blocks:
    """Return the released rows on the engine, in the order of columns that is asked for."""
    rows = engine.select(blocks, published)
    given = engine.schema(rows)
    returned = pa.schema(
        [
            pa.field(name, pa.string()) if _is_text(generalization, name) else given.field(name)
            for name in published
        ]
    )
    shared = engine.broadcast(generalization)
    if not generalization.parts_rows:
        return engine.map_blocks(rows, ShowRows(shared), returned)
    n_parts = max(1, -(-n_rows // ROWS_PER_PART))
    placed = engine.map_blocks(
        rows, PlaceRows(shared, n_parts), given.append(pa.field(PART, pa.int64()))
    )
    return engine.map_groups(placed, PART, ShowParts(shared), returned)


def _is_text(generalization: Generalization, name: str) -> bool:
    if name not in generalization.names:
        return False
    return generalization.is_shown_as_text[generalization.names.index(name)]
