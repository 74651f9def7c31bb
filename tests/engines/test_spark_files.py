"""Files at addresses, and columns of Spark's own types: what a cluster's users come with.

``viewfs`` is a file system of Hadoop that shows folders of others under its own address: to the
engine it is as far away as any cluster's.
"""

import datetime
import json
from decimal import Decimal
from uuid import uuid4

import pyarrow as pa
import pytest
from pyarrow import parquet

from incrowd.codes import canonical_order
from incrowd.engines.base import PartFile, ReadOptions, hash_parts
from incrowd.engines.disk.engine import DiskEngine
from incrowd.engines.spark import hadoop as spark_hadoop
from incrowd.engines.spark import store as spark_store
from incrowd.engines.spark import store as spark_write
from incrowd.engines.spark.engine import SparkEngine
from incrowd.engines.spark.files import (
    MemoryFile,
    Part,
    local_path,
    parquet_schema,
    scheme_of,
    to_address,
)
from incrowd.engines.spark.store import make_blob_packer, make_file_writer, unpack_blob
from incrowd.engines.spark.workers import translate_error
from incrowd.engines.transfer import to_transfer
from incrowd.errors import DataError, EngineError, InputError
from incrowd.tables.files.write import write_table
from incrowd.tables.table import Format
from oracles.counting import as_bag

TABLE = pa.table({"zip": ["1010", None, "é", "1010"], "n": pa.array([3, 1, None, 3], pa.uint8())})


# ── without Spark ───────────────────────────────────────────────────────────────────────────


def test_what_a_location_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [scheme_of(location) for location in ("a/b", "/a", "S3A://b/c", "file:/a")] == [
        *("", "", "s3a", "file")
    ]
    assert local_path("a.csv") == tmp_path / "a.csv"
    assert str(local_path("file:///a b")) == str(local_path("file:/a b")) == "/a b"
    assert local_path("hdfs://name/a") is None
    assert to_address("a") == f"file://{tmp_path}/a"
    assert to_address("s3a://bucket/a") == "s3a://bucket/a"


@pytest.mark.parametrize(
    "stored",
    [Format("parquet"), Format("arrow"), Format("arrow", is_stream=True), Format(newline="\r\n")],
    ids=["parquet", "arrow", "stream", "text"],
)
def test_a_file_is_the_pieces_that_spark_writes(stored, monkeypatch):
    table = pa.table({"zip": [f"{row % 97:04}1\n" for row in range(5000)]})
    whole = spark_write.make_file(iter([table]), table.schema, stored)
    monkeypatch.setattr(spark_write, "_PIECE_BYTES", 300)
    pieces = [
        batch.column(0).cast(pa.binary())[0].as_py()
        for batch in make_file_writer(table.schema, stored)(
            iter(to_transfer(table).to_batches(700))
        )
    ]
    assert len(pieces) > 3
    end = spark_write.last_byte(stored).encode()
    assert b"".join(piece + end for piece in pieces) == whole


def test_a_partition_without_rows_makes_no_file():
    none = to_transfer(TABLE.slice(0, 0)).to_batches()
    assert list(make_file_writer(TABLE.schema, Format("parquet"))(iter(none))) == []
    assert list(make_blob_packer(TABLE.schema)(iter(none))) == []


def test_packed_rows_come_back():
    (packed,) = make_blob_packer(TABLE.schema)(iter(to_transfer(TABLE).to_batches()))
    assert unpack_blob(packed.column(0)[0].as_py()).equals(TABLE)


def test_bytes_with_a_name_are_a_file():
    file = MemoryFile("part-0.csv", b"a,b\n1,2\n")
    with file.open("rb") as first, file.open("rb") as second:
        assert first.read(3) == b"a,b"
        assert second.read() == b"a,b\n1,2\n"
    assert file.stat().st_size == 8
    assert (str(file), file.name, file.suffix) == ("part-0.csv", "part-0.csv", ".csv")
    file.close()


