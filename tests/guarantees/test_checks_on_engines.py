"""The checks find the same on every engine."""

from __future__ import annotations

import random

import pytest

from guarantees.small_tables import to_table
from incrowd.guarantees.evidence import STARS, Evidence
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.tables.likeness import measure


def some_people():
    rng = random.Random(11)
    return [
        {
            "age": rng.choice(["20", "30", "*", None, "?"]),
            "sex": rng.choice(["f", "m", "*"]),
            "ill": rng.choice(["flu", "cold", "*", None]),
            "person": str(rng.randrange(30)),
            "wish": str(rng.randrange(1, 5)),
        }
        for _ in range(60)
    ]


def evidence_on(engine=None, **more):
    return Evidence.from_table(
        to_table(some_people()),
        ["age", "sex"],
        ["ill"],
        missing_values=["?"],
        engine=engine,
        **more,
    )


@pytest.mark.parametrize("stars", STARS)
def test_findings_are_the_same(engine, stars):
    promise = KAnonymity(3, k_column="wish", l=2, l_kind="entropy", t=0.3, stars=stars)
    owned = {"person": "person", "k_column": "wish"}
    assert promise.check(evidence_on(engine, **owned)) == promise.check(evidence_on(**owned))


def test_people_are_counted_the_same(engine):
    promise = KAnonymity(3)
    ours = promise.check(evidence_on(engine, person="person"))
    assert ours == promise.check(evidence_on(person="person"))


def test_measures_are_the_same(engine):
    assert measure(evidence_on(engine)) == measure(evidence_on())
