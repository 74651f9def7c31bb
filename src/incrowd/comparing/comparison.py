"""``compare``: measure a grid of releases of one data set, keep the results, choose among them."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from incrowd.comparing.grid import (
    KNEE,
    Choice,
    Measured,
    Planned,
    Point,
    are_shares,
    default_loss,
    describe_costs,
    front,
    grid,
    loss_of,
    recommend,
    varying_fields,
)
from incrowd.comparing.measure import (
    FAILED,
    INTERNAL,
    RELEASED,
    UNFIT,
    UtilityRequest,
    encode_request,
)
from incrowd.engines.folders import hash_location
from incrowd.errors import InputError, JobError
from incrowd.flow.outputs import files_read, refuse_overwriting
from incrowd.guarantees.evidence import TABLES
from incrowd.job.documents import NOT_WRITTEN
from incrowd.job.job import Job
from incrowd.progress import Progress, silent
from incrowd.summaries import Summarized, html_table
from incrowd.tables.locations import is_address, location_name
from incrowd.version import __version__
from incrowd.workspace import Workspace, write_atomically

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.comparing.measure import UtilityRequest
    from incrowd.report.plot import Plot


KIND = "incrowd comparison"

Result = dict[str, Any]

TRIED_AGAIN = ("unfit", "failed")
"""What became of points that a later call tries again."""

DIFFERENT = {
    "data": "other data",
    "job": "another job",
    "version": "another version of incrowd",
    "asked": "other queries, another seed or another --predict",
}


def fingerprint(job: Job, asked: UtilityRequest) -> dict[str, Any]:
    """Return what results are of: data, job, version and what was asked of every release.

    What a grid varies is no part of it, nor is where files lie: their contents count.
    """
    assert job.data is not None
    mapping = job.to_mapping()
    for name in ("data", "output", "method"):
        mapping.pop(name, None)
    mapping["guarantee"] = {n: value for n, value in mapping["guarantee"].items() if n != "k"}
    mapping["release"] = {
        name: value
        for name, value in mapping.get("release", {}).items()
        if name not in (*NOT_WRITTEN, "suppression_limit")
    }
    text = json.dumps(_with_contents(mapping), sort_keys=True, ensure_ascii=False)
    return {
        "data": hash_location(Path(str(job.data))),
        "job": hashlib.sha256(text.encode()).hexdigest(),
        "version": __version__,
        "asked": asdict(asked),
    }


def method_fingerprint(job: Job) -> str:
    """Return the fingerprint of a method's settings, those that no point tells included."""
    stated = job.to_mapping()["method"]
    text = json.dumps(_with_contents(stated), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_contents(stated: Any) -> Any:
    """Return settings with the hash of a file in the place of its path."""
    if isinstance(stated, Mapping):
        return {str(name): _with_contents(value) for name, value in stated.items()}
    if isinstance(stated, (list, tuple)):
        return [_with_contents(value) for value in stated]
    if isinstance(stated, str) and len(stated) < 4096 and "\0" not in stated:
        path = Path(stated)
        if stated and not is_address(stated) and path.is_file():
            return hash_location(path)
    return stated


def read_results(path: Path, expected: dict[str, Any]) -> dict[str, Result]:
    """Return the points of a file that need not be measured again; none where there is no file.

    Raises InputError where it holds something else, or results of something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__})",
            remedy="Name another file with -o.",
        ) from None
    try:
        stored = json.loads(text)
        if stored["kind"] != KIND:
            raise ValueError
        found = stored["fingerprint"]
        results = {str(result["key"]): dict(result) for result in stored["points"]}
        if not all(_is_whole(result) for result in results.values()):
            raise ValueError
        different = [words for part, words in DIFFERENT.items() if found[part] != expected[part]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path}: holds no comparison, or a damaged one",
            remedy="Name another file with -o, or begin anew with --force.",
        ) from None
    if different:
        raise InputError(
            f"{path}: holds a comparison of {' and of '.join(different)}",
            remedy="Name another file with -o, or begin anew with --force.",
        )
    return {key: one for key, one in results.items() if one["status"] not in TRIED_AGAIN}


def _is_whole(result: Result) -> bool:
    """Whether a kept point has all that is shown of it."""
    point = result["point"]
    if not isinstance(point["k"], int) or not isinstance(point["method"], str):
        return False
    if result["status"] != "released":
        return isinstance(result["reason"], str)
    numbers = (result["seconds"], result["peak_memory_bytes"], result["n_rows"])
    return isinstance(result["losses"], dict) and all(
        isinstance(number, (int, float)) for number in numbers
    )


def write_results(path: Path, comparison: Mapping[str, Any]) -> None:
    """Write results so that the file is whole at any time; only its owner may read it."""
    text = json.dumps(comparison, indent=1, ensure_ascii=False) + "\n"
    write_atomically(path, text, force=True, private=True)


# ``compare``: measure a grid of releases of one data set, and choose among them.

ONE_ONLY = (
    "Publish one point of a grid, never two: the intersection of two releases of the same people "
    "exposes them although each release alone keeps its promise."
)
ENDING_SECONDS = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Summarized):
    """The points of a grid as they were measured, and which one is recommended.

    ``points`` are plain data, in the grid's order: key, point, status (released, infeasible,
    refused, unfit, failed), reason, losses, seconds, memory, utility. ``by`` names the loss that
    they are compared by; of a loss of which more is better, what lacks to 1 is compared. ``words``
    begin the command that publishes a point: ``incrowd run DATA`` with what all points share.
    """

    data: str
    guarantee: dict[str, Any]
    by: str
    points: list[Result]
    fingerprint: dict[str, Any]
    at_least_k: int | None = None
    knee: float = KNEE
    further: list[Result] = field(default_factory=list)
    words: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"Comparison of {len(self.points)} releases of {self.data} by {self.by}"

    def _facts(self) -> list[tuple[str, str]]:
        n_refused = len(self.points) - len(self.released)
        facts = [
            ("promise", self.guarantee["name"]),
            ("k", ", ".join(map(str, sorted({point["point"]["k"] for point in self.points})))),
            ("released", f"{len(self.released)}, {n_refused} without a release"),
        ]
        choice = self.choice
        return facts if choice is None else [*facts, ("recommended", choice.reason)]

    def _more_html(self) -> str:
        """Return a row per point for a notebook; the recommended one is marked."""
        labels, choice = self.labels(), self.choice
        rows = []
        for place, result in enumerate(self.points):
            loss = self.loss(result)
            rows.append(
                (
                    str(result["point"]["k"]),
                    labels[place],
                    "–" if loss is None else f"{loss:.4g}",
                    f"{result['seconds']:.1f} s" if result["status"] == RELEASED else "–",
                    result["status"] if result["status"] != RELEASED else "keeps its promise",
                    "recommended" if choice is not None and choice.place == place else "",
                )
            )
        return html_table(("k", "method", self.by, "time", "release", ""), rows)

    def plot(self) -> Plot:
        """Return the chart of loss against k, which a notebook shows."""
        from incrowd.comparing.page import page_of
        from incrowd.report.charts import Chart, is_drawn
        from incrowd.report.plot import Plot

        blocks = [block for section in page_of(self).sections for block in section.blocks]
        charts = [
            block for block in blocks if isinstance(block, get_args(Chart)) and is_drawn(block)
        ]
        if not charts:
            raise InputError("no point has a release to draw", remedy="Lower k, or add methods.")
        return Plot(charts[0])

    @property
    def released(self) -> list[int]:
        """The places of points that have a release and the loss that is compared by."""
        return [
            place
            for place, result in enumerate(self.points)
            if result["status"] == RELEASED and self.loss(result) is not None
        ]

    def loss(self, result: Result) -> float | None:
        """Return a point's loss, lower being better."""
        return loss_of(result.get("losses", {}), are_of(result), self.by)

    def labels(self) -> list[str]:
        """Return the names of points without their k: method, and what else varies."""
        points = [Point(**result["point"]) for result in self.points]
        names = varying_fields(points)
        return [point.label(names) for point in points]

    def _measured(self) -> list[Measured]:
        labels = self.labels()
        found = []
        for place in self.released:
            result = self.points[place]
            loss = self.loss(result)
            assert loss is not None
            k = result["point"]["k"]
            found.append(Measured(labels[place], k, loss, result["seconds"]))
        return found

    @property
    def front(self) -> list[int]:
        """The places of points that no other is better than in k, loss and time at once."""
        on_front = front(self._measured())
        return [place for place, is_on in zip(self.released, on_front, strict=True) if is_on]

    @property
    def choice(self) -> Choice | None:
        """The place of the recommended point, and why; None where none can be."""
        found = recommend(self._measured(), self.at_least_k, self.knee)
        return None if found is None else Choice(self.released[found.place], found.reason)

    @property
    def recommended(self) -> Result | None:
        """The recommended point."""
        choice = self.choice
        return None if choice is None else self.points[choice.place]

    @property
    def costs(self) -> list[str]:
        """What each k costs at least, a phrase each: "k = 20 costs 6%"."""
        return describe_costs(self._measured())

    @property
    def are_losses_shares(self) -> bool:
        """Whether the losses that are compared are shares, written as percentages."""
        return are_shares(self._measured())

    @property
    def command(self) -> str | None:
        """The command that publishes the recommended point; None where it is not known."""
        result = self.recommended
        if result is None or not self.words:
            return None
        settings = [
            word
            for name in ("k", "method", "metric", "effort", "suppression_limit")
            if (value := result["point"][name]) not in (None, 0.0)
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]
        return shlex.join([*self.words, *settings])

    def table(self) -> pa.Table:
        """Return a row per point, as an Arrow table."""
        import pyarrow as pa

        choice, on_front, labels = self.choice, set(self.front), self.labels()
        rows = []
        for place, result in enumerate(self.points):
            learning = result.get("utility", {}).get("learning", {})
            rows.append(
                {
                    "name": labels[place],
                    **result["point"],
                    "effort": None
                    if result["point"]["effort"] is None
                    else str(result["point"]["effort"]),
                    "status": result["status"],
                    "loss": self.loss(result),
                    "are": are_of(result),
                    "accuracy": learning.get("accuracy"),
                    "seconds": result.get("seconds"),
                    "peak_memory_bytes": result.get("peak_memory_bytes"),
                    "n_suppressed": result.get("n_suppressed"),
                    "smallest_group": result.get("smallest_group"),
                    "is_on_front": place in on_front,
                    "is_recommended": choice is not None and choice.place == place,
                    "reason": result["reason"],
                }
            )
        return pa.Table.from_pylist(rows)

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a row per point as a frame: pandas where it is installed, else polars."""
        from incrowd.tables.frames import to_kind

        return to_kind(self.table(), kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; the owner's: losses and hashes tell of the original."""
        choice = self.choice
        return {
            "kind": KIND,
            "incrowd_version": __version__,
            "data": self.data,
            "guarantee": self.guarantee,
            "by": self.by,
            "fingerprint": self.fingerprint,
            "front": [self.points[place]["key"] for place in self.front],
            "recommended": None
            if choice is None
            else {
                "key": self.points[choice.place]["key"],
                "reason": choice.reason,
                "command": self.command,
            },
            "costs": self.costs,
            "warning": ONE_ONLY,
            "asked": [result["key"] for result in self.points],
            "points": [*self.points, *self.further],
        }

    def to_json(self) -> str:
        """Return the comparison as indented JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write the comparison as a page that opens anywhere, offline; it is the owner's."""
        from incrowd.comparing.page import page_of
        from incrowd.report.render import render
        from incrowd.workspace import write_atomically

        write_atomically(Path(path), render(page_of(self)), force=force, private=True)


