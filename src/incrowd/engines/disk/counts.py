"""Counting rows of files with DuckDB, within a memory limit.

Columns are in the transfer form (``engines.transfer``), so that DuckDB's own rules on names and
times never apply. What exceeds its memory limit it spills to its own folder. Its errors may quote a
value, so they are replaced by our own, without their text.
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incrowd.engines.base import N_PEOPLE, N_ROWS
from incrowd.errors import EngineError, InputError

if TYPE_CHECKING:
    import duckdb


LEAST_MEMORY = 64 << 20
"""The least memory limit (bytes) with which DuckDB works well."""


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_WORDS = ("No space left", "max_temp_directory_size", "quota exceeded")


class DuckDB:
    """An in-memory DuckDB that spills to ``folder``; queries may come from any thread.

    ``where`` is the folder that errors name.
    """

    def __init__(self, folder: Path, threads: int, memory: int, where: Path) -> None:
        self._where = where
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{max(memory, LEAST_MEMORY)}B",
            "temp_directory": str(folder),
            "threads": threads,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
        }

    def table(self, query: str, files: Sequence[Path]) -> pa.Table:
        """Return the result of a query over files (``FROM rows``) as a table."""
        with _translate_duckdb_errors(self._where), self.connection().cursor() as cursor:
            return self._query(cursor, query, files).to_arrow_table()

    def batches(
        self, query: str, files: Sequence[Path], n_rows: int
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the result of a query over files, about ``n_rows`` rows at a time."""
        with _translate_duckdb_errors(self._where), self.connection().cursor() as cursor:
            yield from self._query(cursor, query, files).to_arrow_reader(n_rows)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return the connection, which is opened on first use."""
        import duckdb

        if self._connection is None:
            self._connection = duckdb.connect(":memory:", config=self._config)
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _query(self, cursor: Any, query: str, files: Sequence[Path]) -> Any:
        listed = ", ".join(map(_quote_path, files))
        # Folders named like year=2020 are not columns to us.
        rows = f"FROM read_parquet([{listed}], hive_partitioning = false)"
        return cursor.sql(f"WITH rows AS ({rows}) {query}")


def count_query(by: Sequence[str], types: Sequence[pa.DataType], person: str | None) -> str:
    """Return the query that counts rows, and people, per combination of ``by``.

    People are counted by grouping by person first, so that null counts as one person and the
    aggregate can spill to disk.
    """
    # 0.0 and −0.0 are one group; which of them is shown must not depend on timing
    keys = [
        f"CASE WHEN {name} = 0 THEN 0 ELSE {name} END AS {name}" if _is_float(kind) else name
        for name, kind in zip(by, types, strict=True)
    ]
    if person is None:
        return f"SELECT {', '.join([*keys, f'count(*) AS {N_ROWS}'])} FROM rows GROUP BY ALL"
    known = ", ".join([*keys, f"{person} AS person", "count(*) AS n"])
    counts = [f"coalesce(sum(n), 0)::BIGINT AS {N_ROWS}", f"count(*) AS {N_PEOPLE}"]
    return (
        f"SELECT {', '.join([*by, *counts])} FROM (SELECT {known} FROM rows GROUP BY ALL)"
        " GROUP BY ALL"
    )


@contextmanager
def translate_disk_errors(folder: Path) -> Iterator[None]:
    """Raise our own error if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise disk_full(folder) from None


@contextmanager
def _translate_duckdb_errors(folder: Path) -> Iterator[None]:
    """Raise our own errors in place of DuckDB's, without their text.

    Arrow's reader may have turned them into its own exceptions.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        text = str(error)
        is_full = isinstance(error, OSError) and error.errno in _FULL
        if is_full or any(words in text for words in _FULL_WORDS):
            raise disk_full(folder) from None
        if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in text:
            raise EngineError(
                "the rows cannot be counted within the memory limit",
                remedy="Raise --memory, or lower --threads.",
            ) from None
        raise EngineError(
            f"DuckDB failed: {type(error).__name__}",
            remedy="Nothing was published; the rows on disk were removed.",
        ) from None


def disk_full(folder: Path) -> InputError:
    """Return the error for a full disk."""
    return InputError(
        f"{folder}: the disk is full; nothing was published",
        remedy="Free some space there, or choose a folder on a larger disk with -o.",
    )


def _quote_path(file: Path) -> str:
    """Return a path as an SQL string that matches this file only, whatever its name contains."""
    plain = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(file))
    return "'" + plain.replace("'", "''") + "'"


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))
