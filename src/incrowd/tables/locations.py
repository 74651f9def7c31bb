"""Locations of data: a local file or folder, or an address that Spark can read."""

from __future__ import annotations

import os
from pathlib import Path

Location = Path | str
"""A path, or the text of an address (``s3a://bucket/people``) or of a folder to be created
(it ends in a slash)."""


def resolve_location(text: str | Path, base: Path | None = None) -> Location:
    """Return a stated location, relative to a base folder."""
    if isinstance(text, str) and is_address(text):
        return text
    path = Path(text) if base is None else base / text
    if isinstance(text, str) and text.endswith(("/", os.sep)):
        return f"{path}/"
    return path


def is_address(location: Location | None) -> bool:
    """Whether it is on another file system than the local one."""
    return isinstance(location, str) and "://" in location


def is_folder(location: Location) -> bool:
    """Whether it holds many files: an address, a folder, or a folder to be created."""
    return isinstance(location, str) or location.is_dir()


def location_name(location: Location) -> str:
    """Return the last part of a location, to name it in messages."""
    return str(location).rstrip("/").rsplit("/", 1)[-1]
