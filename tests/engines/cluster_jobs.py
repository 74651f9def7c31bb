"""Whole jobs on a real cluster, in a process of its own: files in, audited files out."""

import contextlib
from pathlib import Path

from engines.killing import killing_once
from incrowd.engines.spark.engine import SparkEngine
from incrowd.flow import run as pipeline
from incrowd.job.job import Job

VISITS = ["b c e g h", "a c d i j", "a f l", "b e g h", "d f l"]

JOBS = {
    "greedy": {
        "data": "census.csv",
        "roles": "table",
        "guarantee": {"k": 4},
        "method": {"name": "greedy", "partitions": 3},
    },
    "cluster": {
        "data": "census.csv",
        "roles": "table",
        "guarantee": {"k": 4},
        "method": {"name": "cluster", "effort": "quick"},
    },
    "mondrian": {
        "data": "census.csv",
        "roles": "table",
        "guarantee": {"k": 4},
        "method": {"name": "mondrian"},
    },
    "adaptive": {
        "data": "few.csv",
        "roles": "table",
        "guarantee": {"name": "adaptive", "k": 3},
        "method": {"name": "adaptive", "search": "cover"},
    },
    "sets": {
        "data": "lists.dat",
        "guarantee": {"name": "smooth", "k": 4},
        "method": {"name": "cluster", "chunk_rows": 1_000, "effort": "quick"},
    },
    "rules": {
        "data": "visits.dat",
        "guarantee": {"name": "rules", "k": 2, "confidence": 0.9},
        "rules": {"file": "rules.txt", "sensitive_items": "h,i,j"},
        "method": {"name": "rbat", "rounds": "engine"},
    },
}
"""A table by three methods, an adaptive one, lists and transactions."""


def mapping_of(name, engine):
    """Return a job as the tables of a job file, with its release beside the data."""
    mapping = {key: value for key, value in JOBS[name].items() if key != "roles"}
    if "roles" in JOBS[name]:
        mapping["roles"] = {
            **dict.fromkeys(("age", "sex", "zip"), "quasi-identifying"),
            "diagnosis": "sensitive",
        }
    ending = Path(mapping["data"]).suffix
    mapping["output"] = f"{name}.{engine}{ending}"
    mapping["engine"] = {"name": engine}
    return mapping


def run_job(name, folder, engine="local"):
    """Run a job; return the bytes of its release."""
    release = pipeline.run(Job.from_mapping(mapping_of(name, engine), Path(folder)))
    assert release.audit.holds
    return release.path.read_bytes()


def on_cluster(engine, folder, name, kill):  # noqa: ARG001
    """Run a job in the session of this process, whose first map loses a worker or an executor.

    Return the bytes of its release, and whether something was lost.
    """
    marker = Path(folder) / f"{name}.{kill}"
    with losing(marker, kill):
        return run_job(name, folder, "spark"), marker.exists()


@contextlib.contextmanager
def losing(marker, what):
    """Have the first block or group that Spark works on lose its worker or executor."""
    maps = {name: getattr(SparkEngine, name) for name in ("map_blocks", "map_groups")}

    def map_blocks(self, blocks, function, schema):
        return maps["map_blocks"](self, blocks, killing_once(function, marker, what), schema)

    def map_groups(self, blocks, key, function, schema):
        return maps["map_groups"](self, blocks, key, killing_once(function, marker, what), schema)

    SparkEngine.map_blocks, SparkEngine.map_groups = map_blocks, map_groups
    try:
        yield
    finally:
        SparkEngine.map_blocks, SparkEngine.map_groups = maps["map_blocks"], maps["map_groups"]