def are_of(result: Result) -> float | None:
    """Return a point's average relative error of count queries, where it was asked."""
    queries = result.get("utility", {}).get("queries", {})
    are = queries.get("are")
    return None if are is None else float(are)


def compare(
    job: Job,
    ks: Sequence[int] = (2, 5, 10),
    methods: Sequence[str] = (),
    metrics: Sequence[str] = (),
    efforts: Sequence[int | str] = (),
    suppression_limits: Sequence[float] = (),
    *,
    by: str | None = None,
    predict: str | None = None,
    n_queries: int = 1_000,
    at_least_k: int | None = None,
    knee: float = KNEE,
    output: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
    words: Sequence[str] = (),
) -> Comparison:
    """Measure a release for every k, method, metric, effort and budget, and choose one.

    Each is made and audited in a process of its own, in a private folder, and removed: nothing is
    published. With ``output`` every measured point is kept in that file at once, and points that
    it has already, of the same data, job and version, are not measured again; ``force`` begins
    anew. A point that no release can satisfy is kept with the reason. ``words`` begin the command
    that publishes a point, where there is one. Raises InputError where the data or every point of
    the grid cannot be used.
    """
    if job.data is None:
        raise JobError("the job names no data", remedy='Write data = "file.csv" in it.')
    if is_address(job.data):
        raise InputError(
            f"{job.data}: a grid is measured on files and folders of this machine",
            remedy="Fetch it, and name the file or the folder.",
        )
    if not Path(str(job.data)).exists():
        raise InputError(f"{job.data}: no such file", remedy="Check the path.")
    target = None if output is None else Path(output)
    refuse_overwriting([target], files_read(job))
    _require_predictable(job, predict)
    by = by or default_loss(job)
    planned = grid(job, ks, methods, metrics, efforts, suppression_limits, by)
    asked = UtilityRequest(n_queries=n_queries, predict=predict, seed=job.seed)
    expected = fingerprint(job, asked)
    kept = {} if target is None or force else read_results(target, expected)
    guarantee = {"name": job.guarantee.name, "claim": job.guarantee.claim}
    found = _Found(
        location_name(job.data), guarantee, by, expected, at_least_k, knee, planned, kept
    )
    found.words = tuple(words)
    _measure(found, asked, target, progress)
    comparison = found.comparison()
    if not comparison.released and all(one["status"] == RELEASED for one in comparison.points):
        losses = comparison.points[0]["losses"]
        raise JobError(
            f"no point has the loss {by!r}", remedy=f"Known: {', '.join([*losses, 'are'])}."
        )
    return comparison


