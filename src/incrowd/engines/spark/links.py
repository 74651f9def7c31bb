"""The two kinds of Spark session: with the driver in this process, and through Spark Connect."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from incrowd.engines.spark.hadoop import Hadoop
from incrowd.engines.spark.session import write_package
from incrowd.errors import EngineError

INSTALL_CONNECT = 'pip install "incrowd[connect]"'
SCHEME = "sc://"

_ON_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class RemoteSession:
    """A session that we started on a Spark Connect server; ``stop`` ends it."""

    session: Any
    directory: Path

    def stop(self) -> None:
        """End the session and free what the server keeps for it."""
        # The server may be gone already.
        with contextlib.suppress(Exception):
            self.session.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def start_remote(
    address: str,
    settings: Mapping[str, str],
    directory: Path | None = None,
    *,
    is_shipped: bool = True,
) -> RemoteSession:
    """Start a session on a server; with ``is_shipped``, send this package to its workers."""
    missing = missing_connect()
    if missing:
        raise missing
    from pyspark.sql.connect.session import SparkSession

    private = Path(tempfile.mkdtemp(prefix="incrowd-spark-", dir=directory))
    session = None
    try:
        session = SparkSession(connection=address)
        for key, value in settings.items():
            session.conf.set(key, value)
        if is_shipped:
            session.addArtifacts(str(write_package(private)), pyfile=True)
        return RemoteSession(session, private)
    except BaseException as error:
        if session is not None:
            with contextlib.suppress(Exception):
                session.client.close()
        shutil.rmtree(private, ignore_errors=True)
        if not isinstance(error, Exception):
            raise
        raise EngineError(
            f"Spark Connect did not start a session on {_without_token(address)!r}: "
            f"{type(error).__name__}",
            remedy="Check the address and that the server is running; a server accepts only "
            "settings of spark.sql.",
        ) from None


def missing_connect() -> EngineError | None:
    """Return the error if this Python lacks packages for Spark Connect, else None."""
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError:  # or PySpark's subclass of it
        return EngineError("Spark Connect needs additional packages", remedy=INSTALL_CONNECT)
    return None


def is_unencrypted(address: str) -> bool:
    """Return whether rows are sent to the server without encryption."""
    parts = urlsplit(address)
    return "use_ssl=true" not in address and parts.hostname not in _ON_THIS_MACHINE


def _without_token(address: str) -> str:
    """Return an address without its parameters, which may contain a token."""
    return address.split(";")[0].rstrip("/")


LARGEST_CLOSURE = 64 << 20
"""The largest value (bytes) that may be sent with a function through Spark Connect."""


def is_remote(session: Any) -> bool:
    """Return whether a session, or a frame of one, belongs to Spark Connect."""
    return ".connect." in type(session).__module__


MOST_UNPACKED = 2
"""How many values a worker keeps unpacked: one for the whole search, and one per round."""

_unpacked: dict[str, Any] = {}
"""The values that this worker unpacked last, by name."""


@dataclass(frozen=True, eq=False)
class BroadcastValue:
    """A broadcast value, unpacked once by each process of a worker."""

    broadcast: Any
    name: str

    def __call__(self) -> Any:
        """Return the value."""
        value = _unpacked.pop(self.name, None)  # reinserted below as the last used
        if value is None:
            while len(_unpacked) >= MOST_UNPACKED:
                del _unpacked[next(iter(_unpacked))]
            value = pickle.loads(self.broadcast.value)
        _unpacked[self.name] = value
        return value


class DriverLink:
    """Access to a session whose driver is this process."""

    def __init__(self, session: Any) -> None:
        from pyspark.sql import functions

        self.functions: Any = functions
        self._context = session.sparkContext

    @cached_property
    def hadoop(self) -> Hadoop | None:
        """Hadoop's file systems."""
        return Hadoop(self._context)

    @property
    def n_workers(self) -> int:
        """One worker per processor that Spark uses."""
        return int(self._context.defaultParallelism)

    @property
    def master(self) -> str:
        """The cluster's address."""
        return str(self._context.master)

    def privacy_notes(self) -> list[str]:
        """Return no notes: nothing leaves Spark's own processes."""
        return []

    def versions(self) -> dict[str, str]:
        """Return the versions of Spark and of its Java."""
        java = self._context._jvm.System.getProperty("java.version")
        return {"spark": str(self._context.version), "java": str(java)}

    def name_jobs(self, group: str) -> None:
        """Assign the jobs of this thread to a group."""
        self._context.setJobGroup(group, "incrowd", interruptOnCancel=True)

    def cancel(self, group: str) -> None:
        """Cancel the running jobs of a group; nothing if the Java process is gone."""
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(group)

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Send a value to each worker once."""
        # As bytes: Spark's encryption does not support pickle's out-of-band arrays.
        return BroadcastValue(self._context.broadcast(pickle.dumps(value, protocol=5)), uuid4().hex)


class ConnectLink:
    """Access to a session on a server: no Java in this process, and no broadcast variables."""

    hadoop: Hadoop | None = None

    def __init__(self, session: Any) -> None:
        from pyspark.sql.connect import functions

        self.functions: Any = functions
        self._session = session
        self.master = f"sc://{session.client.host}"

    @cached_property
    def n_workers(self) -> int:
        """As many workers as Spark splits a range into by default."""
        cut = self._session.range(1 << 16).selectExpr("spark_partition_id() AS part")
        return int(cut.distinct().count())

    def privacy_notes(self) -> list[str]:
        """Return what is not protected on the way to the server."""
        if is_unencrypted(self.master):
            return ["rows are sent to the server without encryption (use_ssl is not true)"]
        return []

    def versions(self) -> dict[str, str]:
        """Return the version of Spark on the server."""
        return {"spark": str(self._session.version)}

    def name_jobs(self, group: str) -> None:
        """Assign the jobs of this thread to a group."""
        self._session.addTag(group)

    def cancel(self, group: str) -> None:
        """Cancel the running jobs of a group; nothing if the server is gone."""
        with contextlib.suppress(Exception):
            self._session.interruptTag(group)

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Send a value with every function that uses it."""
        n_bytes = len(pickle.dumps(value, protocol=5))
        if n_bytes > LARGEST_CLOSURE:
            raise EngineError(
                f"a value of {n_bytes >> 20:,} MiB is too large for Spark Connect, which "
                f"takes {LARGEST_CLOSURE >> 20} MiB",
                remedy="Run the driver in this process (--spark-master spark://…, or "
                "spark-submit), or choose fewer quasi-identifiers.",
            )
        return lambda: value
