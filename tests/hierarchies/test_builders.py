"""Built hierarchies are trees on fixed grids, cover every cell, and say what they cannot do."""

import math
import re
import time
from collections import Counter
from datetime import date
from fractions import Fraction
from itertools import pairwise
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError, HierarchyError, JobError
from incrowd.hierarchies.builders import build_hierarchy, hierarchy_for
from incrowd.hierarchies.files import read_hierarchy, write_hierarchy
from incrowd.hierarchies.groupings import group_by_frequency
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import STAR
from incrowd.tables.columns.types import kind_of
from incrowd.tables.table import Table
from oracles import hierarchies as oracle


def table(cells, missing_values=()):
    return Table(pa.table({"c": cells}), missing_values=missing_values)


def hierarchy(cells, spec="auto", missing_values=()):
    return hierarchy_for("c", table(cells, missing_values), HierarchySpec.parse(spec))[0]


def way(tree, value):
    """The labels from a value to the root."""
    return [tree.labels[node] for node in tree.ancestors(tree.leaf_of_value[value])]


def check_tree(tree, cells):
    """Every cell has a leaf, every leaf reaches the root, levels nest, labels are unique."""
    assert {cell or "" for cell in cells} == set(tree.labels[: tree.n_leaves])
    ladder = [[tree.labels[node] for node in rung] for rung in tree.ladder]
    assert oracle.nests(ladder)
    assert set(ladder[-1]) == {STAR}
    assert len(set(tree.labels)) == tree.n_nodes


# ── intervals ───────────────────────────────────────────────────────────────────────────────


def test_whole_numbers():
    tree = hierarchy(["17", "20", "24", "25", "90"], "intervals:5,10,20")
    assert way(tree, "17") == ["17", "15-19", "10-19", "0-19", "*"]
    assert way(tree, "20") == ["20", "20-24", "20-29", "20-39", "*"]
    assert way(tree, "24")[1] == "20-24"
    assert way(tree, "25")[1] == "25-29"
    assert tree.labels[: tree.n_leaves] == ("17", "20", "24", "25", "90")
    assert tree.values.tolist() == [17, 20, 24, 25, 90]
    assert tree.origin == "intervals:5,10,20"


def test_decimals_and_numbers_below_zero():
    tree = hierarchy(["-0.25", "20", "22.5", "24.999"], "intervals:5,10")
    assert way(tree, "22.5") == ["22.5", "20 to <25", "20 to <30", "*"]
    assert way(tree, "-0.25")[1] == "-5 to <0"
    tree = hierarchy(["-7", "-1", "0", "3"], "intervals:5")
    assert [way(tree, value)[1] for value in ("-7", "-1", "0")] == ["-10 to -6", "-5 to -1", "0-4"]


def test_open_ends():
    cells = ["3", "19", "20", "44", "79", "80", "105"]
    tree = hierarchy(cells, "intervals:5,10,20,from=20,to=80")
    assert way(tree, "3") == ["3", "<20", "*"]
    assert way(tree, "19") == ["19", "<20", "*"]
    assert way(tree, "20") == ["20", "20-24", "20-29", "20-39", "*"]
    assert way(tree, "79") == ["79", "75-79", "70-79", "60-79", "*"]
    assert way(tree, "80") == ["80", ">=80", "*"]
    check_tree(tree, cells)


def test_the_stated_start_moves_the_grid_and_the_end_cuts_the_last_interval():
    tree = hierarchy(["18", "22", "23", "29", "30"], "intervals:5,10,from=18,to=30")
    assert way(tree, "22") == ["22", "18-22", "18-27", "*"]
    assert way(tree, "29") == ["29", "28-29", "*"]
    assert way(tree, "30") == ["30", ">=30", "*"]


def test_a_number_on_an_edge_is_in_the_interval_that_starts_there():
    cells = ["0.29", "0.57", "0.58", "1.1", "2.01", "4.35"]  # times 100 they fall short as floats
    tree = hierarchy(cells, "intervals:0.01")
    for cell in cells:
        assert way(tree, cell)[1].startswith(f"{cell} to <")


