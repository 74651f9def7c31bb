"""Spark sessions: start one that keeps people's rows to itself, ship the package to its workers,
and say what another session leaves open.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import incrowd
from incrowd.errors import EngineError, IncrowdError

_NO_TIME = (1980, 1, 1, 0, 0, 0)


def package_parent() -> Path:
    """Return the folder that this package is imported from."""
    return Path(incrowd.__file__).parent.parent


def write_package(directory: Path) -> Path:
    """Write the package's modules as a zip file and return its path."""
    parent = package_parent()
    target = directory / "incrowd.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((parent / "incrowd").rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(parent).as_posix(), _NO_TIME)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


# Spark sessions: start one that keeps people's rows to itself, and say what another leaves open.

OLDEST_JAVA = 17
OLDEST_PYSPARK = 4
JVM_STOP_SECONDS = 20
BATCH_ROWS = 100_000

INSTALL_PYSPARK = 'pip install "incrowd[spark]"'
INSTALL_JAVA = (
    "Install one and try again, on Debian or Ubuntu:  apt-get install openjdk-17-jre-headless\n"
    "(elsewhere: any Java 17 or 21, found through JAVA_HOME or PATH)."
)

# What of Spark may keep or show rows, its safe value, its value where nothing is set, and what
# it means when it is not safe.
_PRIVACY = (
    (
        "spark.io.encryption.enabled",
        "true",
        "false",
        "shuffle and spill files on the workers' disks are not encrypted",
    ),
    (
        "spark.authenticate",
        "true",
        "false",
        "Spark's processes do not ask each other for a secret",
    ),
    (
        "spark.network.crypto.enabled",
        "true",
        "false",
        "rows travel between Spark's processes without encryption",
    ),
    ("spark.ui.enabled", "false", "true", "Spark's web page shows plans and errors"),
    ("spark.eventLog.enabled", "false", "false", "an event log keeps plans and errors"),
)

# Ours alone, on a session of our own or on a copy of somebody's session.
SQL_SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    # Rows as a value of the query plan would be shown with the plan, and are slow.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # Times to the nanosecond are numbers to Spark, as all times are that travel.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}


@dataclass(frozen=True)
class StartedSession:
    """A session of our own, with what must be given back when it ends."""

    session: Any
    gateway: Any
    directory: Path

    def stop(self) -> None:
        """Stop the session and its Java process, and remove their directory."""
        from pyspark import SparkContext

        try:
            # A Java process that has died already has nothing left to stop.
            with contextlib.suppress(Exception):
                self.session.stop()
            _stop_gateway(self.gateway)
        finally:
            SparkContext._gateway = None
            SparkContext._jvm = None
            # Spark put a folder of the session on the path; a removed one must not stay there.
            sys.path[:] = [entry for entry in sys.path if not _is_inside(entry, self.directory)]
            shutil.rmtree(self.directory, ignore_errors=True)


def unavailable() -> EngineError | None:
    """Return why no session can be started on this machine, None where one can."""
    return _missing_pyspark() or _missing_java()


def active_session() -> Any:
    """Return the session that already runs in this process, or None."""
    missing = _missing_pyspark()
    if missing:
        raise missing
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        remote = sys.modules.get("pyspark.sql.connect.session")
        return remote.SparkSession.getActiveSession() if remote else None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def start_session(
    master: str,
    memory: int | None = None,
    directory: Path | None = None,
    further: Mapping[str, str] | None = None,
    *,
    is_shipped: bool = True,
) -> StartedSession:
    """Start a session whose files, messages and processes are closed to others.

    ``memory`` is the Java heap in bytes, by default half of what the machine has; ``directory``
    is where the session's private directory is made; ``further`` settings win over ours. Workers
    of other masters than local ones get the package unless it is not ``is_shipped``.
    """
    missing = unavailable()
    if missing:
        raise missing
    private = Path(tempfile.mkdtemp(prefix="incrowd-spark-", dir=directory))
    try:
        with _interrupt_handler_kept(), _environment(_environment_of(master, private)):
            return _start(master, memory, private, further or {}, is_shipped)
    except BaseException as error:
        told = _tail_of_log(private)
        shutil.rmtree(private, ignore_errors=True)
        if isinstance(error, IncrowdError) or not isinstance(error, Exception):
            raise
        raise _not_started(master, told or type(error).__name__) from None


