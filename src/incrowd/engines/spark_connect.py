"""Sessions through Spark Connect: the driver is a server, and this process asks it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from incrowd.engines.spark_package import write_package
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
