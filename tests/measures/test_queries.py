"""Count queries against a count of every row, and the draw of a workload."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import to_sets
from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.measures.losses.transactions import draw_held_queries
from incrowd.measures.utility.cells import columns_of, leaf_spans
from incrowd.measures.utility.queries import Workload, answer_workload, draw_query, queries_finding
from measures.small_material import release_of, small_table
from oracles import utility as oracle
from tiers import examples


@given(n_rows=st.integers(1, 25), seed=st.integers(0, 10**6), n_predicates=st.integers(1, 3))
@examples(25)
def test_answers_are_those_of_a_count_row_by_row(n_rows, seed, n_predicates):
    material = release_of(small_table(n_rows, seed), seed)
    own = material.own
    columns = columns_of(material)
    workload = Workload(n_queries=6, n_predicates=n_predicates, seed=seed)
    found = answer_workload(columns, workload)
    values = own.original.frame.column("ill").to_pylist()
    for number, asked in enumerate(found.columns):
        query = draw_query(columns, asked, number, workload)
        quasi = [place for place in asked if place < 3]
        assert len(quasi) == n_predicates
        assert asked[-1] == 3
        (wanted,) = [columns[3].labels[value] for value in np.flatnonzero(query.meant[-1])]
        rows = [row for row in range(n_rows) if values[row] == wanted]
        kept = [row for row in rows if not own.after.is_suppressed[row]]
        hierarchies = [own.before.hierarchies[place] for place in quasi]
        for cells, those, said in (
            (own.before.nodes, rows, found.true[number]),
            (own.after.nodes, kept, found.said[number]),
        ):
            of_rows = [[cells[place, row] for place in quasi] for row in those]
            expected = oracle.expected_count(of_rows, hierarchies, query.meant[:-1])
            assert said == pytest.approx(expected, abs=1e-9)


def test_the_error_is_the_mean_over_the_bound():
    material = release_of(small_table(40, 3), 3)
    found = answer_workload(columns_of(material), Workload(n_queries=50, bound_share=0.1, seed=4))
    errors = [
        abs(said - true) / max(true, 4.0)
        for true, said in zip(found.true.tolist(), found.said.tolist(), strict=True)
    ]
    finding = queries_finding(material, Workload(n_queries=50, bound_share=0.1, seed=4))
    assert finding.figures["are"] == pytest.approx(sum(errors) / 50, abs=1e-6)
    assert finding.figures["bound"] == 4.0
    assert finding.figures["n_empty"] == sum(true == 0 for true in found.true.tolist())
    assert finding.holds is None
    assert not finding.is_public


def test_a_release_that_shows_everything_is_never_wrong():
    material = release_of(small_table(60, 1), 1, how="none", left_out=0.0)
    figures = queries_finding(material).figures
    assert figures["are"] == 0
    assert figures["n_queries"] == 1000
    assert figures["mean_selectivity"] > 0


def test_a_release_that_shows_nothing_spreads_over_all_values():
    material = release_of(small_table(60, 1), 1, how="all", left_out=0.0)
    figures = queries_finding(material, Workload(n_queries=200)).figures
    assert figures["are"] > 0.2
    assert set(figures["by_column"]) == {"age", "height", "zip", "ill"}


def test_a_workload_is_drawn_by_its_seed_alone():
    one, other = (release_of(small_table(50, 2), 2, how=how) for how in ("none", "random"))
    first = answer_workload(columns_of(one), Workload(n_queries=40, seed=9))
    again = answer_workload(columns_of(other), Workload(n_queries=40, seed=9))
    assert first.columns == again.columns
    assert first.true.tolist() == again.true.tolist()
    assert (
        first.true.tolist() != answer_workload(columns_of(one), Workload(40, seed=8)).true.tolist()
    )


def test_predicates_take_about_the_stated_share_and_ranges_have_no_holes():
    table = small_table(3000, 5)
    columns = columns_of(release_of(table, 5, how="none", left_out=0.0))
    workload = Workload(n_queries=60, n_predicates=1, selectivity=0.3)
    for number in range(60):
        for place in range(3):
            (meant,) = draw_query(columns, (place,), number, workload).meant
            share = columns[place].counted(columns[place].before)[meant].sum() / 3000
            assert 0.25 < share < 0.4, columns[place].name
            if columns[place].numbers is not None:
                numbers = columns[place].numbers
                low, high = numbers[meant].min(), numbers[meant].max()
                assert meant.tolist() == ((numbers >= low) & (numbers <= high)).tolist()


def test_a_node_is_the_span_of_its_leaves():
    material = release_of(small_table(80, 6), 6)
    for hierarchy in material.own.before.hierarchies:
        place, first, end = leaf_spans(hierarchy)
        for node in range(hierarchy.n_all_nodes):
            under = sorted(place[oracle.leaves_under(hierarchy, node)].tolist())
            assert under == list(range(first[node], end[node]))


def test_without_the_original_nothing_is_compared():
    from dataclasses import replace

    with pytest.raises(ValueError, match="only its owner has"):
        queries_finding(replace(release_of(small_table(5, 0), 0), own=None))


ROWS = st.lists(st.sets(st.integers(0, 5), max_size=5), min_size=1, max_size=12)


@given(before=ROWS, seed=st.integers(0, 99))
@examples(20)
def test_itemset_counts_are_those_of_a_count_row_by_row(before, seed):
    draw = np.random.default_rng(seed)
    after = [{item for item in row if draw.random() < 0.6} for row in before]
    order = draw.permutation(len(before))
    own = OwnSets(to_sets(before, 6), order)
    material = SetMaterial(to_sets([after[row] for row in order], 6), own)
    figures = queries_finding(material, Workload(n_queries=30, seed=seed)).figures
    errors = []
    for size in (1, 2, 3):
        none = np.zeros(6, dtype=np.bool_)
        queries = draw_held_queries(
            own.original, none, 10, np.random.default_rng([seed, size]), size
        )
        for query in queries:
            assert len(set(query)) == size
            true = sum(set(query) <= row for row in before)
            said = sum(set(query) <= row for row in after)
            assert true > 0
            errors.append(abs(said - true) / true)
    assert figures["n_queries"] == len(errors)
    expected = sum(errors) / len(errors) if errors else None
    assert figures["are"] == (None if expected is None else pytest.approx(expected, abs=1e-6))


def test_sets_that_show_nothing_are_wrong_by_all():
    own = OwnSets(to_sets([{0, 1, 2}, {0, 1, 2}], 3), np.arange(2))
    material = SetMaterial(to_sets([set(), set()], 3), own)
    figures = queries_finding(material, Workload(n_queries=9)).figures
    assert figures["are"] == 1
    assert [one["n_items"] for one in figures["by_size"]] == [1, 2, 3]
