"""Rows put on the lines of a policy, against looking at every pair."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.builders import build_hierarchy
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.policy.dates import rebase_dates
from incrowd.methods.policy.method import Policy
from incrowd.methods.policy.search import first_covering
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent
from incrowd.tables.columns.types import ColumnKind

TREE = Hierarchy.from_ladder("a", [["0", "1", "2", "3"], ["0-1", "0-1", "2-3", "2-3"]])
"""Four leaves, two pairs of them, and the root."""


@given(st.integers(0, 2**32 - 1))
def test_the_first_line_that_holds_a_row(seed):
    random = np.random.default_rng(seed)
    places = random.integers(0, 6, (3, 20)).astype(np.int32)
    low = random.integers(0, 6, (3, 8)).astype(np.int32)
    high = (low + random.integers(0, 6, (3, 8))).astype(np.int32)
    found = first_covering(places, low, high)
    for row in range(20):
        holding = [
            line
            for line in range(8)
            if all(low[c, line] <= places[c, row] < high[c, line] for c in range(3))
        ]
        assert found[row] == (holding[0] if holding else -1)


def policy_of(folder, lines, **settings):
    path = folder / "combinations.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([["a", "b"], *lines])
    return Policy(str(path), **settings)


def shown(method, pairs, k):
    nodes = np.asarray(pairs, dtype=np.int32).T.copy()
    rows = Rows(("a", "b"), nodes, (TREE, TREE))
    found = method.run(rows, Conditions(k), LocalEngine(threads=1), 0, silent)
    labels = [[TREE.all_labels[node] for node in found.nodes[column]] for column in range(2)]
    return list(zip(*labels, strict=True)), found


def test_the_cheapest_valid_line(tmp_path):
    method = policy_of(tmp_path, [["*", "*"], ["0-1", "0-1"], ["0", "*"], ["2-3", "9"]])
    rows = [(0, 0), (0, 1), (1, 0), (2, 2), (3, 3), (3, 2)]
    labels, found = shown(method, rows, 3)
    assert labels == [("0-1", "0-1")] * 3 + [("*", "*")] * 3
    assert found.trace.figures == {
        "policy_combinations": 4,
        "policy_combinations_unknown": 1,
        "policy_combinations_used": 2,
        "unfit_rows": 0,
    }


def test_groups_give_what_they_can_spare(tmp_path):
    """Two rows fit no other line than 0-1, *, and the three of 0, * can spare one."""
    method = policy_of(tmp_path, [["0", "*"], ["0-1", "*"]])
    labels, _ = shown(method, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)], 3)
    assert sorted(labels) == [("0", "*")] * 3 + [("0-1", "*")] * 3


def test_what_fits_nowhere_is_refused_or_searched(tmp_path):
    rows = [(0, 0)] * 3 + [(3, 3)]
    with pytest.raises(InfeasibleError, match="1 of 4 rows"):
        shown(policy_of(tmp_path, [["0", "0"]]), rows, 2)
    labels, found = shown(policy_of(tmp_path, [["0", "0"]], unfit="search"), rows, 2)
    assert sorted(labels) == [("*", "*")] * 2 + [("0", "0")] * 2, "the one row takes one along"
    assert found.trace.figures["searched_rows"] == 4
    rows += [(3, 3)]
    labels, found = shown(policy_of(tmp_path, [["0", "0"]], unfit="search"), rows, 2)
    assert labels == [("0", "0")] * 3 + [("3", "3")] * 2
    assert found.trace.figures["searched_rows"] == 2


def test_groups_that_lack_rows_meet_in_another(tmp_path):
    """Two people whose own combinations are too small share the next one that covers both."""
    method = policy_of(tmp_path, [["0", "0"], ["0", "1"], ["0", "*"], ["1", "*"]])
    rows = Rows(("a", "b"), np.array([[0, 0, 1, 1], [0, 1, 2, 3]], np.int32), (TREE, TREE))
    people = Conditions(2, person_of_row=np.array([0, 1, 2, 3], np.int32))
    found = method.run(rows, people, LocalEngine(threads=1), 0, silent)
    labels = [[TREE.all_labels[node] for node in column] for column in found.nodes]
    assert labels == [["0", "0", "1", "1"], ["*"] * 4]
    assert found.trace.figures["unfit_rows"] == 0


def test_the_smallest_group_is_given_up_first(tmp_path):
    """One row of 0, 0 makes the group of two in 0-1, 0 valid; both are too small alone."""
    method = policy_of(tmp_path, [["0", "0"], ["0-1", "0"]])
    rows = Rows(("a", "b"), np.array([[0, 1, 1], [0, 0, 0]], np.int32), (TREE, TREE))
    people = Conditions(3, person_of_row=np.array([0, 1, 2], np.int32))
    found = method.run(rows, people, LocalEngine(threads=1), 0, silent)
    assert {TREE.all_labels[node] for node in found.nodes[0]} == {"0-1"}


@pytest.mark.parametrize("lines", [[], [["8", "9"]], [["3", "3"]]])
def test_a_batch_that_no_line_holds(tmp_path, lines):
    """The policy has no lines, none in these hierarchies, or none with enough rows."""
    rows = [(0, 0), (0, 1), (1, 0), (1, 1)]
    with pytest.raises(InfeasibleError, match="4 of 4 rows"):
        shown(policy_of(tmp_path, lines), rows, 2)
    labels, found = shown(policy_of(tmp_path, lines, unfit="search"), rows, 2)
    assert min(map(labels.count, labels)) >= 2
    assert found.trace.figures["searched_rows"] == 4
    assert found.trace.figures["policy_combinations_used"] == 0


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_whatever_is_shown_is_valid_and_true(tmp_path_factory, seed, k):
    random = np.random.default_rng(seed)
    labels = TREE.all_labels
    lines = {tuple(labels[node] for node in random.integers(0, 7, 2)) for _ in range(6)}
    rows = [tuple(random.integers(0, 4, 2).tolist()) for _ in range(int(random.integers(k, 15)))]
    method = policy_of(tmp_path_factory.mktemp("policy"), sorted(lines))
    try:
        released, _ = shown(method, rows, k)
    except InfeasibleError:
        return
    for line, row in zip(released, rows, strict=True):
        assert released.count(line) >= k
        assert line in lines
        for label, leaf in zip(line, row, strict=True):
            assert TREE.node_of_label[label] in TREE.ancestors(leaf)


# ── dates that move ─────────────────────────────────────────────────────────────────────────

DAYS = ["2026-10-05", "2026-10-09", "2026-11-01", "2026-11-30", "2027-01-02"]
DATES = build_hierarchy(
    HierarchySpec("dates", units=("month", "year")), "b", DAYS, ColumnKind("date")
).with_leaves([""])


def rebased(combinations, pairs):
    """Return combinations re-based to rows, both as labels."""
    trees = (TREE, DATES)
    nodes, cells = (
        np.asarray(
            [
                [tree.node_of_label[line[place]] for line in lines]
                for place, tree in enumerate(trees)
            ],
            dtype=np.int32,
        ).reshape(2, len(lines))
        for lines in (combinations, pairs)
    )
    found = rebase_dates(nodes, Rows(("a", "b"), cells, trees), ("b",))
    return sorted(
        tuple(tree.all_labels[node] for tree, node in zip(trees, line, strict=True))
        for line in found.T.tolist()
    )


def test_periods_keep_their_unit():
    november = [("0", "2026-11-01"), ("1", "2026-11-30"), ("2", "")]
    assert rebased([("0-1", "2026-10")], november) == [("0-1", ""), ("0-1", "2026-11")]
    assert rebased([("0", "2026-10-05"), ("0", "2026-10-09")], november) == [
        ("0", ""),
        ("0", "2026-11-01"),
        ("0", "2026-11-30"),
    ]
    assert rebased([("0", "2026")], [("0", "2027-01-02")]) == [("0", "2027")]
    assert rebased([("0", "*"), ("1", "")], november) == [("0", "*"), ("1", "")]
    assert rebased([], november) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(TREE.all_labels), st.sampled_from(DATES.all_labels)),
        max_size=6,
        unique=True,
    ),
    st.lists(
        st.tuples(st.sampled_from(TREE.labels[:4]), st.sampled_from(DATES.labels[: len(DAYS)])),
        min_size=1,
        max_size=6,
    ),
)
def test_rebased_combinations_by_hand(combinations, rows):
    """Every unit of a combination with every period of that unit that a row lies in."""

    def unit(label):
        return 0 if label in ("*", "") else len(label)

    expected = set()
    for first, period in combinations:
        if not unit(period):
            expected.add((first, period))
            continue
        for _, day in rows:
            expected.add((first, day[: unit(period)]))
    assert rebased(combinations, rows) == sorted(expected)
