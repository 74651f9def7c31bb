"""Spark Connect: every verb on a real server, and what it says where it cannot."""

import sys

import pyarrow as pa
import pytest

from engines import cluster_checks
from incrowd.engines.base import ReadOptions
from incrowd.engines.spark import links as spark_links
from incrowd.engines.spark.engine import SparkEngine
from incrowd.engines.spark.links import ConnectLink, is_unencrypted, missing_connect, start_remote
from incrowd.errors import EngineError


@pytest.fixture(scope="module")
def connect_engine(connect_server, tmp_path_factory):
    engine = SparkEngine(connect_server, directory=tmp_path_factory.mktemp("private"))
    yield engine
    engine.close()


@pytest.mark.spark
def test_every_verb_through_spark_connect(connect_engine, connect_server, tmp_path):
    told = cluster_checks.every_verb(connect_engine, str(tmp_path), "parquet", "csv")
    assert told["master"] == connect_server.rpartition(":")[0]
    assert told["session"] == "started by incrowd"
    assert "java" not in told["versions"]
    assert any("not encrypted" in note for note in told["privacy_notes"]), "of the server"


@pytest.mark.spark
def test_a_poisoned_part_is_named(connect_engine, tmp_path):
    cluster_checks.names_the_poisoned(connect_engine, str(tmp_path))


@pytest.mark.spark
def test_plain_paths_are_of_this_machine(connect_engine, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-0.csv").write_text("zip,age\n1010,30\n1020,\n", encoding="utf-8")
    blocks, stored = connect_engine.read(str(tmp_path / "in"), ReadOptions())
    assert stored.has_header
    assert connect_engine.collect(blocks).to_pylist() == [
        {"zip": "1010", "age": "30"},
        {"zip": "1020", "age": None},
    ]


@pytest.mark.spark
def test_what_a_server_cannot_do_is_told(connect_engine):
    with (
        pytest.raises(EngineError, match="published through Spark Connect") as raised,
        connect_engine.new_folder("s3a://bucket/out", force=False),
    ):
        pass
    assert "-o" in raised.value.remedy


@pytest.mark.spark
def test_a_frame_of_another_session_is_left_in_it(connect_engine, connect_server):
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession(connection=connect_server)
    try:
        engine = SparkEngine(session=theirs)
        frame = theirs.createDataFrame([("1010", 1), ("", 2)], "zip string, n int")
        blocks = engine.from_frame(frame)
        assert engine.schema(blocks) == pa.schema({"zip": pa.string(), "n": pa.int32()})
        counted = engine.count(blocks, ["zip"]).sort_by("zip").to_pylist()
        assert counted == [{"zip": "1010", "n_rows": 1}, {"zip": None, "n_rows": 1}]
        assert engine.to_frame(blocks).sparkSession is theirs
        assert engine.describe()["session"] == "existing"
        engine.close()
        assert frame.count() == 2
    finally:
        theirs.stop()
    assert connect_engine.count(connect_engine.load(pa.table({"a": [1]})), []).num_rows == 1


@pytest.mark.spark
def test_a_setting_that_a_server_does_not_take(connect_server, tmp_path):
    with pytest.raises(EngineError, match="did not start a session") as raised:
        start_remote(connect_server, {"spark.executor.memory": "2g"}, tmp_path)
    assert "spark.sql" in raised.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_value_too_large_to_travel(monkeypatch):
    link = object.__new__(ConnectLink)
    assert link.broadcast([1, 2])() == [1, 2]
    monkeypatch.setattr(spark_links, "LARGEST_CLOSURE", 1 << 20)
    with pytest.raises(EngineError, match="2 MiB is too large for Spark Connect") as raised:
        link.broadcast(bytes(2 << 20))
    assert "spark://" in raised.value.remedy


def test_missing_packages_are_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    assert missing_connect().remedy == 'pip install "incrowd[connect]"'
    with pytest.raises(EngineError, match="needs additional packages"):
        SparkEngine("sc://127.0.0.1:1")


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("sc://cluster:15002", True),
        ("sc://cluster:15002/;use_ssl=true", False),
        ("sc://127.0.0.1:15002", False),
    ],
)
def test_rows_on_the_way_to_a_server(address, is_open):
    assert is_unencrypted(address) == is_open
