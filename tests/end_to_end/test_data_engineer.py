"""A data engineer's path: partitioned folders, little memory, Spark; others read the release."""

from collections import Counter

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic

QUASI = ["age", "sex", "zip", "year"]
FLAGS = ["--k", 5, "--quasi", ",".join(QUASI), "--sensitive", "diagnosis", "--identifying", "id"]
FLAGS += ["--method", "mondrian"]
ON_DISK = ["--memory", "300MB"]
"""Less than the program itself takes: rows then lie on disk, however few they are."""


@pytest.fixture
def visits(desk):
    """A folder as Spark and pandas write it, ``visits/year=2020/part-0.parquet``, and all of it."""
    people = ic.sample_census(1_500, 7).select(["id", "age", "sex", "zip", "diagnosis"])
    years = []
    for place, year in enumerate((2020, 2021, 2022)):
        of_year = people.slice(500 * place, 500)
        folder = desk / f"visits/year={year}"
        folder.mkdir(parents=True)
        parquet.write_table(of_year.slice(0, 200), folder / "part-0.parquet")
        parquet.write_table(of_year.slice(200), folder / "part-1.parquet")
        years.append(of_year.append_column("year", pa.array([year] * 500)))
    parquet.write_table(pa.concat_tables(years), desk / "all.parquet")
    return desk


def released(desk, data, output, *flags):
    ran = desk.call("run", data, *FLAGS, "-o", output, "--json", *flags)
    assert ran.status == 0, ran.err
    return ran.json


def rows_of(frame):
    return Counter(map(tuple, frame.select([*QUASI, "diagnosis"]).cast(pl.String).rows()))


def test_a_partitioned_folder_on_disk(visits):
    """The same rows as the whole file gives in memory; the partition is a column like any other."""
    audit = released(visits, "visits", "out.parquet/", *ON_DISK)
    assert audit["engine"]["rows"] == "on disk"
    released(visits, "all.parquet", "all.release.parquet")
    whole = pl.read_parquet(visits / "all.release.parquet")
    parts = rows_of(pl.read_parquet(str(visits / "out.parquet/*.parquet")))
    assert parts == rows_of(whole)
    groups = Counter(row[:4] for row in parts.elements())
    assert min(groups.values()) >= 5
    assert sum(groups.values()) == 1_500
    check = visits.call("check", "out.parquet", *FLAGS[:-4])
    assert check.status == 0, check.err


def test_released_folders_are_read_with_defaults(visits):
    """By DuckDB and polars, without a word about how the files are written."""
    for ending in ("parquet", "csv"):
        released(visits, "visits", f"out.{ending}/", *ON_DISK)
    by_polars = pl.read_parquet(str(visits / "out.parquet/*.parquet"))
    assert by_polars.height == 1_500
    for ending in ("parquet", "csv"):
        by_duckdb = duckdb.sql(f"select * from '{visits / f'out.{ending}'}/*.{ending}'").pl()
        assert by_duckdb.columns == by_polars.columns
        assert rows_of(by_duckdb) == rows_of(by_polars)


@pytest.mark.spark
@pytest.mark.slow
def test_the_same_bytes_on_spark(visits, spark_engine):  # noqa: ARG001
    released(visits, "visits", "disk.parquet/", *ON_DISK)
    audit = released(visits, "visits", "spark.parquet/", "--engine", "spark")
    assert audit["engine"]["name"] == "spark"
    here, there = (
        {path.name: path.read_bytes() for path in (visits / name).glob("part-*")}
        for name in ("disk.parquet", "spark.parquet")
    )
    assert here == there
