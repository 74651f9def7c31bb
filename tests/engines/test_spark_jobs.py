"""Whole jobs on real clusters: the release of this machine, also where workers are lost."""

import csv

import pytest

from benchmarks.sets.data import user_lists
from engines import cluster_jobs
from engines.clusters import spark_in_child
from incrowd.samples import write_sample
from incrowd.sets.files import write_sets

pytestmark = pytest.mark.spark

LOST = {"mondrian": "executor"}
"""What a method loses; the others lose a worker."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the data of all jobs, and the bytes of their releases made here."""
    folder = tmp_path_factory.mktemp("jobs")
    write_sample(folder, 1_200, 7)
    with (folder / "census.csv").open(newline="", encoding="utf-8") as file:
        head = [line for _, line in zip(range(201), csv.reader(file), strict=False)]
    with (folder / "few.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(head)
    write_sets(user_lists(2_000, 100, seed=1), folder / "lists.dat")
    (folder / "visits.dat").write_text("\n".join(cluster_jobs.VISITS * 3) + "\n", "utf-8")
    (folder / "rules.txt").write_text("a c -> h\n", encoding="utf-8")
    return folder, {name: cluster_jobs.run_job(name, folder) for name in cluster_jobs.JOBS}


def test_jobs_on_a_cluster_that_loses_workers_and_executors(standalone_cluster, data, tmp_path):
    folder, expected = data
    with spark_in_child(standalone_cluster, tmp_path, is_shipped=False) as child:
        for name in cluster_jobs.JOBS:
            lost = LOST.get(name, "worker")
            content, has_lost = child(cluster_jobs.on_cluster, str(folder), name, lost, seconds=240)
            assert content == expected[name], name
            assert has_lost, name
