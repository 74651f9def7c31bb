"""Files where they lie on a cluster or in an object store, through the file systems of Hadoop.

They are those that Spark itself reads and writes with, so an address means the same to both. Only
a session of the driver has them: through Spark Connect there is no Java to ask.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, TypeVar

from incrowd.engines.base import PartFile
from incrowd.engines.folders import part_name
from incrowd.engines.spark.files import Part, scheme_of
from incrowd.engines.spark.travel import told_error
from incrowd.errors import IncrowdError, InputError
from incrowd.tables.table import MANIFEST, SUCCESS, Format

Answer = TypeVar("Answer")

WITH_RENAME = ("file", "hdfs", "viewfs", "webhdfs", "swebhdfs", "ofs", "o3fs", "maprfs")
"""File systems whose folders get another name in one step; others are object stores."""

_NOT_WHOLE = b'{"is_whole": false}'


def _told(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Have errors of Java come without their text, which may say more than a path."""

    @wraps(method)
    def run(*arguments: Any) -> Answer:
        try:
            return method(*arguments)
        except IncrowdError:
            raise
        except Exception as error:
            raise told_error(error) from None

    return run


class Hadoop:
    """Hadoop's file systems, with the settings of a Spark context."""

    def __init__(self, context: Any) -> None:
        self._jvm = context._jvm
        self._settings = context._jsc.hadoopConfiguration()

    @_told
    def names(self, folder: str) -> set[str]:
        """Return the names in a folder, hidden ones too; none where it is no folder."""
        path = self._path(folder)
        system = path.getFileSystem(self._settings)
        if not system.exists(path) or not system.getFileStatus(path).isDirectory():
            return set()
        return {entry.getPath().getName() for entry in system.listStatus(path)}

    @_told
    def exists(self, address: str) -> bool:
        """Whether there is a file or folder of this name."""
        path = self._path(address)
        return bool(path.getFileSystem(self._settings).exists(path))

    @_told
    def tail_of(self, part: Part, n_bytes: int) -> bytes:
        """Return the last bytes of a file."""
        path = self._path(part.address)
        stream = path.getFileSystem(self._settings).open(path)
        try:
            stream.seek(part.n_bytes - n_bytes)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, n_bytes))
        finally:
            stream.close()

    @_told
    def sha256(self, address: str) -> str:
        """Return the SHA-256 of a file, which passes through the driver."""
        path = self._path(address)
        stream = path.getFileSystem(self._settings).open(path)
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    @_told
    def write(self, address: str, content: bytes) -> None:
        """Write a small file, over one of that name."""
        path = self._path(address)
        stream = path.getFileSystem(self._settings).create(path, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    @_told
    def rename(self, source: str, target: str) -> None:
        """Give a file or folder another name, or raise."""
        path, to_be = self._path(source), self._path(target)
        if not path.getFileSystem(self._settings).rename(path, to_be):
            raise InputError(
                f"{target}: it could not be given its name", remedy="Choose another name with -o."
            )

    @_told
    def make_folder(self, address: str) -> None:
        """Make a folder, and those above it."""
        path = self._path(address)
        path.getFileSystem(self._settings).mkdirs(path)

    @_told
    def remove(self, address: str) -> None:
        """Remove a file or folder with all that is in it; nothing where there is none."""
        path = self._path(address)
        path.getFileSystem(self._settings).delete(path, True)

    @_told
    def size(self, address: str) -> int:
        """Return a file's size in bytes."""
        path = self._path(address)
        return int(path.getFileSystem(self._settings).getFileStatus(path).getLen())

    def _path(self, address: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(address)


def settle_parts(hadoop: Hadoop, written: str, folder: str, stored: Format) -> int:
    """Move the files that Spark wrote to ``written`` into a folder, under the names of parts."""
    names = sorted(name for name in hadoop.names(written) if re.match(r"part-\d+", name))
    kept = [name for name in names if hadoop.size(f"{written}/{name}")]
    for number, name in enumerate(kept):
        hadoop.rename(f"{written}/{name}", f"{folder}/{part_name(number, stored)}")
    hadoop.remove(written)
    return len(kept)


class HadoopFolder:
    """A folder at an address that is whole only once it is published.

    Where the file system gives folders another name in one step, it lies beside its name until
    then. An object store cannot: there it lies under its name, and a manifest that says so marks
    it as not whole until the true manifest and, last, ``_SUCCESS`` are there. To replace a release
    in an object store, the new one is written beside it and copied when the old one is gone.
    """

    def __init__(
        self,
        hadoop: Hadoop,
        final: str,
        hashes: Callable[[str], list[PartFile]],
        *,
        force: bool,
    ) -> None:
        self._hadoop = hadoop
        self._final = final.rstrip("/")
        self._hashes = hashes
        self._force = force
        self._has_rename = scheme_of(final) in WITH_RENAME
        above, _, name = self._final.rpartition("/")
        self._is_in_place = not self._has_rename and not hadoop.exists(self._final)
        self.where = f"{above}/.incrowd-{secrets.token_hex(4)}-{name}"
        if self._is_in_place:
            self.where = self._final
        self.is_published = False

    def begin(self) -> None:
        """Make the folder, marked as not whole where others may see it."""
        self._hadoop.make_folder(self.where)
        if self._is_in_place:
            self._hadoop.write(f"{self.where}/{MANIFEST}", _NOT_WHOLE)

    def parts(self) -> list[PartFile]:
        """List the part files that were written so far, by name."""
        return self._hashes(self.where)

    def publish(self, manifest: str) -> None:
        """Put the manifest beside the parts, then the mark; the folder has its name then."""
        if not self._has_rename and not self._is_in_place:
            self._copy_over_the_old()
        self._hadoop.write(f"{self.where}/{MANIFEST}", manifest.encode())
        self._hadoop.write(f"{self.where}/{SUCCESS}", b"")
        if self._has_rename:
            self._rename_over_the_old()
        self.is_published = True

    def _rename_over_the_old(self) -> None:
        before = f"{self.where}-replaced"
        is_replacing = self._hadoop.exists(self._final)
        if is_replacing:
            check_free(self._hadoop, self._final, force=self._force)
            self._hadoop.rename(self._final, before)
        try:
            self._hadoop.rename(self.where, self._final)
        except BaseException:
            if is_replacing:
                self._hadoop.rename(before, self._final)
            raise
        self._hadoop.remove(before)

    def _copy_over_the_old(self) -> None:
        self._hadoop.remove(f"{self._final}/{SUCCESS}")
        self._hadoop.write(f"{self._final}/{MANIFEST}", _NOT_WHOLE)
        for name in self._hadoop.names(self._final) - {MANIFEST}:
            self._hadoop.remove(f"{self._final}/{name}")
        for name in sorted(self._hadoop.names(self.where)):
            self._hadoop.rename(f"{self.where}/{name}", f"{self._final}/{name}")
        self._hadoop.remove(self.where)
        self.where = self._final

    def abandon(self) -> None:
        """Leave nothing behind."""
        with suppress(IncrowdError):
            self._hadoop.remove(self.where)


@contextmanager
def hadoop_folder(
    hadoop: Hadoop, final: str, hashes: Callable[[str], list[PartFile]], *, force: bool
) -> Iterator[HadoopFolder]:
    """Yield a folder at an address to write to; left without ``publish``, nothing of it stays."""
    check_free(hadoop, final, force=force)
    folder = HadoopFolder(hadoop, final, hashes, force=force)
    try:
        folder.begin()
        yield folder
    finally:
        if not folder.is_published:
            folder.abandon()


def check_free(hadoop: Hadoop, final: str, *, force: bool) -> None:
    """Raise where something has the name; by force only a folder of part files is replaced."""
    if not hadoop.exists(final):
        return
    if not force:
        raise InputError(
            f"{final}: the output exists already",
            remedy="Choose another name with -o, or overwrite it with --force.",
        )
    names = hadoop.names(final)
    if SUCCESS not in names and MANIFEST not in names:
        raise InputError(
            f"{final}: it is no folder of part files, so it is not overwritten",
            remedy="Choose another name with -o, or remove it yourself.",
        )