decimals = st.decimals(-1000, 1000, places=3).map(lambda number: f"{number:f}")
whole = st.integers(-10_000, 10_000).map(str)
ladders = st.sampled_from(
    ["0.1,0.5", "0.3,0.9", "1,2,4", "2.5,5", "5,10,20", "7,21", "0.001,0.01", "100,1000"]
)


@given(st.lists(st.one_of(decimals, whole), min_size=1, max_size=25), ladders)
def test_every_number_is_in_the_interval_it_should_be_in(cells, widths):
    tree = hierarchy(cells, f"intervals:{widths}")
    check_tree(tree, cells)
    for cell in set(cells):
        shown = set(way(tree, cell))
        for width in widths.split(","):
            low, high = oracle.interval(cell, width)
            assert low <= Fraction(cell) < high
            edges = [
                tuple(Fraction(edge) for edge in label.split(" to <"))
                for label in shown
                if " to <" in label
            ]
            closed = [
                (Fraction(low_text), Fraction(high_text) + 1)
                for label in shown
                for low_text, high_text in re.findall(r"^(-?\d+)(?:-| to )(-?\d+)$", label)
            ]
            is_leaf = high - low == 1 and str(low) in shown
            assert (low, high) in edges + closed or is_leaf


@given(st.lists(whole, min_size=2, max_size=20, unique=True), ladders, st.data())
def test_intervals_do_not_depend_on_the_other_rows(cells, widths, data):
    tree = hierarchy(cells, f"intervals:{widths}")
    kept = data.draw(st.lists(st.sampled_from(cells), min_size=1))
    fewer = hierarchy(kept, f"intervals:{widths}")
    for cell in kept:
        assert way(fewer, cell) == way(tree, cell)


def test_what_is_no_number_is_refused_with_rows_and_remedies():
    cells = [str(n) for n in range(40)] + ["n/a", "?"]
    with pytest.raises(DataError) as refused:
        hierarchy(cells)
    message = str(refused.value)
    assert "column 'c': 2 rows hold no number (row 41, 42)" in message
    assert "missing_values" in message
    assert 'hierarchies={"c": "flat"}' in message
    assert 'hierarchies={"c": "auto,missing=suppress"}' in message
    assert "n/a" not in message
    assert "'n/a'" in refused.value.text(show_values=True)
    with pytest.raises(DataError, match="2 rows hold no number"):
        hierarchy(cells, "intervals:5")
    tree = hierarchy(cells, "auto,missing=suppress")
    assert way(tree, "?") == ["?", "*"]
    assert way(tree, "7")[1] == "5-9"
    assert math.isnan(tree.values[tree.leaf_of_value["?"]])
    tree = hierarchy(cells, "auto", missing_values=("?", "n/a"))
    assert way(tree, "?") == ["?", "*"]
    assert way(hierarchy(cells, "flat"), "7") == ["7", "*"]


def test_codes_with_other_texts_among_them_need_a_statement():
    cells = [f"{n:05d}" for n in range(40)] + ["unknown"]
    with pytest.raises(DataError, match=r"1 row holds no code \(row 41\)") as refused:
        hierarchy(cells)
    assert 'hierarchies={"c": "prefix"}' in str(refused.value)
    assert way(hierarchy(cells, "prefix"), "00012")[1:3] == ["0001***", "000****"]


def test_a_column_of_names_has_no_intervals():
    with pytest.raises(DataError, match="6 rows hold no number"):
        hierarchy(["a", "b", "c", "d", "e", "a"], "intervals:5")
    with pytest.raises(DataError, match="5 rows hold no number"):
        hierarchy(["a", "b", "c", "d", "e"], "intervals:5,missing=suppress")
    nearly_dates = [f"2024-01-{day:02d}" for day in range(1, 31)] + ["?"]
    with pytest.raises(DataError, match=r"31 rows hold no number\."):
        hierarchy(nearly_dates, "intervals:5")
    with pytest.raises(DataError, match=r"1 row holds no date \(row 31\)"):
        hierarchy(nearly_dates, "dates")
    with pytest.raises(DataError, match="5 rows hold no date"):
        hierarchy(["1", "2", "3", "4", "5"], "dates")


