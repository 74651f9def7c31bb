"""Greedy in partitions: the same on any engine, feasible parts, equal rows together."""

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import EngineError, InfeasibleError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.methods.greedy import method as greedy_method
from incrowd.methods.greedy.method import REORGANIZE, Greedy
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.methods.shared.reorganize import automatic_partitions, column_order, cut
from incrowd.progress import silent
from oracles.generated import as_tuples, asked, tables
from oracles.methods import group_members
from oracles.validity import is_valid


class DistantEngine:
    """Loses every order of rows and groups, and sends functions as bytes, as a cluster does."""

    name = "distant"
    n_workers = 2

    def threads_within(self, n_groups):  # noqa: ARG002
        return 3

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.n_groups = 0

    def load(self, table):
        return table.take(pa.array(self.random.permutation(table.num_rows)))

    def collect(self, blocks):
        return blocks

    def map_groups(self, blocks, key, function, schema):
        sent = pickle.dumps(function)
        keys = blocks.column(key).to_numpy()
        self.n_groups = len(set(keys.tolist()))
        results = []
        for value in self.random.permutation(np.unique(keys)):
            rows = blocks.take(pa.array(self.random.permutation(np.flatnonzero(keys == value))))
            results.append(pickle.loads(sent)(rows))
            assert results[-1].schema == schema
        return pa.concat_tables(results)


def many_rows(n_rows=2000, seed=0):
    random = np.random.default_rng(seed)
    ages = [str(age) for age in range(50)]
    age = Hierarchy.from_ladder("age", [ages, [f"{int(a) // 5}" for a in ages]])
    trees = (
        age,
        Hierarchy.from_ladder("sex", [["f", "m"]]),
        Hierarchy.from_ladder("place", [list("abcdefghij")]),
    )
    nodes = np.stack([random.integers(0, tree.n_leaves, n_rows) for tree in trees])
    return Rows(("age", "sex", "place"), nodes.astype(np.int32), trees)


def many_conditions(n_rows, seed=1):
    random = np.random.default_rng(seed)
    return Conditions(
        3,
        k_of_row=random.integers(1, 9, n_rows).astype(np.int32),
        person_of_row=random.integers(0, n_rows, n_rows).astype(np.int32),
        sensitive=(
            SensitiveCondition(random.integers(-1, 4, n_rows).astype(np.int32), 4, l=2.0, t=0.4),
        ),
    )


@pytest.mark.slow
@given(st.data())
def test_any_partitions_keep_the_conditions(data):
    rows = data.draw(tables(most_rows=30))
    case = data.draw(asked(rows.n_rows))
    method = Greedy(
        partitions=data.draw(st.integers(1, 5)),
        repair="no",
        reorganize=data.draw(st.sampled_from(REORGANIZE)),
    )
    try:
        after = method.run(rows, case.conditions, LocalEngine(2), 0, silent)
    except InfeasibleError:
        assert not is_valid(list(range(rows.n_rows)), case.rules, 1e-12)
        return
    for members in group_members(as_tuples(after.nodes)):
        assert is_valid(members, case.rules)
    for hierarchy, old, new in zip(rows.hierarchies, rows.nodes, after.nodes, strict=True):
        assert hierarchy.is_ancestor(new, old).all()


@pytest.mark.parametrize("partitions", [1, 2, 3, 5])
@pytest.mark.parametrize("reorganize", REORGANIZE)
def test_engine_and_threads_change_nothing(partitions, reorganize):
    rows = many_rows()
    conditions = many_conditions(rows.n_rows)
    method = Greedy(partitions=partitions, repair="no", reorganize=reorganize)
    one = method.run(rows, conditions, LocalEngine(1), 0, silent).nodes
    four = method.run(rows, conditions, LocalEngine(4, block_rows=77), 0, silent).nodes
    assert np.array_equal(one, four)
    for seed in (1, 2):
        engine = DistantEngine(seed)
        assert np.array_equal(one, method.run(rows, conditions, engine, 0, silent).nodes)
        assert engine.n_groups == (0 if partitions == 1 else partitions)