def test_the_end_of_a_parquet_file_tells_its_columns(tmp_path):
    wide = pa.table({f"column {number:04}": [number] for number in range(1500)})
    parquet.write_table(wide, tmp_path / "wide.parquet")
    content = (tmp_path / "wide.parquet").read_bytes()
    asked = []

    def tail_of(part, n_bytes):
        asked.append(n_bytes)
        return content[len(content) - n_bytes : part.n_bytes]

    part = Part("s3a://bucket/wide.parquet", len(content))
    assert parquet_schema(part, tail_of).names == wide.column_names
    assert len(asked) == 2
    with pytest.raises(DataError, match=r"^wide.parquet: .*corrupt"):
        parquet_schema(Part("s3a://bucket/wide.parquet", len(content) - 1), tail_of)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/zq 1.parquet."
            " SQLSTATE: KD001 zq-00017",
            DataError,
            r"^zq 1\.parquet: .*corrupt",
        ),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
            "file:///data/part-0.parquet. File does not exist. zq-00017",
            DataError,
            "^part-0.parquet: the workers cannot see the file",
        ),
        ("Job aborted: ExecutorLostFailure (zq-00017)", EngineError, "a Spark worker ended"),
        ("ModuleNotFoundError: No module named 'incrowd'", EngineError, "do not have incrowd"),
        ("UnsupportedFileSystemException: zq-00017", EngineError, "no file system for this"),
        ("PYTHON_VERSION_MISMATCH zq-00017", EngineError, "another Python version"),
    ],
)
def test_faults_of_clusters_are_told_without_values(text, kind, message):
    told = translate_error(RuntimeError(text))
    assert type(told) is kind
    assert told.remedy
    with pytest.raises(kind, match=message):
        raise told
    assert "zq-00017" not in str(told)


# ── at an address ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def store(spark_engine, tmp_path):
    """The address of a folder on a file system of its own."""
    name = f"cluster-{uuid4()}"
    settings = spark_engine.session.sparkContext._jsc.hadoopConfiguration()
    settings.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{tmp_path}")
    return f"viewfs://{name}/data"


def publish(engine, final, table, *, stored=None, force=False):
    with engine.new_folder(final, force=force) as release:
        engine.write_folder(engine.load(table), release.where, stored or Format("parquet"))
        parts = release.parts()
        release.publish(json.dumps([part.name for part in parts]))
    return parts


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".crc"))


@pytest.mark.spark
@pytest.mark.parametrize("stored", [Format("parquet"), Format(delimiter=";", compression="gz")])
def test_a_release_at_an_address(spark_engine, store, tmp_path, stored):
    parts = publish(spark_engine, f"{store}/out", TABLE, stored=stored)
    assert visible(tmp_path) == ["out"]
    assert visible(tmp_path / "out") == ["_SUCCESS", "_manifest.json", parts[0].name]
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text()) == [parts[0].name]
    blocks, found = spark_engine.read(f"{store}/out", ReadOptions(is_release=True))
    assert found == stored
    ordered = TABLE.take(pa.array(canonical_order(TABLE)))
    if stored.kind == "csv":
        ordered = ordered.set_column(1, "n", ordered.column("n").cast(pa.string()))
    assert spark_engine.schema(blocks) == ordered.schema
    assert pa.concat_tables(spark_engine.iter_sorted(blocks)).to_pylist() == ordered.to_pylist()
    content = (tmp_path / "out" / parts[0].name).read_bytes()
    hashed = spark_engine.hash_location(f"{store}/out")
    assert hashed == hash_parts(parts) == spark_engine.hash_location(str(tmp_path / "out"))
    assert parts == [PartFile(parts[0].name, len(content), parts[0].sha256)]
    assert spark_engine.hash_location(f"{store}/out/{parts[0].name}") == parts[0].sha256


@pytest.mark.spark
@pytest.mark.parametrize("has_rename", [True, False], ids=["with rename", "object store"])
def test_publishing_at_an_address(spark_engine, store, tmp_path, monkeypatch, has_rename):
    if not has_rename:
        monkeypatch.setattr(spark_hadoop, "WITH_RENAME", ())
    out = tmp_path / "out"
    final = f"{store}/out"
    with spark_engine.new_folder(final, force=False) as release:
        spark_engine.write_folder(spark_engine.load(TABLE), release.where, Format("parquet"))
        assert out.exists() != has_rename
        # We read what we write; anybody else sees that it is not whole.
        assert spark_engine.read(release.where, ReadOptions())[1] == Format("parquet")
        if not has_rename:
            with pytest.raises(DataError, match="incomplete"):
                SparkEngine(session=spark_engine.session).read(str(out), ReadOptions())
    assert visible(tmp_path) == [], "it was not published"

    publish(spark_engine, final, TABLE)
    with pytest.raises(InputError, match="already exists"):
        publish(spark_engine, final, TABLE.slice(1))
    with spark_engine.new_folder(final, force=True) as release:
        spark_engine.write_folder(spark_engine.load(TABLE.slice(1)), release.where, Format())
    assert spark_engine.collect(spark_engine.read(final, ReadOptions())[0]).num_rows == 4
    publish(spark_engine, final, TABLE.slice(1), stored=Format(), force=True)
    assert visible(tmp_path) == ["out"]
    assert visible(out) == ["_SUCCESS", "_manifest.json", "part-00000.csv"]
    assert spark_engine.collect(spark_engine.read(final, ReadOptions())[0]).num_rows == 3


