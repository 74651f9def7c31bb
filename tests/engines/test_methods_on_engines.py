"""Whole searches: what they find is the same on every engine."""

import random

import numpy as np
import pytest

import incrowd as ic
from incrowd.encoding.rows import Rows
from incrowd.engines.choice import EngineChoice
from incrowd.engines.local.engine import LocalEngine
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.progress import silent

N_ROWS = 1200


@pytest.fixture(scope="module")
def people():
    """Ages (skewed), postcodes and a diagnosis: the nodes of a table, and its sensitive codes."""
    draw = random.Random(7)
    ages = [min(79, int(draw.expovariate(1 / 12))) for _ in range(N_ROWS)]
    codes = [draw.randrange(100) for _ in range(N_ROWS)]
    age = Hierarchy.from_ladder(
        "age", [[str(year) for year in range(80)], [f"{year // 10}x" for year in range(80)]]
    )
    zip_code = Hierarchy.from_ladder(
        "zip", [[f"{code:02}" for code in range(100)], [f"{code // 10}*" for code in range(100)]]
    )
    nodes = np.array([ages, codes], dtype=np.int32)
    diagnoses = np.array([draw.randrange(6) for _ in range(N_ROWS)], dtype=np.int32)
    return Rows(("age", "zip"), nodes, (age, zip_code)), diagnoses


def test_greedy_in_partitions_is_the_same_on_every_engine(engine, people):
    rows, diagnoses = people
    diversity = SensitiveCondition(codes=diagnoses, n_values=6, l=3.0)
    asked = Conditions(4, sensitive=(diversity,))
    method = Greedy(partitions=4)
    here = method.run(rows, asked, LocalEngine(threads=1), 0, silent)
    there = method.run(rows, asked, engine, 0, silent)
    assert np.array_equal(here.nodes, there.nodes)
    assert np.array_equal(here.is_suppressed, there.is_suppressed)
    assert not np.array_equal(here.nodes, rows.nodes)


@pytest.mark.spark
def test_a_whole_job_hands_out_the_same_release(spark_engine):  # noqa: ARG001 - the job uses it
    frame = ic.sample_census(600)

    def release(engine):
        job = ic.Job(
            schema=ic.Schema(quasi=["age", "sex", "zip"], sensitive=["diagnosis"]),
            guarantee=KAnonymity(4, l=2),
            method=Greedy(partitions=3),
            hierarchies={"age": "intervals:5,10,20", "zip": "prefix"},
            engine=engine,
        )
        return ic.anonymize(frame, job)

    here, there = release(EngineChoice()), release(EngineChoice("spark"))
    assert there.data.equals(here.data)
    assert there.audit.findings == here.audit.findings
    assert there.audit.losses == here.audit.losses
    assert there.audit.engine["privacy_notes"] == []
