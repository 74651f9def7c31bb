"""The rooms and the one-way flow, as contracts."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "incrowd"


def test_imports_go_one_way():
    finished = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "6 kept, 0 broken" in finished.stdout


def test_no_module_is_a_drawer():
    names = {path.stem for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


def test_modules_stay_small():
    lengths = {
        path.relative_to(SOURCE): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCE.rglob("*.py")
    }
    assert {str(path): length for path, length in lengths.items() if length > 660} == {}


def test_the_wheel_holds_no_benchmarks():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    wheel = build["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/incrowd"]
    assert wheel["artifacts"] == ["src/incrowd/compiling/built/kernels*"]
    assert not [path for path in SOURCE.rglob("*") if path.stem in ("bench", "benchmarks")]
    importing = [path for path in SOURCE.rglob("*.py") if "benchmarks" in path.read_text("utf-8")]
    assert importing == []


def test_every_method_has_notes():
    methods = [path.parent for path in (SOURCE / "methods").rglob("method.py")]
    assert methods
    for method in methods:
        notes = (method / "NOTES.md").read_text(encoding="utf-8")
        assert "Deviation" in notes or "deviation" in notes
        assert re.search(r"guarantee|invariant", notes, re.IGNORECASE)


def test_public_names_resolve_and_are_documented():
    import incrowd

    for name in incrowd.__all__:
        public = getattr(incrowd, name)
        if not name.startswith("__"):
            assert public.__doc__, name
