"""Policies: what a release generalized how, saved for other batches of the same kind.

A folder with ``policy.toml``, a job without data whose method shows the lines of ``lines.csv``,
and with the hierarchies that were grown from the data. It is the owner's: those hold values that
the release may not show.
"""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incrowd.errors import InputError, JobError
from incrowd.hierarchies.files import write_hierarchy
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.build import read_mapping
from incrowd.job.job import Job
from incrowd.methods.base import TableMethod
from incrowd.methods.policy.method import Policy

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows
    from incrowd.flow.publication import Publication
    from incrowd.tables.table import Table


POLICY, LINES = "policy.toml", "lines.csv"
REBUILT = ("flat", "intervals", "ranges", "prefix", "dates")
"""Hierarchies that the same words build again over other values."""


def read_policy(folder: Path) -> dict[str, Any]:
    """Read a policy as the tables of a job file that lies in its folder."""
    if not (folder / POLICY).is_file():
        raise InputError(
            f"{folder}: not a policy", remedy="Name a folder that run --save-policy made."
        )
    return read_mapping(folder / POLICY)


def place_policy(publication: Publication, job: Job, before: Rows, released: Table) -> None:
    """Save the policy of a release where the job asks for it."""
    if job.release.save_policy is None:
        return
    _refuse_unsaved(job)
    publication.place_folder(
        lambda folder: _write(folder, job, before, released),
        Path(job.release.save_policy),
        is_replaceable=lambda folder: (folder / POLICY).is_file(),
    )


def _refuse_unsaved(job: Job) -> None:
    """Raise where cells are not nodes of hierarchies, which lines are made of."""
    kinds = {spec.kind for spec in job.hierarchy_specs.values()}
    if job.bins or cast(TableMethod, job.method).masks_bits or "mean" in kinds:
        raise JobError(
            "a policy is made of nodes of hierarchies, not of bins, bits or means",
            remedy="Leave --save-policy out, or release without them.",
        )


def _write(folder: Path, job: Job, before: Rows, released: Table) -> None:
    names = list(before.names)
    distinct = released.frame.select(names).group_by(names).aggregate([]).to_pylist()
    shown = sorted(
        tuple("" if line[name] is None else str(line[name]) for name in names) for line in distinct
    )
    with os.fdopen(_new(folder / LINES), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(shown)
    hierarchies = {}
    for number, (name, tree) in enumerate(zip(names, before.hierarchies, strict=True)):
        stated = job.hierarchy_specs.get(name, HierarchySpec())
        built = tree.origin.split(":")[0]
        if stated.kind != "file" and built in REBUILT:
            hierarchies[name] = replace(HierarchySpec.parse(tree.origin), missing=stated.missing)
        else:
            path = folder / f"hierarchy-{number}.json"
            write_hierarchy(tree, path)
            path.chmod(0o600)
            hierarchies[name] = HierarchySpec("file", path=path, missing=stated.missing)
    saved = replace(
        job,
        data=None,
        output=None,
        hierarchies={**job.hierarchy_specs, **hierarchies},
        method=Policy(str(folder / LINES)),
        release=replace(
            type(job.release)(),
            accept_insensitive=job.release.accept_insensitive,
        ),
    )
    with os.fdopen(_new(folder / POLICY), "w", encoding="utf-8") as file:
        file.write(saved.to_toml(base=folder))


def _new(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
