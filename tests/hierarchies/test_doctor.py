"""Every ailment is named, with its count and its remedy, and what needs no guess is mended."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchies.doctor import PROBLEMS, examine, refuse_errors, repair
from incrowd.hierarchies.tree import STAR, Hierarchy
from oracles import hierarchies as oracle
from tiers import examples

HEALTHY = ["a;g;*", "b;g;*", "c;h;*"]


def paths(*lines):
    return [tuple(line.split(";")) for line in lines]


# name → lines, values of the data, count, one example that must be named
CASES = {
    "no-line": ([], None, 1, None),
    "header": (["city;region;all", *HEALTHY], None, 1, None),
    "star-value": ([*HEALTHY, "*;*;*"], None, 1, None),
    "empty-label": (["a;;*", "b;g;*", "c;;*"], None, 2, "a"),
    "contradiction": ([*HEALTHY, "a;h;*", "a;h;*"], None, 1, "a"),
    "no-root": (["a", "b"], None, 2, None),
    "two-roots": (["a;g;*", "b;g;*", "c;h;top", "d;h;top"], None, 2, "top"),
    "root-is-value": (["a;g;Any", "Any;h;Any"], None, 1, "Any"),
    "star-inside": (["a;*;World", "b;g;World"], None, 1, None),
    "cycle": (["a;x;y;x;*", "b;g;g;g;*"], None, 2, "x"),
    "two-parents": (["a;g;x;*", "b;g;y;*", "c;h;y;*"], None, 1, "g"),
    "shared-label": (["Other;Misc;*", "b;Other;*", "c;Other;*"], None, 1, "Other"),
    "star-in-data": (HEALTHY, ["a", "*"], 1, None),
    "group-in-data": (HEALTHY, ["a", "g"], 1, "g"),
    "missing-value": (HEALTHY, ["a", "z1", "b", "z2"], 2, "z1"),
    "duplicate": ([*HEALTHY, "a;g;*"], None, 1, "a"),
    "unequal-depth": ([*HEALTHY, "d;*"], None, 1, "d"),
    "empty-level": (["a;g;g;*", "b;g;g;*", "c;h;h;*"], None, 1, None),
    "idle-group": (["a;g;All;*", "b;g;All;*", "c;h;All;*"], None, 1, "All"),
    "near-labels": (["a;Europe;*", "b;Europa;*", "c;Asia;*"], None, 1, "Europa / Europe"),
}


def test_every_ailment_has_a_case():
    assert set(CASES) == set(PROBLEMS)


@pytest.mark.parametrize("name", CASES)
def test_each_ailment_is_named_alone_with_count_example_and_remedy(name):
    lines, values, count, named = CASES[name]
    found = examine(paths(*lines), "zip", values, where="zip.csv")
    (ailment,) = found
    assert ailment.name == name
    assert ailment.count == count
    assert ailment.severity in ("error", "warning")
    assert "column 'zip'" in ailment.what
    assert ailment.remedy
    if named is not None:
        assert ailment.examples[0] == named
        assert repr(named) in ailment.text(show_values=True)
        assert repr(named) not in ailment.text(show_values=False)
    if ailment.severity == "error":
        with pytest.raises(HierarchyError, match="column 'zip'"):
            refuse_errors(found)
    else:
        refuse_errors(found)


def test_a_healthy_hierarchy_has_nothing():
    assert examine(paths(*HEALTHY), "zip", ["a", "b", "c"]) == []


@pytest.mark.parametrize(
    "lines",
    [
        ["a;*", "b;*"],
        ["a;a;*", "b;g;*", "c;g;*"],  # a value that waits a level
        ["80;>=80;>=80;*", "81;>=80;>=80;*", "20;20-29;<80;*", "30;30-39;<80;*"],
        ["x;A;A;*", "y;B;A;*", "z;Z;*;*"],
        ["a;g;*;*", "b;g;*;*", "c;h;i;*"],
        [";;*", "a;g;*", "b;g;*"],  # the empty cell, which waits too
        ["20;20-24;*", "25;25-29;*"],
        ["1;0124*;*", "2;0125*;*"],
        ["a;North;*", "b;South;*"],
    ],
)
def test_what_is_harmless_is_not_named(lines):
    assert examine(paths(*lines), "c") == []


def test_the_lines_of_a_nested_tree_may_be_of_any_length():
    lines = paths("a;g;*", "b;*")
    assert [found.name for found in examine(lines, "c")] == ["unequal-depth"]
    assert examine(lines, "c", is_ladder=False) == []


def test_a_first_line_about_a_value_is_no_header():
    lines = paths("a;region;all", "b;g;*", "c;h;*")
    assert [found.name for found in examine(lines, "c")] == ["header"]
    assert [found.name for found in examine(lines, "c", ["a"])] == ["two-roots"]


def test_mismatches_that_are_only_of_writing_are_said():
    lines = paths("01247;*", "Paris;*", "39;*")
    (found,) = examine(lines, "c", ["1247", " paris", "39.0", "London"])
    assert "4 values have no leaf" in found.what
    assert "3 only for blanks, case, leading zeros or '.0'" in found.what


def test_all_errors_are_joined_and_warnings_come_last():
    lines = paths("a;g;x;*", "b;g;y;*", "c;h;top", "d;h;top", "d;h;top")
    found = examine(lines, "zip", ["a", "e"])
    names = [ailment.name for ailment in found]
    assert names == ["two-roots", "two-parents", "missing-value", "duplicate", "unequal-depth"]
    with pytest.raises(HierarchyError) as refused:
        refuse_errors(found)
    message = str(refused.value)
    for piece in ("2 different roots", "more than one parent", "1 value has no leaf"):
        assert piece in message
    assert "--repair" in message
    assert "labels" not in message.splitlines()[0]


@pytest.mark.parametrize(
    ("first", "second", "is_near"),
    [
        ("Europe", "Europa", True),
        ("Europe", "europe ", True),
        ("Europe", "Eurpe", True),
        ("[0, 20[", "[0,20[", True),
        ("Asia", "Asra", False),  # too short to tell
        ("level 1", "level 2", False),
        ("Government", "Non-Government", False),
        ("spouse present", "spouse absent", False),
    ],
)
def test_slips_of_one_letter(first, second, is_near):
    found = examine([("a", first, "*"), ("b", second, "*")], "c")
    assert [ailment.name for ailment in found] == (["near-labels"] if is_near else [])


# ── repair ──────────────────────────────────────────────────────────────────────────────────


def errors(lines, values=None):
    return [found.name for found in examine(lines, "c", values) if found.severity == "error"]


@pytest.mark.parametrize(
    ("lines", "values", "mended", "said"),
    [
        (["a;g;*", "b;h;*"], ["a", "z"], ["a;g;*", "b;h;*", "z;z;*"], "added 1 value of the data"),
        ([*HEALTHY, "a;g;*"], None, HEALTHY, "dropped 1 repeated line"),
        (["a;g;*", "b;*"], None, ["a;g;*", "b;b;*"], "padded all lines to 3 labels"),
        (["a;g", "b;h"], None, ["a;g;*", "b;h;*"], "added the root '*'"),
        (["a", "b"], None, ["a;*", "b;*"], "added the root '*'"),
        (["a;g;g;*", "b;h;h;*"], None, ["a;g;*", "b;h;*"], "dropped 1 level that changed nothing"),
        (
            ["Other;Misc;*", "b;Other;*"],
            None,
            ["Other;Misc;*", "b;Other (group);*"],
            "renamed 1 group whose label is also a value",
        ),
        (
            ["a;X;Y;*", "b;Z;X;*"],
            None,
            ["a;X;Y;*", "b;Z;X (level 2);*"],
            "renamed 1 group whose label was used on two levels",
        ),
        (
            ["a;X;Y;Y;*", "b;Z;X;X;*"],
            None,
            ["a;X;Y;*", "b;Z;X (level 2);*"],
            "renamed 1 group whose label was used on two levels",
        ),
        (["a;g;All;*", "b;h;All;*"], None, ["a;g;*", "b;h;*"], "dropped 1 group that held every"),
        (["a;;*", "b;g;*"], None, ["a;a;*", "b;g;*"], "filled empty groups on 1 line"),
        (["a;g;h;*", "b;g", "c;i;*"], None, ["a;g;h;*", "b;g;h;*", "c;i;i;*"], "extended 1 line"),
        (["*;*", "a;*", "b;*"], None, ["a;*", "b;*"], "dropped 1 line about the value '*'"),
        (["Any;Any", "a;Any"], None, ["Any;*", "a;*"], "renamed the root '*'"),
        (["city;all", "a;*", "b;*"], ["a"], ["a;*", "b;*"], "dropped the first line, a header"),
        (HEALTHY, ["a", "g"], ["a;g (group);*", "b;g (group);*", "c;h;*", "g;g;*"], "renamed 1"),
    ],
)
def test_what_is_mended_and_how_it_is_said(lines, values, mended, said):
    fixed, done = repair(paths(*lines), "c", values)
    assert fixed == paths(*mended)
    assert any(said in sentence for sentence in done)
    assert errors(fixed, values) == []


@pytest.mark.parametrize(
    "lines",
    [
        ["a;g;*", "a;h;*", "b;g;*"],  # which line is right?
        ["a;g;x;*", "b;g;y;*"],  # which parent?
        ["a;x;y;x;*", "b;y;x;*"],
    ],
)
def test_nothing_is_guessed(lines):
    fixed, done = repair(paths(*lines), "c", ["a", "b"])
    assert errors(fixed, ["a", "b"]) == errors(paths(*lines), ["a", "b"])
    assert done == []
    assert set(fixed) == set(paths(*lines))


def test_a_star_in_the_data_stays_an_error():
    fixed, _ = repair(paths(*HEALTHY), "c", ["a", "*"])
    assert errors(fixed, ["a", "*"]) == ["star-in-data"]


def test_what_was_done_holds_no_value():
    lines = paths("zq1;zq2", "zq1;zq2", "zq2;zq3")
    _, done = repair(lines, "c", ["zq1", "zq4"])
    assert done
    assert not any("zq" in sentence for sentence in done)


labels = st.sampled_from(["a", "b", "c", "d", "Other", "g", "h", "*", "", "Any"])
raw_paths = st.lists(st.lists(labels, min_size=1, max_size=4).map(tuple), min_size=1, max_size=6)


@examples(300)
@given(raw_paths, st.one_of(st.none(), st.lists(labels.filter(bool), max_size=4)))
def test_any_lines_are_named_refused_or_a_tree(lines, values):
    """Where the doctor finds no error the tree is built, and repair never adds an error."""
    wrong = errors(lines, values)
    if not wrong:
        tree = Hierarchy.from_paths("c", lines)
        for line in lines:
            way = [tree.labels[node] for node in tree.ancestors(tree.leaf_of_value[line[0]])]
            expected = [label for n, label in enumerate(line) if n == 0 or label != line[n - 1]]
            assert way == [*expected[:-1], STAR]
        assert all(value in tree.leaf_of_value for value in values or ())
    fixed, done = repair(lines, "c", values)
    remaining = errors(fixed, values) if fixed else []
    assert wrong or not remaining
    if not remaining and fixed:
        tree = Hierarchy.from_paths("c", fixed)
        assert len({len(path) for path in fixed}) == 1
        kept = (
            {line[0] for line in lines} - {STAR} - ({lines[0][0]} if "header" in wrong else set())
        )
        assert kept | (set(values or ()) - {STAR}) <= set(tree.labels[: tree.n_leaves])
    if not wrong and "dropped" not in " ".join(done):
        before = Hierarchy.from_paths("c", lines)
        assert {leaf: before.depth[n] for leaf, n in before.leaf_of_value.items()} == {
            leaf: tree.depth[tree.leaf_of_value[leaf]] for leaf in before.leaf_of_value
        }


@examples(100)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 3))
def test_repair_leaves_a_sound_ladder_as_it_is(groups, extra):
    lines = [(f"v{n}", f"g{group}", f"h{group // 2}", "*") for n, group in enumerate(groups)]
    values = [line[0] for line in lines] + [f"new{n}" for n in range(extra)]
    fixed, done = repair(lines, "c", values)
    assert oracle.nests([list(level) for level in zip(*fixed, strict=True)])
    if len(set(groups)) > 1 and len({group // 2 for group in groups}) > 1:
        assert fixed[: len(lines)] == lines
        assert len(done) == (extra > 0)


def test_the_docs_explain_every_ailment():
    page = Path(__file__).parents[2] / "docs" / "guide" / "hierarchies.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in PROBLEMS if f"`{name}`" not in text] == []
