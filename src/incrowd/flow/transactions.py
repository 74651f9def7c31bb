"""The flow of transactions: rules → a partition of the public items → released parts → audit."""

from __future__ import annotations

import csv
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.engines.base import Engine
from incrowd.errors import JobError
from incrowd.figures.trees import splits_of
from incrowd.flow.release import Stages, audit_of
from incrowd.guarantees.transactions.promises import RuleEvidence, RuleProtection
from incrowd.job.job import parameters
from incrowd.job.set_job import SetJob
from incrowd.measures.losses.transactions import rule_losses
from incrowd.methods.shared.item_parts import FoundParts, KmPromise, RulePromise
from incrowd.progress import Progress
from incrowd.sets.files import write_sets
from incrowd.sets.format import SetFile, SetFormat
from incrowd.sets.names import item_names_of
from incrowd.sets.order import canonical_order, renamed_rows
from incrowd.sets.sets import Sets
from incrowd.transactions.generalized import generalized_sets, members_of
from incrowd.transactions.rule_files import read_rules, read_weights, rule_lines, sensitive_items
from incrowd.transactions.rules import closed
from incrowd.workspace import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.transactions.rules import Rules


@dataclass(frozen=True, eq=False)
class FoundRules:
    """Released transactions that nobody has audited yet, with what their audit will need."""

    original: Sets
    released: list[Sets]
    original_row: NDArray[np.int64]
    rules: Rules | None
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]
    parts: FoundParts
    notes: list[str]

    def handed_out(self) -> Sets:
        """Return the release and forget it: its audit reads it again from where it was written."""
        return self.released.pop()

    def written(self, path: Path, stored: SetFormat) -> list[Path]:
        """Write the release and what its items stand for, and forget it; return the files."""
        released = self.handed_out()
        files = write_sets(released, path, stored, is_generalized=True)
        return [*files, _mapping_written(released, path)]

    @property
    def settings(self) -> dict[str, Any]:
        """What the search settled that the job left open."""
        return self.parts.settings

    @property
    def sensitive_names(self) -> frozenset[str]:
        """What the sensitive items are called."""
        names = item_names_of(self.original).to_pylist()
        return frozenset(str(names[item]) for item in np.flatnonzero(self.is_sensitive).tolist())


def search_rules(
    job: SetJob, read: SetFile, engine: Engine, stages: Stages, progress: Progress
) -> FoundRules:
    """Find the rules, then parts of items that protect them, then the released transactions."""
    original = read.sets
    with stages("encode"):
        names = item_names_of(original)
        notes = list(read.notes)
        is_sensitive = np.zeros(original.n_items, dtype=np.bool_)
        if job.rules.sensitive_items:
            is_sensitive, more = sensitive_items(
                job.rules.sensitive_items,
                names,
                job.seed,
                needs_both=isinstance(job.guarantee, RuleProtection),
            )
            notes += more
        weight = np.ones(original.n_items)
        if job.rules.weights:
            weight = read_weights(job.rules.weights, names)
        rules = None
        if isinstance(job.guarantee, RuleProtection):
            rules, more = _rules(job, original, names, is_sensitive, progress)
            notes += more
        promise = _promise(job, rules, is_sensitive, weight)
    with stages("search"):
        parts = job.method.search(original, promise, engine, job.seed, progress)
    with stages("decode"):
        released = renamed_rows(generalized_sets(original, parts.part_of_item, is_sensitive))
        order = np.arange(released.n_rows, dtype=np.int64)
        if not job.release.keep_order:
            order = canonical_order(released, None)
            released = released.take(order)
    return FoundRules(original, [released], order, rules, is_sensitive, weight, parts, notes)


def _rules(
    job: SetJob,
    original: Sets,
    names: pa.Array,
    is_sensitive: NDArray[np.bool_],
    progress: Progress,
) -> tuple[Rules, list[str]]:
    """Return the rules to protect, and notes on where they come from."""
    stated, guarantee = job.rules, job.guarantee
    notes: list[str] = []
    if stated.file is not None:
        rules, notes = read_rules(stated.file, names, is_sensitive)
    elif stated.mine is not None:
        from incrowd.transactions.mine import mine_rules

        progress("mining rules", 0, 0)
        rules = mine_rules(
            original,
            is_sensitive,
            guarantee.k,
            guarantee.confidence,
            stated.mine,
            progress=progress,
        )
        if not rules.n_rules:
            raise JobError(
                "no rule is broken by the data as they are: there is nothing to protect",
                remedy="Ask for more: a larger k, a lower confidence, or longer rules.",
            )
        notes = [f"{rules.n_rules:,} rules that the data would break are protected"]
    else:
        from incrowd.transactions.samples import generate_rules

        assert stated.generate is not None
        rules = generate_rules(original, is_sensitive, stated.generate, job.seed)
        notes = [f"{rules.n_rules:,} rules were drawn from the data, for experiments"]
    return closed(rules, is_sensitive, stated.closure), notes


def _promise(
    job: SetJob,
    rules: Rules | None,
    is_sensitive: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> RulePromise | KmPromise:
    guarantee = job.guarantee
    if rules is None:
        return KmPromise(guarantee.k, guarantee.m, is_sensitive, weight)
    return RulePromise(guarantee.k, guarantee.confidence, rules, is_sensitive, weight)


def _mapping_written(released: Sets, path: Path) -> Path:
    """Write which released item every item became, beside a release; return the file."""
    mapping = path.with_name(f"{path.name}.mapping.csv")
    with mapping.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["item", "released"])
        for label in item_names_of(released).to_pylist():
            lines.writerows((member, label) for member in members_of(str(label)))
        file.flush()
        os.fsync(file.fileno())
    return mapping


def audit_rules(job: SetJob, found: FoundRules, again: Sets, engine: Engine) -> Audit:
    """Audit released transactions as they were read back, with the owner's original."""
    started = time.perf_counter()
    evidence = RuleEvidence(
        released=again,
        rules=found.rules,
        sensitive=found.sensitive_names,
        original=found.original,
        original_row=found.original_row,
        keeps_order=job.release.keep_order,
    )
    audit = audit_of_rules(job.guarantee, evidence, started)
    losses = rule_losses(found.original, again, found.is_sensitive, weight=found.weight)
    figures = {"split_skewness": found.parts.tree.skewness, **found.parts.figures}
    return replace(
        audit,
        losses={name: value for name, value in losses.as_dict().items() if value is not None},
        method={"name": job.method.name, "parameters": {**parameters(job.method), **figures}},
        engine=engine.describe(),
        seed=job.seed,
        notes=tuple(found.notes),
    )


def material_of_rules(found: FoundRules, again: Sets) -> SetMaterial:
    """Return what a report of released transactions is made of."""
    tree = found.parts.tree
    own = OwnSets(
        found.original,
        found.original_row,
        part_of_item=found.parts.part_of_item,
        is_sensitive=found.is_sensitive,
        rules=found.rules,
        splits=splits_of(tree.left, tree.right, tree.n_items),
    )
    return SetMaterial(again, own)


def audit_of_rules(guarantee: Any, evidence: RuleEvidence, started: float) -> Audit:
    """Audit released transactions from any tool; nothing is written."""
    return audit_of(guarantee, guarantee.check(evidence), evidence.released.n_rows, started)


def save_rules(job: SetJob, found: FoundRules, *, force: bool) -> None:
    """Write the protected rules where the job asks for it: mined ones tell what is rare."""
    if job.rules.save is not None and found.rules is not None:
        text = "".join(rule_lines(found.rules))
        write_whole(Path(job.rules.save), text, force=force, private=True)
