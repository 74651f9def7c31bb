"""What differs between a session of the driver itself and one through Spark Connect."""

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
    """A session of our own on a server, which ends with ``stop``."""

    session: Any
    directory: Path

    def stop(self) -> None:
        """Have the server forget the session and all that it kept."""
        # A server that is gone keeps nothing.
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
    """Start a session on a server; the workers get this very version unless they have it."""
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
            remedy="Check the address and that its server runs; of settings, a server takes those "
            "of spark.sql alone.",
        ) from None


def missing_connect() -> EngineError | None:
    """Return what this Python lacks for Spark Connect."""
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError:  # PySpark's own kind of it, too
        return EngineError("Spark Connect needs further packages", remedy=INSTALL_CONNECT)
    return None


def is_open_on_the_way(address: str) -> bool:
    """Whether rows travel to the server without encryption."""
    parts = urlsplit(address)
    return "use_ssl=true" not in address and parts.hostname not in _ON_THIS_MACHINE


def _without_token(address: str) -> str:
    """Return an address without what is behind its host, where a token may stand."""
    return address.split(";")[0].rstrip("/")


# What differs between a session of the driver itself and one through Spark Connect.

LARGEST_CLOSURE = 64 << 20
"""The most bytes of a shared value that travel with a function through Spark Connect."""


def is_remote(session: Any) -> bool:
    """Whether a session, or a frame of one, is of Spark Connect."""
    return ".connect." in type(session).__module__


MOST_UNPACKED = 2
"""How many values a worker keeps unpacked: what a search always looks at, and a round's own."""

_unpacked: dict[str, Any] = {}
"""The values that a worker unpacked last, by their names."""


@dataclass(frozen=True, eq=False)
class Sent:
    """A broadcast value, unpacked once by each process of a worker."""

    broadcast: Any
    name: str

    def __call__(self) -> Any:
        """Return the value."""
        value = _unpacked.pop(self.name, None)  # and in again, as the last that was looked at
        if value is None:
            while len(_unpacked) >= MOST_UNPACKED:
                del _unpacked[next(iter(_unpacked))]
            value = pickle.loads(self.broadcast.value)
        _unpacked[self.name] = value
        return value


class DriverLink:
    """A session whose driver is this process."""

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
        """One worker per processor that Spark counts on."""
        return int(self._context.defaultParallelism)

    @property
    def master(self) -> str:
        """The cluster's address."""
        return str(self._context.master)

    def privacy_notes(self) -> list[str]:
        """Return what is open on the way to Spark: nothing."""
        return []

    def versions(self) -> dict[str, str]:
        """Return the versions of Spark and of its Java."""
        java = self._context._jvm.System.getProperty("java.version")
        return {"spark": str(self._context.version), "java": str(java)}

    def name_jobs(self, group: str) -> None:
        """Have what this thread asks for be known by a name."""
        self._context.setJobGroup(group, "incrowd", interruptOnCancel=True)

    def cancel(self, group: str) -> None:
        """End what is under way by that name; a Java process that is gone has nothing."""
        with contextlib.suppress(Exception):
            self._context.cancelJobGroup(group)

    def share(self, value: Any) -> Callable[[], Any]:
        """Send a value to each worker once."""
        # As bytes: what Spark encrypts cannot take arrays apart from the rest, as pickle likes to.
        return Sent(self._context.broadcast(pickle.dumps(value, protocol=5)), uuid4().hex)


class ConnectLink:
    """A session whose driver is a server elsewhere: there is no Java here, and no broadcast."""

    hadoop: Hadoop | None = None

    def __init__(self, session: Any) -> None:
        from pyspark.sql.connect import functions

        self.functions: Any = functions
        self._session = session
        self.master = f"sc://{session.client.host}"

    @cached_property
    def n_workers(self) -> int:
        """As many workers as Spark cuts a range into, unless it is told otherwise."""
        cut = self._session.range(1 << 16).selectExpr("spark_partition_id() AS part")
        return int(cut.distinct().count())

    def privacy_notes(self) -> list[str]:
        """Return what is open on the way to the server."""
        if is_open_on_the_way(self.master):
            return ["rows travel to the server without encryption (use_ssl is not true)"]
        return []

    def versions(self) -> dict[str, str]:
        """Return the version of Spark on the server."""
        return {"spark": str(self._session.version)}

    def name_jobs(self, group: str) -> None:
        """Have what this thread asks for be known by a name."""
        self._session.addTag(group)

    def cancel(self, group: str) -> None:
        """End what is under way by that name; a server that is gone has nothing."""
        with contextlib.suppress(Exception):
            self._session.interruptTag(group)

    def share(self, value: Any) -> Callable[[], Any]:
        """Have a value travel with every function that asks for it."""
        n_bytes = len(pickle.dumps(value, protocol=5))
        if n_bytes > LARGEST_CLOSURE:
            raise EngineError(
                f"a shared value of {n_bytes >> 20:,} MiB is too large for Spark Connect, which "
                f"takes {LARGEST_CLOSURE >> 20} MiB",
                remedy="Run in a session of the driver itself (--spark-master spark://…, or "
                "spark-submit), or choose fewer quasi-identifying columns.",
            )
        return lambda: value
