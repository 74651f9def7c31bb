"""Where results come from: the machine, the versions, the commit, the data."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from incrowd.version import __version__


def provenance() -> dict[str, Any]:
    """Return what a reader needs to judge a measurement: versions, commit and machine."""
    return {
        "incrowd": __version__,
        "commit": _commit(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numba", "numpy", "polars", "pyarrow")},
        },
    }


def file_record(name: str, path: Path) -> dict[str, str]:
    """Return a data set's name beside the hash of its file."""
    return {"name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _commit() -> str:
    finished = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return finished.stdout.strip()
