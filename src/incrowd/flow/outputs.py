"""Where a job's files go: guarded before anything is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from incrowd.errors import InputError, JobError, ProblemList
from incrowd.flow.former_releases import recorded_files
from incrowd.guarantees.evidence import TABLES
from incrowd.job.job import Job
from incrowd.tables.files.write import format_of_path
from incrowd.tables.locations import (
    Location,
    is_address,
    is_folder,
    location_name,
    resolve_location,
)
from incrowd.tables.table import STATISTICS, SUFFIXES, Format
from incrowd.workspace import output_exists_error

BESIDE_SETS = ("rows", "items")
"""What the names of lists beside a file of sets end in."""


@dataclass(frozen=True)
class Target:
    """What a job reads and writes: files or folders of this machine, or addresses."""

    data: Location
    output: Location

    @property
    def is_folder(self) -> bool:
        """Whether the release is a folder of part files."""
        return isinstance(self.output, str)

    @property
    def beside(self) -> Path:
        """The folder in which what is private to the run lies meanwhile."""
        if is_address(self.output):
            return Path(tempfile.gettempdir())
        return Path(self.output).absolute().parent

    def format_like(self, like: Format) -> Format:
        """Return the format of part files: what the folder's name ends in, or as the data's."""
        path = Path(location_name(self.output))
        plain = replace(like, encoding="utf-8", compression="")
        return format_of_path(path, plain) if path.suffix.lower() in SUFFIXES else plain


def resolve_target(job: Job, force: bool, save_job: Path | None = None) -> Target:
    """Return what a job reads and writes, refused before anything is read."""
    data, output = _guard(job, force, save_job)
    if isinstance(output, Path) and job.shape == TABLES:
        format_of_path(output)
    if job.release.excel_csv and job.shape == TABLES:
        ending = "".join(Path(location_name(output)).suffixes[-1:]).lower()
        if ending not in (".csv", ".txt") and not (isinstance(output, str) and not ending):
            raise JobError(
                f"{output}: excel_csv is about a CSV release",
                remedy="Name the release .csv, or write a workbook (.xlsx) without --excel-csv.",
            )
    return Target(data, output)


def for_excel(stored: Format) -> Format:
    """Return a text format as Excel opens it by double click: semicolons, a byte order mark."""
    if stored.kind != "csv":
        raise JobError(
            f"excel_csv is about a CSV release, and this one is {stored.kind}",
            remedy="Name the release .csv, or leave --excel-csv out.",
        )
    return replace(stored, delimiter=";", encoding="utf-8-sig")


def _guard(job: Job, force: bool, save_job: Path | None) -> tuple[Location, Location]:
    if job.data is None:
        raise JobError("the job names no data", remedy='Write data = "file.csv" in it.')
    output = resolve_output(job, job.data)
    saved: list[Location] = [] if save_job is None else [save_job]
    problems = ProblemList()
    problems.attempt(refuse_overwriting, [*files_written(job), *saved], files_read(job))
    has_clash = bool(problems.found)  # that an input exists is no further problem
    problems.extend(_unusable_places(job, output, saved, force or has_clash))
    problems.refuse()
    return job.data, output


def _unusable_places(
    job: Job, output: Location, saved: list[Location], force: bool
) -> Iterator[InputError]:
    """Yield what is wrong with each place that a job would write to."""
    if not is_address(output):
        path = Path(output)
        if not path.absolute().parent.is_dir():
            yield InputError(f"{path.parent}: no such folder", remedy="Make it, or change -o.")
        elif isinstance(output, Path) and path.is_dir():
            yield InputError(
                f"{output}: is a folder",
                remedy="Name a file with -o, or end the name in / for a folder of part files.",
            )
            return
    stated = [output, *_stated_outputs(job), *saved]
    for path in [Path(written) for written in stated if not is_address(written)]:
        if path.exists() and not force:
            yield output_exists_error(path)
    for what, named in (("key", job.release.key), ("secret", job.release.pseudonym_secret)):
        if not named or force or is_address(output):
            continue
        if Path(named).resolve().parent == Path(output).resolve().parent:
            yield InputError(
                f"{named}: the {what} would lie in the release's folder",
                remedy=f"The {what} undoes the release: write it elsewhere, or say --force.",
            )


def files_read(job: Job) -> list[Location]:
    """Return every file or folder that a run of the job reads; those beside sets if they exist."""
    named: list[Location | None] = [job.data, job.release.sign_key]
    named += [_secret_of(job) if _has_secret(job) else None]
    named += [*job.release.former, *recorded_files(job)]
    named += [*job.method.files, *(spec.path for spec in job.hierarchy_specs.values())]
    if job.shape != TABLES:
        rules = job.rules
        named += [job.sets.row_k, job.sets.items, rules.file, rules.weights, rules.sensitive_items]
        named += [f"{str(job.data).rstrip('/')}.{beside}" for beside in BESIDE_SETS]
    return [location for location in named if location]


def files_written(job: Job) -> list[Location]:
    """Return every file or folder that a run of the job may write."""
    written = _stated_outputs(job)
    if job.data is not None:
        output = resolve_output(job, job.data)
        written.insert(0, output)
        if job.shape != TABLES and isinstance(output, Path):
            written += [f"{output}.{beside}" for beside in (*BESIDE_SETS, "mapping.csv")]
    return written


def _stated_outputs(job: Job) -> list[Location]:
    release = job.release
    named = [release.key, *release.written_files, release.save_policy, job.rules.save]
    named += [None if _has_secret(job) else _secret_of(job)]
    return [location for location in named if location]


def _secret_of(job: Job) -> Location | None:
    return job.release.pseudonym_secret


def _has_secret(job: Job) -> bool:
    """Whether the secret of pseudonyms is read: a file that does not exist is written."""
    return bool(job.release.pseudonym_secret) and Path(str(_secret_of(job))).exists()


def refuse_overwriting(
    written: Iterable[Location | None], read: Iterable[Location | None] = ()
) -> None:
    """Raise where a command would write over an input of its own, or twice to one place.

    Links are seen through. Force does not help: it is about files of earlier runs.
    """
    inputs = [resolve_location(location) for location in read if location]
    outputs: list[Location] = []
    for output in [resolve_location(location) for location in written if location]:
        for source in inputs:
            if _are_same(output, source):
                problem = "the output would overwrite an input"
            elif _lies_in(output, source):
                problem = "the output would lie among the data"
            elif _lies_in(source, output):
                problem = "the output would replace a folder that an input lies in"
            else:
                continue
            raise InputError(
                f"{output}: {problem}", remedy="Inputs are never modified: name another place."
            )
        for other in outputs:
            if _are_same(output, other):
                problem = "two outputs would be written to one place"
            elif _lies_in(output, other) or _lies_in(other, output):
                problem = "an output would lie in a folder that is another output"
            else:
                continue
            raise InputError(f"{output}: {problem}", remedy="Name them differently.")
        outputs.append(output)


def _are_same(one: Location, other: Location) -> bool:
    if is_address(one) or is_address(other):
        return str(one).rstrip("/") == str(other).rstrip("/")
    first, second = Path(one), Path(other)
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def _lies_in(inner: Location, outer: Location) -> bool:
    if is_address(inner) or is_address(outer):
        return str(inner).startswith(str(outer).rstrip("/") + "/")
    return Path(outer).resolve() in Path(inner).resolve().parents


def resolve_output(job: Job, data: Location) -> Location:
    """Return where the release goes: as stated, or beside the data."""
    return job.output if job.output is not None else default_output(data)


def default_output(data: Location) -> Location:
    """Return ``census.release.csv.gz`` for ``census.csv.gz``, and ``people.release/`` for a
    folder ``people``; the release of a statistics file is CSV."""
    if is_folder(data):
        return str(data).rstrip("/") + ".release" + ("" if is_address(data) else "/")
    data = Path(data)
    suffixes = data.suffixes[-2:] if data.suffix in (".gz", ".zst") else data.suffixes[-1:]
    ending = "".join(suffixes)
    known = SUFFIXES.get(ending.lower())
    written = ".csv" if known is not None and known.kind in STATISTICS else ending
    return data.with_name(data.name.removesuffix(ending) + ".release" + written)
