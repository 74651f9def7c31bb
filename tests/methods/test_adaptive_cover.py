"""Nearest neighbours and the cover search, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.covers import dominant, mce_by_matching
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import InfeasibleError, JobError
from incrowd.methods.adaptive import cover, neighbours
from incrowd.methods.adaptive import neighbours as ranked
from incrowd.methods.adaptive.kernels import covered as kernels
from incrowd.methods.adaptive.neighbours import (
    Ranked,
    Workshop,
    by_differences,
    by_weight,
    standing,
)
from incrowd.methods.adaptive.search import Problem
from incrowd.progress import silent
from incrowd.threads import use_threads
from methods.adaptive_problems import problem_of
from oracles import covers as oracle

ONE = LocalEngine(threads=1)

SMALL, LARGE = 1, 1 << 30
"""Bytes of memory: a slice per query, and few slices."""

FIGURE_3 = ["101010", "111110", "010101", "000001", "110000", "110001"]


@st.composite
def problems(draw, most_rows=14):
    """Tables with repeated rows, values that do not occur, and wishes of up to all rows."""
    n_values = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    codes = st.tuples(*(st.integers(0, count - 1) for count in n_values))
    rows = draw(st.lists(codes, min_size=1, max_size=most_rows))
    k = [draw(st.integers(1, min(6, len(rows)))) for _ in rows]
    return problem_of(rows, k, n_values, is_bit=draw(st.booleans()))


def rows_of(problem):
    return [tuple(row) for row in problem.codes.T.tolist()]


def cells_of(problem):
    rows = rows_of(problem)
    if not problem.is_bit:
        return rows
    return [oracle.one_hot(row, problem.n_values.tolist()) for row in rows]


def random_problem(seed, n_rows, n_values, is_bit, most_k=20):
    """A table of skewed values, so that some rows repeat, and random wishes."""
    random = np.random.default_rng(seed)
    codes = [np.minimum(random.geometric(0.3, n_rows) - 1, count - 1) for count in n_values]
    k = random.integers(1, most_k + 1, n_rows)
    return problem_of(np.array(codes).T, k, n_values, is_bit)


def lists_of_rows(by_rank, lists):
    """Return every row's neighbours as row numbers, and their distances."""
    found = {}
    for rank, row in enumerate(by_rank.row.tolist()):
        span = slice(lists.start[rank], lists.start[rank + 1])
        found[row] = (by_rank.row[lists.neighbour[span]].tolist(), lists.distance[span].tolist())
    return found


def oracle_lists(problem, counts_of_row, weights):
    cells = cells_of(problem)
    need, rank = oracle.ranks_of(rows_of(problem), problem.k.tolist(), problem.is_bit)
    weighed = [[weights[count] for count in line] for line in counts_of_row]
    found = {}
    for row in range(problem.n_rows):
        near = oracle.nearest_rows(cells, weighed, rank, row, need[row])
        found[row] = (near, [oracle.distance(cells, weighed, row, other) for other in near])
    return found


@given(problems(), st.sampled_from([SMALL, LARGE]), st.integers(1, 2))
def test_unweighted_neighbours_are_the_nearest(problem, memory, threads):
    by_rank = Ranked.of(problem)
    workshop = Workshop(LocalEngine(threads), memory, silent, "")
    lists = by_differences(by_rank, by_rank.need, workshop)
    no_counts = np.zeros((problem.n_rows, problem.n_cells), dtype=int)
    expected = oracle_lists(problem, no_counts, [1])
    unit = 4 if problem.is_bit else 2
    found = lists_of_rows(by_rank, lists)
    assert {row: near for row, (near, _) in found.items()} == {
        row: near for row, (near, _) in expected.items()
    }
    for row, (_, distances) in found.items():
        assert [unit * count for count in distances] == expected[row][1]


@given(problems(), st.sampled_from([SMALL, LARGE]), st.integers(1, 2), st.data())
def test_weighted_neighbours_are_the_nearest(problem, memory, threads, data):
    by_rank = Ranked.of(problem)
    workshop = Workshop(LocalEngine(threads), memory, silent, "")
    previous = by_differences(by_rank, by_rank.need, workshop)
    weights = cover.weights_of_counts(problem, data.draw(st.sampled_from([0.01, 3.0])))
    seed = data.draw(st.integers(0, 2**20))
    counts = np.random.default_rng(seed).integers(0, 4, (problem.n_rows, problem.n_cells))
    shared = standing(by_rank, weights, by_rank.need, workshop.engine)
    lists = by_weight(by_rank, counts[by_rank.row].astype(np.uint8), shared, previous, workshop)
    assert lists_of_rows(by_rank, lists) == oracle_lists(problem, counts, weights.tolist())


