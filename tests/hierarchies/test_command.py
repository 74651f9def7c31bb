"""``incrowd hierarchy`` as a user runs it: files, streams and exit statuses."""

import csv
import json

import pyarrow as pa
import pytest

import command_line
from command_line import call
from incrowd.cli.hierarchy import draw_tree
from incrowd.hierarchies.builders import hierarchy_for
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.table import Table

# Typer touches names of Click that Click is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture
def incrowd(tmp_path):
    """The command in a folder with a table and a hierarchy that lacks one value."""

    def run(*arguments):
        return call("hierarchy", *arguments, folder=tmp_path)

    ages = ["17", "20", "24", "25", "90", "41", "?"]
    cities = ["zq-Paris", "zq-Lyon", "zq-Rome", "zq-Paris", "zq-Oslo", "zq-Rome", "zq-Lyon"]
    lines = ["age,city", *(",".join(pair) for pair in zip(ages, cities, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "city.csv").write_text(
        "zq-Paris;France;*\nzq-Lyon;France;*\nzq-Rome;Italy;*\n", encoding="utf-8"
    )
    run.folder = tmp_path
    return run


def test_it_is_a_command(incrowd):
    words = ["hierarchy", "people.csv", "city", "--levels"]
    finished = command_line.incrowd(*words, folder=incrowd.folder)
    assert finished.status == 0, finished.err
    assert finished.out == "zq-Lyon;*\nzq-Oslo;*\nzq-Paris;*\nzq-Rome;*\n"


def lines_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=";"))


def test_build_explain_and_write(incrowd):
    finished = incrowd(
        "people.csv", "age", "--build", "intervals:5,10", "--missing-values", "?", "-o", "age.csv"
    )
    assert finished.status == 0, finished.err
    assert "column 'age': built intervals:5,10" in finished.out
    assert "level 0          7 values" in finished.out
    assert "1 root, *" in finished.out
    assert "missing cells are a value of their own" in finished.out
    assert "wrote age.csv" in finished.err
    assert lines_of(incrowd.folder / "age.csv")[:3] == [
        ["17", "15-19", "10-19", "*"],
        ["20", "20-24", "20-29", "*"],
        ["24", "20-24", "20-29", "*"],
    ]
    assert ["?", "?", "?", "*"] in lines_of(incrowd.folder / "age.csv")


def test_without_a_flag_it_is_automatic_and_a_near_number_is_refused(incrowd):
    finished = incrowd("people.csv", "city")
    assert finished.status == 0
    assert "column 'city': built flat" in finished.out
    finished = incrowd("people.csv", "age", "--build", "intervals:5")
    assert finished.status == 2
    assert "1 row holds no number" in finished.err
    assert finished.out == ""


def test_errors_are_told_and_exit_with_2(incrowd):
    finished = incrowd("people.csv", "city", "--from", "city.csv", "-o", "out.csv")
    assert finished.status == 2
    assert "error: column 'city': 1 value has no leaf in city.csv" in finished.out
    assert "the hierarchy has 1 error; nothing was written" in finished.err
    assert "add --repair" in finished.err
    assert not (incrowd.folder / "out.csv").exists()
    assert "zq-" not in finished.out + finished.err


def test_values_are_shown_only_where_allowed(incrowd):
    for flag, is_shown in ((), False), (("--show-values",), True):
        finished = incrowd("people.csv", "city", "--from", "city.csv", *flag)
        assert ("zq-Oslo" in finished.out) == is_shown
    assert "zq-" not in incrowd("people.csv", "city").out
    assert "zq-Oslo" in incrowd("people.csv", "city", "--draw").out
    assert "zq-" not in incrowd("people.csv", "city", "--show-values", "--no-draw").out
    assert "zq-" not in incrowd("people.csv", "city", "--from", "city.csv", "--json").out


