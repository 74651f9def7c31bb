"""A container in which nothing but the data can be written: no cache folder, no home folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd as ic


def read_only_installation(folder):
    """Return an environment whose package and home nobody can write to, not even root."""
    package = folder / "incrowd"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ic.__file__).parent, package, ignore=ignored)
    for inner in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (inner / "__pycache__").write_text("where a cache would be")
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "APPDATA")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    return env | {
        "PYTHONPATH": str(folder),
        "HOME": os.devnull,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.mark.slow
def test_a_read_only_installation_without_a_home(desk, tmp_path_factory):
    """Kernels are compiled into a temporary cache, which is said; nothing else is different."""
    folder, temporary = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("temporary")
    env = read_only_installation(folder) | {"TMPDIR": str(temporary)}
    words = ["census.csv", "--k", "5", "--quasi", "age,sex,zip", "--sensitive", "diagnosis"]
    words += ["--method", "mondrian", "--json"]

    def run(output):
        command = [sys.executable, "-m", "incrowd", "run", *words, "-o", output]
        return subprocess.run(
            command, cwd=desk.folder, env=env, capture_output=True, text=True, check=False,
            timeout=500,
        )  # fmt: skip

    first, second = run("first.csv"), run("second.csv")
    assert first.returncode == 0, first.stderr
    assert "temporary" in first.stderr, "it is said where compiled code goes"
    assert second.returncode == 0, second.stderr
    assert (desk / "first.csv").read_bytes() == (desk / "second.csv").read_bytes()
    assert json.loads(second.stdout)["seconds"] < json.loads(first.stdout)["seconds"]
    here = desk.call("run", *words, "-o", "here.csv")
    assert (desk / "here.csv").read_bytes() == (desk / "first.csv").read_bytes(), here.err
