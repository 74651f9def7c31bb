"""Spark on more than this process: every verb on each kind of master, and what is lost there."""

import pytest

from engines import cluster_checks
from engines.clusters import spark_in_child

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local_cluster(spark_is_available, tmp_path_factory):  # noqa: ARG001
    """Two executors of one core each, of which the tests kill some."""
    with spark_in_child("local-cluster[2,1,1024]", tmp_path_factory.mktemp("cluster")) as child:
        yield child


def test_a_local_cluster_is_closed_to_others(local_cluster):
    told = local_cluster(cluster_checks.described)
    assert told["master"] == "local-cluster[2,1,1024]"
    assert told["privacy_notes"] == []


@pytest.mark.parametrize("what", ["worker", "executor"])
def test_the_work_survives_a_kill(local_cluster, tmp_path, what):
    local_cluster(cluster_checks.survives, str(tmp_path), what)


def test_what_always_dies_fails_and_leaves_nothing(local_cluster, tmp_path):
    local_cluster(cluster_checks.dies_for_good, str(tmp_path))


def test_a_poisoned_part_is_named(local_cluster, tmp_path):
    local_cluster(cluster_checks.names_the_poisoned, str(tmp_path))


def test_every_verb_on_a_standalone_cluster(standalone_cluster, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "private").mkdir()
    with spark_in_child(standalone_cluster, tmp_path / "private") as child:
        told = child(cluster_checks.every_verb, str(tmp_path / "data"), "parquet")
    assert told["master"] == standalone_cluster
    assert len(told["privacy_notes"]) == 2, "the cluster has no secret"
    assert list((tmp_path / "private").iterdir()) == []
