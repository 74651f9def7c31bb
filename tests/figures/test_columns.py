"""Columns before and after, against counts by hand and against the losses of an audit."""

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.checking.material import OwnTable, TableMaterial
from incrowd.encoding.encode import encode
from incrowd.encoding.rows import Rows
from incrowd.figures.blocks import Bars, Facts, Steps, Tree
from incrowd.figures.columns import (
    column_block,
    column_sections,
    count_changes,
    histogram,
    loss_section,
    released_section,
    unchanged_section,
)
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import measure_losses
from incrowd.report.charts import chart_specification
from incrowd.report.render import list_numbers
from incrowd.tables.table import Table
from tiers import examples

TREE = Hierarchy.from_ladder(
    "job", [["nurse", "cook", "clerk", "sales"], ["care", "care", "desk", "desk"], ["*"] * 4]
)
NURSE, COOK, CLERK, SALES, CARE, DESK, ROOT = range(7)


def own_of(before, after, is_suppressed=None, hierarchy=TREE):
    """Return a table of one column, by nodes before and after."""
    rows = Rows(("job",), np.array([before], np.int32), (hierarchy,))
    suppressed = np.array(is_suppressed or [False] * len(before))
    original = Table(pa.table({"job": [hierarchy.all_labels[node] for node in before]}))
    kept = np.flatnonzero(~suppressed)
    return OwnTable(original, kept, rows, rows.with_nodes(np.array([after], np.int32), suppressed))


def test_the_figures_of_a_small_column():
    own = own_of(
        [NURSE, NURSE, COOK, CLERK, SALES, SALES],
        [NURSE, CARE, CARE, DESK, DESK, ROOT],
        [False] * 5 + [True],
    )
    (change,) = count_changes(own)
    assert change.n_rows == 6
    assert change.n_released == 5
    assert change.share_whole == 1 / 5
    assert change.share_starred == 0
    # nurse 1 and half of two; cook half of two; half of two desks each
    assert change.spread.tolist() == [2.0, 1.0, 1.0, 1.0]
    # (L − 1) / (N − 1): 0, 1/3 four times, and 1 for the row that is left out
    assert change.loss("loss") == pytest.approx((4 / 3 + 1) / 6)


node_pairs = st.lists(
    st.sampled_from([(leaf, node) for leaf in range(4) for node in TREE.ancestors(leaf)]),
    min_size=1,
)


@given(node_pairs)
def test_sums_are_the_rows(pairs):
    own = own_of([leaf for leaf, _ in pairs], [node for _, node in pairs])
    (change,) = count_changes(own)
    released = Table(pa.table({"job": [TREE.labels[node] for _, node in pairs]}))
    material = TableMaterial(released, ic.Schema(quasi=["job"]), own)
    assert change.spread.sum() == pytest.approx(len(pairs))
    assert change.loss("loss") == pytest.approx(measure_losses(own.before, own.after, 1)["loss"])
    (section,) = column_sections([change], material)
    tree = next(block for block in section.blocks if isinstance(block, Tree))
    shown = Counter(TREE.labels[node] for _, node in pairs)
    under = Counter(TREE.labels[a] for leaf, _ in pairs for a in TREE.ancestors(leaf))
    assert {node.label: node.weight for node in tree.nodes if node.weight} == shown
    assert {node.label: node.span for node in tree.nodes} == under
    assert [place for place, node in enumerate(tree.nodes) if node.parent >= place] == []
    both = next(block for block in section.blocks if isinstance(block, Bars))
    before = Counter(TREE.labels[leaf] for leaf, _ in pairs)
    for label, number in zip(both.categories, both.series["before"], strict=True):
        assert number == before[label]
    assert sum(both.series["before"]) == len(pairs)
    (listed,) = loss_section([change], None).blocks
    assert listed.rows[0][1] == change.loss("loss")


@examples(30)
@pytest.mark.parametrize("spec", ["intervals:5,10", "ranges:5", "auto"])
@given(st.lists(st.integers(0, 90), min_size=30, max_size=120), st.randoms(use_true_random=False))
def test_numbers_are_spread_over_what_they_stand_for(spec, ages, draw):
    table = Table(pa.table({"age": [str(age) for age in ages]}))
    before, _ = encode(table, ("age",), {"age": HierarchySpec.parse(spec)})
    hierarchy = before.hierarchies[0]
    after = before.nodes.copy()
    for row in range(len(ages)):
        above = hierarchy.ancestors(int(after[0, row]))
        if hierarchy.runs is not None and draw.random() < 0.5:
            further = np.arange(hierarchy.n_nodes, hierarchy.n_all_nodes, dtype=np.int32)
            mine = np.full(len(further), after[0, row], dtype=np.int32)
            above += further[hierarchy.is_ancestor(further, mine)].tolist()
        after[0, row] = draw.choice(above)
    own = OwnTable(table, np.arange(len(ages)), before, before.with_nodes(after))
    (change,) = count_changes(own)
    assert change.spread.sum() == pytest.approx(len(ages))
    labels = [hierarchy.all_labels[node] for node in after[0].tolist()]
    released = Table(pa.table({"age": labels}))
    material = TableMaterial(released, ic.Schema(quasi=["age"]), own)
    (section,) = column_sections([change], material)
    for block in section.blocks:
        if isinstance(block, Steps):
            assert sum(block.series["before"]) == len(ages)
            assert sum(block.series["after"]) == pytest.approx(len(ages))
        elif isinstance(block, Bars) and "rows" in block.series:
            assert sum(block.series["rows"]) == len(ages)
            counts = Counter(labels)
            named = dict(zip(block.categories, block.series["rows"], strict=True))
            for label, number in named.items():
                if not label.endswith("other values"):
                    assert number == counts[label]
        elif isinstance(block, Tree):
            assert sum(node.weight for node in block.nodes) <= len(ages)
            assert block.nodes[0].span == len(ages)


