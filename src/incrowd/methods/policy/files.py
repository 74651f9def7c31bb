"""The files of a policy's folder that the method reads: released combinations, known values."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.errors import InputError

POLICY, COMBINATIONS, KNOWN_VALUES = "policy.toml", "combinations.csv", "values.json"


def read_combinations(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the columns of a policy's released combinations, and the combinations."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *combinations = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise _unreadable_error(path, error) from None
    return head, combinations


def read_known_values(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the values, by column, that the labels of the released combinations stand on."""
    path = folder / KNOWN_VALUES
    if not path.exists():
        return {}
    found = read_json(path)
    if not isinstance(found, dict) or not all(_is_texts(values) for values in found.values()):
        raise _unreadable_error(path, TypeError())
    return found


def read_json(path: Path) -> Any:
    """Return what a file of a policy holds; raise InputError where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable_error(path, error) from None


def _is_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _unreadable_error(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path}: this file of a policy cannot be read ({type(error).__name__})",
        remedy="Name a folder that run --save-policy made.",
    )
