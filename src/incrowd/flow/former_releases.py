"""Former releases of a table: who is in them, and what they tell together with a new one.

A policy's folder records the releases that it comes from (``former.json``): where each is, its
hash, and, row by row, digests of the column that names people and of the identifying columns. So
a run on the next batch can tell which people are in a former release too, without the former data.
Digests are keyed by the release's hash. They are no protection against whoever guesses values:
the folder is the owner's.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.encode import encode_labels
from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.table import TableGuarantee
from incrowd.hierarchies.tree import STAR
from incrowd.job.inputs import InputOptions
from incrowd.methods.policy.dates import BUILDER as DATES
from incrowd.methods.policy.files import read_json
from incrowd.methods.policy.method import Policy
from incrowd.tables.columns.normalize import normalize_table
from incrowd.tables.table import Table
from incrowd.workspace import file_hash

if TYPE_CHECKING:
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.job.job import Job

FORMER, PEOPLE = "former.json", "people-{}.csv"
NAME = "former release"
DIGEST_BYTES = 8


@dataclass(frozen=True)
class FormerRelease:
    """A release that was published before: where it is, and what identifies its people.

    ``path`` is empty where it was a frame, ``people`` the file of digests, both seen from the
    folder of the policy that recorded it. ``identifiers`` are the columns that have digests.
    """

    name: str
    path: str = ""
    sha256: str = ""
    n_rows: int = 0
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    identifiers: tuple[str, ...] = ()
    person: str | None = None
    people: str = ""

    def read(self) -> Table:
        """Read the release; raise InputError where it is not there, or not the one recorded."""
        from incrowd.checking.tables import read_table_data

        if not self.path:
            raise InputError(
                "the former release was a frame, which no file holds",
                remedy="Leave people who are in it out with --repeated-people exclude, or release "
                "files.",
            )
        if not Path(self.path).is_file():
            raise InputError(
                f"{self.name}: the former release is not where it was",
                remedy="Say where it is with --former FILE.",
            )
        options = InputOptions(
            delimiter=self.delimiter, header=self.header, missing_values=self.missing_values
        )
        table, digest = read_table_data(Path(self.path), options)
        if self.sha256 and digest != self.sha256:
            raise InputError(
                f"{self.path}: not the file that was released, or changed since",
                remedy="Say where the release is with --former FILE.",
            )
        return table

    def read_digests(self) -> dict[str, list[str]]:
        """Return the digests of every released row, by column."""
        if not self.people:
            return {}
        try:
            with Path(self.people).open(newline="", encoding="ascii") as file:
                _, *rows = list(csv.reader(file))
            columns = list(zip(*rows, strict=True))
        except (OSError, ValueError, csv.Error) as error:
            raise self._damaged_error(type(error).__name__) from None
        if len(rows) != self.n_rows or len(columns) != len(self.identifiers):
            raise self._damaged_error("not of this release")
        return dict(zip(self.identifiers, map(list, columns), strict=True))

    def _damaged_error(self, why: str) -> InputError:
        return InputError(
            f"{self.people}: this file of a policy cannot be read ({why})",
            remedy="Name a folder that run --save-policy made.",
        )


# ── which there are ─────────────────────────────────────────────────────────────────────────


def find_former(job: Job) -> list[FormerRelease]:
    """Return the former releases that a job's policy recorded or that the job states.

    A stated file takes the place of the recorded release with its hash, which may have been moved.
    """
    recorded = _recorded(job) if job.release.check_former else []
    stated = []
    for path in job.release.former:
        if Path(path).is_dir():
            raise InputError(
                f"{path}: a folder of part files, and former releases are compared file by file",
                remedy="Name a release that is one file, or leave the comparison out.",
            )
        if not Path(path).is_file():
            raise InputError(f"{path}: there is no such former release", remedy="Check the path.")
        digest = file_hash(Path(path))
        same = [former for former in recorded if former.sha256 == digest]
        recorded = [former for former in recorded if former.sha256 != digest]
        about = FormerRelease(
            Path(path).name,
            sha256=digest,
            quasi=job.schema.quasi,
            sensitive=job.schema.sensitive,
            missing_values=job.input.missing_values,
        )
        stated.append(replace(same[0] if same else about, path=str(path)))
    return [*recorded, *stated]


def _recorded(job: Job) -> list[FormerRelease]:
    if not isinstance(job.method, Policy):
        return []
    folder = Path(job.method.combinations).parent
    if not (folder / FORMER).exists():
        return []
    try:
        records = [_from_json(record) for record in read_json(folder / FORMER)]
    except (TypeError, AttributeError):
        raise InputError(
            f"{folder / FORMER}: not a record of former releases, or one of another version",
            remedy="Name a folder that run --save-policy made.",
        ) from None
    return [
        replace(
            former,
            path=str(folder / former.path) if former.path else "",
            people=str(folder / former.people) if former.people else "",
        )
        for former in records
    ]


def _from_json(record: dict[str, Any]) -> FormerRelease:
    stated: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    return FormerRelease(**stated)


def recorded_files(job: Job) -> list[str]:
    """Return the files of former releases that a run of the job may read."""
    return [former.path for former in _recorded(job) if former.path]


# ── what is recorded ────────────────────────────────────────────────────────────────────────


def identifiers_of(job: Job, table: Table) -> pa.Table | None:
    """Return the columns that identify people, where a policy keeps or compares them."""
    person = job.schema.person
    names = dict.fromkeys([*([person] if person else []), *job.schema.identifying])
    is_asked = job.release.save_policy or job.release.former or isinstance(job.method, Policy)
    if not is_asked or not names:
        return None
    return table.frame.select(list(names))


def write_former(
    folder: Path,
    final: Path,
    job: Job,
    new: FormerRelease,
    identifiers: pa.Table | None,
) -> None:
    """Record a release, and those before it, in a policy's folder that will be called ``final``.

    ``identifiers`` has a row per released row.
    """
    records = []
    for number, former in enumerate(find_former(job), 1):
        path = ""
        if former.people:
            path = PEOPLE.format(number)
            _write(folder / path, Path(former.people).read_text(encoding="ascii"))
        records.append(_seen_from(final, replace(former, people=path)))
    if identifiers is not None and identifiers.num_columns:
        path = PEOPLE.format(len(records) + 1)
        digests = digest_columns(identifiers, new.sha256, new.missing_values)
        rows = zip(*digests.values(), strict=True)
        head = ",".join(f"column {place}" for place in range(1, len(digests) + 1))
        _write(folder / path, "\n".join([head, *(",".join(row) for row in rows)]) + "\n")
        new = replace(new, people=path, identifiers=tuple(digests), person=job.schema.person)
    records.append(_seen_from(final, new))
    plain = [{name: value for name, value in record.items() if value} for record in records]
    _write(folder / FORMER, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def _seen_from(final: Path, former: FormerRelease) -> dict[str, Any]:
    path = os.path.relpath(former.path, final) if former.path else ""
    return asdict(replace(former, path=path))


def _write(path: Path, text: str) -> None:
    with os.fdopen(
        os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)


def digest_columns(
    table: pa.Table, sha256: str, missing_values: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return a keyed digest of every cell, nothing for a missing one; case does not matter."""
    key = bytes.fromhex(sha256)
    found = {}
    for name in table.column_names:
        cells = encode_labels(table.column(name), tuple(missing_values))
        digests = [
            hashlib.blake2b(_normalize(label).encode(), key=key, digest_size=DIGEST_BYTES)
            for label in cells.labels
        ]
        texts = np.array([*(digest.hexdigest() for digest in digests), ""], dtype=np.str_)
        found[name] = texts[cells.codes].tolist()
    return found


