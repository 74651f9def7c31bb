"""What the flow asks of one shape of data, and which adapter and store serve a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from incrowd.engines.base import Engine, OutOfCoreEngine
from incrowd.flow.outputs import Target
from incrowd.flow.placement import why_in_process, why_not_out_of_core
from incrowd.guarantees.evidence import SETS, TABLES, TRANSACTIONS, Finding
from incrowd.job.job import Job
from incrowd.memory import return_free_memory
from incrowd.progress import Progress, log
from incrowd.tables.frames import is_spark_frame
from incrowd.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from incrowd.audit import Audit
    from incrowd.checking.certificates import Reading
    from incrowd.checking.material import Material
    from incrowd.flow.overview import Overview
    from incrowd.flow.publication import Publication
    from incrowd.tables.locations import Location


Data = TypeVar("Data")
Evidence = TypeVar("Evidence")

STAGES = {
    "read": "reading",
    "encode": "encoding",
    "search": "searching",
    "decode": "putting rows in order",
    "write": "writing",
    "audit": "auditing",
}


@dataclass
class Stages:
    """How long each stage took; its beginning is reported."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.progress(STAGES[name], 0, 0)
        started = time.perf_counter()
        yield
        return_free_memory()
        self.seconds[name] = round(time.perf_counter() - started, 4)
        log.debug("%s: %.3f s", STAGES[name], self.seconds[name])


@dataclass(eq=False)
class Candidate(Generic[Data, Evidence]):
    """A release that nobody has audited yet, with what its audit and its documents need.

    ``job`` makes it again: what the stated job left open is settled in it. ``original_row`` is
    the key, ``original_row[released row]``; None where rows are never numbered. ``key_columns``
    has what else the key file tells of every released row.
    """

    data: Data | None
    job: Job
    evidence: Evidence
    original_row: NDArray[np.int64] | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    key_columns: pa.Table | None = None

    def take(self) -> Data:
        """Return the data and forget them: the audit reads them again from where they went."""
        data, self.data = self.data, None
        assert data is not None
        return data


@dataclass(frozen=True)
class Checked:
    """What the audit of a written release found and measured."""

    findings: list[Finding]
    n_rows: int
    losses: Mapping[str, float] = field(default_factory=dict)
    n_suppressed: int = 0
    overview: Overview | None = None


class Store(Protocol):
    """Where data come from and where the release goes: a file, a folder, or a frame in Python."""

    def read(self) -> Any:
        """Take the original in."""

    def write(self, data: Any) -> Any:
        """Put a release where only this run sees it."""

    def reread(self, written: Any) -> Any:
        """Read it back as a stranger would."""

    def hashes(self, written: Any, reread: Any, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of the written release and of the original."""

    def publish(self, written: Any, publication: Publication) -> tuple[Any, Location | None]:
        """Give the release its name; return it (a frame) or where it is (a file or folder)."""


class Adapter(Protocol):
    """The steps of the flow for one shape of data, in the order in which they are called."""

    @property
    def store(self) -> Store:
        """Where data come from and go to."""

    @property
    def engine(self) -> Engine:
        """Where rows live."""

    def encode(self, original: Any, progress: Progress) -> Any:
        """Turn the original into what a method searches; refuse what no release could satisfy."""

    def search(self, encoded: Any, progress: Progress) -> Any:
        """Run the method."""

    def decode(self, encoded: Any, found: Any) -> Candidate[Any, Any]:
        """Turn what the method found into rows as they are written."""

    def audit(self, candidate: Candidate[Any, Any], reread: Any) -> Checked:
        """Check the release as it was read back, with code that no method shares."""

    def reading(self, candidate: Candidate[Any, Any]) -> Reading:
        """Return how a stranger reads the release, for its certificate."""

    def findings_on_file(
        self, candidate: Candidate[Any, Any], reread: Any, audit: Audit
    ) -> list[Finding]:
        """Return what anyone finds on the released file alone; nothing where only its owner can."""

    def material(
        self, candidate: Candidate[Any, Any], reread: Any
    ) -> Callable[[], Material] | None:
        """Return what a report is computed from; None where the rows are not in this process."""

    def private_files(
        self,
        candidate: Candidate[Any, Any],
        reread: Any,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """Write what the job asks to keep for the owner besides the key."""


# Which adapter and which store serve a job: by the shape of its data and where its rows live.


def adapter_for_file(
    job: Job,
    target: Target,
    engine: Engine,
    workspace: Workspace,
    resources: ExitStack,
    *,
    force: bool,
) -> Adapter:
    """Return the steps for a job on files; what they keep open is closed with ``resources``."""
    if job.shape == TABLES and engine.is_out_of_core and not why_not_out_of_core(job):
        from incrowd.flow.out_of_core import OutOfCoreAdapter, OutOfCoreFile, OutOfCoreFolder

        rows = cast(OutOfCoreEngine, engine)
        if target.is_folder:
            folder = OutOfCoreFolder(job, target, rows, resources, force=force)
            return OutOfCoreAdapter(job, rows, folder)
        return OutOfCoreAdapter(job, rows, OutOfCoreFile(job, target, rows, workspace, resources))
    if job.shape == TRANSACTIONS and engine.is_out_of_core:
        reason = why_in_process(job, target)
        if not reason:
            from incrowd.flow.transactions_out_of_core import (
                OutOfCoreTransactionAdapter,
                OutOfCoreTransactions,
            )

            rows = cast(OutOfCoreEngine, engine)
            store = OutOfCoreTransactions(job, target, rows, workspace)
            return OutOfCoreTransactionAdapter(job, rows, store)
        log.warning("this process reads and writes all transactions, since %s", reason)
    return _FOR_FILES[job.shape](job, target, engine, workspace)


def adapter_for_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    """Return the steps for a job on a frame or a matrix in Python."""
    if job.shape == TABLES and is_spark_frame(data) and not why_not_out_of_core(job):
        from incrowd.flow.out_of_core import OutOfCoreAdapter, OutOfCoreFrame

        rows = cast(OutOfCoreEngine, engine)
        return OutOfCoreAdapter(job, rows, OutOfCoreFrame(data, rows))
    return _FOR_FRAMES[job.shape](job, data, engine)


def _table_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.tables import TableAdapter, TableFile

    return TableAdapter(job, engine, TableFile(job, target, engine, workspace))


def _set_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.sets import SetAdapter, SetFile

    return SetAdapter(job, engine, SetFile(job, target, workspace))


def _transaction_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.transactions import TransactionAdapter, TransactionFile

    return TransactionAdapter(job, engine, TransactionFile(job, target, workspace))


def _table_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.tables import TableAdapter, TableFrame

    return TableAdapter(job, engine, TableFrame(job, data, engine))


def _set_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.sets import SetAdapter, SetFrame

    return SetAdapter(job, engine, SetFrame(job, data))


def _transaction_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.transactions import TransactionAdapter, TransactionFrame

    return TransactionAdapter(job, engine, TransactionFrame(job, data))


_FOR_FILES = {TABLES: _table_file, SETS: _set_file, TRANSACTIONS: _transaction_file}
_FOR_FRAMES = {TABLES: _table_frame, SETS: _set_frame, TRANSACTIONS: _transaction_frame}
