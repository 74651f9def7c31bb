"""Rows put on the lines of a policy, against looking at every pair."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.policy.method import Policy
from incrowd.methods.policy.search import first_lines
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent

TREE = Hierarchy.from_ladder("a", [["0", "1", "2", "3"], ["0-1", "0-1", "2-3", "2-3"]])
"""Four leaves, two pairs of them, and the root."""


@given(st.integers(0, 2**32 - 1))
def test_the_first_line_that_holds_a_row(seed):
    random = np.random.default_rng(seed)
    places = random.integers(0, 6, (3, 20)).astype(np.int32)
    low = random.integers(0, 6, (3, 8)).astype(np.int32)
    high = (low + random.integers(0, 6, (3, 8))).astype(np.int32)
    found = first_lines(places, low, high)
    for row in range(20):
        holding = [
            line
            for line in range(8)
            if all(low[c, line] <= places[c, row] < high[c, line] for c in range(3))
        ]
        assert found[row] == (holding[0] if holding else -1)


def policy_of(folder, lines, **settings):
    path = folder / "lines.csv"
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
    assert found.trace.figures == {"policy_lines": 4, "policy_lines_used": 2, "unfit_rows": 0}


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
