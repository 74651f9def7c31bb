"""Policies: what a release generalized how, saved for other batches of the same kind.

A folder with ``policy.toml``, a job without data whose method shows the released combinations of
``combinations.csv``; with the hierarchies that were read or grown from the data, or the values
that those built by rule need (``values.json``); and with what is known of the releases it comes
from (``former.json``). It is the owner's: it holds values that the release may not show.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from incrowd.errors import HierarchyError, InputError, JobError
from incrowd.flow.former_releases import FormerRelease, write_former
from incrowd.hierarchies.builders import ColumnValues, hierarchy_of_values
from incrowd.hierarchies.files import write_hierarchy
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.build import read_mapping
from incrowd.job.job import Job
from incrowd.methods.base import TableMethod
from incrowd.methods.policy.files import COMBINATIONS, KNOWN_VALUES, POLICY
from incrowd.methods.policy.method import Policy
from incrowd.tables.columns.types import ColumnKind

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.encoding.rows import Rows
    from incrowd.flow.publication import Publication
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.tables.locations import Location
    from incrowd.tables.table import Table


NOT_REBUILT = ("file", "auto", "mean")
"""Hierarchies that the same words do not build again over other values."""


def read_policy(folder: Path) -> dict[str, Any]:
    """Read a policy as the tables of a job file that lies in its folder."""
    if not (folder / POLICY).is_file():
        raise InputError(
            f"{folder}: not a policy", remedy="Name a folder that run --save-policy made."
        )
    return read_mapping(folder / POLICY)


def place_policy(
    publication: Publication,
    final: Path,
    job: Job,
    before: Rows,
    released: Table,
    identifiers: pa.Table | None,
    release_sha256: str,
    location: Location | None,
) -> None:
    """Save the policy of a release in a folder.

    ``identifiers`` are the columns that identify people, a row per released row.
    """
    _refuse_unsaved(job)
    new = FormerRelease(
        Path(location).name if location else "a frame",
        path=str(Path(location).absolute()) if location else "",
        sha256=release_sha256,
        n_rows=released.n_rows,
        quasi=job.schema.quasi,
        sensitive=job.schema.sensitive,
        missing_values=job.input.missing_values,
        delimiter=released.format.delimiter if released.format.kind == "csv" else None,
        header=released.format.has_header,
    )

    def write(folder: Path) -> None:
        _write(folder, final.absolute(), job, before, released)
        write_former(folder, final.absolute(), job, new, identifiers)

    publication.place_folder(
        write, final, is_replaceable=lambda folder: (folder / POLICY).is_file()
    )


def _refuse_unsaved(job: Job) -> None:
    """Raise where cells are not nodes of hierarchies, which combinations are made of."""
    kinds = {spec.grouping_kind for spec in job.hierarchy_specs.values()}
    if job.bins or cast(TableMethod, job.method).masks_bits or "mean" in kinds:
        raise JobError(
            "a policy is made of nodes of hierarchies, not of bins, bits or means",
            remedy="Leave --save-policy out, or release without them.",
        )


def _write(folder: Path, final: Path, job: Job, before: Rows, released: Table) -> None:
    names = list(before.names)
    distinct = released.frame.select(names).group_by(names).aggregate([]).to_pylist()
    shown = sorted(
        tuple("" if cells[name] is None else str(cells[name]) for name in names)
        for cells in distinct
    )
    with os.fdopen(_new(folder / COMBINATIONS), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(shown)
    hierarchies, known = {}, {}
    for number, (name, tree) in enumerate(zip(names, before.hierarchies, strict=True)):
        stated = job.hierarchy_specs.get(name, HierarchySpec())
        spec = _rebuilding(stated, tree)
        if spec is not None:
            hierarchies[name] = spec
            labels = {cells[number] for cells in shown}
            known[name] = _needed_values(spec, tree, labels)
        else:
            write_hierarchy(tree, folder / f"hierarchy-{number}.json")
            (folder / f"hierarchy-{number}.json").chmod(0o600)
            # a tree that was grown from values has no rule for new ones: they go under its root
            missing = stated.missing if stated.kind == "file" else "suppress"
            path = final / f"hierarchy-{number}.json"
            hierarchies[name] = HierarchySpec("file", path=path, missing=missing)
    with os.fdopen(_new(folder / KNOWN_VALUES), "w", encoding="utf-8") as file:
        file.write(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    settings: dict[str, Any] = {}
    if isinstance(job.method, Policy):
        settings = {"unfit": job.method.unfit, "rebase": job.method.rebase}
    kept = ("accept_insensitive", "suppression_limit", "keep_suppressed", "repeated_people")
    saved = replace(
        job,
        data=None,
        output=None,
        hierarchies={**job.hierarchy_specs, **hierarchies},
        method=Policy(str(final / COMBINATIONS), **settings),
        release=type(job.release)(**{name: getattr(job.release, name) for name in kept}),
    )
    with os.fdopen(_new(folder / POLICY), "w", encoding="utf-8") as file:
        file.write(saved.to_toml(base=final))


def _rebuilding(stated: HierarchySpec, tree: Hierarchy) -> HierarchySpec | None:
    """Return the words that build a hierarchy again over other values; None where none do."""
    if stated.kind == "file":
        return None
    try:
        built = HierarchySpec.parse(tree.origin)
    except JobError:
        return None
    if built.kind in NOT_REBUILT:
        return None
    if built.is_derived and built.grouping_kind in NOT_REBUILT:
        return None
    return replace(built, missing=stated.missing)


def _needed_values(spec: HierarchySpec, tree: Hierarchy, labels: set[str]) -> list[str]:
    """Return values over which a hierarchy has the labels that a release shows.

    Ranges, prefixes and periods exist as far as there are values in them: those of the next batch
    may be others. The outermost values of every label do, and the longest; where they do not,
    all values are kept.
    """
    leaves = [leaf for leaf in tree.labels[: tree.n_leaves] if leaf]
    if not leaves:
        return []
    needed = {max(leaves, key=len)}
    leaf_at, (low, high) = np.argsort(tree.leaf_order), tree.leaf_spans
    for label in labels - {""}:
        node = tree.node_of_label[label]
        outermost = leaf_at[[low[node], high[node] - 1]].tolist()
        needed |= {tree.labels[leaf] for leaf in outermost} - {""}
    if _has_labels(spec, tree.name, sorted(needed), labels):
        return sorted(needed)
    return sorted(leaves)


def _has_labels(spec: HierarchySpec, name: str, values: list[str], labels: set[str]) -> bool:
    nothing = ColumnValues([], np.zeros(0, dtype=np.int64), ColumnKind("empty"), [], 0)
    try:
        grouped = spec.number_spec if spec.is_derived else spec
        tree, _ = hierarchy_of_values(name, nothing.with_known(values), grouped)
    except HierarchyError:
        return False
    return labels - {""} <= set(tree.all_labels)


def _new(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