@dataclass(eq=False)
class _Found:
    """What is planned and what is measured so far."""

    data: str
    guarantee: dict[str, Any]
    by: str
    expected: dict[str, Any]
    at_least_k: int | None
    knee: float
    planned: list[Planned]
    kept: dict[str, Result]
    loose: dict[str, Result] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def key_of(self, planned: Planned) -> str:
        """Return the key of a point: its settings, and the fingerprint of its method's others."""
        if planned.job is None:
            return planned.point.key
        return f"{planned.point.key} ({method_fingerprint(planned.job)})"

    def comparison(self) -> Comparison:
        """Return the points that were asked for and are there, and further ones that were kept."""
        keys = [self.key_of(planned) for planned in self.planned]
        known = {**self.loose, **self.kept}
        further = [result for key, result in self.kept.items() if key not in keys]
        return Comparison(
            self.data,
            self.guarantee,
            self.by,
            [known[key] for key in keys if key in known],
            self.expected,
            self.at_least_k,
            self.knee,
            further,
            self.words,
        )


def _measure(found: _Found, asked: UtilityRequest, target: Path | None, progress: Progress) -> None:
    """Measure what lacks, and keep each point as soon as it is there."""
    for planned in found.planned:
        if planned.job is None:
            key = found.key_of(planned)
            found.loose[key] = _result(key, planned.point, {"status": UNFIT}, planned.reason)
    lacking = [
        planned
        for planned in found.planned
        if planned.job is not None and found.key_of(planned) not in found.kept
    ]
    n_all = len(found.planned)
    beside = Path.cwd() if target is None else target.absolute().parent
    if target is not None and not beside.is_dir():
        raise InputError(f"{beside}: no such folder", remedy="Make it, or change -o.")
    if lacking:
        with Workspace(beside) as workspace:
            for number, planned in enumerate(lacking):
                progress("comparing", n_all - len(lacking) + number, n_all)
                key = found.key_of(planned)
                answer = _in_process(planned, workspace.folder / str(number), asked)
                reason = answer.pop("reason", "")
                remedy = answer.pop("remedy", "")
                if answer["status"] in (UNFIT, FAILED):
                    if not any(one["status"] == RELEASED for one in found.kept.values()):
                        raise InputError(reason, remedy=remedy)
                    found.loose[key] = _result(key, planned.point, answer, reason)
                    continue
                found.kept[key] = _result(key, planned.point, answer, reason)
                if target is not None:
                    write_results(target, found.comparison().to_dict())
        progress("comparing", n_all, n_all)
    if target is not None:
        write_results(target, found.comparison().to_dict())