@pytest.mark.parametrize("reorganize", ["levels-first", "values-first"])
def test_order_of_rows_changes_nothing_in_partitions(reorganize):
    rows = many_rows()
    conditions = many_conditions(rows.n_rows)
    order = np.random.default_rng(5).permutation(rows.n_rows)
    moved = rows.with_nodes(np.ascontiguousarray(rows.nodes[:, order]))
    method = Greedy(partitions=4, repair="no", reorganize=reorganize)
    after = method.run(rows, conditions, LocalEngine(1), 0, silent).nodes
    again = method.run(moved, conditions.take(order), LocalEngine(1), 0, silent).nodes
    assert np.array_equal(again, after[:, order])


def test_one_partition_is_the_plain_search():
    rows = many_rows()
    plain = Greedy().run(rows, Conditions(4), LocalEngine(1), 0, silent)
    assert np.array_equal(
        Greedy(partitions=1).run(rows, Conditions(4), LocalEngine(1), 0, silent).nodes, plain.nodes
    )
    several = Greedy(partitions=6, repair="no").run(rows, Conditions(4), LocalEngine(1), 0, silent)
    assert not np.array_equal(several.nodes, plain.nodes)


def test_partitions_are_searched_alone():
    # the first column splits the table in the middle: no group reaches over the cut
    nodes = np.asarray([[0] * 6 + [1] * 6, [0, 1, 2] * 4], dtype=np.int32)
    trees = (
        Hierarchy.from_ladder("half", [["a", "b"]]),
        Hierarchy.from_ladder("third", [["x", "y", "z"], ["xy", "xy", "z"]]),
    )
    rows = Rows(("half", "third"), nodes, trees)
    after = Greedy(partitions=2, repair="no").run(rows, Conditions(6), LocalEngine(1), 0, silent)
    assert after.nodes[0].tolist() == nodes[0].tolist()


def test_t_in_a_partition_compares_with_the_whole_table():
    # within each half all values are equal: no half is close to the whole table
    nodes = np.asarray([[0] * 4 + [1] * 4], dtype=np.int32)
    rows = Rows(("half",), nodes, (Hierarchy.from_ladder("half", [["a", "b"]]),))
    codes = np.asarray([0] * 4 + [1] * 4, dtype=np.int32)
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, t=0.2),))
    after = Greedy(partitions=2, repair="no").run(rows, conditions, LocalEngine(1), 0, silent)
    assert set(after.nodes[0].tolist()) == {2}
    # and where halves are as mixed as the whole, groups inside them must be too
    codes = np.asarray([0, 0, 1, 1] * 2, dtype=np.int32)
    nodes = np.asarray([[0] * 4 + [1] * 4, [0, 1] * 4], dtype=np.int32)
    trees = (*rows.hierarchies, Hierarchy.from_ladder("other", [["x", "y"]]))
    conditions = Conditions(2, sensitive=(SensitiveCondition(codes, 2, t=0.0),))
    engine = DistantEngine(0)
    after = Greedy(partitions=2, repair="no").run(
        Rows(("half", "other"), nodes, trees), conditions, engine, 0, silent
    )
    assert engine.n_groups == 2
    for members in group_members(as_tuples(after.nodes)):
        assert Counter(codes[members].tolist())[0] * 2 == len(members)


def test_lost_rows_are_noticed():
    class LosingEngine(DistantEngine):
        def collect(self, blocks):
            return blocks.slice(1)

    rows = many_rows(100)
    with pytest.raises(EngineError, match="lost"):
        Greedy(partitions=2, repair="no").run(rows, Conditions(2), LosingEngine(0), 0, silent)


def sizes_valid(k):
    return lambda start, end: end - start >= k


def test_cuts_are_nearly_equal_and_never_through_a_run():
    starts = cut(np.arange(0, 101), 4, sizes_valid(1))
    assert starts.tolist() == [0, 25, 50, 75, 100]
    # a run of 60 equal rows takes the place of several partitions
    starts = cut(np.asarray([0, 10, 70, 80, 90, 100]), 5, sizes_valid(1))
    assert set(starts.tolist()) <= {0, 10, 70, 80, 90, 100}
    assert starts.tolist() == [0, 70, 80, 100]


def test_parts_that_are_not_valid_join_their_neighbours():
    runs = np.arange(0, 11)
    assert cut(runs, 5, sizes_valid(2)).tolist() == [0, 2, 4, 6, 8, 10]
    assert cut(runs, 5, sizes_valid(3)).tolist() == [0, 4, 10]
    assert cut(runs, 5, sizes_valid(6)).tolist() == [0, 10]
    assert cut(runs, 5, sizes_valid(11)).tolist() == [0, 10]
    # the last part is not valid with its neighbour alone
    bad = {(8, 10), (6, 10), (4, 10)}
    assert cut(runs, 5, lambda start, end: (start, end) not in bad).tolist() == [0, 2, 10]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=30), st.integers(1, 9), st.integers(1, 12))