def _normalize(label: str) -> str:
    return unicodedata.normalize("NFKC", label).casefold().strip()


# ── who is left out ─────────────────────────────────────────────────────────────────────────


def exclude_repeated(job: Job, table: Table) -> tuple[Table, list[str]]:
    """Return a table without the people who are in a former release, and a note of how many.

    Raises JobError where no column identifies people in every former release.
    """
    if job.release.repeated_people != "exclude":
        return table, []
    identifiers = identifiers_of(job, table)
    is_repeated = np.zeros(table.n_rows, dtype=np.bool_)
    for former in find_former(job):
        theirs, ours = former.read_digests(), {}
        if identifiers is not None:
            ours = digest_columns(identifiers, former.sha256, table.missing_values)
        repeats = _find_repeats(ours, theirs, job.schema.person, former.person)
        if not repeats.column:
            raise JobError(
                f"--repeated-people exclude: no column identifies the people of {former.name}",
                remedy="Save the policy with --person COLUMN, and state it for every batch.",
            )
        is_repeated |= repeats.is_repeated
    n_rows = int(is_repeated.sum())
    if not n_rows:
        return table, []
    kept = replace(table, frame=table.frame.filter(pa.array(~is_repeated)))
    return kept, [f"{n_rows:,} rows of people who are in a former release are left out"]


