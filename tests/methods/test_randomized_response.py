"""Randomized response: every cell is flipped with the stated probability, and nothing else is."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import to_rows, to_sets
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import DataError, EngineError, InputError, JobError
from incrowd.guarantees.sets.check import require_sets
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.randomized_response import search as noise
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.randomized_response.search import (
    Cells,
    draw_in_blocks,
    epsilon_for,
    epsilon_that_fits,
    expected_jaccard,
    flip_places,
    flip_probability,
    foresee,
    jaccard_bound,
    keep_entries,
    nth_empty,
    respond,
)
from incrowd.progress import silent
from incrowd.sets.sets import Sets
from tiers import examples

GRAPHS = st.sampled_from(["bipartite", "directed", "undirected"])


@st.composite
def small_data(draw):
    graph = draw(GRAPHS)
    n_rows = draw(st.integers(1, 6))
    n_items = draw(st.integers(1, 6)) if graph == "bipartite" else n_rows
    has_loops = draw(st.booleans())
    rows = draw(st.lists(st.sets(st.integers(0, n_items - 1)), min_size=n_rows, max_size=n_rows))
    if graph != "bipartite" and not has_loops:
        rows = [items - {row} for row, items in enumerate(rows)]
    return to_sets(rows, n_items, graph=graph), rows, has_loops


def cells_by_hand(graph, n_rows, n_items, has_loops):
    """Return every cell in the order of its number; an undirected one is a pair."""
    pairs = itertools.product(range(n_rows), range(n_items))
    if graph == "undirected":
        pairs = ((row, item) for row, item in pairs if row <= item)
    if graph != "bipartite" and not has_loops:
        pairs = ((row, item) for row, item in pairs if row != item)
    return list(pairs)


@examples(150)
@given(small_data(), st.data())
def test_cells_are_numbered_and_found_again(drawn, data):
    sets, rows, has_loops = drawn
    cells = Cells.of(sets, self_loops=has_loops)
    by_hand = cells_by_hand(sets.graph, sets.n_rows, sets.n_items, has_loops)
    assert cells.n_cells == len(by_hand)
    edges = {(row, item) for row, items in enumerate(rows) for item in items}
    if sets.graph == "undirected":
        edges = {(min(edge), max(edge)) for edge in edges}
    ranks = cells.ranks(sets).tolist()
    assert [by_hand[rank] for rank in ranks] == sorted(edges)
    chosen = sorted(data.draw(st.sets(st.integers(0, len(by_hand) - 1))) if by_hand else set())
    made = cells.sets_of(np.asarray(chosen, dtype=np.int64), sets)
    require_sets(made, "release")
    expected = {by_hand[rank] for rank in chosen}
    if sets.graph == "undirected":
        expected |= {(item, row) for row, item in expected}
    assert {(row, i) for row, items in enumerate(to_rows(made)) for i in items} == expected


@examples(100)
@given(st.sets(st.integers(0, 30)), st.integers(31, 40))
def test_nth_empty_cell(entries, n_cells):
    empty = [cell for cell in range(n_cells) if cell not in entries]
    found = nth_empty(np.arange(len(empty)), np.asarray(sorted(entries), dtype=np.int64))
    assert found.tolist() == empty


@pytest.mark.parametrize("q", [0.5, 0.2, 0.01])
def test_empty_cells_are_flipped_independently_with_probability_q(q, monkeypatch):
    monkeypatch.setattr(noise, "DRAWS_AT_ONCE", 1000)  # several turns
    n_places, n_runs = 5_000, 40
    source = noise.bytes_from(1)
    is_flipped = np.zeros((n_runs, n_places), dtype=bool)
    for run in range(n_runs):
        places = flip_places(n_places, q, source)
        assert (np.diff(places) > 0).all()
        is_flipped[run, places] = True
    n_cells = n_runs * n_places
    deviation = math.sqrt(n_cells * q * (1 - q))
    assert abs(is_flipped.sum() - n_cells * q) < 5 * deviation
    both = (is_flipped[:, 1:] & is_flipped[:, :-1]).sum()
    pairs = n_runs * (n_places - 1)
    assert abs(both - pairs * q * q) < 5 * math.sqrt(pairs * q * q) + 1
    ends = is_flipped[:, [0, -1]].sum()  # the first and the last cell are no exception
    assert abs(ends - 2 * n_runs * q) < 5 * math.sqrt(2 * n_runs * q) + 1


@pytest.mark.parametrize("q", [0.5, 0.05])
def test_entries_are_flipped_with_probability_q(q):
    is_kept = keep_entries(200_000, q, noise.bytes_from(2))
    assert abs((~is_kept).sum() - 200_000 * q) < 5 * math.sqrt(200_000 * q)


def test_flip_probability_is_the_promise_s():
    for epsilon in (0.01, 1.0, 3.0, 20.0):
        q = flip_probability(epsilon)
        assert q == pytest.approx(1 / (1 + math.exp(epsilon)))
        assert (1 - q) / q == pytest.approx(math.exp(epsilon))


def generated(seed=0, n_rows=1500, n_items=400, density=0.05):
    rng = np.random.default_rng(seed)
    is_entry = rng.random((n_rows, n_items)) < density
    return to_sets([set(np.flatnonzero(row).tolist()) for row in is_entry], n_items)


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0, 8.0])
def test_measured_jaccard_is_the_theory_s(epsilon):
    sets = generated()
    made = respond(sets, level="edge", epsilon=epsilon)  # noise of the operating system
    losses = measure_set_losses(sets, made.released)
    assert losses.jaccard == pytest.approx(made.outlook.expected_jaccard, abs=0.01)
    q = made.outlook.flip_probability
    assert losses.suppressed == pytest.approx(q, abs=0.01)
    bound = jaccard_bound(made.outlook.density, made.outlook.n_cells, q, 1e-9)
    assert losses.jaccard <= bound


def exceeding(n_cells, n_entries, q, bound):
    """Return the probability that the Jaccard similarity exceeds a bound, by exact binomials."""

    def chances(n, probability):
        logs = [
            math.lgamma(n + 1)
            - math.lgamma(m + 1)
            - math.lgamma(n - m + 1)
            + m * math.log(probability)
            + (n - m) * math.log1p(-probability)
            for m in range(min(n, 4_000) + 1)
        ]
        return [math.exp(log) for log in logs]

    created = np.cumsum(chances(n_cells - n_entries, q))
    total = 0.0
    for kept, chance in enumerate(chances(n_entries, 1 - q)):
        # kept / (|E| + created) > bound
        most_created = math.ceil(kept / bound - n_entries) - 1
        if most_created >= 0:
            total += chance * created[min(most_created, len(created) - 1)]
    return total


def test_theorem_4_1_is_exceeded_too_often_as_printed():
    n_cells, n_entries, q, delta = 80_000, 800, 0.01, 0.05
    deviation = math.sqrt(math.log(2 / delta) / 2 / n_cells)
    assert 2 * q / 4 >= deviation  # its condition
    printed = expected_jaccard(n_entries / n_cells, q) + 2 * deviation
    assert exceeding(n_cells, n_entries, q, printed) > 0.13
    mended = jaccard_bound(n_entries / n_cells, n_cells, q, delta)
    assert exceeding(n_cells, n_entries, q, mended) <= delta
    assert 0.5 < mended < 0.54  # 0.4975 is expected


@given(
    st.integers(1, 60),
    st.integers(2, 60),
    st.floats(0.01, 0.49),
    st.sampled_from([0.5, 0.05, 0.001]),
)
def test_the_mended_bound_holds(n_entries, times, q, delta):
    n_cells = n_entries * times
    bound = jaccard_bound(n_entries / n_cells, n_cells, q, delta)
    assert exceeding(n_cells, n_entries, q, bound) <= delta + 1e-12


def test_an_owner_is_told_the_bound():
    sets = generated()
    made = respond(sets, level="edge", epsilon=3.0, insecure_noise_seed=1)
    assert made.figures["at_most_probability"] == 0.95
    assert made.figures["jaccard_at_most"] == made.outlook.jaccard_at_most
    assert made.outlook.expected_jaccard < made.outlook.jaccard_at_most
    losses = measure_set_losses(sets, made.released)
    assert losses.jaccard <= made.outlook.jaccard_at_most < losses.jaccard + 0.02


@pytest.mark.parametrize("graph", ["directed", "undirected"])
def test_graphs_are_flipped_at_the_same_rate(graph):
    rng = np.random.default_rng(3)
    is_edge = np.triu(rng.random((400, 400)) < 0.1, 1)
    is_edge |= is_edge.T
    sets = to_sets([set(np.flatnonzero(row).tolist()) for row in is_edge], 400, graph=graph)
    made = respond(sets, level="edge", epsilon=2.0, insecure_noise_seed=4)
    rows = to_rows(made.released)
    assert all(row not in items for row, items in enumerate(rows))
    n_asymmetric = sum(row not in rows[item] for row, items in enumerate(rows) for item in items)
    assert (n_asymmetric == 0) is (graph == "undirected")
    losses = measure_set_losses(sets, made.released)
    assert losses.jaccard == pytest.approx(made.outlook.expected_jaccard, abs=0.01)


def test_node_level_spends_epsilon_on_every_cell_of_a_row():
    sets = generated(n_rows=300, n_items=50)
    outlook = foresee(sets, level="node", epsilon=10.0, self_loops=False, most_entries=10**6)
    assert outlook.cell_epsilon == pytest.approx(0.2)
    assert outlook.flip_probability == pytest.approx(flip_probability(0.2))
    made = respond(sets, level="node", epsilon=10.0, insecure_noise_seed=1)
    assert made.released.n_entries == pytest.approx(300 * 50 * 0.45, rel=0.05)


def test_noise_of_the_system_never_repeats_and_a_seed_does():
    sets = generated(n_rows=100)
    one, two = (respond(sets, level="edge", epsilon=1.0).released for _ in range(2))
    assert one.n_entries != two.n_entries or (one.items != two.items).any()
    one, two = (
        respond(sets, level="edge", epsilon=1.0, insecure_noise_seed=7).released for _ in range(2)
    )
    assert one.items.tolist() == two.items.tolist()


def test_size_is_judged_on_n_m_and_epsilon_alone():
    refusals = []
    for rows in ([set()] * 1000, [set(range(1000))] * 1000):
        with pytest.raises(InputError) as refused:
            foresee(
                to_sets(rows, 1000), level="edge", epsilon=0.1, self_loops=False, most_entries=10**5
            )
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    least = epsilon_that_fits(1000 * 1000, 10**5)
    assert flip_probability(least) * 10**6 == pytest.approx(10**5)
    foresee(
        to_sets([set()] * 1000, 1000),
        level="edge",
        epsilon=least * 1.001,
        self_loops=False,
        most_entries=10**5,
    )


def test_cells_beyond_numbers_and_epsilon_beyond_sense_are_refused():
    options = {"self_loops": False, "most_entries": 10**6}
    wide = respond(to_sets([set()] * 2, 2**31 - 1), level="edge", epsilon=18.0)
    assert wide.released.n_entries == pytest.approx(2**32 * flip_probability(18.0), abs=60)
    starts = np.broadcast_to(np.int64(0), 2**30 + 1)  # no memory of its own
    with pytest.raises(InputError, match="2⁶⁰"):
        foresee(
            Sets(starts, np.zeros(0, dtype=np.int32), 2**31 - 1),
            level="edge",
            epsilon=40.0,
            **options,
        )
    with pytest.raises(JobError, match="publish the data"):
        foresee(generated(n_rows=5), level="edge", epsilon=800.0, **options)


def test_useless_release_is_warned_of_with_figures():
    sparse = to_sets([{row} for row in range(1000)], 1000)
    outlook = foresee(sparse, level="edge", epsilon=1.0, self_loops=False, most_entries=10**7)
    assert outlook.expected_jaccard < 0.01
    assert "nearly useless" in outlook.warning
    needed = epsilon_for(0.5, outlook.density)
    assert f"{needed:.3g}" in outlook.warning
    assert expected_jaccard(outlook.density, flip_probability(needed)) == pytest.approx(0.5)
    good = foresee(sparse, level="edge", epsilon=12.0, self_loops=False, most_entries=10**7)
    assert good.warning == ""


def test_a_density_of_1_in_10000_needs_epsilon_about_10_for_half():
    """Figure 2 of the paper: about 9.2."""
    assert 9 < epsilon_for(0.5, 1e-4) < 10.5


def test_self_loops_are_public_knowledge():
    looped = to_sets([{0}, {0}], 2, graph="directed")
    with pytest.raises(DataError, match="1 nodes list themselves"):
        respond(looped, level="edge", epsilon=1.0)
    respond(looped, level="edge", epsilon=1.0, self_loops=True)
    with pytest.raises(DataError, match="both must be its nodes"):
        respond(to_sets([{0}], 2, graph="directed"), level="edge", epsilon=1.0)


def test_empty_data_and_one_cell():
    nothing = respond(to_sets([], 0), level="edge", epsilon=1.0)
    assert nothing.released.n_rows == 0
    seen = {
        respond(
            to_sets([{0}], 1), level="edge", epsilon=0.1, insecure_noise_seed=s
        ).released.n_entries
        for s in range(20)
    }
    assert seen == {0, 1}


def test_method_passes_its_settings_on():
    method = RandomizedResponse(insecure_noise_seed=5)
    sets = generated(n_rows=50)
    made = method.respond(sets, "edge", 2.0, silent)
    direct = respond(sets, level="edge", epsilon=2.0, insecure_noise_seed=5)
    assert made.released.items.tolist() == direct.released.items.tolist()
    assert method.foresee(sets, "edge", 2.0) == direct.outlook
    tight = RandomizedResponse(most_entries=10)
    with pytest.raises(InputError):
        tight.respond(sets, "edge", 2.0, silent)
    for bad in ({"self_loops": 1}, {"most_entries": 0}, {"insecure_noise_seed": -1}):
        with pytest.raises(JobError):
            RandomizedResponse(**bad)


@given(small_data(), st.sampled_from([1, 2, 5]))
def test_blocks_hold_every_cell_once(drawn, block_rows):
    """With hardly any noise all entries come back; with fair coins the cells are the same ones."""
    sets, _, has_loops = drawn
    engine = LocalEngine(threads=2, block_rows=block_rows)
    cells = Cells.of(sets, self_loops=has_loops)
    entries = cells.ranks(sets)
    assert draw_in_blocks(cells, entries, 1e-15, None, engine).tolist() == entries.tolist()
    shown = draw_in_blocks(cells, entries, 0.5, 7, engine)
    assert (np.diff(shown) > 0).all()
    assert ((shown >= 0) & (shown < cells.n_cells)).all()
    other_blocks = draw_in_blocks(cells, entries, 0.5, 7, LocalEngine(threads=1))
    assert shown.tolist() == other_blocks.tolist()


def test_cells_of_blocks_are_flipped_with_probability_q():
    sets = generated()
    engine = LocalEngine(threads=2, block_rows=3)
    cells = Cells.of(sets, self_loops=False)
    entries, q = cells.ranks(sets), 0.03
    shown = draw_in_blocks(cells, entries, q, None, engine)
    kept = np.isin(entries, shown).sum()
    added = len(shown) - kept
    n_empty = cells.n_cells - len(entries)
    assert abs(kept - (1 - q) * len(entries)) < 6 * math.sqrt(q * len(entries))
    assert abs(added - q * n_empty) < 6 * math.sqrt(q * n_empty)
    again = draw_in_blocks(cells, entries, q, None, engine)
    assert shown.tolist() != again.tolist()  # nothing seeds it
    rows = np.zeros(cells.n_rows * cells.n_items, dtype=bool)
    rows[shown] = True
    rows[entries] ^= True
    of_rows = rows.reshape(cells.n_rows, -1)
    flips = [of_rows[half].sum() for half in (slice(0, 750), slice(750, None))]
    assert abs(flips[0] - flips[1]) < 6 * math.sqrt(q * cells.n_cells)
    assert not np.array_equal(of_rows[:93], of_rows[93:186])  # blocks do not share their noise


def test_a_lost_block_of_noise_is_an_error():
    class Forgetful(LocalEngine):
        def collect(self, blocks):
            return super().collect(blocks).slice(1)

    sets = generated(n_rows=50, n_items=20)
    cells = Cells.of(sets, self_loops=False)
    with pytest.raises(EngineError, match="lost or doubled"):
        draw_in_blocks(cells, cells.ranks(sets), 0.1, None, Forgetful())


@pytest.mark.spark
def test_spark_draws_in_blocks(spark_engine, monkeypatch):
    sets = generated(n_rows=200, n_items=50)
    method = RandomizedResponse(insecure_noise_seed=3)
    spark = method.respond(sets, "edge", 2.0, silent, spark_engine)
    monkeypatch.setattr(LocalEngine, "name", "spark")
    local = method.respond(sets, "edge", 2.0, silent, LocalEngine(block_rows=3))
    assert to_rows(spark.released) == to_rows(local.released)
    assert spark.figures == local.figures
    secure = RandomizedResponse().respond(sets, "edge", 2.0, silent, spark_engine)
    assert to_rows(secure.released) != to_rows(spark.released)
    assert secure.outlook == spark.outlook
