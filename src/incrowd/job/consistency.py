"""What of a job does not fit together, found before any data is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from incrowd.encoding.personal_k import columns_of_rules
from incrowd.errors import JobError, ProblemList, unknown
from incrowd.guarantees.evidence import SETS, TABLES, TRANSACTIONS
from incrowd.guarantees.table import GUARANTEES, TableGuarantee
from incrowd.methods.base import TableMethod
from incrowd.methods.table import METHODS, methods_keeping
from incrowd.options import changed_parameters
from incrowd.sets.sets import BIPARTITE

if TYPE_CHECKING:
    from incrowd.job.job import Job


def refuse_contradictions(job: Job) -> None:
    """Raise where parts of a job contradict each other or name what is not there.

    All that is found is told at once: one JobError, or ``Problems`` with several of them.
    """
    problems = ProblemList()
    problems.attempt(require_seed, job.seed)
    problems.extend(_other_shapes(job))
    if job.shape == TABLES:
        for find in (
            _without_quasi,
            _unkept_claims,
            _personal_k,
            _unkept_conditions,
            _clashing_pseudonyms,
        ):
            problems.extend(find(job))
        if isinstance(job.method, TableMethod):
            problems.extend(_stray_columns(job))
    else:
        problems.extend(_unkept_guarantee(job))
        if not problems.found:
            problems.attempt(job.method.refuse_guarantee, job.guarantee)
        problems.extend(_contradictory_sets(job))
        problems.extend(_contradictory_rules(job))
    problems.refuse()


def _without_quasi(job: Job) -> Iterator[JobError]:
    if not job.schema.quasi:
        yield JobError(
            "no column is quasi-identifying",
            remedy="Name the columns that somebody could know a person by: --quasi age,zip.",
        )


def _clashing_pseudonyms(job: Job) -> Iterator[JobError]:
    """Yield where pseudonyms would stand under the name of a column that means something else."""
    name, schema = job.release.pseudonyms, job.schema
    private = (schema.person, cast(TableGuarantee, job.guarantee).k_column)
    if name is not None and name in (*schema.published, *private):
        yield JobError(
            f"pseudonyms: {name!r} is a column with another meaning",
            remedy="Name a new column with --pseudonyms, or an identifying one to replace it.",
        )


def _unkept_guarantee(job: Job) -> Iterator[JobError]:
    if job.guarantee.name not in job.method.keeps:
        able = methods_keeping(job.guarantee.name)
        yield JobError(
            f"method {job.method.name!r} does not keep {job.guarantee.name} on {job.shape}",
            remedy=f"Use --method {' or '.join(able)}.",
        )


def _other_shapes(job: Job) -> Iterator[JobError]:
    """Yield where a setting is stated that is about data of another shape than the promise's."""
    of_tables = {
        "roles of columns": job.schema.roles or job.schema.person,
        "hierarchies": job.hierarchies,
        "codings": job.coding,
        "bins": job.bins,
        "missing_values": job.input.missing_values,
        "date formats": job.input.date_formats,
        "number formats": job.input.number_formats,
    }
    stated: dict[str, Any] = {}
    if job.shape == TABLES:
        stated = {f"[sets] {name}": SETS for name in changed_parameters(job.sets)}
        stated |= {f"[rules] {name}": TRANSACTIONS for name in changed_parameters(job.rules)}
    else:
        stated = {what: TABLES for what, value in of_tables.items() if value}
    own = TABLES if job.shape == TABLES else SETS
    for section, part in (("release", job.release), ("method", job.method)):
        for item in fields(part):
            about = item.metadata.get("about") or own
            if about != own and getattr(part, item.name) != item.default:
                stated[f"[{section}] {item.name}"] = about
    for what, about in stated.items():
        yield JobError(
            f"{what}: about {about}, and the guarantee {job.guarantee.name} is about {job.shape}",
            remedy="Leave it out, or state another --guarantee.",
        )