# ── what is found ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Repeats:
    """People of a batch who are in a former release: by which column, and in which rows.

    ``column`` identifies people: the person column, or an identifying one that has no value twice
    in either release. ``in_common`` counts the values that both have, by column.
    """

    column: str
    is_stated: bool
    in_common: Mapping[str, int]
    is_repeated: NDArray[np.bool_]
    n_people: int


def former_findings(
    job: Job,
    released: Table,
    identifiers: pa.Table | None,
    hierarchies: Mapping[str, Hierarchy],
) -> list[Finding]:
    """Hold a release against every former one; broken where people repeat or are exposed by both.

    ``identifiers`` has a row per released row. Where a column identifies people, whoever repeats
    is counted; people are meant to be different. Where none does, the files are compared as if
    somebody were in both, which informs; with ``repeated_people = "compare"`` that decides.
    """
    findings = []
    for former in find_former(job):
        finding = _finding(job, former, released, identifiers, hierarchies)
        findings.append(replace(finding, name=f"{NAME}: {former.name}", is_public=False))
    return findings


def _finding(
    job: Job,
    former: FormerRelease,
    released: Table,
    identifiers: pa.Table | None,
    hierarchies: Mapping[str, Hierarchy],
) -> Finding:
    from incrowd.measures.attacks.composition import composition_finding

    compares = job.release.repeated_people == "compare"
    theirs = former.read_digests()
    ours = {}
    if identifiers is not None and theirs:
        ours = digest_columns(identifiers, former.sha256, released.missing_values)
    repeats = _find_repeats(ours, theirs, job.schema.person, former.person)
    n_repeated = int(repeats.is_repeated.sum())
    figures: dict[str, Any] = {
        "release": former.name,
        "identifier": repeats.column,
        "n_values_in_common": dict(repeats.in_common),
        "n_repeated_rows": n_repeated,
    }
    if repeats.column and not n_repeated and repeats.is_stated:
        summary = f"nobody is in both, by column {repeats.column!r}"
        return Finding(NAME, True, summary, figures)
    if n_repeated and not compares:
        rows = np.flatnonzero(repeats.is_repeated)[:MOST_ROWS_NAMED] + 1
        summary = (
            f"{repeats.n_people:,} people of this batch are in it too, by column "
            f"{repeats.column!r} ({n_repeated:,} rows): both releases together can expose them"
        )
        return Finding(NAME, False, summary, figures, tuple(rows.tolist()))
    try:
        first, second = _published(job, former, released, hierarchies)
        if n_repeated:
            first = replace(first, person_of_row=pa.array(ours[repeats.column]))
            second = replace(second, person_of_row=pa.array(theirs[repeats.column]))
        k = cast(TableGuarantee, job.guarantee).k
        found = composition_finding(first, second, k, None, hierarchies)
    except InputError as error:
        if compares or job.release.former:
            raise
        return Finding(NAME, None, f"{_assumed(repeats)}; not compared: {error.what}", figures)
    figures |= found.figures
    if compares:
        return replace(found, figures=figures)
    return Finding(NAME, None, f"{_assumed(repeats)}. If somebody is: {found.summary}", figures)


