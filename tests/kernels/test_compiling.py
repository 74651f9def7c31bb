"""Kernels compile where nothing can be kept on disk, too; what is compiled is announced."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

import incrowd
from command_line import incrowd as command
from command_line import python
from incrowd.cli.terminal import plain_lines
from incrowd.progress import COMPILING, current_compilation, report_compilation, silent
from incrowd.samples import write_sample

SORT = """
import json, logging, os
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append([record.name, record.levelname, record.getMessage()])
logging.getLogger("incrowd").addHandler(Keep())
logging.getLogger("incrowd").setLevel(logging.INFO)
import numpy as np
from incrowd.progress import report_compilation
reports = []
from incrowd.kernels.sorting import shell_sort
numbers = np.array([3, 1, 2])
with report_compilation(lambda *report: reports.append(report), 7):
    shell_sort(numbers, 3)
assert numbers.tolist() == [1, 2, 3]
hits = sum(shell_sort.dispatcher.stats.cache_hits.values())
print(json.dumps({"records": records, "reports": reports, "hits": hits}))
"""


def test_kernels_compile_without_a_place_for_the_cache():
    # code that is in no file has no place for a cache: Numba itself refuses it
    program = (
        "from numba import njit\n"
        "from incrowd.compiling import compiled\n"
        "def double(number):\n"
        "    return 2 * number\n"
        "try:\n"
        "    njit(cache=True)(double)\n"
        "except RuntimeError:\n"
        "    assert compiled(double)(21) == 42\n"
        "    print('compiled')\n"
    )
    finished = python("-c", program)
    assert finished.status == 0, finished.err
    assert finished.out.strip() == "compiled"


@pytest.fixture
def sealed(tmp_path):
    """The package in a folder that keeps no cache, without a home: this binds for root as well."""
    package = tmp_path / "site" / "incrowd"
    shutil.copytree(
        Path(incrowd.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    barrier = tmp_path / "barrier"
    barrier.touch()
    (tmp_path / "temp").mkdir()
    return {
        "PYTHONPATH": str(package.parent),
        "HOME": str(barrier / "home"),
        "XDG_CACHE_HOME": str(barrier / "cache"),
        "TMPDIR": str(tmp_path / "temp"),
        "NUMBA_CACHE_DIR": "",
        "INCROWD_KERNELS": "jit",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def sort_in(env):
    finished = python("-c", SORT, env=env)
    assert finished.status == 0, finished.err
    return json.loads(finished.out)


def cache_of(env):
    return Path(env["TMPDIR"]) / f"incrowd-kernels-{os.getuid()}"


def test_without_a_home_a_private_temporary_cache_is_used(sealed):
    first = sort_in(sealed)
    folder = cache_of(sealed)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    warnings = [text for _, level, text in first["records"] if level == "WARNING"]
    assert len(warnings) == 1  # once, not for every kernel
    assert str(folder) in warnings[0]
    assert first["hits"] == 0
    second = sort_in(sealed)
    assert second["hits"] == 1
    assert second["reports"] == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["open to others", "a link", "a file"])
def test_a_cache_that_others_could_write_to_is_not_used(sealed, tmp_path, fault):
    folder = cache_of(sealed)
    if fault == "open to others":
        folder.mkdir()
        folder.chmod(0o777)
    elif fault == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.write_text("")
    ran = sort_in(sealed)
    assert [level for _, level, _ in ran["records"]].count("WARNING") == 1
    assert "compiles anew" in str(ran["records"])
    if folder.is_dir():
        assert list(folder.iterdir()) == []


def test_the_first_compilation_is_announced_and_no_other(tmp_path):
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "INCROWD_KERNELS": "jit"}
    first = sort_in(env)
    titles = {report[0] for report in first["reports"]}
    assert len(titles) == 1
    title = titles.pop()
    assert title.startswith(COMPILING)
    assert "first run only, about 4 s" in title  # 7 kernels are expected
    assert [report[1:3] for report in first["reports"]] == [[0, 7], [1, 7]]
    assert first["records"] == [["incrowd.compiling", "INFO", title]]
    second = sort_in(env)
    assert (second["reports"], second["records"], second["hits"]) == ([], [], 1)


def test_off_a_terminal_compiling_is_told_at_once(capsys):
    report = plain_lines()
    report(f"{COMPILING} (first run only, about 3 s)", 0, 7)
    report(f"{COMPILING} (first run only, about 3 s)", 1, 7)
    assert capsys.readouterr().err.splitlines() == [f"{COMPILING} (first run only, about 3 s) …"]


def test_whoever_works_now_is_told():
    assert current_compilation().progress is silent
    heard = []
    with report_compilation(lambda *report: heard.append(report), 5):
        assert current_compilation().n_expected == 5
        current_compilation().progress("stage", 0, 1)
    assert heard == [("stage", 0, 1)]
    assert current_compilation().progress is silent


@pytest.mark.slow
def test_the_command_line_says_where_compiled_kernels_are_kept(sealed, tmp_path):
    """A read-only installation without a home: the second run compiles nothing."""
    write_sample(tmp_path, 200, 1)
    words = ("run", "census.csv", "--k", 5, "--quasi", "age,sex", "--method", "full-domain")
    first = command(*words, folder=tmp_path, env=sealed)
    assert first.status == 0, first.err
    assert first.err.count(f"note: compiled kernels are kept in {cache_of(sealed)}") == 1
    assert f"{COMPILING} (first run only" in first.err
    second = command(*words, "--force", folder=tmp_path, env=sealed)
    assert second.status == 0, second.err
    assert COMPILING not in second.err
