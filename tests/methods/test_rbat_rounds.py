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
from incrowd.methods.rbat.rounds import costs, sides
from incrowd.methods.rbat.rounds import search as level
from incrowd.methods.rbat.rounds import search as rounds
from incrowd.methods.rbat.rounds import sides as side_rounds
from incrowd.methods.shared.item_parts import KmConditions
from incrowd.progress import silent
from incrowd.sets.packed import pack_in_chunks, packed, unpack

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
    parts, *_ = require_the_same(sets, conditions, BLOCKS, gamma=1)
    assert max(parts) > 3
    assert max(widest) > level.MOST_CASES
    assert any(again)


def test_rounds_are_few():
    """A round per bucket and one per level of checks at most, both shared; recorded as such."""
    sets, conditions = larger(60, (1, 4))
    found = Rbat(alpha=4, gamma=1, rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    depth = {0: 0}
    for node, (left, right) in enumerate(zip(found.tree.left, found.tree.right, strict=True)):
        if left >= 0:
            depth[left] = depth[right] = depth[node] + 1
    assert found.figures["n_rounds"] <= 1 + 4 * (1 + max(depth.values()))
    assert found.figures["splits_tried"] > 2 * found.figures["n_rounds"]
    assert found.figures["rounds_of_paper"] > 9 * found.figures["n_rounds"]
    full = Rbat(alpha="full", gamma=1, rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    assert full.figures["n_rounds"] < 55
    assert (full.figures["improve"], full.figures["rounds"]) == ("none", "engine")


@pytest.fixture
def searches(monkeypatch):
    """The searches by rounds that a test runs, with what they counted."""
    kept = []
    run = rounds._Search.run

    def keep(self):
        kept.append(self)
        run(self)

    monkeypatch.setattr(rounds._Search, "run", keep)
    return kept


def test_gamma_is_the_number_of_rounds_of_a_check(searches):
    """All rules touch the first split: with 4,000 of them γ = 1, 4 and 16 differ in rounds."""
    sets, conditions = larger(4000, (1, 4), k=2, confidence=1.0)
    in_all, parts = [], []
    for gamma in (1, 4, 16):
        found = Rbat(alpha=1, gamma=gamma, rounds="engine").search(
            sets, conditions, BLOCKS, 0, silent
        )
        levels = searches[-1].levels
        assert len(found.tree.left) > 1
        assert levels[0].n_of_checks == gamma
        assert levels[0].n_checked == 4000
        assert max(level.n_of_checks for level in levels) <= gamma
        in_all.append((found.figures["n_rounds"], found.figures["check_rounds"]))
        parts.append(found.part_of_item.tolist())
    assert in_all[0] < in_all[1] < in_all[2]
    assert in_all[0][1] < in_all[1][1] < in_all[2][1]
    assert parts[0] == parts[1] == parts[2]


def test_gamma_is_the_number_of_rounds_in_one_process():
    sets, conditions = larger(4000, (1, 4), k=2, confidence=1.0)
    counted = [
        Rbat(gamma=gamma, improve=0).search(sets, conditions, None, 0, silent).figures
        for gamma in (1, 4, 16)
    ]
    n_rounds = [figures["check_rounds"] for figures in counted]
    assert n_rounds[0] < n_rounds[1] < n_rounds[2]
    assert n_rounds[0] <= counted[0]["splits_tried"]
    assert n_rounds[2] <= 16 * counted[2]["splits_tried"]


def test_a_broken_rule_saves_the_rounds_after_it(searches):
    """A split that the first rules break is not checked against the others (Algorithm 5)."""
    sets, conditions = larger(64, (1, 3), k=490, confidence=1.0)
    Rbat(gamma=64, rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
    (first,) = searches[-1].levels
    assert first.n_of_checks < 64


@pytest.mark.parametrize("alpha", [1, 3, 4, 9])
def test_alpha_is_the_number_of_rounds_of_a_split(searches, monkeypatch, alpha):
    """|ĩ| − 2 items in α rounds; the first comes with the table of pairs (Section 4.1)."""
    monkeypatch.setattr(sides, "SMALL", 2)
    monkeypatch.setattr(sides, "WINDOW", 0)
    sets, conditions = larger(60, (1, 4))
    method = Rbat(alpha=alpha, rounds="engine")
    method.search(sets, conditions, BLOCKS, 0, silent)
    n_items = searches[-1].n_items[0]
    assert costs.n_buckets(n_items, alpha) == alpha
    root = searches[-1].levels[0]
    assert root.n_of_sides == alpha - 1
    assert all(level.n_of_sides <= alpha - 1 for level in searches[-1].levels)
    monkeypatch.setattr(rounds, "MOST_CELLS", 0)
    method.search(sets, conditions, BLOCKS, 0, silent)
    root = searches[-1].levels[0]
    assert root.n_candidates == n_items - 2
    assert root.n_of_sides == 1 + alpha  # the seeds, then α rounds


def test_what_rounds_move_is_what_the_equations_say(searches, monkeypatch):
    """Equations 1 to 3 count rows read, keys sent and sums read: the same as a real round's."""
    monkeypatch.setattr(sides, "SMALL", 2)
    monkeypatch.setattr(sides, "WINDOW", 0)
    monkeypatch.setattr(rounds, "MOST_CELLS", 0)
    sets, conditions = larger(60, (1, 4))
    alpha, n_blocks = 4, 4
    engine = LocalEngine(threads=1, block_rows=-(-sets.n_rows // n_blocks))
    Rbat(alpha=alpha, rounds="engine").search(sets, conditions, engine, 0, silent)
    search = searches[-1]
    n_items = search.n_items[0]
    cluster = costs.Cluster(n_mappers=n_blocks, n_reducers=1, read=1, send=1)
    seeds, *split = search._rounds.counted[1 : 2 + alpha]
    assert seeds.n_blocks == n_blocks
    sizes = [n_items - 2 - (alpha - 1) * -(-(n_items - 2) // alpha)]
    sizes = [-(-(n_items - 2) // alpha)] * (alpha - 1) + sizes
    assert sum(sizes) == n_items - 2
    for size, counted in zip(sizes, split, strict=True):
        # two sums for every key, both sides as they stand, and the rows of the block
        assert counted.n_cells == 2 * size + 2 + 1
        assert counted.n_sums <= n_blocks * counted.n_cells
        assert counted.n_sums * 2 >= cluster.reduce_cost(size)
        assert counted.n_bytes == 16 * counted.n_sums
        assert cluster.shuffle_cost(size) == size
        assert cluster.reduce_cost(size) == n_blocks * size
        assert cluster.map_cost(sets.n_rows) == sets.n_rows / n_blocks
    total = cluster.cost(sets.n_rows, n_items - 2, alpha)
    assert total == pytest.approx(alpha * sets.n_rows / n_blocks + (1 + n_blocks) * (n_items - 2))


def test_costs_are_those_of_the_paper():
    """Equation 4, worked out by hand: more rounds cost set-ups and reading, not more keys."""
    cluster = costs.Cluster(4, 2, map_setup=3, reduce_setup=2, read=0.5, send=0.25)
    # 4 rounds of 3 + 2 + 100/4 · 0.5 + 8/(4 · 2) · (0.25 + 4 · 0.5)
    assert cluster.cost(100, 8, 4) == 4 * (5 + 12.5 + 1 * 2.25)
    # no more reducers than keys: 8 rounds of one key
    assert cluster.cost(100, 8, 8) == 8 * (5 + 12.5 + 1 * 2.25)
    assert cluster.shuffle_cost(0) == 0
    assert [costs.n_buckets(12, alpha) for alpha in (1, 3, 4, 10, 99, "full")] == [1, 3, 4] + 3 * [
        10
    ]
    assert costs.n_buckets(2, 4) == 0
    # pairs and root; a split of 12 items: seeds, 4 rounds, update, 2 of 3 rules; one of 2 items
    assert costs.rounds_of_paper([12, 2], 5, 3, 4) == 2 + (1 + 4 + 1 + 2) + (1 + 0 + 1 + 2)


def test_an_end_that_is_wished_for_leaves_valid_parts(monkeypatch):
    sets, conditions = larger(60, (1, 4))
    answers = iter([False] * 14 + [True] * 99)
    monkeypatch.setattr(rounds, "is_stop_requested", lambda: next(answers))
    found = Rbat(gamma=1, rounds="engine").search(sets, conditions, BLOCKS, 0, silent)
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


def test_auto_counts_in_rounds_on_spark_unless_an_improvement_is_stated(monkeypatch):
    sets, conditions = larger(20, (1, 3))
    small = LocalEngine(memory=1)
    assert "n_rounds" not in Rbat().search(sets, conditions, small, 0, silent).figures
    monkeypatch.setattr(LocalEngine, "name", "spark")
    stated = Rbat(improve=1).search(sets, conditions, LocalEngine(), 0, silent)
    assert "n_rounds" not in stated.figures
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
    monkeypatch.setattr("incrowd.sets.packed.CHUNK_ITEMS", 4)
    sets = to_sets([[], [1, 2, 3, 4, 5, 6], [7], [8], [], [9, 10]], 11)
    column = pack_in_chunks(sets.starts, sets.items)
    assert column.num_chunks > 2
    starts, items = unpack(column)
    assert starts.tolist() == sets.starts.tolist()
    assert items.tolist() == sets.items.tolist()
    assert column.combine_chunks().equals(packed(sets.starts, sets.items))
    assert pack_in_chunks(np.zeros(1, np.int64), np.empty(0, np.int32)).num_chunks == 0
