"""A job that is proposed from a look at the data, for a person to confirm: as an object, and as a
job file with every reason as a comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from incrowd.errors import JobError, unknown
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.job.build import relative_path
from incrowd.job.inputs import InputOptions, read_input
from incrowd.job.job import Job
from incrowd.options import changed_parameters
from incrowd.proposing.roles import Proposal, propose_roles, summarize_proposals
from incrowd.tables.columns.normalize import read_tentatively
from incrowd.tables.schema import ROLES, Schema
from incrowd.wording import phrase

if TYPE_CHECKING:
    from incrowd.tables.locations import Location
    from incrowd.tables.table import Table

PROPOSED_K = 5


@dataclass(frozen=True, repr=False)
class JobProposal:
    """What every column of a table seems to be, and the job that follows from it.

    ``proposals`` has one entry per column: role, hierarchy, reasons and confidence. ``warnings``
    concern the table as a whole. Nothing is decided: look at it, change roles with ``with_roles``,
    then anonymize with ``job``.
    """

    proposals: tuple[Proposal, ...]
    person: str | None = None
    k_column: str | None = None
    warnings: tuple[str, ...] = ()
    n_rows: int = 0
    k: int = PROPOSED_K
    data: Location | None = None
    input: InputOptions = field(default_factory=InputOptions)

    @property
    def roles(self) -> dict[str, str]:
        """Column → proposed role; the person and k columns, which are never released, have none."""
        return {each.column: each.role for each in self.proposals if each.role in ROLES}

    @property
    def schema(self) -> Schema:
        """The proposed roles as a schema."""
        return Schema.from_roles(self.roles, self.person)

    @property
    def job(self) -> Job:
        """The proposed job: k-anonymity with the proposed roles and hierarchies."""
        if not self.schema.quasi:
            raise JobError(
                "no column looks quasi-identifying, so that there is no job to propose",
                remedy='Name the columns that others may know: .with_roles(quasi=["age"]).',
            )
        return Job(
            guarantee=KAnonymity(self.k),
            schema=self.schema,
            hierarchies={
                each.column: each.hierarchy_spec_text
                for each in self.proposals
                if each.role == "quasi-identifying" and each.hierarchy_spec_text
            },
            data=self.data,
            input=self.input,
        )

    def to_toml(self, base: Path | None = None, remarks: Iterable[str] = ()) -> str:
        """Return a job file in folder ``base`` with every reason as a comment beside its column.

        ``remarks`` are comments at its head.
        """
        lines = [
            "# A proposal: confirm every role before you run it.",
            "# Roles: identifying (removed), quasi-identifying (generalized), sensitive (kept,",
            "# protected by l and t), insensitive (kept as it is). Without a role: removed.",
            *(f"# {remark}" for remark in remarks),
        ]
        if self.data is not None:
            lines.append(f"data = {_toml(relative_path(self.data, base))}")
        if self.person:
            lines.append(f"person = {_toml(self.person)}  # groups count people, not rows")
        lines += ["", "[roles]"]
        for each in self.proposals:
            stated = f"{_key(each.column)} = {_toml(each.role)}"
            if each.role not in ROLES:
                stated = f"# {_key(each.column)}: the {each.role}, never released"
            lines.append(f"{stated}  # {each.confidence}: {'; '.join(each.reasons)}")
        hierarchies = [
            f"{_key(each.column)} = {_toml(each.hierarchy_spec_text)}"
            for each in self.proposals
            if each.role == "quasi-identifying" and each.hierarchy_spec_text
        ]
        if hierarchies:
            lines += ["", "[hierarchies]", *hierarchies]
        lines += ["", "[guarantee]", 'name = "k-anonymity"', f"k = {self.k}"]
        if self.k_column:
            lines.append(f"# k_column = {_toml(self.k_column)}  # everybody their own k")
        if any(each.role == "sensitive" for each in self.proposals):
            lines.append("# l = 2  # at least two different sensitive values in every group")
        known = changed_parameters(self.input)
        if known:
            lines += ["", "[input]", tomli_w.dumps(known).rstrip()]
        return "\n".join(lines) + "\n"

    def with_roles(
        self,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        identifying: Iterable[str] = (),
    ) -> JobProposal:
        """Return the proposal with other roles for the named columns; all others keep theirs."""
        stated = Schema(quasi, sensitive, insensitive, identifying).roles
        known = [each.column for each in self.proposals]
        for column in stated:
            if column not in known:
                raise unknown("column", column, known)
        changed = tuple(
            replace(each, role=stated[each.column], reasons=("stated",), confidence="high")
            if each.column in stated
            else each
            for each in self.proposals
        )
        person = None if self.person in stated else self.person
        k_column = None if self.k_column in stated else self.k_column
        return replace(self, proposals=changed, person=person, k_column=k_column)

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a row per column as a frame: pandas where it is installed, else polars."""
        import pyarrow as pa

        from incrowd.tables.frames import to_kind

        rows = [
            {
                "column": each.column,
                "values": each.kind,
                "role": each.role,
                "confidence": each.confidence,
                "hierarchy": each.hierarchy_spec_text or None,
                "reasons": "; ".join(each.reasons),
            }
            for each in self.proposals
        ]
        return to_kind(pa.Table.from_pylist(rows), kind)

    def __repr__(self) -> str:
        width = max((len(each.column) for each in self.proposals), default=0)
        lines = [self._title]
        lines += [
            f"  {each.column:<{width}}  {each.role} ({each.confidence}): {'; '.join(each.reasons)}"
            for each in self.proposals
        ]
        return "\n".join([*lines, *(f"  note: {warning}" for warning in self.warnings)])

    @property
    def _title(self) -> str:
        return f"Proposed roles of {len(self.proposals)} columns, {self.n_rows:,} rows: to confirm"

    def _repr_html_(self) -> str:
        left = ' style="text-align:left"'
        headings = ("column", "values", "proposed role", "confidence", "hierarchy", "because")
        top = "".join(f"<th{left}>{heading}</th>" for heading in headings)
        rows = []
        for each in self.proposals:
            cells = [each.column, each.kind, each.role, each.confidence]
            cells += [each.hierarchy_spec_text, "; ".join(each.reasons)]
            rows.append("".join(f"<td{left}>{escape(cell)}</td>" for cell in cells))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        return (
            f"<div><strong>{escape(self._title)}</strong>"
            f"<table><tr>{top}</tr>{body}</table>{f'<ul>{notes}</ul>' if notes else ''}</div>"
        )


