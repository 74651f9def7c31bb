"""``incrowd check`` of released sets and transactions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.cli.check_more import with_more_of_sets
from incrowd.engines.choice import EngineChoice
from incrowd.errors import InputError, JobError, unknown
from incrowd.guarantees.shapes import TRANSACTIONS
from incrowd.guarantees.table import GUARANTEES, SET_GUARANTEES, guarantees_of
from incrowd.job.build import build, read_mapping
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import SET_SUFFIXES, Job, implied_guarantee
from incrowd.sets.sets import BIPARTITE

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.cli.check_more import More
    from incrowd.guarantees.sets.promises import SetEvidence
    from incrowd.guarantees.transactions.promises import RuleEvidence
    from incrowd.sets.sets import Shelf


def is_about_sets(
    released: Path, guarantee: str | None, job: Path | None, mapping: Mapping[str, Any]
) -> bool:
    """Whether a check is of sets: by its guarantee, else by its job, its flags or the file."""
    if guarantee is not None:
        return guarantee in SET_GUARANTEES
    if job is not None:
        stated = read_mapping(job).get("guarantee", {})
        return isinstance(stated, Mapping) and stated.get("name") in SET_GUARANTEES
    is_implied = implied_guarantee(mapping) in guarantees_of(TRANSACTIONS)
    return is_implied or released.name.removesuffix(".gz").endswith(SET_SUFFIXES)


def check_sets_file(
    released: Path,
    guarantee: str | None,
    mapping: dict[str, Any],
    *,
    original: Path | None,
    key: Path | None,
    aligned: bool,
    job: Path | None,
    more: More,
) -> CheckedSets:
    """Return the check of a file of sets, or of a folder of part files, and of what else is asked.

    Entries that ``--memory`` has no room for lie in the system's temporary folder meanwhile.
    """
    from incrowd.sets.format import shelf_in
    from incrowd.workspace import Workspace

    choice = build(EngineChoice, mapping.get("engine", {}), "engine")
    with Workspace(Path(tempfile.gettempdir())) as workspace:
        shelf = shelf_in(workspace.folder, choice.memory_bytes)
        owner = _Owner(original, key, aligned)
        checked = _checked(released, guarantee, mapping, owner, job, shelf, choice.memory_bytes)
        return with_more_of_sets(checked, more)


@dataclass(frozen=True, eq=False)
class CheckedSets:
    """Released sets as the check read them with what the owner brought, and the audit.

    ``is_generalized`` says whether a released item may stand for a set of items.
    """

    audit: Audit
    evidence: SetEvidence
    is_generalized: bool


@dataclass(frozen=True)
class _Owner:
    """What the owner of the data may show besides."""

    original: Path | None
    key: Path | None
    aligned: bool


def _checked(
    released: Path,
    guarantee: str | None,
    mapping: dict[str, Any],
    owner: _Owner,
    job: Path | None,
    shelf: Shelf,
    memory: int | None,
) -> CheckedSets:
    import numpy as np

    from incrowd.audit import assemble
    from incrowd.cli.key_file import read_key
    from incrowd.engines.folders import hash_of_location
    from incrowd.guarantees.sets.promises import SetEvidence
    from incrowd.guarantees.transactions.promises import RuleEvidence
    from incrowd.measures.losses.sets import set_losses
    from incrowd.sets.files import read_sets
    from incrowd.sets.format import released_graph
    from incrowd.sets.universe import read_row_k

    started = time.perf_counter()
    original, key, aligned = owner.original, owner.key, owner.aligned
    stated = {name: dict(values) for name, values in mapping.items()}
    seed = 0
    if job is not None:
        saved = Job.from_mapping(read_mapping(job), job.parent).to_mapping()
        seed = int(saved["seed"])
        for section in ("guarantee", "sets", "rules", "input"):
            stated[section] = {**saved.get(section, {}), **stated.get(section, {})}
        of_job = stated["guarantee"].pop("name")
        guarantee = guarantee or of_job
    name = guarantee or implied_guarantee(stated) or "smooth"
    if name not in SET_GUARANTEES:
        raise unknown("guarantee of sets", name, SET_GUARANTEES)
    promise = build(GUARANTEES[name], stated.get("guarantee", {}), "guarantee")
    sets = build(SetInput, stated.get("sets", {}), "sets")
    options = sets.reading(build(InputOptions, stated.get("input", {}), "input"), memory)
    evidence = SetEvidence(
        read_sets(released, replace(options, graph=released_graph(sets.graph)), shelf),
        keeps_order=aligned,
        columns_are_people=sets.graph != BIPARTITE,
    )
    if name in guarantees_of(TRANSACTIONS):
        rules = build(RuleInput, stated.get("rules", {}), "rules")
        evidence = _with_rules(evidence, rules, seed, needs_rules=name == "rules")
    if original is None and (key is not None or aligned or sets.row_k):
        raise JobError(
            "--key, --aligned and --row-k speak of an original", remedy="Name it: --original."
        )
    if original is not None:
        whole = read_sets(original, options, shelf)
        evidence = replace(evidence, original=whole)
        n_rows = evidence.released.n_rows
        if key is not None or aligned:
            if n_rows != whole.n_rows:
                raise InputError(
                    f"the original has {whole.n_rows} rows, the release {n_rows}",
                    remedy="Give the original that the release was made from.",
                )
            rows = read_key(key, n_rows) if key is not None else np.arange(n_rows, dtype=np.int64)
            items = rows if key is not None and sets.graph != BIPARTITE else None
            evidence = replace(evidence, original_row=rows, original_item=items)
        if sets.row_k:
            evidence = replace(evidence, k_of_row=read_row_k(sets.row_k, whole))
    losses: dict[str, float] = {}
    if not isinstance(evidence, RuleEvidence) and evidence.original_row is not None:
        assert evidence.original is not None
        losses = set_losses(
            evidence.original,
            evidence.released,
            original_row=evidence.original_row,
            original_item=evidence.original_item,
        ).as_dict()
    audit = assemble(
        promise,
        promise.check(evidence),
        evidence.released.n_rows,
        losses=losses,
        release_sha256=hash_of_location(released),
        seconds=round(time.perf_counter() - started, 4),
    )
    return CheckedSets(audit, evidence, isinstance(evidence, RuleEvidence))


def _with_rules(
    evidence: SetEvidence, stated: RuleInput, seed: int, *, needs_rules: bool
) -> RuleEvidence:
    """Return the evidence with the rules and the sensitive items that are stated."""
    import numpy as np

    from incrowd.guarantees.transactions.promises import RuleEvidence
    from incrowd.transactions.generalized import original_names
    from incrowd.transactions.rule_files import read_rules, sensitive_items

    if needs_rules and stated.file is None:
        raise JobError(
            "there are no rules to check",
            remedy="Name them: --rules FILE; run --save-rules FILE wrote those it found.",
        )
    sensitive: frozenset[str] = frozenset()
    if stated.sensitive_items:
        names = original_names(evidence.released)
        is_sensitive, _ = sensitive_items(stated.sensitive_items, names, seed, needs_both=False)
        texts = names.to_pylist()
        sensitive = frozenset(str(texts[item]) for item in np.flatnonzero(is_sensitive).tolist())
    return RuleEvidence(
        evidence.released,
        keeps_order=evidence.keeps_order,
        rules=read_rules(stated.file)[0] if stated.file is not None else None,
        sensitive=sensitive,
    )
