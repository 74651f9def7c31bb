"""The files of a Spark session: read where they lie, written as part files, hashed, published."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from incrowd.engines.base import PartFile, Reading, ReleaseFolder, hash_of_parts
from incrowd.engines.folders import hash_of_location, local_folder, part_name
from incrowd.engines.spark.columns import is_native, settled_schema, travelling
from incrowd.engines.spark.files import (
    LARGEST_CONTENT,
    TOLD_SCHEMA,
    Part,
    as_address,
    binary_files,
    kind_of,
    like_the_first,
    listed,
    local_path,
    parquet_files,
    parquet_schemas,
    read_parts,
    tail_of_path,
    tell_columns,
    understood,
)
from incrowd.engines.spark.hadoop import Hadoop, hadoop_folder, settle_parts
from incrowd.engines.spark.travel import spark_schema
from incrowd.engines.spark.write import FILE_SCHEMA, file_of, last_byte, packing, to_files
from incrowd.errors import DataError, EngineError
from incrowd.tables.read import (
    check_file,
    different_columns_error,
    incomplete_folder_error,
    no_rows_error,
    part_files,
)
from incrowd.tables.table import MANIFEST, SUCCESS, Format
from incrowd.tables.text import MAX_CELL_BYTES
from incrowd.tables.write import write_table

_NOT_WHOLE = (MANIFEST, "_temporary")
_HASHED_IN_TASKS = 1 << 28  # larger files pass through the driver, piece by piece


class SparkStore:
    """Reads and writes for one session; ``hadoop`` is None through Spark Connect."""

    def __init__(self, session: Any, hadoop: Hadoop | None) -> None:
        self._session = session
        self._hadoop = hadoop
        self._open_folders: set[str] = set()

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def parts(self, location: str, *, is_release: bool = False) -> list[Part]:
        """Return the files at a location, refusing a folder that is not whole.

        A release must be marked as whole, other data must not be marked as unfinished.
        """
        path = local_path(location)
        if path is not None:
            if not path.is_dir():
                check_file(path)
            paths = part_files(path) if path.is_dir() else [path]
            return [Part(f"file://{part}", part.stat().st_size) for part in paths]
        if self._hadoop is not None and location not in self._open_folders:
            names = self._hadoop.names(location)
            if SUCCESS not in names and (is_release or names.intersection(_NOT_WHOLE)):
                raise incomplete_folder_error(location)
        if self._hadoop is None and is_release:
            raise EngineError(
                f"{location}: whether it is whole cannot be seen through Spark Connect",
                remedy="Check it in a session of the driver itself.",
            )
        return listed(self._session, location)

    def read(self, location: str, reading: Reading) -> tuple[Any, pa.Schema, Format, bool]:
        """Return travelling rows, their columns, their format, and whether to keep them.

        What Spark reads by itself is as cheap to read again as to keep.
        """
        parts = self.parts(location, is_release=reading.is_release)
        if kind_of(parts) != "parquet":
            return self._read_in_tasks(parts, reading)
        found = self._parquet_schemas(parts)
        if not all(is_native(kind) for kind in found[0].types):
            return self._read_in_tasks(parts, reading)
        settled = [
            settled_schema(schema, part.where) for schema, part in zip(found, parts, strict=True)
        ]
        for part, schema in zip(parts, settled, strict=True):
            if schema != settled[0]:
                raise different_columns_error(part.where, schema, parts[0].name, settled[0])
        rows = parquet_files(self._session, parts)
        frame = travelling(rows, settled[0], has_plain_zeros=reading.has_plain_zeros)
        self._check_cells(frame, settled[0], location)
        return frame, settled[0], Format("parquet"), False

    def _parquet_schemas(self, parts: Sequence[Part]) -> list[pa.Schema]:
        if local_path(parts[0].address) is not None:
            return parquet_schemas(parts, tail_of_path)
        if self._hadoop is not None:
            return parquet_schemas(parts, self._hadoop.tail_of)
        return [schema for _, schema, _ in self._told(parts, Reading())]

    def _told(self, parts: Sequence[Part], reading: Reading) -> list[tuple[str, pa.Schema, Format]]:
        """Return what the files say of themselves, by name, from a task that opens them."""
        rows = self._files(parts).mapInArrow(tell_columns(reading), TOLD_SCHEMA).collect()
        return sorted((understood(row.told) for row in rows), key=lambda told: told[0])

    def _read_in_tasks(
        self, parts: Sequence[Part], reading: Reading
    ) -> tuple[Any, pa.Schema, Format, bool]:
        first, schema, stored = self._told(parts[:1], reading)[0]
        rows = self._files(parts).mapInArrow(
            read_parts(like_the_first(reading, stored), schema, first), spark_schema(schema)
        )
        return rows, schema, stored, True

    def _files(self, parts: Sequence[Part]) -> Any:
        """Return the files as rows for tasks: to be opened where they lie, or with their bytes."""
        if local_path(parts[0].address) is not None:
            addresses = pa.table({"path": [part.address for part in parts]})
            return self._session.createDataFrame(addresses).repartition(len(parts))
        for part in parts:
            if part.n_bytes > LARGEST_CONTENT:
                raise EngineError(
                    f"{part.name}: one task cannot take in a file of text this large",
                    remedy="Write it as Parquet, or in parts of less than 1 GiB.",
                )
        files = binary_files(self._session, [part.address for part in parts])
        return files.select("path", "content")

    def _check_cells(self, frame: Any, schema: pa.Schema, location: str) -> None:
        """Raise for no rows, and for cells that no text file can hold (one pass over the text)."""
        texts = [at for at, kind in enumerate(schema.types) if pa.types.is_string(kind)]
        asked = ["count(1) AS n_rows"]
        for at in texts:
            asked.append(f"count_if(octet_length(c{at}) > {MAX_CELL_BYTES}) AS long{at}")
            asked.append(f"coalesce(bool_or(contains(c{at}, char(0))), false) AS nul{at}")
        told = frame.selectExpr(*asked).collect()[0]
        if not told.n_rows:
            raise no_rows_error(location, Format("parquet"))
        for at in texts:
            if told[f"long{at}"]:
                raise DataError(
                    f"{location}: column {at + 1} has {told[f'long{at}']:,} cells longer than "
                    f"{MAX_CELL_BYTES >> 20} MiB",
                    remedy="Cells that long are no values of a table; is a quote missing?",
                    examples=[schema.names[at]],
                )
            if told[f"nul{at}"]:
                raise DataError(
                    f"{location}: column {at + 1} holds text with NUL characters",
                    remedy="Take them out: text files cannot hold them.",
                    examples=[schema.names[at]],
                )

    # ── writing ─────────────────────────────────────────────────────────────────────────────

    def write(self, ordered: Any, schema: pa.Schema, folder: str, stored: Format) -> None:
        """Write travelling rows that lie in order, a part file of each partition with rows."""
        if stored.compression == "zst":
            raise EngineError(
                "Spark does not pack part files as .zst", remedy="Name an output in .csv.gz."
            )
        written = f"{as_address(folder)}/_written"
        files = ordered.mapInArrow(to_files(schema, stored), FILE_SCHEMA)
        files.write.option("lineSep", last_byte(stored)).option(
            "compression", packing(stored)
        ).text(written)
        path = local_path(folder)
        if path is not None:
            if not _settle_local_parts(path / "_written", path, stored):
                write_table(schema.empty_table(), path / part_name(0, stored), stored)
            return
        hadoop = self._required_hadoop(folder)
        if not settle_parts(hadoop, written, folder, stored):
            empty = file_of(iter(()), schema, stored)
            hadoop.write(f"{folder}/{part_name(0, stored)}", empty)

    def folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder that is whole only once it is published."""
        path = local_path(final)
        if path is not None:
            return local_folder(path, force=force)
        return self._folder_at(final, force=force)

    @contextmanager
    def _folder_at(self, final: str, *, force: bool) -> Iterator[ReleaseFolder]:
        hadoop = self._required_hadoop(final)
        with hadoop_folder(hadoop, final, self.hashed_parts, force=force) as folder:
            self._open_folders.add(folder.where)
            try:
                yield folder
            finally:
                self._open_folders.discard(folder.where)

    def _required_hadoop(self, location: str) -> Hadoop:
        if self._hadoop is None:
            raise EngineError(
                f"{location}: a folder at an address cannot be published through Spark Connect",
                remedy="Name a file or folder of this machine with -o, or run in a session of "
                "the driver itself.",
            )
        return self._hadoop

    # ── hashes ──────────────────────────────────────────────────────────────────────────────

    def hash_of(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of part files."""
        path = local_path(location)
        if path is not None:
            return hash_of_location(path)
        parts = self.hashed_parts(location)
        is_file = len(parts) == 1 and parts[0].name == PurePosixPath(location).name
        return parts[0].sha256 if is_file else hash_of_parts(parts)

    def hashed_parts(self, location: str) -> list[PartFile]:
        """Return the files at an address with the hashes of their bytes, taken where they lie."""
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
            (PartFile(part.name, part.n_bytes, hashes[part.address]) for part in parts),
            key=lambda part: part.name,
        )


def _settle_local_parts(written: Path, folder: Path, stored: Format) -> int:
    """Move the files that Spark wrote into a folder, under the names of parts."""
    files = sorted(path for path in written.glob("part-*") if path.stat().st_size)
    for number, file in enumerate(files):
        file.chmod(0o600)
        file.rename(folder / part_name(number, stored))
    shutil.rmtree(written)
    return len(files)
