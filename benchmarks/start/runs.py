"""Measured starts: commands in processes of their own, kernels from an empty cache or a full one.

Every case also measures a bare import of the libraries that incrowd is built on, in interpreters
started between its own runs, so that its multiples are of the same minutes of the same machine.
What several runs took is the least of each figure.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.shared import launch
from benchmarks.shared.cases import Measured
from benchmarks.start.jobs import INPUTS, Job, write_inputs
from incrowd.compiling.kernel import COMPILED
from incrowd.compiling.library import CHOICE
from incrowd.errors import InputError

LIBRARIES = ("numpy", "polars", "pyarrow", "numba")
IMPORTS = ("-c", f"import {', '.join(LIBRARIES)}")
"""What every multiple is of."""

COMPILE = {CHOICE: "jit"}
"""Kernels are compiled by Numba though the installation has a library of them."""

FIGURES = ("seconds", "cpu_seconds", "peak_memory_bytes")


@dataclass(frozen=True)
class Installation:
    """What is measured: a Python that has incrowd, and the user who runs it.

    Without ``python`` it is the one that runs the benchmark, with the checkout's code. A ``user``
    has no home and no cache but the temporary files, as in a container.
    """

    python: str = ""
    user: str = ""

    @property
    def executable(self) -> str:
        """The interpreter, as an absolute path that keeps its virtual environment."""
        return os.path.abspath(self.python) if self.python else sys.executable  # noqa: PTH100

    @property
    def user_id(self) -> int | None:
        """The number of the user, None for whoever runs the benchmark."""
        if not self.user:
            return None
        try:
            number = pwd.getpwnam(self.user).pw_uid
        except KeyError:
            raise InputError(f"unknown user {self.user!r}", remedy="Name a local user.") from None
        if os.getuid() not in (0, number):
            raise InputError(
                f"only root can run commands as {self.user!r}",
                remedy="Run the benchmark as root, or without --user.",
            )
        return number

    def environment(self, folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a command whose kernels are cached below a folder."""
        unwanted = {"PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR", CHOICE}
        if self.python:
            unwanted |= {"PYTHONPATH", "VIRTUAL_ENV"}
        kept = {name: value for name, value in os.environ.items() if name not in unwanted}
        if self.user:
            kept = {"PATH": os.defpath, "HOME": "/nonexistent", "TMPDIR": str(folder)}
        else:
            kept["NUMBA_CACHE_DIR"] = str(folder)
        return {**kept, **variables}

    def own(self, folder: Path) -> Path:
        """Make a folder that the user can write to."""
        folder.mkdir()
        if self.user_id is not None:
            os.chown(folder, self.user_id, -1)
        return folder


class Room:
    """A folder with the inputs, in which the commands of one case run."""

    def __init__(self, installation: Installation, folder: Path, n_rows: int) -> None:
        self.installation, self.n_rows = installation, n_rows
        self.folder = installation.own(folder / "room")
        self._caches = folder
        self._n_caches = self._n_releases = 0
        write_inputs(self.folder, n_rows)

    def new_cache(self) -> Path:
        """Make an empty folder for compiled kernels."""
        self._n_caches += 1
        return self.installation.own(self._caches / f"cache-{self._n_caches}")

    def python(self, words: Sequence[str], cache: Path, **variables: str) -> Measured:
        """Run Python; return what it took. Raises RuntimeError with its messages if it fails."""
        out, errors = cache / "out.txt", cache / "errors.txt"
        who = self.installation.user_id
        starter = [sys.executable, "-I", "-S", launch.__file__, "-" if who is None else str(who)]
        command = [self.installation.executable, *words]
        finished = subprocess.run(
            [*starter, str(out), str(errors), *command],
            cwd=self.folder,
            env=self.installation.environment(cache, variables),
            stdout=subprocess.PIPE,
            check=True,
        )
        taken: Measured = json.loads(finished.stdout)
        if taken.pop("status"):
            last = errors.read_text("utf-8", "replace")[-1_500:]
            raise RuntimeError(f"a measured command failed: {' '.join(words)}\n{last}")
        return taken

    def incrowd(self, words: Sequence[str], cache: Path, **variables: str) -> Measured:
        """Run a command of incrowd."""
        return self.python(["-m", "incrowd", *words], cache, **variables)

    def run(self, words: Sequence[str], cache: Path, **variables: str) -> Measured:
        """Anonymize; return what it took and which kernels the audit names."""
        self._n_releases += 1
        release = f"release-{self._n_releases}{Path(words[0]).suffix}"
        taken = self.incrowd(["run", *words, "-o", release, "--json"], cache, **variables)
        audit = json.loads((cache / "out.txt").read_text("utf-8"))
        if not audit["holds"]:
            raise RuntimeError("the audit of a measured run does not hold")
        return {**taken, "kernels": audit["engine"]["kernels"]}


