"""Files that Spark reads: Parquet by itself, text and Arrow by our own readers in its tasks.

A location is a plain path of this machine, or an address (``file:``, ``hdfs:``, ``s3a:`` …) that
is handed to Spark as it stands. What Spark does not look at, every part file's columns, is read
from the files' ends.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pyarrow as pa

from incrowd.engines.base import Reading
from incrowd.engines.columns import departing
from incrowd.engines.spark.travel import told_without_values
from incrowd.errors import DataError
from incrowd.tables.read import RowSource, different_columns_error, open_rows
from incrowd.tables.table import Format, format_by_suffix

LARGEST_CONTENT = 1 << 30
"""The most bytes of a file that one task takes in as a whole."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_FOOTER_BYTES = 1 << 16  # of a Parquet file that are read at first


@dataclass(frozen=True)
class Part:
    """A file as Spark names it, and its size."""

    address: str
    n_bytes: int

    @property
    def name(self) -> str:
        """The file's name in its folder."""
        return PurePosixPath(self.address).name

    @property
    def where(self) -> str:
        """What messages call it: the path of a file of this machine, else its name."""
        path = local_path(self.address)
        return self.name if path is None else str(path)


def scheme_of(location: str) -> str:
    """Return what an address begins with (``hdfs``), nothing for a plain path."""
    found = _ADDRESS.match(location)
    return found[1].lower() if found else ""


def local_path(location: str) -> Path | None:
    """Return the path of a plain path or ``file:`` address, None for any other address."""
    scheme = scheme_of(location)
    if not scheme:
        return Path(location).absolute()
    if scheme != "file":
        return None
    return Path("/" + location[len("file:") :].lstrip("/"))


def as_address(location: str) -> str:
    """Return a location as Spark is told of it: a plain path as a file of this machine."""
    path = local_path(location)
    return location if path is None else f"file://{path}"


def listed(session: Any, location: str) -> list[Part]:
    """Return the file, or the part files of a folder, at an address; without hidden names.

    Raises DataError for a folder in the folder and for files of different kinds.
    """
    try:
        rows = binary_files(session, [location]).select("path", "length").collect()
    except Exception as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        raise DataError(f"{location}: no such file", remedy="Check the address.") from None
    parts = sorted((Part(row.path, row.length) for row in rows), key=lambda part: part.address)
    top = PurePosixPath(location)
    if not parts:
        raise DataError(f"{location}: contains no part files", remedy="Check the path.")
    if len(parts) > 1 or PurePosixPath(parts[0].address).name != top.name:
        n_levels = len(_levels(location))
        names = [_levels(part.address)[n_levels:] for part in parts]
        _refuse_names(location, names)
    return parts


def _refuse_names(location: str, names: list[tuple[str, ...]]) -> None:
    """Raise for a folder in a folder, and for files of more than one kind."""
    inner = next((name for name in names if len(name) > 1), None)
    if inner:
        raise DataError(
            f"{location}: contains a folder, {inner[0]!r}",
            remedy="Part files lie beside each other: folders by value (year=2020) are not "
            "read, since the value is in no file.",
        )
    kinds = {format_by_suffix(Path(name)).kind: name for (name,) in reversed(names)}
    if len(kinds) > 1:
        first, second = sorted(kinds.values())[:2]
        raise DataError(
            f"{location}: its part files have different formats ({first}, {second})",
            remedy="Read files of one kind: move the others away.",
        )


def _levels(address: str) -> tuple[str, ...]:
    """Return the names on the way to a file below its scheme and host or bucket."""
    return PurePosixPath(re.sub(r"^[A-Za-z0-9+.-]+:(//[^/]*)?", "", address)).parts


def binary_files(session: Any, locations: Sequence[str]) -> Any:
    """Return a frame of whole files: path, length and content, the latter read only if used."""
    return _reader(session).format("binaryFile").load([*locations])


def parquet_files(session: Any, parts: Sequence[Part]) -> Any:
    """Return the rows of Parquet files in Spark's own types."""
    return _reader(session).parquet(*[part.address for part in parts])


def _reader(session: Any) -> Any:
    # Names are taken as they stand: neither a pattern nor a value is looked for in them.
    return session.read.option("__globPaths__", "false").option("recursiveFileLookup", "true")


# ── what Parquet files say of their columns ─────────────────────────────────────────────────


def parquet_schemas(
    parts: Sequence[Part], tail_of: Callable[[Part, int], bytes]
) -> list[pa.Schema]:
    """Return the columns of each Parquet file, from its last bytes."""
    with ThreadPoolExecutor(16, "incrowd-footers") as threads:
        return list(threads.map(lambda part: parquet_schema(part, tail_of), parts))


