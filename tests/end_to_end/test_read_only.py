"""A container in which nothing but the data can be written: no cache folder, no home folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.compiling.library import library


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
@pytest.mark.parametrize("kernels", ["built", "jit"])
def test_a_read_only_installation_without_a_home(desk, tmp_path_factory, kernels):
    """Built kernels need no place; what Numba compiles goes to a temporary cache, which is said."""
    if kernels == "built" and library() is None:
        pytest.skip("no library of kernels is built here")
    folder, temporary = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("temporary")
    env = read_only_installation(folder) | {"TMPDIR": str(temporary), "INCROWD_KERNELS": kernels}
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
    assert ("temporary" in first.stderr) == (kernels == "jit"), "it is said where kernels are kept"
    assert ("compiling" in first.stderr) == (kernels == "jit")
    assert (list(temporary.iterdir()) == []) == (kernels == "built")
    assert second.returncode == 0, second.stderr
    assert "compiling" not in second.stderr
    assert (desk / "first.csv").read_bytes() == (desk / "second.csv").read_bytes()
    used = {"built": "built ahead", "jit": "compiled by Numba"}[kernels]
    assert json.loads(first.stdout)["engine"]["kernels"] == used
    here = desk.call("run", *words, "-o", "here.csv")
    assert (desk / "here.csv").read_bytes() == (desk / "first.csv").read_bytes(), here.err
