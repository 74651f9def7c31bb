"""The check of k, recounted row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_tables import SENSITIVE, evidence_of, stars, tables, to_table, tokens
from incrowd.errors import DataError, InputError, JobError
from incrowd.guarantees.evidence import Evidence
from incrowd.guarantees.tables import crowds
from incrowd.guarantees.tables import crowds as cover
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from oracles.guarantees import (
    crowd_sizes,
    exposed_by_size,
    is_blank,
    is_unchecked,
    possible_sizes,
)
from tiers import examples

PEOPLE = st.sampled_from([None, "person"])
WISHES = st.sampled_from([None, "wish"])


@examples(200)
@given(tables(), st.integers(2, 4), stars, tokens, PEOPLE, WISHES)
def test_exposed_rows_are_the_oracle_s(table, k, stars, tokens, person, k_column):
    rows, quasi = table
    evidence = evidence_of(rows, quasi, person=person, k_column=k_column, missing_values=tokens)
    finding = KAnonymity(k, k_column=k_column, stars=stars).check(evidence)[0]
    exposed = exposed_by_size(rows, quasi, SENSITIVE, k, stars, tokens, person, k_column)
    assert list(finding.exposed_rows) == exposed
    assert finding.figures["n_exposed"] == len(exposed)
    assert finding.holds is (not exposed)
    sizes = crowd_sizes(rows, quasi, stars, tokens, person)
    assert finding.figures["smallest_group"] == min(sizes, default=0)
    assert finding.figures["counts"] == ("people" if person else "rows")
    assert finding.is_public is (not person and not k_column)


@given(tables(), tokens)
def test_possible_crowds_are_the_oracle_s(table, tokens):
    rows, quasi = table
    evidence = evidence_of(rows, quasi, missing_values=tokens)
    finding = KAnonymity(2, stars="as-wildcard").check(evidence)[0]
    possible = possible_sizes(rows, quasi, tokens)
    assert finding.name == "compatibility"
    assert finding.figures["smallest_possible"] == min(possible)
    assert finding.figures["n_exposed_possible"] == sum(size < 2 for size in possible)


@given(tables(), tokens)
def test_unchecked_rows_are_counted(table, tokens):
    rows, quasi = table
    evidence = evidence_of(rows, quasi, missing_values=tokens)
    figures = KAnonymity(2, stars="excluded").check(evidence)[0].figures
    unchecked = [row for row in rows if is_unchecked(row, quasi, tokens)]
    assert figures["unchecked_rows"] == len(unchecked)
    columns = [*quasi, *SENSITIVE]
    assert figures["n_unchecked_showing"] == sum(
        any(not is_blank(row[name], tokens) for name in columns) for row in unchecked
    )


@given(
    tables(max_rows=16),
    st.integers(2, 3),
    tokens,
    PEOPLE,
    st.sampled_from(["distinct", "entropy", "recursive"]),
    st.sampled_from([None, 0.2, 0.4]),
)
def test_as_value_implies_as_wildcard(table, k, tokens, person, l_kind, t):
    rows, quasi = table
    evidence = evidence_of(rows, quasi, person=person, missing_values=tokens)
    promise = {"k": k, "l": 2, "l_kind": l_kind, "c": 2.0, "t": t}
    strict = KAnonymity(**promise).check(evidence)
    loose = KAnonymity(**promise, stars="as-wildcard").check(evidence)
    assert loose[0].figures["n_exposed"] <= strict[0].figures["n_exposed"]
    for ours, theirs in zip(strict, loose, strict=True):
        assert theirs.holds or not ours.holds


@examples(25)
@given(tables(), stars, st.randoms(use_true_random=False), st.integers(1, 7))
def test_order_and_blocks_change_nothing(table, stars, random, block_rows):
    rows, quasi = table
    promise = KAnonymity(2, l=2, t=0.3, stars=stars)
    before = promise.check(evidence_of(rows, quasi, person="person", k_column="wish"))
    shuffled = random.sample(rows, len(rows))
    after = promise.check(
        evidence_of(shuffled, quasi, block_rows=block_rows, person="person", k_column="wish")
    )
    assert [finding.summary for finding in before] == [finding.summary for finding in after]
    assert [len(finding.exposed_rows) for finding in before] == [
        len(finding.exposed_rows) for finding in after
    ]


def test_star_and_missing_are_different_values():
    rows = [{"q": cell} for cell in ("*", "*", None, None, "?", "?")]
    evidence = evidence_of(rows, ("q",), (), missing_values=("?",))
    assert KAnonymity(2).check(evidence)[0].figures["n_groups"] == 3
    assert KAnonymity(3).check(evidence)[0].figures["n_exposed"] == 6
    covered = KAnonymity(6, stars="as-wildcard").check(evidence)[0]
    assert covered.holds
    assert covered.figures["n_groups"] == 1


def test_starred_rows_satisfy_compatibility_only():
    rows = [{"q": cell} for cell in ("a", "*", "*", "*")]
    evidence = evidence_of(rows, ("q",), ())
    wild = KAnonymity(3, stars="as-wildcard").check(evidence)[0]
    assert (wild.name, wild.holds) == ("compatibility", True)
    assert KAnonymity(3).check(evidence)[0].holds is False


def test_excluded_vouches_for_rows_that_show_nothing_at_all_and_for_no_others():
    rows = [{"q": "a", "s": "x"}] * 3 + [{"q": "*", "s": "*"}, {"q": None, "s": None}]
    finding = KAnonymity(3, stars="excluded").check(evidence_of(rows, ("q",), ("s",)))[0]
    assert finding.holds
    assert finding.figures["unchecked_rows"] == 2
    rows[-1] = {"q": None, "s": "x"}
    finding = KAnonymity(3, stars="excluded").check(evidence_of(rows, ("q",), ("s",)))[0]
    assert finding.holds is False
    assert finding.exposed_rows == (5,)
    assert "2 rows" in finding.summary


def test_a_personal_k_binds_the_whole_group():
    rows = [{"q": "a", "wish": "2"}] * 3
    evidence = evidence_of(rows, ("q",), (), k_column="wish")
    assert KAnonymity(2, k_column="wish").check(evidence)[0].holds
    rows = [*rows[:2], {"q": "a", "wish": "4"}]
    finding = KAnonymity(2, k_column="wish").check(evidence_of(rows, ("q",), (), k_column="wish"))[
        0
    ]
    assert finding.holds is False
    assert finding.figures["largest_k"] == 4
    assert finding.exposed_rows == (1, 2, 3)


@pytest.mark.parametrize("wish", ["0", "-1", "2.5", "two", None, ""])
def test_a_personal_k_must_be_a_whole_number_of_at_least_one(wish):
    rows = [{"q": "a", "wish": "2"}, {"q": "a", "wish": wish}]
    with pytest.raises(DataError, match="1 rows hold no whole number"):
        KAnonymity(2, k_column="wish").check(evidence_of(rows, ("q",), (), k_column="wish"))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float64()])
def test_personal_k_may_be_typed(kind):
    table = pa.table({"q": ["a", "a", "b"], "wish": pa.array([1, 2, 1], kind)})
    evidence = Evidence.from_table(table, ["q"], k_column="wish")
    assert KAnonymity(2, k_column="wish").check(evidence)[0].exposed_rows == (3,)


def test_personal_k_without_the_owner_s_column_cannot_be_checked():
    with pytest.raises(InputError, match="owner"):
        KAnonymity(2, k_column="wish").check(evidence_of([{"q": "a"}], ("q",), ()))


def test_a_row_without_a_person_cannot_be_counted():
    rows = [{"q": "a", "person": name} for name in ("1", "2", None, "?")]
    evidence = evidence_of(rows, ("q",), (), person="person", missing_values=("?",))
    with pytest.raises(DataError, match="2 rows name no person"):
        KAnonymity(2).check(evidence)


def test_nothing_to_check_is_an_error():
    with pytest.raises(InputError, match="nothing to check"):
        KAnonymity(2).check(evidence_of([{"q": "a"}], (), ()))
    with pytest.raises(InputError, match="sensitive"):
        KAnonymity(2, l=2).check(evidence_of([{"q": "a"}], ("q",), ()))
    with pytest.raises(JobError, match="unknown column 'zap'"):
        KAnonymity(2).check(evidence_of([{"zip": "a"}], ("zap",), ()))


@pytest.mark.parametrize("stars", ["as-value", "as-wildcard", "excluded"])
def test_an_empty_file_exposes_nobody(stars):
    table = to_table([{"q": "a", "s": "x"}]).slice(0, 0)
    evidence = Evidence.from_table(table, ["q"], ["s"])
    findings = KAnonymity(2, l=2, t=0.1, stars=stars).check(evidence)
    assert all(finding.holds for finding in findings)
    assert "no row" in findings[0].summary


def test_typed_columns_and_any_column_name():
    table = pa.table(
        {
            "q0": pa.array(["a", "a", "b", "b"]).dictionary_encode(),
            "n": pa.array([1.5, 1.5, float("nan"), float("nan")]),
            "line": pa.array([7, 7, -9, -9], pa.int32()),
        }
    )
    evidence = Evidence.from_table(table, table.column_names)
    assert KAnonymity(2).check(evidence)[0].holds


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, 1.5, float("nan"), None]),
        pa.array([7, 7, -9, None], pa.int32()),
        pa.array([7.0, 7.0, -9.0, None]),
        pa.array(["7", "7", "-9", ""]).dictionary_encode(),
    ],
    ids=["nan", "integer", "float", "dictionary"],
)
def test_typed_columns_have_missing_cells_too(column):
    table = pa.table({"q": ["a", "a", "b", "b"], "r": column})
    evidence = Evidence.from_table(table, ["q", "r"], missing_values=["-9", "?"])
    excluded = KAnonymity(2, stars="excluded").check(evidence)[0]
    assert excluded.figures["unchecked_rows"] == 2
    assert excluded.exposed_rows == (3, 4)


def test_no_frame_no_row_numbers():
    rows = [{"q": "a"}, {"q": "b"}]
    whole = evidence_of(rows, ("q",), ())
    blind = Evidence(whole.engine, whole.blocks, 2, ("q",))
    finding = KAnonymity(2).check(blind)[0]
    assert finding.exposed_rows == ()
    assert finding.figures["n_exposed"] == 2


def test_at_most_twenty_rows_are_named():
    rows = [{"q": str(number)} for number in range(50)]
    finding = KAnonymity(2).check(evidence_of(rows, ("q",), ()))[0]
    assert finding.exposed_rows == tuple(range(1, 21))
    assert finding.figures["n_exposed"] == 50


def test_row_numbers_are_found_beyond_the_first_part(monkeypatch):
    monkeypatch.setattr(crowds, "ROWS_AT_ONCE", 4)
    rows = [{"q": "a"}] * 9 + [{"q": "b"}]
    assert KAnonymity(2).check(evidence_of(rows, ("q",), ()))[0].exposed_rows == (10,)


def test_too_many_masks_cannot_be_checked(monkeypatch):
    rows = [{"q": "a", "r": "*"}, {"q": "*", "r": "b"}]
    evidence = evidence_of(rows, ("q", "r"), ())
    monkeypatch.setattr(cover, "MOST_MASK_PAIRS", 3)
    finding = KAnonymity(2, stars="as-wildcard").check(evidence)[0]
    assert finding.holds is False
    assert finding.figures["smallest_possible"] is None
    monkeypatch.setattr(cover, "MOST_LOOKUPS", 3)
    with pytest.raises(InputError, match="could not check"):
        KAnonymity(2, stars="as-wildcard").check(evidence)
    monkeypatch.setattr(cover, "MOST_LOOKUPS", 100)
    monkeypatch.setattr(cover, "MOST_PAIRS", 1)
    with pytest.raises(InputError, match="could not check"):
        KAnonymity(2, stars="as-wildcard").check(evidence)


def test_people_of_large_crowds_are_counted_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    rows = [
        {"q": cell, "person": str(person)}
        for cell, person in zip(
            rng.choice(["a", "b", "c", "*"], 60), rng.integers(0, 9, 60), strict=True
        )
    ]
    evidence = evidence_of(rows, ("q",), (), person="person")
    whole = sorted(crowds.count_crowds(evidence, "as-wildcard", 2).size)
    monkeypatch.setattr(crowds, "EXPANDED_AT_ONCE", 7)
    assert sorted(crowds.count_crowds(evidence, "as-wildcard", 2).size) == whole
    monkeypatch.setattr(crowds, "MOST_EXPANDED", 7)
    with pytest.raises(InputError, match="could not check"):
        crowds.count_crowds(evidence, "as-wildcard", 2)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"k": 1}, "protects nobody"),
        ({"k": 0}, "protects nobody"),
        ({"k": 2.0}, "whole number"),
        ({"k": True}, "whole number"),
        ({"l": 0}, "1 or more"),
        ({"l": float("nan")}, "1 or more"),
        ({"l": 2.5}, "whole number"),
        ({"l": 2.5, "l_kind": "recursive"}, "whole number"),
        ({"c": 0}, "above 0"),
        ({"t": -0.1}, "from 0 to 1"),
        ({"t": 1.1}, "from 0 to 1"),
        ({"l_kind": "entropie"}, "entropie"),
        ({"t_kind": "equals"}, "equals"),
        ({"stars": "as-wild"}, "as-wild"),
    ],
)
def test_impossible_parameters_are_refused_with_a_remedy(wrong, says):
    with pytest.raises(JobError, match=says) as caught:
        KAnonymity(**{"k": 5, **wrong})
    assert caught.value.exit_status == 2
    assert caught.value.remedy


def test_possible_parameters():
    assert KAnonymity(5).k == 5
    assert KAnonymity(2, l=2.5, l_kind="entropy", t=0).l == 2.5
    promise = KAnonymity(3, l=2, l_kind="recursive", c=3, t=0.2, k_column="wish")
    assert promise.needs_owner
    assert "c = 3" in promise.claim
    assert "own k" in promise.claim