def parquet_schema(part: Part, tail_of: Callable[[Part, int], bytes]) -> pa.Schema:
    """Return the columns of one, or raise naming it."""
    from pyarrow import parquet

    try:
        tail = tail_of(part, min(part.n_bytes, _FOOTER_BYTES))
        n_footer = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] == b"PAR1" and len(tail) < n_footer <= part.n_bytes:
            tail = tail_of(part, n_footer)
        return parquet.read_schema(pa.BufferReader(tail))
    except (pa.ArrowException, ValueError, OSError):
        raise damaged(part.where) from None


def damaged(where: str) -> DataError:
    """Return the error for a Parquet file that cannot be read."""
    return DataError(
        f"{where}: not a valid Parquet file (corrupt or truncated)",
        remedy="Write it again, or fetch it again.",
    )


def tail_of_path(part: Part, n_bytes: int) -> bytes:
    """Return the last bytes of a file that this process can open."""
    with cast("Path", local_path(part.address)).open("rb") as file:
        file.seek(-n_bytes, os.SEEK_END)
        return file.read()


# ── rows of files in tasks ──────────────────────────────────────────────────────────────────


class MemoryFile:
    """Bytes with a name that are read like a file; they lie in memory alone."""

    def __init__(self, name: str, content: bytes) -> None:
        self._name = PurePosixPath(name)
        self._descriptor = os.memfd_create("part")
        with os.fdopen(os.dup(self._descriptor), "wb") as file:
            file.write(content)

    def __fspath__(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    def __str__(self) -> str:
        return str(self._name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._name, attribute)

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def open(self, mode: str) -> io.BufferedReader:
        """Open it from its beginning."""
        return cast("io.BufferedReader", open(self.__fspath__(), mode))  # noqa: PTH123

    def stat(self) -> os.stat_result:
        """Return what the system says of it."""
        return os.stat(self.__fspath__())  # noqa: PTH116

    def close(self) -> None:
        """Forget the bytes."""
        os.close(self._descriptor)


TOLD_SCHEMA = "told string"


def tell_columns(
    reading: Reading,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that says of each file how it is stored, as JSON."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for name, path in _files(batches):
            with told_without_values():
                source = opened(path, reading)
                told = {
                    "name": name,
                    "schema": base64.b64encode(source.schema.serialize()).decode(),
                    "format": asdict(source.format),
                }
            yield pa.RecordBatch.from_pydict({"told": [json.dumps(told)]})

    return run


def opened(path: Path, reading: Reading) -> RowSource:
    """Open a file to read it in blocks."""
    return open_rows(
        path,
        delimiter=reading.delimiter,
        encoding=reading.encoding,
        header=reading.header,
        missing_values=reading.missing_values,
    )


def understood(told: str) -> tuple[str, pa.Schema, Format]:
    """Return a file's name, columns and format from what ``tell_columns`` said."""
    fields = json.loads(told)
    schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(fields["schema"])))
    return fields["name"], schema, Format(**fields["format"])


def like_the_first(reading: Reading, stored: Format) -> Reading:
    """Return how the other part files are read, once the first is known."""
    if stored.kind != "csv":
        return reading
    return replace(reading, delimiter=stored.delimiter, header=stored.has_header)


def read_parts(
    reading: Reading, schema: pa.Schema, first: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that turns files into their rows, as they travel.

    Files come as rows of their address alone, to be opened, or of address and content.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, path in _files(batches):
            with told_without_values():
                source = opened(path, reading)
                if source.schema != schema:
                    raise different_columns_error(str(path), source.schema, first, schema)
            tables = iter(reading.taken(source.tables))
            while True:
                with told_without_values():
                    table = next(tables, None)
                    batches_of_table = [] if table is None else departing(table).to_batches()
                if table is None:
                    break
                yield from batches_of_table

    return run


def _files(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Path]]:
    for batch in batches:
        addresses = batch.column(0).to_pylist()
        for row, address in enumerate(addresses):
            name = PurePosixPath(address).name
            if batch.num_columns == 1:
                yield name, cast("Path", local_path(address))
                continue
            file = MemoryFile(name, batch.column(1)[row].as_py())
            try:
                yield name, cast("Path", file)
            finally:
                file.close()


def kind_of(parts: Sequence[Part]) -> str:
    """Return the kind that the files' names tell."""
    return format_by_suffix(Path(parts[0].name)).kind
