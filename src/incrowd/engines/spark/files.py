"""Files that Spark reads: Parquet itself, text and Arrow with our own readers in its tasks.

A location is a plain path on this machine, or a URL (``file:``, ``hdfs:``, ``s3a:`` …) that is
passed to Spark unchanged. Spark does not compare the columns of Parquet part files, so they are
read from the files' footers.
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

from incrowd.engines.base import ReadOptions
from incrowd.engines.spark.workers import hide_values
from incrowd.engines.transfer import to_transfer
from incrowd.errors import DataError
from incrowd.tables.files.partitions import Partitions, decode_as_spark
from incrowd.tables.files.read import (
    damaged_file_error,
    different_columns_error,
    no_part_file_error,
    open_rows,
    require_one_format,
)
from incrowd.tables.table import Format, format_by_suffix

LARGEST_CONTENT = 1 << 30
"""The most bytes of a file that one task reads at once."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_FOOTER_BYTES = 1 << 16  # of a Parquet file that are read first


@dataclass(frozen=True)
class Part:
    """A file by Spark's URL of it, its size, and the folders of partitions that it lies in."""

    address: str
    n_bytes: int
    folders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name in its folder."""
        return PurePosixPath(self.address).name

    @property
    def where(self) -> str:
        """How messages name it: by path if it is on this machine, else by name."""
        path = local_path(self.address)
        return self.name if path is None else str(path)


def scheme_of(location: str) -> str:
    """Return the scheme of a URL (``hdfs``), the empty string for a plain path."""
    found = _ADDRESS.match(location)
    return found[1].lower() if found else ""


def local_path(location: str) -> Path | None:
    """Return the path of a plain path or ``file:`` URL, None for any other URL."""
    scheme = scheme_of(location)
    if not scheme:
        return Path(location).absolute()
    if scheme != "file":
        return None
    return Path("/" + location[len("file:") :].lstrip("/"))


def to_address(location: str) -> str:
    """Return a location as a URL: a plain path becomes a ``file:`` URL."""
    path = local_path(location)
    return location if path is None else f"file://{path}"


def list_parts(session: Any, location: str) -> list[Part]:
    """Return the file, or the part files of a folder, at a URL; hidden files are ignored.

    Raises DataError for files of different formats.
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
        raise no_part_file_error(location)
    if len(parts) > 1 or PurePosixPath(parts[0].address).name != top.name:
        n_levels = len(_path_parts(location))
        parts = [replace(part, folders=_path_parts(part.address)[n_levels:-1]) for part in parts]
        require_one_format(location, [Path(part.name) for part in parts])
    return parts


def _path_parts(address: str) -> tuple[str, ...]:
    """Return the components of a URL's path, below its host or bucket."""
    return PurePosixPath(re.sub(r"^[A-Za-z0-9+.-]+:(//[^/]*)?", "", address)).parts


def binary_files(session: Any, locations: Sequence[str]) -> Any:
    """Return a frame of whole files: path, length and content, which is read only if used."""
    return _reader(session).format("binaryFile").load([*locations])


def parquet_files(session: Any, parts: Sequence[Part]) -> Any:
    """Return the rows of Parquet files in Spark's own types."""
    return _reader(session).parquet(*[part.address for part in parts])


