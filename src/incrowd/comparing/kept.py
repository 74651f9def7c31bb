"""Results of a grid in a file, so that a second call measures only what lacks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.engines.folders import hash_location
from incrowd.errors import InputError
from incrowd.job.documents import NOT_WRITTEN
from incrowd.tables.locations import is_address
from incrowd.version import __version__
from incrowd.workspace import write_atomically

if TYPE_CHECKING:
    from incrowd.comparing.measure import UtilityRequest
    from incrowd.job.job import Job


KIND = "incrowd comparison"

Result = dict[str, Any]

TRIED_AGAIN = ("unfit", "failed")
"""What became of points that a later call tries again."""

DIFFERENT = {
    "data": "other data",
    "job": "another job",
    "version": "another version of incrowd",
    "asked": "other queries, another seed or another --predict",
}


def fingerprint(job: Job, asked: UtilityRequest) -> dict[str, Any]:
    """Return what results are of: data, job, version and what was asked of every release.

    What a grid varies is no part of it, nor is where files lie: their contents count.
    """
    assert job.data is not None
    mapping = job.to_mapping()
    for name in ("data", "output", "method"):
        mapping.pop(name, None)
    mapping["guarantee"] = {n: value for n, value in mapping["guarantee"].items() if n != "k"}
    mapping["release"] = {
        name: value
        for name, value in mapping.get("release", {}).items()
        if name not in (*NOT_WRITTEN, "suppression_limit")
    }
    text = json.dumps(_with_contents(mapping), sort_keys=True, ensure_ascii=False)
    return {
        "data": hash_location(Path(str(job.data))),
        "job": hashlib.sha256(text.encode()).hexdigest(),
        "version": __version__,
        "asked": asdict(asked),
    }


def method_fingerprint(job: Job) -> str:
    """Return the fingerprint of a method's settings, those that no point tells included."""
    stated = job.to_mapping()["method"]
    text = json.dumps(_with_contents(stated), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_contents(stated: Any) -> Any:
    """Return settings with the hash of a file in the place of its path."""
    if isinstance(stated, Mapping):
        return {str(name): _with_contents(value) for name, value in stated.items()}
    if isinstance(stated, (list, tuple)):
        return [_with_contents(value) for value in stated]
    if isinstance(stated, str) and len(stated) < 4096 and "\0" not in stated:
        path = Path(stated)
        if stated and not is_address(stated) and path.is_file():
            return hash_location(path)
    return stated


def read_results(path: Path, expected: dict[str, Any]) -> dict[str, Result]:
    """Return the points of a file that need not be measured again; none where there is no file.

    Raises InputError where it holds something else, or results of something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__})",
            remedy="Name another file with -o.",
        ) from None
    try:
        stored = json.loads(text)
        if stored["kind"] != KIND:
            raise ValueError
        found = stored["fingerprint"]
        results = {str(result["key"]): dict(result) for result in stored["points"]}
        if not all(_is_whole(result) for result in results.values()):
            raise ValueError
        different = [words for part, words in DIFFERENT.items() if found[part] != expected[part]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path}: holds no comparison, or a damaged one",
            remedy="Name another file with -o, or begin anew with --force.",
        ) from None
    if different:
        raise InputError(
            f"{path}: holds a comparison of {' and of '.join(different)}",
            remedy="Name another file with -o, or begin anew with --force.",
        )
    return {key: one for key, one in results.items() if one["status"] not in TRIED_AGAIN}


def _is_whole(result: Result) -> bool:
    """Whether a kept point has all that is shown of it."""
    point = result["point"]
    if not isinstance(point["k"], int) or not isinstance(point["method"], str):
        return False
    if result["status"] != "released":
        return isinstance(result["reason"], str)
    numbers = (result["seconds"], result["peak_memory_bytes"], result["n_rows"])
    return isinstance(result["losses"], dict) and all(
        isinstance(number, (int, float)) for number in numbers
    )


def write_results(path: Path, comparison: Mapping[str, Any]) -> None:
    """Write results so that the file is whole at any time; only its owner may read it."""
    text = json.dumps(comparison, indent=1, ensure_ascii=False) + "\n"
    write_atomically(path, text, force=True, private=True)
