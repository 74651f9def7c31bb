"""init: a conversation on a terminal, a job file with reasons elsewhere."""

import json
import os
import pty
import random
import select
import subprocess
import sys
import tomllib

import pytest

import incrowd as ic

ASKS = (b"or ? ", b"quits ", b"] ")
"""What a question ends in."""


@pytest.fixture
def converse(desk, monkeypatch):
    """Run ``incrowd init`` in this process as on a terminal, with answers to its questions."""

    def run(*arguments, answers):
        left = list(answers)

        def answer(_prompt=""):
            given = left.pop(0)
            if given is None:
                raise EOFError
            return given

        monkeypatch.setattr("incrowd.cli.init._may_converse", lambda: True)
        monkeypatch.setattr("builtins.input", answer)
        finished = desk.call("init", *arguments)
        assert finished.status == 0, finished.err
        assert not left, f"not asked for: {left}"
        return finished.out + finished.err

    return run


def converse_on_terminal(desk, *arguments, answers):
    """Run ``incrowd init`` on a terminal of its own and answer its questions."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "incrowd", "init", *map(str, arguments)],
        cwd=desk.folder,
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(end)
    shown, left, answered = b"", list(answers), 0
    while select.select([terminal], [], [], 120)[0]:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
        if shown[answered:].endswith(ASKS) and left:
            answered = len(shown)
            answer = left.pop(0)
            os.write(terminal, b"\x04" if answer is None else f"{answer}\n".encode())
    os.close(terminal)
    assert process.wait(30) == 0, shown.decode()
    assert not left, f"not asked for: {left}"
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_on_a_terminal_enter_accepts_all_and_the_job_runs(desk):
    n_columns = len(desk.rows("census.csv")[0])
    shown = converse_on_terminal(desk, "census.csv", answers=[""] * (n_columns + 2))
    assert f"{n_columns}/{n_columns}" in shown
    assert "its name says 'age'" in shown
    assert "a quick estimate for k = 5" in shown
    written = (desk / "census.job.toml").read_text()
    proposed = ic.init(desk / "census.csv")
    assert tomllib.loads(written)["roles"] == proposed.roles
    ran = desk.call("run", "census.job.toml", "--json", "--effort", "quick")
    assert ran.status == 0, ran.err


def test_letters_choose_another_role_and_b_goes_back(desk, converse):
    # id, name, age: back to name, which is kept; age is generalized by ages; sex is sensitive
    answers = ["", "", "b", "s", "g ages", "x", "?", "s", "a", "", "mine.toml"]
    shown = converse("census.csv", "--no-predict", answers=answers)
    assert "one of r, g, s, k, p, b, a, q" in shown
    assert "quick estimate" not in shown
    job = ic.Job.load(desk / "mine.toml")
    assert set(job.schema.sensitive) == {"name", "sex", "diagnosis"}
    assert job.hierarchy_specs["age"].text() == "ages"
    assert "sex" not in job.hierarchies


def test_examples_of_values_are_shown_on_a_terminal_alone(desk):
    shown = converse_on_terminal(desk, "census.csv", answers=["q"])
    assert "nothing was written" in shown
    ids = {row["id"] for row in desk.rows("census.csv")}
    assert any(number in shown for number in ids)
    elsewhere = desk.call("init", "census.csv")
    assert not any(number in elsewhere.out + elsewhere.err for number in ids)


@pytest.mark.parametrize("answers", [["q"], ["", "", "Q"], ["a", "q"], [None], ["a", "", None]])
def test_quitting_writes_nothing(desk, converse, answers):
    before = desk.files()
    shown = converse("census.csv", "--no-predict", answers=answers)
    assert "nothing was written" in shown
    assert desk.files() == before


def test_a_hierarchy_that_does_not_fit_is_asked_for_again(desk, converse):
    answers = ["", "", "g isco", "g ages:5", "g intervals:5,10", "a", ""]
    shown = converse("census.csv", "-o", "job.toml", "--no-predict", answers=answers)
    assert "no code of ISCO-08" in shown
    assert ic.Job.load(desk / "job.toml").hierarchy_specs["age"].text() == "intervals:5,10"


def test_people_are_counted_by_one_column(desk, converse):
    answers = ["p", "p", "a", ""]
    converse("census.csv", "-o", "job.toml", "--no-predict", answers=answers)
    job = ic.Job.load(desk / "job.toml")
    assert job.schema.person == "name"
    assert job.schema.roles["id"] == "identifying"


def write_survey(path, n_items):
    drawn = random.Random(6)
    lines = [",".join(["age", "sex", *(f"Q{item:02d}" for item in range(1, n_items + 1))])]
    for _ in range(200):
        answers = [str(drawn.randint(1, 5)) for _ in range(n_items)]
        lines.append(",".join([str(drawn.randint(20, 69)), drawn.choice("mf"), *answers]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_items_of_a_survey_are_one_question(desk, converse):
    write_survey(desk / "survey.csv", 55)
    answers = ["", "", "r", "", "job.toml"]
    shown = converse("survey.csv", "--no-predict", answers=answers)
    assert "3/3 Q01 … Q55 (55 columns)" in shown
    assert set(ic.Job.load(desk / "job.toml").schema.identifying) == {
        f"Q{item:02d}" for item in range(1, 56)
    }


def test_costly_columns_can_be_left_out_at_the_end(desk, converse):
    drawn = random.Random(7)
    lines = ["age,sex,admission,discharge"]
    for _ in range(400):
        days = [f"2023-{drawn.randint(1, 12):02d}-{drawn.randint(1, 28):02d}" for _ in range(2)]
        lines.append(",".join([str(drawn.randint(20, 24)), drawn.choice("mf"), *days]))
    (desk / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shown = converse("visits.csv", answers=["a", "d", "", "job.toml"])
    assert "d leaves these columns out" in shown
    job = ic.Job.load(desk / "job.toml")
    assert set(job.schema.identifying) <= {"admission", "discharge"}
    assert job.schema.identifying
    assert set(job.schema.quasi) >= {"age", "sex"}


def test_dates_and_numbers_of_an_export_are_read_as_a_run_reads_them(desk, converse):
    drawn = random.Random(8)
    lines = ["Geburtsdatum;Größe"]
    for _ in range(300):
        day = f"{drawn.randint(1, 28):02d}.{drawn.randint(1, 12):02d}.{drawn.randint(1940, 2000)}"
        lines.append(f"{day};{drawn.randint(150, 199)},{drawn.randint(0, 9)}")
    (desk / "export.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    answers = ["g isco", "g dates:year,decade", "", "", "job.toml"]
    shown = converse("export.csv", answers=answers)
    assert "a quick estimate for k = 5 on 300 rows" in shown
    assert ic.Job.load(desk / "job.toml").hierarchy_specs["Geburtsdatum"].text() == (
        "dates:year,decade"
    )
    ran = desk.call("run", "job.toml", "--effort", "quick", "--json")
    assert ran.status == 0, ran.err


# ── off a terminal ───────────────────────────────────────────────────────────────────────────


def test_elsewhere_the_job_has_the_prediction_as_a_comment(desk):
    finished = desk.call("init", "census.csv", "-o", "job.toml")
    assert finished.status == 0, finished.err
    told = [line for line in finished.err.splitlines() if "quick estimate" in line]
    assert len(told) == 1
    assert told[0].removeprefix("note: ") in (desk / "job.toml").read_text()
    quick = desk.call("init", "census.csv", "--no-predict", "--json")
    assert "quick estimate" not in quick.err
    assert {part["column"] for part in json.loads(quick.out)} == set(desk.rows("census.csv")[0])


def test_yes_asks_nothing_on_a_terminal(converse):
    shown = converse("census.csv", "--yes", "--no-predict", "-o", "job.toml", answers=[])
    assert "job written: job.toml" in shown


def test_an_existing_job_is_refused_before_anything_is_asked(desk):
    (desk / "job.toml").write_text("mine")
    refused = desk.call("init", "census.csv", "-o", "job.toml")
    assert refused.status == 2
    assert (desk / "job.toml").read_text() == "mine"
