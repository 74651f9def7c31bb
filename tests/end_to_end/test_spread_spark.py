"""The same jobs on Spark: files, folders and frames, the same release as on this machine."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic
from end_to_end.test_spread_run import ASKED, METHODS, ROLES, parts_of, rows_of_folder
from incrowd.tables.files.read import read_table

pytestmark = pytest.mark.spark

SPARK = ("--engine", "spark")


@pytest.mark.parametrize("name", ["partitions", "cluster", "full-domain"])
def test_a_file_gives_the_bytes_of_rows_in_memory(desk, spark_engine, name):  # noqa: ARG001
    flags = ("--k", 4, *ROLES, *METHODS[name])
    here = desk.call("run", "census.csv", *flags, "-o", "here.csv")
    assert here.status == 0, here.err
    there = desk.call("run", "census.csv", *flags, "-o", "spark.csv", "--json", *SPARK)
    assert there.status == 0, there.err
    assert there.json["engine"]["name"] == "spark"
    assert (desk / "spark.csv").read_bytes() == (desk / "here.csv").read_bytes()


@pytest.mark.slow
def test_more_than_k_and_rows_left_out_give_the_bytes_of_rows_in_memory(desk, spark_engine):  # noqa: ARG001
    flags = ("--k", 4, *ROLES, *ASKED["rules"], *METHODS["cluster"], "--json")
    here = desk.call("run", "census.csv", *flags, "-o", "here.csv")
    assert here.status == 0, here.err
    there = desk.call("run", "census.csv", *flags, "-o", "spark.csv", *SPARK)
    assert there.status == 0, there.err
    assert there.json["engine"]["name"] == "spark"
    assert there.json["release_sha256"] == here.json["release_sha256"]
    assert there.json["losses"] == here.json["losses"]
    assert there.json["n_suppressed"] == here.json["n_suppressed"] > 0
    assert [finding["holds"] for finding in there.json["findings"]].count(False) == 0


def test_a_folder_becomes_a_folder_that_check_reads(desk, spark_engine):  # noqa: ARG001
    parts_of(desk, "people", 3)
    flags = ("--k", 4, *ROLES, *METHODS["cluster"])
    there = desk.call("run", "people", *flags, "-o", "out.parquet/", *SPARK)
    assert there.status == 0, there.err
    assert desk.call("run", "census.csv", *flags, "-o", "here.csv").status == 0
    released = rows_of_folder(desk / "out.parquet")
    assert released.equals(read_table(desk / "here.csv").frame.cast(released.schema))
    roles = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
    assert desk.call("check", "out.parquet", "--k", 4, *roles, *SPARK).status == 0
    assert desk.call("check", "out.parquet", "--k", 400, *roles, *SPARK).status == 1


def test_a_broken_part_file_is_named_and_nothing_is_published(desk, spark_engine):  # noqa: ARG001
    frame = read_table(desk / "census.csv").frame
    (desk / "people").mkdir()
    for part in range(3):
        path = desk / "people" / f"part-{part}.parquet"
        parquet.write_table(frame.slice(part * 500, 500), path)
    content = bytearray((desk / "people" / "part-1.parquet").read_bytes())
    content[200:1200] = bytes(1000)
    (desk / "people" / "part-1.parquet").write_bytes(content)
    done = desk.call("run", "people", "--k", 4, *ROLES, *METHODS["greedy"], *SPARK)
    assert done.status == 2
    assert "part-1.parquet" in done.err
    assert [path.name for path in desk.folder.iterdir() if "release" in path.name] == []


@pytest.fixture
def frames(desk, spark_engine):
    """The census as a frame of Spark, and here."""
    frame = read_table(desk / "census.csv").frame.select(["age", "sex", "zip", "diagnosis"])
    return spark_engine.session.createDataFrame(frame.to_pandas()).repartition(3), frame


def job_of(**guarantee):
    return ic.Job(
        schema=ic.Schema(quasi=["age", "sex", "zip"], sensitive=["diagnosis"]),
        guarantee=ic.KAnonymity(4, **guarantee),
        method=ic.Mondrian(),
    )


@pytest.mark.parametrize("guarantee", [{}, {"l": 2}], ids=["distinct rows", "codes of all rows"])
def test_a_spark_frame_comes_back_as_one(frames, guarantee):
    on_spark, here = frames
    released = ic.anonymize(on_spark, job_of(**guarantee))
    assert type(released.data) is type(on_spark)
    assert released.audit.engine["name"] == "spark"
    expected = ic.anonymize(here, job_of(**guarantee)).data
    got = pa.Table.from_pandas(released.data.toPandas(), preserve_index=False)
    assert got.select(expected.column_names).cast(expected.schema).equals(expected)
    assert released.audit.n_rows == here.num_rows
    schema = job_of().schema
    assert ic.check(released.data, ic.KAnonymity(4), schema).holds
    assert not ic.check(released.data, ic.KAnonymity(400), schema).holds
    with pytest.raises(ic.InputError, match="not checked with measure=True"):
        ic.check(released.data, ic.KAnonymity(4), schema, measure=True)
