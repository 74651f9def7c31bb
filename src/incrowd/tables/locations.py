"""Where data lie: a file or folder of this machine, or an address that Spark knows."""

from __future__ import annotations

import os
from pathlib import Path

Location = Path | str
"""A path, or the text of an address (``s3a://bucket/people``) or of a folder that is to be made
(it ends in a slash)."""


def located(text: str | Path, base: Path | None = None) -> Location:
    """Return a stated location as it is seen from a folder."""
    if isinstance(text, str) and is_address(text):
        return text
    path = Path(text) if base is None else base / text
    if isinstance(text, str) and text.endswith(("/", os.sep)):
        return f"{path}/"
    return path


def is_address(location: Location | None) -> bool:
    """Whether it names another file system than this machine's."""
    return isinstance(location, str) and "://" in location


def is_folder(location: Location) -> bool:
    """Whether it is many files: an address, a folder, or to be one."""
    return isinstance(location, str) or location.is_dir()


def name_of(location: Location) -> str:
    """Return the last part of a location, to name it in messages."""
    return str(location).rstrip("/").rsplit("/", 1)[-1]
