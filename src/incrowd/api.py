"""What users call from Python: init, anonymize, run, check, compare … Thin: the rooms do it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from incrowd.bars import shown
from incrowd.checking.check import check_release
from incrowd.checking.request import Measurements, Request
from incrowd.comparing import comparison
from incrowd.comparing.grid import KNEE
from incrowd.errors import JobError
from incrowd.flow import run as flow
from incrowd.flow.release import Release
from incrowd.guarantees.evidence import TABLES
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.accept import (
    accept_guarantee,
    accept_hierarchies,
    accept_method,
    accept_schema,
    as_job,
    describe,
    is_guarantee,
)
from incrowd.job.documents import ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job
from incrowd.measures.options import AttackOptions, CompositionOptions, RiskOptions, UtilityOptions
from incrowd.methods.base import Method
from incrowd.methods.table import default_method
from incrowd.options import suggest_keywords
from incrowd.progress import Progress
from incrowd.tables.schema import Schema

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.comparing.comparison import Comparison
    from incrowd.encoding.coding import Coding
    from incrowd.engines.choice import EngineChoice
    from incrowd.guarantees.table import Guarantee
    from incrowd.proposing.job import JobProposal


__all__ = ["anonymize", "check", "compare", "init", "midpoints", "run", "verify_certificate"]

Data = TypeVar("Data")
Hierarchies: TypeAlias = "HierarchySpec | str | Path | Mapping[str, Any]"
"""How a column's hierarchy may be stated."""


@overload
def anonymize(
    data: Data, job: Job | Mapping[str, Any], *, progress: Progress | bool = False
) -> Release[Data]: ...


@overload
def anonymize(
    data: Data,
    *,
    quasi: Iterable[str],
    sensitive: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    identifying: Iterable[str] = (),
    person: str | None = None,
    k: int,
    l: float | None = None,  # noqa: E741
    t: float | None = None,
    hierarchies: Mapping[str, Hierarchies] | None = None,
    method: Method | str | None = None,
    suppression_limit: float = 0.0,
    seed: int = 0,
    progress: Progress | bool = False,
) -> Release[Data]: ...


@suggest_keywords
def anonymize(
    data: Data,
    job: Job | Mapping[str, Any] | None = None,
    *,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] | None = None,
    insensitive: Iterable[str] | None = None,
    identifying: Iterable[str] | None = None,
    person: str | None = None,
    k: int | None = None,
    l: float | None = None,  # noqa: E741
    t: float | None = None,
    hierarchies: Mapping[str, Hierarchies] | None = None,
    method: Method | str | None = None,
    suppression_limit: float | None = None,
    seed: int | None = None,
    progress: Progress | bool = False,
) -> Release[Data]:
    """Anonymize a frame or a matrix and hand back the same kind.

    The plain case is a table and k-anonymity, stated here: ``anonymize(frame, quasi=["age", "zip"],
    sensitive=["disease"], k=5, l=3)``. Everything else is stated by a ``Job``: ``anonymize(frame,
    job)``. Tables come as pandas, polars, pyarrow or Spark frames, sets as SciPy matrices or frames
    of two columns. The audit is made on the very data that are handed out. A Spark frame is worked
    on in its own session, whatever engine the job names; its rows stay there where the job allows
    it.

    Raises InputError where the job or the data cannot be used, InfeasibleError where no release
    can keep the promise, and AuditError where the audit refused the release.

    Parameters
    ----------
    data : pandas, polars, pyarrow or Spark frame, or SciPy matrix
        The original; it is left as it is.
    job : Job
        The whole request, also as the nested tables of a job file; nothing else is stated with it.
    quasi, sensitive, insensitive, identifying : iterable of str
        The columns by their role; a column without a role is not released.
    person : str | None, default None
        The column that identifies people where one person has several rows.
    k : int
        The least size of a group of rows that look alike.
    l : float | None, default None
        The least number of distinct values of each sensitive column in a group (l-diversity).
    t : float | None, default None
        The largest distance of a group's sensitive values from all (t-closeness, equal distance).
    hierarchies : mapping of str to str
        How columns are generalized: ``{"age": "intervals:5,10", "education": "education.csv"}``,
        or builders as job files state them, ``{"intervals": [5, 10]}``. Others are built from the
        data.
    method : Method | str
        The search, by name or with its settings: ``"mondrian"``, ``ic.Cluster(effort="full")``.
    suppression_limit : float, default 0.0
        The share of rows that may be left out of the release.
    seed : int, default 0
        The random seed of the search.
    progress : bool or callable, default False
        True shows a bar on a terminal or in a notebook; a function is called with the stage, how
        much of it is done, the total and the loss so far.
    """
    if isinstance(data, (Job, Schema)) or is_guarantee(data):
        raise JobError(
            f"the data come first, and {describe(data)} is given in their place",
            remedy="Swap them: ic.anonymize(frame, job).",
        )
    plain = {
        "quasi": quasi,
        "sensitive": sensitive,
        "insensitive": insensitive,
        "identifying": identifying,
        "person": person,
        "k": k,
        "l": l,
        "t": t,
        "hierarchies": hierarchies,
        "method": method,
        "suppression_limit": suppression_limit,
        "seed": seed,
    }
    stated: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
    if job is None:
        job = _plain_job(**stated)
    elif stated:
        raise JobError(
            f"a job is given, and {', '.join(stated)} beside it",
            remedy="State it in the job, or leave the job out.",
        )
    with shown(progress) as report:
        return flow.anonymize(data, as_job(job, "anonymize"), progress=report)


