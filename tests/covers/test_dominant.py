"""Rounds of locally dominant edges on several threads, against the plain greedy matching."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.covers import b_matching, dominant, mce, mce_by_matching
from incrowd.threads import Team, use_threads
from oracles import covers as oracle
from tiers import examples


@pytest.fixture(autouse=True)
def spread(monkeypatch):
    """Let few edges be shared out to threads too."""
    monkeypatch.setattr(dominant, "LEAST_EDGES", 1)


@st.composite
def crowded_graphs(draw):
    """A graph with many ties, and how many edges each vertex has room for."""
    n_vertices = draw(st.integers(2, 12))
    pairs = [(u, v) for v in range(n_vertices) for u in range(v)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=40))
    edges = [(u, v, draw(st.integers(0, 3))) for u, v in chosen]
    return edges, [draw(st.integers(0, 4)) for _ in range(n_vertices)]


@pytest.mark.parametrize("first_rounds", [0, 1000], ids=["rest in order", "rounds only"])
@examples(60)
@given(crowded_graphs(), st.integers(1, 3))
def test_any_number_of_threads_takes_the_greedy_matching(first_rounds, graph, threads):
    edges, room = graph
    lower, upper, weight = (
        np.array([edge[part] for edge in edges], dtype=np.int32) for part in range(3)
    )
    with pytest.MonkeyPatch.context() as patch, Team(threads) as team:
        patch.setattr(dominant, "FIRST_ROUNDS", first_rounds)
        patch.setattr(dominant, "LEAST_SETTLED", 0)
        found = dominant.matched_edges(lower, upper, weight, np.array(room, dtype=np.int32), team)
    assert set(np.flatnonzero(found).tolist()) == oracle.greedy_matching(edges, room)


def random_graph(seed, n_vertices=300):
    random = np.random.default_rng(seed)
    lower, upper = np.triu_indices(n_vertices, 1)
    chosen = random.permutation(len(lower))[: len(lower) // 3]
    weight = random.integers(0, [6, 1 << 30][seed % 2], len(chosen))
    return lower[chosen], upper[chosen], weight, random.integers(0, 40, n_vertices)


@pytest.mark.parametrize("seed", [0, 1])
def test_threads_change_nothing_and_b_suitor_agrees(seed):
    u, v, weight, b = random_graph(seed)
    serial = mce_by_matching(u, v, weight, b, is_partial=True)
    for threads in (1, 2, 5):
        with use_threads(threads):
            assert np.array_equal(mce(u, v, weight, b, is_partial=True), serial)
            assert np.array_equal(mce(u, v, weight * 0.1, b, is_partial=True), serial)
    degree = np.bincount(u, minlength=len(b)) + np.bincount(v, minlength=len(b))
    assert np.array_equal(b_matching(u, v, weight, np.maximum(0, degree - b)), ~serial)


def test_a_chain_is_walked_through_once():
    """Every edge of the path waits for the next one: rounds alone would take as many."""
    n_edges = 20_000
    u = np.arange(n_edges)
    found = b_matching(u, u + 1, u, b=np.ones(n_edges + 1, dtype=np.int64))
    assert np.array_equal(np.flatnonzero(found), np.arange(n_edges - 1, -1, -2)[::-1])