def test_repair(incrowd):
    finished = incrowd(
        "people.csv", "city", "--from", "city.csv", "--repair", "-o", "out.csv", "--json"
    )
    assert finished.status == 0
    said = json.loads(finished.out)
    assert said["is_usable"] is True
    assert said["repairs"] == ["added 1 value of the data directly under the root"]
    assert said["findings"] == []
    assert [level["n_nodes"] for level in said["levels"]] == [4, 3, 1]
    assert said["coverage"] == {
        "n_values": 4,
        "n_without_leaf": 0,
        "n_unused_leaves": 0,
        "n_missing_cells": 0,
    }
    assert lines_of(incrowd.folder / "out.csv")[-1] == ["zq-Oslo", "zq-Oslo", "*"]
    assert incrowd("people.csv", "city", "--from", "out.csv").status == 0


def test_what_cannot_be_repaired_stays_an_error(incrowd):
    (incrowd.folder / "city.csv").write_text(
        "zq-Paris;France;*\nzq-Paris;Italy;*\nzq-Lyon;France;*\n", encoding="utf-8"
    )
    finished = incrowd("people.csv", "city", "--from", "city.csv", "--repair", "--json")
    assert finished.status == 2
    said = json.loads(finished.out)
    assert said["is_usable"] is False
    assert said["findings"][0]["name"] == "contradiction"
    assert said["error"]["kind"] == "hierarchy"
    assert said["error"]["exit_status"] == 2
    assert "by hand" in finished.err


def test_levels_prints_the_lines_alone(incrowd):
    finished = incrowd(
        "people.csv", "age", "--build", "intervals:5", "--levels", "--missing-values", "?"
    )
    assert finished.out.splitlines()[:2] == ["17;15-19;*", "20;20-24;*"]
    assert len(finished.out.splitlines()) == 7
    assert "missing cells" in finished.err


def test_an_existing_output_is_kept_without_force(incrowd):
    out = incrowd.folder / "out.csv"
    out.write_text("old", encoding="utf-8")
    finished = incrowd("people.csv", "city", "-o", "out.csv")
    assert finished.status == 2
    assert "--force" in finished.err
    assert out.read_text(encoding="utf-8") == "old"
    assert incrowd("people.csv", "city", "-o", "out.csv", "--force").status == 0
    assert lines_of(out)[0] == ["zq-Lyon", "*"]


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_conversion(incrowd, ending):
    (incrowd.folder / "people.csv").write_text("city\nzq-Rome\n", encoding="utf-8")
    finished = incrowd("people.csv", "city", "--from", "city.csv", "-o", f"city.{ending}")
    assert finished.status == 0, finished.err
    back = incrowd("people.csv", "city", "--from", f"city.{ending}", "-o", "back.csv")
    assert back.status == 0, back.err
    assert lines_of(incrowd.folder / "back.csv") == lines_of(incrowd.folder / "city.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["people.csv", "town"], "unknown column 'town'"),
        (["people.csv", "city", "--from", "a.csv", "--build", "flat"], "exclude each other"),
        (["people.csv", "city", "--build", "flatt"], "Did you mean 'flat'"),
        (["people.csv", "city", "--from", "none.csv"], "no such hierarchy file"),
        (["nobody.csv", "city"], "nobody.csv"),
    ],
)
def test_wrong_usage(incrowd, arguments, message):
    finished = incrowd(*arguments)
    assert finished.status == 2
    assert message in finished.err


# ── drawing ─────────────────────────────────────────────────────────────────────────────────


def test_a_small_tree_is_drawn_whole(capsys):
    draw_tree(Hierarchy.from_paths("c", [("a", "[g]", "*"), ("b", "[g]", "*"), ("x", "*")]))
    assert capsys.readouterr().out.splitlines() == ["*  (3 values)", "├── [g]: a, b", "└── x"]


def test_a_large_tree_is_abbreviated(capsys):
    cells = pa.array([f"{n:05d}" for n in range(20_000)])
    tree, _ = hierarchy_for("c", Table(pa.table({"c": cells})), HierarchySpec("prefix"))
    draw_tree(tree)
    drawn = capsys.readouterr().out
    assert len(drawn.splitlines()) < 80
    assert "more" in drawn
    assert "00000" in drawn
    assert "19999" in drawn


def test_labels_cannot_move_the_cursor(capsys):
    draw_tree(Hierarchy.from_ladder("c", [["a\x1b[2Jb", "", "[bold]x"]]))
    drawn = capsys.readouterr().out
    assert "\x1b[2J" not in drawn
    assert "(empty)" in drawn
    assert "[bold]x" in drawn
