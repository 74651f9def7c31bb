"""A private folder for one run, and publication by rename.

Everything a run writes before its release is published lies in one folder beside the output:
``.incrowd-XXXXXXXX``, mode 0700, files 0600. It is removed when the run ends in any way that Python
lives to see. A killed run leaves it behind; the next run into the same folder removes it, told
from a living one by a lock that the operating system gives back when a process dies.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType

from incrowd.errors import InputError

PREFIX = ".incrowd-"
GRACE_SECONDS = 60  # a folder this young without a lock may just be starting


class Workspace:
    """A private folder beside an output, gone when the run ends."""

    def __init__(self, beside: Path) -> None:
        self._parent = beside
        self.folder = Path()
        self._lock = -1

    def __enter__(self) -> Workspace:
        try:
            sweep(self._parent)
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._parent))
            self._lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise InputError(
                f"{self._parent}: cannot write there ({os.strerror(error.errno or 0)})",
                remedy="Choose another folder with -o, or mend its permissions.",
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    def file(self, name: str) -> Path:
        """Return the path of a new private file in the folder."""
        path = self.folder / name
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return path


def sweep(folder: Path) -> None:
    """Remove what killed runs left behind in a folder; living runs are left alone."""
    for leftover in folder.glob(PREFIX + "*"):
        if not leftover.is_dir() or leftover.is_symlink():
            continue
        try:
            lock = os.open(leftover / "lock", os.O_RDWR)
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                if time.time() - leftover.stat().st_mtime > GRACE_SECONDS:
                    shutil.rmtree(leftover, ignore_errors=True)
            continue
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        else:
            shutil.rmtree(leftover, ignore_errors=True)
        finally:
            os.close(lock)


def publish(temporary: Path, final: Path, *, force: bool, private: bool = False) -> None:
    """Give a finished file its name: whole or not at all, over an existing one only by force."""
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
            raise exists(final) from None
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            if final.exists():  # no hard links here: the best that rename can do
                raise exists(final) from None
            temporary.replace(final)
        else:
            temporary.unlink()
    directory = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def exists(path: Path) -> InputError:
    """Return the error for an output that is there already."""
    return InputError(
        f"{path}: the output exists already",
        remedy="Choose another name with -o, or overwrite it with --force.",
    )


def write_whole(path: Path, text: str, *, force: bool) -> None:
    """Write a small text file that appears whole or not at all."""
    with Workspace(path.absolute().parent) as workspace:
        temporary = workspace.file("text")
        temporary.write_text(text, encoding="utf-8")
        publish(temporary, path, force=force)