def require_seed(seed: object) -> None:
    """Raise unless it can be a seed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise JobError("seed: not a whole number of 0 or more", remedy="State --seed 0.")


def _unkept_claims(job: Job) -> Iterator[JobError]:
    promise = cast(TableGuarantee, job.guarantee)
    asks_of_values = promise.l is not None or promise.t is not None
    if asks_of_values and not job.schema.sensitive:
        yield JobError(
            "l and t are about sensitive columns, and none is stated",
            remedy="Name them with --sensitive, or leave --l and --t out.",
        )
    if promise.stars == "excluded":
        yield JobError(
            "guarantee: a release cannot be made with stars = 'excluded'",
            remedy="Every method keeps the strictest reading, 'as-value'; "
            "'excluded' is for checking files from elsewhere.",
        )
    if promise.joint:
        yield JobError(
            "guarantee: no method keeps joint = true",
            remedy="Make the release without it; check it with --joint.",
        )


def _personal_k(job: Job) -> Iterator[JobError]:
    """Yield where personal k are stated twice, would be released or tell of sensitive values."""
    promise = cast(TableGuarantee, job.guarantee)
    k_column, rules = promise.k_column, promise.k_rules
    if k_column and rules:
        yield JobError(
            "each person's k is stated by a column and by rules",
            remedy="State --k-column or --k-rule, not both.",
        )
    if k_column and k_column in job.schema.published:
        yield JobError(
            f"column {k_column!r} holds each person's k and is {job.schema.roles[k_column]}",
            remedy="The k column is never released: take its role away.",
        )
    telling = [column for column in columns_of_rules(rules) if column in job.schema.sensitive]
    if telling and not promise.k_from_sensitive:
        yield JobError(
            f"a rule for k looks at the sensitive column {telling[0]!r}: how much of a row is "
            "hidden would tell of its value",
            remedy="Ask for k by other columns, or accept it with --k-from-sensitive; the audit "
            "then measures how much it tells.",
        )


def _unkept_conditions(job: Job) -> Iterator[JobError]:
    """Yield where the method does not keep what is promised."""
    promise = cast(TableGuarantee, job.guarantee)
    asked = {
        promise.name: True,
        "l-diversity": promise.l is not None,
        "t-closeness": promise.t is not None,
        "k-per-person": bool(promise.k_column or promise.k_rules),
        "person": job.schema.person is not None,
    }
    not_kept = [name for name, is_asked in asked.items() if is_asked]
    not_kept = [name for name in not_kept if name not in job.method.keeps]
    if not_kept:
        asked_for = {name for name, is_asked in asked.items() if is_asked}
        able = [name for name, kind in METHODS.items() if kind.keeps.issuperset(asked_for)]
        remedy = "No method keeps all that is asked for: leave a part of it out."
        if able:
            remedy = f"Use --method {' or '.join(able)}."
        if promise.name in not_kept:
            kept = [name for name in GUARANTEES if name in job.method.keeps]
            remedy = f"Use --guarantee {' or '.join(kept)} with this method. {remedy}"
        yield JobError(
            f"method {job.method.name!r} does not keep {', '.join(not_kept)}", remedy=remedy
        )


def _stray_columns(job: Job) -> Iterator[JobError]:
    """Yield where a setting is about a column that has not the role for it."""
    quasi, method = job.schema.quasi, cast(TableMethod, job.method)
    for item in fields(method):
        by_column = getattr(method, item.name)
        for column in by_column if isinstance(by_column, Mapping) else ():
            if column not in quasi:
                where = f"[method] {item.name}"
                yield unknown("quasi-identifying column", column, quasi, where=where)
    for column, spec in job.hierarchy_specs.items():
        if spec.is_derived and column not in quasi:
            yield JobError(
                f"column {column!r}: {spec.kind} is for quasi-identifying columns",
                remedy="Make it quasi-identifying, or state another hierarchy.",
            )
    for column in job.coding:
        if column not in quasi:
            yield unknown("quasi-identifying column", column, quasi, where="[coding]")
        if column in method.stated_costs:
            yield JobError(
                f"column {column!r} has both costs of its own and a coding",
                remedy="The costs say nothing of coded values: take one of the two away.",
            )
    for column, n_bins in job.bins.items():
        if column not in quasi:
            yield unknown("quasi-identifying column", column, quasi, where="[bins]")
        if n_bins < 0 or n_bins == 1:
            yield JobError(
                f"[bins] {column}: {n_bins} is no number of bins",
                remedy="State 2 or more, or 0 to keep the column as it is.",
            )
    for column in job.release.accept_insensitive:
        if column not in job.schema.insensitive:
            yield unknown(
                "insensitive column", column, job.schema.insensitive, where="accept_insensitive"
            )


def _contradictory_sets(job: Job) -> Iterator[JobError]:
    """Yield where what is stated of sets does not fit together."""
    if job.release.symmetrize != "none" and job.sets.graph != "undirected":
        yield JobError(
            "symmetrize is about undirected graphs",
            remedy="State --graph undirected, or leave --symmetrize out.",
        )
    if job.sets.row_k and "k-per-person" not in job.method.keeps:
        yield JobError(
            f"method {job.method.name!r} does not keep a k per person",
            remedy="Leave --row-k out, or use another method.",
        )


def _contradictory_rules(job: Job) -> Iterator[JobError]:
    """Yield where rules are stated and none are protected, or none where they are."""
    stated = changed_parameters(job.rules)
    if job.shape != TRANSACTIONS:
        if stated:
            yield JobError(
                f"rules and sensitive items are not about {job.guarantee.name}",
                remedy="Use --guarantee rules or km, or leave them out.",
            )
        return
    if job.sets.graph != BIPARTITE:
        yield JobError(
            "rules are about transactions, not about graphs", remedy="Leave --graph out."
        )
    if job.guarantee.name == "km":
        if set(stated) - {"sensitive_items", "weights"}:
            yield JobError(
                "km protects every few public items, not stated rules",
                remedy="Leave rules out, or use --guarantee rules.",
            )
        return
    if len(job.rules.sources) != 1:
        yield JobError(
            "specify exactly one source of rules",
            remedy="State one of --rules FILE, --mine-rules 2, --generate-rules 4000.",
        )
    if not job.rules.sensitive_items:
        yield JobError(
            "no item is sensitive, so no rule can tell anything",
            remedy="State --sensitive-items: a file, a list a,b,c or share:0.1.",
        )