def _plain_job(
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    identifying: Iterable[str] = (),
    person: str | None = None,
    k: int | None = None,
    l: float | None = None,  # noqa: E741
    t: float | None = None,
    hierarchies: Mapping[str, Hierarchies] | None = None,
    method: Method | str | None = None,
    suppression_limit: float = 0.0,
    seed: int = 0,
) -> Job:
    """Return the job of the plain case: a table, and k-anonymity with l and t where stated."""
    if k is None:
        raise JobError(
            "neither a job nor k is stated",
            remedy='State  quasi=["age", "zip"], k=5  for a table, or a job: '
            "ic.Job(guarantee=ic.Smooth(8)) for sets.",
        )
    return Job(
        guarantee=KAnonymity(k, l=l, t=t),
        schema=Schema(quasi, sensitive, insensitive, identifying, person),
        method=accept_method(default_method(KAnonymity.name) if method is None else method),
        hierarchies=hierarchies or {},
        release=ReleaseOptions(suppression_limit=suppression_limit),
        seed=seed,
    )


@suggest_keywords
def check(
    released: Any,
    promise: Guarantee | Job | Mapping[str, Any] | int,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    original: Any = None,
    key: Any = None,
    aligned: bool = False,
    hierarchies: Mapping[str, Hierarchies] | None = None,
    coding: Mapping[str, Coding] | None = None,
    sets: SetInput | None = None,
    rules: RuleInput | None = None,
    missing_values: Iterable[str] = (),
    accept_insensitive: Iterable[str] = (),
    pseudonyms: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    measure: bool = False,
    risk: bool | RiskOptions = False,
    attacks: AttackOptions | Iterable[str] = (),
    utility: UtilityOptions | Iterable[str] = (),
    other: Any = None,
    composition: CompositionOptions | None = None,
    engine: EngineChoice | None = None,
) -> Audit:
    """Audit a frame, a matrix or a file from any tool, for any guarantee; nothing is written.

    The guarantee says which shape the data have: tables need a ``schema``, transactions ``rules``.
    Given a ``Job``, a release is checked for what the job promises, with the job's columns. A
    Spark frame is audited where its rows lie, by what needs neither the owner nor a row's place.
    Raises InputError where it could not be checked.

    Parameters
    ----------
    released : frame, SciPy matrix, str or Path
        The release: data, or a file or folder.
    promise : Guarantee | Job
        What it is checked for; a number is k of k-anonymity, a mapping as in a job file.
    schema : Schema | None, default None
        The roles of a table's columns; columns without one are looked at as insensitive.
    original : frame, SciPy matrix, str or Path
        The owner's original; with ``key`` or ``aligned`` it allows what compares a row with its
        original.
    key : str, Path or array
        The file that ``ReleaseOptions(key=...)`` wrote, or ``original_row[released row]``.
    aligned : bool, default False
        Row i of the release is row i of the original.
    hierarchies : mapping of str to str
        How the columns were generalized, where that is not found in the original.
    coding : mapping of str to Coding
        The limits beyond which no value may be shown, by column.
    sets : SetInput | None, default None
        How sets are stored, and what their rows and items are.
    rules : RuleInput | None, default None
        The sensitive items and the rules of transactions.
    missing_values : iterable of str
        Tokens that mean missing, besides the empty cell.
    accept_insensitive : iterable of str
        Insensitive columns released although they point at people.
    pseudonyms : str | None, default None
        The column of random strings that ``ReleaseOptions(pseudonyms=...)`` added.
    thresholds : mapping of str to float
        Further models and their limits: alpha, beta, enhanced_beta, delta.
    measure : bool, default False
        Whether the audit also has what the table achieves: k, α, l, t, β, δ.
    risk : bool | RiskOptions, default False
        Whether, and how, the risk of re-identification is measured.
    attacks : AttackOptions or iterable of str
        Attacks to carry out: linkage, homogeneity, sustained, known-items.
    utility : UtilityOptions or iterable of str
        What is measured of the release's use: queries, statistics, learning.
    other : frame, str or Path
        A second release of a table, for composition: whom do both together expose?
    composition : CompositionOptions | None, default None
        What is known of both releases.
    engine : EngineChoice | None, default None
        Where rows are counted; in this process by default.
    """
    if isinstance(released, (Job, Schema)) or is_guarantee(released):
        raise JobError(
            f"the release comes first, and {describe(released)} is given in its place",
            remedy="Swap them: ic.check(release, guarantee, schema).",
        )
    if isinstance(released, Release):
        released = released.data if released.data is not None else released.path
    schema = None if schema is None else accept_schema(schema)
    if not isinstance(promise, Job):
        promise = _accept_promise(promise, schema)
    stated: dict[str, Any] = {
        "schema": schema,
        "hierarchies": accept_hierarchies(hierarchies or {}) or None,
        "coding": coding,
        "sets": sets,
        "rules": rules,
        "input": InputOptions(missing_values=tuple(missing_values)) if missing_values else None,
        "accepted": tuple(accept_insensitive) or None,
        "pseudonyms": pseudonyms,
    }
    stated = {name: value for name, value in stated.items() if value is not None}
    asked: dict[str, Any] = {
        "original": original,
        "key": key,
        "aligned": aligned,
        "thresholds": thresholds or {},
        "measures": measure,
        "measurements": Measurements(
            (RiskOptions() if risk is True else risk) or None,
            attacks if isinstance(attacks, AttackOptions) else AttackOptions(tuple(attacks)),
            replace(composition or CompositionOptions(), composition=other is not None),
            utility if isinstance(utility, UtilityOptions) else UtilityOptions(tuple(utility)),
            other,
        ),
    }
    if engine is not None:
        asked["engine"] = engine
    if isinstance(promise, Job):
        if stated:
            raise JobError(
                f"the job states {', '.join(stated)} already",
                remedy="Check for a guarantee to state them apart: ic.check(release, guarantee).",
            )
        return check_release(Request.of_job(promise, released, **asked)).audit
    if promise.shape == TABLES and schema is None:
        raise JobError(
            "no column is quasi-identifying, so there is nothing to check",
            remedy='State  ic.Schema(quasi=["age", "zip"]).',
        )
    return check_release(Request(released, promise, **stated, **asked)).audit


