"""Releases with all that their reports are made of, from the pipelines' own parts."""

from contextlib import closing

import numpy as np

from incrowd import pipeline, set_pipeline
from incrowd.audit.examine import released_rows
from incrowd.data.frames import from_frame
from incrowd.data.set_format import SetFile, SetFormat
from incrowd.data.shelf import IN_MEMORY
from incrowd.engines.table import make_engine
from incrowd.figures.material import OwnSets, OwnTable, SetMaterial, TableMaterial
from incrowd.figures.trees import splits_of
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
