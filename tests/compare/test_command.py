"""``incrowd compare`` as people call it, each point in a process of its own."""

import html
import json
import os
import shlex
import signal
import time

import pytest

from benchmarks.sets.data import user_lists
from command_line import call, incrowd, start
from incrowd.sets.files import write_sets

FLAGS = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--queries", "50"]


@pytest.mark.slow
def test_a_killed_grid_keeps_what_it_has_and_goes_on(census):
    """Ctrl-C after the first point: it is kept, and the same command measures the others."""
    kept = census.with_name("census.compare.json")
    words = ["compare", census.name, *FLAGS, "--k", "2,5,400", "--method", "mondrian"]
    started = start(*words, folder=census.parent)
    deadline = time.monotonic() + 100
    while not kept.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert "goes on from there" in said
    first = json.loads(kept.read_text("utf-8"))["points"]
    assert 1 <= len(first) < 3
    assert not list(census.parent.glob(".incrowd-*"))
    page = census.with_name("page.html")
    finished = incrowd(*words, "--report", page.name, "--json", folder=census.parent)
    assert finished.status == 0, finished.err
    told = finished.json
    assert told["points"][: len(first)] == first
    assert [one["status"] for one in told["points"]] == ["released", "released", "infeasible"]
    assert told["recommended"]["reason"]
    assert "Publish one point of a grid, never two" in finished.err + told["warning"]
    assert json.loads(kept.read_text("utf-8")) == told
    text = page.read_text("utf-8")
    assert text.count("mondrian") >= 2
    assert sorted(path.name for path in census.parent.iterdir()) == [
        "census.compare.json",
        "census.csv",
        "hierarchies",
        "page.html",
    ]


def test_the_table_names_the_best_and_warns(census):
    words = ["compare", census.name, *FLAGS, "--k", "2,301", "--method", "mondrian"]
    words += ["-o", "kept.json", "--at-least-k", "2"]
    said = call(*words, folder=census.parent)
    assert said.status == 0, said.err
    assert "best" in said.out
    assert "no release can keep the promise" in said.out
    assert "k = 2 costs " in said.out
    assert "the least of all with a k of at least 2." in said.out
    assert "The largest k that can be kept is 300" in said.err
    assert "never two" in said.err


def publish(told, folder):
    """Run the recommended command as a shell reads it; return its audit."""
    program, *words = shlex.split(told["recommended"]["command"])
    assert program == "incrowd"
    ran = call(*words, "--json", folder=folder)
    assert ran.status == 0, ran.err
    return ran.json


def test_the_recommended_command_publishes_the_recommended_point(census):
    odd = census.rename(census.with_name("it's a census.csv"))
    words = ["compare", odd.name, *FLAGS, "--k", "2,5", "--method", "greedy,mondrian", "--l", "2"]
    words += ["--hierarchy", "age=intervals:5,10", "--set", "seed=3", "--keep-order", "--json"]
    told = call(*words, "--report", "page.html", folder=census.parent).json
    command = told["recommended"]["command"]
    assert command.startswith("incrowd run 'it'\"'\"'s a census.csv' --quasi age,sex ")
    audit = publish(told, census.parent)
    point = next(one for one in told["points"] if one["key"] == told["recommended"]["key"])
    assert audit["losses"] == {name: point["losses"][name] for name in audit["losses"]}
    assert audit["guarantee"]["parameters"]["l"] == 2
    assert (audit["method"]["name"], audit["seed"]) == (point["point"]["method"], 3)
    page = (census.parent / "page.html").read_text("utf-8")
    assert html.escape(command) in page.replace("&#39;", "&#x27;").replace("&#34;", "&quot;")
    assert call(*words[:-1], folder=census.parent).out.count(f"\n  {command}\n") == 1


def test_a_job_file_is_published_by_its_name(census):
    text = (
        'data = "census.csv"\n[roles]\nage = "quasi-identifying"\nsex = "quasi-identifying"\n'
        '[guarantee]\nk = 9\n[method]\nname = "greedy"\nrepair = "no"\n'
    )
    (census.parent / "job.toml").write_text(text, encoding="utf-8")
    words = ["compare", "job.toml", "--k", "3", "--queries", "20", "--json"]
    told = call(*words, "--suppression-limit", "0.05", folder=census.parent).json
    assert told["recommended"]["command"] == (
        "incrowd run job.toml --k 3 --method greedy --metric nllm --suppression-limit 0.05"
    )
    audit = publish(told, census.parent)
    assert audit["method"]["parameters"]["repair"] == "no"
    assert audit["losses"]["loss"] == told["points"][0]["losses"]["loss"]


def test_a_job_file_gives_the_rest(census, here):
    text = (
        'data = "census.csv"\n[roles]\nage = "quasi-identifying"\nsex = "quasi-identifying"\n'
        '[guarantee]\nk = 9\n[method]\nname = "greedy"\nrepair = "no"\n'
    )
    (census.parent / "job.toml").write_text(text, encoding="utf-8")
    words = ["compare", "job.toml", "--k", "3", "--queries", "20", "--json"]
    told = call(*words, folder=census.parent).json
    assert [one["point"]["k"] for one in told["points"]] == [3]
    assert told["points"][0]["method"]["parameters"]["repair"] == "no"
    assert here == ["k=3 method=greedy metric=nllm suppression_limit=0.0"]


def test_methods_that_the_job_does_not_name_search_for_what_is_compared(census, here):
    words = ["compare", census.name, *FLAGS, "--k", "9", "--method", "greedy,mondrian"]
    assert call(*words, "--by", "ncp", folder=census.parent).status == 0
    assert [key.split()[2] for key in here] == ["metric=ncp", "metric=ncp"]


def test_lists_take_the_same_flags(tmp_path, here):
    write_sets(user_lists(100, 40, seed=1), tmp_path / "lists.dat")
    words = ["compare", "lists.dat", "--guarantee", "suppression", "--k", "4", "--method"]
    assert call(*words, "mondrian", "--queries", "30", folder=tmp_path).status == 0
    assert here == ["k=4 method=mondrian"]
    assert (tmp_path / "lists.compare.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--k", "two"], "--k: not a list of numbers"),
        (["--method", "mondrain"], "mondrain"),
        (["--suppression-limit", "2", "--method", "mondrian"], "share from 0 to 1"),
        (["--report", "nowhere/page.html"], "no such folder"),
        (["--report", "census.csv", "--force"], "the output would overwrite an input"),
        (["--report", "hierarchies/education.csv"], "already exists"),
        (["-o", "nowhere/kept.json"], "no such folder"),
        (["-o", "census.csv", "--force"], "the output would overwrite an input"),
        (["-o", "hierarchies/education.csv", "--method", "mondrian"], "no comparison"),
        (["--predict", "shoe"], "shoe"),
    ],
)
def test_bad_usage_is_exit_2(census, words, told):
    before = census.read_bytes()
    finished = call("compare", census.name, *FLAGS, *words, folder=census.parent)
    assert finished.status == 2
    assert told in finished.err
    assert census.read_bytes() == before
    assert sorted(path.name for path in census.parent.iterdir()) == ["census.csv", "hierarchies"]
