"""Folders of part files on this machine: written apart, and given their name when all is there."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.engines.base import PartFile, hash_of_parts
from incrowd.errors import InputError
from incrowd.tables.read import data_files, incomplete_folder_error
from incrowd.tables.table import MANIFEST, SUCCESS, Format, suffix_of
from incrowd.workspace import Workspace, output_exists_error

_BLOCK_BYTES = 1 << 20


class LocalFolder:
    """A folder in a workspace beside the name that it is to get."""

    def __init__(self, workspace: Workspace, final: Path, *, force: bool) -> None:
        self._workspace = workspace
        self._final = final
        self._force = force
        self._folder = workspace.folder / "release"
        self._folder.mkdir(mode=0o700)
        self.where = str(self._folder)

    def parts(self) -> list[PartFile]:
        """List the part files that were written so far, by name."""
        return [_part(path) for path in sorted(self._folder.iterdir()) if _is_part(path)]

    def publish(self, manifest: str) -> None:
        """Put the manifest and the mark beside the parts, and give the folder its name."""
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
        _on_disk(self._folder)
        if os.path.lexists(self._final):
            check_free(self._final, force=self._force)
            if not _exchanged(self._folder, self._final):
                self._replace()
        else:
            self._folder.rename(self._final)
        _on_disk(self._final.parent)

    def _replace(self) -> None:
        """Move the old folder away and the new one to its name, where both at once cannot be."""
        before = self._workspace.folder / "replaced"
        self._final.rename(before)
        try:
            self._folder.rename(self._final)
        except BaseException:
            before.rename(self._final)
            raise


def _exchanged(one: Path, other: Path) -> bool:
    """Have two folders trade names in one step, where the system can; say whether it did."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


@contextmanager
def local_folder(final: Path, *, force: bool) -> Iterator[LocalFolder]:
    """Yield a folder to write to; left without ``publish``, nothing of it stays.

    With ``force`` a folder of that name and the new one trade places: under the name there is
    always a whole folder (on systems that cannot do it in one step, for a moment none).
    """
    final = final.absolute()
    check_free(final, force=force)
    with Workspace(final.parent) as workspace:
        yield LocalFolder(workspace, final, force=force)


def check_free(final: Path, *, force: bool) -> None:
    """Raise where something has the name; by force only a folder of part files is replaced."""
    if not os.path.lexists(final):
        return
    if not force:
        raise output_exists_error(final)
    is_folder = final.is_dir() and not final.is_symlink()
    entries = list(final.iterdir()) if is_folder else []
    is_release = (final / SUCCESS).is_file() and all(entry.is_file() for entry in entries)
    if not is_folder or (entries and not is_release):
        raise InputError(
            f"{final}: it is no folder of part files, so it is not overwritten",
            remedy="Choose another name with -o, or remove it yourself.",
        )


def require_whole(folder: Path) -> None:
    """Raise for a folder without the mark that all of it is there."""
    if not (folder / SUCCESS).is_file():
        raise incomplete_folder_error(str(folder))


def part_name(number: int, stored: Format) -> str:
    """Return the name of a part file; names come in the order of the numbers."""
    return f"part-{number:05d}{suffix_of(stored)}"


def hash_of_location(location: Path) -> str:
    """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
    if location.is_dir():
        return hash_of_parts(_part(path) for path in data_files(location))
    return _sha256(location)


def hash_of_release(folder: Path) -> str:
    """Return the SHA-256 of a released folder's manifest, its parts being those that it lists.

    Parts that differ from it make the hash that of no release at all.
    """
    manifest = (folder / MANIFEST).read_bytes()
    listed = {part["name"]: part["sha256"] for part in json.loads(manifest)["parts"]}
    found = {part.name: part.sha256 for part in map(_part, data_files(folder))}
    return hashlib.sha256(manifest if listed == found else b"").hexdigest()


def new_file(path: Path) -> Path:
    """Make a private, empty file and return its path."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return path


def _part(path: Path) -> PartFile:
    return PartFile(path.name, path.stat().st_size, _sha256(path))


def _is_part(path: Path) -> bool:
    return not path.name.startswith(("_", "."))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _on_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
