"""The checks of l-diversity and t-closeness, against the textbook definitions."""

from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_tables import SENSITIVE, evidence_of, stars, tables, to_table, tokens
from incrowd.errors import HierarchyError, InputError
from incrowd.guarantees.evidence import Evidence
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.tables.l_diversity import distinct_values, entropies_of, mix
from incrowd.guarantees.tables.t_closeness import distances
from incrowd.hierarchies.tree import Hierarchy
from oracles.guarantees import (
    crowd_of,
    distribution,
    equal_distance,
    hierarchical_distance,
    is_diverse,
    known_counts,
    ordered_distance,
)
from tiers import examples

L_KINDS = st.sampled_from(["distinct", "entropy", "recursive"])
TREE = {"x": "upper", "y": "upper", "upper": "top", "z": "top"}
CHILDREN = {"top": ["upper", "z", None], "upper": ["x", "y"]}


def findings_of(rows, quasi, name, tokens=(), **promise):
    hierarchies = {column: Hierarchy.from_parents(column, TREE) for column in SENSITIVE}
    evidence = evidence_of(rows, quasi, missing_values=tokens, sensitive_hierarchies=hierarchies)
    return [f for f in KAnonymity(2, **promise).check(evidence) if f.name == name]


def others(column, joint):
    return [name for name in SENSITIVE if joint and name != column]


@examples(120)
@given(
    tables(),
    st.sampled_from([1, 2, 3]),
    L_KINDS,
    st.sampled_from([0.5, 1.0, 1.1, 2.0]),
    stars,
    tokens,
    st.booleans(),
)
def test_l_exposes_the_oracle_s_rows(table, l, l_kind, c, stars, tokens, joint):  # noqa: E741
    rows, quasi = table
    found = findings_of(
        rows, quasi, "l-diversity", tokens, l=l, l_kind=l_kind, c=c, stars=stars, joint=joint
    )
    for column, finding in zip(SENSITIVE, found, strict=True):
        exposed = []
        for number, row in enumerate(rows, 1):
            crowd = crowd_of(rows, row, quasi, stars, tokens, also=others(column, joint))
            if crowd is None:
                continue
            if not is_diverse(known_counts(crowd, column, tokens), l, l_kind, c):
                exposed.append(number)
        assert list(finding.exposed_rows) == exposed
        assert finding.figures["n_exposed"] == len(exposed)
        assert finding.holds is (not exposed)


@examples(100)
@given(
    tables(),
    st.sampled_from([0.0, 0.2, 0.25, 0.5]),
    st.sampled_from(["equal", "hierarchical"]),
    stars,
    tokens,
    st.booleans(),
)
def test_t_exposes_the_oracle_s_rows(table, t, t_kind, stars, tokens, joint):
    # "?" without its token is a value of its own, which the tree does not have
    rows, quasi = table
    if t_kind == "hierarchical":
        tokens = ("?",)
    found = findings_of(
        rows, quasi, "t-closeness", tokens, t=t, t_kind=t_kind, stars=stars, joint=joint
    )
    for column, finding in zip(SENSITIVE, found, strict=True):
        whole = distribution(rows, column, tokens)
        exposed, farthest = [], Fraction(0)
        for number, row in enumerate(rows, 1):
            crowd = crowd_of(rows, row, quasi, stars, tokens, also=others(column, joint))
            if crowd is None:
                continue
            group = distribution(crowd, column, tokens)
            if t_kind == "equal":
                distance = equal_distance(group, whole)
            else:
                distance = hierarchical_distance(group, whole, CHILDREN, "top")
            farthest = max(farthest, distance)
            if distance > Fraction(str(t)):
                exposed.append(number)
        assert list(finding.exposed_rows) == exposed
        assert finding.figures["largest_distance"] == pytest.approx(float(farthest), abs=1e-12)
        assert finding.holds is (not exposed)


