"""A private folder for one run, and atomic publication of files.

Everything a run writes before its release is published is in one folder beside the output:
``.incrowd-XXXXXXXX``, mode 0700, files 0600. It is removed when the run ends, also by an exception.
A killed run leaves it behind; the next run into the same folder removes it. A lock file beside it,
``.incrowd-XXXXXXXX.lock``, distinguishes dead runs from live ones and our folders from the user's:
it exists before the folder and until after it, contains our mark, and is released by the operating
system when its process dies. A folder without such a lock is not ours.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from incrowd.errors import InputError

PREFIX = ".incrowd-"
LOCK = ".lock"
MARK = "incrowd workspace"
"""How the lock file of a folder that a run made begins."""

_LOCK_NAME = re.compile(rf"{re.escape(PREFIX)}[0-9a-f]{{8}}{re.escape(LOCK)}")


class Workspace:
    """A private folder beside an output, removed when the run ends."""

    def __init__(self, beside: Path) -> None:
        self._parent = beside
        self.folder = Path()
        self._lock = -1

    def __enter__(self) -> Workspace:
        try:
            remove_stale(self._parent)
            while self._lock < 0:
                self.folder = self._parent / f"{PREFIX}{secrets.token_hex(4)}"
                self._lock = _acquire(_lock_of(self.folder), os.O_CREAT | os.O_EXCL)
            os.write(self._lock, f"{MARK}, process {os.getpid()}\n".encode())
            self.folder.mkdir(mode=0o700)
        except OSError as error:
            if self._lock >= 0:  # the folder was not made, or is another's
                _lock_of(self.folder).unlink(missing_ok=True)
                os.close(self._lock)
                self._lock = -1
            raise InputError(
                f"{self._parent}: cannot write there ({os.strerror(error.errno or 0)})",
                remedy="Choose another folder with -o, or fix its permissions.",
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _remove(_lock_of(self.folder), self._lock)
        self._lock = -1

    def file(self, name: str) -> Path:
        """Return the path of a new private file in the folder."""
        path = self.folder / name
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return path


def remove_stale(folder: Path) -> None:
    """Remove what killed runs left behind in a folder; live runs are left alone.

    So is every folder that no run made. A run that was killed before it wrote its mark left an
    empty lock file and no folder.
    """
    for lock in folder.glob(f"{PREFIX}*{LOCK}"):
        if not _LOCK_NAME.fullmatch(lock.name):
            continue
        descriptor = _acquire(lock, 0)
        if descriptor < 0:
            continue
        written = os.pread(descriptor, len(MARK), 0)
        is_begun = not written and not os.path.lexists(_folder_of(lock))
        if written == MARK.encode() or is_begun:
            _remove(lock, descriptor)
        else:
            os.close(descriptor)


def _remove(lock: Path, descriptor: int) -> None:
    """Remove a folder and its lock, which we hold; the lock stays if the folder does."""
    folder = _folder_of(lock)
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        lock.unlink(missing_ok=True)
    os.close(descriptor)


def _folder_of(lock: Path) -> Path:
    return lock.with_name(lock.name.removesuffix(LOCK))


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LOCK)


def _acquire(lock: Path, flags: int) -> int:
    """Lock a lock file and return its descriptor; −1 where another run holds it or it is gone."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    except FileExistsError:
        return -1
    except OSError:
        if flags & os.O_CREAT:
            raise  # the folder itself is gone, or closed to us
        return -1  # gone, a link, or another user's
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_same = lock.stat().st_ino == os.fstat(descriptor).st_ino
    except (BlockingIOError, FileNotFoundError):
        is_same = False  # held, or removed between opening and locking
    if not is_same:
        os.close(descriptor)
        return -1
    return descriptor


def publish(temporary: Path, final: Path, *, force: bool, private: bool = False) -> None:
    """Move a finished file to its final name, atomically; replace a file only with ``force``."""
    if not private:
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
    if force:
        temporary.replace(final)
    else:
        try:
            final.hardlink_to(temporary)
        except FileExistsError:
            raise output_exists_error(final) from None
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            if final.exists():  # no hard links here: the best that rename can do
                raise output_exists_error(final) from None
            temporary.replace(final)
        else:
            temporary.unlink()
    directory = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def output_exists_error(path: Path) -> InputError:
    """Return the error for an output that already exists."""
    return InputError(
        f"{path}: the output already exists",
        remedy="Choose another name with -o, or overwrite it with --force.",
    )


def write_atomically(
    path: Path, content: str | bytes, *, force: bool, private: bool = False
) -> None:
    """Write a small file atomically; a private one is readable by its owner only."""
    with Workspace(path.absolute().parent) as workspace:
        temporary = workspace.file("content")
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        publish(temporary, path, force=force, private=private)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
