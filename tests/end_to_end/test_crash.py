"""Killed at any moment, a run leaves no file under the final name and no trace after the next."""

import shutil
import signal

import pytest

from command_line import python
from end_to_end import dying
from end_to_end.dying import Moments

FLAGS = ["--k", "5", "--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--method", "mondrian"]

HERE = Moments()
"""In this process, for deaths that it survives."""


def kill(desk, moment, *flags):
    """Run in a process killed at a moment; with -1 it lives, and says how many there are."""
    words = [moment, "run", "census.csv", *FLAGS, *flags]
    return python(dying.__file__, *words, folder=desk.folder)


def n_moments(desk, *flags):
    """Return how many moments a run has that nobody kills."""
    finished = kill(desk, -1, *flags)
    assert finished.status == 0, finished.err
    count = int(finished.err.rsplit("moments", 1)[1])
    assert count > 10
    return count


def leftovers(desk):
    return [path for path in desk.folder.iterdir() if path.name.startswith(".incrowd-")]


@pytest.mark.slow
def test_kill_at_every_moment(desk):
    moments = n_moments(desk)
    (desk / "census.release.csv").unlink()
    original = (desk / "census.csv").read_bytes()
    complete = None
    n_killed = 0
    for moment in range(1, moments + 1, max(1, moments // 16)):
        finished = kill(desk, moment)
        n_killed += finished.status == -signal.SIGKILL
        assert (desk / "census.csv").read_bytes() == original
        released = desk / "census.release.csv"
        if released.exists():  # killed after publication: then it is whole
            text = released.read_bytes()
            complete = complete or text
            assert text == complete
            assert len(text.splitlines()) == 1_501
            released.unlink()
        for leftover in leftovers(desk):
            assert leftover.stat().st_mode & 0o077 == 0
    assert n_killed > 8
    finished = desk.call("run", "census.csv", *FLAGS)
    assert finished.status == 0, finished.err
    assert leftovers(desk) == []


@pytest.mark.parametrize("how", ["interrupt", "fail"])
def test_interrupted_or_failing_runs_clean_up(desk, how):
    before = desk.files()
    run = ["run", "census.csv", *FLAGS]

    def die():
        raise KeyboardInterrupt if how == "interrupt" else MemoryError

    with HERE.within(desk.folder) as whole:
        assert desk.call(*run).status == 0
    (desk / "census.release.csv").unlink()
    for moment in range(2, whole.seen, max(1, whole.seen // 6)):
        with HERE.within(desk.folder, moment, die):
            finished = desk.call(*run)
        if finished.status == 0:  # the moment lay in the clean-up of a published run
            (desk / "census.release.csv").unlink()
        else:
            assert finished.status in (2, 70, 130)
        files = {name: text for name, text in desk.files().items() if ".incrowd-" not in name}
        files.pop("census.release.csv", None)
        assert files == before


@pytest.mark.slow
@pytest.mark.parametrize("output", ["disk.csv", "parts/"])
def test_killed_with_rows_on_disk_nothing_has_the_name_and_the_next_run_cleans_up(desk, output):
    flags = ["--memory", "300MB", "-o", output]
    moments = n_moments(desk, *flags)
    whole = _content(desk / output)
    _remove(desk / output)
    n_killed = 0
    for moment in range(2, moments + 1, max(1, moments // 5)):
        n_killed += kill(desk, moment, *flags).status == -signal.SIGKILL
        assert all(leftover.stat().st_mode & 0o077 == 0 for leftover in leftovers(desk))
        if (desk / output).exists():  # killed after publication: then it is whole
            assert _content(desk / output) == whole
            _remove(desk / output)
    assert n_killed > 3
    finished = desk.call("run", "census.csv", *FLAGS, *flags)
    assert finished.status == 0, finished.err
    assert _content(desk / output) == whole
    assert leftovers(desk) == []


def _content(path):
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [(file.name, file.read_bytes()) for file in files]


def _remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_living_run_is_left_alone(desk):
    from incrowd.workspace import Workspace, remove_stale

    with Workspace(desk.folder) as workspace:
        remove_stale(desk.folder)
        assert workspace.folder.is_dir()
        assert workspace.folder.stat().st_mode & 0o777 == 0o700
        assert workspace.file("x").stat().st_mode & 0o777 == 0o600
    assert not workspace.folder.exists()


@pytest.mark.parametrize("name", [".incrowd-notes", ".incrowd-0123abcd", ".incrowd-0123abcd-old"])
@pytest.mark.parametrize("lock", [None, "", "mine\n"], ids=["alone", "empty", "other"])
def test_a_folder_that_no_run_made_is_never_swept(desk, name, lock):
    from incrowd.workspace import remove_stale

    (desk / name).mkdir()
    (desk / name / "kept.txt").write_text("kept")
    if lock is not None:
        (desk / f"{name}.lock").write_text(lock)
    before = desk.files()
    remove_stale(desk.folder)
    assert desk.files() == before
    assert (desk / name / "kept.txt").read_text() == "kept"


def test_a_lock_that_is_a_link_is_left_alone(desk):
    from incrowd.workspace import MARK, remove_stale

    (desk / ".incrowd-0123abcd").mkdir()
    (desk / "marked.txt").write_text(MARK)
    (desk / ".incrowd-0123abcd.lock").symlink_to("marked.txt")
    remove_stale(desk.folder)
    assert (desk / ".incrowd-0123abcd").is_dir()
    assert (desk / ".incrowd-0123abcd.lock").is_symlink()


def test_what_a_killed_run_left_is_swept(desk):
    code = (
        "import os, pathlib, signal\n"
        "from incrowd.workspace import Workspace\n"
        "with Workspace(pathlib.Path()) as workspace:\n"
        "    workspace.file('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    python("-c", code, folder=desk.folder)
    assert len(leftovers(desk)) == 2
    from incrowd.workspace import remove_stale

    remove_stale(desk.folder)
    assert leftovers(desk) == []


def test_what_cannot_be_removed_keeps_its_mark_for_the_next_run(desk, monkeypatch):
    from incrowd import workspace

    with monkeypatch.context() as patch:
        patch.setattr(workspace.shutil, "rmtree", lambda *_, **__: None)
        with workspace.Workspace(desk.folder) as made:
            made.file("x")
        workspace.remove_stale(desk.folder)
    assert len(leftovers(desk)) == 2
    workspace.remove_stale(desk.folder)
    assert leftovers(desk) == []


def test_full_disk(desk):
    """A limit on file sizes stands for a full disk: writing fails in the middle of the release."""
    program = (
        "import resource, sys\n"
        "from incrowd.cli import run_with_status\n"
        "import incrowd.flow.run, incrowd.methods.shared.cuts\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.exit(run_with_status(sys.argv[1:]))"
    )
    before = desk.files()
    env = {"NUMBA_DISABLE_JIT": "1"}
    finished = python("-c", program, "run", "census.csv", *FLAGS, folder=desk.folder, env=env)
    assert finished.status == 2, finished.err
    assert "Nothing was published" in finished.err
    assert desk.files() == before
    assert leftovers(desk) == []
