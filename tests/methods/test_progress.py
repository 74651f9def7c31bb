"""How far a search says it is, what it says it lost, and how it ends when it is told to."""

import pickle
from collections import Counter

import numpy as np
import pytest

from incrowd import progress as interrupts
from incrowd.engines.local.engine import LocalEngine
from incrowd.measures.losses.tables import measure_losses
from incrowd.methods.cluster.method import Cluster
from incrowd.methods.greedy import search as greedy_search
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.parts import PartProgress
from incrowd.methods.shared.recreate import blocks, search
from incrowd.progress import silent
from oracles.generated import as_tuples, grid


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "LARGEST_WHOLE", 500)
    monkeypatch.setattr(blocks, "DISTINCT_PER_BLOCK", 300)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(search, "ROWS_PER_SLICE", 500)
    yield
    interrupts._stop.clear()


def followed(method, rows, k, threads=1):
    told = []
    after = method.run(
        rows, Conditions(k), LocalEngine(threads), 0, lambda *report: told.append(report)
    )
    return after, told


@pytest.mark.parametrize("metric", ["loss", "ncp", "nllm"])
def test_the_last_loss_is_the_audits(metric):
    rows = grid(2000)
    after, told = followed(Cluster(metric=metric, effort=3000), rows, 5)
    losses = [loss for _, _, _, loss in told]
    assert losses[-1] == pytest.approx(measure_losses(rows, after, 5)[metric], rel=1e-5)
    assert losses[-1] < losses[0]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.usefixtures("in_blocks")
def test_the_last_loss_of_blocks_is_the_audits():
    rows = grid(3000)
    after, told = followed(Cluster(effort=4000), rows, 5, threads=2)
    done = [n_done for _, n_done, _, _ in told]
    assert done == sorted(done)
    assert told[-1][1] == told[-1][2]
    assert len(set(done)) > 10
    assert told[-1][3] == pytest.approx(measure_losses(rows, after, 5)["loss"], rel=1e-5)


@pytest.mark.parametrize("n_blocks", [1, 8])
def test_a_search_that_is_told_to_end_does_so_with_valid_groups(n_blocks, request):
    if n_blocks > 1:
        request.getfixturevalue("in_blocks")
    rows = grid(3000)
    n_told = 0

    def impatient(*_report):
        nonlocal n_told
        n_told += 1
        if n_told == 3:
            interrupts._stop.set()

    after = Cluster(effort=100_000).run(rows, Conditions(5), LocalEngine(2), 0, impatient)
    assert min(Counter(as_tuples(after.nodes)).values()) >= 5
    figures = after.trace.figures
    assert figures["iterations"] == 100_000
    assert 0 < figures["iterations_done"] < 10_000
    assert "ended early" in after.trace.notes[0]


def test_a_wish_that_comes_before_the_search_leaves_the_first_groups():
    rows = grid(1000)
    interrupts._stop.set()
    after = Cluster(effort="5s").run(rows, Conditions(5), LocalEngine(1), 0, silent)
    assert min(Counter(as_tuples(after.nodes)).values()) >= 5
    assert after.trace.figures["iterations_done"] == 0


def test_greedy_tells_how_many_groups_are_valid(monkeypatch):
    monkeypatch.setattr(greedy_search, "MERGES_PER_SLICE", 50)
    rows = grid(2000)
    n_small = sum(size < 8 for size in Counter(as_tuples(rows.nodes)).values())
    _, told = followed(Greedy(), rows, 8)
    assert told[0][1:3] == (0, n_small)
    assert told[-1][1:3] == (n_small, n_small)
    done = [report[1] for report in told]
    assert done == sorted(done)
    assert len(set(done)) > 10


def test_progress_of_parts_adds_up_and_travels_as_silence():
    told = []
    weights = np.asarray([1.0, 3.0])
    parts = PartProgress(
        lambda *report: told.append(report), "x", 100, 200, 400, weights, np.asarray([1.0, 1.0])
    )
    parts.of(1)("", 1, 3, 0.5)
    parts.of(0)("", 4, 4, 0.25)
    assert told == [("x", 125, 400, None), ("x", 150, 400, 0.375)]
    travelled = pickle.loads(pickle.dumps(parts))
    travelled.of(0)("", 1, 1, 0.1)
    assert len(told) == 2
