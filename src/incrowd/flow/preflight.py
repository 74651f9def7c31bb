"""What can be found wrong with a job before it runs: its outputs, and columns that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import InputError, ProblemList
from incrowd.flow.outputs import resolve_target
from incrowd.guarantees.evidence import TABLES
from incrowd.job.inputs import InputOptions, read_columns
from incrowd.job.job import Job
from incrowd.job.preparation import required_columns
from incrowd.tables.locations import Location, is_address, is_folder, location_name
from incrowd.tables.table import IN_MEMORY, format_by_suffix, missing_columns


def problems_of_job(job: Job, force: bool, save_job: Path | None = None) -> list[InputError]:
    """Return what is wrong with where a valid job reads and writes."""
    problems = ProblemList()
    problems.attempt(resolve_target, job, force, save_job)
    return [*problems.found, *problems_of_data(job)]


def problems_of_data(job: Job) -> list[InputError]:
    """Return a problem per column that a valid job names and its data lack."""
    if job.shape != TABLES or job.data is None:
        return []
    return problems_of_columns(job.data, required_columns(job), job.input)


def stated_columns(mapping: Mapping[str, Any]) -> list[str]:
    """Return the columns that the nested tables of a job name, where the job itself is refused."""
    named = [
        column
        for section in ("roles", "hierarchies")
        for column in (mapping.get(section) or {})
        if isinstance(mapping.get(section), Mapping)
    ]
    return list(dict.fromkeys(named))


def problems_of_columns(
    data: Location, names: Iterable[str], options: InputOptions
) -> list[InputError]:
    """Return a problem per name that the header of a file lacks; none where it is not readable.

    What is wrong with the file itself is told where it is read.
    """
    if is_address(data) or is_folder(data):
        return []
    try:
        if format_by_suffix(Path(data)).kind in IN_MEMORY:
            return []  # to read its header is to read all of it
        columns = read_columns(Path(data), options)
    except (InputError, OSError):
        return []
    return missing_columns(names, columns, location_name(data)).found
