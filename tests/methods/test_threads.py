"""Searches on several threads: the same result as on one, and no thread for tiny inputs."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from incrowd import threads
from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.facility.method import Facility
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.rbat import parts, validity
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.shared import cuts
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.item_parts import KmConditions
from incrowd.methods.shared.set_groups import cut as set_cuts
from incrowd.methods.shared.set_groups.vote import SetConditions
from incrowd.progress import silent
from incrowd.sets.sets import Sets
from methods.rule_instances import conditions_of
from oracles.generated import grid

N_THREADS = (1, 2, 5)


@pytest.fixture
def started(monkeypatch):
    """Return a list that gets the size of every pool of threads that is started."""
    sizes = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, n_threads):
            sizes.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Counted)
    return sizes


def many_ties(n_rows=3_000, n_items=40, seed=0):
    """Return sets with few items, of which some are equal and some are empty."""
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(rng.random(n_items) < 0.1) for _ in range(n_rows // 3)]
    rows = [rows[place] for place in rng.integers(0, len(rows), n_rows)]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Sets(starts, np.concatenate(rows).astype(np.int32), n_items)


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def conditions_on(n_rows):
    rng = np.random.default_rng(1)
    mixed = SensitiveCondition(rng.integers(-1, 4, n_rows).astype(np.int32), 4, 2.0)
    close = SensitiveCondition(rng.integers(0, 3, n_rows).astype(np.int32), 3, t=0.4)
    people = rng.integers(0, n_rows // 2, n_rows).astype(np.int32)
    own = rng.integers(1, 9, n_rows).astype(np.int32)
    return {
        "k": Conditions(4),
        "l": Conditions(4, sensitive=(mixed,)),
        "t": Conditions(4, sensitive=(close,)),
        "person": Conditions(4, person_of_row=people),
        "own k": Conditions(2, k_of_row=own),
    }


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ["k", "l", "t", "person", "own k"])
def test_mondrian_on_tables(monkeypatch, started, name, strict):
    monkeypatch.setattr(cuts, "ROWS_PER_THREAD", 50)
    monkeypatch.setattr(cuts, "ROWS_PER_TURN", 1)  # a part a turn
    rows = grid(4_000, n_codes=40)
    conditions = conditions_on(rows.n_rows)[name]
    found = [
        Mondrian(strict=strict).run(rows, conditions, LocalEngine(number), 0, silent).nodes
        for number in N_THREADS
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert started == [1, 4]  # the caller's own thread works, too
    assert len(np.unique(found[0], axis=1).T) > 20


@pytest.mark.parametrize("has_own_k", [False, True])
def test_mondrian_on_sets(monkeypatch, started, has_own_k):
    monkeypatch.setattr(set_cuts, "ROWS_PER_THREAD", 50)
    monkeypatch.setattr(set_cuts, "LOOKS_PER_TURN", 1)
    sets = many_ties()
    own = np.random.default_rng(1).integers(1, 9, sets.n_rows).astype(np.int32)
    conditions = SetConditions("smooth", 3, k_of_row=own if has_own_k else None)
    found = [
        Mondrian().search(sets, conditions, LocalEngine(number), 0, silent) for number in N_THREADS
    ]
    for other in found[1:]:
        assert (found[0].group_of_row == other.group_of_row).all()
        assert found[0].figures == other.figures
    assert found[0].figures["n_groups"] == found[0].group_of_row.max() + 1 > 20
    assert started == [1, 4]


def test_tiny_inputs_start_no_threads(started):
    rows, sets, engine = grid(200), many_ties(200), LocalEngine(5)
    for conditions in conditions_on(rows.n_rows).values():
        Mondrian().run(rows, conditions, engine, 0, silent)
    Mondrian().search(sets, SetConditions("smooth", 3), engine, 0, silent)
    for variant in ("practical", "alg1", "alg2"):
        Facility(variant=variant).search(sets, SetConditions("smooth", 3), engine, 0, silent)
    Rbat().search(sets, rules_on(sets, 34), engine, 0, silent)
    Rbat().search(sets, km_on(sets, 34, 2), engine, 0, silent)
    assert started == []


# ── transactions ────────────────────────────────────────────────────────────────────────────────


def rules_on(sets, n_public, n_rules=60):
    """Return rules over items of the transactions that some splits break."""
    rng = np.random.default_rng(2)
    pairs = []
    for _ in range(n_rules):
        public = frozenset(rng.choice(n_public, rng.integers(1, 4), replace=False).tolist())
        pairs.append((public, frozenset([int(rng.integers(n_public, sets.n_items))])))
    return conditions_of(pairs, 20, 0.4, sets.n_items, n_public)


def km_on(sets, n_public, m):
    is_sensitive = np.arange(sets.n_items) >= n_public
    return KmConditions({1: 4, 2: 30, 3: 4}[m], m, is_sensitive, np.ones(sets.n_items))


@pytest.mark.parametrize("name", ["rules", "km 1", "km 2", "km 3"])
def test_rbat(monkeypatch, started, name):
    monkeypatch.setattr(validity, "ROWS_PER_THREAD", 32)
    monkeypatch.setattr(parts, "ROWS_PER_THREAD", 32)
    sets, n_public = many_ties(), 34
    conditions = rules_on(sets, n_public)
    if name != "rules":
        conditions = km_on(sets, n_public, int(name[-1]))
    found = [
        Rbat().search(sets, conditions, LocalEngine(number), 0, silent) for number in N_THREADS
    ]
    for other in found[1:]:
        assert (found[0].part_of_item == other.part_of_item).all()
        assert found[0].figures == other.figures
        assert (found[0].tree.left == other.tree.left).all()
    assert 3 < found[0].figures["parts"] < n_public or name == "km 1"
    assert started == [1, 4]


# ── spans ───────────────────────────────────────────────────────────────────────────────────────


class Halves:
    """Cuts a span in two down to single places, and notes them with the thread that saw them."""

    def __init__(self, n, n_stacks, fails_at=-1):
        self.stacks = [
            _Stack(np.zeros((n + 1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64))
            for _ in range(n_stacks)
        ]
        self.stacks[0].spans[0] = 0, n
        self.stacks[0].counters[0] = 1
        self.fails_at = fails_at
        self.seen = []

    def cut(self, stack):
        if stack.counters[0] == 0:  # all was given away
            return True
        place = stack.counters[0] - 1
        first, end = map(int, stack.spans[place])
        stack.counters[0] -= 1
        if first <= self.fails_at < end and end - first == 1:
            raise ValueError("the place that fails")
        if end - first == 1:
            self.seen.append((first, threading.get_ident()))
        else:
            middle = (first + end) // 2
            stack.spans[place : place + 2] = (middle, end), (first, middle)
            stack.counters[0] += 2
        return stack.counters[0] == 0


class _Stack:
    def __init__(self, spans, counters):
        self.spans, self.counters = spans, counters


@pytest.mark.parametrize("n_stacks", [1, 2, 5])
@pytest.mark.parametrize("n_kept", [0, 1])
def test_every_span_is_cut_once(n_stacks, n_kept):
    halves = Halves(500, n_stacks)
    threads.cut_spans(halves.stacks, halves.cut, lambda: None, n_kept)
    assert sorted(place for place, _ in halves.seen) == list(range(500))


def test_a_thread_that_waits_is_given_spans():
    halves = Halves(256, 2)
    cutters = set()

    def cut(stack):
        cutters.add(threading.get_ident())
        if len(cutters) == 1:
            time.sleep(0.01)  # until the other has begun to wait
        return halves.cut(stack)

    threads.cut_spans(halves.stacks, cut, lambda: None)
    assert len(cutters) == 2
    assert sorted(place for place, _ in halves.seen) == list(range(256))


@pytest.mark.parametrize("n_stacks", [1, 2, 5])
def test_an_error_of_a_thread_ends_all(n_stacks):
    halves = Halves(500, n_stacks, fails_at=137)
    with pytest.raises(ValueError, match="fails"):
        threads.cut_spans(halves.stacks, halves.cut, lambda: None)
