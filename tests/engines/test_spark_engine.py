"""The Spark engine alone: what its sessions close to others, and what comes back of its errors."""

import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from command_line import python
from incrowd.engines.choice import EngineChoice
from incrowd.engines.spark import session as spark_session
from incrowd.engines.spark.engine import SparkEngine
from incrowd.engines.spark.session import privacy_notes, why_unavailable, write_package
from incrowd.engines.spark.workers import WorkerError, translate_error, wrap_group_function
from incrowd.engines.transfer import to_transfer, transfer_schema
from incrowd.errors import AuditError, EngineError, JobError

PLANTED = [f"zq-{number:05}-{number * 7919 % 10007:05}" for number in range(2000)]


@pytest.mark.spark
def test_a_session_of_ours_leaves_nothing_open(spark_engine):
    told = spark_engine.describe()
    assert told["privacy_notes"] == []
    assert told["session"] == "started by incrowd"
    assert told["master"] == "local[2]"
    conf = spark_engine.session.conf
    assert conf.get("spark.io.encryption.enabled") == "true"
    assert conf.get("spark.authenticate") == "true"
    assert conf.get("spark.ui.enabled") == "false"
    assert conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark_engine.session.sparkContext.uiWebUrl is None


@pytest.mark.spark
def test_files_of_a_session_are_private_and_encrypted(spark_engine):
    directory = spark_engine._started.directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    table = pa.table({"key": [number % 5 for number in range(2000)], "name": PLANTED})
    blocks = spark_engine.load(table)
    grouped = spark_engine.map_groups(blocks, "key", lambda group: group, table.schema)
    assert spark_engine.count(grouped, ["name"]).num_rows == 2000
    shuffled = [path for path in directory.rglob("shuffle_*.data") if path.stat().st_size]
    assert sum(path.stat().st_size for path in shuffled) > 20_000
    for path in directory.rglob("*"):
        if path.is_file():
            assert b"zq-0" not in path.read_bytes(), path.name


@pytest.mark.spark
def test_a_task_has_the_threads_that_spark_reserves_for_it(spark_engine, monkeypatch):
    assert spark_engine.threads_within(7) == 1
    reserved = {"spark.task.cpus": "3"}
    session = SimpleNamespace(conf=reserved)
    monkeypatch.setattr(spark_engine, "session", session)
    assert spark_engine.threads_within(7) == 3


@pytest.mark.spark
def test_errors_of_workers_come_back_without_values(spark_engine):
    blocks = spark_engine.load(pa.table({"name": PLANTED[:2]}))

    def fail(block):
        raise ValueError(f"cannot use {block.column('name')[0]}")

    with pytest.raises(EngineError, match=r"ValueError in test_spark_engine\.py, line") as raised:
        spark_engine.collect(spark_engine.map_blocks(blocks, fail, blocks.schema))
    assert "zq-" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    log = (spark_engine._started.directory / "java.log").read_text(encoding="utf-8")
    assert "zq-" not in log


@pytest.mark.spark
def test_a_given_session_is_left_as_it_was_found(spark_engine):
    given = spark_engine.session
    batch = given.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    given.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "17")
    try:
        guest = SparkEngine(session=given)
        blocks = guest.load(pa.table({"a": list(range(100))}))
        assert blocks.frame.rdd.getNumPartitions() == 2
        assert guest.count(blocks, []).to_pylist() == [{"n_rows": 100}]
        assert blocks.frame.is_cached
        assert guest.describe()["session"] == "existing"
        guest.close()
        assert given.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "17"
    finally:
        given.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    assert not blocks.frame.is_cached
    with pytest.raises(EngineError, match="is closed"):
        guest.count(blocks, [])
    guest.close()
    assert spark_engine.count(spark_engine.load(pa.table({"a": [1]})), []).num_rows == 1


@pytest.mark.spark
def test_columns_that_cannot_go_are_named(spark_engine):
    with pytest.raises(EngineError, match=r"column 'items': .* does not support list") as raised:
        spark_engine.load(pa.table({"items": [["zq-1"]]}))
    assert "zq-" not in str(raised.value)


