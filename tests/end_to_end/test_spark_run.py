"""The same job on Spark, in a session that the command starts, gives the same bytes."""

import pytest

FLAGS = ["--k", 5, "--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--method", "mondrian"]
SPARK = ["--engine", "spark", "--spark-master", "local[2]"]


@pytest.mark.spark
@pytest.mark.smoke
def test_spark_and_local_publish_the_same_bytes(desk, spark_is_available):  # noqa: ARG001
    local = desk.call("run", "census.csv", *FLAGS, "-o", "local.csv")
    assert local.status == 0, local.err
    spark = desk.incrowd("run", "census.csv", *FLAGS, "-o", "spark.csv", *SPARK, "--json")
    assert spark.status == 0, spark.err
    assert (desk / "spark.csv").read_bytes() == (desk / "local.csv").read_bytes()
    assert spark.json["engine"]["name"] == "spark"
    assert not [path for path in desk.folder.iterdir() if path.name.startswith(".")]
