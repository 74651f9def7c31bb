"""What a check measures besides the promise: risk, attacks, utility, two releases together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incrowd.audit import Audit
from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.job.inputs import read_input
from incrowd.measures.options import BOUND, AttackOptions, CompositionOptions, RiskOptions
from incrowd.tables.columns.normalize import normalize_table
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.checking.sets import CheckedSets
    from incrowd.checking.tables import CheckedTable, LoadedTable
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.measures.attacks.composition import PublishedRelease
    from incrowd.tables.table import Table


def measure_table(checked: CheckedTable) -> CheckedTable:
    """Return the check of a table with the findings that were asked for besides.

    A key that was not proven is the only finding: nothing is measured by it.
    """
    from incrowd.measures.utility.findings import utility_findings

    loaded = checked.loaded
    asked = loaded.request.measurements
    if not asked.flags or checked.has_broken_key:
        return checked
    findings: list[Finding] = []
    if asked.risk is not None:
        findings.append(_risk(loaded, asked.risk))
    if asked.attacks.attack:
        findings += _attacks(loaded, asked.attacks)
    if asked.other is not None:
        findings += _composition(loaded, asked.other, asked.composition)
    if asked.utility.utility:
        if BOUND in asked.utility.utility:
            raise _bound_is_of_groups()
        findings += utility_findings(checked.material(), asked.utility)
    return replace(checked, audit=_with_findings(checked.audit, findings))


def measure_sets(checked: CheckedSets) -> CheckedSets:
    """Return the check of sets with the findings that were asked for besides."""
    from incrowd.measures.utility.findings import utility_findings

    asked, evidence = checked.request.measurements, checked.evidence
    if asked.other is not None:
        raise JobError(
            "--composition compares tables, and this release is one of sets",
            remedy="Leave it out.",
        )
    findings: list[Finding] = []
    if asked.risk is not None:
        from incrowd.measures.risk.finding import set_risk_finding

        findings.append(set_risk_finding(evidence.released, asked.risk, original=evidence.original))
    if asked.attacks.attack:
        from incrowd.measures.attacks.findings import set_attack_findings

        findings += set_attack_findings(
            evidence.released,
            asked.attacks,
            original=evidence.original,
            original_row=evidence.original_row,
            original_item=evidence.original_item,
            is_generalized=checked.is_generalized,
        )
    if asked.utility.utility:
        findings += utility_findings(checked.material(), asked.utility)
    if BOUND in asked.utility.utility:
        from incrowd.guarantees.sets.promises import Majority, Smooth, Suppression
        from incrowd.measures.utility.bound import bound_finding

        promise = checked.request.guarantee
        if not isinstance(promise, Smooth | Majority | Suppression):
            raise _bound_is_of_groups()
        findings.append(bound_finding(checked.material(), promise))
    return replace(checked, audit=_with_findings(checked.audit, findings))


def _bound_is_of_groups() -> JobError:
    return JobError(
        "--utility bound is about sets in groups: smooth, majority and suppression",
        remedy="Leave it out.",
    )


def _with_findings(audit: Audit, findings: list[Finding]) -> Audit:
    """Return an audit with more findings; it holds if none is broken."""
    every = (*audit.findings, *findings)
    holds = audit.holds and all(finding.holds is not False for finding in findings)
    return replace(audit, findings=every, holds=holds)


def _risk(loaded: LoadedTable, options: RiskOptions) -> Finding:
    from incrowd.measures.risk.finding import risk_finding

    population = None
    if options.population is not None:
        from incrowd.checking.tables import read_like_original

        population = read_input(Path(options.population), loaded.request.input)
        population = read_like_original(loaded.request, population)
    owner = loaded.owner
    hierarchies = {}
    if population is not None:
        hierarchies = _hierarchies(loaded, population)
    return risk_finding(
        loaded.released,
        loaded.schema,
        options,
        original=None if owner is None else owner.original,
        original_row=None if owner is None else owner.original_row,
        hierarchies=hierarchies,
        population=population,
    )


def _attacks(loaded: LoadedTable, options: AttackOptions) -> list[Finding]:
    from incrowd.measures.attacks.findings import attack_findings

    owner = loaded.owner
    return attack_findings(
        loaded.released,
        loaded.schema,
        options,
        original=None if owner is None else owner.original,
        original_row=None if owner is None else owner.original_row,
        hierarchies=None if owner is None else owner.hierarchies,
    )


def _hierarchies(loaded: LoadedTable, population: Table | None) -> dict[str, Hierarchy]:
    """Return what released cells stand for: the owner's hierarchies, else those that are stated."""
    from incrowd.encoding.coding import add_coded_nodes
    from incrowd.encoding.encode import encode
    from incrowd.hierarchies.builders import hierarchy_for
    from incrowd.hierarchies.files import read_hierarchy

    owner = loaded.owner
    if owner is not None:
        if owner.hierarchies is not None:
            return dict(owner.hierarchies)
        before, _ = encode(
            owner.original, loaded.schema.quasi, loaded.hierarchies, loaded.request.coding
        )
        return dict(zip(before.names, before.hierarchies, strict=True))
    found = {}
    for name, spec in loaded.hierarchies.items():
        if spec.path is not None:
            found[name] = read_hierarchy(spec.path, name)
        elif population is not None and name in population.columns:
            found[name] = hierarchy_for(name, population, spec)[0]
    coded = {
        name: add_coded_nodes(found[name], limits)
        for name, limits in loaded.request.coding.items()
        if name in found
    }
    return found | coded