@examples(100)
@given(tables(values=("1", "2.5", "10", "1.0", "-3")), stars, st.sampled_from([0.0, 0.25, 0.4]))
def test_ordered_t_exposes_the_oracle_s_rows(table, stars, t):
    rows, quasi = table
    found = findings_of(rows, quasi, "t-closeness", t=t, t_kind="ordered", stars=stars)
    rows = [row | {name: float(row[name]) for name in SENSITIVE} for row in rows]
    for column, finding in zip(SENSITIVE, found, strict=True):
        whole = distribution(rows, column)
        values = sorted(whole)
        exposed = []
        for number, row in enumerate(rows, 1):
            crowd = crowd_of(rows, row, quasi, stars)
            if crowd is None:
                continue
            if ordered_distance(distribution(crowd, column), whole, values) > Fraction(str(t)):
                exposed.append(number)
        assert list(finding.exposed_rows) == exposed


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=80))
def test_ordered_distances_of_many_values(pairs):
    rows = [{"q": str(group), "s": value} for group, value in pairs]
    table = pa.table({"q": [row["q"] for row in rows], "s": [row["s"] for row in rows]})
    mixture = mix(Evidence.from_table(table, ["q"], ["s"]), "s", "as-value")
    whole = distribution(rows, "s")
    found = dict(zip(mixture.keys["q0"], distances(mixture, "ordered"), strict=True))
    for group, distance in found.items():
        members = [row for row in rows if row["q"] == group]
        expected = ordered_distance(distribution(members, "s"), whole, sorted(whole))
        assert distance == pytest.approx(float(expected), abs=1e-12)


def test_ordered_t_by_hierarchy_and_by_date():
    levels = [["low", "mid", "high"], ["*", "*", "*"]]
    hierarchy = Hierarchy.from_ladder("s", levels)
    rows = [{"q": "a", "s": "low"}, {"q": "a", "s": "mid"}, {"q": "b", "s": "high"}]
    evidence = evidence_of(rows, ("q",), ("s",), sensitive_hierarchies={"s": hierarchy})
    finding = KAnonymity(2, t=0.3, t_kind="ordered").check(evidence)[-1]
    # group b: all at rank 2, the whole evenly on 0, 1, 2: (1/3 + 2/3) / 2
    assert finding.figures["largest_distance"] == pytest.approx(0.5)

    days = [datetime.date(2020, 1, day) for day in (1, 9, 2)]
    table = pa.table({"q": ["a", "b", "a"], "s": days})
    finding = KAnonymity(2, t=0.5, t_kind="ordered").check(
        Evidence.from_table(table, ["q"], ["s"])
    )[-1]
    assert finding.holds


def test_ordered_t_of_words_without_a_hierarchy_is_refused():
    evidence = evidence_of([{"q": "a", "s": "low"}], ("q",), ("s",))
    with pytest.raises(InputError, match="not all numbers") as caught:
        KAnonymity(2, t=0.3, t_kind="ordered").check(evidence)
    assert "--t-kind equal" in caught.value.remedy


@pytest.mark.parametrize("blank", [None, "*", "?"])
def test_ordered_t_of_missing_values_is_refused(blank):
    rows = [{"q": "a", "s": "1"}, {"q": "a", "s": blank}]
    evidence = evidence_of(rows, ("q",), ("s",), missing_values=("?",))
    with pytest.raises(InputError, match="1 rows have no value") as caught:
        KAnonymity(2, t=0.3, t_kind="ordered").check(evidence)
    assert "--t-kind equal" in caught.value.remedy


def test_hierarchical_t_needs_a_hierarchy_with_every_value():
    rows = [{"q": "a", "s": "secret"}]
    with pytest.raises(InputError, match="needs the column's hierarchy"):
        KAnonymity(2, t=0.3, t_kind="hierarchical").check(evidence_of(rows, ("q",), ("s",)))
    tree = Hierarchy.from_parents("s", TREE)
    evidence = evidence_of(rows, ("q",), ("s",), sensitive_hierarchies={"s": tree})
    with pytest.raises(HierarchyError, match="1 released values are no leaf") as caught:
        KAnonymity(2, t=0.3, t_kind="hierarchical").check(evidence)
    assert "secret" not in str(caught.value)
    assert caught.value.examples == ["secret"]


