"""The workload adaptive: generated tables, crowds and belief, the least cover, nearest rows."""

import csv
import gzip
import itertools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.adaptive import exact, nearest, runs
from benchmarks.adaptive.data import (
    GENERATED,
    WishedTable,
    census,
    class_of_hand,
    hands,
    payments,
)
from benchmarks.adaptive.exact import CompleteGraph, bound, first_covers, masks_of_edges, optimum
from benchmarks.adaptive.nearest import by_numpy, by_scikit_learn, one_hot_floats
from incrowd import covers
from incrowd.methods.adaptive.search import Problem

# ── generated tables ────────────────────────────────────────────────────────────────────────────


def class_by_hand(cards):
    """Tell a hand of (suit, rank) as UCI does; rank 0 is the ace."""
    ranks = sorted(rank for _, rank in cards)
    counts = sorted(Counter(ranks).values(), reverse=True)
    is_flush = len({suit for suit, _ in cards}) == 1
    is_royal = ranks == [0, 9, 10, 11, 12]
    is_straight = is_royal or ranks == list(range(ranks[0], ranks[0] + 5))
    if is_flush and is_straight:
        return 9 if is_royal else 8
    if is_flush:
        return 5
    if is_straight:
        return 4
    return {(1,): 0, (2, 1): 1, (2, 2): 2, (3, 1): 3, (3, 2): 6, (4, 1): 7}[
        tuple(counts[:2]) if counts[0] > 1 else (1,)
    ]


def test_hands_are_five_cards_and_their_class():
    made = hands(20_000, seed=3)
    assert made.codes.dtype == np.uint8
    assert made.n_values.sum() == 95
    assert (made.codes.max(axis=1) < made.n_values).all()
    deals = [
        [(suit, rank) for suit, rank in zip(row[0:10:2], row[1:10:2], strict=True)]
        for row in made.codes.T.tolist()
    ]
    assert all(len(set(deal)) == 5 for deal in deals)
    assert made.codes[10].tolist() == [class_by_hand(deal) for deal in deals]
    cards = Counter(card for deal in deals for card in deal)
    assert len(cards) == 52
    assert max(cards.values()) / min(cards.values()) < 1.25
    assert 0.41 < (made.codes[10] == 1).mean() < 0.435  # one pair: 0.4226


@pytest.mark.parametrize(
    ("cards", "its_class"),
    [
        ([(0, 0), (0, 9), (0, 10), (0, 11), (0, 12)], 9),
        ([(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)], 8),
        ([(0, 5), (1, 5), (2, 5), (3, 5), (0, 4)], 7),
        ([(0, 5), (1, 5), (2, 5), (3, 4), (0, 4)], 6),
        ([(1, 0), (0, 9), (0, 10), (0, 11), (0, 12)], 4),
        ([(1, 1), (0, 9), (0, 10), (0, 11), (0, 12)], 0),
    ],
)
def test_rare_classes(cards, its_class):
    suits, ranks = np.array(cards).T
    assert class_of_hand(suits[:, None], ranks[:, None]).tolist() == [its_class]
    assert class_by_hand(cards) == its_class


def test_classes_are_those_of_the_real_file():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    with gzip.open(Path(folder) / "poker/poker_train.csv.gz", "rt") as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=np.int64).T
    found = class_of_hand(rows[0:10:2] - 1, rows[1:10:2] - 1)
    assert found.tolist() == rows[10].tolist()


@pytest.mark.parametrize(
    ("made", "n_attributes", "width"), [(census, 68, 355), (payments, 32, 512)]
)
def test_generated_tables_have_the_stated_shape(made, n_attributes, width):
    table = made(3_000, seed=1)
    assert table.codes.shape == (n_attributes, 3_000)
    assert len(table.names) == n_attributes
    assert table.n_values.sum() == width
    assert (table.codes.max(axis=1) < table.n_values).all()
    assert (made(500, seed=1).codes == table.codes[:, :500]).all()  # a prefix, whatever the length
    assert made(3_000, seed=1).sha256 == table.sha256
    assert made(3_000, seed=2).sha256 != table.sha256
    top = [Counter(line).most_common(1)[0][1] / 3_000 for line in table.codes.tolist()]
    assert 0.35 < sum(top) / n_attributes < 0.85


