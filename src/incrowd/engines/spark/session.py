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
from incrowd.compiling.library import library_files
from incrowd.errors import EngineError, IncrowdError

_NO_TIME = (1980, 1, 1, 0, 0, 0)


def package_parent() -> Path:
    """Return the folder that this package is imported from."""
    return Path(incrowd.__file__).parent.parent


def write_package(directory: Path) -> Path:
    """Write the package's modules and its built kernels as a zip file and return its path."""
    parent = package_parent()
    target = directory / "incrowd.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        modules = sorted((parent / "incrowd").rglob("*.py"))
        for path in [*modules, *library_files()]:
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
        "rows are sent between Spark's processes without encryption",
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
    # Nanosecond timestamps are integers to Spark, as all times in the transfer form.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}


@dataclass(frozen=True)
class StartedSession:
    """A session that we started, with the resources to release when it ends."""

    session: Any
    gateway: Any
    directory: Path

    def stop(self) -> None:
        """Stop the session and its Java process, and remove their directory."""
        from pyspark import SparkContext

        try:
            # The Java process may have died already.
            with contextlib.suppress(Exception):
                self.session.stop()
            _stop_gateway(self.gateway)
        finally:
            SparkContext._gateway = None
            SparkContext._jvm = None
            # Spark put a folder of the session on sys.path, which is removed below.
            sys.path[:] = [entry for entry in sys.path if not _is_inside(entry, self.directory)]
            shutil.rmtree(self.directory, ignore_errors=True)


def why_unavailable() -> EngineError | None:
    """Return the error if no session can be started on this machine, else None."""
    return _missing_pyspark() or _missing_java()