def test_every_part_is_valid_unless_there_is_one(lengths, partitions, k):
    runs = np.concatenate([[0], np.cumsum(lengths)])
    starts = cut(runs, partitions, sizes_valid(k))
    assert starts[0] == 0
    assert starts[-1] == sum(lengths)
    assert set(starts.tolist()) <= set(runs.tolist())
    assert len(starts) <= partitions + 1
    if len(starts) > 2:
        assert np.diff(starts).min() >= k


def test_automatic_partitions():
    assert automatic_partitions(0) == 1
    assert automatic_partitions(500_000) == 1
    assert automatic_partitions(500_001) == 3
    assert automatic_partitions(750_001) == 4


def test_automatic_partitions_are_taken(monkeypatch):
    rows = many_rows(300)
    monkeypatch.setattr("incrowd.methods.shared.reorganize.LARGEST_WHOLE", 50)
    monkeypatch.setattr("incrowd.methods.shared.reorganize.DISTINCT_PER_PARTITION", 100)
    n_distinct = len(set(as_tuples(rows.nodes)))
    engine = DistantEngine(0)
    Greedy().run(rows, Conditions(3), engine, 0, silent)
    assert engine.n_groups == -(-n_distinct // 100) > 1


def test_column_orders():
    two_levels = Hierarchy.from_ladder("deep", [["a", "b"], ["ab", "ab"], ["*", "*"]])
    many = Hierarchy.from_ladder("many", [list("abcdef")])
    few = Hierarchy.from_ladder("few", [list("abc")])
    nodes = np.asarray([[0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 2] * 2], dtype=np.int32)
    rows = Rows(("deep", "many", "few"), nodes, (two_levels, many, few))
    assert column_order(rows, "levels-first") == [2, 1, 0]
    assert column_order(rows, "values-first") == [0, 2, 1]
    assert column_order(rows, "levels-last") == [0, 2, 1]
    # by levels and not by values: the deep column comes first though it has the most values
    deep = Hierarchy.from_ladder("deep", [list("abcdef"), list("uuvvww"), list("xxxxyy")])
    rows = Rows(("few", "deep", "many"), nodes[[2, 1, 1]], (few, deep, many))
    assert column_order(rows, "levels-last") == [1, 0, 2]
    assert column_order(rows, "values-first") == [0, 2, 1]


@pytest.mark.parametrize(
    ("scheme", "canonical", "values_in_a_part"),
    [("scheme-1", "levels-last", (2, 3, 3)), ("scheme-2", "levels-first", (1, 3, 6))],
)
def test_the_schemes_of_the_paper(scheme, canonical, values_in_a_part):
    # §III-B1, Figure 5: Q1, Q2, Q3 with 2, 3 and 6 values and ever more levels, in two parts; only
    # what is sorted first stays together
    assert Greedy(reorganize=scheme).reorganize == canonical
    nodes = np.indices((2, 3, 6)).reshape(3, -1).astype(np.int32)
    trees = (
        Hierarchy.from_ladder("Q1", [list("ab")]),
        Hierarchy.from_ladder("Q2", [list("abc"), list("xxy")]),
        Hierarchy.from_ladder("Q3", [list("abcdef"), list("uuvvww"), list("xxxxyy")]),
    )
    rows = Rows(("Q1", "Q2", "Q3"), nodes, trees)
    engine = DistantEngine(0)
    parts = []
    load = engine.load
    engine.load = lambda table: parts.append(table) or load(table)
    method = Greedy(partitions=2, repair="no", reorganize=scheme)
    method.run(rows, Conditions(2), engine, 0, silent)
    for part in (0, 1):
        is_in = np.asarray(parts[0].column("part")) == part
        found = [len(set(np.asarray(parts[0].column(f"c{q}"))[is_in])) for q in range(3)]
        assert tuple(found) == values_in_a_part


def test_an_unknown_scheme_is_told_the_known_ones():
    with pytest.raises(JobError, match="scheme-3") as caught:
        Greedy(reorganize="scheme-3")
    assert "scheme-1" in caught.value.remedy


def test_as_they_stand_means_the_order_of_the_file():
    nodes = np.asarray([[3, 3, 0, 0, 2, 2, 1, 1]], dtype=np.int32)
    rows = Rows(("a",), nodes, (Hierarchy.from_ladder("a", [list("wxyz")]),))
    engine = DistantEngine(0)
    plan_rows = {}
    load = engine.load

    def spy(table):
        plan_rows["partition"] = table.column("part").to_pylist()
        plan_rows["leaf"] = table.column("c0").to_pylist()
        return load(table)

    engine.load = spy
    Greedy(partitions=2, repair="no", reorganize="none").run(rows, Conditions(2), engine, 0, silent)
    # one line per distinct row
    assert plan_rows == {"leaf": [3, 0, 2, 1], "partition": [0, 0, 1, 1]}
    Greedy(partitions=2, repair="no").run(rows, Conditions(2), engine, 0, silent)
    assert plan_rows["partition"] == [1, 0, 1, 0]


def test_progress_is_told_in_partitions():
    told = []
    Greedy(partitions=3, repair="no").run(
        many_rows(300), Conditions(3), LocalEngine(1), 0, lambda *report: told.append(report)
    )
    assert told[-1][1:3] == (300, 300)
    assert [report[1] for report in told] == sorted(report[1] for report in told)
    assert greedy_method.REORGANIZE == REORGANIZE


def parts_searched(method, rows):
    engine = DistantEngine(0)
    nodes = method.run(rows, Conditions(2), engine, 0, silent).nodes
    return engine.n_groups, nodes


@pytest.mark.parametrize(
    ("preset", "processors", "n_parts"),
    [
        ("gkaa", 0, 1),
        ("gkaa", 1, 1),
        ("pgkaa", 0, 1),
        ("pgkaa", 8, 1),
        ("pgpkaa", 1, 1),
        ("pgpkaa", 2, 2),
        ("pgpkaa", 8, 8),
        ("h-pgpkaa", 1, 1),
        ("h-pgpkaa", 2, 2),
        ("h-pgpkaa", 7, 3),
        ("h-pgpkaa", 8, 4),
        ("h-pgpkaa", 128, 8),
    ],
)
def test_presets_are_partitions(preset, processors, n_parts):
    rows = many_rows()
    method = Greedy(preset=preset, processors=processors)
    found, nodes = parts_searched(method, rows)
    assert found == (0 if n_parts == 1 else n_parts)
    assert np.array_equal(nodes, parts_searched(Greedy(partitions=n_parts, repair="no"), rows)[1])
    both = Greedy(preset=preset, processors=processors, partitions=n_parts)
    assert np.array_equal(nodes, parts_searched(both, rows)[1])


def test_a_preset_is_not_overruled_by_the_size_of_the_table(monkeypatch):
    from incrowd.methods.shared import reorganize

    monkeypatch.setattr(reorganize, "LARGEST_WHOLE", 100)
    monkeypatch.setattr(reorganize, "DISTINCT_PER_PARTITION", 100)
    assert parts_searched(Greedy(preset="pgkaa"), many_rows())[0] == 0


@pytest.mark.parametrize(
    ("stated", "word"),
    [
        ({"preset": "gkka"}, "gkaa"),
        ({"preset": ""}, "preset"),
        ({"preset": "pgpkaa"}, "processors"),
        ({"preset": "h-pgpkaa"}, "processors"),
        ({"preset": "gkaa", "processors": 2}, "one processor"),
        ({"processors": 4}, "preset"),
        ({"preset": "pgkaa", "processors": -1}, "processors"),
        ({"preset": "pgkaa", "processors": 2.0}, "processors"),
        ({"preset": "gkaa", "partitions": 2}, "partitions"),
        ({"preset": "pgkaa", "processors": 4, "partitions": 4}, "partitions"),
        ({"preset": "pgpkaa", "processors": 4, "partitions": 3}, "partitions"),
        ({"preset": "h-pgpkaa", "processors": 4, "partitions": 4}, "partitions"),
    ],
)
def test_presets_that_say_too_little_or_two_things_are_refused(stated, word):
    with pytest.raises(JobError, match=word) as caught:
        Greedy(**stated)
    assert caught.value.remedy
