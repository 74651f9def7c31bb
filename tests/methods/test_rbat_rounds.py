"""Rules counted in rounds on an engine: exactly the search of one process, in few rounds."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.methods.rule_instances import conditions_of, instances, random_rows

import incrowd as ic
from guarantees.small_sets import to_sets
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import EngineError, InfeasibleError, JobError
from incrowd.methods.rbat.method import Rbat
from incrowd.methods.rbat.rounds import search as level
from incrowd.methods.rbat.rounds import search as rounds
from incrowd.methods.rbat.rounds import sides
from incrowd.methods.rbat.rounds import sides as side_rounds
from incrowd.methods.shared.item_parts import KmConditions
from incrowd.methods.shared.parts import pack_in_chunks, packed, unpack
from incrowd.progress import silent

SMALL_BLOCKS = LocalEngine(threads=2, block_rows=7)
BLOCKS = LocalEngine(threads=2, block_rows=150)


def found_by(method, sets, conditions, engine):
    """Return all that a search found, or why it found nothing."""
    try:
        found = method.search(sets, conditions, engine, 0, silent)
    except InfeasibleError as error:
        return str(error)
    tree = found.tree
    return (
        found.part_of_item.tolist(),
        tree.left.tolist(),
        tree.right.tolist(),
        tree.n_items.tolist(),
        found.figures.get("splits_tried"),
        found.figures.get("absent_rules"),
    )


def require_the_same(sets, conditions, engine, **stated):
    """Compare rounds on an engine with the search of one process; return what both found."""
    alone = found_by(Rbat(**stated, improve=0, rounds="driver"), sets, conditions, None)
    spread = found_by(Rbat(**stated, rounds="engine"), sets, conditions, engine)
    assert spread == alone
    return alone


@pytest.fixture(params=["table, all at once", "lines, step by step"])
def pace(request, monkeypatch):
    """Whether rounds count as much as they can, or as little as they can."""
    if request.param == "lines, step by step":
        monkeypatch.setattr(rounds, "MOST_CELLS", 0)
        monkeypatch.setattr(side_rounds, "MOST_CELLS", 20)
        monkeypatch.setattr(sides, "SMALL", 2)
        monkeypatch.setattr(level, "LEAST_RULES", 1)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("pace")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rounds_find_what_one_process_finds(weighted, data):
    rows, rules, k, confidence, n_items, n_public, weight, alpha, gamma = data.draw(
        instances(weighted, most_public=7)
    )
    conditions = conditions_of(rules, k, confidence, n_items, n_public, weight)
    order = data.draw(st.sampled_from(["paper", "together"]))
    sets = to_sets(rows, n_items)
    require_the_same(sets, conditions, SMALL_BLOCKS, alpha=alpha, gamma=gamma, order=order)


def larger(n_rules, sizes, n_items=60, n_rows=500, k=4, confidence=0.8, weighted=False):
    """Return baskets and a promise about rules of some sizes, each held by a basket or two."""
    rows = random_rows(5, n_rows, n_items, 12)
    random = np.random.default_rng(3)
    n_public = n_items - 5
    rules = []
    while len(rules) < n_rules:
        two = rows[random.integers(n_rows)] | rows[random.integers(n_rows)]
        public = [item for item in two if item < n_public]
        size = int(random.integers(*sizes))
        if len(public) >= size:
            chosen = frozenset(random.choice(public, size, replace=False).tolist())
            rules.append((chosen, frozenset([int(random.integers(n_public, n_items))])))
    weight = random.integers(1, 4, n_items) / 10 if weighted else None
    return to_sets(rows, n_items), conditions_of(rules, k, confidence, n_items, n_public, weight)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1, 2, 4, 20, "full"])
@pytest.mark.usefixtures("pace")
def test_larger_baskets(alpha):
    sets, conditions = larger(60, (1, 4))
    parts, *_ = require_the_same(sets, conditions, BLOCKS, alpha=alpha, gamma=3)
    assert 8 < max(parts) < 54
    sets, conditions = larger(60, (1, 4), weighted=True)
    require_the_same(sets, conditions, BLOCKS, alpha=alpha, gamma=1, order="paper")


def test_rules_that_touch_many_splits_are_counted_again(monkeypatch):
    """Not every case of a long rule is counted: what is missing is, in further rounds."""
    sets, conditions = larger(10, (7, 9), n_rows=6000, k=6, confidence=1.0)
    widest, again = [], []
    taken, following = level.Level.take, level.Level._next

    def take(self, cells):
        widest.append(self._asked[1].n_touched.max())
        taken(self, cells)

    def next_rules(self):
        some = following(self)
        again.append(bool((self._cases.n_touched[some] >= 0).any()))
        return some

    monkeypatch.setattr(level.Level, "take", take)
    monkeypatch.setattr(level.Level, "_next", next_rules)
    parts, *_ = require_the_same(sets, conditions, BLOCKS)
    assert max(parts) > 3
    assert max(widest) > level.MOST_CASES
    assert any(again)


def test_rounds_are_few():
    """A round per bucket and one per level of checks at most, both shared; recorded as such."""
    sets, conditions = larger(60, (1, 4))
    found = Rbat(alpha=4, rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    depth = {0: 0}
    for node, (left, right) in enumerate(zip(found.tree.left, found.tree.right, strict=True)):
        if left >= 0:
            depth[left] = depth[right] = depth[node] + 1
    assert found.figures["n_rounds"] <= 1 + 4 * (1 + max(depth.values()))
    assert found.figures["splits_tried"] > 2 * found.figures["n_rounds"]
    full = Rbat(alpha="full", rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    assert full.figures["n_rounds"] < 55
    assert (full.figures["improve"], full.figures["rounds"]) == ("none", "engine")


def test_an_end_that_is_wished_for_leaves_valid_parts(monkeypatch):
    sets, conditions = larger(60, (1, 4))
    answers = iter([False] * 14 + [True] * 99)
    monkeypatch.setattr(rounds, "is_stop_requested", lambda: next(answers))
    found = Rbat(rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    whole = Rbat(rounds="driver", improve=0).search(sets, conditions, None, 0, silent)
    assert 1 < found.part_of_item.max() < whole.part_of_item.max()
    n_nodes = len(found.tree.left)
    assert found.tree.left.tolist()[: n_nodes // 2] == whole.tree.left.tolist()[: n_nodes // 2]


class Forgetful(LocalEngine):
    """Loses a block from the third pass on."""

    n_passes = 0

    def map_blocks(self, blocks, function, schema):
        self.n_passes += 1
        if self.n_passes > 2:
            blocks = type(blocks)(blocks.tables[1:], blocks.schema)
        return super().map_blocks(blocks, function, schema)


def test_rows_that_an_engine_lost_are_an_error():
    sets, conditions = larger(60, (1, 4))
    with pytest.raises(EngineError, match="lost or doubled"):
        Rbat(rounds="engine").search(sets, conditions, Forgetful(block_rows=100), 0, silent)


def test_auto_counts_on_spark_only_what_does_not_fit(monkeypatch):
    sets, conditions = larger(20, (1, 3))
    small = LocalEngine(memory=1)
    assert "n_rounds" not in Rbat().search(sets, conditions, small, 0, silent).figures
    monkeypatch.setattr(LocalEngine, "name", "spark")
    assert "n_rounds" not in Rbat().search(sets, conditions, LocalEngine(), 0, silent).figures
    found = Rbat().search(sets, conditions, small, 0, silent)
    assert found.figures["n_rounds"] > 1
    again = Rbat(**found.settings).search(sets, conditions, LocalEngine(), 0, silent)
    assert again.part_of_item.tolist() == found.part_of_item.tolist()
    km = KmConditions(3, 2, conditions.is_sensitive, conditions.weight)
    assert "n_rounds" not in Rbat().search(sets, km, small, 0, silent).figures


def test_km_is_not_counted_in_rounds():
    sets, conditions = larger(20, (1, 3))
    km = KmConditions(3, 2, conditions.is_sensitive, conditions.weight)
    with pytest.raises(JobError, match="not every set"):
        Rbat(rounds="engine").search(sets, km, BLOCKS, 0, silent)
    with pytest.raises(JobError, match="not every set"):
        ic.Job(guarantee=ic.KmAnonymity(3, 2), method=Rbat(rounds="engine"))
    with pytest.raises(JobError, match="rounds"):
        Rbat(rounds="often")


def test_packed_rows_come_back(monkeypatch):
    monkeypatch.setattr("incrowd.methods.shared.parts.CHUNK_ITEMS", 4)
    sets = to_sets([[], [1, 2, 3, 4, 5, 6], [7], [8], [], [9, 10]], 11)
    column = pack_in_chunks(sets.starts, sets.items)
    assert column.num_chunks > 2
    starts, items = unpack(column)
    assert starts.tolist() == sets.starts.tolist()
    assert items.tolist() == sets.items.tolist()
    assert column.combine_chunks().equals(packed(sets.starts, sets.items))
    assert pack_in_chunks(np.zeros(1, np.int64), np.empty(0, np.int32)).num_chunks == 0
