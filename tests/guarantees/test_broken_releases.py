"""The checkers checked: a good release, broken by one cell or one row, is refused."""

from __future__ import annotations

import random

import pytest

from guarantees.small_tables import to_table
from incrowd.guarantees.evidence import Evidence
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.guarantees.tables.leaks import find_table_leaks

QUASI = ("age", "zip")
PROMISE = {"k": 4, "l": 2, "t": 0.26}


def good_release():
    """Groups of exactly four people, each with two values of each kind, and a suppressed group."""
    rows = []
    person = 0
    groups = [("[20, 30[", "10***"), ("[20, 30[", "20***"), ("[30, 40[", "10***"), ("*", "*")]
    for age, place in groups:
        for ill in ("flu", "flu", "cold", "cold"):
            person += 1
            rows.append({"age": age, "zip": place, "ill": ill, "person": str(person), "wish": "4"})
    return rows


def verdict(rows, **promise):
    promise = PROMISE | promise
    evidence = Evidence.from_table(to_table(rows), QUASI, ["ill"], person="person", k_column="wish")
    return KAnonymity(**promise, k_column="wish").check(evidence)


def broken(findings):
    return [finding.name for finding in findings if finding.holds is False]


def test_the_good_release_is_good():
    assert broken(verdict(good_release())) == []
    assert broken(verdict(good_release(), l_kind="entropy")) == []
    assert broken(verdict(good_release(), l_kind="recursive", c=1.5)) == []


@pytest.mark.parametrize("column", QUASI)
@pytest.mark.parametrize("cell", ["[40, 50[", "*", None, " 10***", ""])
def test_any_changed_quasi_identifying_cell_is_refused(column, cell):
    for number in range(12):
        rows = good_release()
        rows[number][column] = cell
        assert "k-anonymity" in broken(verdict(rows)), number


def test_any_row_taken_away_is_refused():
    for number in range(16):
        rows = good_release()
        del rows[number]
        findings = verdict(rows)
        assert "k-anonymity" in broken(findings)
        assert findings[0].figures["n_exposed"] == 3


def test_a_row_moved_between_groups_is_refused():
    rows = good_release()
    rows[0] |= {"age": rows[8]["age"], "zip": rows[8]["zip"]}
    findings = verdict(rows)
    assert findings[0].exposed_rows == (2, 3, 4)


def test_one_person_twice_in_a_group_is_refused():
    rows = good_release()
    rows[1]["person"] = rows[0]["person"]
    assert broken(verdict(rows)) == ["k-anonymity"]


def test_one_larger_wish_is_refused():
    rows = good_release()
    rows[5]["wish"] = "5"
    findings = verdict(rows)
    assert broken(findings) == ["k-anonymity"]
    assert findings[0].exposed_rows == (5, 6, 7, 8)


@pytest.mark.parametrize("value", ["flu", "*", None])
def test_changed_sensitive_cells_are_refused(value):
    rows = good_release()
    rows[2]["ill"] = rows[3]["ill"] = value
    assert "l-diversity" in broken(verdict(rows))


def test_a_single_changed_sensitive_cell_is_refused_by_closeness():
    rows = good_release()
    rows[2]["ill"] = "cancer"
    assert broken(verdict(rows, t=0.15)) == ["t-closeness"]  # it is at 3/16


def test_an_entropy_and_a_recursive_release_are_refused():
    rows = good_release()
    rows[2]["ill"] = "flu"
    assert "l-diversity" in broken(verdict(rows, l_kind="entropy"))
    assert "l-diversity" in broken(verdict(rows, l_kind="recursive", c=1.5))


def test_a_row_number_added_to_the_file_is_refused():
    table = to_table(good_release(), ["age", "zip", "ill"])
    assert all(f.holds is not False for f in find_table_leaks(table, QUASI, ["ill"], []))
    numbers = [str(number) for number in range(1, 17)]
    random.Random(0).shuffle(numbers)
    numbered = table.append_column("no", [numbers])
    assert "row numbers" in broken(find_table_leaks(numbered, QUASI, ["ill"], ["no"]))
