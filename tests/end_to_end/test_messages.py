"""What commands say: all problems at once, errors as JSON, quiet, verbose, and a log."""

import json
import re

import pytest

ROLES = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
RUN = ("run", "census.csv", "--k", 5, *ROLES, "--method", "mondrian")


@pytest.fixture
def release(desk):
    finished = desk.call(*RUN, "-o", "out.csv", "--save-job", "made.toml")
    assert finished.status == 0, finished.err
    return desk


def test_all_problems_of_a_job_are_told_at_once(desk):
    (desk / "out.csv").write_text("kept\n")
    before = desk.files()
    finished = desk.call(
        *("run", "census.csv", "--k", 0, "--quasi", "agee,sex,zipp", "--method", "mondian"),
        *("--hierarchy", "sex=intervls:5", "--report", "report.pdf", "-o", "out.csv"),
    )
    assert finished.status == 2
    assert "6 problems" in finished.err
    for words in ("'agee'", "'zipp'", "k = 0", "'mondrian'", "intervls", ".html"):
        assert words in finished.err
    assert desk.files() == before


def test_outputs_and_columns_are_told_together(desk):
    (desk / "out.csv").write_text("kept\n")
    finished = desk.call(
        *("run", "census.csv", "--k", 5, "--quasi", "agee", "-o", "out.csv"),
        *("--hierarchy", "zipp=prefix"),
    )
    assert finished.status == 2
    assert "3 problems" in finished.err
    for words in ("'agee'", "'zipp'", "out.csv"):
        assert words in finished.err


def test_a_single_problem_is_told_as_it_is(desk):
    finished = desk.call("run", "census.csv", "--k", 5, "--quasi", "agee")
    assert finished.status == 2
    assert "problems" not in finished.err
    assert "'age'" in finished.err


def test_problems_as_json(desk):
    finished = desk.call(
        "run", "census.csv", "--k", 5, "--quasi", "agee", "--method", "mondian", "--json"
    )
    error = finished.json["error"]
    assert finished.status == error["exit_status"] == 2
    assert [problem["kind"] for problem in error["problems"]] == ["job", "job"]
    assert all(problem["what"] and problem["remedy"] for problem in error["problems"])


@pytest.mark.parametrize(
    ("arguments", "status", "kind"),
    [
        (("run", "none.csv", "--k", 5, "--quasi", "age"), 2, "data"),
        (("run", "census.csv", "--k", 5, "--quasi", "age", "--nonsense"), 2, "usage"),
        (("run", "census.csv", "--k", 5_000, "--quasi", "age"), 3, "infeasible"),
        (("check", "census.csv", "--k", 5), 2, "job"),
        (("check", "census.csv", "none.toml"), 2, "job"),
        (("compare", "census.csv", "--quasi", "age", "--k", "few"), 2, "job"),
        (("init", "none.csv"), 2, "data"),
        (("hierarchy", "census.csv", "nothing"), 2, "job"),
        (("verify-certificate", "census.csv", "none.json"), 2, "input"),
    ],
)
def test_errors_as_json(desk, arguments, status, kind):
    finished = desk.call(*arguments, "--json")
    assert finished.status == status
    error = finished.json["error"]
    assert (error["kind"], error["exit_status"]) == (kind, status)
    assert error["what"].rstrip(".") in finished.err.replace("\n", " ")


def test_internal_errors_as_json(desk, monkeypatch):
    import incrowd.flow.run

    def broken(*_, **__):
        raise ZeroDivisionError("a secret value")

    monkeypatch.setattr(incrowd.flow.run, "run", broken)
    finished = desk.call("run", "census.csv", "--k", 3, "--quasi", "age", "--json")
    assert finished.json["error"]["kind"] == "internal"
    assert finished.json["error"]["exit_status"] == finished.status == 70
    assert "secret" not in finished.out


def test_check_with_a_job_file(release):
    stated = release.call("check", "out.csv", "--job", "made.toml", "--json")
    placed = release.call("check", "out.csv", "made.toml", "--json")
    assert stated.status == placed.status == 0
    assert stated.json["findings"] == placed.json["findings"]
    both = release.call("check", "out.csv", "made.toml", "--job", "made.toml")
    assert both.status == 2