def _composition(loaded: LoadedTable, other: Any, options: CompositionOptions) -> list[Finding]:
    from incrowd.checking.tables import read_table_data
    from incrowd.measures.attacks.composition import composition_finding

    guarantee = cast(TableGuarantee, loaded.request.guarantee)
    second, _ = read_table_data(other, loaded.request.input)
    second = normalize_table(second, loaded.released.readings)
    quasi = tuple(name for name in loaded.schema.quasi if name in second.columns)
    sensitive = tuple(name for name in loaded.schema.sensitive if name in second.columns)
    schema = Schema(quasi, sensitive)
    first, of_other = _published(loaded, second, schema, options)
    findings = []
    if not guarantee.needs_owner and loaded.schema.person is None and quasi:
        alone = guarantee.check(_evidence(second, schema))
        findings = [
            replace(item, name=f"second release: {item.name}", is_public=False) for item in alone
        ]
    together = composition_finding(
        first, of_other, guarantee.k, options, _hierarchies(loaded, None)
    )
    return [*findings, together]


def _evidence(table: Table, schema: Schema) -> Any:
    return Evidence.from_table(
        table.frame, schema.quasi, schema.sensitive, missing_values=table.missing_values
    )


def _published(
    loaded: LoadedTable,
    second: Table,
    schema: Schema,
    options: CompositionOptions,
) -> tuple[PublishedRelease, PublishedRelease]:
    """Return both releases, with who is in them where the owner brings both keys."""
    from incrowd.measures.attacks.composition import PublishedRelease

    owner = loaded.owner
    first = PublishedRelease(loaded.released, loaded.schema.quasi, loaded.schema.sensitive)
    of_other = PublishedRelease(second, schema.quasi, schema.sensitive)
    if options.key_of_other is None:
        if options.original_of_other is not None:
            raise JobError(
                "--other-original without a key says nothing of who is in the second release",
                remedy="State its key: --other-key KEY.",
            )
        return first, of_other
    if owner is None or owner.original_row is None:
        raise JobError(
            "--other-key is of use with the first release's key only",
            remedy="State them: --original DATA --key KEY.",
        )
    other_path = None if options.original_of_other is None else Path(options.original_of_other)
    is_same = (
        other_path is None or other_path.resolve() == Path(str(loaded.request.original)).resolve()
    )
    person = loaded.schema.person
    if not is_same and person is None:
        raise JobError(
            "two originals have people in common only by a column that names them",
            remedy="State it: --person COLUMN.",
        )
    original = owner.original
    if not is_same:
        from incrowd.checking.tables import read_like_original

        original = read_input(Path(str(other_path)), loaded.request.input)
        original = read_like_original(loaded.request, original)
    rows = _proven_rows(second, schema, original, Path(options.key_of_other), loaded)
    return (
        replace(first, person_of_row=_people(owner.original, owner.original_row, person)),
        replace(of_other, person_of_row=_people(original, rows, person)),
    )


def _proven_rows(
    second: Table,
    schema: Schema,
    original: Table,
    key: Path,
    loaded: LoadedTable,
) -> Any:
    """Return the original row behind each row of the second release, its key being proven."""
    from incrowd.checking.tables import read_key
    from incrowd.encoding.encode import encode
    from incrowd.guarantees.tables.truth import prove_key

    rows = read_key(key, second.n_rows)
    original.require([*schema.quasi, *schema.sensitive], original.name)
    before, _ = encode(original, schema.quasi, loaded.hierarchies, loaded.request.coding)
    hierarchies = dict(zip(before.names, before.hierarchies, strict=True))
    proof = prove_key(original.frame, second.frame, rows, schema.quasi, hierarchies)
    if not proof.holds:
        raise InputError(
            f"the second release's key does not hold: {proof.summary}",
            remedy="Give the original and the key that belong to it.",
        )
    return rows


def _people(original: Table, rows: Any, person: str | None) -> Any:
    import pyarrow as pa

    if person is None:
        return pa.array(rows)
    original.require([person], original.name)
    return original.frame.column(person).take(pa.array(rows))
