"""Rules in arrays: other items' numbers, duplicates, and their closure, against plain sets."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import JobError
from incrowd.transactions import closure as rule_closure
from incrowd.transactions.closure import close_rules
from incrowd.transactions.rule_files import format_rules
from incrowd.transactions.rules import Rules

N_PUBLIC, N_ITEMS = 5, 8
NAMES = pa.array(list("abcdexyz"))
IS_SENSITIVE = np.arange(N_ITEMS) >= N_PUBLIC

public = st.frozensets(st.integers(0, N_PUBLIC - 1), min_size=1)
sensitive = st.frozensets(st.integers(N_PUBLIC, N_ITEMS - 1), min_size=1)
stated_rules = st.lists(st.tuples(public, sensitive), max_size=7)


def made(stated):
    return Rules.of([(list(p), list(s)) for p, s in stated], NAMES)


def pairs(rules):
    found = []
    for number in range(rules.n_rules):
        p = rules.public[rules.public_starts[number] : rules.public_starts[number + 1]]
        s = rules.sensitive[rules.sensitive_starts[number] : rules.sensitive_starts[number + 1]]
        assert p.tolist() == sorted(set(p.tolist()))
        assert s.tolist() == sorted(set(s.tolist()))
        found.append((frozenset(p.tolist()), frozenset(s.tolist())))
    return found


@given(stated_rules)
def test_rules_once_each_where_they_first_stand(stated):
    assert pairs(made(stated).distinct()) == list(dict.fromkeys(stated))


@given(stated_rules, st.sampled_from(["none", "sensitive", "all"]))
def test_closures_are_what_they_say(stated, how):
    rules = close_rules(made(stated), IS_SENSITIVE, how)
    found = pairs(rules)
    own = list(dict.fromkeys(stated))
    wanted = set(own)
    for p, _ in stated:
        parts = {
            "none": [],
            "sensitive": [p],
            "all": [c for size in range(1, len(p) + 1) for c in combinations(sorted(p), size)],
        }[how]
        wanted |= {
            (frozenset(part), frozenset([item]))
            for part in parts
            for item in range(N_PUBLIC, N_ITEMS)
        }
    assert found[: len(own)] == own
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert rules.public.dtype == np.int32
    assert rules.sensitive.dtype == np.int32
    assert rules.public_starts.dtype == np.int64
    assert rules.sensitive_starts.dtype == np.int64


def test_closures_that_are_too_large_are_refused_before_they_are_made(monkeypatch):
    rules = made([({0, 1, 2, 3, 4}, {5}), ({0}, {6})])
    monkeypatch.setattr(rule_closure, "MOST_RULES", 93)
    assert close_rules(rules, IS_SENSITIVE, "all").n_rules == 93
    monkeypatch.setattr(rule_closure, "MOST_RULES", 92)
    with pytest.raises(JobError, match="at least 93 rules"):
        close_rules(rules, IS_SENSITIVE, "all")
    assert close_rules(rules, IS_SENSITIVE, "sensitive").n_rules == 6
    monkeypatch.setattr(rule_closure, "MOST_RULES", 5)
    with pytest.raises(JobError, match="at least 6 rules"):
        close_rules(rules, IS_SENSITIVE, "sensitive")
    wide = Rules.of([(list(range(40)), [40])], pa.array([str(item) for item in range(41)]))
    with pytest.raises(JobError, match="1,099,511,627,775"):
        close_rules(wide, np.arange(41) == 40, "all")


def test_a_closure_that_does_not_exist():
    with pytest.raises(JobError, match="unknown closure 'most'"):
        close_rules(made([]), IS_SENSITIVE, "most")


def test_rules_in_the_numbers_of_other_items():
    rules = made([({0, 2}, {5, 6}), ({1, 3}, {7}), ({4}, {5})])
    other = rules.in_items(pa.array(["y", "x", "e", "d", "c", "a"]))
    assert [other.rule(0), other.rule(2)] == [(["c", "a"], ["y", "x"]), (["e"], ["x"])]
    assert other.public.tolist() == [4, 5, -1, 3, 2]
    assert other.sensitive.tolist() == [0, 1, -1, 1]
    assert other.lacks_public.tolist() == [False, True, False]
    assert other.lacks_sensitive.tolist() == [False, True, False]
    assert not rules.lacks_public.any()
    with pytest.raises(IndexError):
        other.rule(1)
    with pytest.raises(ValueError, match="none of the names"):
        list(format_rules(other))
    assert made([]).lacks_public.tolist() == []


def test_items_that_are_numbers_there():
    rules = Rules.of([([0, 1], [2])], pa.array(["10", "2", "7"]))
    other = rules.in_items(pa.array([2, 7, 10]))
    assert other.rule(0) == (["2", "10"], ["7"])
