"""The sustained attack on adaptive releases, against all matchings of few people."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import InputError
from incrowd.measures.attacks.findings import attack_findings
from incrowd.measures.options import AttackOptions
from incrowd.tables.schema import Schema

SCHEMA = Schema(["a", "b"])


def attacked(original, released, known=("0",), seed=0):
    options = AttackOptions(attack=("sustained",), known_people=known, seed=seed)
    (finding,) = attack_findings(
        pa.table(released), SCHEMA, options, original=pa.table(original),
        original_row=np.arange(len(original["a"])),
    )  # fmt: skip
    return finding.figures["by_known_people"]


def mean_belief(original, released):
    """The mean share of the perfect matchings that give a person their own row."""
    people = list(zip(original["a"], original["b"], strict=True))
    rows = list(zip(released["a"], released["b"], strict=True))
    fits = [
        [all(cell in ("*", value) for cell, value in zip(row, person, strict=True)) for row in rows]
        for person in people
    ]
    own, n_matchings = [0] * len(people), 0
    for matching in permutations(range(len(people))):
        if all(fits[person][row] for person, row in enumerate(matching)):
            n_matchings += 1
            for person, row in enumerate(matching):
                own[person] += person == row
    return sum(own) / n_matchings / len(people)


@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.sampled_from("uv"), st.booleans(), st.booleans()),
        min_size=2,
        max_size=6,
    )
)
def test_with_nothing_known_it_is_the_mean_over_all_matchings(people):
    original = {"a": [p[0] for p in people], "b": [p[1] for p in people]}
    released = {
        "a": ["*" if p[2] else p[0] for p in people],
        "b": ["*" if p[3] else p[1] for p in people],
    }
    found = attacked(original, released)["0"]
    assert found["after"]["rate"] == pytest.approx(mean_belief(original, released))
    assert found["before"]["rate"] == pytest.approx(mean_belief(original, original))


def test_known_rows_leave_fewer_for_the_others():
    """A group of four: with three known, the last is certain; with one, each has one in three."""
    original = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"]}
    released = {"a": ["*"] * 4, "b": ["*"] * 4}
    found = attacked(original, released, ("1", "2", "3"))
    assert [found[n]["after"]["rate"] for n in "0123"] == pytest.approx([1 / 4, 1 / 3, 1 / 2, 1])
    assert found["3"]["before"]["rate"] == 1.0
    assert found["1"]["after"]["n_draws"] == 5
    assert attacked(original, released, ("1", "2", "3")) == found


def test_more_known_than_there_are_people_is_left_out():
    original = {"a": ["x", "x"], "b": ["u", "u"]}
    assert list(attacked(original, original, ("1", "2", "9"))) == ["0", "1"]


def test_generalized_cells_are_refused():
    from incrowd.hierarchies.tree import Hierarchy

    tree = Hierarchy.from_ladder("a", [["x", "y", "z"], ["xy", "xy", "z"]])
    original = pa.table({"a": ["x", "y"], "b": ["u", "u"]})
    released = pa.table({"a": ["xy", "xy"], "b": ["u", "u"]})
    options = AttackOptions(attack=("sustained",))
    with pytest.raises(InputError, match="show cells or mask them"):
        attack_findings(
            released, SCHEMA, options, original=original, original_row=np.arange(2),
            hierarchies={"a": tree},
        )  # fmt: skip