def partitioned_parquet_files(
    session: Any, parts: Sequence[Part], location: str, partitions: Partitions
) -> Any | None:
    """Return the rows of Parquet files in folders of partitions, in Spark's own types.

    The values of partitions are the last columns, as text, in the spelling of ``partitions``.
    None where Spark would read two of their values as one.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    spelled: list[dict[str, str]] = [{} for _ in partitions.names]
    for folders, values in partitions.values_of.items():
        for place, (folder, value) in enumerate(zip(folders, values, strict=True)):
            seen = decode_as_spark(folder.partition("=")[2])
            if value is not None and spelled[place].setdefault(seen, value) != value:
                return None
    names = [decode_as_spark(folder.partition("=")[0]) for folder in parts[0].folders]
    fields = parquet_files(session, parts).schema.fields
    schema = StructType([*fields, *[StructField(name, StringType()) for name in names]])
    reader = session.read.schema(schema).option("__globPaths__", "false")
    rows = reader.option("basePath", to_address(location)).parquet(*[p.address for p in parts])
    rows = rows.toDF(*[f"c{place}" for place in range(len(schema))])
    for place, spellings in enumerate(spelled, len(fields)):
        differing = {seen: value for seen, value in spellings.items() if seen != value}
        rows = rows.replace(differing, subset=[f"c{place}"]) if differing else rows
    return rows


def _reader(session: Any) -> Any:
    # Names are literal: no glob patterns, no partition values.
    return session.read.option("__globPaths__", "false").option("recursiveFileLookup", "true")


# ── Parquet footers ─────────────────────────────────────────────────────────────────────────


def parquet_schemas(
    parts: Sequence[Part], tail_of: Callable[[Part, int], bytes]
) -> list[pa.Schema]:
    """Return the columns of each Parquet file, from its footer."""
    with ThreadPoolExecutor(16, "incrowd-footers") as threads:
        return list(threads.map(lambda part: parquet_schema(part, tail_of), parts))


def parquet_schema(part: Part, tail_of: Callable[[Part, int], bytes]) -> pa.Schema:
    """Return the columns of one Parquet file; raise, naming it, if it is damaged."""
    from pyarrow import parquet

    try:
        tail = tail_of(part, min(part.n_bytes, _FOOTER_BYTES))
        n_footer = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] == b"PAR1" and len(tail) < n_footer <= part.n_bytes:
            tail = tail_of(part, n_footer)
        return parquet.read_schema(pa.BufferReader(tail))
    except (pa.ArrowException, ValueError, OSError):
        raise damaged_file_error(part.where, "parquet") from None


def tail_of_path(part: Part, n_bytes: int) -> bytes:
    """Return the last bytes of a file that this process can open."""
    with cast("Path", local_path(part.address)).open("rb") as file:
        file.seek(-n_bytes, os.SEEK_END)
        return file.read()


# ── Reading files in tasks ──────────────────────────────────────────────────────────────────


class MemoryFile:
    """Bytes that are read like a named file, but exist only in memory."""

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
        """Return its status."""
        return os.stat(self.__fspath__())  # noqa: PTH116

    def close(self) -> None:
        """Free the bytes."""
        os.close(self._descriptor)


INSPECTION_SCHEMA = "inspection string"


def make_inspector(
    reading: ReadOptions,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that describes files (columns, format) as JSON."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for address, path in _files(batches):
            with hide_values():
                source = open_rows(path, **reading.text_options)
                inspection = {
                    "address": address,
                    "schema": base64.b64encode(source.schema.serialize()).decode(),
                    "format": asdict(source.format),
                }
            yield pa.RecordBatch.from_pydict({"inspection": [json.dumps(inspection)]})

    return run


def parse_inspection(inspection: str) -> tuple[str, pa.Schema, Format]:
    """Return a file's URL, columns and format as ``make_inspector`` described them."""
    fields = json.loads(inspection)
    schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(fields["schema"])))
    return fields["address"], schema, Format(**fields["format"])


def with_format_of_first(reading: ReadOptions, stored: Format) -> ReadOptions:
    """Return how the other part files are read, given the format of the first."""
    if stored.kind != "csv":
        return reading
    return replace(reading, delimiter=stored.delimiter, header=stored.has_header)


def make_part_reader(
    reading: ReadOptions,
    schema: pa.Schema,
    first: str,
    partitions: Partitions,
    folders_of: dict[str, tuple[str, ...]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that reads files as rows in the transfer form.

    Its input has a URL per row, to be opened, or a URL and the content. ``schema`` has the columns
    of the files, ``folders_of`` the partition of each.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for address, path in _files(batches):
            with hide_values():
                source = open_rows(path, **reading.text_options)
                if source.schema != schema:
                    raise different_columns_error(str(path), source.schema, first, schema)
            rows = partitions.extend(source.tables, folders_of[address])
            tables = iter(reading.normalize(rows))
            while True:
                with hide_values():
                    table = next(tables, None)
                    batches_of_table = [] if table is None else to_transfer(table).to_batches()
                if table is None:
                    break
                yield from batches_of_table

    return run


def _files(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Path]]:
    for batch in batches:
        addresses = batch.column(0).to_pylist()
        for row, address in enumerate(addresses):
            if batch.num_columns == 1:
                yield address, cast("Path", local_path(address))
                continue
            file = MemoryFile(PurePosixPath(address).name, batch.column(1)[row].as_py())
            try:
                yield address, cast("Path", file)
            finally:
                file.close()


def kind_of(parts: Sequence[Part]) -> str:
    """Return the kind of files, by their names."""
    return format_by_suffix(Path(parts[0].name)).kind