def test_people_of_the_census_are_as_near_as_the_real_ones():
    rows = census(99).codes.T
    apart = (rows[:, None, :] != rows[None, :, :]).sum(axis=2)
    np.fill_diagonal(apart, 99)
    others = apart[~np.eye(99, dtype=bool)]
    assert 24 < others.mean() < 31
    nearest = np.sort(apart, axis=1)
    assert 7.5 < nearest[:, 0].mean() < 12
    assert 11 < nearest[:, 4].mean() < 17


# ── what is looked at after a run ───────────────────────────────────────────────────────────────


def problems(is_bit, n_rows=12, seed=0):
    draw = np.random.default_rng(seed)
    n_values = np.array([2, 3, 4], dtype=np.int64)
    codes = np.array([draw.integers(0, most, n_rows) for most in n_values], dtype=np.int32)
    return Problem(codes, n_values, draw.integers(1, 5, n_rows).astype(np.int32), is_bit)


@pytest.mark.parametrize("is_bit", [True, False])
def test_crowds_by_comparing_texts(is_bit):
    problem = problems(is_bit)
    draw = np.random.default_rng(1)
    is_masked = draw.random((problem.n_rows, problem.n_cells)) < 0.6
    columns = [runs.cells_of(problem, cell) for cell in range(problem.n_cells)]
    cells = np.column_stack(columns).tolist()
    assert {sum(row) for row in cells} == {3} or not is_bit

    def fits(person, row):
        return all(
            is_masked[row, cell] or cells[person][cell] == cells[row][cell]
            for cell in range(problem.n_cells)
        )

    rows = range(problem.n_rows)
    wanted = [sum(fits(one, other) and fits(other, one) for other in rows) for one in rows]
    found = runs.mutual_crowds(problem, is_masked, np.arange(problem.n_rows))
    assert found.tolist() == wanted
    assert len(set(wanted)) > 1


def test_a_release_in_which_somebody_is_short_does_not_count():
    problem = problems(False)
    everything = np.ones((12, 3), dtype=np.bool_)
    assert runs.recount(problem, everything) == {"n_recounted": 12}
    nothing = np.zeros((12, 3), dtype=np.bool_)
    with pytest.raises(RuntimeError, match="lack their crowd"):
        runs.recount(problem, nothing)


def test_belief_in_a_release_that_shows_everything_or_nothing():
    problem = problems(False)
    with pytest.raises(RuntimeError, match="without their crowd"):
        runs.audit_belief(problem, np.zeros((12, 3), dtype=np.bool_))
    hidden = runs.audit_belief(problem, np.ones((12, 3), dtype=np.bool_))
    assert hidden["sum_p"] == pytest.approx(1.0)
    assert hidden["n_over"] == 0
    assert hidden["worst_p_times_k"] == pytest.approx(problem.k.max() / 12)
    content = Problem(problem.codes, problem.n_values, np.ones(12, dtype=np.int32))
    shown = runs.audit_belief(content, np.zeros((12, 3), dtype=np.bool_))
    profiles = {tuple(row) for row in problem.codes.T.tolist()}
    assert shown["sum_p"] == pytest.approx(len(profiles))  # 1/z for each of z equal rows


def test_generated_tables_need_no_files(tmp_path):
    for name in GENERATED:
        problem = WishedTable(name, 5, 100, 50).problem(tmp_path)
        assert problem.n_rows == 50
        assert problem.k.max() <= 50