@pytest.mark.spark
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_partitions_at_an_address(spark_engine, store, tmp_path, ending):
    stored = Format("csv" if ending == "csv" else "parquet")
    for year in ("2020", "K%C3%B6ln"):
        (tmp_path / f"in/year={year}").mkdir(parents=True)
        write_table(TABLE, tmp_path / f"in/year={year}/part-0.{ending}", stored)
    blocks, _ = spark_engine.read(f"{store}/in", ReadOptions())
    expected = DiskEngine(tmp_path)
    same, _ = expected.read(str(tmp_path / "in"), ReadOptions())
    assert spark_engine.schema(blocks) == expected.schema(same)
    assert as_bag(spark_engine.collect(blocks).to_pylist()) == as_bag(
        expected.collect(same).to_pylist()
    )
    here = expected.hash_location(str(tmp_path / "in"))
    assert spark_engine.hash_location(f"{store}/in") == here


@pytest.mark.spark
def test_folders_at_an_address_that_are_refused(spark_engine, store, tmp_path):
    def read(name):
        return spark_engine.read(f"{store}/{name}", ReadOptions())

    for name, parts in {
        "two": {"a.csv": b"a,b\n1,2\n", "b.csv": b"a,c\n1,2\n"},
        "mixed": {"a.csv": b"a,b\n1,2\n", "b.parquet": b"PAR1"},
        "cut": {"_temporary": b"", "a.csv": b"a,b\n1,2\n"},
        "none": {"_SUCCESS": b""},
        "damaged": {"a.parquet": b"PAR1" + b"x" * 40 + b"PAR1"},
        "nested/2020": {"a.csv": b"a,b\n1,2\n"},
    }.items():
        (tmp_path / name).mkdir(parents=True)
        for part, content in parts.items():
            (tmp_path / name / part).write_bytes(content)
    for name, message in {
        "two": "^b.csv: the names of its columns differ from those of a.csv",
        "mixed": r"different formats \(a.csv, b.parquet\)",
        "cut": "incomplete",
        "none": "no part file",
        "damaged": "^a.parquet: .*corrupt",
        "nested": "contains a folder, '2020'",
        "nowhere": "nowhere: no such file",
    }.items():
        with pytest.raises(DataError, match=message):
            read(name)
    assert spark_engine.collect(read("two/a.csv")[0]).to_pylist() == [{"a": "1", "b": "2"}]
    with pytest.raises(InputError, match="not a folder of part files"):
        publish(spark_engine, f"{store}/two", TABLE, force=True)


@pytest.mark.spark
def test_types_that_spark_does_not_read_itself(spark_engine, store, tmp_path):
    table = pa.table(
        {
            "at": pa.array([1, None], pa.time64("us")),
            "half": pa.array([0.5, None], pa.float32()).cast(pa.float16()),
        }
    )
    parquet.write_table(table, tmp_path / "times.parquet")
    for location in (str(tmp_path / "times.parquet"), f"{store}/times.parquet"):
        blocks, _ = spark_engine.read(location, ReadOptions())
        assert spark_engine.schema(blocks).types == [pa.time64("us"), pa.float32()]
        assert spark_engine.collect(blocks).to_pylist()[0] == {
            "at": datetime.time(0, 0, 0, 1),
            "half": 0.5,
        }


@pytest.mark.spark
def test_large_files_are_hashed_through_the_driver(spark_engine, store, monkeypatch):
    parts = publish(spark_engine, f"{store}/out", TABLE)
    monkeypatch.setattr(spark_store, "_HASHED_IN_TASKS", 10)
    assert spark_engine.hash_location(f"{store}/out") == hash_parts(parts)


