"""Releases with all that their reports are made of, from the pipelines' own parts."""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import incrowd as ic
from incrowd import pipeline, set_pipeline
from incrowd.audit.examine import released_rows
from incrowd.data.frames import from_frame
from incrowd.data.set_format import SetFile, SetFormat
from incrowd.data.set_samples import user_lists
from incrowd.data.shelf import IN_MEMORY
from incrowd.engines.table import make_engine
from incrowd.figures.material import OwnSets, OwnTable, SetMaterial, TableMaterial
from incrowd.figures.owner import owner_page
from incrowd.figures.public import public_page
from incrowd.figures.trees import splits_of
from incrowd.job import ReleaseOptions
from incrowd.methods.rbat.promise import FoundParts, SplitTree
from incrowd.methods.sets.found import Found
from incrowd.progress import silent
from incrowd.release import Stages, signed, timed
from incrowd.rule_pipeline import FoundRules


def table_release(frame, job):
    """Return the audit, the job as text and the material of a table's release."""
    stages = Stages(silent)
    with closing(make_engine(job.engine)) as engine:
        table, _ = from_frame(frame)
        searched = pipeline._search(job, table, engine, stages, silent)
        with stages("audit"):
            released, _ = from_frame(searched.frame)
            audit = pipeline._audit(job, searched, released, engine)
    own = OwnTable(
        original=searched.prepared.table,
        original_row=searched.original_row,
        before=searched.before,
        after=released_rows(searched.before, released, searched.original_row),
        k_of_row=searched.conditions.k_of_row,
    )
    material = TableMaterial(released, searched.prepared.schema, own)
    audit = timed(signed(audit, "a" * 64, "b" * 64), stages)
    return audit, searched.repeating(job).to_toml(), material


def set_release(sets, job):
    """Return the audit, the job as text and the material of a release of sets."""
    stages = Stages(silent)
    with closing(make_engine(job.engine)) as engine:
        read = SetFile(sets, SetFormat(), [])
        found = set_pipeline._found(job, read, engine, stages, silent, IN_MEMORY)
        released = found.handed_out()
        with stages("audit"):
            audit = set_pipeline._audit(job, found, released, engine)
    if isinstance(found, FoundRules):
        tree = found.parts.tree
        own = OwnSets(
            found.original,
            found.original_row,
            part_of_item=found.parts.part_of_item,
            is_sensitive=found.is_sensitive,
            rules=found.rules,
            splits=splits_of(tree.left, tree.right, tree.n_items),
        )
    else:
        own = OwnSets(
            found.original, found.original_row, found.original_item, k_of_row=found.k_of_row
        )
    audit = timed(signed(audit, "a" * 64, "b" * 64), stages)
    return audit, set_pipeline._repeating(job, found).to_toml(), SetMaterial(released, own)


def certificate_of(audit, quasi=(), sensitive=()):
    """Return a public certificate as publication writes it."""
    return {
        "edition": "public",
        "holds": audit.holds,
        "guarantee": audit.guarantee,
        "quasi": list(quasi),
        "sensitive": list(sensitive),
        "findings": [
            {
                "name": finding.name,
                "holds": finding.holds,
                "summary": finding.summary,
                "figures": finding.figures,
            }
            for finding in audit.findings
            if finding.is_public
        ],
        "scalars": {
            name: float(np.round(audit.losses[name], 2))
            for name in ("loss", "jaccard", "suppressed", "created")
            if name in audit.losses
        },
        "n_rows": audit.n_rows,
        "n_groups": audit.n_groups,
        "smallest_group": audit.smallest_group,
        "method": audit.method["name"],
        "release_sha256": audit.release_sha256,
        "input_commitment": "c" * 64,
        "incrowd_version": audit.incrowd_version,
    }


# ── plain methods: releases without a search, so that nothing is compiled for them ───────────────


class OneLevel(ic.FullDomain):
    """One level above the leaves in every column; rows of small groups are left out."""

    def run(self, rows, conditions, engine, seed, progress):  # noqa: ARG002
        nodes = rows.nodes.copy()
        for place, hierarchy in enumerate(rows.hierarchies):
            level = max(0, len(hierarchy.ladder) - 2)
            nodes[place] = hierarchy.ladder[level][nodes[place]]
        alike = Counter(map(tuple, nodes.T.tolist()))
        small = [alike[tuple(row)] < conditions.k for row in nodes.T.tolist()]
        return rows.with_nodes(nodes, np.array(small, dtype=np.bool_))


