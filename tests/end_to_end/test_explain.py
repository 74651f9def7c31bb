"""``incrowd explain``: every guarantee, method, flag, finding, loss and file format has a topic."""

import ast
import importlib
import shlex
from pathlib import Path

import pytest

import incrowd
from incrowd.audit import Losses
from incrowd.cli.app import PLACES, load_command
from incrowd.cli.explain.topics import KINDS, all_topics, find_topics, flag_uses
from incrowd.guarantees.table import GUARANTEES
from incrowd.guarantees.table import PAPER_NAMES as PAPER_GUARANTEES
from incrowd.guarantees.tables.likeness import _MEASURES
from incrowd.hierarchies.specs import KINDS as BUILDERS
from incrowd.job.inputs import SET_KINDS
from incrowd.measures.losses.tables import METRICS
from incrowd.methods.table import METHODS
from incrowd.methods.table import PAPER_NAMES as PAPER_METHODS
from incrowd.tables.table import SUFFIXES

SOURCE = Path(incrowd.__file__).parent
COMMANDS = {name: load_command(name) for name in PLACES}


def names_of(kind):
    return {topic.name for topic in all_topics() if topic.kind == kind}


def finding_names():
    """Every name that the code gives a finding, read from its source."""
    names = {*GUARANTEES, "compatibility", *(title for title, *_ in _MEASURES.values())}
    for path in SOURCE.rglob("*.py"):
        module = None
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "id", "") not in ("Finding", "_finding"):
                continue
            first = node.args[0]
            if isinstance(first, ast.Constant):
                names.add(first.value)
            elif isinstance(first, ast.Name) and first.id.isupper():
                place = path.relative_to(SOURCE.parent).with_suffix("")
                module = module or importlib.import_module(".".join(place.parts))
                names.add(getattr(module, first.id))
    return names


def test_every_guarantee_method_and_builder_has_a_topic():
    assert names_of("guarantee") == set(GUARANTEES)
    assert names_of("method") == set(METHODS)
    assert names_of("hierarchy") >= set(BUILDERS)


def test_every_flag_of_every_command_has_a_topic():
    for command in COMMANDS.values():
        for parameter in command.params:
            flags = [word for word in parameter.opts if word.startswith("--")]
            if flags and flags[0] != "--help":
                found = find_topics(flags[0])
                assert found[0].kind == "flag", flags
                assert found[0].name == flags[0]


def test_every_finding_has_a_topic():
    names = finding_names()
    assert len(names) > 40
    assert names <= names_of("finding")


def test_every_loss_has_a_topic():
    assert {*METRICS, *Losses.__annotations__} <= names_of("loss")


def test_every_file_format_has_a_topic():
    for suffix in ("csv", "parquet", "folder", "job file", "hierarchy file", "rules file"):
        assert find_topics(suffix)[0].kind == "file format"
    written = " ".join(
        word for topic in all_topics() if topic.kind == "file format" for word in topic.paragraphs
    )
    for ending in (*SUFFIXES, ".gz", ".zst", ".dat", ".npz", ".mtx"):
        assert ending in written, ending
    assert set(SET_KINDS) <= {word.strip(".,()") for word in written.split()} | names_of(
        "file format"
    )


@pytest.mark.parametrize("name", [*PAPER_METHODS, *PAPER_GUARANTEES])
def test_names_of_papers_lead_to_what_is_meant(name):
    meant = PAPER_GUARANTEES.get(name) or PAPER_METHODS[name][0]
    assert meant in [topic.name for topic in find_topics(name)]


def test_names_of_papers_are_told_with_the_settings_they_stand_for(desk):
    assert "h-pgpkaa (--preset h-pgpkaa)" in " ".join(find_topics("H-PGPkAA")[0].paragraphs)
    assert "mce (--search cover --cover mce)" in " ".join(find_topics("MCE")[0].paragraphs)
    listed = " ".join(desk.call("explain").out.split())
    for name in (*PAPER_METHODS, *PAPER_GUARANTEES):
        assert name in listed, name


def test_the_five_papers_have_topics():
    assert len(names_of("paper")) == 5
    for word in ("gkaa", "mce", "k-majority", "smooth-k-anonymity", "mr-rbat", "scheme-2"):
        assert any(topic.kind == "paper" for topic in find_topics(word)), word


def test_topics_are_whole():
    for topic in all_topics():
        assert topic.kind in KINDS
        assert topic.paragraphs[0], topic.name
        assert topic.example or topic.kind == "word", topic.name
        for other in topic.see:
            assert find_topics(other.removeprefix("incrowd ")), (topic.name, other)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_commands_that_parse(kind):
    """Flags exist and values are of the right type; files need not be there."""
    for topic in all_topics():
        if topic.kind == kind and topic.example:
            program, command, *rest = shlex.split(topic.example)
            assert program == "incrowd"
            if topic.name in ("--help-all", "--version"):
                continue
            COMMANDS[command].make_context(command, rest)


def test_flags_are_read_from_the_commands():
    uses = flag_uses()
    assert {use.command for use in uses["--k"]} >= {"run", "check", "compare"}
    assert uses["--force"][0].is_switch


def test_explain_prints_a_topic_with_an_example(desk):
    finished = desk.call("explain", "k-anonymity")
    assert finished.status == 0
    assert "at least k − 1 others" in finished.out
    assert "incrowd run" in finished.out
    flag = desk.call("explain", "--suppression-limit")
    assert "Maximum share of suppressed rows" in flag.out
    assert "suppression_limit in [release]" in flag.out
    assert desk.call("explain", "suppression_limit").out == flag.out
    two_words = desk.call("explain", "row", "order")
    assert "position identifies a person" in two_words.out


def test_explain_lists_topics_and_suggests_near_ones(desk):
    listed = desk.call("explain")
    assert listed.status == 0
    for word in ("guarantees", "--suppression-limit", "stand-in", "ncp", "rules paper"):
        assert word in listed.out
    assert len(desk.call("explain", "--json").json) == len(all_topics())
    missed = desk.call("explain", "k-anonimity")
    assert missed.status == 2
    assert "'k-anonymity'" in missed.err
    assert desk.call("explain", "ncp", "--json").json[0]["kind"] == "loss"


def test_names_of_papers_are_understood_as_values(desk):
    run = ("run", "census.csv", "--k", 4, "--quasi", "age,sex", "--json")
    finished = desk.call(*run, "--method", "gkaa")
    assert finished.status == 0, finished.err
    assert finished.json["method"]["name"] == "greedy"
    assert finished.json["method"]["parameters"]["preset"] == "gkaa"
    hint = desk.call(*run, "--guarantee", "l-diversity", "--force")
    assert hint.status == 2
    assert "--l 3" in hint.err
    grid = desk.call("compare", "census.csv", "--quasi", "age", "--k", 3, "--method", "gkaa")
    assert grid.status == 2
    assert "--method greedy --set method.preset=gkaa" in grid.err
