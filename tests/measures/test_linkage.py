"""The linkage attack against row-by-row counting, and the bound that k-anonymity sets it."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import IncrowdError, InputError, JobError
from incrowd.measures.attacks.findings import attack_findings
from incrowd.measures.attacks.linkage import sampled_rate, wilson_interval
from incrowd.measures.options import AttackOptions
from incrowd.tables.schema import Schema
from measures.small_attacks import releases, way_above
from oracles import attackers

LINKAGE = AttackOptions(attack=("linkage",))


def attacked(original, released, original_row, hierarchies, options=LINKAGE, person=None):
    quasi = released.column_names
    (finding,) = attack_findings(
        released,
        Schema(quasi, person=person),
        options,
        original=original,
        original_row=original_row,
        hierarchies=hierarchies,
    )
    return finding.figures


@given(releases(k=1), st.data())
def test_success_is_the_share_of_the_fitting_rows(release, data):
    original, released, original_row, hierarchies = release
    names = released.column_names
    known = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    options = AttackOptions(attack=("linkage",), known_columns=tuple(known))
    figures = attacked(original, released, original_row, hierarchies, options)
    before, after = original.to_pylist(), released.to_pylist()
    above = way_above(hierarchies)
    successes = [
        attackers.linkage_success(person, known, before, after, original_row, above)
        for person in range(len(before))
    ]
    same = list(range(len(before)))
    exact = [
        attackers.linkage_success(p, known, before, before, same, lambda *_: set()) for p in same
    ]
    assert figures["after"]["is_exact"]
    assert figures["after"]["rate"] == pytest.approx(float(sum(successes) / len(successes)))
    assert figures["after"]["n_certain"] == successes.count(Fraction(1))
    assert figures["before"]["rate"] == pytest.approx(float(sum(exact) / len(exact)))
    assert figures["before"]["highest"] == pytest.approx(float(max(exact)))


@pytest.mark.parametrize("k", [2, 3, 5])
@given(data=st.data())
def test_on_a_k_anonymous_release_it_is_at_most_one_in_k(k, data):
    """All quasi-identifying columns, one row a person, stars as values: whatever the recoding."""
    original, released, original_row, hierarchies = data.draw(releases(k=k))
    sizes = attackers.risks(released.to_pylist(), released.column_names)
    if max(sizes) > Fraction(1, k):
        return  # fewer than k rows in all
    figures = attacked(original, released, original_row, hierarchies)
    assert figures["after"]["rate"] <= 1 / k + 1e-12
    assert figures["after"]["highest"] <= 1 / k + 1e-12
    share = AttackOptions(attack=("linkage",), known_share=0.5, seed=data.draw(st.integers(0, 9)))
    fewer = attacked(original, released, original_row, hierarchies, share)
    assert fewer["after"]["highest"] <= 1 / k + 1e-12


def test_a_hand_made_attack():
    """Four people; the release shows ages in tens and masks one zip."""
    from incrowd.hierarchies.tree import Hierarchy

    tree = Hierarchy.from_ladder("age", [["21", "25", "33"], ["20-29", "20-29", "30-39"]])
    original = pa.table({"age": ["21", "25", "25", "33"], "zip": ["1", "1", "2", "2"]})
    released = pa.table({"age": ["20-29", "20-29", "25", "*"], "zip": ["1", "*", "2", "2"]})
    figures = attacked(original, released, np.array([0, 1, 2, 3]), {"age": tree})
    # 21, 1 fits rows 1 and 2; 25, 1 fits rows 1 and 2; 25, 2 fits rows 2, 3, 4; 33, 2 fits row 4
    assert figures["after"]["rate"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1) / 4)
    assert figures["after"]["n_certain"] == 1
    assert figures["before"]["rate"] == 1.0


def test_people_with_several_rows_are_found_in_any_of_them():
    original = pa.table({"age": ["1", "1", "1", "2"], "who": ["p", "p", "q", "r"]})
    released = original.select(["age"])
    figures = attacked(original, released, np.arange(4), {}, person="who")
    assert figures["counts"] == "people"
    assert figures["after"]["rate"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)


def test_people_left_out_of_the_release_are_not_attacked():
    original = pa.table({"age": ["1", "2", "3"]})
    released = pa.table({"age": ["3", "1"]})
    figures = attacked(original, released, np.array([2, 0]), {})
    assert figures["n_targets"] == 2
    assert figures["n_left_out"] == 1
    assert figures["after"]["rate"] == 1.0


def test_a_sample_is_reproducible_and_its_interval_holds_the_truth():
    draw = np.random.default_rng(2)
    table = pa.table({name: draw.integers(0, 9, 3_000).astype(str) for name in ("a", "b", "c")})
    everybody = attacked(table, table, np.arange(3_000), {})["after"]
    assert everybody["is_exact"]
    options = AttackOptions(attack=("linkage",), sample=400, seed=5)
    some, again = (attacked(table, table, np.arange(3_000), {}, options) for _ in range(2))
    assert some == again
    assert some["n_targets"] == 400
    assert some["after"]["low"] <= everybody["rate"] <= some["after"]["high"]
    other = AttackOptions(attack=("linkage",), sample=400, seed=6)
    assert attacked(table, table, np.arange(3_000), {}, other) != some
    shared = AttackOptions(attack=("linkage",), known_share=0.34)
    few = attacked(table, table, np.arange(3_000), {}, shared)
    assert few["n_known_columns"] == 1
    assert few["after"]["rate"] == pytest.approx(1 / 300, rel=0.1)


def test_wilson_by_hand():
    """5 of 10 (Wilson 1927): 0.2366 to 0.7634."""
    low, high = wilson_interval(0.5, 10)
    assert low == pytest.approx(0.2366, abs=1e-4)
    assert high == pytest.approx(0.7634, abs=1e-4)
    nothing = sampled_rate(np.zeros(20))
    assert nothing["low"] == 0.0
    assert nothing["high"] == pytest.approx(0.1611, abs=1e-4)
    assert sampled_rate(np.zeros(0))["high"] == 1.0
    assert math.isclose(sampled_rate(np.ones(3))["high"], 1.0)


def test_what_is_missing_or_wrong_is_said():
    table = pa.table({"age": ["1", "2"]})
    schema = Schema(["age"])
    with pytest.raises(InputError, match="original and who is which row"):
        attack_findings(table, schema, LINKAGE)
    with pytest.raises(InputError, match="key does not hold"):
        attack_findings(table, schema, LINKAGE, original=table, original_row=np.array([1, 0]))
    with pytest.raises(InputError, match="key does not hold"):
        attack_findings(table, schema, LINKAGE, original=table, original_row=np.array([0, 0]))
    with pytest.raises(JobError, match="not one on tables"):
        attack_findings(table, schema, AttackOptions(attack=("known-items",)))
    named = AttackOptions(attack=("linkage",), known_columns=("zip",))
    with pytest.raises(IncrowdError, match="zip"):
        attack_findings(table, schema, named, original=table, original_row=np.arange(2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"attack": ("linkge",)},
        {"known_share": 0.0},
        {"known_share": 1.5},
        {"known_share": 0.5, "known_columns": ("a",)},
        {"known_items": ("0",)},
        {"known_items": ("two",)},
        {"known_people": ("-1",)},
        {"sample": 0},
        {"seed": -1},
        {"confidence": 0.0},
    ],
)
def test_options_that_mean_nothing_are_refused(wrong):
    with pytest.raises(JobError):
        AttackOptions(**wrong)