@pytest.mark.spark
def test_a_text_file_too_large_for_a_task(spark_engine, store, tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    monkeypatch.setattr(spark_store, "LARGEST_CONTENT", 3)
    with pytest.raises(EngineError, match=r"rows\.csv: the text file is too large") as raised:
        spark_engine.read(f"{store}/rows.csv", ReadOptions())
    assert "Parquet" in raised.value.remedy


@pytest.mark.spark
@pytest.mark.parametrize(
    ("cell", "message"),
    [("x" * ((1 << 20) + 1), "column 1 has 1 cells longer than 1 MiB"), ("a\0b", "NUL")],
    ids=["long", "nul"],
)
def test_cells_that_no_table_holds(spark_engine, tmp_path, cell, message):
    parquet.write_table(pa.table({"a": ["x", cell]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=message):
        spark_engine.read(str(tmp_path / "rows.parquet"), ReadOptions())


# ── frames ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spark
def test_frames_of_every_type_come_and_go(spark_engine):
    session = spark_engine.session
    zone = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.timeType.enabled", "true")
    try:
        frame = session.sql(
            """SELECT * FROM VALUES
            ('x', true, 1Y, 2S, 3, 4L, 1.5F, -0.0D, 12.340, DATE'1969-12-31',
             TIMESTAMP'1582-10-01 12:00:00.000001Z', TIMESTAMP_NTZ'1900-03-11 02:30:00.123456',
             TIME'23:59:59.999999'),
            ('', NULL, NULL, NULL, NULL, NULL, NULL, double('NaN'), NULL, NULL, NULL, NULL, NULL)
            AS t(`a.b`, flag, byte, short, `Int`, `int`, single, double, dec, day, at, local, time)
            """
        )
        blocks = spark_engine.from_frame(frame)
        schema = spark_engine.schema(blocks)
        assert schema.field("at").type == pa.timestamp("us", "UTC")
        assert schema.field("local").type == pa.timestamp("us")
        (missing, row) = pa.concat_tables(spark_engine.iter_sorted(blocks)).to_pylist()
        assert set(missing.values()) == {None}
        assert row["day"] == datetime.date(1969, 12, 31)
        assert row["local"] == datetime.datetime(1900, 3, 11, 2, 30, 0, 123456)
        assert row["at"].replace(tzinfo=None) == datetime.datetime(1582, 10, 1, 12, 0, 0, 1)
        assert row["time"] == datetime.time(23, 59, 59, 999999)
        assert row["dec"] == Decimal("12.340")
        again = spark_engine.to_frame(blocks)
        assert again.schema.simpleString() == frame.schema.simpleString()
        first, second = again.toArrow().to_pylist()
        assert set(first.values()) == {None}
        assert second == frame.toArrow().to_pylist()[0]
        again.unpersist()
    finally:
        session.conf.set("spark.sql.session.timeZone", zone)
        session.conf.unset("spark.sql.timeType.enabled")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT array('zq-1') AS items", "column 'items' is nested"),
        ("SELECT binary('zq-1') AS raw", "column 'raw' has the type binary"),
        ("SELECT INTERVAL '1' YEAR AS age", "column 'age' has the type interval"),
        ("SELECT 1 AS a, 2 AS a", "a"),
    ],
)
def test_frames_that_are_no_tables(spark_engine, query, message):
    with pytest.raises(DataError, match=message) as raised:
        spark_engine.from_frame(spark_engine.session.sql(query))
    assert "zq-" not in str(raised.value)


@pytest.mark.spark
def test_text_of_any_collation_is_told_apart(spark_engine):
    frame = spark_engine.session.sql(
        "SELECT collate(name, 'UTF8_LCASE') AS name FROM VALUES ('a'), ('A') AS t(name)"
    )
    blocks = spark_engine.from_frame(frame)
    assert spark_engine.count(blocks, ["name"]).num_rows == 2


@pytest.mark.spark
def test_a_frame_that_was_handed_out_outlives_the_engine(spark_engine):
    engine = SparkEngine(session=spark_engine.session)
    frame = engine.to_frame(engine.load(TABLE))
    engine.close()
    assert frame.is_cached
    assert [row.zip for row in frame.collect()] == [None, "1010", "1010", "é"]
    frame.unpersist()
