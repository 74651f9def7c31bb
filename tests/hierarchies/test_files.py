"""What is written is read back as the same tree, and what others write is read as they meant it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchies.doctor import examine
from incrowd.hierarchies.files import read_hierarchy, read_paths, to_arx_csv, write_hierarchy
from incrowd.hierarchies.tree import STAR, Hierarchy
from oracles.hierarchies import parent_labels
from tiers import examples

signs = st.one_of(st.sampled_from(list(';,"\t\r\n *{}[]…\ufeff\x00\x7f\\')), st.characters())
names = st.text(signs.filter(lambda sign: not 0xD800 <= ord(sign) < 0xE000), max_size=5)


@st.composite
def trees(draw, weighted=False):
    """Any tree: labels of any signs, also an empty one for a leaf; weights where asked for."""
    n_nodes = draw(st.integers(2, 10))
    above = [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    labels = draw(
        st.lists(
            names.filter(lambda name: name not in ("", STAR)),
            min_size=n_nodes - 1,
            max_size=n_nodes - 1,
            unique=True,
        )
    )
    labels = [STAR, *labels]
    leaves = [node for node in range(1, n_nodes) if node not in above]
    if draw(st.booleans()):
        labels[draw(st.sampled_from(leaves))] = ""
    pairs = [(labels[node], labels[parent]) for node, parent in enumerate(above, 1)]
    weights = {}
    if weighted:
        numbers = st.floats(0, 1e6, allow_nan=False)
        weights = {label: draw(numbers) for label in labels[1:]}
    return Hierarchy.from_parents("c", dict(draw(st.permutations(pairs))), weight_of=weights)


def written_and_read(tree, ending, folder):
    path = folder / f"tree{ending}"
    write_hierarchy(tree, path)
    return read_hierarchy(path, tree.name)


def weight_of(tree):
    if tree.edge_weights is None:
        return None
    return dict(zip(tree.labels[:-1], tree.edge_weights[:-1].tolist(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


@examples(120)
@given(tree=trees())
@example(tree=Hierarchy.from_parents("c", {'x;"a,b,c,d"': "y,\n*", "y,\n*": STAR}))
@example(tree=Hierarchy.from_parents("c", {"\ufeffa": "\ufeffb", "\ufeffb": STAR, "": STAR}))
def test_csv_round_trip_is_exact_to_the_number_of_each_node(folder, tree):
    again = written_and_read(tree, ".csv", folder)
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()
    assert again.n_leaves == tree.n_leaves


@examples(120)
@given(tree=st.one_of(trees(), trees(weighted=True)), ending=st.sampled_from([".json", ".toml"]))
def test_nested_round_trip_keeps_tree_and_weights(folder, tree, ending):
    again = written_and_read(tree, ending, folder)
    assert parent_labels(again) == parent_labels(tree)
    assert weight_of(again) == weight_of(tree)
    # leaves come back in the order of a walk, which no other round changes
    for other in (".json", ".toml"):
        once_more = written_and_read(again, other, folder)
        assert once_more.labels == again.labels
        assert once_more.parent.tolist() == again.parent.tolist()


@pytest.mark.parametrize("ending", [".csv", ".json", ".toml"])
def test_values_in_the_order_of_a_walk_keep_it(ending, tmp_path):
    """TOML itself would put a table's plain lists before its tables."""
    paths = [("Japan", "East", "Asia", "*"), ("France", "Europe", "*"), ("Monaco", "*")]
    tree = Hierarchy.from_paths("c", paths)
    again = written_and_read(tree, ending, tmp_path)
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()


