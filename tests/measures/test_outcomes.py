"""What columns became, in words, against cells that were counted by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.encode import encode
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.outcomes import (
    choose_sample_rows,
    describe_outcome,
    describe_released,
    format_share,
)
from incrowd.tables.table import Table


def outcome_of(values, spec, shown):
    """Describe a column of values whose cells show the given labels."""
    table = Table(pa.table({"column": values}))
    before, _ = encode(table, ("column",), {"column": HierarchySpec.parse(spec)})
    hierarchy = before.hierarchies[0]
    counts = np.zeros(hierarchy.n_all_nodes, dtype=np.int64)
    for label, number in Counter(shown).items():
        counts[hierarchy.node_of_label[label]] += number
    return describe_outcome("column", hierarchy, counts)


DAYS = [f"{year}-{month:02}-05" for year in range(1970, 2000, 3) for month in (1, 6)]
ZIPS = ["20095", "20097", "20144", "10115", "10117"]


@pytest.mark.parametrize(
    ("values", "spec", "shown", "words"),
    [
        (DAYS, "dates:month,year,decade", ["1970-1979"] * 84 + ["*"] * 16, "decades, 16% supp"),
        (DAYS, "dates:month,year,decade", ["1970"] * 6 + ["1973-01"] * 4, "years (60%), months"),
        (DAYS, "dates:year", ["1970"] * 9, "years"),
        (DAYS, "flat", ["*"] * 3, "suppressed"),
        (DAYS, "flat", DAYS, "unchanged"),
        (DAYS, "flat", [*DAYS * 20, "*"], "unchanged, <1% suppressed"),
        (ZIPS, "prefix", ["200**", "201**"] * 5, "first 3 digits"),
        (["DE", "FR", "JP"], "country", ["Europe", "Asia"], "regions"),
        (["DE", "FR", "JP"], "country", ["Western Europe"], "subregions"),
        (ZIPS, "prefix", ["2****"], "first digit"),
        (["K52.1", "K52.3", "J11"], "prefix", ["K52.*"], "first 4 characters"),
        (
            [str(age) for age in range(100)],
            "intervals:5,10,20",
            ["20-24"] * 3 + ["20-39"] * 7,
            "ranges of 20 (70%), ranges of 5 (30%)",
        ),
        (
            [str(age) for age in range(100)],
            "ranges:5,from=10,to=90",
            ["20-24"] * 6 + ["30-49"] * 3 + ["<10"],
            "ranges of 5 to 20, median 5",
        ),
        ([str(age) for age in range(100)], "ranges:5,from=10,to=90", ["<10"], "open ranges"),
    ],
)
def test_cells_are_told_by_what_they_show(values, spec, shown, words):
    assert outcome_of(values, spec, shown).words.startswith(words)


def test_rare_kinds_are_told_together():
    tree = Hierarchy.from_ladder(
        "job",
        [["a", "b", "c", "d"], ["ab", "ab", "c", "d"], ["abc"] * 3 + ["d"], ["*"] * 4],
        origin="jobs.csv",
    )
    counts = np.zeros(tree.n_nodes, dtype=np.int64)
    for label, number in {"a": 1, "ab": 1, "abc": 988, "*": 10}.items():
        counts[tree.node_of_label[label]] = number
    found = describe_outcome("job", tree, counts)
    assert found.words == "level 2 of 3 (99%), other (<1%), 1% suppressed"
    assert (found.share_unchanged, found.share_suppressed) == (0.001, 0.01)
    assert str(found).startswith("job: level 2")


def test_a_file_alone_tells_its_values_and_stars():
    column = pa.chunked_array([["20-29", "*", "30-39", "*"]])
    assert str(describe_released("age", column)) == "age: 2 values or ranges, 50% suppressed"
    assert describe_released("age", pa.chunked_array([["*"]])).words == "suppressed"
    assert describe_released("age", pa.chunked_array([["x"]])).words == "1 value or range"


@given(st.integers(0, 10**9), st.integers(1, 9))
def test_sample_rows_are_spread_over_the_release(n_rows, n_wanted):
    places = choose_sample_rows(n_rows, n_wanted)
    assert len(places) == len(set(places)) == min(n_rows, n_wanted)
    assert all(0 <= place < n_rows for place in places)
    assert places == sorted(places)


@given(st.floats(0, 1))
def test_shares_never_claim_all_or_nothing(share):
    said = format_share(share)
    assert (said == "0%") == (share == 0)
    assert (said == "100%") == (share == 1)


def test_a_derived_column_says_what_it_holds_now():
    ages = Hierarchy.from_ladder("born", [["1", "2", "3"], ["1-2", "1-2", "3"], ["*"] * 3])
    ages = replace(ages, origin="age:2026-01-01,intervals:2")
    outcome = describe_outcome("born", ages, np.array([0, 0, 2, 8, 0]))
    assert outcome.words.startswith("age in completed years on 2026-01-01: ranges of 2")