def test_numbers_that_floats_cannot_tell_apart():
    cells = [str(2**60 + n) for n in range(8)]
    with pytest.raises(HierarchyError, match="too large"):
        hierarchy(cells, "intervals:5")
    tree = hierarchy(cells)
    assert tree.origin.startswith("prefix")
    check_tree(tree, cells)


# ── automatic ───────────────────────────────────────────────────────────────────────────────


def test_one_far_value_does_not_move_the_grid():
    ages = [str(n % 80) for n in range(1_000)]
    found = {hierarchy(cells).origin for cells in (ages, [*ages, "99999"], [*ages, "-7"])}
    assert found == {"ranges:5,from=5,to=75"}


@pytest.mark.parametrize(
    ("cells", "origin"),
    [
        (["M", "F"], "flat"),
        (["a", "b", "c", "d"], "flat"),
        (["yes", "no", "Yes", "NO", "No"], "flat"),
        (["1", "2", "3", "4"], "flat"),
        (["2024-01-05", "2023-01-05", "2022-05-05", "1999-12-31", "2000-01-01"],
         "dates:month,year,decade"),
        (["01247", "32601", "32602", "99999", "00001"], "prefix"),
        (["0123456789", "9123456789", "9123456780", "1", "2"], "prefix:2,4,6,8"),
        (["a", "b", "c", "d", "e"], "groups by frequency"),
        (["1.5", "2.5", "3", "9.5", "11"], "ranges:0.1,from=2,to=11"),
        (["5", "5.0", "+5", "05.0", "5.00"], "flat"),
    ],
)  # fmt: skip
def test_each_kind_has_its_builder(cells, origin):
    tree = hierarchy(cells)
    assert tree.origin == origin
    check_tree(tree, cells)


def test_notes_say_what_was_built():
    _, notes = hierarchy_for("c", table([str(n) for n in range(60)]), None)
    assert notes == ["column 'c': no hierarchy was stated; built ranges:5,from=5,to=55"]
    _, notes = hierarchy_for("c", table(["a", "b"]), HierarchySpec("flat"))
    assert notes == []


# ── codes ───────────────────────────────────────────────────────────────────────────────────


def test_codes_lose_one_character_a_level():
    tree = hierarchy(["32601", "32609", "33000"], "prefix")
    assert way(tree, "32601") == ["32601", "3260*", "326**", "32***", "3****", "*"]
    assert tree.values is None
    tree = hierarchy(["32601", "32609", "33000"], "prefix:1,3")
    assert way(tree, "32601") == ["32601", "3260*", "32***", "*"]
    assert way(hierarchy(["32601", "33000"], "prefix:9"), "32601") == ["32601", "*"]


def test_short_codes_wait_for_the_level_that_reaches_them():
    tree = hierarchy(["12", "1234", "12345", "9"], "prefix")
    assert way(tree, "12345") == ["12345", "1234*", "123**", "12***", "1****", "*"]
    assert way(tree, "1234") == ["1234", "123**", "12***", "1****", "*"]
    assert way(tree, "12") == ["12", "1****", "*"]
    assert way(tree, "9") == ["9", "*"]


@given(st.lists(st.text("019aé", min_size=1, max_size=6), min_size=1, max_size=20))
def test_prefixes_are_trees_of_common_beginnings(cells):
    tree = hierarchy(cells, "prefix")
    check_tree(tree, cells)
    for cell in cells:
        for label in way(tree, cell)[1:-1]:
            assert cell.startswith(label.rstrip("*"))
            under = {other for other in cells if label in way(tree, other)}
            start = label.rstrip("*")
            assert under == {o for o in cells if o.startswith(start) and len(o) > len(start)}


def test_a_masked_code_in_the_data_is_refused():
    with pytest.raises(HierarchyError, match="label of a group") as refused:
        hierarchy(["32601", "3260*", "32609", "11111", "22222"], "prefix")
    assert refused.value.examples == ["3260*"]


def test_long_texts_need_a_statement():
    with pytest.raises(HierarchyError, match="up to 65 characters"):
        hierarchy(["x" * 65, "y"], "prefix")
    assert way(hierarchy(["x" * 65, "y" * 65], "prefix:64"), "x" * 65)[1] == "x" + "*" * 64