OWN_SESSION = """
import os, signal, sys, threading, time
from pathlib import Path
from types import SimpleNamespace
import pyarrow as pa
from incrowd.engines.spark.engine import SparkEngine
from incrowd.engines.spark.session import write_package

handler = signal.getsignal(signal.SIGINT)
engine = SparkEngine("local[2]", memory=1 << 30, directory=Path(sys.argv[1]))
told = {"handler_kept": signal.getsignal(signal.SIGINT) is handler}
(private,) = Path(sys.argv[1]).iterdir()
told["mode"] = oct(private.stat().st_mode & 0o777)
children = Path(f"/proc/{engine._started.gateway.proc.pid}/cmdline").read_bytes()
told["secret_shown"] = b"authenticate.secret" in children
table = pa.table({"a": [1, 2, 3]})
blocks = engine.load(table)

def where(block):
    told = [sys.executable, os.environ.get("NUMBA_CACHE_DIR", "")]
    return pa.table({"python": told[:1], "cache": told[1:]})

schema = pa.schema({"python": pa.string(), "cache": pa.string()})
told["worker"] = engine.collect(engine.map_blocks(blocks, where, schema)).to_pylist()[0]

def sleep(block):
    time.sleep(100)
    return block

threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    engine.collect(engine.map_blocks(blocks, sleep, table.schema))
except KeyboardInterrupt:
    told["interrupted_after"] = time.monotonic() - start
told["count_after_interrupt"] = engine.count(blocks, []).to_pylist()
process = engine._started.gateway.proc
engine.close()
told["java_ended"] = process.poll() is not None
told["left_behind"] = [path.name for path in Path(sys.argv[1]).iterdir()]
told["on_path"] = [entry for entry in sys.path if str(private) in entry]
import json
print(json.dumps(told))
"""


@pytest.mark.spark
def test_the_life_of_a_session(tmp_path, spark_engine):  # noqa: ARG001 - skips where Spark cannot run
    environment = {
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(tmp_path / "numba")),
        "PYSPARK_PYTHON": "/nowhere/python",
        "SPARK_LOCAL_DIRS": "/nowhere/either",
    }
    (tmp_path / "private").mkdir()
    finished = python("-c", OWN_SESSION, tmp_path / "private", folder=tmp_path, env=environment)
    assert finished.status == 0, finished.err
    assert finished.err == "", "a user would be frightened"
    told = finished.json
    assert told["handler_kept"]
    assert told["mode"] == "0o700"
    assert not told["secret_shown"]
    assert told["worker"] == {"python": sys.executable, "cache": environment["NUMBA_CACHE_DIR"]}
    assert told["interrupted_after"] < 60, "the workers sleep for 100 seconds"
    assert told["count_after_interrupt"] == [{"n_rows": 3}]
    assert told["java_ended"]
    assert told["left_behind"] == []
    assert told["on_path"] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["private"]


class SettingsOfSession:
    """As much of a session as the notes look at."""

    def __init__(self, **settings):
        self.settings = {key.replace("_", "."): value for key, value in settings.items()}
        self.conf = self

    def get(self, key, default):
        return self.settings.get(key, default)


def test_what_a_session_leaves_open_is_told():
    notes = privacy_notes(SettingsOfSession())
    assert len(notes) == 4
    assert "shuffle and spill files" in notes[0]
    assert any("spark.ui.enabled is not false" in note for note in notes)
    with_log = privacy_notes(SettingsOfSession(spark_eventLog_enabled="true"))
    assert len(with_log) == 5
    assert any("event log" in note for note in with_log)


def test_missing_pyspark_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert why_unavailable().remedy == 'pip install "incrowd[spark]"'
    with pytest.raises(EngineError, match="needs pyspark"):
        SparkEngine()


def test_old_pyspark_is_told(monkeypatch):
    pyspark = pytest.importorskip("pyspark")
    monkeypatch.setattr(pyspark, "__version__", "3.5.6")
    assert "this is 3.5.6" in why_unavailable().what


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.setattr(spark_session, "_missing_pyspark", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_missing_java_is_told_with_the_command(no_java):
    assert "apt-get install openjdk-17-jre-headless" in why_unavailable().remedy
    assert "was not found" in why_unavailable().what
    with pytest.raises(EngineError, match="needs Java"):
        spark_session.start_session("local[1]")
    assert list(no_java.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ('openjdk version "11.0.2" 2019', "this is Java 11"),
        ('java version "1.8.0_292"', "this is Java 8"),
        ("no idea", "this Java is unknown"),
        ('openjdk version "17.0.15" 2025', None),
        ('openjdk version "21" 2023-09-19', None),
    ],
)
def test_old_java_is_told(no_java, version, message):
    java = no_java / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    missing = why_unavailable()
    if message is None:
        assert missing is None
    else:
        assert message in missing.what


def test_a_java_home_without_java_is_told(no_java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(no_java))
    assert "JAVA_HOME" in why_unavailable().what


def test_errors_of_spark_itself_keep_their_kind_only():
    class AnalysisException(Exception):
        def getCondition(self):  # noqa: N802
            return "CAST_INVALID_INPUT"

    told = translate_error(
        AnalysisException("[CAST_INVALID_INPUT] The value 'zq-00017' of the type")
    )
    assert "AnalysisException, CAST_INVALID_INPUT" in str(told)
    assert "zq-" not in str(told)
    crashed = translate_error(RuntimeError("Python worker exited unexpectedly (crashed) zq-00017"))
    assert "a Spark worker ended" in str(crashed)
    assert "zq-" not in str(crashed)


