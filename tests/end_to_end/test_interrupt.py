"""Ctrl-C: nothing is published, or what the search has; and how far a run says it is."""

import io
import json
import signal
import threading
import time

import pytest
from rich.console import Console

from command_line import start
from incrowd import bars
from incrowd.cli import terminal
from incrowd.samples import write_sample

FLAGS = ["--k", "5", "--quasi", "age,sex,zip,education,occupation", "--json"]
MOST_SECONDS = 200
"""After which a run that does not say what is waited for is ended."""


@pytest.fixture(scope="module")
def big_table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    write_sample(folder, 20_000, 3)
    return (folder / "census.csv").read_bytes()


@pytest.fixture
def big(desk, big_table):
    (desk / "big.csv").write_bytes(big_table)
    return desk


STARTED = []


@pytest.fixture(autouse=True)
def no_process_outlives_its_test():
    yield
    while STARTED:
        STARTED.pop().kill()


def started(desk, *flags):
    STARTED.append(start("run", "big.csv", *FLAGS, *flags, folder=desk.folder))
    return STARTED[-1]


def wait_for(process, words):
    heard = []
    ending = threading.Timer(MOST_SECONDS, process.kill)
    ending.start()
    try:
        for line in process.stderr:
            heard.append(line)
            if words in line:
                return
    finally:
        ending.cancel()
    raise AssertionError(f"{words!r} was never said: {heard}")


SEARCH = ["--method", "cluster", "--effort", "100000000"]


@pytest.mark.slow
def test_ctrl_c_publishes_where_that_was_asked_for(big):
    process = started(big, *SEARCH, "--on-interrupt", "publish")
    wait_for(process, "searching groups")
    time.sleep(3)  # some iterations are done by then
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "audited and published" in err
    audit = json.loads(out)
    assert audit["holds"]
    settings = audit["method"]["parameters"]
    assert 0 < settings["iterations_done"] < settings["iterations"] == 100_000_000
    assert any("ended early" in note for note in audit["notes"])
    sizes = big.group_sizes("big.release.csv", ["age", "sex", "zip", "education", "occupation"])
    assert min(sizes.values()) >= 5


@pytest.mark.parametrize(
    ("flags", "number", "status"),
    [
        ([], signal.SIGINT, 130),
        pytest.param(["--on-interrupt", "abort"], signal.SIGINT, 130, marks=pytest.mark.slow),
        (["--on-interrupt", "publish"], signal.SIGTERM, 143),
    ],
)
def test_otherwise_nothing_is_published(big, flags, number, status):
    before = set(big.folder.iterdir())
    process = started(big, *SEARCH, *flags)
    wait_for(process, "searching groups")
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == status, err
    assert set(big.folder.iterdir()) == before


@pytest.mark.slow
def test_a_second_ctrl_c_aborts(big):
    before = set(big.folder.iterdir())
    process = started(big, *SEARCH, "--on-interrupt", "publish")
    wait_for(process, "searching groups")
    process.send_signal(signal.SIGINT)
    wait_for(process, "audited and published")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "nothing was published" in err
    assert set(big.folder.iterdir()) == before


@pytest.mark.slow
def test_other_methods_go_on_to_their_end(big):
    process = started(big, "--method", "greedy", "--on-interrupt", "publish")
    while not any(path.name.startswith(".incrowd-") for path in big.folder.iterdir()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "at their end" in err
    assert json.loads(out)["smallest_group"] >= 5


def test_an_unknown_answer_is_refused(desk):
    finished = desk.call("run", "census.csv", "--k", "2", "--quasi", "age", "--on-interrupt", "x")
    assert finished.status == 2
    assert "publish" in finished.err


def test_plain_lines_are_one_per_stage(capsys):
    now = 0.0
    report = terminal.plain_lines(lambda: now)
    report("reading", 0, 0)  # quick work is not told
    report("compiling kernels (first run only)", 1, 9)  # compiling is, at once
    for step in range(201):
        now = step / 10
        report("searching", step, 400, 0.25 - step / 1000)
    report("auditing", 0, 0)
    report("searching", 400, 400)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["compiling kernels (first run only) …", "searching …", "auditing …"]


def test_a_bar_shows_the_stage_its_share_and_the_loss_so_far(monkeypatch):
    monkeypatch.setattr(bars, "QUIET_SECONDS", 0.0)
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with bars.live_bar(console) as report:
        report("searching groups", 1, 4, 0.125)
        time.sleep(0.5)  # a bar is drawn ten times a second
    drawn = console.file.getvalue()
    for words in ("searching groups", "25%", "loss 12.50%"):
        assert words in drawn
