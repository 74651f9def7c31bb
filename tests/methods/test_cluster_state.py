"""The bookkeeping of a running search, recomputed from its fragments after every slice."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.cuts import cut_rows
from incrowd.methods.shared.options import METRICS
from incrowd.methods.shared.recreate import search
from incrowd.methods.shared.recreate.start import CountedRows
from incrowd.progress import silent
from oracles.generated import as_trees, grid, tables
from oracles.methods import box as box_of


def begun(rows, k, metric, seed, start=None, **asked):
    """Return the plan of a search, and the search at its beginning."""
    limits = Conditions(k).packed(rows.n_rows)
    plan = search.Plan.of(rows, metric, limits, seed, **asked)
    each = np.ones(rows.n_rows, dtype=np.int64)
    return plan, search.begin(
        CountedRows(np.arange(rows.n_rows), rows.nodes, each, limits, start), plan
    )


def run_slices(rows, k, metric, n_slices, n_iterations, heat, seed=3, start=None, **asked):
    """Search a table and yield its state, its space and its plan after every slice."""
    from incrowd.methods.shared.recreate.kernels import near as kernel_near
    from incrowd.methods.shared.recreate.kernels import plan as kernel_pool
    from incrowd.methods.shared.recreate.kernels import search as kernel_search
    from incrowd.methods.shared.recreate.kernels.state import N_DONE

    plan, found = begun(rows, k, metric, seed, start, **asked)
    space, state, trees = found.space, found.state, found.trees
    pool = kernel_pool.empty_pool(space, state, 512)
    near = kernel_near.no_lists(space, 8)
    effort = n_slices * n_iterations
    yield space, state, plan, trees
    stamps = 0
    for _ in range(n_slices):
        n_done = int(state.counters[N_DONE]) + n_iterations
        while state.counters[N_DONE] < n_done or pool.counters[kernel_pool.IS_WAITING]:
            n_left = n_done - int(state.counters[N_DONE])
            stamps = kernel_search.search_slice(
                space, state, pool, near, None, k, n_left, effort, heat, stamps
            )
            if pool.counters[kernel_pool.IS_WAITING]:
                state, pool = kernel_pool.with_room(state, pool)
        yield space, state, plan, trees


def recount(rows, k, metric, space, state, plan, trees):
    """Recompute every group from its fragments by lists and counters; return the total cost."""
    from incrowd.methods.shared.recreate.kernels import state as names

    oracle = as_trees(rows, metric)
    # a distinct row in the hierarchies' own nodes, column by column as they were given
    nodes_of = {}
    for distinct in range(space.value.shape[0]):
        nodes = [0] * rows.n_columns
        for place, column in enumerate(plan.columns):
            rank = trees[place].rank[trees[place].leaf[space.value[distinct, place]]]
            nodes[column] = int(plan.forest.walks[column].node_at[rank])
        nodes_of[distinct] = tuple(nodes)
    members = {}
    held = Counter()
    for fragment in np.flatnonzero(state.fragments[names.GROUP] >= 0).tolist():
        distinct, count, group = state.fragments[:3, fragment].tolist()
        assert count > 0
        assert (group, distinct) not in [(g, d) for g, pairs in members.items() for d, _ in pairs]
        members.setdefault(group, []).append((distinct, count))
        held[nodes_of[distinct]] += count
    assert held == Counter(zip(*rows.nodes.tolist(), strict=True))
    assert state.counters[names.N_GROUPS] == len(set(members) - {names.SUPPRESSED})
    left_out = members.pop(names.SUPPRESSED, [])
    n_left_out = sum(count for _, count in left_out)
    assert state.groups[names.SIZE, names.SUPPRESSED] == n_left_out
    most = plan.suppressible[0] * rows.n_rows // plan.suppressible[1]
    assert state.room_left[0] == most - n_left_out >= 0
    dearest = sum(
        max(tree.cost_to_root[nodes[column]] for nodes in nodes_of.values())
        for column, tree in enumerate(oracle)
    )
    total = dearest * n_left_out
    if plan.is_together:
        places = Counter(d for pairs in members.values() for d, _ in pairs)
        assert max(places.values(), default=1) == 1  # there are none if all rows are left out
    for group, pairs in members.items():
        size = sum(count for _, count in pairs)
        assert size >= k
        assert state.groups[names.SIZE, group] == size
        counted = [nodes_of[distinct] for distinct, _ in pairs]
        expected = box_of(oracle, counted, list(range(len(counted))))
        shown = [0] * rows.n_columns
        price = 0
        for place, column in enumerate(plan.columns):
            start = space.columns[names.NODE_START, place]
            rank = trees[place].rank[state.box[group, place] - start]
            shown[column] = int(plan.forest.walks[column].node_at[rank])
            costs = oracle[column].cost_to_root
            used = {nodes[column] for nodes in nodes_of.values()}
            price += max(costs[node] for node in used) - costs[shown[column]]
        assert tuple(shown) == expected
        assert state.groups[names.PRICE, group] == price
        total += size * price
        # the walk through the group's own list meets the same fragments
        walked = []
        fragment = state.groups[names.FIRST_FRAGMENT, group]
        while fragment >= 0:
            walked.append(tuple(state.fragments[:2, fragment].tolist()))
            fragment = state.fragments[names.NEXT_IN_GROUP, fragment]
        assert sorted(walked) == sorted(pairs)
        # the index knows the box in exactly the counted rows that it covers
        entered = np.flatnonzero(state.entries[:, group >> 6] & (np.int64(1) << (group & 63)))
        covered = set()
        for place in range(rows.n_columns):
            node = state.box[group, place]
            start = space.columns[names.VALUE_START, place]
            first, last = space.nodes[names.FIRST, node], space.nodes[names.LAST, node]
            covered |= set(space.values[names.LINE, start + first : start + last].tolist())
        assert set(entered.tolist()) == covered
    assert state.counters[names.TOTAL] == total
    return total


@pytest.fixture(autouse=True)
def no_spare_room(monkeypatch):
    """Begin with hardly any room for more groups, so that the state must grow."""
    monkeypatch.setattr("incrowd.methods.shared.recreate.kernels.state.ROOM", 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_bookkeeping_of_small_tables(data):
    rows = data.draw(tables(most_rows=40))
    k = data.draw(st.integers(1, min(5, rows.n_rows)))
    metric = data.draw(st.sampled_from(METRICS))
    heat = data.draw(st.sampled_from([0.0, 0.0, 1e5]))
    totals = [
        recount(rows, k, metric, *found)
        for found in run_slices(rows, k, metric, 6, 20, heat, data.draw(st.integers(0, 5)))
    ]
    if heat == 0.0:
        assert totals == sorted(totals, reverse=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_bookkeeping_where_rows_are_left_out_or_stay_together(data):
    rows = data.draw(tables(most_rows=40))
    k = data.draw(st.integers(1, min(5, rows.n_rows)))
    asked = {
        "n_suppressible": data.draw(st.integers(0, 6)),
        "is_together": data.draw(st.booleans()),
    }
    limits = Conditions(k).packed(rows.n_rows)
    start = cut_rows(rows, limits, True, "loss", True, silent) if asked["is_together"] else None
    heat = data.draw(st.sampled_from([0.0, 0.0, 1e5]))
    totals = [
        recount(rows, k, "loss", *found)
        for found in run_slices(rows, k, "loss", 6, 20, heat, 1, start, **asked)
    ]
    if heat == 0.0:
        assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize(("k", "heat"), [(2, 0.0), (5, 3e5), (60, 0.0)])
def test_bookkeeping_of_a_larger_table(k, heat):
    rows = grid(400)
    totals = [
        recount(rows, k, "loss", *found) for found in run_slices(rows, k, "loss", 5, 200, heat)
    ]
    assert totals[-1] < totals[0] or k == 60


def test_cheapest_group_is_the_one_a_scan_finds():
    from numba import njit

    from incrowd.methods.shared.recreate.kernels import state as names

    cheapest = names.cheapest_group

    @njit
    def ask(space, state, distinct, limit):
        return cheapest(space, state, distinct, limit)

    rows = grid(400)
    *_, (space, state, _, _) = run_slices(rows, 4, "loss", 1, 200, 0.0)
    boxes = state.box.tolist()
    alive = np.flatnonzero(state.groups[names.SIZE] > 0).tolist()
    for distinct in range(0, space.value.shape[0], 7):
        values = space.value[distinct].tolist()
        found = []
        for group in alive:
            spans = space.nodes[names.FIRST : names.LAST + 1, boxes[group]].T.tolist()
            if all(low <= value < high for value, (low, high) in zip(values, spans, strict=True)):
                found.append((int(state.groups[names.PRICE, group]), group))
        assert ask(space, state, distinct, 1 << 40) == min(found)[1]
        assert ask(space, state, distinct, min(found)[0]) == -1


def test_near_rows_are_the_nearest():
    from numba import njit

    from incrowd.methods.shared.recreate.kernels import near as kernel_near

    list_near = kernel_near.list_near

    @njit
    def ask(space, near, distinct, random):
        return list_near(space, near, distinct, random)

    rows = grid(300)
    plan, found = begun(rows, 3, "loss", 0)
    space, trees = found.space, found.trees
    near = kernel_near.no_lists(space, 10)
    random = np.asarray([99])
    prices = []
    for place, tree in enumerate(trees):
        costs = plan.cost_to_root[plan.columns[place]][tree.rank]
        meets = tree.meets()
        prices.append((costs.max() - costs)[meets[tree.leaf]])
    for distinct in range(0, space.value.shape[0], 5):
        far = sum(
            price[space.value[distinct, place]][space.value[:, place]]
            for place, price in enumerate(prices)
        )
        listed = ask(space, near, distinct, random)
        assert distinct not in listed
        assert len(set(listed.tolist())) == 10
        others = np.delete(far, distinct)
        assert far[listed].tolist() == sorted(others.tolist())[:10]
        assert np.array_equal(listed, ask(space, near, distinct, random))
