"""DuckDB over files of rows: it counts them within a bound on memory.

Columns are called ``c0``, ``c1``, … there (see ``travel``), so that its own rules on names and
times are met nowhere. What does not fit into its share of memory it puts into its own folder. Its
errors may quote a value: they come out as our own, without their text.
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
"""Bytes below which DuckDB does not work well."""


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_WORDS = ("No space left", "max_temp_directory_size", "quota exceeded")


class Duck:
    """One DuckDB without a database of its own; what it cannot hold goes to ``folder``.

    It may be asked from any thread. ``where`` is what errors call the place.
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
        """Return what a query over files (``FROM rows``) gives, as a table."""
        with _duck_errors_told(self._where), self.connection().cursor() as cursor:
            return self._asked(cursor, query, files).to_arrow_table()

    def batches(
        self, query: str, files: Sequence[Path], n_rows: int
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield what a query over files gives, some ``n_rows`` rows at a time."""
        with _duck_errors_told(self._where), self.connection().cursor() as cursor:
            yield from self._asked(cursor, query, files).to_arrow_reader(n_rows)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return the connection, made when it is first asked for."""
        import duckdb

        if self._connection is None:
            self._connection = duckdb.connect(":memory:", config=self._config)
        return self._connection

    def close(self) -> None:
        """End it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _asked(self, cursor: Any, query: str, files: Sequence[Path]) -> Any:
        listed = ", ".join(map(_quoted, files))
        # Folders called like year=2020 are no columns to us.
        rows = f"FROM read_parquet([{listed}], hive_partitioning = false)"
        return cursor.sql(f"WITH rows AS ({rows}) {query}")


def counting(by: Sequence[str], types: Sequence[pa.DataType], person: str | None) -> str:
    """Return the query that counts rows, and people, per combination of ``by``.

    People are counted as combinations with a person in them, so that a null is one of them and
    what is held may lie on disk.
    """
    # 0.0 and −0.0 are one group; which of them it shows must not depend on timing
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
def disk_errors_told(folder: Path) -> Iterator[None]:
    """Raise our own error where a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise disk_full(folder) from None


@contextmanager
def _duck_errors_told(folder: Path) -> Iterator[None]:
    """Raise our own errors for those of DuckDB, without their text.

    They come as they are, or through the reader of Arrow as one of its kinds.
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
                "the rows cannot be counted within the memory that may be used",
                remedy="State more --memory, or fewer --threads.",
            ) from None
        raise EngineError(
            f"DuckDB could not do its work: {type(error).__name__}",
            remedy="Nothing was published; the rows on disk were removed.",
        ) from None


def disk_full(folder: Path) -> InputError:
    """Return the error for a folder that has no more room."""
    return InputError(
        f"{folder}: the disk is full; nothing was published",
        remedy="Make room there, or choose a folder on a larger disk with -o.",
    )


def _quoted(file: Path) -> str:
    """Return a path as SQL text that stands for this file alone, whatever is in its name."""
    plain = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(file))
    return "'" + plain.replace("'", "''") + "'"


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))