# ── dates ───────────────────────────────────────────────────────────────────────────────────


def test_dates():
    cells = ["2024-03-05", "2024-03-05T10:30:00", "1969-12-31", "0099-01-01"]
    tree = hierarchy(cells, "dates:day,month,quarter,year,decade")
    assert way(tree, "2024-03-05T10:30:00")[1:] == [
        "2024-03-05 (day)", "2024-03", "2024-Q1", "2024", "2020-2029", "*",
    ]  # fmt: skip
    assert way(tree, "2024-03-05")[1] == "2024-03-05 (day)"
    assert way(tree, "1969-12-31") == [
        "1969-12-31", "1969-12", "1969-Q4", "1969", "1960-1969", "*",
    ]  # fmt: skip
    assert way(tree, "0099-01-01")[-2] == "0090-0099"


@given(st.lists(st.dates(date(1, 1, 1), date(9999, 12, 31)), min_size=1, max_size=20))
def test_dates_fall_into_their_months_quarters_years_and_decades(days):
    cells = [day.isoformat() for day in days]
    tree = hierarchy(cells, "dates:month,quarter,year,decade")
    check_tree(tree, cells)
    for day in days:
        decade = day.year // 10 * 10
        assert way(tree, day.isoformat()) == [
            day.isoformat(),
            f"{day.year:04d}-{day.month:02d}",
            f"{day.year:04d}-Q{(day.month + 2) // 3}",
            f"{day.year:04d}",
            f"{decade:04d}-{decade + 9:04d}",
            "*",
        ]
        assert tree.values[tree.leaf_of_value[day.isoformat()]] == day.toordinal()


# ── categories ──────────────────────────────────────────────────────────────────────────────


def test_categories_by_frequency():
    cells = [name for name, n in zip("abcdefghi", range(9, 0, -1), strict=True) for _ in range(n)]
    tree = hierarchy(cells)
    assert way(tree, "a") == ["a", "{a|b|c}", "*"]
    assert way(tree, "i") == ["i", "{g|h|i}", "*"]


def test_large_groups_name_two_members_and_a_number():
    cells = [f"v-{n:02d}" for n in range(40)]
    tree = hierarchy(cells)
    assert way(tree, "v-00") == ["v-00", "{v-00|v-01|v-02|v-03}", "{v-00|v-01|… +14}", "*"]


def test_members_that_could_be_misread_are_percent_encoded():
    tree = hierarchy(["a, b", "c", "a", "b, c", "{x}"])
    assert {label for label in tree.labels if label[0] == "{" and label != "{x}"} == {
        "{a|a%2C b|b%2C c}",
        "{c|%7Bx%7D}",
    }


@given(
    st.sets(
        st.text('ab1,;|{}%… \t\n\r"2C\u2028\ufeffé', min_size=1, max_size=5).filter(
            lambda name: name.strip() and name != "*"
        ),
        min_size=5,
        max_size=6,
    )
)
def test_labels_of_groups_hold_nothing_to_quote_and_name_their_members(names):
    labels, counts = sorted(names), np.ones(len(names), dtype=np.int64)
    (group_of_value, groups), *_ = group_by_frequency(labels, counts)
    for number, group in enumerate(groups):
        assert not re.search(r"[,;\"\t\r\n]", group)
        named = [unquote(member) for member in group[1:-1].split("|")]
        assert named == [
            label for label, of in zip(labels, group_of_value, strict=True) if of == number
        ]


@given(st.lists(st.text("abcde,{}", min_size=1, max_size=3), min_size=5, max_size=60), st.randoms())
def test_groups_by_frequency_are_balanced_ordered_and_independent_of_row_order(cells, random):
    cells = [cell for cell in cells if cell != "*"] or ["a"]
    tree = hierarchy(cells)
    check_tree(tree, cells)
    shuffled = list(cells)
    random.shuffle(shuffled)
    again = hierarchy(shuffled)
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()
    counts = Counter(cells)
    if len(counts) > 4:
        groups = {}
        for cell in counts:
            groups.setdefault(way(tree, cell)[1], []).append(counts[cell])
        assert all(2 <= len(group) <= 4 for group in groups.values())
        spans = sorted((min(group), max(group)) for group in groups.values())
        for (_, high), (low, _) in pairwise(spans):
            assert high <= low