@pytest.mark.parametrize("text", ["a;g;*\nb;h;*\n", "a,g,*\nb,h,*\n", "a\tg\t*\r\nb\th\t*"])
def test_the_separator_is_found(tmp_path, text):
    path = tmp_path / "h.csv"
    path.write_bytes(text.encode())
    assert read_paths(path).paths == [("a", "g", "*"), ("b", "h", "*")]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (
            "20;[20, 25);[20, 30);*\n21;[20, 25);[20, 30);*\n",
            [("20", "[20, 25)", "[20, 30)", "*"), ("21", "[20, 25)", "[20, 30)", "*")],
        ),
        ('17,"[15, 20[",*\n90,>=80,*\n', [("17", "[15, 20[", "*"), ("90", ">=80", "*")]),
        ('"a;b",g,*\n"c;d",g,*\n', [("a;b", "g", "*"), ("c;d", "g", "*")]),
        ("\ufeffa;*\n\nb;*\n", [("a", "*"), ("b", "*")]),
        (";Unknown;*\n", [("", "Unknown", "*")]),
        ("a;g;;\nb;g;h;*\n", [("a", "g"), ("b", "g", "h", "*")]),
        ("a\nb\n", [("a",), ("b",)]),
        ('x;"a,b,c,d";*\n', [("x", "a,b,c,d", "*")]),
        ("a;x,G\nb;y,G\n", [("a;x", "G"), ("b;y", "G")]),
    ],
)
def test_lines_are_read_as_they_stand(tmp_path, text, paths):
    path = tmp_path / "h.csv"
    path.write_text(text, encoding="utf-8")
    assert read_paths(path).paths == paths


def test_a_ladder_padded_above_is_the_same_tree_as_one_padded_below(tmp_path):
    above, below = tmp_path / "above.csv", tmp_path / "below.csv"
    above.write_text("x;A;A;*\ny;B;A;*\nz;*;*;*\n", encoding="utf-8")
    below.write_text("x;x;A;*\ny;B;A;*\nz;z;z;*\n", encoding="utf-8")
    expected = {"x": "A", "y": "B", "z": "*", "A": "*", "B": "A"}
    assert parent_labels(read_hierarchy(above, "c")) == expected
    assert parent_labels(read_hierarchy(below, "c")) == expected
    assert to_arx_csv(read_hierarchy(above, "c")) == below.read_text("utf-8")


