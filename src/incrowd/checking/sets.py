"""Check released sets and transactions: load them with what their owner brings, and audit them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from incrowd.audit import Audit, assemble
from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.checking.request import Request
from incrowd.checking.tables import read_key
from incrowd.engines.folders import hash_location
from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import TRANSACTIONS
from incrowd.guarantees.sets.promises import SetEvidence
from incrowd.guarantees.transactions.promises import RuleEvidence
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.sets.files import read_sets
from incrowd.sets.format import SetOptions, released_graph, storage_in
from incrowd.sets.names import item_names_of
from incrowd.sets.order import apply_universe, read_row_k
from incrowd.sets.sets import BIPARTITE, EntryStorage, Sets
from incrowd.transactions.generalized import original_names
from incrowd.transactions.rule_files import find_sensitive_items, read_rules
from incrowd.transactions.rules import Rules
from incrowd.workspace import Workspace


@dataclass(frozen=True, eq=False)
class CheckedSets:
    """Released sets as the check read them with what the owner brought, and the audit."""

    audit: Audit
    evidence: SetEvidence
    request: Request

    @property
    def is_generalized(self) -> bool:
        """Whether a released item may stand for a set of items."""
        return self.request.guarantee.shape == TRANSACTIONS

    def material(self) -> SetMaterial:
        """Return what figures are computed from, with the original where the key is brought."""
        return material_of(self.evidence)


def check_sets(request: Request) -> CheckedSets:
    """Audit released sets from any tool; nothing is written.

    Entries that ``--memory`` has no room for lie in the system's temporary folder meanwhile.
    """
    from incrowd.checking.measurements import measure_sets

    started = time.perf_counter()
    with load_sets(request) as evidence:
        losses: dict[str, float] = {}
        has_key = evidence.original is not None and evidence.original_row is not None
        if has_key and not isinstance(evidence, RuleEvidence):
            assert evidence.original is not None
            losses = measure_set_losses(
                evidence.original,
                evidence.released,
                original_row=evidence.original_row,
                original_item=evidence.original_item,
            ).as_dict()
        promise: Any = request.guarantee
        audit = assemble(
            promise,
            promise.check(evidence),
            evidence.released.n_rows,
            losses=losses,
            release_sha256=_hash(request.released),
            seconds=round(time.perf_counter() - started, 4),
        )
        return measure_sets(CheckedSets(audit, evidence, request))


@contextmanager
def load_sets(request: Request, *, with_rules: bool = True) -> Iterator[SetEvidence]:
    """Yield released sets with what the owner brings: the original, the key, personal k, rules.

    Figures need no rules: they are loaded ``with_rules`` for a check of transactions.
    """
    memory = request.engine.memory_bytes
    with Workspace(Path(tempfile.gettempdir())) as workspace:
        storage = storage_in(workspace.folder, memory)
        options = request.sets.reading(request.input, memory)
        graph = request.sets.graph
        evidence = SetEvidence(
            _read(request.released, replace(options, graph=released_graph(graph)), storage),
            keeps_order=request.aligned,
            columns_are_people=graph != BIPARTITE,
        )
        if with_rules and request.guarantee.shape == TRANSACTIONS:
            evidence = _with_rules(evidence, request)
        if request.original is not None:
            evidence = _with_original(evidence, request, options, storage)
        yield evidence


def material_of(evidence: SetEvidence) -> SetMaterial:
    """Return what figures are computed from, with the original where the key is brought."""
    own = None
    if evidence.original is not None and evidence.original_row is not None:
        own = OwnSets(
            evidence.original, evidence.original_row, evidence.original_item, evidence.k_of_row
        )
    return SetMaterial(evidence.released, own)


def _read(data: Any, options: SetOptions, storage: EntryStorage) -> Sets:
    """Return a file, a matrix or a frame as sets."""
    if isinstance(data, Sets):
        return data
    if isinstance(data, (str, Path)):
        return read_sets(Path(data), options, storage)
    from incrowd.sets.frames import sets_from_frame

    return sets_from_frame(data, options).sets


def _hash(data: Any) -> str:
    return hash_location(Path(data)) if isinstance(data, (str, Path)) else ""


def _with_original(
    evidence: SetEvidence, request: Request, options: SetOptions, storage: EntryStorage
) -> SetEvidence:
    """Return the evidence with the owner's original, key and personal k."""
    original = _read(request.original, options, storage)
    if request.sets.items:
        original = apply_universe(original, request.sets.items, storage)
    evidence = replace(evidence, original=original)
    n_rows = evidence.released.n_rows
    if request.key is not None or request.aligned:
        if n_rows != original.n_rows:
            raise InputError(
                f"the original has {original.n_rows} rows, the release {n_rows}",
                remedy="Give the original that the release was made from.",
            )
        is_keyed = request.key is not None
        rows = read_key(request.key, n_rows) if is_keyed else np.arange(n_rows, dtype=np.int64)
        items = rows if is_keyed and request.sets.graph != BIPARTITE else None
        evidence = replace(evidence, original_row=rows, original_item=items)
    if request.sets.row_k:
        evidence = replace(evidence, k_of_row=read_row_k(request.sets.row_k, original))
    return evidence


def _with_rules(evidence: SetEvidence, request: Request) -> RuleEvidence:
    """Return the evidence with the rules and the sensitive items that are stated."""
    rules = read_rules_to_check(request)
    return RuleEvidence(
        evidence.released,
        keeps_order=evidence.keeps_order,
        rules=rules,
        sensitive=sensitive_names(request, item_names_of(evidence.released)),
    )


def read_rules_to_check(request: Request) -> Rules | None:
    """Return the rules that are stated; raise where there must be some and are none."""
    stated = request.rules
    if request.guarantee.name == "rules" and stated.file is None:
        raise JobError(
            "there are no rules to check",
            remedy="Name them: --rules FILE; run --save-rules FILE wrote those it found.",
        )
    return read_rules(stated.file)[0] if stated.file is not None else None


def sensitive_names(request: Request, labels: pa.Array) -> frozenset[str]:
    """Return what the stated sensitive items are called, of those that a release shows."""
    stated = request.rules.sensitive_items
    if not stated:
        return frozenset()
    names = original_names(labels)
    is_sensitive, _ = find_sensitive_items(stated, names, request.seed, needs_both=False)
    texts = names.to_pylist()
    return frozenset(str(texts[item]) for item in np.flatnonzero(is_sensitive).tolist())