def active_session() -> Any:
    """Return the active session of this process, or None."""
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

    ``memory`` is the Java heap in bytes, by default half of the machine's memory; ``directory`` is
    where the session's private directory is created; ``further`` settings override ours. With
    ``is_shipped``, this package is sent to the workers of a cluster.
    """
    missing = why_unavailable()
    if missing:
        raise missing
    _have_pandas_in_pyarrow()
    private = Path(tempfile.mkdtemp(prefix="incrowd-spark-", dir=directory))
    try:
        with _keep_interrupt_handler(), _environment(_environment_of(master, private)):
            return _start(master, memory, private, further or {}, is_shipped)
    except BaseException as error:
        reason = _tail_of_log(private)
        shutil.rmtree(private, ignore_errors=True)
        if isinstance(error, IncrowdError) or not isinstance(error, Exception):
            raise
        raise _start_error(master, reason or type(error).__name__) from None


def _have_pandas_in_pyarrow() -> None:
    """Make pyarrow know the frames of pandas, which the command line leaves out elsewhere."""
    import pyarrow as pa

    with contextlib.suppress(ImportError):  # pyspark says what it needs
        pa.table({"one": pa.array([1])}).to_pandas()


def copy_session(session: Any) -> Any:
    """Return a session on the same context with our settings; the given one is left unchanged.

    A session of Spark Connect is used itself: its frames are unknown to other sessions.
    """
    if ".connect." in type(session).__module__:
        return session
    copy = session.newSession()
    for key, value in SQL_SETTINGS.items():
        copy.conf.set(key, value)
    return copy


def privacy_notes(session: Any) -> list[str]:
    """Return what this session does not protect, one sentence each."""
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
            "a Java process of an earlier Spark session is still attached to this program",
            remedy="Start a Spark session yourself, or run incrowd in a new process.",
        )
    settings = _settings(master, memory, private, is_shipped) | dict(further)
    if is_local(master):
        _choose_collector(settings)
    visible = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with _log_path(private).open("wb") as log:
        launch: Any = java_gateway.launch_gateway
        gateway = launch(visible, {"stdout": log, "stderr": log})
    try:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        if master.startswith("local-cluster"):
            # Set only now: launch arguments are visible in the process list.
            conf.set("spark.authenticate.secret", secrets.token_hex(32))
        context = SparkContext(conf=conf, gateway=gateway)
        if is_shipped and not is_local(master):
            context.addPyFile(str(write_package(private)))
        return StartedSession(SparkSession(context), gateway, private)
    except BaseException as error:
        java = getattr(error, "java_exception", None)
        reason = java.getMessage() if java is not None else ""
        _stop_gateway(gateway)
        SparkContext._gateway = None
        SparkContext._jvm = None
        if reason:
            raise _start_error(master, reason) from None
        raise


def _start_error(master: str, reason: str) -> EngineError:
    """Return the error of a failed start; no data are loaded yet, so Java's message is safe."""
    return EngineError(
        f"Spark did not start on {master!r}: {reason.splitlines()[0][:300]}",
        remedy="Check the master's URL, or use incrowd in a program with an active session.",
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
        # The whole result is fetched in any case.
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": f'{java_options} "-XX:ErrorFile={private}/crash.log"',
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(private / "warehouse"),
        **{key: safe for key, safe, _, _ in _PRIVACY if not _is_set_by_cluster(key, master)},
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
        # In the executor's working directory: a worker may have no home directory.
        numba_cache = "numba-cache"
    if numba_cache:
        settings["spark.executorEnv.NUMBA_CACHE_DIR"] = numba_cache
    return settings


def _choose_collector(settings: dict[str, str]) -> None:
    """Have Java collect garbage in the way that takes least, unless somebody chose one.

    By default a collector works beside the tasks, on the same few processors: a tenth of all
    CPU time of a million rows.
    """
    key = "spark.driver.extraJavaOptions"
    stated = [settings[key], settings.get("spark.driver.defaultJavaOptions", "")]
    stated += [os.environ.get(name, "") for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")]
    if not any(re.search(r"-XX:[+-]Use\w+GC\b", options) for options in stated):
        settings[key] += " -XX:+UseParallelGC"


def is_local(master: str) -> bool:
    """Return whether Spark's processes are started by this one and see its files."""
    return master.startswith("local")


def is_on_this_machine(master: str) -> bool:
    """Return whether the cluster is reachable from this machine only."""
    return is_local(master) or re.match(r"spark://(localhost|127\.0\.0\.1):", master) is not None


def _is_set_by_cluster(key: str, master: str) -> bool:
    """Return whether the cluster decides a setting, as a standalone one does on its secret."""
    shared = ("spark.authenticate", "spark.network.crypto.enabled")
    return master.startswith("spark://") and key in shared


def _environment_of(master: str, private: Path) -> dict[str, str]:
    # SPARK_LOCAL_DIRS overrides spark.local.dir; the workers of a cluster have their own.
    variables = {"SPARK_LOCAL_DIRS": str(private), "PYSPARK_PYTHON": sys.executable}
    if not is_local(master):
        # On a cluster Python may have another path, which the user has set.
        variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if is_on_this_machine(master):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def _write_log_settings(private: Path) -> Path:
    """Configure the log: errors only, none of tasks, which come back as exceptions."""
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
    """Return the last line of Java's log that reports an error."""
    try:
        lines = (private / "java.log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    lines_of_errors = [
        line.strip() for line in lines if re.search(r"Exception|ERROR|[Ee]rror:", line)
    ]
    return lines_of_errors[-1] if lines_of_errors else ""


def _stop_gateway(gateway: Any) -> None:
    """Stop the Java process that we launched; it ends when its input is closed."""
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
    """Set environment variables while a session starts, and restore them."""
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
def _keep_interrupt_handler() -> Iterator[None]:
    """Restore the program's Ctrl-C handler, which starting a session replaces."""
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
        return EngineError("the Spark engine needs Java, which was not found", remedy=INSTALL_JAVA)
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return EngineError("JAVA_HOME has no bin/java", remedy=INSTALL_JAVA)
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if not found or int(found[1]) < OLDEST_JAVA:
        has = f"this is Java {found[1]}" if found else "the version of this Java is unknown"
        return EngineError(
            f"the Spark engine needs Java {OLDEST_JAVA} or newer, {has}", remedy=INSTALL_JAVA
        )
    return None


def _is_inside(entry: str, directory: Path) -> bool:
    return bool(entry) and Path(entry).is_relative_to(directory)