@pytest.mark.parametrize(
    "document",
    [
        {"*": {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"], "India": []}}},
        {"World": {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"], "India": None}}},
        {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"], "India": {}}},
        {
            "label": "*",
            "children": [
                {"label": "Europe", "children": ["France", {"label": "Spain"}]},
                {"label": "Asia", "children": [{"label": "East", "children": ["Japan"]}, "India"]},
            ],
        },
    ],
)
def test_nested_trees_are_read_in_every_form(tmp_path, document):
    path = tmp_path / "h.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    tree = read_hierarchy(path, "country")
    assert parent_labels(tree) == {
        "France": "Europe", "Spain": "Europe", "Japan": "East", "East": "Asia", "India": "Asia",
        "Europe": "*", "Asia": "*",
    }  # fmt: skip
    assert tree.labels[: tree.n_leaves] == ("France", "Spain", "Japan", "India")


def test_toml_with_numbers_as_values(tmp_path):
    path = tmp_path / "h.toml"
    path.write_text('young = [1, 2]\n[old]\nolder = [80]\noldest = [90.5, "95+"]\n', "utf-8")
    tree = read_hierarchy(path, "age")
    assert tree.labels[: tree.n_leaves] == ("1", "2", "80", "90.5", "95+")


def test_the_papers_weights(tmp_path):
    path = tmp_path / "education.json"
    masters = {"label": "Masters", "weight": 5}
    high_school = {
        "label": "HS",
        "weight": 2,
        "children": [
            {"label": "Primary", "weight": 2, "children": [{"label": "1st", "weight": 6}]},
            {"label": "7th", "weight": 1},
        ],
    }
    path.write_text(json.dumps({"label": "*", "children": [high_school, masters]}), "utf-8")
    tree = read_hierarchy(path, "education")
    price = tree.sum_to_root(tree.edge_weights)
    cost = {label: price[node] for node, label in enumerate(tree.labels)}
    assert (cost["1st"], cost["1st"] - cost["HS"], cost["Primary"], cost["HS"]) == (10, 8, 4, 2)
    with pytest.raises(HierarchyError, match="CSV cannot hold the weights"):
        write_hierarchy(tree, tmp_path / "education.csv")
    assert not (tmp_path / "education.csv").exists()


# ── numbers behind leaves ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        ("10;<20;*\n9;<20;*\n25;>=20;*", [10, 9, 25]),
        ("1;odd;*\n2;even;*\n3;odd;*", None),  # groups that are no intervals
        ("01247;0*;*\n11247;1*;*", None),  # codes
        ("01;a;*\n02;a;*", None),
        ("1;low;*\n2;low;*\n?;*;*", [1, 2, np.nan]),
        ("1;low;*\n2;low;*\n?;low;*", None),
        ("2024-03-01;2024;*\n2023-12-31;2023;*", [738946, 738885]),
        ("a;*\n1;*", None),
    ],
)
def test_leaves_are_numbers_where_the_tree_groups_by_them(tmp_path, lines, numbers):
    path = tmp_path / "h.csv"
    path.write_text(lines, encoding="utf-8")
    values = read_hierarchy(path, "c").values
    if numbers is None:
        assert values is None
    else:
        np.testing.assert_array_equal(values, numbers)


# ── refusals ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("h.csv", b"", "holds no line"),
        ("h.csv", b"\xff\xfe\x00a", "is not UTF-8"),
        ("h.json", b"{", "line 1: is not valid JSON"),
        ("h.toml", b"a = ", "is not valid TOML"),
        ("h.json", b'{"A": ["x"], "A": ["y"]}', "two members of one name"),
        ("h.json", b'{"A": ["x", true]}', "members are neither"),
        ("h.json", b'{"A": "x"}', "members are neither"),
        ("h.json", b'{"A": [{"B": ["x"]}]}', "members are neither"),
        ("h.json", b'[{"label": "x", "weight": -1}]', "a weight is not a number"),
        ("h.json", b'[{"label": "x", "color": 1}]', "but no 'color'"),
        ("h.json", b"[" * 5000 + b"]" * 5000, "more than 200 levels"),
        ("h.json", b'{"a":' * 300 + b"[]" + b"}" * 300, "more than 200 levels"),
        ("h.json", b'{"*": {"A": ["x"], "B": ["x"]}}', "with other groups"),
    ],
)
def test_unreadable_files_are_refused_by_name(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message) as refused:
        read_hierarchy(path, "zip")
    assert "h." in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(HierarchyError, match="no such hierarchy file"):
        read_hierarchy(tmp_path / "none.csv", "zip")
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_hierarchy(tmp_path, "zip")


def test_messages_hold_no_values(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text("zq-1;A;*\nzq-1;B;*\nzq-2;A;zq-3\n", encoding="utf-8")
    with pytest.raises(HierarchyError) as refused:
        read_hierarchy(path, "zip")
    assert "zq-" not in str(refused.value)
    assert "zq-1" in refused.value.text(show_values=True)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "h.csv"
    path.write_text("old", encoding="utf-8")
    tree = Hierarchy.from_ladder("c", [["a", "b"]])

    def full(_):
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HierarchyError, match="cannot be written"):
        write_hierarchy(tree, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


# ── files of others ─────────────────────────────────────────────────────────────────────────


def published_files():
    root = os.environ.get("INCROWD_DATA")
    folders = ("adult/hierarchies_arx", "adult/hierarchies_anjana", "cup98/hierarchies")
    found = [path for name in folders if root for path in sorted(Path(root, name).glob("*.csv"))]
    skipped = pytest.mark.skip(reason="INCROWD_DATA is unset or lacks these files")
    return [pytest.param(path, id="/".join(path.parts[-3:])) for path in found] or [
        pytest.param(None, marks=skipped)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", published_files())
def test_published_hierarchies_read_and_survive_a_round_trip(path, tmp_path):
    tree = read_hierarchy(path, "c")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert tree.n_leaves == len(lines)
    for line, leaf in zip(lines, tree.labels, strict=False):
        assert line.startswith(leaf)
    for ending in (".csv", ".json", ".toml"):
        again = written_and_read(tree, ending, tmp_path)
        assert parent_labels(again) == parent_labels(tree)
    slips = [found.name for found in examine(read_paths(path).paths, "c")]
    assert slips == (["near-labels"] if "anjana/native-country" in str(path) else [])


def test_a_hierarchy_that_excel_saved_in_windows_1252(tmp_path):
    text = "Köln;Großstadt;*\nBrühl;Kleinstadt;*\n"
    (tmp_path / "west.csv").write_bytes(text.encode("windows-1252"))
    (tmp_path / "utf.csv").write_text(text, encoding="utf-8")
    west, utf = (read_hierarchy(tmp_path / name, "c") for name in ("west.csv", "utf.csv"))
    assert west.labels == utf.labels
    (tmp_path / "east.csv").write_bytes("Łódź;Polska;*\n".encode("windows-1250"))
    with pytest.raises(HierarchyError, match="is not UTF-8"):
        read_hierarchy(tmp_path / "east.csv", "c")