def _accept_promise(promise: Any, schema: Schema | None) -> Guarantee | Job:
    """Return what a release is checked for, from an object or from what a job file states."""
    is_job = isinstance(promise, Mapping) and bool({"guarantee", "roles"} & set(promise))
    if is_job or (isinstance(promise, (str, Path)) and str(promise).endswith(".toml")):
        return as_job(promise, "check")
    return accept_guarantee(promise, schema)


@suggest_keywords
def run(
    job: Job | Mapping[str, Any] | str | Path,
    *,
    force: bool = False,
    progress: Progress | bool = False,
    save_job: str | Path | None = None,
    dry_run: bool = False,
) -> Release[None]:
    """Anonymize a file: the release appears under its name only if its audit holds.

    Raises InputError, InfeasibleError or AuditError as ``anonymize`` does; then nothing was
    published.

    Parameters
    ----------
    job : Job, str or Path
        The whole request, with ``data``; or the path of a job file, or its nested tables.
    force : bool, default False
        Whether files of earlier runs are overwritten.
    progress : bool or callable, default False
        True shows a bar; a function is called with the stage, done, total and loss.
    save_job : str or Path
        Where the job that reproduces this release is written.
    dry_run : bool, default False
        Whether everything is done but publishing: the audit and its losses, and no file.
    """
    with shown(progress) as report:
        return flow.run(
            as_job(job, "run"),
            force=force,
            progress=report,
            save_job=None if save_job is None else Path(save_job),
            dry_run=dry_run,
        )


