"""What a job is made of in Python: objects, or what a job file states in their place.

``method="mondrian"``, ``guarantee={"name": "k-anonymity", "k": 5}`` and builder mappings of
hierarchies are taken as a job file takes them; anything else is refused with what is accepted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.encoding.coding import Coding
from incrowd.engines.choice import EngineChoice
from incrowd.errors import JobError, ProblemList, unknown
from incrowd.guarantees.table import GUARANTEES, Guarantee, require_guarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.build import build, typed_by_column
from incrowd.job.documents import ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.methods.base import Method
from incrowd.methods.table import METHODS, resolve_method
from incrowd.options import accept_argument
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.job.job import Job

PARTS: dict[str, type[Any]] = {
    "sets": SetInput,
    "rules": RuleInput,
    "engine": EngineChoice,
    "input": InputOptions,
    "release": ReleaseOptions,
}
"""The parts of a job that are one class each."""


def accept_parts(job: Job) -> dict[str, Any]:
    """Return the parts of a job as what they are to be; all that is wrong is told at once."""
    problems = ProblemList()
    attempt = problems.attempt
    schema = attempt(accept_schema, job.schema)
    found = {
        "schema": schema,
        "guarantee": attempt(accept_guarantee, job.guarantee, schema),
        "method": None if job.method is None else attempt(accept_method, job.method),
        "hierarchies": attempt(accept_hierarchies, job.hierarchies),
        "coding": attempt(_accept_coding, job.coding),
        "bins": attempt(typed_by_column, job.bins, int, "bins"),
        "data": attempt(_accept_location, job.data, "data"),
        "output": attempt(_accept_location, job.output, "output"),
    }
    for name, kind in PARTS.items():
        found[name] = attempt(_accept_part, getattr(job, name), kind, name)
    problems.refuse()
    return found


def as_job(stated: Any, what: str) -> Job:
    """Return a job from a Job, the nested tables of a job file, or its path; ``what`` asks for it.

    Raises JobError, with what to write, for anything else.
    """
    from incrowd.job.job import Job

    if isinstance(stated, Job):
        return stated
    if isinstance(stated, Mapping):
        return Job.from_mapping(stated)
    if isinstance(stated, (str, os.PathLike)) and str(stated).endswith(".toml"):
        return Job.load(Path(stated))
    remedy = 'Give ic.Job(guarantee=ic.KAnonymity(5), schema=ic.Schema(quasi=["age", "zip"])).'
    if is_guarantee(stated):
        remedy = f"Give ic.Job(guarantee=ic.{type(stated).__name__}(…), schema=ic.Schema(…))."
    elif isinstance(stated, (str, os.PathLike)):
        remedy = f"Name a job file (.toml), or the data in a job: ic.Job(data={str(stated)!r}, …)."
    elif type(stated).__name__ in ("DataFrame", "LazyFrame", "Table"):
        remedy = "Anonymize a frame with ic.anonymize(frame, job)."
        if what == "compare":
            remedy = "Give the frame beside the job: ic.compare(job, data=frame)."
    raise JobError(f"{what} expects a job, not {describe(stated)}", remedy=remedy)


def accept_guarantee(stated: Any, schema: Schema | None) -> Guarantee:
    """Return a promise from an object, a mapping, a name, or k where it is about a table."""
    if is_guarantee(stated):
        promise: Guarantee = stated
        return promise
    if isinstance(stated, Mapping):
        settings = dict(stated)
        return build_guarantee(str(settings.pop("name", KAnonymity.name)), settings)
    if isinstance(stated, str):
        return build_guarantee(stated, {})
    is_k = isinstance(stated, int) and not isinstance(stated, bool)
    if is_k and schema is not None and schema.quasi:
        return KAnonymity(stated)
    example = f"ic.KAnonymity({stated})" if is_k else "ic.KAnonymity(5)"
    raise JobError(
        f"guarantee is not a promise but {describe(stated)}",
        remedy=f"State {example} for tables, ic.Smooth(5) for sets; or a mapping such as "
        '{"name": "k-anonymity", "k": 5}.',
    )


def is_guarantee(stated: Any) -> bool:
    """Whether it is a promise, and not a class of promises."""
    return isinstance(stated, tuple(GUARANTEES.values()))


def build_guarantee(name: str, mapping: Mapping[str, Any]) -> Guarantee:
    """Build a promise by name; where people state their own k, k-anonymity has at least 2."""
    name = require_guarantee(name)
    stated = dict(mapping)
    if name == KAnonymity.name and (stated.get("k_column") or stated.get("k_rules")):
        stated.setdefault("k", 2)
    promise: Guarantee = build(GUARANTEES[name], stated, "guarantee")
    return promise


def accept_method(stated: Any) -> Method:
    """Return a method from an object, a name, or a mapping with its name."""
    if isinstance(stated, Method):
        return stated
    if isinstance(stated, str):
        return build_method(stated, {})
    if isinstance(stated, Mapping) and "name" in stated:
        settings = dict(stated)
        return build_method(str(settings.pop("name")), settings)
    raise JobError(
        f"method is not a method but {describe(stated)}",
        remedy='State a name such as "mondrian", ic.Mondrian(), or {"name": "mondrian"}. '
        f"Known: {', '.join(METHODS)}.",
    )


def build_method(name: str, mapping: Mapping[str, Any]) -> Method:
    """Build a method by name; that of a paper is understood, with the settings that make it so."""
    name, settings = resolve_method(name)
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    method: Method = build(METHODS[name], {**settings, **mapping}, "method")
    return method


def accept_schema(stated: Any) -> Schema:
    """Return a schema from an object, column → role, or role → columns."""
    if isinstance(stated, Schema):
        return stated
    if isinstance(stated, Mapping):
        words = ("quasi", "sensitive", "insensitive", "identifying", "person")
        if set(stated) <= set(words):
            return Schema(**stated)
        if all(isinstance(role, str) for role in stated.values()):
            return Schema.from_roles(stated)
    raise JobError(
        f"schema is not a schema but {describe(stated)}",
        remedy='State ic.Schema(quasi=["age", "zip"], sensitive=["diagnosis"]), or a role per '
        'column: {"age": "quasi-identifying"}.',
    )


def accept_hierarchies(stated: Any) -> dict[str, HierarchySpec]:
    """Return how columns are generalized, from specifications, texts, paths and mappings."""
    if not isinstance(stated, Mapping):
        raise JobError(
            f"hierarchies is not a mapping of columns but {describe(stated)}",
            remedy='State {"age": "intervals:5,10", "education": "education.csv"}.',
        )
    return {column: _accept_hierarchy(spec, column) for column, spec in stated.items()}


def _accept_hierarchy(stated: Any, column: str) -> HierarchySpec:
    if isinstance(stated, HierarchySpec):
        return stated
    if isinstance(stated, os.PathLike):
        stated = {"file": os.fspath(stated)}
    if not isinstance(stated, (str, Mapping)):
        raise JobError(
            f"the hierarchy of column {column!r} is not a specification but {describe(stated)}",
            remedy='State a text such as "intervals:5,10", a file, or a mapping such as '
            '{"intervals": [5, 10]}; an ic.Hierarchy is written with ic.write_hierarchy first.',
        )
    return HierarchySpec.from_toml(stated, column)


def _accept_coding(stated: Any) -> dict[str, Coding]:
    if not isinstance(stated, Mapping):
        raise JobError(
            f"coding is not a mapping of columns but {describe(stated)}",
            remedy='State {"age": ic.Coding(bottom=20, top=80)}.',
        )
    return {column: Coding.from_toml(limits, column) for column, limits in stated.items()}


def _accept_location(stated: Any, name: str) -> Any:
    if type(stated).__name__ in ("DataFrame", "LazyFrame", "Table"):
        raise JobError(
            f"{name} is a frame, and a job names files",
            remedy="Leave it out, and anonymize the frame: ic.anonymize(frame, job).",
        )
    if isinstance(stated, Path):
        return stated
    return accept_argument(stated, str, name, "Job")


def _accept_part(stated: Any, kind: type[Any], name: str) -> Any:
    if isinstance(stated, kind):
        return stated
    if isinstance(stated, Mapping):
        return build(kind, stated, name)
    if kind is EngineChoice and isinstance(stated, str):
        return EngineChoice(name=stated)
    raise JobError(
        f"{name} is not {kind.__name__} but {describe(stated)}",
        remedy=f"State ic.{kind.__name__}(…), or a mapping of its settings.",
    )


def describe(stated: Any) -> str:
    """Return what was given in place of something else, without its values."""
    if isinstance(stated, type):
        return f"the class {stated.__name__} (write {stated.__name__}(…))"
    if isinstance(stated, (str, int, float)):
        return repr(stated)[:80]
    name = type(stated).__name__
    if is_dataclass(stated) or name[:1].isupper():
        return name
    return f"a {name}"