def test_travelling_columns_have_no_names():
    table = pa.table({"secret diagnosis": ["x"], "n": pa.array([1], pa.uint16())})
    assert to_transfer(table).schema == pa.schema({"c0": pa.string(), "c1": pa.int64()})
    with pytest.raises(EngineError, match="column 'pair'"):
        transfer_schema(pa.schema({"pair": pa.struct({"a": pa.int8()})}))


def test_an_error_that_cannot_be_revived_keeps_its_kind_only():
    group = wrap_group_function(_raise, pa.schema({"a": pa.int64()}), pa.schema({"a": pa.int64()}))
    with pytest.raises(WorkerError) as raised:
        group(pa.table({"a": [1]}))
    told = translate_error(raised.value)
    assert type(told) is EngineError
    assert "a block function failed on a Spark worker: AuditError in" in str(told)
    assert "zq-" not in str(told)


def _raise(group):
    raise AuditError("zq-00017", audit=group)


def test_the_private_directory_goes_when_a_session_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setattr(spark_session, "why_unavailable", lambda: None)

    def refuse(master, memory, private, further, is_shipped):  # noqa: ARG001
        (private / "java.log").write_text("ERROR: no such master zz\n", encoding="utf-8")
        raise RuntimeError("JAVA_GATEWAY_EXITED")

    monkeypatch.setattr(spark_session, "_start", refuse)
    with pytest.raises(EngineError, match="ERROR: no such master zz"):
        spark_session.start_session("local[1]", directory=tmp_path)
    assert list(Path(tmp_path).iterdir()) == []


def test_settings_of_spark_are_stated_one_by_one():
    stated = EngineChoice(
        "spark", spark_conf=("spark.executor.memory=8g", "spark.x.options = -Da=b -Dc=d")
    )
    assert stated.spark_settings == {
        "spark.executor.memory": "8g",
        "spark.x.options": "-Da=b -Dc=d",
    }
    for setting in ("spark.executor.memory", "executor.memory=8g", "=8g"):
        with pytest.raises(JobError, match=r"the form spark\.key=value"):
            EngineChoice("spark", spark_conf=(setting,))


@pytest.mark.parametrize(
    "key", ["spark.authenticate.secret", "spark.hadoop.fs.s3a.access.key", "spark.ssl.keyPassword"]
)
def test_secrets_do_not_stand_in_a_job(key):
    with pytest.raises(JobError, match="is a secret") as raised:
        EngineChoice("spark", spark_conf=(f"{key}=zq-00017",))
    assert "zq-" not in str(raised.value)
    assert "spark-defaults.conf" in raised.value.remedy


def test_a_standalone_cluster_has_its_own_secret(tmp_path):
    on_cluster = spark_session._settings("spark://host:7077", 1 << 30, tmp_path, True)
    assert "spark.authenticate" not in on_cluster
    assert "spark.network.crypto.enabled" not in on_cluster
    assert on_cluster["spark.io.encryption.enabled"] == "true"
    assert "spark.driver.bindAddress" not in on_cluster
    on_loopback = spark_session._settings("spark://127.0.0.1:7077", 1 << 30, tmp_path, True)
    assert on_loopback["spark.driver.bindAddress"] == "127.0.0.1"
    for master in ("yarn", "local-cluster[2,1,1024]"):
        assert spark_session._settings(master, None, tmp_path, True)["spark.authenticate"] == "true"


@pytest.mark.spark
def test_a_session_that_runs_takes_no_settings(spark_engine):
    with pytest.raises(EngineError, match="cannot be changed in an active session"):
        SparkEngine(session=spark_engine.session, settings={"spark.executor.memory": "8g"})


def test_the_package_goes_along_whole(tmp_path):
    told = python(
        "-c",
        "import incrowd.engines.spark.store as s; print(s.__file__)",
        folder=tmp_path,
        env={"PYTHONPATH": str(write_package(tmp_path))},
    )
    assert told.out.strip() == str(tmp_path / "incrowd.zip/incrowd/engines/spark/store.py")
    first = (tmp_path / "incrowd.zip").read_bytes()
    assert write_package(tmp_path).read_bytes() == first


@pytest.mark.parametrize(
    ("settings", "variables", "chosen"),
    [
        ({}, {}, True),
        ({"spark.driver.defaultJavaOptions": "-XX:+UseZGC"}, {}, False),
        ({"spark.driver.extraJavaOptions": "-XX:-UseG1GC -Dx=y"}, {}, False),
        ({}, {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}, False),
        ({}, {"JAVA_TOOL_OPTIONS": "-XX:+UseStringDeduplication"}, True),
    ],
)
def test_a_garbage_collector_is_chosen_unless_somebody_has(
    monkeypatch, settings, variables, chosen
):
    """Java does not start with two of them."""
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = {"spark.driver.extraJavaOptions": "-Da=b"} | settings
    before = settings["spark.driver.extraJavaOptions"]
    spark_session._choose_collector(settings)
    added = settings["spark.driver.extraJavaOptions"].removeprefix(before)
    assert added == (" -XX:+UseParallelGC" if chosen else "")