def by_arrays(problem, counts, weights):
    """Return the lists by rank from the whole matrix of distances."""
    by_rank = Ranked.of(problem)
    cells = np.array(cells_of(problem))[by_rank.row]
    weight = weights[counts[by_rank.row]].astype(np.int64)
    neighbour, distance = [], []
    for rank in np.flatnonzero(by_rank.need):
        differs = cells != cells[rank]
        far = (differs * (weight + weight[rank])).sum(axis=1)
        others = np.flatnonzero(differs.any(axis=1))
        near = others[np.lexsort((others, far[others]))][: by_rank.need[rank]]
        neighbour.append(near)
        distance.append(far[near])
    return np.concatenate(neighbour), np.concatenate(distance)


@pytest.mark.slow
@pytest.mark.parametrize("is_bit", [False, True])
@pytest.mark.parametrize("n_values", [[3, 5, 2, 9, 4], [4, 300, 6, 5], [2] * 40])
def test_neighbours_across_tiles_and_wide_attributes(monkeypatch, n_values, is_bit):
    """Tiles of few rows, an attribute of more values than a byte has, and many attributes."""
    monkeypatch.setattr(ranked, "LEAST_TILE", 16)
    monkeypatch.setattr(ranked, "TILE_BYTES", 16)
    monkeypatch.setattr(ranked, "MOST_COMBINATIONS", 12)
    problem = random_problem(3, 300, n_values, is_bit)
    by_rank = Ranked.of(problem)
    assert len(by_rank.tiles.first) > 10
    workshop = Workshop(LocalEngine(2), 1 << 16, silent, "")
    lists = by_differences(by_rank, by_rank.need, workshop)
    flat = cover.weights_of_counts(problem, 3.0)
    counts = np.zeros((300, problem.n_cells), dtype=np.uint8)
    expected, far = by_arrays(problem, counts, flat)
    assert np.array_equal(lists.neighbour, expected)
    assert np.array_equal(lists.distance * np.int64(flat[0]) * (4 if is_bit else 2), far)
    counts = np.random.default_rng(0).poisson(0.5, counts.shape).astype(np.uint8)
    shared = standing(by_rank, flat, by_rank.need, workshop.engine)
    lists = by_weight(by_rank, counts[by_rank.row], shared, lists, workshop)
    expected, far = by_arrays(problem, counts, flat)
    assert np.array_equal(lists.neighbour, expected)
    assert np.array_equal(lists.distance, far)


def test_unweighted_neighbours_across_tiles():
    from incrowd.methods.adaptive.kernels import nearest as kernel_hamming

    problem = random_problem(5, 9_000, [30] * 5, False, most_k=9)
    by_rank = Ranked.of(problem)
    assert len(by_rank.groups.profile) > kernel_hamming.TILE
    lists = by_differences(by_rank, by_rank.need, Workshop(ONE, LARGE, silent, ""))
    for rank in range(0, 9_000, 197):
        n_differing = (by_rank.codes != by_rank.codes[rank]).sum(axis=1)
        others = np.flatnonzero(n_differing)
        near = others[np.lexsort((others, n_differing[others]))][: by_rank.need[rank]]
        assert np.array_equal(lists.neighbour[lists.start[rank] : lists.start[rank + 1]], near)


@given(problems(most_rows=10), st.integers(1, 3))
def test_the_search_is_algorithm_1_on_the_whole_graph(problem, n_iterations):
    weights = cover.weights_of_counts(problem, 3.0).tolist()
    rows, k = rows_of(problem), problem.k.tolist()
    cells = cells_of(problem) if problem.is_bit else rows
    masks = oracle.algorithm_1(rows, cells, k, weights.__getitem__, n_iterations)
    n_shown = [sum(not masked for line in mask for masked in line) for mask in masks]
    expected = masks[n_shown.index(max(n_shown))]
    found = cover.search(problem, most_iterations=n_iterations, engine=ONE)
    assert found.is_masked.tolist() == expected
    assert found.figures["utility_first"] == pytest.approx(n_shown[0] / found.is_masked.size)
    assert found.figures["utility"] == pytest.approx(found.shown)