def _result(key: str, point: Point, answer: dict[str, Any], reason: str) -> Result:
    return {"key": key, "point": asdict(point), **answer, "reason": reason}


def _in_process(planned: Planned, folder: Path, asked: UtilityRequest) -> dict[str, Any]:
    """Measure a point in a process of its own; its folder is gone afterwards."""
    assert planned.job is not None
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-m", "incrowd.comparing.measure"]
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                text, _ = process.communicate(encode_request(planned.job, folder, asked))
            except BaseException:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(ENDING_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if process.returncode < 0:
        ended = signal.Signals(-process.returncode).name
        return {
            "status": FAILED,
            "reason": f"the process of {planned.point.key} was ended by {ended}",
            "remedy": "Most likely memory ran out: state --memory, or leave the point out.",
        }
    if process.returncode or not text.strip():
        raise RuntimeError(f"the process of {planned.point.key} ended without an answer")
    answer: dict[str, Any] = json.loads(text)
    if answer["status"] == INTERNAL:
        raise RuntimeError(f"the process of {planned.point.key} failed: {answer['reason']}")
    return answer


def _require_predictable(job: Job, predict: str | None) -> None:
    if predict is None:
        return
    from incrowd.errors import unknown
    from incrowd.measures.utility.learning import require_learning

    if job.shape != TABLES:
        raise JobError(
            "a column is predicted of a table, and these are sets", remedy="Leave --predict out."
        )
    if predict not in job.schema.published:
        raise unknown("published column", predict, job.schema.published, where="--predict")
    require_learning()