class FirstColumn(ic.Adaptive):
    """Everything is masked but the first column."""

    def run(self, rows, conditions, engine, seed, progress):  # noqa: ARG002
        nodes = rows.nodes.copy()
        for place in range(1, rows.n_columns):
            nodes[place] = rows.hierarchies[place].root
        return rows.with_nodes(nodes)


class Neighbours(ic.SetCluster):
    """Groups of k rows that come one after the other, by content."""

    def search(self, sets, promise, engine, seed, progress):  # noqa: ARG002
        lists = [tuple(sets.items[s:e].tolist()) for s, e in pairwise(sets.starts.tolist())]
        order = sorted(range(len(lists)), key=lambda row: (lists[row], row))
        n_groups = len(order) // promise.k
        group = np.zeros(len(order), dtype=np.int32)
        for place, row in enumerate(order):
            group[row] = min(place // promise.k, n_groups - 1)
        return Found(numbered(group))


def numbered(group_of_row):
    """Number groups by their first rows."""
    seen = {}
    return np.array([seen.setdefault(g, len(seen)) for g in group_of_row.tolist()], np.int32)


class Quarters(ic.Rbat):
    """Public items in four parts, by two rounds of halving."""

    def search(self, sets, promise, engine, seed, progress):  # noqa: ARG002
        held = np.bincount(sets.items, minlength=sets.n_items) > 0
        public = np.flatnonzero(held & ~promise.is_sensitive)
        parts = np.array_split(public, 4)
        part_of_item = np.full(sets.n_items, -1, dtype=np.int32)
        for part, items in enumerate(parts):
            part_of_item[items] = part
        sizes = [len(items) for items in parts]
        tree = SplitTree(
            np.array([1, 3, 5, -1, -1, -1, -1], np.int32),
            np.array([2, 4, 6, -1, -1, -1, -1], np.int32),
            np.array([sum(sizes), sum(sizes[:2]), sum(sizes[2:]), *sizes], np.int32),
        )
        return FoundParts(part_of_item, tree)


def table(n_rows=400, k=4, seed=2):
    """Return a release of a made-up census, k-anonymous, some rows left out."""
    job = ic.Job(
        schema=ic.Schema(
            quasi=["age", "sex", "education"], sensitive=["diagnosis"], insensitive=["occupation"]
        ),
        guarantee=ic.KAnonymity(k),
        method=OneLevel(),
        hierarchies={"age": "intervals:10,20"},
        release=ReleaseOptions(accept_insensitive=("occupation",), suppression_limit=1.0),
    )
    return table_release(ic.sample_census(n_rows, seed), job)


def adaptive(n_rows=60):
    """Return a release with a k per person."""
    frame = ic.sample_census(n_rows, 3)
    wishes = [1 + row % 5 for row in range(n_rows)]
    frame = frame.append_column("wish", pa.array(wishes))
    job = ic.Job(
        schema=ic.Schema(quasi=["sex", "marital_status"], sensitive=["diagnosis"]),
        guarantee=ic.AdaptiveAnonymity(k_column="wish"),
        method=FirstColumn(),
    )
    return table_release(frame, job)


def lists(n_rows=200, k=5):
    """Return a release of lists."""
    job = ic.SetJob(guarantee=ic.Smooth(k), method=Neighbours())
    return set_release(user_lists(n_rows, 40, seed=1), job)


def transactions(folder, n_rows=200):
    """Return a release of transactions with rules."""
    path = folder / "rules.txt"
    path.write_text("1 2 -> 0\n1 9 -> 3\n", encoding="utf-8")
    job = ic.SetJob(
        guarantee=ic.RuleProtection(k=2, confidence=1.0),
        method=Quarters(),
        rules=ic.RuleInput(file=str(path), sensitive_items="0,3"),
    )
    return set_release(user_lists(n_rows, 40, seed=1), job)


@cache
def releases():
    """Return a release of every kind of data, by name: made once."""
    with TemporaryDirectory() as folder:
        return {
            "table": table(),
            "adaptive": adaptive(),
            "lists": lists(),
            "transactions": transactions(Path(folder)),
        }


KINDS = ("table", "adaptive", "lists", "transactions")


def owner_page_of(kind):
    """Return the owner's page of a release."""
    return owner_page(*releases()[kind])


def public_page_of(kind):
    """Return the public page of a release."""
    audit, _, material = releases()[kind]
    schema = getattr(material, "schema", None)
    certificate = certificate_of(audit, audit.quasi, schema.sensitive if schema else ())
    return public_page(certificate, replace(material, own=None))
