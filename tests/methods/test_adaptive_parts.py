"""Adaptive in parts: how tables are cut, what parts keep, and that engines change nothing."""

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import EngineError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.adaptive import parts
from incrowd.methods.adaptive.method import Adaptive
from incrowd.methods.adaptive.search import Problem
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent
from oracles import partition as oracle
from tiers import examples

ONE = LocalEngine(threads=1)
N_VALUES = [2, 3, 4, 3]


class DistantEngine(LocalEngine):
    """Sends block functions as bytes, and hands rows to them and back in any order."""

    def __init__(self):
        super().__init__(threads=1)
        self.random = np.random.default_rng(3)

    def map_groups(self, blocks, key, function, schema):
        sent = pickle.dumps(function)

        def elsewhere(block):
            block = block.take(pa.array(self.random.permutation(block.num_rows)))
            found = pickle.loads(sent)(block)
            return found.take(pa.array(self.random.permutation(found.num_rows)))

        return super().map_groups(blocks, key, elsewhere, schema)


@st.composite
def problems(draw, most_rows=40):
    n_values = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    row = st.tuples(*(st.integers(0, count - 1) for count in n_values))
    rows = draw(st.lists(row, min_size=1, max_size=most_rows))
    most = draw(st.sampled_from([1, 3, len(rows)]))
    k = [draw(st.integers(1, min(most, len(rows)))) for _ in rows]
    codes = np.array(rows, dtype=np.int32).T.reshape(len(n_values), len(rows))
    return Problem(codes, np.array(n_values, dtype=np.int64), np.array(k, dtype=np.int32))


@given(problems(), st.integers(2, 7), st.randoms(use_true_random=False))
def test_parts_hold_equal_rows_whole_and_everybody_has_room(problem, n_parts, random):
    found = parts.part_of_rows(problem, n_parts)
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    assert found.max() < n_parts
    part_of_profile = {}
    for row, part in zip(map(tuple, problem.codes.T.tolist()), found.tolist(), strict=True):
        assert part_of_profile.setdefault(row, part) == part
    sizes = Counter(found.tolist())
    for part, k in zip(found.tolist(), problem.k.tolist(), strict=True):
        assert sizes[part] >= k
    order = list(range(problem.n_rows))
    random.shuffle(order)
    moved = Problem(problem.codes[:, order], problem.n_values, problem.k[order])
    assert np.array_equal(parts.part_of_rows(moved, n_parts), found[order])


def test_parts_are_of_about_one_size_and_agree_where_most_rows_agree():
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, count, 4_000) for count in (40, 30, 2, 20)])
    problem = Problem(
        codes.astype(np.int32),
        np.array([40, 30, 2, 20], dtype=np.int64),
        np.ones(4_000, dtype=np.int32),
    )
    found = parts.part_of_rows(problem, 4)
    assert all(900 < size < 1_100 for size in Counter(found.tolist()).values())
    mixed = [len(set(codes[2, found == part].tolist())) for part in range(4)]
    assert sum(mixed) <= 5  # one cut at most falls between its two values


def rows_of(n_rows, n_values=N_VALUES, seed=1):
    """Skewed values, so that some rows repeat; wishes of 1 to 9."""
    random = np.random.default_rng(seed)
    codes = [np.minimum(random.geometric(0.4, n_rows) - 1, count - 1) for count in n_values]
    trees = tuple(
        Hierarchy.from_ladder(str(number), [[str(value) for value in range(count)]])
        for number, count in enumerate(n_values)
    )
    rows = Rows(tuple(map(str, range(len(n_values)))), np.stack(codes).astype(np.int32), trees)
    return rows, random.integers(1, 10, n_rows).astype(np.int32)


def masks_of(method, rows, k, engine=ONE, *, is_bound=False):
    asked = Conditions(1, k, is_belief_bound=is_bound)
    found = method.run(rows, asked, engine, 0, silent)
    return found, (found.nodes != rows.nodes).T


