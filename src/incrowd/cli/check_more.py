"""What ``incrowd check`` measures besides the promise: risk, attacks, two releases together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import JobError
from incrowd.job.build import build
from incrowd.measures.attacks.options import AttackOptions, CompositionOptions
from incrowd.measures.risk.options import RiskOptions
from incrowd.measures.utility.options import UtilityOptions
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.cli.check_sets import CheckedSets
    from incrowd.cli.check_tables import CheckedTable, TableRequest
    from incrowd.guarantees.evidence import Finding
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.measures.attacks.composition import Published
    from incrowd.tables.table import Table


@dataclass(frozen=True)
class More:
    """What else is asked for; ``risk`` is None where it is not."""

    risk: RiskOptions | None
    attacks: AttackOptions
    composition: CompositionOptions
    utility: UtilityOptions = field(default_factory=UtilityOptions)
    other: Path | None = None

    @classmethod
    def stated(cls, mapping: dict[str, Any], *, measures_risk: bool, other: str | None) -> More:
        """Take the sections out of a mapping of flags; refuse what asks for nothing."""
        stated = mapping.pop("risk", {})
        if stated and not measures_risk:
            raise JobError(
                "a threshold, a population or a sampling fraction is stated, and no risk is asked",
                remedy="Add --risk.",
            )
        attacks = build(AttackOptions, mapping.pop("attacks", {}), "attacks")
        composition = build(CompositionOptions, mapping.pop("composition", {}), "composition")
        utility = build(UtilityOptions, mapping.pop("utility", {}), "utility")
        if composition.composition != (other is not None):
            raise JobError(
                "--composition compares two releases"
                if other is None
                else "a second release is stated, and nothing is asked of both",
                remedy="incrowd check FIRST SECOND --composition --quasi …",
            )
        return cls(
            build(RiskOptions, stated, "risk") if measures_risk else None,
            attacks,
            composition,
            utility,
            None if other is None else Path(other),
        )

    @property
    def asks(self) -> list[str]:
        """The flags that ask for something."""
        return [
            *(["--risk"] if self.risk is not None else []),
            *(["--attack"] if self.attacks.attack else []),
            *(["--composition"] if self.composition.composition else []),
            *(["--utility"] if self.utility.utility else []),
        ]


def with_more_of_table(checked: CheckedTable, request: TableRequest, more: More) -> CheckedTable:
    """Return the check of a table with the findings that were asked for besides.

    A key that was not proven is the only finding: nothing is measured by it.
    """
    if not more.asks or checked.has_broken_key:
        return checked
    findings: list[Finding] = []
    if more.risk is not None:
        findings.append(_risk(checked, request, more.risk))
    if more.attacks.attack:
        findings += _attacks(checked, more.attacks)
    if more.other is not None:
        findings += _composition(checked, request, more.other, more.composition)
    findings += _utility(checked, more.utility)
    return replace(checked, audit=with_findings(checked.audit, findings))


def with_more_of_sets(checked: CheckedSets, more: More) -> CheckedSets:
    """Return the check of sets with the findings that were asked for besides."""
    if more.other is not None:
        raise JobError(
            "--composition compares tables, and this release is one of sets",
            remedy="Leave it out.",
        )
    findings: list[Finding] = []
    evidence = checked.evidence
    if more.risk is not None:
        from incrowd.measures.risk.finding import set_risk_finding

        findings.append(set_risk_finding(evidence.released, more.risk, original=evidence.original))
    if more.attacks.attack:
        from incrowd.measures.attacks.findings import set_attack_findings

        findings += set_attack_findings(
            evidence.released,
            more.attacks,
            original=evidence.original,
            original_row=evidence.original_row,
            original_item=evidence.original_item,
            is_generalized=checked.is_generalized,
        )
    findings += _utility(checked, more.utility)
    return replace(checked, audit=with_findings(checked.audit, findings))


def _utility(checked: CheckedTable | CheckedSets, options: UtilityOptions) -> list[Finding]:
    from incrowd.cli.check_report import material_of
    from incrowd.measures.utility.findings import utility_findings

    return utility_findings(material_of(checked), options) if options.utility else []


def with_findings(audit: Audit, findings: list[Finding]) -> Audit:
    """Return an audit with more findings; it holds if none is broken."""
    every = (*audit.findings, *findings)
    holds = audit.holds and all(finding.holds is not False for finding in findings)
    return replace(audit, findings=every, holds=holds)


def _risk(checked: CheckedTable, request: TableRequest, options: RiskOptions) -> Finding:
    from incrowd.job.inputs import read_input
    from incrowd.measures.risk.finding import risk_finding

    population = None
    if options.population is not None:
        population = read_input(Path(options.population), request.reading)
    owner = checked.owner
    hierarchies = {}
    if population is not None:
        hierarchies = _hierarchies(checked, population)
    return risk_finding(
        checked.released,
        checked.schema,
        options,
        original=None if owner is None else owner.original,
        original_row=None if owner is None else owner.original_row,
        hierarchies=hierarchies,
        population=population,
    )


def _attacks(checked: CheckedTable, options: AttackOptions) -> list[Finding]:
    from incrowd.measures.attacks.findings import attack_findings

    owner = checked.owner
    return attack_findings(
        checked.released,
        checked.schema,
        options,
        original=None if owner is None else owner.original,
        original_row=None if owner is None else owner.original_row,
        hierarchies=None if owner is None else owner.hierarchies,
    )


def _hierarchies(checked: CheckedTable, population: Table | None) -> dict[str, Hierarchy]:
    """Return what released cells stand for: the owner's hierarchies, else those that are stated."""
    from incrowd.encoding.coding import add_coded_nodes
    from incrowd.encoding.encode import encode
    from incrowd.hierarchies.builders import hierarchy_for
    from incrowd.hierarchies.files import read_hierarchy

    owner = checked.owner
    if owner is not None:
        if owner.hierarchies is not None:
            return dict(owner.hierarchies)
        before, _ = encode(owner.original, checked.schema.quasi, checked.specs, checked.codings)
        return dict(zip(before.names, before.hierarchies, strict=True))
    found = {}
    for name, spec in checked.specs.items():
        if spec.path is not None:
            found[name] = read_hierarchy(spec.path, name)
        elif population is not None and name in population.columns:
            found[name] = hierarchy_for(name, population, spec)[0]
    coded = {
        name: add_coded_nodes(found[name], limits)
        for name, limits in checked.codings.items()
        if name in found
    }
    return found | coded


