"""init, demo, hierarchy and what every command has in common."""

import json
import os
import pty
import subprocess
import sys

import pytest

from command_line import call, incrowd
from incrowd.cli.help import SUMMARIES


def test_init_proposes_and_the_job_runs(desk):
    finished = desk.call("init", "census.csv", "-o", "job.toml")
    assert finished.status == 0, finished.err
    assert "because" in finished.out
    text = (desk / "job.toml").read_text()
    assert 'id = "identifying"' in text
    assert 'age = "quasi-identifying"' in text
    assert 'diagnosis = "sensitive"' in text
    assert '# k_column = "k"' in text
    ran = desk.call("run", "job.toml", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["smallest_group"] >= 5
    again = desk.call("init", "census.csv", "-o", "job.toml")
    assert again.status == 2
    assert (desk / "job.toml").read_text() == text


def test_init_as_json_quotes_no_value(desk):
    finished = desk.call("init", "census.csv", "--json")
    proposals = {proposal["column"]: proposal for proposal in json.loads(finished.out)}
    assert proposals["zip"]["hierarchy_spec_text"] == "prefix"
    name = desk.rows("census.csv")[0]["name"]
    assert name not in finished.out + finished.err


def test_demo_tells_the_whole_story(tmp_path):
    finished = incrowd("demo", "--rows", 2000, folder=tmp_path)
    assert finished.status == 0, finished.err
    for words in ["stand alone", "published", "holds", "does not hold", "incrowd check"]:
        assert words in finished.out
    folder = tmp_path / "incrowd-demo"
    assert {"census.csv", "census.release.csv", "job.toml"} <= {p.name for p in folder.iterdir()}
    check = call("check", "census.release.csv", "--job", "job.toml", folder=folder)
    assert check.status == 0
    assert call("demo", folder=tmp_path).status == 2


def test_hierarchy_built_written_and_used(desk):
    finished = desk.call(
        "hierarchy", "census.csv", "age", "--build", "intervals:10,20", "-o", "age.csv"
    )
    assert finished.status == 0, finished.err
    ran = desk.call(
        "run", "census.csv", "--k", 5, "--quasi", "age,sex", "--hierarchy", "age=age.csv"
    )
    assert ran.status == 0, ran.err


COMMANDS = sorted(SUMMARIES)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(desk, command):
    finished = desk.call(command, "--help")
    assert finished.status == 0
    assert "Example" in finished.out
    assert f"incrowd {command}" in finished.out


def test_version_and_no_arguments(desk):
    from incrowd.version import __version__

    assert desk.incrowd("--version").out.strip() == f"incrowd {__version__}"
    assert "demo" in desk.call().out


def test_shell_completion(desk):
    finished = desk.incrowd("--show-completion", env={"SHELL": "/bin/bash"})
    assert finished.status == 0, finished.err
    assert "incrowd" in finished.out


def test_results_on_stdout_messages_on_stderr(desk):
    finished = desk.incrowd("run", "census.csv", "--k", 3, "--quasi", "age", "--json")
    json.loads(finished.out)
    assert "note:" in finished.err


def test_a_terminal_sees_example_values(desk):
    """On a terminal the owner is shown what is wrong, elsewhere only where."""
    (desk / "bad.csv").write_text("age,sex\n" + "1,f\n2,f\n3,f\n4,f\n5,f\n" * 9 + "peculiar,f\n")
    command = [sys.executable, "-m", "incrowd", "run", "bad.csv", "--k", "2", "--quasi", "age"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, cwd=desk.folder, stdout=follower, stderr=follower)
    process.wait(timeout=60)
    os.close(follower)
    shown = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    assert process.returncode == 2
    assert b"peculiar" in shown
    assert "peculiar" not in desk.call("run", "bad.csv", "--k", 2, "--quasi", "age").err


class Panic(BaseException):
    """What a compiled library raises where it gives up."""


@pytest.mark.parametrize("kind", [ZeroDivisionError, Panic])
def test_internal_errors_are_one_line(desk, monkeypatch, kind):
    import incrowd.flow.run

    def broken(*_, **__):
        raise kind("a secret value")

    monkeypatch.setattr(incrowd.flow.run, "run", broken)
    finished = desk.call("run", "census.csv", "--k", 3, "--quasi", "age")
    assert finished.status == 70
    assert "secret" not in finished.err
    assert "Traceback" not in finished.err
    assert "Traceback" in desk.call("run", "census.csv", "--k", 3, "--quasi", "age", "--debug").err


def test_a_refused_release_is_not_published(desk, monkeypatch):
    """A method that breaks its promise is caught by the audit: exit 4, and no file."""
    from incrowd.methods.cluster.method import Cluster

    monkeypatch.setattr(Cluster, "run", lambda self, rows, *rest: rows)  # noqa: ARG005
    before = desk.files()
    finished = desk.call("run", "census.csv", "--k", 3, "--quasi", "age,zip", "--json")
    assert finished.status == 4
    assert json.loads(finished.out)["holds"] is False
    assert desk.files() == before


def test_an_untrue_release_is_not_published(desk, monkeypatch):
    """A method that invents values is caught by the proof of the key."""
    import numpy as np

    from incrowd.methods.cluster.method import Cluster

    def lie(self, rows, *rest):  # noqa: ARG001
        inner = [[hierarchy.n_leaves] for hierarchy in rows.hierarchies]
        return rows.with_nodes(np.zeros_like(rows.nodes) + np.asarray(inner, dtype=np.int32))

    monkeypatch.setattr(Cluster, "run", lie)
    finished = desk.call("run", "census.csv", "--k", 3, "--quasi", "age,zip", "--json")
    assert finished.status == 4
    assert json.loads(finished.out)["findings"][0]["name"] == "key"
