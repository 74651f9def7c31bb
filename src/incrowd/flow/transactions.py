"""Transactions: rules → a partition of the public items → released parts, as steps of the flow."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.material import Material, OwnSets, SetMaterial
from incrowd.engines.base import Engine
from incrowd.errors import JobError
from incrowd.figures.trees import split_data
from incrowd.flow.adapter import Candidate, Checked
from incrowd.flow.overview import overview_of_transactions
from incrowd.flow.publication import Publication
from incrowd.flow.sets import SetFile, SetFrame
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleEvidence, RuleProtection
from incrowd.job.job import Job
from incrowd.measures.losses.transactions import measure_rule_losses
from incrowd.methods.base import TransactionMethod
from incrowd.methods.shared.item_parts import FoundParts, KmConditions, RuleConditions
from incrowd.progress import Progress
from incrowd.sets.files import write_sets
from incrowd.sets.format import SetFile as ReadSets
from incrowd.sets.format import SetFormat, released_graph
from incrowd.sets.names import item_names_of
from incrowd.sets.order import canonical_order, drop_row_names
from incrowd.sets.sets import Sets
from incrowd.transactions.closure import close_rules
from incrowd.transactions.generalized import generalize_sets, parse_label
from incrowd.transactions.rule_files import (
    find_sensitive_items,
    format_rules,
    read_rules,
    read_weights,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.transactions.rules import Rules


@dataclass(frozen=True, eq=False)
class EncodedTransactions:
    """Transactions, the rules to protect, and which items are sensitive; what is promised."""

    original: Sets
    rules: Rules | None
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class OwnersTransactions:
    """What the audit of released transactions holds them against."""

    original: Sets
    rules: Rules | None
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]
    parts: FoundParts

    @property
    def sensitive_names(self) -> frozenset[str]:
        """What the sensitive items are called."""
        names = item_names_of(self.original).to_pylist()
        return frozenset(str(names[item]) for item in np.flatnonzero(self.is_sensitive).tolist())


class TransactionAdapter:
    """The steps of the flow for transactions: public items become sets of items."""

    def __init__(self, job: Job, engine: Engine, store: TransactionFile | TransactionFrame) -> None:
        self.job, self.engine, self.store = job, engine, store
        self.guarantee = cast("RuleProtection | KmAnonymity", job.guarantee)

    def encode(self, original: ReadSets, progress: Progress) -> EncodedTransactions:
        """Find which items are sensitive, what each weighs, and the rules to protect."""
        job, sets = self.job, original.sets
        names = item_names_of(sets)
        needs_rules = isinstance(self.guarantee, RuleProtection)
        is_sensitive, weight, more = read_roles(job, names, needs_rules=needs_rules)
        notes = [*original.notes, *more]
        rules = None
        if isinstance(self.guarantee, RuleProtection):
            rules, more = _rules(job, self.guarantee, sets, names, is_sensitive, progress)
            notes += more
        return EncodedTransactions(sets, rules, is_sensitive, weight, notes)

    def search(self, encoded: EncodedTransactions, progress: Progress) -> FoundParts:
        """Split the public items into parts while the conditions hold."""
        guarantee = self.guarantee
        conditions: RuleConditions | KmConditions
        if isinstance(guarantee, KmAnonymity):
            conditions = KmConditions(
                guarantee.k, guarantee.m, encoded.is_sensitive, encoded.weight
            )
        else:
            assert encoded.rules is not None
            conditions = RuleConditions(
                guarantee.k,
                guarantee.confidence,
                encoded.rules,
                encoded.is_sensitive,
                encoded.weight,
            )
        method = cast(TransactionMethod, self.job.method)
        return method.search(encoded.original, conditions, self.engine, self.job.seed, progress)

    def decode(
        self, encoded: EncodedTransactions, found: FoundParts
    ) -> Candidate[Sets, OwnersTransactions]:
        """Put parts in the places of items, and rows in the order of their content."""
        job, original = self.job, encoded.original
        released = drop_row_names(
            generalize_sets(original, found.part_of_item, encoded.is_sensitive)
        )
        order = np.arange(released.n_rows, dtype=np.int64)
        if not job.release.keep_order:
            order = canonical_order(released, None)
            released = released.take(order)
        return Candidate(
            released,
            replace(job, method=replace(job.method, **found.settings)),
            OwnersTransactions(
                original, encoded.rules, encoded.is_sensitive, encoded.weight, found
            ),
            order,
            {"split_skewness": found.tree.skewness, **found.figures},
            tuple(encoded.notes),
        )

    def audit(self, candidate: Candidate[Sets, OwnersTransactions], reread: Sets) -> Checked:
        """Check the transactions as they were read back, with the owner's original."""
        own = candidate.evidence
        evidence = RuleEvidence(
            released=reread,
            rules=own.rules,
            sensitive=own.sensitive_names,
            original=own.original,
            original_row=candidate.original_row,
            keeps_order=self.job.release.keep_order,
        )
        findings = self.guarantee.check(evidence)
        losses = measure_rule_losses(
            own.original, reread, own.is_sensitive, weight=own.weight
        ).as_dict()
        known = {name: value for name, value in losses.items() if value is not None}
        overview = overview_of_transactions(reread, known)
        return Checked(findings, reread.n_rows, known, overview=overview)

    def reading(self, candidate: Candidate[Sets, OwnersTransactions]) -> Reading:
        """Return how a stranger reads the release, for its certificate."""
        del candidate
        return Reading(graph=released_graph(self.job.sets.graph))

    def findings_on_file(
        self, candidate: Candidate[Sets, OwnersTransactions], reread: Sets, audit: Audit
    ) -> list[Finding]:
        """Rules are the owner's: of those nothing is found on a file alone."""
        del candidate, reread, audit
        return []

    def material(
        self, candidate: Candidate[Sets, OwnersTransactions], reread: Sets
    ) -> Callable[[], Material]:
        """Return what a report is computed from, the tree of splits included."""
        own, original_row = candidate.evidence, candidate.original_row
        assert original_row is not None
        tree = own.parts.tree
        owned = OwnSets(
            own.original,
            original_row,
            part_of_item=own.parts.part_of_item,
            is_sensitive=own.is_sensitive,
            rules=own.rules,
            splits=split_data(tree.left, tree.right, tree.n_items),
        )
        return lambda: SetMaterial(reread, owned)

    def private_files(
        self,
        candidate: Candidate[Sets, OwnersTransactions],
        reread: Sets,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """Write the protected rules where the job asks for it: mined ones tell what is rare."""
        del reread, audit
        save_rules(self.job, candidate.evidence.rules, publication)


def read_roles(
    job: Job, names: pa.Array, *, needs_rules: bool
) -> tuple[NDArray[np.bool_], NDArray[np.float64], list[str]]:
    """Return which items are sensitive, what each weighs, and notes on that."""
    notes: list[str] = []
    is_sensitive = np.zeros(len(names), dtype=np.bool_)
    if job.rules.sensitive_items:
        is_sensitive, notes = find_sensitive_items(
            job.rules.sensitive_items, names, job.seed, needs_both=needs_rules
        )
    weight = np.ones(len(names))
    if job.rules.weights:
        weight = read_weights(job.rules.weights, names)
    return is_sensitive, weight, notes


def read_stated_rules(
    job: Job, names: pa.Array, is_sensitive: NDArray[np.bool_]
) -> tuple[Rules, list[str]]:
    """Return the rules of the job's file with their closure, and notes on them."""
    assert job.rules.file is not None
    rules, notes = read_rules(job.rules.file, names, is_sensitive)
    return close_rules(rules, is_sensitive, job.rules.closure), notes


def save_rules(job: Job, rules: Rules | None, publication: Publication) -> None:
    """Write the protected rules where the job asks for it."""
    if job.rules.save is not None and rules is not None:
        publication.write(Path(job.rules.save), "".join(format_rules(rules)), private=True)


def _rules(
    job: Job,
    guarantee: RuleProtection,
    original: Sets,
    names: pa.Array,
    is_sensitive: NDArray[np.bool_],
    progress: Progress,
) -> tuple[Rules, list[str]]:
    """Return the rules to protect, and notes on where they come from."""
    stated = job.rules
    if stated.file is not None:
        return read_stated_rules(job, names, is_sensitive)
    if stated.mine is not None:
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
    return close_rules(rules, is_sensitive, stated.closure), notes


class TransactionFile(SetFile):
    """Transactions in a file, released with what every item became beside them."""

    def _write(self, data: Sets, path: Path, stored: SetFormat) -> list[Path]:
        files = write_sets(data, path, stored, is_generalized=True)
        return [*files, write_mapping(item_names_of(data), path)]


class TransactionFrame(SetFrame):
    """Transactions in a long frame."""

    def read(self) -> ReadSets:
        """Take the data in; a matrix has no place for the names of generalized items."""
        read = super().read()
        if read.format.kind == "scipy":
            raise JobError(
                "a matrix has no place for the names of generalized items",
                remedy="Give a long frame of rows and items, or a file.",
            )
        return read


def write_mapping(labels: pa.Array, path: Path) -> Path:
    """Write which released item every item became, beside a release; return the file."""
    mapping = path.with_name(f"{path.name}.mapping.csv")
    with mapping.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["item", "released"])
        for label in labels.to_pylist():
            lines.writerows((member, label) for member in parse_label(str(label)))
        file.flush()
        os.fsync(file.fileno())
    return mapping