def private_copy(session: Any) -> Any:
    """Return a session on the same context whose settings are ours; the given one stays as is.

    One of Spark Connect is used as it is: frames of one session are not known to another there.
    """
    if ".connect." in type(session).__module__:
        return session
    copy = session.newSession()
    for key, value in SQL_SETTINGS.items():
        copy.conf.set(key, value)
    return copy


def privacy_notes(session: Any) -> list[str]:
    """Return what this session leaves open to others, a sentence each; none is best."""
    notes = []
    for key, safe, default, meaning in _PRIVACY:
        if str(session.conf.get(key, default)).lower() != safe:
            notes.append(f"{meaning} ({key} is not {safe})")
    return notes


def _start(
    master: str, memory: int | None, private: Path, further: Mapping[str, str], is_shipped: bool
) -> StartedSession:
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        raise EngineError(
            "a Java process of an earlier Spark session is still part of this program",
            remedy="Start a session in it again, or run incrowd in a new process.",
        )
    settings = _settings(master, memory, private, is_shipped) | dict(further)
    visible = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with _log_path(private).open("wb") as log:
        launch: Any = java_gateway.launch_gateway
        gateway = launch(visible, {"stdout": log, "stderr": log})
    try:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        if master.startswith("local-cluster"):
            # Set only now: what is launched with shows in the list of processes.
            conf.set("spark.authenticate.secret", secrets.token_hex(32))
        context = SparkContext(conf=conf, gateway=gateway)
        if is_shipped and not is_local(master):
            context.addPyFile(str(write_package(private)))
        return StartedSession(SparkSession(context), gateway, private)
    except BaseException as error:
        java = getattr(error, "java_exception", None)
        told = java.getMessage() if java is not None else ""
        _stop_gateway(gateway)
        SparkContext._gateway = None
        SparkContext._jvm = None
        if told:
            raise _not_started(master, told) from None
        raise


def _not_started(master: str, told: str) -> EngineError:
    """Return the error of a start; no data are loaded yet, so Java's own words can be shown."""
    return EngineError(
        f"Spark did not start on {master!r}: {told.splitlines()[0][:300]}",
        remedy="Check the master's address, or use incrowd in a program that has a session.",
    )


def _settings(master: str, memory: int | None, private: Path, is_shipped: bool) -> dict[str, str]:
    files = {"java.io.tmpdir": private, "log4j2.configurationFile": _write_log_settings(private)}
    java_options = " ".join(f'"-D{key}={path}"' for key, path in files.items())
    settings = {
        "spark.master": master,
        "spark.app.name": "incrowd",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{(memory or _half_of_memory()) >> 20}m",
        # The whole result comes to this process in any case.
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": f'{java_options} "-XX:ErrorFile={private}/crash.log"',
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(private / "warehouse"),
        **{key: safe for key, safe, _, _ in _PRIVACY if not _is_the_clusters(key, master)},
        **SQL_SETTINGS,
    }
    if is_on_this_machine(master):
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    if is_local(master):
        settings["spark.local.dir"] = str(private)
        paths = [str(package_parent()), os.environ.get("PYTHONPATH", "")]
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        settings["spark.sql.shuffle.partitions"] = str(4 * (os.cpu_count() or 1))
    numba_cache = os.environ.get("NUMBA_CACHE_DIR", "")
    if not numba_cache and is_shipped and not is_local(master):
        # Below an executor's own working directory: a worker may have no home to cache in.
        numba_cache = "numba-cache"
    if numba_cache:
        settings["spark.executorEnv.NUMBA_CACHE_DIR"] = numba_cache
    return settings


