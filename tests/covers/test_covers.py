"""Covers and matchings of any weighted graph, against their definitions."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd.covers
import incrowd.covers.cover
from incrowd.covers import b_matching, lse, mce, mce_by_matching, nearest
from incrowd.errors import DataError
from oracles import covers as oracle

COVERS = [mce, mce_by_matching, lse, nearest]


@st.composite
def graphs(draw, most_vertices=7, most_edges=21, is_complete=False):
    """Edges (u, v, weight) with many ties, in any direction, and a b that every vertex can have."""
    n_vertices = draw(st.integers(2, most_vertices))
    pairs = [(u, v) for u in range(n_vertices) for v in range(u)]
    if not is_complete:
        pairs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=most_edges))
    edges = [
        (*(pair if draw(st.booleans()) else pair[::-1]), draw(st.integers(0, 4))) for pair in pairs
    ]
    degree = oracle.degrees(edges, range(len(edges)), n_vertices)
    return edges, [draw(st.integers(0, has)) for has in degree]


def taken(function, edges, b, weight_type=np.int64, **options):
    u, v, weight = (np.array([edge[part] for edge in edges]) for part in range(3))
    is_taken = function(u, v, weight.astype(weight_type), np.array(b), **options)
    assert is_taken.dtype == bool
    return set(np.flatnonzero(is_taken).tolist())


@given(graphs())
def test_both_ways_to_mce_are_reverse_delete(graph):
    edges, b = graph
    expected = oracle.reverse_delete(edges, b)
    assert taken(mce, edges, b) == expected
    assert taken(mce_by_matching, edges, b) == expected
    assert taken(mce, edges, b, np.float64) == expected


@given(graphs())
def test_lse_and_nearest_are_what_their_names_say(graph):
    edges, b = graph
    assert taken(lse, edges, b) == oracle.greedy_cover(edges, b)
    assert taken(lse, edges, b, np.float32) == oracle.greedy_cover(edges, b)
    assert taken(nearest, edges, b) == oracle.lightest_of_each(edges, b)


@given(graphs(), st.data())
def test_b_suitor_is_the_greedy_matching(graph, data):
    edges, b = graph
    ceiling = [data.draw(st.integers(0, 6)) for _ in b]
    assert taken(b_matching, edges, ceiling) == oracle.greedy_matching(edges, ceiling)


@given(graphs(is_complete=True))
def test_mce_of_the_complete_graph_is_that_of_the_nearest_lists(graph):
    edges, b = graph
    lists = sorted(oracle.lightest_of_each(edges, b))
    of_lists = taken(mce, [edges[edge] for edge in lists], b)
    assert {lists[edge] for edge in of_lists} == taken(mce, edges, b)


@given(graphs(most_vertices=5, most_edges=9))
def test_weights_stay_within_the_proven_ratios(graph):
    edges, b = graph
    least = oracle.least_cover(edges, b)
    for cover, ratio in [(mce, 2), (mce_by_matching, 2), (lse, 1.5), (nearest, 2)]:
        found = taken(cover, edges, b)
        assert oracle.is_cover(edges, found, b)
        assert oracle.weight_of(edges, found) <= ratio * least
    matching = taken(b_matching, edges, b)
    assert 2 * oracle.weight_of(edges, matching) >= oracle.most_matching(edges, b)


def larger_graph(seed):
    """Adjacency lists beyond what b-Suitor sorts at first, weights beyond one digit, and ties."""
    random = np.random.default_rng(seed)
    lower, upper = np.triu_indices(120, 1)
    order = random.permutation(len(lower))
    weight = random.integers(0, [40, 1 << 24][seed % 2], len(lower))
    return lower[order], upper[order], weight, random.integers(0, 60, 120)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_larger_graph_has_one_cover(seed):
    u, v, weight, b = larger_graph(seed)
    cover = mce(u, v, weight, b)
    assert np.array_equal(mce_by_matching(v, u, weight, b), cover)
    assert np.array_equal(mce(u, v, weight.astype(float), b), cover)
    assert np.all(nearest(u, v, weight, b) >= cover)
    assert cover.sum() < nearest(u, v, weight, b).sum()
    degree = np.bincount(u, minlength=120) + np.bincount(v, minlength=120)
    edges = list(zip(u.tolist(), v.tolist(), weight.tolist(), strict=True))
    matching = oracle.greedy_matching(edges, (degree - b).tolist())
    assert set(np.flatnonzero(~cover).tolist()) == matching


def test_the_order_of_edges_changes_nothing():
    u, v, weight, b = larger_graph(0)
    order = np.random.default_rng(1).permutation(len(u))
    for cover in [*COVERS, b_matching]:
        whole = cover(u, v, weight, b)
        assert np.array_equal(cover(u[order], v[order], weight[order], b), whole[order])


@st.composite
def tiny_tables(draw):
    """Rows of cells and the complete graph of their differences."""
    n_rows, n_cells = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    rows = [[draw(st.integers(0, 2)) for _ in range(n_cells)] for _ in range(n_rows)]
    edges = [
        (u, v, sum(left != right for left, right in zip(rows[u], rows[v], strict=True)))
        for v in range(n_rows)
        for u in range(v)
    ]
    return rows, edges, [draw(st.integers(0, n_rows - 1)) for _ in range(n_rows)]


@given(tiny_tables(), st.data())
def test_stars_are_at_most_differences_and_at_least_those_per_degree(table, data):
    """Lemma III.1 for any graph. Its proof takes every degree to be at most k; a cover's can be
    larger, so what holds is s ≤ h ≤ (largest degree) · s."""
    rows, edges, _ = table
    some = data.draw(st.sets(st.sampled_from(range(len(edges)))))
    stars, differences = oracle.n_stars(rows, edges, some), oracle.n_differences(rows, edges, some)
    largest = max(oracle.degrees(edges, some, len(rows)))
    assert stars <= differences <= largest * stars


def test_the_lemma_as_printed_fails_where_degrees_are_above_k():
    """Everybody asks for k = 2, and a graph that covers them gives everybody four neighbours."""
    rows, b = [[0], [1], [2], [3], [4]], [1] * 5
    edges = [(u, v, 1) for v in range(5) for u in range(v)]
    everything = range(len(edges))
    assert oracle.is_cover(edges, everything, b)
    assert oracle.n_stars(rows, edges, everything) == 5
    assert oracle.n_differences(rows, edges, everything) == 20 > 2 * 5


@given(tiny_tables())
def test_the_first_cover_is_within_the_theorem(table):
    """Theorem III.1, with the largest degree of the best graph in the place of k."""
    rows, edges, b = table
    best, largest = None, 0
    for graph in oracle.subsets(edges):
        if oracle.is_cover(edges, graph, b):
            stars = oracle.n_stars(rows, edges, graph)
            degree = max(oracle.degrees(edges, graph, len(rows)))
            if best is None or (stars, degree) < (best, largest):
                best, largest = stars, degree
    for cover, ratio in [(mce, 2), (lse, 1.5), (nearest, 2)]:
        stars = oracle.n_stars(rows, edges, taken(cover, edges, b))
        assert stars <= ratio * largest * best


@pytest.mark.parametrize("cover", COVERS)
def test_too_large_a_b_is_refused_unless_partial_covers_are_wanted(cover):
    edges, b = [(0, 1, 3), (1, 2, 1)], [2, 1, 1]
    with pytest.raises(DataError, match="1 vertices have fewer edges"):
        taken(cover, edges, b)
    assert taken(cover, edges, b, is_partial=True) == {0, 1}
    assert taken(b_matching, edges, [9, 9, 9]) == {0, 1}


@pytest.mark.parametrize(
    ("u", "v", "weight", "b", "what"),
    [
        ([0], [0], [1], [1], "itself"),
        ([0, 1], [1, 0], [1, 2], [1, 1], "more than once"),
        ([0], [2], [1], [1, 1], "not from 0 to 1"),
        ([-1], [1], [1], [1, 1], "not from 0 to 1"),
        ([0], [1], [-1.0], [1, 1], "negative"),
        ([0], [1], [np.nan], [1, 1], "not a number"),
        ([0], [1], ["1"], [1, 1], "array of numbers"),
        ([0], [1], [1 << 62], [1, 1], "2⁶²"),
        ([0.5], [1], [1], [1, 1], "u is not"),
        ([0], [1], [1, 2], [1, 1], "1, 1 and 2 entries"),
        ([0], [1], [1], [-1, 1], "below 0"),
        ([0], [1], [1], 1, "b is not"),
    ],
)
@pytest.mark.parametrize("function", [*COVERS, b_matching])
def test_a_graph_that_is_none_is_refused(function, u, v, weight, b, what):
    with pytest.raises(DataError, match=what):
        function(u, v, weight, b)


@pytest.mark.parametrize("function", [*COVERS, b_matching])
def test_no_edges_and_no_vertices(function):
    assert function([], [], [], [0, 0]).tolist() == []
    assert function([], [], [], []).tolist() == []


def test_examples_of_the_docstrings():
    modules = [incrowd.covers, incrowd.covers.cover, incrowd.covers.cover]
    results = [doctest.testmod(module) for module in modules]
    assert [result.failed for result in results] == [0, 0, 0]
    assert sum(result.attempted for result in results) > 8
