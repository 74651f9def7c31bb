"""Homogeneity: what a person's group gives away, counted row by row."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import InputError
from incrowd.measures.attacks.findings import attack_findings
from incrowd.measures.options import AttackOptions
from incrowd.tables.schema import Schema
from oracles import attackers

HOMOGENEITY = AttackOptions(attack=("homogeneity",), confidence=0.6)
SCHEMA = Schema(["age"], ["ill"])


def test_a_hand_made_release():
    """Group 1: flu, flu, flu, cold (share 3/4); group 2: cold, cold and a missing one."""
    released = pa.table(
        {
            "age": ["1", "1", "1", "1", "2", "2", "2"],
            "ill": ["flu", "flu", "flu", "cold", "cold", "cold", None],
        }
    )
    (finding,) = attack_findings(released, SCHEMA, HOMOGENEITY)
    found = finding.figures["columns"]["ill"]
    assert finding.is_public
    assert found["before"] is None
    assert found["after"]["certain"]["rate"] == pytest.approx(2 / 6)
    assert found["after"]["above"]["rate"] == pytest.approx(5 / 6)
    assert found["after"]["n_without_value"] == 1
    assert found["after"]["certain"]["is_exact"]
    original = pa.table({"age": list("3456789"), "ill": released["ill"]})
    (beside,) = attack_findings(released, SCHEMA, HOMOGENEITY, original=original)
    assert beside.figures["columns"]["ill"]["before"]["certain"]["rate"] == 1.0
    assert not beside.is_public


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "age": st.sampled_from(["1", "2", "*", None]),
                "ill": st.sampled_from(["x", "y", "*", None]),
            }
        ),
        min_size=1,
        max_size=12,
    )
)
def test_shares_agree_with_counting(rows):
    table = pa.table(
        {name: pa.array([row[name] for row in rows], pa.string()) for name in ("age", "ill")}
    )
    (finding,) = attack_findings(table, SCHEMA, HOMOGENEITY)
    found = finding.figures["columns"]["ill"]["after"]
    n_certain, n_above, n_shown = attackers.certain(rows, ["age"], "ill", 0.6)
    assert found["certain"]["n"] == n_shown
    assert found["certain"]["rate"] * n_shown == pytest.approx(n_certain)
    assert found["above"]["rate"] * n_shown == pytest.approx(n_above)


def test_people_are_counted_once_for_each_value():
    """p twice with flu, q with flu, r with cold: 2 of 3 people have flu."""
    original = pa.table(
        {"age": ["1"] * 4, "ill": ["flu", "flu", "flu", "cold"], "who": ["p", "p", "q", "r"]}
    )
    (finding,) = attack_findings(
        original.select(["age", "ill"]),
        Schema(["age"], ["ill"], person="who"),
        HOMOGENEITY,
        original=original,
        original_row=np.arange(4),
    )
    found = finding.figures["columns"]["ill"]["after"]
    assert found["certain"]["rate"] == 0.0
    assert found["above"] == found["above"] | {"rate": 2 / 3, "n": 3}  # q, p with 2/3; r not


def test_it_needs_a_sensitive_column():
    table = pa.table({"age": ["1"]})
    with pytest.raises(InputError, match="sensitive"):
        attack_findings(table, Schema(["age"]), HOMOGENEITY)