def is_local(master: str) -> bool:
    """Whether Spark's processes are started by this one and see its files."""
    return master.startswith("local")


def is_on_this_machine(master: str) -> bool:
    """Whether the cluster can be reached from this machine only."""
    return is_local(master) or re.match(r"spark://(localhost|127\.0\.0\.1):", master) is not None


def _is_the_clusters(key: str, master: str) -> bool:
    """Whether a setting is for the cluster to make: a standalone one has a secret or none."""
    shared = ("spark.authenticate", "spark.network.crypto.enabled")
    return master.startswith("spark://") and key in shared


def _environment_of(master: str, private: Path) -> dict[str, str]:
    # Where it is set, it wins over spark.local.dir; the workers of a cluster have their own.
    variables = {"SPARK_LOCAL_DIRS": str(private), "PYSPARK_PYTHON": sys.executable}
    if not is_local(master):
        # On a cluster the path of Python may be another one; whoever set it knows.
        variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if is_on_this_machine(master):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def _write_log_settings(private: Path) -> Path:
    """Log errors only, and none of tasks: those come back as exceptions, without values."""
    quiet = ("executor.Executor", "scheduler.TaskSetManager")
    lines = [
        "rootLogger.level = error",
        "rootLogger.appenderRef.stderr.ref = stderr",
        "appender.console.type = Console",
        "appender.console.name = stderr",
        "appender.console.target = SYSTEM_ERR",
        "appender.console.layout.type = PatternLayout",
        "appender.console.layout.pattern = %p %c{1}: %m%n",
    ]
    for number, name in enumerate(quiet):
        lines += [
            f"logger.l{number}.name = org.apache.spark.{name}",
            f"logger.l{number}.level = off",
        ]
    path = private / "log4j2.properties"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _log_path(private: Path) -> Path:
    path = private / "java.log"
    path.touch(mode=0o600)
    return path


def _tail_of_log(private: Path) -> str:
    """Return the last line of Java's messages that tells of an error."""
    try:
        lines = (private / "java.log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    telling = [line.strip() for line in lines if re.search(r"Exception|ERROR|[Ee]rror:", line)]
    return telling[-1] if telling else ""


def _stop_gateway(gateway: Any) -> None:
    """End the Java process that we launched; it ends by itself when its input is closed."""
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    try:
        process.wait(JVM_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while a session starts, and put back what was there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """Keep the program's own answer to Ctrl-C: starting a session would replace it."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _half_of_memory() -> int:
    """Return half of the memory that this process may use, in bytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")
        physical = min(physical, int(limit))
    return max(1 << 30, physical // 2)


def _missing_pyspark() -> EngineError | None:
    try:
        import pyspark
    except ImportError:
        return EngineError("the Spark engine needs pyspark", remedy=INSTALL_PYSPARK)
    found: str = pyspark.__version__
    if int(found.split(".")[0]) < OLDEST_PYSPARK:
        return EngineError(
            f"the Spark engine needs pyspark {OLDEST_PYSPARK}, this is {found}",
            remedy=INSTALL_PYSPARK,
        )
    return None


def _missing_java() -> EngineError | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java:
        return EngineError("the Spark engine needs Java, and there is none", remedy=INSTALL_JAVA)
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return EngineError("JAVA_HOME names a folder without bin/java", remedy=INSTALL_JAVA)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if not found or int(found[1]) < OLDEST_JAVA:
        has = f"this is Java {found[1]}" if found else "this Java does not tell its version"
        return EngineError(
            f"the Spark engine needs Java {OLDEST_JAVA} or newer, {has}", remedy=INSTALL_JAVA
        )
    return None


def _is_inside(entry: str, directory: Path) -> bool:
    return bool(entry) and Path(entry).is_relative_to(directory)