SEARCHES = {
    "partition": Adaptive(search="partition", effort=200, partitions=3),
    "as value": Adaptive(search="partition", effort="quick", as_value=True, partitions=3),
    "cover": Adaptive(search="cover", rounds=2, partitions=3),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_whoever_has_a_crowd_in_their_part_has_it_in_the_whole(name):
    rows, k = rows_of(160)
    found, masks = masks_of(SEARCHES[name], rows, k, is_bound=name == "partition")
    people = [tuple(row) for row in rows.nodes.T.tolist()]
    crowds = oracle.mutual_crowds(people, masks.tolist(), N_VALUES)
    assert all(crowd >= wish for crowd, wish in zip(crowds, k.tolist(), strict=True))
    if name != "cover":
        assert all(oracle.certified(people, masks.tolist(), k.tolist(), N_VALUES))
    if name == "as value":
        equal = Counter(map(tuple, found.nodes.T.tolist()))
        shown = map(tuple, found.nodes.T.tolist())
        assert all(equal[row] >= wish for row, wish in zip(shown, k.tolist(), strict=True))
        assert found.trace.notes[-1].startswith("rows that are equal as written mask")
    assert found.trace.figures["partitions_searched"] == 3
    assert found.trace.figures["smallest_part"] > 30
    assert found.trace.settings == {"partitions": 3}
    shown_share = 1 - masks.mean()
    assert found.trace.figures["shown"] == pytest.approx(shown_share, abs=1e-6)
    whole, _ = masks_of(Adaptive(search="cover", rounds=2, partitions=1), rows, k)
    assert "partitions_searched" not in whole.trace.figures


@pytest.mark.parametrize("name", ["partition", "cover"])
def test_parts_are_the_same_on_every_engine(engine, name):
    rows, k = rows_of(160)
    _, here = masks_of(SEARCHES[name], rows, k)
    _, there = masks_of(SEARCHES[name], rows, k, engine)
    assert np.array_equal(here, there)
    assert here.any()


@pytest.mark.parametrize("name", ["partition", "cover"])
def test_functions_travel_as_bytes_and_rows_in_any_order(name):
    rows, k = rows_of(160)
    _, here = masks_of(SEARCHES[name], rows, k)
    _, there = masks_of(SEARCHES[name], rows, k, DistantEngine())
    assert np.array_equal(here, there)


def test_lost_rows_are_an_error():
    class Losing(LocalEngine):
        def collect(self, blocks):
            return super().collect(blocks).slice(1)

    rows, k = rows_of(160)
    with pytest.raises(EngineError, match="lost or doubled"):
        masks_of(SEARCHES["partition"], rows, k, Losing(1))


def test_bits_are_masked_in_parts_as_well():
    rows, k = rows_of(160, [2, 3])
    n_values = [2, 3]
    bits = np.concatenate(
        [
            codes == value
            for codes, count in zip(rows.nodes, n_values, strict=True)
            for value in [np.arange(count)[:, None]]
        ]
    ).astype(np.int32)
    trees = tuple(Hierarchy.from_ladder(str(bit), [["0", "1"]]) for bit in range(5))
    attributes = np.array([0, 0, 1, 1, 1], dtype=np.int64)
    table = Rows(tuple("abcde"), bits, trees, attribute_of_column=attributes)
    _, masks = masks_of(Adaptive(mask="bit", rounds=2, partitions=2), table, k)
    people = [tuple(row) for row in rows.nodes.T.tolist()]
    crowds = oracle.mutual_crowds(people, masks.tolist(), n_values, is_bit=True)
    assert all(crowd >= wish for crowd, wish in zip(crowds, k.tolist(), strict=True))


def test_somebody_who_asks_for_many_has_a_part_that_is_large_enough():
    rows, k = rows_of(160)
    k[7] = 150
    found, _ = masks_of(SEARCHES["partition"], rows, k)
    assert found.trace.figures.get("partitions_searched", 1) < 3
    k[7] = 160
    found, _ = masks_of(SEARCHES["partition"], rows, k)
    assert "partitions_searched" not in found.trace.figures


@pytest.mark.slow
def test_large_tables_are_cut_unasked_and_small_ones_are_not(monkeypatch):
    rows, k = rows_of(160)
    method = Adaptive(search="partition", effort=200)
    whole, _ = masks_of(method, rows, k)
    assert "partitions_searched" not in whole.trace.figures
    monkeypatch.setattr(parts, "MOST_ROWS", 60)
    cut, masks = masks_of(method, rows, k)
    assert cut.trace.figures["partitions_searched"] == 3
    assert np.array_equal(masks, masks_of(SEARCHES["partition"], rows, k)[1])
    # what parts do not bound, and what they could not repeat, is not cut unasked
    swept, _ = masks_of(Adaptive(search="partition", sweeps=1), rows, k, is_bound=True)
    assert "partitions_searched" not in swept.trace.figures
    timed, _ = masks_of(Adaptive(search="partition", effort="0.2s"), rows, k)
    assert "partitions_searched" not in timed.trace.figures
    monkeypatch.setattr(parts, "MOST_ROWS", 1_000)
    monkeypatch.setattr(parts, "MOST_BYTES", 160 * (4 * 4 + 4) // 2)
    halved, _ = masks_of(method, rows, k)
    assert halved.trace.figures["partitions_searched"] == 2


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (Adaptive(search="cover", partitions=2), "does not bound it in the whole"),
        (Adaptive(search="partition", sweeps=1, partitions=2), "does not bound it in the whole"),
        (Adaptive(search="partition", effort="2s", partitions=2), "an effort in seconds"),
    ],
)
def test_what_parts_cannot_keep_is_refused(method, reason):
    rows, k = rows_of(60)
    with pytest.raises(JobError, match=reason):
        masks_of(method, rows, k, is_bound=True)


@pytest.mark.parametrize("partitions", [-1, True, 2.0, "2"])
def test_partitions_are_whole_numbers(partitions):
    with pytest.raises(JobError, match="partitions is not a whole number"):
        Adaptive(partitions=partitions)


@examples(30)
@given(st.integers(1, 10**15), st.lists(st.integers(1, 10**7), min_size=1, max_size=5))
def test_an_effort_in_changes_is_shared_out_by_rows(effort, sizes):
    shares = parts._effort_of_parts(effort, np.array(sizes, dtype=np.int64))
    assert effort <= sum(shares) <= effort + len(sizes)
    for share, size in zip(shares, sizes, strict=True):
        assert abs(share - effort * size / sum(sizes)) <= 1 + effort * 1e-9


def test_belief_within_parts_does_not_bound_belief_in_the_whole():
    """Why belief that is not counted in closed form is refused: two parts at 1/2, 3/4 together."""
    rows = [(0, 1), (0, 1), (1, 2), (0, 2)]
    masks = [[False, True], [False, True], [True, False], [True, True]]
    for part in (slice(0, 2), slice(2, 4)):
        assert max(oracle.beliefs(rows[part], masks[part], [2, 3])) == 0.5
    assert max(oracle.beliefs(rows, masks, [2, 3])) == 0.75
