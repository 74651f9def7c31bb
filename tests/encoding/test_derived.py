"""Ages and days from dates, against the calendar of Python."""

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.derived import derive_columns
from incrowd.errors import DataError
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.tables.table import Table
from tiers import examples

DAYS = st.dates(date(1900, 1, 1), date(2030, 12, 31))


def derived(cells, spec, *, missing_values=(), **columns):
    table = Table(pa.table({"x": cells, **columns}), missing_values=missing_values)
    made, specs, notes = derive_columns(table, {"x": HierarchySpec.parse(spec)})
    return made.frame.column("x").to_pylist(), specs["x"], notes


def completed_years(birth, on):
    """Count birthdays one by one; that of 29 February is 1 March in common years."""
    years = 0
    while True:
        try:
            birthday = birth.replace(year=birth.year + years + 1)
        except ValueError:
            birthday = date(birth.year + years + 1, 3, 1)
        if birthday > on:
            return years
        years += 1


@examples(80)
@given(st.lists(st.tuples(DAYS, DAYS).map(sorted), min_size=1, max_size=8))
def test_ages_count_birthdays(pairs):
    births, days = ([day.isoformat() for day in side] for side in zip(*pairs, strict=True))
    ages, spec, _ = derived(births, "age:seen,intervals:5,10", seen=days)
    assert ages == [str(completed_years(birth, on)) for birth, on in pairs]
    assert spec == HierarchySpec.parse("intervals:5,10")


def test_who_was_born_on_a_leap_day_is_a_year_older_on_the_first_of_march():
    births = ["2004-02-29"] * 3
    ages, _, _ = derived(births, "age:seen", seen=["2023-02-28", "2023-03-01", "2024-02-29"])
    assert ages == ["18", "19", "20"]


@examples(40)
@given(st.lists(DAYS, min_size=1, max_size=8), DAYS)
def test_days_since_a_day_are_counted_both_ways(days, reference):
    found, spec, notes = derived(
        [f"{day} 23:59" for day in days], f"days-since:{reference.isoformat()}"
    )
    assert found == [str((day - reference).days) for day in days]
    assert spec == HierarchySpec()
    assert notes == [f"column 'x': days since {reference}"]


def test_typed_dates_become_whole_numbers():
    days = pa.array([date(2024, 3, 5), None])
    since = pa.array([date(2024, 3, 1), date(2024, 3, 1)])
    table = Table(pa.table({"x": days, "since": since}))
    made, _, _ = derive_columns(table, {"x": HierarchySpec.parse("days-since:since")})
    assert made.frame.schema.field("x").type == pa.int64()
    assert made.frame.column("x").to_pylist() == [4, None]


def test_missing_dates_stay_missing_and_those_without_a_reference_become_so():
    cells = ["2024-03-05", None, "?", "2024-03-06"]
    since = ["2024-03-01", "2024-03-01", "2024-03-01", "?"]
    found, _, notes = derived(cells, "days-since:since", missing_values=("?",), since=since)
    assert found == ["4", None, "?", None]
    assert notes == ["column 'x': days since the date in 'since' (1 cells without one are missing)"]


def test_columns_are_derived_from_each_other_as_they_were():
    frame = pa.table({"x": ["2024-03-05"], "y": ["2024-03-01"]})
    specs = {
        "y": HierarchySpec.parse("days-since:2024-01-01"),
        "x": HierarchySpec.parse("days-since:y"),
    }
    made, _, _ = derive_columns(Table(frame), specs)
    assert made.frame.to_pylist() == [{"x": "4", "y": "60"}]


def test_cells_that_are_not_dates_are_refused_with_their_rows():
    with pytest.raises(DataError, match=r"1 cells are not dates \(row 2\)"):
        derived(["2024-03-05", "soon"], "days-since:2024-01-01")
    with pytest.raises(DataError, match=r"reference 'since' are not dates \(row 1\)"):
        derived(["2024-03-05"], "days-since:since", since=["soon"])
    found, spec, _ = derived(["2024-03-05", "soon"], "days-since:2024-01-01,missing=suppress")
    assert (found, spec.missing) == (["64", "soon"], "suppress")


def test_negative_ages_are_refused_or_missing():
    with pytest.raises(DataError, match=r"1 dates lie after the reference.* \(row 2\)"):
        derived(["1990-01-01", "2026-01-02"], "age:2026-01-01")
    found, _, _ = derived(["1990-01-01", "2026-01-02"], "age:2026-01-01,missing=suppress")
    assert found == ["36", None]