def test_the_tree_does_not_depend_on_the_order_of_labels():
    kind = kind_of(pa.array(["b", "a", "c", "d", "e"]))
    counts = np.asarray([1, 9, 3, 3, 2])
    first = build_hierarchy(HierarchySpec(), "c", ["b", "a", "c", "d", "e"], kind, counts)
    second = build_hierarchy(
        HierarchySpec(), "c", ["e", "d", "c", "a", "b"], kind, counts[[4, 3, 2, 1, 0]]
    )
    assert first.labels == second.labels
    assert first.labels[:5] == ("a", "b", "c", "d", "e")


# ── cells ───────────────────────────────────────────────────────────────────────────────────


def test_missing_cells_are_values_of_their_own():
    cells = ["1", None, "?", "2", "3", "", "40", "5"]
    tree, notes = hierarchy_for("c", table(cells, ("?", "NA")), HierarchySpec())
    assert way(tree, "") == ["", "*"]
    assert way(tree, "?") == ["?", "*"]
    assert "NA" not in tree.leaf_of_value
    assert way(tree, "3")[-1] == "*"
    assert len(notes) == 2
    assert "3 missing cells are a value of their own" in notes[1]
    assert "an empty cell stays empty" in notes[1]


def test_a_column_that_is_all_missing():
    tree, notes = hierarchy_for("c", table(pa.array([None, None], pa.string())), None)
    assert tree.labels == ("", "*")
    assert notes == ["column 'c': every cell is missing"]
    tree, _ = hierarchy_for("c", table(["?", "?", None], ("?",)), HierarchySpec("prefix"))
    assert tree.labels == ("", "?", "*")


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([1, 2, 30, 44, 51, None]),
        pa.array([1.0, 2.5, 30.0, 44.0, math.nan, None]),
        pa.array([date(2024, 1, 2), date(2023, 1, 2), date(2022, 1, 2), date(2021, 1, 2),
                  date(2020, 1, 2), None]),
        pa.array(["a", "b", "c", "d", "e", None]).dictionary_encode(),
        pa.array([True, False, None]),
    ],
)  # fmt: skip
def test_typed_columns(cells):
    tree = hierarchy(cells)
    assert way(tree, "") == ["", "*"]
    assert int(tree.leaf_count[tree.root]) == tree.n_leaves


@pytest.mark.parametrize("spec", ["auto", "flat", "prefix"])
def test_a_star_in_the_data_is_refused(spec):
    with pytest.raises(DataError, match=r"2 cells are already '\*'"):
        hierarchy(["a", "*", "*", "b"], spec)


def test_a_column_that_is_not_there():
    with pytest.raises(JobError, match="unknown column 'd'"):
        hierarchy_for("d", table(["a"]), None)


# ── files ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def country(tmp_path):
    path = tmp_path / "country.csv"
    path.write_text("France;Europe;*\nSpain;Europe;*\nJapan;Asia;*\n", encoding="utf-8")
    return path


def test_a_file_must_cover_the_data(country):
    assert way(hierarchy(["Japan", "Spain"], str(country)), "Japan") == ["Japan", "Asia", "*"]
    with pytest.raises(HierarchyError) as refused:
        hierarchy(["Japan", "Peru", "Chile"], str(country))
    message = str(refused.value)
    assert "column 'c': 2 values have no leaf in country.csv." in message
    assert 'missing = "suppress"' in message
    assert "Peru" not in message
    assert refused.value.examples == ["Chile"]


def test_values_without_a_leaf_go_under_the_root_where_asked(country):
    spec = HierarchySpec.parse(f"{country},missing=suppress")
    tree, notes = hierarchy_for("c", table(["Japan", "Peru", None]), spec)
    assert way(tree, "Peru") == ["Peru", "*"]
    assert way(tree, "") == ["", "*"]
    assert "1 value without a leaf in country.csv" in notes[0]