def test_the_paper_s_ordered_and_hierarchical_examples():
    """Li et al. 2007: salaries 3k … 11k, and a tree of diseases."""
    salaries = [*range(3, 12)]
    rows = [{"q": "1", "s": salary} for salary in (3, 4, 5)]
    rows += [{"q": "2", "s": salary} for salary in (6, 8, 11)]
    rows += [{"q": "3", "s": salary} for salary in (7, 9, 10)]
    assert sorted(row["s"] for row in rows) == salaries
    table = pa.table({name: [row[name] for row in rows] for name in ("q", "s")})
    mixture = mix(Evidence.from_table(table, ["q"], ["s"]), "s", "as-value")
    found = dict(zip(mixture.keys["q0"], distances(mixture, "ordered"), strict=True))
    assert found["1"] == pytest.approx(0.375)  # D[{3k, 4k, 5k}, Q] = 0.375
    assert found["2"] == pytest.approx(1.5 / 9)  # D[{6k, 8k, 11k}, Q] = 0.167


def test_boundaries_count_as_kept():
    rows = [{"q": "a", "s": value} for value in ("x", "y", "z")]
    evidence = evidence_of(rows, ("q",), ("s",))
    assert KAnonymity(2, l=3, l_kind="entropy").check(evidence)[1].holds  # entropy is log 3
    # one x of two in a group, one of five in all: |1/2 − 1/5|, above 0.3 in floating point
    rows = [{"q": "a", "s": value} for value in "xy"] + [{"q": "b", "s": "y"}] * 3
    finding = KAnonymity(2, t=0.3).check(evidence_of(rows, ("q",), ("s",)))[1]
    assert finding.figures["largest_distance"] > 0.3
    assert finding.holds
    assert KAnonymity(2, t=0.29).check(evidence_of(rows, ("q",), ("s",)))[1].holds is False


def test_recursive_l_excludes_its_boundary_exactly():
    rows = [{"q": "a", "s": "x"}] * 11 + [{"q": "a", "s": "y"}] * 10
    evidence = evidence_of(rows, ("q",), ("s",))
    # 1.1 · 10 is above 11 in floating point, and is not above 11
    assert KAnonymity(2, l=2, l_kind="recursive", c=1.1).check(evidence)[1].holds is False
    assert KAnonymity(2, l=2, l_kind="recursive", c=1.11).check(evidence)[1].holds
    assert KAnonymity(2, l=3, l_kind="recursive", c=99).check(evidence)[1].holds is False


def test_blank_values_are_no_values():
    rows = [{"q": "a", "s": value} for value in ("x", "*", None, "?", "")]
    mixture = mix(evidence_of(rows, ("q",), ("s",), missing_values=("?",)), "s", "as-value")
    assert distinct_values(mixture).tolist() == [1]
    assert entropies_of(mixture).tolist() == [0.0]
    assert mixture.whole.tolist() == [1, 4]
    nothing = mix(evidence_of(rows[1:3], ("q",), ("s",)), "s", "as-value")
    assert distinct_values(nothing).tolist() == [0]
    assert entropies_of(nothing).tolist() == [-np.inf]


def test_several_columns_are_said_to_stand_alone_or_together():
    rows = [{"q": "a", "s": "x", "u": "1"}, {"q": "a", "s": "y", "u": "2"}]
    evidence = evidence_of(rows, ("q",), ("s", "u"))
    alone = KAnonymity(2, l=2).check(evidence)[1]
    assert alone.holds
    assert "on its own" in alone.summary
    together = KAnonymity(2, l=2, joint=True).check(evidence)[1]
    assert together.holds is False
    assert "knows 'u'" in together.summary


def test_near_continuous_columns_are_warned_of():
    rows = [{"q": "a", "s": str(value)} for value in range(60)]
    findings = KAnonymity(2, l=2).check(evidence_of(rows, ("q",), ("s",)))
    assert [finding.name for finding in findings] == [
        "k-anonymity",
        "l-diversity",
        "near-continuous",
    ]
    assert findings[-1].holds is None
    findings = KAnonymity(2, l=2).check(evidence_of(rows * 10, ("q",), ("s",)))
    assert "near-continuous" not in [finding.name for finding in findings]


def test_messages_hold_no_values():
    rows = [{"q": "zq-1", "s": "zq-2"}, {"q": "zq-3", "s": "zq-4"}]
    evidence = Evidence.from_table(to_table(rows), ["q"], ["s"])
    findings = KAnonymity(2, l=2, t=0.1).check(evidence)
    assert "zq-" not in "".join(f"{f.summary} {f.figures}" for f in findings)
