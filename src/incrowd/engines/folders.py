"""Folders of part files on this machine: written privately, renamed when complete."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from incrowd.engines.base import PartFile, hash_parts
from incrowd.errors import InputError
from incrowd.tables.files.read import data_files, incomplete_folder_error
from incrowd.tables.table import MANIFEST, SUCCESS, Format, suffix_of
from incrowd.workspace import Workspace, output_exists_error

_BLOCK_BYTES = 1 << 20


class LocalFolder:
    """A folder in a workspace beside its final path."""

    def __init__(self, workspace: Workspace, final: Path, *, force: bool) -> None:
        self._workspace = workspace
        self._final = final
        self._force = force
        self._folder = workspace.folder / "release"
        self._folder.mkdir(mode=0o700)
        self.where = str(self._folder)

    def parts(self) -> list[PartFile]:
        """Return the part files written so far, by name."""
        return [_describe_part(path) for path in sorted(self._folder.iterdir()) if _is_part(path)]

    def publish(self, manifest: str) -> None:
        """Write the manifest and the marker beside the parts, and rename the folder."""
        for name, text in ((MANIFEST, manifest), (SUCCESS, "")):
            with (self._folder / name).open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        for path in self._folder.iterdir():
            path.chmod(0o666 & ~umask)
        self._folder.chmod(0o777 & ~umask)
        _flush_folder(self._folder)
        if os.path.lexists(self._final):
            require_replaceable(self._final, force=self._force)
            if not _exchange_names(self._folder, self._final):
                self._replace()
        else:
            self._folder.rename(self._final)
        _flush_folder(self._final.parent)

    def _replace(self) -> None:
        """Move the old folder away and the new one into place, in two steps."""
        before = self._workspace.folder / "replaced"
        self._final.rename(before)
        try:
            self._folder.rename(self._final)
        except BaseException:
            before.rename(self._final)
            raise


def _exchange_names(one: Path, other: Path) -> bool:
    """Exchange the names of two folders atomically; return whether the system could."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


@contextmanager
def local_folder(final: Path, *, force: bool) -> Iterator[LocalFolder]:
    """Yield a folder to write to; without ``publish`` it is removed on exit.

    With ``force`` an existing folder and the new one exchange names, so that there is a complete
    folder at any time (on systems without atomic exchange, none for a moment).
    """
    final = final.absolute()
    require_replaceable(final, force=force)
    with Workspace(final.parent) as workspace:
        yield LocalFolder(workspace, final, force=force)


def require_replaceable(final: Path, *, force: bool) -> None:
    """Raise if the path exists; with ``force``, only a folder of part files may be replaced."""
    if not os.path.lexists(final):
        return
    if not force:
        raise output_exists_error(final)
    is_folder = final.is_dir() and not final.is_symlink()
    entries = list(final.iterdir()) if is_folder else []
    is_release = (final / SUCCESS).is_file() and all(entry.is_file() for entry in entries)
    if not is_folder or (entries and not is_release):
        raise InputError(
            f"{final}: not a folder of part files, so it is not overwritten",
            remedy="Choose another name with -o, or remove it yourself.",
        )


def require_complete(folder: Path) -> None:
    """Raise for a folder without the marker that it is complete."""
    if not (folder / SUCCESS).is_file():
        raise incomplete_folder_error(str(folder))


def part_name(number: int, stored: Format) -> str:
    """Return the name of a part file; names sort as the numbers do."""
    return f"part-{number:05d}{suffix_of(stored)}"


def hash_location(location: Path) -> str:
    """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
    if location.is_dir():
        paths = data_files(location, may_be_partitioned=True)
        return hash_parts(
            replace(_describe_part(path), name=path.relative_to(location).as_posix())
            for path in paths
        )
    return _sha256(location)


def hash_release(folder: Path) -> str:
    """Return the SHA-256 of a released folder's manifest, if its parts are those that it lists.

    If a part differs, the hash is that of the empty string, which no release has.
    """
    manifest = (folder / MANIFEST).read_bytes()
    listed = {part["name"]: part["sha256"] for part in json.loads(manifest)["parts"]}
    found = {part.name: part.sha256 for part in map(_describe_part, data_files(folder))}
    return hashlib.sha256(manifest if listed == found else b"").hexdigest()


def create_file(path: Path) -> Path:
    """Create a private, empty file and return its path."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return path


def _describe_part(path: Path) -> PartFile:
    return PartFile(path.name, path.stat().st_size, _sha256(path))


def _is_part(path: Path) -> bool:
    return not path.name.startswith(("_", "."))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