def _toml(value: Any) -> str:
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _key(name: str) -> str:
    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]


def propose_job(data: Any, *, k: int = PROPOSED_K, input: InputOptions) -> JobProposal:
    """Look at a frame or a file and propose the role of every column."""
    if isinstance(data, (str, Path)):
        table = read_input(Path(data), input)
    else:
        from incrowd.tables.frames import from_frame

        table, _ = from_frame(data, missing_values=input.missing_values)
    location = Path(data) if isinstance(data, (str, Path)) else None
    return propose_for_table(table, k=k, data=location, input=input)


def propose_for_table(
    table: Table, *, k: int = PROPOSED_K, data: Location | None = None, input: InputOptions
) -> JobProposal:
    """Propose the role of every column of a table that was read from ``data``, if from a file."""
    KAnonymity(k)  # refused here, with its reason, rather than when the job is asked for
    table, questions = read_tentatively(table, input.stated_formats)
    proposals = [
        replace(each, reasons=tuple(phrase(reason) for reason in each.reasons))
        for each in propose_roles(table)
    ]
    summary = summarize_proposals(table, proposals)
    return JobProposal(
        tuple(proposals),
        summary.person,
        summary.k_column,
        tuple(phrase(warning) for warning in (*summary.warnings, *questions)),
        table.n_rows,
        k,
        data,
        input,
    )
