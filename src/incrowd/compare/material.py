"""A release in a private folder, read again beside its original, for what is computed of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from incrowd.checking.material import OwnSets, OwnTable, SetMaterial, TableMaterial
from incrowd.checking.tables import released_rows
from incrowd.encoding.encode import encode
from incrowd.guarantees.shapes import TRANSACTIONS
from incrowd.job.inputs import read_input
from incrowd.job.preparation import prepare, replace_quasi
from incrowd.sets.files import read_set_file, read_sets
from incrowd.sets.format import format_of_path as set_format_of_path
from incrowd.sets.format import released_graph
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, Sets
from incrowd.sets.universe import with_universe
from incrowd.tables.read import read_table
from incrowd.tables.write import format_of_path
from incrowd.transactions.generalized import members_of
from incrowd.transactions.rule_files import sensitive_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from incrowd.job.job import Job


def table_material(job: Job, released: Path, key: Path) -> TableMaterial:
    """Return a released table beside its original; the job is the one that repeats the release."""
    assert job.data is not None
    table = read_input(Path(job.data), job.input)
    prepared = prepare(job, table)
    before, _ = encode(prepared.table, prepared.schema.quasi, prepared.hierarchies, job.coding)
    before = replace(before, attribute_of_column=prepared.attribute_of_column)
    stored = format_of_path(released, table.format)
    is_text = stored.kind == "csv"
    again = read_table(
        released,
        delimiter=stored.delimiter if is_text else None,
        encoding="utf-8" if is_text else None,
        header=stored.has_header if is_text else None,
        missing_values=job.input.missing_values,
    )
    if is_text and not stored.has_header:
        shown = [name for name in prepared.table.columns if name in prepared.schema.published]
        again = replace(again, frame=again.frame.rename_columns(shown))
    quasi = tuple(name for name in prepared.schema.quasi if name in again.columns)
    original_row = read_key(key)
    after = released_rows(before, again, original_row)
    own = OwnTable(prepared.table, original_row, before, after)
    return TableMaterial(again, replace_quasi(prepared.schema, quasi), own)


def set_material(job: Job, released: Path, key: Path) -> SetMaterial:
    """Return released sets beside their original."""
    read = read_set_file(Path(str(job.data)), job.sets.reading(job.input), IN_MEMORY)
    original = read.sets
    if job.sets.items:
        original = with_universe(original, job.sets.items, IN_MEMORY)
    stored = set_format_of_path(released, read.format)
    again = read_sets(released, stored.options(released_graph(job.sets.graph)), IN_MEMORY)
    original_row = read_key(key)
    is_renamed = original.graph != BIPARTITE and not job.release.keep_order
    own = OwnSets(original, original_row, original_row if is_renamed else None)
    if job.shape == TRANSACTIONS:
        own = replace(own, part_of_item=_parts(original, again), is_sensitive=_roles(job, original))
    return SetMaterial(again, own)


def _parts(original: Sets, released: Sets) -> NDArray[np.int32]:
    """Return which released item each original one is in, −1 where it is in none."""
    names = [str(name) for name in item_names_of(original).to_pylist()]
    part_of_name = {
        member: part
        for part, label in enumerate(item_names_of(released).to_pylist())
        for member in members_of(str(label))
    }
    return np.array([part_of_name.get(name, -1) for name in names], dtype=np.int32)


def _roles(job: Job, original: Sets) -> NDArray[np.bool_]:
    if not job.rules.sensitive_items:
        return np.zeros(original.n_items, dtype=np.bool_)
    needs_both = job.guarantee.name == "rules"
    names = item_names_of(original)
    return sensitive_items(job.rules.sensitive_items, names, job.seed, needs_both=needs_both)[0]


def read_key(path: Path) -> NDArray[np.int64]:
    """Return the original row, from 0, of every released row, from a key that we wrote."""
    pairs = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    original_row = np.empty(len(pairs), dtype=np.int64)
    original_row[pairs[:, 0] - 1] = pairs[:, 1] - 1
    return original_row