def test_tables_have_the_paper_s_widths():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    widths = {"caltech36": (769, 101), "reed98": (962, 139), "adult": (32_561, 102)}
    for name, shape in {**widths, "poker": (75_010, 95)}.items():
        problem = WishedTable(name, 2, 5).problem(Path(folder))
        assert (problem.n_rows, problem.n_cells) == shape


# ── the least cover ─────────────────────────────────────────────────────────────────────────────


def least_by_trying(graph):
    edges = list(zip(graph.lower.tolist(), graph.upper.tolist(), strict=True))
    best = None
    for size in range(len(edges) + 1):
        for chosen in itertools.combinations(range(len(edges)), size):
            ends = [end for edge in chosen for end in edges[edge]]
            if all(ends.count(vertex) >= b for vertex, b in enumerate(graph.b.tolist())):
                weight = sum(int(graph.weight[edge]) for edge in chosen)
                best = weight if best is None else min(best, weight)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_least_cover_by_trying_all(seed):
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 3, (4, 5))
    graph = CompleteGraph.of_rows(codes, draw.integers(0, 4, 5))
    proven = bound(graph)
    least = least_by_trying(graph)
    assert proven.weight <= least + 1e-6
    found = optimum(graph, proven, int(graph.weight.sum()), 20)
    assert (found.weight, found.is_proven) == (least, True)


def test_more_edges_are_asked_for_where_the_light_ones_do_not_do(monkeypatch):
    monkeypatch.setattr(exact, "_FIRST", 1)
    codes = np.random.default_rng(3).integers(0, 3, (5, 60))
    graph = CompleteGraph.of_rows(codes, np.random.default_rng(4).integers(1, 4, 60))
    from scipy.optimize import linprog

    rows = np.zeros((60, len(graph.weight)))
    rows[graph.lower, np.arange(len(graph.weight))] = 1
    rows[graph.upper, np.arange(len(graph.weight))] = 1
    whole = linprog(graph.weight, A_ub=-rows, b_ub=-graph.b, bounds=(0, 1))
    found = bound(graph)
    assert found.weight == pytest.approx(whole.fun)
    assert found.n_rounds > 1


def test_masks_of_a_cover_are_those_of_the_first_iteration(data_folder):
    problem = WishedTable("caltech36", 2, 5, 40).problem(data_folder)
    first = first_covers(problem, 20)
    assert first["covers"]["mce"]["weight"] <= first["covers"]["nearest"]["weight"]
    graph = CompleteGraph.of_rows(problem.codes, problem.k - 1)
    is_taken = covers.mce(graph.lower, graph.upper, graph.weight, graph.b)
    is_masked = masks_of_edges(
        problem.codes, problem.first_cell, graph.lower[is_taken], graph.upper[is_taken]
    )
    runs.recount(problem, is_masked)
    assert first["covers"]["mce"]["shown"] == pytest.approx(1 - is_masked.mean(), abs=1e-6)


# ── plain searches ──────────────────────────────────────────────────────────────────────────────


def test_plain_searches_find_the_nearest(tmp_path):
    problem = WishedTable("hands", 5, 20, 300).problem(tmp_path)
    bits = one_hot_floats(problem.codes, problem.n_values)
    rows = problem.codes.T
    apart = 2 * (rows[:, None, :] != rows[None, :, :]).sum(axis=2)
    wanted = np.sort(apart, axis=1)[:, :7]
    assert np.array_equal(by_numpy(bits, bits[::3], 7), wanted[::3])
    assert np.array_equal(by_scikit_learn(bits, bits[::3], 7), wanted[::3])


def test_other_distances_are_refused(tmp_path, monkeypatch):
    problem = WishedTable("hands", 5, 20, 300).problem(tmp_path)
    ways = [one["way"] for one in nearest.compare_ways(problem, 19)]
    assert ways == ["incrowd", "NumPy", "scikit-learn"]
    monkeypatch.setattr(nearest, "by_numpy", lambda *given: by_numpy(*given) + 2)
    with pytest.raises(RuntimeError, match="other distances"):
        nearest.compare_ways(problem, 19)
