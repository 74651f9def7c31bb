"""The command line as people run it: in this process, in one of its own, or left running."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass

from incrowd.cli import run_with_status


@dataclass
class Finished:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def call(*arguments, folder=".") -> Finished:
    """Run a command in this process: starting Python takes longer than most commands."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = run_with_status([str(argument) for argument in arguments])
    return Finished(status, out.getvalue(), err.getvalue())


def incrowd(*arguments, folder=".", env=None) -> Finished:
    """Run a command in a process of its own."""
    return python("-m", "incrowd", *arguments, folder=folder, env=env)


def python(*words, folder=".", env=None) -> Finished:
    """Run a program in a process of its own: ``-c`` and its text, or its file."""
    finished = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **(env or {})},
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)


def start(*arguments, folder=".") -> subprocess.Popen:
    """Start a command in a process and a session of its own, for tests that send it signals."""
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "incrowd", *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