def _composition(
    checked: CheckedTable, request: TableRequest, other: Path, options: CompositionOptions
) -> list[Finding]:
    from incrowd.job.inputs import read_input
    from incrowd.measures.attacks.composition import composition_finding

    second = read_input(other, request.reading)
    quasi = tuple(name for name in checked.schema.quasi if name in second.columns)
    sensitive = tuple(name for name in checked.schema.sensitive if name in second.columns)
    schema = Schema(quasi, sensitive)
    first, of_other = _published(checked, request, second, schema, options)
    findings = []
    if not request.guarantee.needs_owner and checked.schema.person is None and quasi:
        alone = request.guarantee.check(_evidence(second, schema))
        findings = [
            replace(item, name=f"second release: {item.name}", is_public=False) for item in alone
        ]
    together = composition_finding(
        first, of_other, request.guarantee.k, options, _hierarchies(checked, None)
    )
    return [*findings, together]


def _evidence(table: Table, schema: Schema) -> Any:
    from incrowd.guarantees.evidence import Evidence

    return Evidence.from_table(
        table.frame, schema.quasi, schema.sensitive, missing_values=table.missing_values
    )


def _published(
    checked: CheckedTable,
    request: TableRequest,
    second: Table,
    schema: Schema,
    options: CompositionOptions,
) -> tuple[Published, Published]:
    """Return both releases, with who is in them where the owner brings both keys."""
    from incrowd.job.inputs import read_input
    from incrowd.measures.attacks.composition import Published

    owner = checked.owner
    first = Published(checked.released, checked.schema.quasi, checked.schema.sensitive)
    of_other = Published(second, schema.quasi, schema.sensitive)
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
    is_same = other_path is None or other_path.resolve() == Path(str(request.original)).resolve()
    person = checked.schema.person
    if not is_same and person is None:
        raise JobError(
            "two originals have people in common only by a column that names them",
            remedy="State it: --person COLUMN.",
        )
    original = owner.original if is_same else read_input(Path(str(other_path)), request.reading)
    rows = _proven_rows(second, schema, original, Path(options.key_of_other), checked)
    return (
        replace(first, person_of_row=_people(owner.original, owner.original_row, person)),
        replace(of_other, person_of_row=_people(original, rows, person)),
    )


def _proven_rows(
    second: Table,
    schema: Schema,
    original: Table,
    key: Path,
    checked: CheckedTable,
) -> Any:
    """Return the original row behind each row of the second release, its key being proven."""
    from incrowd.cli.key_file import read_key
    from incrowd.encoding.encode import encode
    from incrowd.errors import InputError
    from incrowd.guarantees.tables.truth import prove_key

    rows = read_key(key, second.n_rows)
    original.require([*schema.quasi, *schema.sensitive], original.name)
    before, _ = encode(original, schema.quasi, checked.specs, checked.codings)
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