@contextmanager
def room_of(installation: Installation, n_rows: int) -> Iterator[Room]:
    """Yield a folder of its own for the commands of one case."""
    compile_bytecode(installation)
    with tempfile.TemporaryDirectory(prefix="incrowd-start-") as folder:
        Path(folder).chmod(0o755)
        yield Room(installation, Path(folder), n_rows)


@cache
def compile_bytecode(installation: Installation) -> None:
    """Compile Python's bytecode of the package, as pip does; a read-only one has it."""
    program = "import compileall, incrowd; compileall.compile_dir(incrowd.__path__[0], quiet=2)"
    with tempfile.TemporaryDirectory(prefix="incrowd-start-") as folder:
        environment = installation.environment(Path(folder), {})
        finished = subprocess.run(
            [installation.executable, "-c", program],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if finished.returncode:
        raise InputError(
            f"{installation.executable} cannot import incrowd: {finished.stderr[-300:]}",
            remedy="Name a Python that has it: --python PATH.",
        )


def least(runs: Sequence[Measured]) -> Measured:
    """Return the least of each figure of several runs, with what else they say."""
    return {**runs[-1], **{name: min(run[name] for run in runs) for name in FIGURES}}


def measure_job(
    job: Job, installation: Installation, n_rows: int, repeats: int, may_compile: bool
) -> list[Measured]:
    """Measure a job's first and later runs, with the library and compiled by Numba."""
    with room_of(installation, n_rows) as room:
        if job.before:
            room.run(job.before, room.new_cache())
        imports: list[Measured] = []
        firsts: list[Measured] = []
        warm: list[Measured] = []
        for _ in range(repeats):
            imports.append(room.python(IMPORTS, room.new_cache()))
            if not firsts or COMPILED not in firsts[-1]["kernels"]:  # which takes long
                cache = room.new_cache()
                firsts.append(room.run(job.words, cache))
            warm.append(room.run(job.words, cache))
        found: dict[str, Any] = {
            "imports": least(imports),
            "warm": least(warm),
            "first": least(firsts),
        }
        if may_compile:
            cache = room.new_cache()
            found["compiling"] = room.run(job.words, cache, **COMPILE)
            found["cached"] = room.run(job.words, cache, **COMPILE)
    stated = {"method": job.method, "search": job.search, "promise": job.promise}
    return [{**stated, "n_rows": n_rows, "words": " ".join(job.words), **found}]


# ── commands ────────────────────────────────────────────────────────────────────────────────────

MODULE = ("-m", "incrowd")
TABLE = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--k", "5")
BARE: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    **{f"import-{name}": ("-c", f"import {name}") for name in LIBRARIES},
    "imports": IMPORTS,
    "import-incrowd": ("-c", "import incrowd"),
    "version": (*MODULE, "--version"),
    "help": (*MODULE, "--help"),
    "run-help": (*MODULE, "run", "--help"),
}
"""Commands that read no data."""

RUNS: dict[str, tuple[str, ...]] = {
    "mondrian": (INPUTS["tables"], *TABLE, "--method", "mondrian"),
    "cluster": (INPUTS["tables"], *TABLE),
    "smooth": (INPUTS["sets"], "--guarantee", "smooth", "--k", "6"),
    "km": (INPUTS["transactions"], "--guarantee", "km", "--k", "4", "--m", "2"),
}
"""Whole runs on few rows: what remains if there is nearly nothing to do."""

CHECK = "check"


def measure_bare(installation: Installation, repeats: int) -> list[Measured]:
    """Measure the commands that read no data, one after the other, several times."""
    with room_of(installation, 100) as room:
        cache = room.new_cache()
        taken: dict[str, list[Measured]] = {name: [] for name in BARE}
        for _ in range(repeats):
            for name, words in BARE.items():
                taken[name].append(room.python(words, cache))
    return [{"command": name, **least(runs)} for name, runs in taken.items()]


def measure_command(
    name: str, installation: Installation, n_rows: int, repeats: int
) -> list[Measured]:
    """Measure a warm run, or ``check`` of a release, beside bare imports."""
    with room_of(installation, n_rows) as room:
        cache = room.new_cache()

        def once() -> Measured:
            if name == CHECK:
                return room.incrowd([CHECK, "release-1.csv", *TABLE], cache)
            return room.run(RUNS[name], cache)

        room.run(RUNS.get(name, RUNS["mondrian"]), cache)
        once()
        imports, runs = [], []
        for _ in range(repeats):
            imports.append(room.python(IMPORTS, cache))
            runs.append(once())
    stated = {"command": name, "n_rows": n_rows, "imports": least(imports)}
    return [{**stated, **least(runs)}]
