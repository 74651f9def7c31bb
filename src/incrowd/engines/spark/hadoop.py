"""Files on a cluster or in an object store, through Hadoop's file systems.

Spark itself reads and writes through them, so a URL means the same to both. Only a session in this
process has them: with Spark Connect there is no Java to call.
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
from incrowd.engines.spark.workers import translate_error
from incrowd.errors import IncrowdError, InputError
from incrowd.tables.table import MANIFEST, SUCCESS, Format

Answer = TypeVar("Answer")

WITH_RENAME = ("file", "hdfs", "viewfs", "webhdfs", "swebhdfs", "ofs", "o3fs", "maprfs")
"""File systems that rename folders atomically; others are object stores."""

_INCOMPLETE = b'{"is_whole": false}'


def _translate_java_errors(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Replace Java's errors by our own, without their text, which may contain values."""

    @wraps(method)
    def run(*arguments: Any) -> Answer:
        try:
            return method(*arguments)
        except IncrowdError:
            raise
        except Exception as error:
            raise translate_error(error) from None

    return run


class Hadoop:
    """Hadoop's file systems, with the settings of a Spark context."""

    def __init__(self, context: Any) -> None:
        self._jvm = context._jvm
        self._settings = context._jsc.hadoopConfiguration()

    @_translate_java_errors
    def names(self, folder: str) -> set[str]:
        """Return the names in a folder, including hidden ones; empty if it is not a folder."""
        path = self._path(folder)
        system = path.getFileSystem(self._settings)
        if not system.exists(path) or not system.getFileStatus(path).isDirectory():
            return set()
        return {entry.getPath().getName() for entry in system.listStatus(path)}

    @_translate_java_errors
    def exists(self, address: str) -> bool:
        """Return whether there is such a file or folder."""
        path = self._path(address)
        return bool(path.getFileSystem(self._settings).exists(path))

    @_translate_java_errors
    def tail_of(self, part: Part, n_bytes: int) -> bytes:
        """Return the last bytes of a file."""
        path = self._path(part.address)
        stream = path.getFileSystem(self._settings).open(path)
        try:
            stream.seek(part.n_bytes - n_bytes)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, n_bytes))
        finally:
            stream.close()

    @_translate_java_errors
    def sha256(self, address: str) -> str:
        """Return the SHA-256 of a file, whose bytes pass through the driver."""
        path = self._path(address)
        stream = path.getFileSystem(self._settings).open(path)
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    @_translate_java_errors
    def write(self, address: str, content: bytes) -> None:
        """Write a small file, replacing any existing one."""
        path = self._path(address)
        stream = path.getFileSystem(self._settings).create(path, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    @_translate_java_errors
    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, or raise."""
        path, to_be = self._path(source), self._path(target)
        if not path.getFileSystem(self._settings).rename(path, to_be):
            raise InputError(f"{target}: renaming failed", remedy="Choose another name with -o.")

    @_translate_java_errors
    def make_folder(self, address: str) -> None:
        """Create a folder and its parents."""
        path = self._path(address)
        path.getFileSystem(self._settings).mkdirs(path)

    @_translate_java_errors
    def remove(self, address: str) -> None:
        """Remove a file or folder with its contents, if it exists."""
        path = self._path(address)
        path.getFileSystem(self._settings).delete(path, True)

    @_translate_java_errors
    def size(self, address: str) -> int:
        """Return a file's size in bytes."""
        path = self._path(address)
        return int(path.getFileSystem(self._settings).getFileStatus(path).getLen())

    def _path(self, address: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(address)


def move_parts(hadoop: Hadoop, written: str, folder: str, stored: Format) -> int:
    """Move the files that Spark wrote to ``written`` into a folder, named as parts; count them."""
    names = sorted(name for name in hadoop.names(written) if re.match(r"part-\d+", name))
    kept = [name for name in names if hadoop.size(f"{written}/{name}")]
    for number, name in enumerate(kept):
        hadoop.rename(f"{written}/{name}", f"{folder}/{part_name(number, stored)}")
    hadoop.remove(written)
    return len(kept)


class HadoopFolder:
    """A folder at a URL that is complete only once it is published.

    If the file system renames folders atomically, the folder lies beside its final name until
    then. In an object store it has its final name from the start, and its manifest marks it as
    incomplete until the real manifest and, last, ``_SUCCESS`` are written. To replace a release in
    an object store, the new one is written beside it and copied once the old one is removed.
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
        """Create the folder, marked as incomplete if it has its final name."""
        self._hadoop.make_folder(self.where)
        if self._is_in_place:
            self._hadoop.write(f"{self.where}/{MANIFEST}", _INCOMPLETE)

    def parts(self) -> list[PartFile]:
        """Return the part files written so far, by name."""
        return self._hashes(self.where)

    def publish(self, manifest: str) -> None:
        """Write the manifest beside the parts, then the marker, and move the folder into place."""
        if not self._has_rename and not self._is_in_place:
            self._copy_over_old()
        self._hadoop.write(f"{self.where}/{MANIFEST}", manifest.encode())
        self._hadoop.write(f"{self.where}/{SUCCESS}", b"")
        if self._has_rename:
            self._rename_over_old()
        self.is_published = True

    def _rename_over_old(self) -> None:
        before = f"{self.where}-replaced"
        is_replacing = self._hadoop.exists(self._final)
        if is_replacing:
            require_replaceable(self._hadoop, self._final, force=self._force)
            self._hadoop.rename(self._final, before)
        try:
            self._hadoop.rename(self.where, self._final)
        except BaseException:
            if is_replacing:
                self._hadoop.rename(before, self._final)
            raise
        self._hadoop.remove(before)

    def _copy_over_old(self) -> None:
        self._hadoop.remove(f"{self._final}/{SUCCESS}")
        self._hadoop.write(f"{self._final}/{MANIFEST}", _INCOMPLETE)
        for name in self._hadoop.names(self._final) - {MANIFEST}:
            self._hadoop.remove(f"{self._final}/{name}")
        for name in sorted(self._hadoop.names(self.where)):
            self._hadoop.rename(f"{self.where}/{name}", f"{self._final}/{name}")
        self._hadoop.remove(self.where)
        self.where = self._final

    def abandon(self) -> None:
        """Remove the folder."""
        with suppress(IncrowdError):
            self._hadoop.remove(self.where)


@contextmanager
def hadoop_folder(
    hadoop: Hadoop, final: str, hashes: Callable[[str], list[PartFile]], *, force: bool
) -> Iterator[HadoopFolder]:
    """Yield a folder at a URL to write to; without ``publish`` it is removed on exit."""
    require_replaceable(hadoop, final, force=force)
    folder = HadoopFolder(hadoop, final, hashes, force=force)
    try:
        folder.begin()
        yield folder
    finally:
        if not folder.is_published:
            folder.abandon()


def require_replaceable(hadoop: Hadoop, final: str, *, force: bool) -> None:
    """Raise if the URL exists; with ``force``, only a folder of part files may be replaced."""
    if not hadoop.exists(final):
        return
    if not force:
        raise InputError(
            f"{final}: the output already exists",
            remedy="Choose another name with -o, or overwrite it with --force.",
        )
    names = hadoop.names(final)
    if SUCCESS not in names and MANIFEST not in names:
        raise InputError(
            f"{final}: not a folder of part files, so it is not overwritten",
            remedy="Choose another name with -o, or remove it yourself.",
        )
