"""A release in a private folder, read again beside its original, for what is computed of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from incrowd.checking.material import Material, OwnSets, SetMaterial
from incrowd.checking.request import Request
from incrowd.checking.sets import load_sets, material_of
from incrowd.checking.tables import load_table
from incrowd.guarantees.shapes import TABLES, TRANSACTIONS
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets
from incrowd.transactions.generalized import members_of
from incrowd.transactions.rule_files import sensitive_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from incrowd.job.job import Job


def release_material(job: Job, released: Path, key: Path) -> Material:
    """Return a release beside its original; the job is the one that repeats the release."""
    request = Request.of_job(job, released, original=job.data, key=key)
    if job.shape == TABLES:
        return load_table(request).material()
    with load_sets(request, with_rules=False) as evidence:
        material = material_of(evidence)
        if job.shape != TRANSACTIONS:
            return material
        own = material.own
        assert own is not None
        return SetMaterial(material.released, _with_parts(job, own, material.released))


def _with_parts(job: Job, own: OwnSets, released: Sets) -> OwnSets:
    """Return the owner's transactions with the part of every item, and which are sensitive."""
    names = item_names_of(own.original)
    is_sensitive = np.zeros(own.original.n_items, dtype=np.bool_)
    if job.rules.sensitive_items:
        needs_both = job.guarantee.name == "rules"
        stated = job.rules.sensitive_items
        is_sensitive, _ = sensitive_items(stated, names, job.seed, needs_both=needs_both)
    part_of_item = _part_of_item(own.original, released)
    return replace(own, part_of_item=part_of_item, is_sensitive=is_sensitive)


def _part_of_item(original: Sets, released: Sets) -> NDArray[np.int32]:
    """Return which released item each original one is in, −1 where it is in none."""
    names = [str(name) for name in item_names_of(original).to_pylist()]
    part_of_name = {
        member: part
        for part, label in enumerate(item_names_of(released).to_pylist())
        for member in members_of(str(label))
    }
    return np.array([part_of_name.get(name, -1) for name in names], dtype=np.int32)