@suggest_keywords
def compare(
    job: Job | Mapping[str, Any] | str | Path,
    ks: Sequence[int] = (2, 5, 10),
    methods: Sequence[str] = (),
    metrics: Sequence[str] = (),
    efforts: Sequence[int | str] = (),
    suppression_limits: Sequence[float] = (),
    *,
    data: Any = None,
    by: str | None = None,
    predict: str | None = None,
    n_queries: int = 1_000,
    at_least_k: int | None = None,
    knee: float = KNEE,
    output: str | Path | None = None,
    force: bool = False,
    progress: Progress | bool = False,
) -> Comparison:
    """Measure a release for every k, method, metric, effort and budget, and recommend one.

    Each is made and audited in a process of its own and removed: nothing is published. Publish one
    of them, never two. Raises InputError where the data or every point of the grid cannot be used.

    Parameters
    ----------
    job : Job, str or Path
        What all releases have in common; or the path of a job file.
    ks : sequence of int, default (2, 5, 10)
        The k to compare.
    methods, metrics, efforts, suppression_limits : sequences
        What else varies; by default what the job states.
    data : pandas, polars or pyarrow frame
        The table, where the job names no file. It is kept in a private temporary file meanwhile.
    by : str | None, default None
        The loss that is compared: that of the job's metric by default.
    predict : str | None, default None
        A released column to train models for: their accuracy is measured too.
    n_queries : int, default 1000
        How many random count queries measure utility.
    at_least_k : int | None, default None
        The least k that may be recommended.
    knee : float
        How much more loss a larger k may cost to be recommended.
    output : str or Path
        A file that keeps every measured point; a second call goes on from it.
    force : bool, default False
        Whether ``output`` is begun anew.
    progress : bool or callable, default False
        True shows a bar; a function is called with the stage, done, total and loss.
    """
    stated: dict[str, Any] = {
        "by": by,
        "predict": predict,
        "n_queries": n_queries,
        "at_least_k": at_least_k,
        "knee": knee,
        "output": output,
        "force": force,
    }
    grid = (ks, methods, metrics, efforts, suppression_limits)
    job = as_job(job, "compare")
    with shown(progress) as report, ExitStack() as kept:
        if data is not None:
            if job.data is not None:
                raise JobError(
                    "data are given, and the job names a file", remedy="State one of the two."
                )
            folder = Path(kept.enter_context(TemporaryDirectory(prefix="incrowd-")))
            job = replace(job, data=_keep_frame(data, folder / "frame.parquet"))
        return comparison.compare(job, *grid, **stated, progress=report)


