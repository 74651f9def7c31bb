"""The files of a Spark session: read where they lie, written in order as part files, hashed,
published.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from incrowd.engines.base import PartFile, ReadOptions, ReleaseFolder, hash_parts
from incrowd.engines.folders import hash_location, local_folder, part_name
from incrowd.engines.spark.columns import is_native, normalize_schema, to_transfer_frame
from incrowd.engines.spark.files import (
    INSPECTION_SCHEMA,
    LARGEST_CONTENT,
    Part,
    binary_files,
    kind_of,
    list_parts,
    local_path,
    make_inspector,
    make_part_reader,
    parquet_files,
    parquet_schemas,
    parse_inspection,
    partitioned_parquet_files,
    tail_of_path,
    to_address,
    with_format_of_first,
)
from incrowd.engines.spark.hadoop import Hadoop, hadoop_folder, move_parts
from incrowd.engines.spark.workers import hide_values, spark_schema
from incrowd.engines.transfer import from_transfer
from incrowd.errors import DataError, EngineError
from incrowd.tables.files.partitions import Partitions, find_partitions
from incrowd.tables.files.read import (
    check_file,
    different_columns_error,
    folders_of_parts,
    incomplete_folder_error,
    no_rows_error,
    part_files,
)
from incrowd.tables.files.text import MAX_CELL_BYTES
from incrowd.tables.files.write import write_table, write_tables
from incrowd.tables.table import MANIFEST, SUCCESS, Format

BLOB_SCHEMA = "rows binary"
FILE_SCHEMA = "value string"

_PIECE_BYTES = 1 << 26  # of a file that are passed to Spark as one string


def make_blob_packer(
    schema: pa.Schema,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that packs rows for ``unpack_blob``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                with hide_values():
                    table = from_transfer(pa.Table.from_batches([batch]), schema)
                    sink = pa.BufferOutputStream()
                    with pa.ipc.new_stream(sink, table.schema) as writer:
                        writer.write_table(table)
                    blob = pa.array([sink.getvalue().to_pybytes()], pa.binary())
                yield pa.RecordBatch.from_arrays([blob], names=["rows"])

    return run


def unpack_blob(blob: bytes | bytearray) -> pa.Table:
    """Return the rows that ``make_blob_packer`` packed."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def last_byte(stored: Format) -> str:
    """Return the last character of every file of this format, for Spark's line separator."""
    if stored.kind == "csv":
        return stored.newline[-1]
    return "\0" if stored.is_stream else "1"


def compression_name(stored: Format) -> str:
    """Return Spark's name of the compression of text files."""
    return {"": "none", "gz": "gzip", "zst": "zstd"}[stored.compression]


