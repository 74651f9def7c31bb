"""0.0 and −0.0 are one value: a release writes one of them, and a file with both is told apart."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic
from incrowd.api import check
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.tables.files.read import read_table
from incrowd.tables.frames import to_frame

QUASI = ("--quasi", "x,sex")
ROLES = (*QUASI, "--sensitive", "income", "--insensitive", "score")
ON_DISK = ("--memory", "300MB")

N_ROWS = 24


def zeros(kind=None):
    """Rows of two groups; in each column of numbers every fourth zero is negative."""
    kind = kind or pa.float64()
    number = np.where(np.arange(N_ROWS) % 4 == 1, -0.0, 0.0)
    income = np.where(np.arange(N_ROWS) % 3 == 0, 7.5, number)
    return pa.table(
        {
            "x": pa.array(number, kind),
            "sex": ["F", "F", "M", "M"] * (N_ROWS // 4),
            "income": pa.array(income, kind),
            "score": pa.array(number, kind),
        }
    )


def negative_zeros(frame):
    """How many cells of a table are −0.0, bit by bit."""
    n_cells = 0
    for column in frame.columns:
        if pa.types.is_floating(column.type):
            numbers = column.to_numpy()
            n_cells += int(((numbers == 0) & np.signbit(numbers)).sum())
    return n_cells


@pytest.mark.parametrize("where", [(), ON_DISK], ids=["memory", "disk"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_release_writes_one_zero(desk, ending, where):
    table = zeros()
    if ending == "parquet":
        parquet.write_table(table, desk / "people.parquet")
    else:
        with pa.ipc.new_file(desk / "people.arrow", table.schema) as file:
            file.write_table(table)
    done = desk.call(
        "run", f"people.{ending}", "--k", 3, *ROLES, "-o", f"out.{ending}", "--json", *where
    )
    assert done.status == 0, done.err
    assert (done.json["engine"].get("rows") == "on disk") == bool(where)
    released = read_table(desk / f"out.{ending}").frame
    assert released.schema.types == table.schema.types
    assert negative_zeros(released) == 0


def test_a_folder_writes_one_zero(desk):
    (desk / "people").mkdir()
    for part in range(2):
        parquet.write_table(zeros(pa.float32()), desk / "people" / f"part-{part}.parquet")
    done = desk.call("run", "people", "--k", 3, *ROLES, "-o", "out.parquet/")
    assert done.status == 0, done.err
    for part in (desk / "out.parquet").glob("part-*"):
        assert negative_zeros(read_table(part).frame) == 0


JOB = ic.Job(
    guarantee=ic.KAnonymity(3),
    schema=ic.Schema(["x", "sex"], ["income"], ["score"]),
    method=ic.Cluster(),
)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_comes_back_with_one_zero(kind):
    released = ic.anonymize(to_frame(zeros(), kind), JOB).data
    assert negative_zeros(released if kind == "pyarrow" else pa.table(released)) == 0


@pytest.mark.spark
def test_a_spark_frame_comes_back_with_one_zero(spark_engine):
    frame = spark_engine.session.createDataFrame(zeros())
    assert negative_zeros(ic.anonymize(frame, JOB).data.toArrow()) == 0


@pytest.mark.spark
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_folder_on_spark_writes_one_zero(desk, spark_engine, ending):  # noqa: ARG001
    (desk / "people").mkdir()
    path = desk / "people" / f"part-0.{ending}"
    if ending == "parquet":
        parquet.write_table(zeros(pa.float32()), path)
    else:
        with pa.ipc.new_file(path, zeros().schema) as file:
            file.write_table(zeros())
    done = desk.call("run", "people", "--k", 3, *ROLES, "-o", f"out.{ending}/", "--engine", "spark")
    assert done.status == 0, done.err
    for part in (desk / f"out.{ending}").glob("part-*"):
        assert negative_zeros(read_table(part).frame) == 0


# ── a file from elsewhere ───────────────────────────────────────────────────────────────────


def test_check_tells_the_zeros_of_a_file_apart(desk):
    parquet.write_table(zeros(), desk / "foreign.parquet")
    done = desk.call("check", "foreign.parquet", "--k", 3, *QUASI, "--json")
    assert done.status == 1, done.out
    (finding,) = [each for each in done.json["findings"] if each["name"] == "signed zeros"]
    assert finding["holds"] is False
    assert finding["figures"] == {"columns": ["x"], "n_groups": 1}


def test_check_of_a_folder_tells_the_zeros_apart(desk):
    folder = desk / "foreign"
    folder.mkdir()
    parquet.write_table(zeros().slice(0, 10), folder / "part-0.parquet")
    parquet.write_table(zeros().slice(10), folder / "part-1.parquet")
    (folder / "_SUCCESS").touch()
    done = desk.call("check", "foreign", "--k", 3, *QUASI, "--json")
    assert done.status == 1, done.out
    (finding,) = [each for each in done.json["findings"] if each["name"] == "signed zeros"]
    assert finding["figures"] == {"columns": ["x"], "n_groups": 1}


@pytest.mark.spark
def test_check_of_a_spark_frame_tells_the_zeros_apart(spark_engine):
    frame = spark_engine.session.createDataFrame(zeros())
    audit = check(frame, KAnonymity(3), ic.Schema(["x", "sex"]))
    (finding,) = [each for each in audit.findings if each.name == "signed zeros"]
    assert not audit.holds
    assert finding.figures == {"columns": ["x"], "n_groups": 1}


def test_the_rows_that_the_zeros_split_are_named():
    audit = check(zeros(), KAnonymity(3), ic.Schema(["x", "sex"]))
    (finding,) = [each for each in audit.findings if each.name == "signed zeros"]
    assert finding.exposed_rows[:4] == (1, 2, 5, 6)


def test_groups_that_hold_one_zero_each_are_not_split():
    frame = zeros()
    x = np.where(np.array(frame["sex"].to_pylist()) == "F", -0.0, 0.0)
    audit = check(frame.set_column(0, "x", pa.array(x)), KAnonymity(3), ic.Schema(["x", "sex"]))
    assert audit.holds
