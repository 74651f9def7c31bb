"""An attacker who knows items of a person, on sets as they were and as they were released."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import groupings, to_rows, to_sets
from incrowd.errors import InputError, JobError
from incrowd.measures.attacks.findings import set_attack_findings
from incrowd.measures.options import AttackOptions
from methods.small_releases import shown_by
from oracles import attackers


def attacked(released, original, original_row, known=("1", "2"), **more):
    options = AttackOptions(attack=("known-items",), known_items=known)
    (finding,) = set_attack_findings(
        released, options, original=original, original_row=original_row, **more
    )
    return finding.figures["by_known_items"]


def test_a_hand_made_attack():
    """Everybody has one item, so that nothing is left to draw with one known."""
    original = to_sets([{0}, {0}, {1}, {2}], 3)
    released = to_sets([{0}, {0}, {0}, set()], 3)
    found = attacked(released, original, np.arange(4), ("1", "2"))
    # before: 1/2, 1/2, 1, 1. After: 0 → rows 1, 2, 3; 1 is nowhere → any row; so is 2
    assert found["1"]["before"]["rate"] == pytest.approx(3 / 4)
    assert found["1"]["after"]["rate"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 4 + 1 / 4) / 4)
    assert found["1"]["before"]["n_certain"] == 2
    assert found["2"]["n_able"] == 0


@given(groupings(least_rows=4, k=2), st.sampled_from(["smooth", "suppression"]), st.data())
def test_every_success_is_one_that_counting_finds(grouping, kind, data):
    rows, group_of_row = grouping
    original = to_sets(rows, 5)
    shown = shown_by(original, np.array(group_of_row), kind, 2)
    original_row = np.array(data.draw(st.permutations(range(len(rows)))), dtype=np.int64)
    released = shown.take(original_row)
    sizes = {group: group_of_row.count(group) for group in group_of_row}
    for n_known in (1, 2, 3):
        found = attacked(released, original, original_row, (str(n_known),))[str(n_known)]
        same = list(range(len(rows)))
        for side, name in ((to_rows(released), "after"), (to_rows(original), "before")):
            key = original_row.tolist() if name == "after" else same
            possible = attackers.successes_by_items(rows, side, key, n_known)
            assert found["n_able"] == len(possible)
            if possible:
                low = sum(min(cases) for cases in possible.values()) / len(possible)
                high = sum(max(cases) for cases in possible.values()) / len(possible)
                assert float(low) - 1e-9 <= found[name]["rate"] <= float(high) + 1e-9
        if found["n_able"]:
            assert found["after"]["rate"] <= 1 / min(min(sizes.values()), len(rows)) + 1e-9


def test_many_draws_come_near_the_mean_over_all_choices():
    rows = [{0, 1}, {0, 2}, {1, 2}] * 400
    original = to_sets(rows, 3)
    released = to_sets([{0}] * 400 + [{0, 1}] * 400 + [{2}] * 400, 3)
    order = np.argsort(np.arange(1_200) % 3, kind="stable")
    found = attacked(released, original, order, ("1",))["1"]["after"]
    possible = attackers.successes_by_items(
        [rows[row] for row in (0, 1, 2)], [{0}, {0, 1}, {2}], [0, 1, 2], 1
    )
    mean = sum(float(sum(cases)) / len(cases) for cases in possible.values()) / 3 / 400
    assert found["low"] <= mean <= found["high"]


def test_rare_and_common_items_are_met_alike():
    """Everybody has three items, all known, so that nothing is drawn: of 60, few are common."""
    draw = np.random.default_rng(4)
    rows = []
    while len(rows) < 300:
        items = set(np.minimum(draw.geometric(0.08, 3) - 1, 59).tolist())
        rows += [items] if len(items) == 3 else []
    released = [{item for item in row if draw.random() < 0.9} for row in rows]
    found = attacked(to_sets(released, 60), to_sets(rows, 60), np.arange(300), ("3",))["3"]
    same = list(range(300))
    for side, name in ((released, "after"), (rows, "before")):
        possible = attackers.successes_by_items(rows, side, same, 3)
        mean = sum(cases[0] for cases in possible.values()) / 300
        assert found[name]["rate"] == pytest.approx(float(mean))


def test_items_are_followed_through_new_names_and_parts():
    original = to_sets([{0, 1}, {2}], 3, item_names=pa.array(["a", "b", "c"]))
    renamed = to_sets([{1, 2}, {0}], 3, item_names=pa.array(["x", "y", "z"]))
    by_key = attacked(renamed, original, np.arange(2), ("1",), original_item=np.array([2, 0, 1]))
    assert by_key["1"]["after"]["rate"] == 1.0
    parts = to_sets([{0}, {0}], 1, item_names=pa.array(["(a,b,c)"]))
    whole = attacked(parts, original, np.arange(2), ("1",), is_generalized=True)
    assert whole["1"]["after"]["rate"] == 0.5


def test_what_is_missing_or_wrong_is_said():
    sets = to_sets([{0}, {1}], 2)
    options = AttackOptions(attack=("known-items",))
    with pytest.raises(InputError, match="original and who is which row"):
        set_attack_findings(sets, options)
    with pytest.raises(InputError, match="each original row once"):
        set_attack_findings(sets, options, original=sets, original_row=np.array([0, 0]))
    with pytest.raises(JobError, match="not one on sets"):
        set_attack_findings(sets, AttackOptions(attack=("linkage",)))