def _keep_frame(frame: Any, path: Path) -> Path:
    """Write a frame to a private file, for processes that read it."""
    from incrowd.tables.files.write import format_of_path, write_table
    from incrowd.tables.frames import from_frame

    write_table(from_frame(frame)[0].frame, path, format_of_path(path))
    return path


@suggest_keywords
def verify_certificate(
    released: str | Path,
    certificate: str | Path,
    *,
    public_key: str | Path | None = None,
    original: str | Path | None = None,
    commitment_key: str | Path | None = None,
) -> Audit:
    """Check a released file against its certificate: the bytes, the signature, the promise again.

    ``public_key`` says who must have signed it; with ``original`` (and the owner's
    ``commitment_key`` of a public certificate) it is also checked whether the release was made
    from that. Raises InputError where the release alone cannot show the promise.
    """
    from incrowd.checking.verification import verify

    paths = (None if path is None else Path(path) for path in (public_key, commitment_key))
    verified = verify(released, Path(certificate), original, *paths)
    if verified.could_not_check is not None:
        raise verified.could_not_check
    return verified.audit


@suggest_keywords
def init(data: Any, *, k: int = 5, missing_values: Iterable[str] = ()) -> JobProposal:
    """Look at a table and propose the role of every column, with reasons, and a job.

    Nothing is decided and nothing is written: show the result, change what is wrong with
    ``with_roles``, and anonymize with its ``job``. In doubt a column is proposed as
    quasi-identifying, never as insensitive. Raises InputError where the table cannot be read.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, str or Path
        The table to look at.
    k : int, default 5
        The least size of a group in the proposed job.
    missing_values : iterable of str
        Tokens that mean missing, besides the empty cell.
    """
    from incrowd.proposing.job import propose_job

    return propose_job(data, k=k, input=InputOptions(missing_values=tuple(missing_values)))


@suggest_keywords
def midpoints(
    data: Any,
    columns: Iterable[str] | None = None,
    *,
    bounds: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None,
    open_ranges: str = "missing",
    decimal: str = ".",
) -> Any:
    """Turn released ranges into numbers: ``20-24`` is 22.

    Returns a frame of the same kind in which the columns hold numbers; all others stay as they
    are. A ``*`` and a missing cell are missing, a number is itself. Raises InputError where a
    named column holds anything else.

    Parameters
    ----------
    data : Release, or pandas, polars or pyarrow frame
        The release. Of a Release that ``run`` wrote to a file, the file is read (as pyarrow).
    columns : iterable of str
        The columns to convert; by default those that hold ranges. Of a Release, only
        quasi-identifiers are looked at.
    bounds : bool, default False
        Whether a column becomes two, ``age_lower`` and ``age_upper``, in place of its midpoint.
        The upper bound of whole numbers belongs to the range (``20-24``: 24), that of others not
        (``0.5 to <0.75``: 0.75).
    limits : mapping of str to (float, float)
        The least and greatest possible value of a column, for ranges without a second bound:
        ``{"age": (0, 110)}`` makes ``>=80`` the range from 80 to 110.
    open_ranges : str, default 'missing'
        What the midpoint of such a range is without limits: 'missing', or its one 'bound'.
    decimal : str, default '.'
        The decimal mark of numbers that were not generalized: '.' or ','.
    """
    from incrowd.hierarchies.range_labels import convert_ranges, find_range_columns

    if isinstance(data, Release):
        release, data = data, data.data
        if data is None:
            data = _read_release(release)
        if columns is None and release.job is not None:
            columns = find_range_columns(data, release.job.schema.quasi, decimal)
    return convert_ranges(
        data, columns, bounds=bounds, limits=limits, open_ranges=open_ranges, decimal=decimal
    )


def _read_release(release: Release[Any]) -> Any:
    from incrowd.job.inputs import read_input

    return read_input(Path(str(release.path)), InputOptions()).frame