def test_a_value_with_the_label_of_a_group_is_refused_either_way(country):
    for ending in ("", ",missing=suppress"):
        with pytest.raises(HierarchyError, match="with the label of a group"):
            hierarchy(["Japan", "Europe"], f"{country}{ending}")
    with pytest.raises(HierarchyError, match="with the label of a group"):
        hierarchy(["Japan", "Europe"], str(country), missing_values=("Europe",))


def test_a_missing_token_may_have_a_place_in_the_file(country):
    country.write_text("a;A;*\nb;A;*\n?;Unknown;*\n;Unknown;*\n", encoding="utf-8")
    tree, notes = hierarchy_for(
        "c", table(["a", "?", None], ("?",)), HierarchySpec.parse(str(country))
    )
    assert way(tree, "?") == ["?", "Unknown", "*"]
    assert way(tree, "") == ["", "Unknown", "*"]
    assert notes == []


def test_warnings_of_the_doctor_become_notes(country):
    country.write_text("a;Europe;*\nb;Europa;*\n", encoding="utf-8")
    _, notes = hierarchy_for("c", table(["a"]), HierarchySpec.parse(str(country)))
    assert len(notes) == 1
    assert "differ by one letter" in notes[0]


@pytest.mark.parametrize(
    ("cells", "spec"),
    [
        ([str(n) for n in range(0, 90, 7)] + [None, "?"], "auto"),
        ([str(n / 7) for n in range(40)], "auto"),
        (["01247", "32601", "1"], "prefix"),
        (["2024-01-02", "2023-05-06", "2023-05-07"], "dates"),
        ([f"name {n}" for n in range(50)], "auto"),
        (["10", "9", "8", ""], "flat"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".json", ".toml"])
def test_a_built_hierarchy_written_and_stated_as_a_file_is_the_same(cells, spec, ending, tmp_path):
    """Prices, and so releases, do not depend on whether it was built or read."""
    tree = hierarchy(cells, spec, ("?",))
    path = tmp_path / f"h{ending}"
    write_hierarchy(tree, path)
    again = hierarchy(cells, str(path), ("?",))
    assert {leaf: way(again, leaf) for leaf in again.leaf_of_value} == {
        leaf: way(tree, leaf) for leaf in tree.leaf_of_value
    }
    assert read_hierarchy(path, "c").n_leaves == tree.n_leaves
    if tree.values is None:
        assert again.values is None
    else:
        number_of = dict(zip(again.labels, again.values, strict=False))
        for leaf, number in zip(tree.labels, tree.values, strict=False):
            np.testing.assert_equal(number_of[leaf], number)
    if ending == ".csv":
        assert again.labels == tree.labels


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["number", "code", "name"])
def test_a_hundred_thousand_values_are_quick(kind):
    numbers = np.random.default_rng(0).permutation(100_000)
    cells = {
        "number": pa.array(numbers),
        "code": pa.array([f"{number:08d}" for number in numbers]),
        "name": pa.array([f"v{number}" for number in numbers]),
    }[kind]
    started = time.process_time()
    tree = hierarchy(cells)
    assert int(tree.leaf_count[tree.root]) == 100_000
    assert len(tree.leaf_order) == len(tree.width[: tree.n_leaves]) == 100_000
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    ("spec", "values", "known", "label"),
    [
        ("ranges:5,from=20,to=60", ["21", "22", "38", "58"], ["44"], "20-44"),
        ("prefix", ["1011", "1012"], ["20095"], "2009*"),
        ("dates:month,year", ["2026-11-03"], ["2026-10-01"], "2026-10"),
        ("intervals:5,10", ["21", "22"], ["38"], "30-39"),
        ("ranges:5,from=20,to=60", ["21", "22", "38", "58"], ["44.5"], "20 to <45"),
    ],
)
def test_known_values_have_a_place_though_no_cell_holds_them(spec, values, known, label):
    table = Table(pa.table({"c": values}))
    without, _ = hierarchy_for("c", table, HierarchySpec.parse(spec))
    tree, _ = hierarchy_for("c", table, HierarchySpec.parse(spec), known)
    assert set(tree.labels[: tree.n_leaves]) == {*values, *known}
    assert label in tree.all_labels
    assert label not in without.all_labels