@given(problems(), st.sampled_from(cover.COVERS), st.sampled_from([0.1, 3.0]))
def test_everybody_has_the_crowd_they_asked_for(problem, kind, epsilon):
    found = cover.search(problem, cover=kind, epsilon=epsilon, engine=ONE)
    sizes = oracle.crowd_sizes(cells_of(problem), found.is_masked.tolist())
    assert all(size >= wish for size, wish in zip(sizes, problem.k.tolist(), strict=True))


def figure_3(k=2):
    rows = [[int(bit) for bit in row] for row in FIGURE_3]
    return problem_of(rows, [k] * 6, [2] * 6)


def test_the_toy_of_figure_3_masks_ten_cells():
    found = cover.search(figure_3(), engine=ONE)
    assert found.is_masked.sum() == 10
    shown = [
        "".join("*" if masked else bit for bit, masked in zip(row, line, strict=True))
        for row, line in zip(FIGURE_3, found.is_masked.tolist(), strict=True)
    ]
    assert shown == ["1*1*10", "1*1*10", "0*0*01", "0*0*01", "11000*", "11000*"]


def test_masks_on_one_side_only_do_not_make_a_crowd():
    """The oracle refuses masks along directed lists: a neighbour that is not masked rules out."""
    problem = figure_3(3)
    by_rank = Ranked.of(problem)
    lists = by_differences(by_rank, by_rank.need, Workshop(ONE, LARGE, silent, ""))
    rows, is_masked = rows_of(problem), np.zeros((6, 6), dtype=bool)
    for row, (near, _) in lists_of_rows(by_rank, lists).items():
        for other in near:
            is_masked[row] |= np.array(rows[row]) != np.array(rows[other])
    assert min(oracle.crowd_sizes(rows, is_masked.tolist())) < 3
    both_sides = cover.search(problem, cover="nearest", most_iterations=1, engine=ONE)
    assert min(oracle.crowd_sizes(rows, both_sides.is_masked.tolist())) >= 3


@given(problems(), st.randoms())
def test_the_order_of_rows_changes_nothing(problem, random):
    order = list(range(problem.n_rows))
    random.shuffle(order)
    shuffled = Problem(
        np.ascontiguousarray(problem.codes[:, order]),
        problem.n_values,
        problem.k[order],
        problem.is_bit,
    )

    def released(of):
        found = cover.search(of, engine=ONE)
        lines = zip(rows_of(of), of.k.tolist(), found.is_masked.tolist(), strict=True)
        return sorted(lines)

    assert released(problem) == released(shuffled)


@pytest.mark.parametrize("kind", cover.COVERS)
@pytest.mark.parametrize("is_bit", [False, True])
def test_threads_and_memory_change_nothing(kind, is_bit):
    problem = random_problem(1, 160, [3, 8, 5, 4, 12], is_bit)
    found = [
        cover.search(problem, cover=kind, memory_bytes=memory, engine=LocalEngine(threads))
        for memory, threads in [(SMALL, 2), (1 << 17, 1), (LARGE, 2)]
    ]
    assert found[0].figures["iterations"] >= 4
    assert found[0].figures["utility"] > found[0].figures["utility_first"]
    for other in found[1:]:
        assert np.array_equal(other.is_masked, found[0].is_masked)


@pytest.mark.parametrize("is_bit", [False, True])
def test_the_cover_of_lists_on_threads_is_that_of_b_suitor(monkeypatch, is_bit):
    """The serial twin: all edges in one order, b-Suitor, masks edge by edge."""
    monkeypatch.setattr(dominant, "LEAST_EDGES", 1)
    problem = random_problem(7, 240, [3, 5, 2, 9, 4], is_bit)
    by_rank = Ranked.of(problem)
    lists = by_differences(by_rank, by_rank.need, Workshop(ONE, LARGE, silent, ""))
    lower, upper, weight = kernels.edges_of_lists(lists.start, lists.neighbour, lists.distance)
    is_kept = mce_by_matching(lower, upper, weight, by_rank.need)
    assert 0 < is_kept.sum() < len(is_kept)
    expected = np.zeros((problem.n_rows, problem.n_cells), dtype=np.uint8)
    kernels.count_differences(
        lower, upper, is_kept, by_rank.codes, by_rank.first_value, is_bit, expected
    )
    for threads in (1, 2, 3, 7):
        with use_threads(threads):
            found = cover.cover_of_lists(by_rank, lists, "mce")
        assert np.array_equal(found.counts, expected)
        assert found.n_edges == is_kept.sum()
        assert found.n_masked == np.count_nonzero(expected)