def test_quiet_prints_errors_alone(desk):
    finished = desk.call(*RUN, "--quiet")
    assert (finished.status, finished.out, finished.err) == (0, "", "")
    again = desk.call(*RUN, "--quiet")
    assert again.status == 2
    assert "exists" in again.err
    held = desk.call("check", "census.release.csv", "--k", 5, *ROLES, "--quiet")
    assert (held.status, held.out, held.err) == (0, "", "")
    broken = desk.call("check", "census.release.csv", "--k", 900, *ROLES, "--quiet")
    assert broken.status == 1
    assert "does not hold" in broken.out
    assert len(broken.out.splitlines()) == 1
    assert desk.call(*RUN, "--quiet", "--verbose").status == 2


def test_a_log_file_keeps_the_story_without_values(desk):
    finished = desk.call(*RUN, "--log-file", "incrowd.log")
    assert finished.status == 0, finished.err
    text = (desk / "incrowd.log").read_text()
    for words in ("INFO incrowd ", "run", "searching", "k-anonymity holds"):
        assert words in text
    again = desk.call(*RUN, "--log-file", "incrowd.log")
    assert again.status == 2
    appended = (desk / "incrowd.log").read_text()
    assert appended.startswith(text)
    assert re.search(r"ERROR .*exists", appended)
    name = desk.rows("census.csv")[0]["name"]
    assert name not in appended


def test_a_log_never_overwrites_other_files(desk):
    before = desk.files()
    finished = desk.call(*RUN, "--log-file", "census.csv")
    assert finished.status == 2
    assert "--log-file" in finished.err
    assert desk.files() == before
    assert desk.call(*RUN, "--log-file", "none/incrowd.log").status == 2


@pytest.mark.parametrize("command", ["init", "hierarchy", "check", "compare", "demo"])
def test_every_command_has_the_flags(desk, command):
    shown = desk.call(command, "--help-all" if command in ("check", "compare") else "--help").out
    assert "--quiet" in shown
    assert "--verbose" in shown
    assert "--log-file" in shown


def test_json_of_a_refused_release_has_the_audit_and_the_error(desk, monkeypatch):
    from incrowd.methods.mondrian.method import Mondrian

    monkeypatch.setattr(Mondrian, "run", lambda self, rows, *rest: rows)  # noqa: ARG005
    finished = desk.call(*RUN, "--json")
    told = json.loads(finished.out)
    assert finished.status == 4
    assert told["holds"] is False
    assert told["error"]["kind"] == "audit"


def test_wrong_flags_of_check_are_no_verdict(desk):
    """A key of something else is exit 2; one untrue row of a good key is exit 1."""
    (desk / "private").mkdir()
    made = desk.call(*RUN, "-o", "out.csv", "--key", "private/key.csv", "--save-job", "made.toml")
    assert made.status == 0, made.err
    owner = ("--original", "census.csv")
    key = (*owner, "--key", "private/key.csv")
    assert desk.call("check", "out.csv", "made.toml", *key).status == 0
    for wrong in [
        (*owner, "--aligned"),
        ("--original", "turned.csv", "--key", "private/key.csv"),
    ]:
        rows = (desk / "census.csv").read_text().splitlines()
        (desk / "turned.csv").write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
        finished = desk.call("check", "out.csv", "made.toml", *wrong)
        assert finished.status == 2
        assert "could not check" in finished.err
        assert "original rows" in finished.err
        assert finished.out == ""
    text = (desk / "out.csv").read_text().splitlines()
    cells = text[1].split(",")
    cells[-1] = "another"
    (desk / "out.csv").write_text("\n".join([text[0], ",".join(cells), *text[2:]]) + "\n")
    altered = desk.call("check", "out.csv", "made.toml", *key)
    assert altered.status == 1
    assert "do not agree" in altered.out


@pytest.mark.parametrize(
    "flags",
    [
        ("--k", 5, "--quasi", "agee"),
        ("--k", 5),
        ("--quasi", "age"),
        ("--k", 5, "--quasi", "age", "--guarantee", "nothing"),
        ("--k", 5, "--quasi", "age", "--l", 3),
        ("--k", 5, "--quasi", "age", "--key", "key.csv"),
    ],
)
def test_bad_flags_of_check_say_that_nothing_was_checked(desk, flags):
    finished = desk.call("check", "census.csv", *flags)
    assert finished.status == 2
    assert "could not check" in finished.err
    assert finished.out == ""


def test_compare_reports_all_problems_at_once_too(desk):
    before = desk.files()
    finished = desk.call(
        *("compare", "census.csv", "--quasi", "agee,sex", "--k", "few", "--suppression-limit"),
        *("much", "--hierarchy", "sex=intervls:5"),
    )
    assert finished.status == 2
    assert "4 problems" in finished.err
    for words in ("'agee'", "--k", "--suppression-limit", "intervls"):
        assert words in finished.err
    assert desk.files() == before
