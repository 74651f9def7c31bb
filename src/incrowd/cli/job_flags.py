"""What ``run`` and ``compare`` take: the flags of a job, and a job made from a file and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from incrowd.cli.flags import apply_limits, flags_of, split_names, stated_bins, stated_hierarchies
from incrowd.engines.choice import EngineChoice
from incrowd.errors import InputError, JobError, ProblemList
from incrowd.guarantees.table import GUARANTEES
from incrowd.job.build import build, parse_location, read_mapping
from incrowd.job.documents import FILES, NOT_WRITTEN, ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job
from incrowd.methods.table import METHODS
from incrowd.tables.locations import is_address, resolve_location

FLAGS = {
    **flags_of("guarantee", GUARANTEES.values(), "Guarantee"),
    **flags_of("method", METHODS.values(), "Method"),
    **flags_of("sets", [SetInput], "Sets"),
    **flags_of("rules", [RuleInput], "Rules"),
    **flags_of("engine", [EngineChoice], "Engine"),
    **flags_of("input", [InputOptions], "Input"),
    **flags_of("release", [ReleaseOptions], "Release", dict.fromkeys(NOT_WRITTEN, "Documents")),
}

FILE_FLAGS = (
    "key",
    "save_policy",
    "former",
    "policy_combinations",
    *FILES,
    "rules",
    "save_rules",
    "weights",
    "row_k",
    "items",
)
"""Flags that name files: as seen from here, also where the job lies elsewhere."""

ROLE_FLAGS = {
    "quasi": "quasi-identifying",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
    "identifying": "identifying",
}


def read_job_source(source: str, policy: Path | None = None) -> tuple[dict[str, Any], Path]:
    """Return the nested tables of a job file, or of a job that names its data alone; its folder.

    With a policy they are the policy's, about the data.
    """
    if policy is not None:
        from incrowd.flow.outputs import default_output
        from incrowd.flow.policies import read_policy

        if source.endswith(".toml"):
            raise JobError(
                "a policy states the job, and so does a job file",
                remedy="Name the data: incrowd run DATA --policy FOLDER.",
            )
        output = str(default_output(resolve_location(source)))
        files = {
            "data": resolve_from_here(source, policy),
            "output": resolve_from_here(output, policy),
        }
        return read_policy(policy) | files, policy
    if source.endswith(".toml"):
        return read_mapping(Path(source)), Path(source).parent
    return {"data": source}, Path()


def sound_job(
    mapping: dict[str, Any],
    base: Path,
    problems: ProblemList,
    further: Callable[[Job], Iterable[InputError]],
) -> Job:
    """Return the job that nested tables state; raise all that is wrong with it at once.

    ``further`` finds what is wrong with where a valid job reads and writes. Columns that do not
    exist are reported also where the job itself is contradictory.
    """
    from incrowd.flow.preflight import problems_of_columns, stated_columns

    job = problems.attempt(Job.from_mapping, mapping, base)
    if job is not None:
        problems.extend(further(job))
    else:
        data = problems.attempt(parse_location, mapping.get("data"), "data", base)
        options = ProblemList().attempt(build, InputOptions, mapping.get("input", {}), "input")
        if data is not None and options is not None:
            problems.extend(problems_of_columns(data, stated_columns(mapping), options))
    problems.refuse()
    assert job is not None
    return job


def section(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a section of a job, made where it lacks."""
    found = mapping.setdefault(name, {})
    if not isinstance(found, dict):
        raise JobError(f"job: [{name}] is not a table", remedy=f"Write [{name}] key = value.")
    return found


def resolve_from_here(text: str, base: Path) -> str:
    """Return a path that is relative to where the command is run, for a job in another folder."""
    if base == Path() or is_address(text):
        return text
    return str(Path(text).absolute()) + ("/" if text.endswith("/") else "")


def apply_columns(
    mapping: dict[str, Any],
    roles: dict[str, str | None],
    person: str | None,
    hierarchies: list[str] | None,
    bottoms: list[str] | None,
    tops: list[str] | None,
    bins: list[str] | None,
) -> None:
    """Write what flags state of columns over a job; all that is wrong with them is told at once."""
    problems = ProblemList()
    problems.attempt(apply_roles, mapping, roles)
    if person is not None:
        mapping["person"] = person
    if hierarchies:
        specs = problems.attempt(stated_hierarchies, hierarchies)
        problems.attempt(_update, mapping, "hierarchies", specs)
    if bottoms or tops:
        problems.attempt(lambda: apply_limits(section(mapping, "coding"), bottoms, tops))
    if bins:
        problems.attempt(_update, mapping, "bins", problems.attempt(stated_bins, bins))
    problems.refuse()


def _update(mapping: dict[str, Any], name: str, stated: dict[str, Any] | None) -> None:
    section(mapping, name).update(stated or {})


def apply_roles(mapping: dict[str, Any], stated: dict[str, str | None]) -> None:
    """Write the roles that flags state over those of a job."""
    if all(text is None for text in stated.values()):
        return
    roles = dict(mapping.get("roles", {}))
    named: dict[str, str] = {}
    for flag, text in stated.items():
        role = ROLE_FLAGS[flag]
        if text is not None:
            roles = {column: other for column, other in roles.items() if other != role}
        for column in split_names(text):
            if column in named:
                both = role if named[column] == role else f"both {named[column]} and {role}"
                raise JobError(
                    f"column {column!r} is stated {both}", remedy="Give each column one role, once."
                )
            named[column] = role
    mapping["roles"] = {**roles, **named}
