"""Releases with all that their reports are made of, by plain methods."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import incrowd as ic
from benchmarks.sets.data import user_lists
from incrowd.checking.material import appraise
from incrowd.figures.pages import owner_page, public_page
from incrowd.job.documents import ReleaseOptions
from incrowd.methods.shared.item_parts import FoundParts, SplitTree
from incrowd.methods.shared.set_groups.vote import Found


def release_of(data, job):
    """Return the audit with risk and use, the job as text and the material of a release."""
    source = ic.anonymize(data, job).source
    material = source.material()
    return appraise(source.audit, material), source.job.to_toml(), material


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


class Neighbours(ic.Cluster):
    """Groups of k rows that come one after the other, by content."""

    def search(self, sets, promise, engine, seed, progress, storage=None):  # noqa: ARG002
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
    return release_of(ic.sample_census(n_rows, seed), job)


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
    return release_of(frame, job)


def long_frame(sets):
    """Return sets as a frame of rows and items."""
    rows = np.repeat(np.arange(sets.n_rows), sets.sizes)
    return pa.table({"row": rows, "item": sets.items.astype(np.int64)})


def lists(n_rows=200, k=5):
    """Return a release of lists."""
    job = ic.Job(guarantee=ic.Smooth(k), method=Neighbours())
    return release_of(long_frame(user_lists(n_rows, 40, seed=1)), job)


def transactions(folder, n_rows=200):
    """Return a release of transactions with rules."""
    path = folder / "rules.txt"
    path.write_text("1 2 -> 0\n1 9 -> 3\n", encoding="utf-8")
    job = ic.Job(
        guarantee=ic.RuleProtection(k=2, confidence=1.0),
        method=Quarters(),
        rules=ic.RuleInput(file=str(path), sensitive_items="0,3"),
    )
    return release_of(long_frame(user_lists(n_rows, 40, seed=1)), job)


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