def _published(
    job: Job, former: FormerRelease, released: Table, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Any, Any]:
    from incrowd.measures.attacks.composition import PublishedRelease

    table = normalize_table(former.read(), released.readings)
    moving = _moving_columns(job, released, table, hierarchies)
    # groups are told apart by these columns, and nobody's values are the same in both releases
    name_of = {name: f"{name} (former)" if name in moving else name for name in table.columns}
    frame = table.frame.rename_columns(list(name_of.values()))
    names = [name_of[name] for name in (former.quasi or job.schema.quasi) if name in name_of]
    sensitive = [name for name in former.sensitive if name in name_of]
    return (
        PublishedRelease(released, job.schema.quasi, job.schema.sensitive),
        PublishedRelease(replace(table, frame=frame), tuple(names), tuple(sensitive)),
    )


def _moving_columns(
    job: Job, released: Table, former: Table, hierarchies: Mapping[str, Hierarchy]
) -> set[str]:
    """Return the date columns that move with every batch: stated, or with no period in common.

    Somebody who is in both releases has another date in each: such columns do not tell groups
    apart that cannot be about the same person.
    """
    from incrowd.measures.attacks.composition import find_overlaps

    moving = set(job.method.rebase) if isinstance(job.method, Policy) else set()
    for name, tree in hierarchies.items():
        if tree.origin.split(":")[0] != DATES or name not in former.columns:
            continue
        ours, theirs = (
            [label for label in encode_labels(table.frame.column(name)).labels if label != STAR]
            for table in (released, former)
        )
        if not find_overlaps(ours, theirs, tree).any():
            moving.add(name)
    return moving


def _assumed(repeats: _Repeats) -> str:
    """Say what is assumed of people, and what identifying columns tell about it."""
    told = "assumed that nobody is in both"
    some = {name: count for name, count in repeats.in_common.items() if count}
    none = [name for name, count in repeats.in_common.items() if not count]
    if some:
        told += "; values in common: " + ", ".join(f"{n:,} of {name!r}" for name, n in some.items())
    if none:
        told += f"; no value in common: {', '.join(map(repr, none))}"
    if not repeats.in_common:
        told += " (no column identifies people in both; state one with --person COLUMN)"
    return told


def _find_repeats(
    ours: Mapping[str, list[str]],
    theirs: Mapping[str, list[str]],
    person: str | None,
    their_person: str | None,
) -> _Repeats:
    in_common: dict[str, int] = {}
    chosen, most = "", -1
    n_rows = len(next(iter(ours.values()), []))
    is_repeated = np.zeros(n_rows, dtype=np.bool_)
    n_people = 0
    for name in [name for name in ours if name in theirs]:
        both = (set(ours[name]) & set(theirs[name])) - {""}
        in_common[name] = len(both)
        is_stated = name == person == their_person
        is_key = _is_key(ours[name]) and _is_key(theirs[name])
        rank = len(ours[name]) + 1 if is_stated else len(both)
        if (is_stated or is_key) and rank > most:
            chosen, most, n_people = name, rank, len(both)
            is_repeated = np.isin(ours[name], sorted(both))
    return _Repeats(chosen, bool(person) and chosen == person, in_common, is_repeated, n_people)


def _is_key(digests: Sequence[str]) -> bool:
    """Whether a column has a value in every row, and none twice."""
    return len(digests) > 0 and "" not in digests and len(set(digests)) == len(digests)
