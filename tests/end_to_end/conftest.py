"""A folder with a small census, and the command line as a subprocess."""

import contextlib
import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from incrowd.cli import run_with_status
from incrowd.data.samples import write_sample


@dataclass
class Finished:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@dataclass
class Desk:
    """A user's folder."""

    folder: Path

    def __truediv__(self, name):
        return self.folder / name

    def incrowd(self, *arguments, env=None, timeout=300) -> Finished:
        finished = subprocess.run(
            [sys.executable, "-m", "incrowd", *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )
        return Finished(finished.returncode, finished.stdout, finished.stderr)

    def call(self, *arguments) -> Finished:
        """The same in this process, for the many cases in which starting Python is the most."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = run_with_status([str(argument) for argument in arguments])
        return Finished(status, out.getvalue(), err.getvalue())

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def rows(self, name, delimiter=",") -> list[dict[str, str]]:
        with (self.folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter=delimiter))

    def group_sizes(self, name, columns) -> Counter:
        return Counter(tuple(row[column] for column in columns) for row in self.rows(name))


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, 1_500, 7)
    return folder


@pytest.fixture
def desk(tmp_path, sample_folder):
    shutil.copytree(sample_folder, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)