def make_file_writer(
    schema: pa.Schema, stored: Format
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that makes a file of a partition's rows.

    A partition without rows makes none. Spark does the compression.
    """
    end = last_byte(stored).encode()
    uncompressed = replace(stored, compression="")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return

        def tables() -> Iterator[pa.Table]:
            yield from_transfer(pa.Table.from_batches([first]), schema)
            for batch in batches:
                if batch.num_rows:
                    yield from_transfer(pa.Table.from_batches([batch]), schema)

        with hide_values():
            content = make_file(tables(), schema, uncompressed)
        yield from _pieces(content, end)

    return run


def make_file(tables: Iterator[pa.Table], schema: pa.Schema, stored: Format) -> bytes:
    """Return the bytes of a file, which is written in memory."""
    descriptor = os.memfd_create("part")
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        write_tables(tables, schema, path, stored)
        return path.read_bytes()
    finally:
        os.close(descriptor)


def _pieces(content: bytes, end: bytes) -> Iterator[pa.RecordBatch]:
    """Yield a file's bytes, split after separators, which Spark adds again."""
    if not content.endswith(end):
        raise ValueError("the file does not end with the last byte of its format")
    start = 0
    while start < len(content):
        cut = content.find(end, min(start + _PIECE_BYTES, len(content) - 1))
        piece = pa.array([content[start:cut]], pa.binary())
        # Not all of it is text: Spark passes a string's bytes on without validating them.
        text = pa.Array.from_buffers(pa.string(), 1, piece.buffers())
        yield pa.RecordBatch.from_arrays([text], names=["value"])
        start = cut + 1


# The files of a Spark session: reading them in place, writing part files, hashing, publishing.

_INCOMPLETE = (MANIFEST, "_temporary")
_HASHED_IN_TASKS = 1 << 28  # larger files are read by the driver, block by block


class SparkStore:
    """Reads and writes files for one session; ``hadoop`` is None with Spark Connect."""

    def __init__(self, session: Any, hadoop: Hadoop | None) -> None:
        self._session = session
        self._hadoop = hadoop
        self._open_folders: set[str] = set()

    # ── Reading ─────────────────────────────────────────────────────────────────────────────

    def parts(self, location: str, *, is_release: bool = False) -> list[Part]:
        """Return the files at a location; raise for an incomplete folder.

        A release must be marked as complete, other data must not be marked as incomplete.
        """
        path = local_path(location)
        if path is not None:
            if not path.is_dir():
                check_file(path)
                return [Part(f"file://{path}", path.stat().st_size)]
            paths = part_files(path, may_be_partitioned=True)
            return [
                Part(f"file://{part}", part.stat().st_size, folders)
                for part, folders in zip(paths, folders_of_parts(path, paths), strict=True)
            ]
        if self._hadoop is not None and location not in self._open_folders:
            names = self._hadoop.names(location)
            if SUCCESS not in names and (is_release or names.intersection(_INCOMPLETE)):
                raise incomplete_folder_error(location)
        if self._hadoop is None and is_release:
            raise EngineError(
                f"{location}: Spark Connect cannot tell whether the folder is complete",
                remedy="Check it with the driver in this process (--spark-master spark://…).",
            )
        return list_parts(self._session, location)

    def read(self, location: str, reading: ReadOptions) -> tuple[Any, pa.Schema, Format, bool]:
        """Return rows in the transfer form, their schema, their format, and whether to cache them.

        What Spark reads itself is as cheap to read again as to cache.
        """
        parts = self.parts(location, is_release=reading.is_release)
        kind = kind_of(parts)
        partitions = find_partitions(
            [part.folders for part in parts], location, is_text=kind == "csv"
        )
        if kind != "parquet":
            return self._read_in_tasks(parts, reading, location, partitions)
        found = self._parquet_schemas(parts)
        if not all(is_native(kind) for kind in found[0].types):
            return self._read_in_tasks(parts, reading, location, partitions)
        settled = [
            normalize_schema(schema, part.where) for schema, part in zip(found, parts, strict=True)
        ]
        for part, schema in zip(parts, settled, strict=True):
            if schema != settled[0]:
                raise different_columns_error(part.where, schema, parts[0].name, settled[0])
        schema = partitions.extend_schema(settled[0], location)
        if partitions.names:
            rows = partitioned_parquet_files(self._session, parts, location, partitions)
        else:
            rows = parquet_files(self._session, parts)
        if rows is None:
            return self._read_in_tasks(parts, reading, location, partitions)
        frame = to_transfer_frame(rows, schema, has_plain_zeros=reading.has_plain_zeros)
        self._check_cells(frame, schema, location)
        return frame, schema, Format("parquet"), False

    def _parquet_schemas(self, parts: Sequence[Part]) -> list[pa.Schema]:
        if local_path(parts[0].address) is not None:
            return parquet_schemas(parts, tail_of_path)
        if self._hadoop is not None:
            return parquet_schemas(parts, self._hadoop.tail_of)
        return [schema for _, schema, _ in self._inspect(parts, ReadOptions())]

    def _inspect(
        self, parts: Sequence[Part], reading: ReadOptions
    ) -> list[tuple[str, pa.Schema, Format]]:
        """Return the URL, schema and format of files, by URL, from tasks that open them."""
        rows = self._files(parts).mapInArrow(make_inspector(reading), INSPECTION_SCHEMA).collect()
        return sorted((parse_inspection(row.inspection) for row in rows), key=lambda file: file[0])

    def _read_in_tasks(
        self, parts: Sequence[Part], reading: ReadOptions, location: str, partitions: Partitions
    ) -> tuple[Any, pa.Schema, Format, bool]:
        _, of_files, stored = self._inspect(parts[:1], reading)[0]
        schema = partitions.extend_schema(of_files, location)
        reader = make_part_reader(
            with_format_of_first(reading, stored),
            of_files,
            parts[0].name,
            partitions,
            {part.address: part.folders for part in parts},
        )
        rows = self._files(parts).mapInArrow(reader, spark_schema(schema))
        return rows, schema, stored, True

    def _files(self, parts: Sequence[Part]) -> Any:
        """Return a frame of files for tasks: URLs to open, or URLs with contents."""
        if local_path(parts[0].address) is not None:
            addresses = pa.table({"path": [part.address for part in parts]})
            return self._session.createDataFrame(addresses).repartition(len(parts))
        for part in parts:
            if part.n_bytes > LARGEST_CONTENT:
                raise EngineError(
                    f"{part.name}: the text file is too large for one task",
                    remedy="Write it as Parquet, or as part files of less than 1 GiB.",
                )
        files = binary_files(self._session, [part.address for part in parts])
        return files.select("path", "content")

    def _check_cells(self, frame: Any, schema: pa.Schema, location: str) -> None:
        """Raise if there are no rows, or cells that no text file can hold; one pass over text."""
        texts = [at for at, kind in enumerate(schema.types) if pa.types.is_string(kind)]
        expressions = ["count(1) AS n_rows"]
        for at in texts:
            expressions.append(f"count_if(octet_length(c{at}) > {MAX_CELL_BYTES}) AS long{at}")
            expressions.append(f"coalesce(bool_or(contains(c{at}, char(0))), false) AS nul{at}")
        counts = frame.selectExpr(*expressions).collect()[0]
        if not counts.n_rows:
            raise no_rows_error(location, Format("parquet"))
        for at in texts:
            if counts[f"long{at}"]:
                raise DataError(
                    f"{location}: column {at + 1} has {counts[f'long{at}']:,} cells longer than "
                    f"{MAX_CELL_BYTES >> 20} MiB",
                    remedy="Is a quote missing? Cells this long are not supported.",
                    examples=[schema.names[at]],
                )
            if counts[f"nul{at}"]:
                raise DataError(
                    f"{location}: column {at + 1} contains NUL characters",
                    remedy="Remove them: text files cannot hold them.",
                    examples=[schema.names[at]],
                )

    # ── Writing ─────────────────────────────────────────────────────────────────────────────

    def write(self, ordered: Any, schema: pa.Schema, folder: str, stored: Format) -> None:
        """Write sorted rows in the transfer form, one part file per partition with rows."""
        if stored.compression == "zst":
            raise EngineError(
                "Spark does not write part files compressed as .zst", remedy="Choose .csv.gz."
            )
        written = f"{to_address(folder)}/_written"
        files = ordered.mapInArrow(make_file_writer(schema, stored), FILE_SCHEMA)
        files.write.option("lineSep", last_byte(stored)).option(
            "compression", compression_name(stored)
        ).text(written)
        path = local_path(folder)
        if path is not None:
            if not _move_local_parts(path / "_written", path, stored):
                write_table(schema.empty_table(), path / part_name(0, stored), stored)
            return
        hadoop = self._required_hadoop(folder)
        if not move_parts(hadoop, written, folder, stored):
            empty = make_file(iter(()), schema, stored)
            hadoop.write(f"{folder}/{part_name(0, stored)}", empty)

    def folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder that is complete only once it is published."""
        path = local_path(final)
        if path is not None:
            return local_folder(path, force=force)
        return self._folder_at(final, force=force)

    @contextmanager
    def _folder_at(self, final: str, *, force: bool) -> Iterator[ReleaseFolder]:
        hadoop = self._required_hadoop(final)
        with hadoop_folder(hadoop, final, self.hash_part_files, force=force) as folder:
            self._open_folders.add(folder.where)
            try:
                yield folder
            finally:
                self._open_folders.discard(folder.where)

    def _required_hadoop(self, location: str) -> Hadoop:
        if self._hadoop is None:
            raise EngineError(
                f"{location}: a folder at a URL cannot be published through Spark Connect",
                remedy="Choose a path on this machine with -o, or run the driver in this process "
                "(--spark-master spark://…).",
            )
        return self._hadoop

    # ── Hashing ─────────────────────────────────────────────────────────────────────────────

    def hash_location(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of part files."""
        path = local_path(location)
        if path is not None:
            return hash_location(path)
        parts = self.hash_part_files(location)
        is_file = len(parts) == 1 and parts[0].name == PurePosixPath(location).name
        return parts[0].sha256 if is_file else hash_parts(parts)

    def hash_part_files(self, location: str) -> list[PartFile]:
        """Return the files at a URL with their hashes, computed in place."""
        parts = self.parts(location)
        hashes = {}
        small = [part for part in parts if part.n_bytes <= _HASHED_IN_TASKS]
        if small:
            files = binary_files(self._session, [part.address for part in small])
            for row in files.selectExpr("path", "sha2(content, 256) AS sha256").collect():
                hashes[row.path] = row.sha256
        for part in parts:
            if part.address not in hashes:
                hashes[part.address] = self._required_hadoop(location).sha256(part.address)
        return sorted(
            (
                PartFile("/".join((*part.folders, part.name)), part.n_bytes, hashes[part.address])
                for part in parts
            ),
            key=lambda part: part.name,
        )


def _move_local_parts(written: Path, folder: Path, stored: Format) -> int:
    """Move the files that Spark wrote into a folder, named as parts; return how many."""
    files = sorted(path for path in written.glob("part-*") if path.stat().st_size)
    for number, file in enumerate(files):
        file.chmod(0o600)
        file.rename(folder / part_name(number, stored))
    shutil.rmtree(written)
    return len(files)