def test_many_values_are_cut_and_counted():
    labels = [f"v{number:03d}" for number in range(40) for _ in range(number + 1)]
    table = Table(pa.table({"code": labels, "much": [float(n) for n in range(len(labels))]}))
    material = TableMaterial(table, ic.Schema(quasi=["code"], sensitive=["much"]))
    bars = released_section(material).blocks[0]
    assert bars.categories[0] == "v039"
    assert bars.categories[-1] == "28 other values"
    assert sum(bars.series["rows"]) == len(labels)
    steps = unchanged_section(material).blocks[0]
    assert isinstance(steps, Steps)
    assert sum(steps.series["rows"]) == len(labels)


def test_what_was_left_out_shows_in_kept_columns():
    original = Table(pa.table({"job": list("aabb"), "ill": ["x", "y", "y", "z"]}))
    released = Table(pa.table({"job": ["*"] * 3, "ill": ["x", "y", "y"]}))
    hierarchy = Hierarchy.from_ladder("job", [["a", "b"], ["*", "*"]])
    before = Rows(("job",), np.array([[0, 0, 1, 1]], np.int32), (hierarchy,))
    after = before.with_nodes(np.full((1, 4), 2, np.int32), np.array([False] * 3 + [True]))
    own = OwnTable(original, np.arange(3), before, after)
    material = TableMaterial(released, ic.Schema(quasi=["job"], sensitive=["ill"]), own)
    (bars,) = unchanged_section(material).blocks
    assert dict(zip(bars.categories, bars.series["before"], strict=True)) == {
        "x": 1,
        "y": 2,
        "z": 1,
    }
    assert dict(zip(bars.categories, bars.series["after"], strict=True)) == {"x": 1, "y": 2, "z": 0}


def test_flat_columns_share_a_section():
    flat = Hierarchy.from_ladder("sex", [["f", "m", "d"], ["*"] * 3])
    own = own_of([0, 0, 1, 1, 2], [0, 3, 1, 3, 3], [False] * 4 + [True], flat)
    material = TableMaterial(Table(pa.table({"job": list("f*m*")})), ic.Schema(quasi=["job"]), own)
    (section,) = column_sections(count_changes(own), material)
    (bars,) = section.blocks
    assert section.name == "flat-columns"
    assert dict(zip(bars.categories, bars.series["before"], strict=True)) == {
        "*": 0,
        "f": 2,
        "m": 2,
        "d": 1,
    }
    assert bars.series["after"] == (2, 1, 1, 0)  # the row that is left out is nowhere
    assert bars.note == "50.0% unchanged, 50.0% suppressed."


def test_values_that_nobody_has_lie_beyond_a_histogram():
    """A hierarchy may know values below the least of the data; they have no bar."""
    steps = histogram("age", (10.0, 20.0, 30.0), {"before": (np.array([5.0, 12.0, 40.0]), None)})
    assert steps.series == {"before": (1.0, 0.0)}


def days_of(n_days, step=1):
    return [date.fromordinal(719_163 + step * day).isoformat() for day in range(n_days)]


def test_dates_are_drawn_on_the_calendar():
    days = days_of(300, step=40)  # over 33 years
    table = Table(pa.table({"born": days}))
    before, _ = encode(table, ("born",), {"born": HierarchySpec.parse("dates:year,decade")})
    own = OwnTable(table, np.arange(len(days)), before, before)
    (section,) = column_sections(count_changes(own), TableMaterial(table, ic.Schema(["born"]), own))
    steps = next(block for block in section.blocks if isinstance(block, Steps))
    assert steps.is_date_x
    edges = [date.fromordinal(int(edge)) for edge in steps.edges]
    assert {(edge.month, edge.day) for edge in edges} == {(1, 1)}
    by_year = Counter(day[:4] for day in days)
    assert steps.series["before"] == tuple(by_year[str(edge.year)] for edge in edges[:-1])
    facts = dict(next(block for block in section.blocks if isinstance(block, Facts)).facts)
    middle = np.mean([date.fromisoformat(day).toordinal() for day in days])
    assert facts["mean, before"] == date.fromordinal(int(middle)).isoformat()
    chart = chart_specification(steps, 600)
    axis = chart["layer"][0]["encoding"]["x"]["axis"]
    assert '"1970"' in axis["labelExpr"]
    assert len(axis["values"]) <= 8
    assert list_numbers(steps).rows[0][:2] == ("1970-01-01", "1971-01-01")


@pytest.mark.parametrize(("n_days", "step"), [(20, 1), (90, 1), (200, 9), (60, 3000)])
def test_every_day_lies_within_the_edges_of_its_calendar(n_days, step):
    days = days_of(n_days, step)
    column = pa.chunked_array([pa.array([*days, None])])
    block = column_block(column, "seen")
    assert block.is_date_x
    assert sum(block.series["rows"]) == n_days
    assert len(block.edges) <= 42
