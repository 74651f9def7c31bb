"""Sizes of groups and what people got of their wishes, recounted with Counter."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.figures.blocks import Bars, Facts, Listing, Steps
from incrowd.figures.groups import (
    bin_edges,
    count_between,
    requested_sizes_section,
    sizes_section,
    table_group_of_row,
)
from incrowd.tables.table import Table

rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y", "z"])), min_size=1
)


def block(section, kind):
    return next(one for one in section.blocks if isinstance(one, kind))


@given(rows)
def test_groups_are_equal_rows(people):
    frame = pa.table({"one": [p[0] for p in people], "two": [p[1] for p in people]})
    found = table_group_of_row(Table(frame), ic.Schema(quasi=["one", "two"]))
    group_of = {}
    for person, group in zip(people, found.tolist(), strict=True):
        assert group_of.setdefault(person, group) == group
    assert len(set(group_of.values())) == len(set(people))


@given(rows, st.integers(2, 6))
def test_sizes_are_recounted(people, k):
    sizes = Counter(people)
    number = {person: place for place, person in enumerate(sizes)}
    groups = np.array([number[person] for person in people])
    section = sizes_section(groups, k, "one, two")
    facts = dict(block(section, Facts).facts)
    assert facts["groups"] == len(sizes)
    assert facts["smallest group"] == min(sizes.values())
    assert facts["largest group"] == max(sizes.values())
    middle = sorted(sizes[person] for person in people)[len(people) // 2]
    assert facts["median group, by row"] == middle
    assert facts["rows in groups below 2k"] == sum(size for size in sizes.values() if size < 2 * k)
    steps = block(section, Steps)
    assert sum(steps.series["rows"]) == len(people)
    assert steps.mark == (k, f"promised: {k}")
    of_size = Counter(sizes[person] for person in people)
    for low, high, shown in zip(steps.edges, steps.edges[1:], steps.series["rows"], strict=False):
        assert shown == sum(n for size, n in of_size.items() if low <= size < high)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 30)), min_size=1))
def test_wishes_are_recounted(people):
    sizes = Counter(group for group, _ in people)
    number = {group: place for place, group in enumerate(sizes)}
    groups = np.array([number[group] for group, _ in people])
    wishes = np.array([wish for _, wish in people])
    section = requested_sizes_section(groups, wishes)
    listing = block(section, Listing)
    assert sum(row[1] for row in listing.rows) == len(people)
    assert sum(row[5] for row in listing.rows) == sum(sizes[g] < wish for g, wish in people)
    assert min(row[2] for row in listing.rows) == min(sizes.values())
    for says, n_people, smallest, _, largest, _ in listing.rows:
        low, _, high = says.partition(" to ")
        mine = [sizes[g] for g, wish in people if int(low) <= wish <= int(high or low)]
        assert (n_people, smallest, largest) == (len(mine), min(mine), max(mine))
    shares = block(section, Bars).series["people"]
    assert abs(sum(shares) - 1) < 1e-9


@given(st.lists(st.integers(0, 10**7), min_size=1), st.integers(0, 3))
def test_every_number_is_in_one_range(numbers, least):
    numbers = [max(least, number) for number in numbers]
    edges, _ = bin_edges(max(numbers), least)
    assert all(a < b for a, b in pairwise(edges))
    assert edges[0] <= min(numbers)
    assert edges[-1] > max(numbers)
    assert len(edges) < 170
    assert count_between(np.array(numbers), edges).sum() == len(numbers)


def test_no_rows_are_said():
    section = sizes_section(np.zeros(0, dtype=np.int64), 5, "age")
    assert section.blocks == ()
    assert "no rows" in section.text[0]
