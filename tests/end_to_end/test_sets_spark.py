"""Sets on Spark: chunks are searched there, and the release has the bytes of this machine's."""

import random

import pytest

pytestmark = pytest.mark.spark

SPARK = ("--engine", "spark")
CHUNKS = ("--chunk-rows", "1000", "--effort", "1")


@pytest.fixture
def lists(desk):
    """Two thousand lists of some tastes, with empty ones, and a graph."""
    random.seed(4)
    tastes = [random.sample(range(90), 9) for _ in range(9)]
    lines = []
    for row in range(2_000):
        items = {item for item in tastes[row % 9] if random.random() < 0.7}
        lines.append(" ".join(f"i{item}" for item in sorted(items | {random.randrange(90)})))
    lines[17] = lines[200] = ""
    (desk / "lists.dat").write_text("\n".join(lines) + "\n", "utf-8")
    edges = {tuple(random.sample(range(1_700), 2)) for _ in range(7_000)}
    (desk / "graph.txt").write_text("".join(f"{a} {b}\n" for a, b in sorted(edges)), "utf-8")
    return desk


def assert_same_on_spark(desk, data, *flags):
    ending = data.rsplit(".")[-1]
    here = desk.call("run", data, *flags, "-o", f"here.{ending}", "--json")
    assert here.status == 0, here.err
    there = desk.call("run", data, *flags, "-o", f"spark.{ending}", "--json", *SPARK)
    assert there.status == 0, there.err
    assert there.json["engine"]["name"] == "spark"
    assert (desk / f"spark.{ending}").read_bytes() == (desk / f"here.{ending}").read_bytes()
    return here.json


@pytest.mark.parametrize("guarantee", ["smooth", "majority", "suppression"])
def test_chunks_give_the_bytes_of_this_machine(lists, spark_engine, guarantee):  # noqa: ARG001
    flags = ("--guarantee", guarantee, "--k", "8", *CHUNKS)
    said = assert_same_on_spark(lists, "lists.dat", *flags)
    assert said["method"]["parameters"]["chunks"] > 1


def test_graphs_give_the_bytes_of_this_machine(lists, spark_engine):  # noqa: ARG001
    flags = ("--guarantee", "smooth", "--k", "5", "--graph", "directed", "--no-header")
    assert_same_on_spark(lists, "graph.txt", *flags, *CHUNKS)


def test_people_with_their_own_k_do_too(lists, spark_engine):  # noqa: ARG001
    wishes = "".join(f"{row},{3 + row % 9}\n" for row in range(2_000))
    (lists / "k.csv").write_text("row,k\n" + wishes, "utf-8")
    flags = ("--guarantee", "smooth", "--k", "4", "--row-k", "k.csv", *CHUNKS)
    assert_same_on_spark(lists, "lists.dat", *flags)


def test_facility_in_chunks_gives_the_bytes_of_this_machine(lists, spark_engine):  # noqa: ARG001
    wishes = "".join(f"{row},{3 + row % 9}\n" for row in range(2_000))
    (lists / "k.csv").write_text("row,k\n" + wishes, "utf-8")
    flags = ("--guarantee", "smooth", "--k", "4", "--row-k", "k.csv", "--method", "facility")
    said = assert_same_on_spark(lists, "lists.dat", *flags, "--orders", "2", *CHUNKS[:2])
    assert said["method"]["parameters"]["chunks"] == 2


def test_methods_of_the_driver_run_beside_spark(lists, spark_engine):  # noqa: ARG001
    flags = ("--guarantee", "suppression", "--k", "8", "--method", "mondrian")
    assert_same_on_spark(lists, "lists.dat", *flags)