def test_every_engine_finds_the_same(engine):
    problem = random_problem(2, 120, [3, 8, 5, 4], True, most_k=6)
    here = cover.search(problem, most_iterations=3, engine=ONE)
    there = cover.search(problem, most_iterations=3, engine=engine)
    assert np.array_equal(here.is_masked, there.is_masked)
    assert here.is_masked.any()


def test_covers_keep_fewer_edges_than_the_lists_have():
    problem = random_problem(4, 400, [4, 8, 5, 6], False)
    found = {
        kind: cover.search(problem, cover=kind, most_iterations=1, engine=ONE)
        for kind in cover.COVERS
    }
    assert found["mce"].figures["edges"] < found["nearest"].figures["edges"]
    assert found["mce"].shown > found["nearest"].shown


def test_rows_that_repeat_often_enough_are_shown_whole():
    rows = [(0, 0)] * 3 + [(1, 1)] + [(1, 0)]
    problem = problem_of(rows, [3, 3, 3, 1, 1], [2, 2])
    found = cover.search(problem, engine=ONE)
    assert not found.is_masked.any()
    assert found.figures["needy_rows"] == 0
    assert found.figures["iterations"] == 1


def test_no_attributes_and_one_row():
    assert cover.search(problem_of([()] * 4, [3] * 4, []), engine=ONE).is_masked.shape == (4, 0)
    assert not cover.search(problem_of([(1, 0)], [1], [2, 2]), engine=ONE).is_masked.any()


def test_an_early_end_keeps_the_best_finished_iteration(monkeypatch):
    problem = random_problem(1, 300, [3, 8, 5, 4], True)
    first = cover.search(problem, most_iterations=1, engine=ONE)
    wished = []
    monkeypatch.setattr(neighbours, "is_stop_requested", lambda: bool(wished))

    def report(stage, done, total, _loss=None):
        if stage == "neighbours, iteration 2" and 0 < done < total:
            wished.append(True)

    ended = cover.search(problem, engine=ONE, progress=report)
    assert wished
    assert ended.figures["iterations"] == 1
    assert np.array_equal(ended.is_masked, first.is_masked)


def test_an_early_end_waits_for_the_first_iteration(monkeypatch):
    problem = random_problem(1, 300, [3, 8, 5, 4], True)
    first = cover.search(problem, most_iterations=1, engine=ONE)
    for module in (neighbours, cover):
        monkeypatch.setattr(module, "is_stop_requested", lambda: True)
    ended = cover.search(problem, engine=ONE)
    assert np.array_equal(ended.is_masked, first.is_masked)


def test_progress_is_told_within_and_after_every_iteration():
    told = []
    problem = random_problem(1, 300, [3, 8, 5, 4], True)
    cover.search(
        problem, most_iterations=2, engine=ONE, progress=lambda *report: told.append(report)
    )
    for iteration in (1, 2):
        within = [report for report in told if report[0] == f"neighbours, iteration {iteration}"]
        assert len(within) > 2
        assert within[-1][1] == within[-1][2] > 0
        after = [report for report in told if report[0] == f"cover, iteration {iteration}"]
        assert len(after) == 1
        assert 0 < after[0][3] < 1


def test_what_cannot_be_asked_for_is_refused():
    problem = figure_3()
    with pytest.raises(JobError, match="unknown cover"):
        cover.search(problem, cover="most", engine=ONE)
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(JobError, match="epsilon"):
            cover.search(problem, epsilon=epsilon, engine=ONE)
    with pytest.raises(JobError, match="iteration"):
        cover.search(problem, most_iterations=0, engine=ONE)
    with pytest.raises(InfeasibleError, match="6 rows ask for a crowd larger than the 6 rows"):
        cover.search(figure_3(7), engine=ONE)


def test_weights_fall_by_the_papers_formula():
    weights = cover.weights_of_counts(figure_3(), 3.0)
    assert weights[0] == 1 << 16
    assert weights[2] == round((1 << 16) * 0.75**2)
    assert np.all(np.diff(weights) <= 0)
    wide = problem_of([[0] * 20_000], [1], [1] * 20_000)
    assert 4 * 20_000 * int(cover.weights_of_counts(wide, 3.0)[0]) < 1 << 31
