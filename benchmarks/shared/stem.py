"""A process that has some data and the compiled loops, and answers with a line for every case."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def answers(
    module: str, stated: dict[str, Any], cases: Sequence[dict[str, Any]], folder: Path
) -> Iterator[Any]:
    """Yield what the stem of a module says of each case.

    ``python -m MODULE prepare STATED FOLDER FILE`` saves the stated data of the folder to a file;
    ``python -m MODULE stem FILE`` reads cases as JSON and prints a line of JSON for each.
    Raises RuntimeError where a case has no answer.
    """
    with tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch) / "data.npz"
        python = [sys.executable, "-m", module]
        prepare = [*python, "prepare", json.dumps(stated), str(folder), str(saved)]
        subprocess.run(prepare, check=True)
        n_answered = 0
        with subprocess.Popen(
            [*python, "stem", str(saved)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as stem:
            assert stem.stdin is not None
            assert stem.stdout is not None
            stem.stdin.write(json.dumps(list(cases)))
            stem.stdin.close()
            for line in stem.stdout:
                n_answered += 1
                yield json.loads(line)
    if stem.returncode or n_answered != len(cases):
        raise RuntimeError(f"a measured run failed: {cases[min(n_answered, len(cases) - 1)]}")
