"""The Spark engine, on a cluster or on one machine: blocks are Spark's partitions."""

from __future__ import annotations

import atexit
import contextlib
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa

from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    TABLE_ROWS,
    BlockFunction,
    ReadOptions,
    ReleaseFolder,
    plain_schema,
    plain_table,
    require_columns,
    require_countable,
    require_integer_key,
)
from incrowd.engines.folders import hash_location, part_name, require_complete
from incrowd.engines.spark.columns import (
    from_transfer_frame,
    schema_of_frame,
    sort_keys,
    to_transfer_frame,
)
from incrowd.engines.spark.files import local_path, scheme_of
from incrowd.engines.spark.links import SCHEME as CONNECT
from incrowd.engines.spark.links import (
    ConnectLink,
    DriverLink,
    RemoteSession,
    is_remote,
    start_remote,
)
from incrowd.engines.spark.session import (
    BATCH_ROWS,
    SQL_SETTINGS,
    StartedSession,
    active_session,
    copy_session,
    is_local,
    privacy_notes,
    start_session,
)
from incrowd.engines.spark.store import BLOB_SCHEMA, SparkStore, make_blob_packer, unpack_blob
from incrowd.engines.spark.workers import (
    spark_schema,
    translate_error,
    wrap_block_function,
    wrap_group_function,
)
from incrowd.engines.transfer import from_transfer, to_transfer, transfer_name, transfer_schema
from incrowd.errors import EngineError, IncrowdError
from incrowd.tables.files.leading_rows import Arrange
from incrowd.tables.files.read import no_rows_error, open_location
from incrowd.tables.files.write import regroup, write_table
from incrowd.tables.table import Format

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SparkBlocks:
    """Rows on Spark: a frame in the transfer form (c0, c1, …), and its real schema."""

    frame: Any
    schema: pa.Schema


class SparkEngine:
    """Rows in a Spark session: the given one, the active one, or a new one.

    A new session is closed to others (see ``spark.session``) and stopped by ``close``; any other
    is left unchanged, and ``describe`` reports what it does not protect. Spark caches loaded rows
    and results until ``close``, so that each is computed once. Ctrl-C cancels Spark's running jobs.
    """

    name = "spark"
    is_out_of_core = True

    def __init__(
        self,
        master: str = "local[2]",
        session: Any = None,
        *,
        memory: int | None = None,
        directory: Path | None = None,
        working_memory: int = DEFAULT_MEMORY,
        settings: Mapping[str, str] | None = None,
        is_shipped: bool = True,
    ) -> None:
        self.memory_bytes = working_memory
        given = session or (None if master.startswith(CONNECT) else active_session())
        if given is not None and settings:
            raise EngineError(
                "Spark settings cannot be changed in an active session",
                remedy="Omit --spark-conf, or set them where the session is started.",
            )
        self._started: StartedSession | RemoteSession | None = None
        if given is None:
            self._started = _start(master, memory, directory, settings or {}, is_shipped)
        self.session = self._started.session if self._started else copy_session(given)
        self._link = (
            ConnectLink(self.session) if is_remote(self.session) else DriverLink(self.session)
        )
        self._store = SparkStore(self.session, self._link.hadoop)
        self._is_on_this_machine = is_local(self._link.master)
        self._cached: list[Any] = []
        self._job_group = f"incrowd-{uuid4()}"
        self._is_closed = False
        # Spark is called from a separate thread, so that this one can handle Ctrl-C.
        self._caller = ThreadPoolExecutor(1, "incrowd-spark", self._name_jobs)
        atexit.register(self.close)

    @property
    def n_workers(self) -> int:
        """One worker per processor that Spark uses."""
        return self._link.n_workers

    def threads_within(self, n_groups: int) -> int:  # noqa: ARG002
        """Return the processors that Spark reserves for a task, ``spark.task.cpus``."""
        return int(self.session.conf.get("spark.task.cpus", "1"))

    def load(self, table: pa.Table) -> SparkBlocks:
        """Send a table to Spark, in at least one partition per processor."""
        table = plain_table(table)
        return SparkBlocks(self._cache(self._send(table)), table.schema)

    def _send(self, table: pa.Table) -> Any:
        sent = to_transfer(table)
        part_rows = max(1, min(BATCH_ROWS, -(-table.num_rows // self.n_workers)))
        # Spark makes a partition of each chunk.
        chunked = pa.Table.from_batches(
            sent.combine_chunks().to_batches(part_rows), schema=sent.schema
        )
        return self._call(lambda: self.session.createDataFrame(chunked))

    def _send_in_pieces(self, tables: Iterable[pa.Table], schema: pa.Schema) -> Any:
        """Send tables one after the other; this process never holds all of them."""
        pieces = [self._send(table) for table in regroup(tables, TABLE_ROWS)]
        pieces = pieces or [self._send(schema.empty_table())]
        return self._call(lambda: reduce(lambda one, other: one.union(other), pieces))

    def read(self, location: str, reading: ReadOptions) -> tuple[SparkBlocks, Format]:
        """Read files in place; a plain path is on this machine, a URL is Spark's.

        A text file on this machine, and any file here that the cluster cannot see, is read here
        and sent.
        """
        path = local_path(location)
        if reading.is_release and path is not None and path.is_dir():
            require_complete(path)
        is_text_file = path is not None and path.is_file() and not _is_parquet(path)
        if path is not None and (is_text_file or not self._is_visible_to_workers(location)):
            source = open_location(path, **reading.text_options)
            frame = self._send_in_pieces(reading.normalize(source.tables), source.schema)
            return SparkBlocks(self._cache(frame), source.schema), source.format
        frame, schema, stored, must_cache = self._call(lambda: self._store.read(location, reading))
        if must_cache:
            frame = self._cache(frame)
            if not self._call(frame.count):
                raise no_rows_error(location, stored)
        return SparkBlocks(frame, schema), stored

    def load_tables(self, tables: Iterable[pa.Table], schema: pa.Schema) -> SparkBlocks:
        """Send tables to Spark, one after the other."""
        plain = plain_schema(schema)
        frame = self._send_in_pieces(map(plain_table, tables), plain)
        return SparkBlocks(self._cache(frame), plain)

    def from_frame(self, frame: Any, *, has_plain_zeros: bool = False) -> SparkBlocks:
        """Load a Spark frame of this session, or of one on the same context."""
        schema = schema_of_frame(frame, "the frame")
        rows = self._call(lambda: to_transfer_frame(frame, schema, has_plain_zeros=has_plain_zeros))
        return SparkBlocks(self._cache(rows), schema)

    def to_frame(self, blocks: SparkBlocks) -> Any:
        """Return rows, sorted by content, as a Spark frame with their own names and types.

        It is computed and cached; the caller may ``unpersist`` it.
        """

        def run() -> Any:
            frame = from_transfer_frame(self._sort(blocks), blocks.schema).persist()
            frame.count()
            return frame

        return self._call(run)

    def schema(self, blocks: SparkBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: SparkBlocks, names: Sequence[str]) -> SparkBlocks:
        """Return the same rows with only these columns; nothing is computed."""
        require_columns(blocks.schema, names)
        columns = [
            f"{transfer_name(blocks.schema, name)} AS c{number}"
            for number, name in enumerate(names)
        ]
        schema = pa.schema([blocks.schema.field(name) for name in names])
        return SparkBlocks(self._call(lambda: blocks.frame.selectExpr(*columns)), schema)

    def broadcast(self, value: Any) -> Callable[[], Any]:
        """Return a getter of a value, sent to each worker once; with each function on Connect."""
        return self._link.broadcast(value)

    def iter_sorted(self, blocks: SparkBlocks, n_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield rows sorted by content, fetched partition by partition."""

        def run() -> Any:
            packed = self._sort(blocks).mapInArrow(make_blob_packer(blocks.schema), BLOB_SCHEMA)
            return packed.toLocalIterator(prefetchPartitions=True)

        rows = self._call(run)

        def tables() -> Iterator[pa.Table]:
            while (row := self._call(lambda: next(rows, None))) is not None:
                yield unpack_blob(row.rows)

        return regroup(tables(), n_rows or TABLE_ROWS)

    def write_folder(
        self, blocks: SparkBlocks, folder: str, stored: Format, arrange: Arrange | None = None
    ) -> None:
        """Write rows, sorted by content, as part files: here, or in tasks at a URL.

        A folder on this machine has ``TABLE_ROWS`` rows per part file, as on every engine; the
        part files of tasks are Spark's partitions, which depend on the cluster.
        """
        path = local_path(folder)
        if path is not None and not scheme_of(folder):
            number = 0
            tables = self.iter_sorted(blocks)
            if arrange is not None:
                tables = regroup(arrange(tables), TABLE_ROWS)
            for number, table in enumerate(tables, 1):
                write_table(table, path / part_name(number - 1, stored), stored)
            if not number:
                write_table(blocks.schema.empty_table(), path / part_name(0, stored), stored)
            return
        self._call(lambda: self._store.write(self._sort(blocks), blocks.schema, folder, stored))

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder to write to, on this machine or at a URL."""
        return self._store.folder(final, force=force)

    def hash_location(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
        path = local_path(location)
        if path is not None:
            return hash_location(path)
        return self._call(lambda: self._store.hash_location(location))

    def collect(self, blocks: SparkBlocks) -> pa.Table:
        """Return all rows as one table in this process."""
        return from_transfer(self._call(blocks.frame.toArrow), blocks.schema)

    def count(self, blocks: SparkBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by``, with Spark."""
        sql = self._link.functions
        require_countable(blocks.schema, by, people)
        fields = [blocks.schema.field(name) for name in by]
        fields.append(pa.field(N_ROWS, pa.int64()))

        def run() -> pa.Table:
            counts = [sql.count(sql.lit(1)).alias(N_ROWS)]
            if people:
                person = sql.col(transfer_name(blocks.schema, people))
                # SQL counts no null among distinct values; unknown people are one person.
                unknown = sql.max(sql.when(person.isNull(), 1).otherwise(0))
                known = sql.count_distinct(person)
                counts.append((known + sql.coalesce(unknown, sql.lit(0))).alias(N_PEOPLE))
            keys = [transfer_name(blocks.schema, name) for name in by]
            return blocks.frame.groupBy(*keys).agg(*counts).toArrow()

        if people:
            fields.append(pa.field(N_PEOPLE, pa.int64()))
        return from_transfer(self._call(run), pa.schema(fields))

    def count_in_place(self, blocks: SparkBlocks, by: Sequence[str]) -> SparkBlocks:
        """Count rows per combination of ``by``; the result stays on Spark."""
        sql = self._link.functions
        require_countable(blocks.schema, by, None)
        fields = [blocks.schema.field(name) for name in by]
        schema = pa.schema([*fields, pa.field(N_ROWS, pa.int64())])

        def run() -> Any:
            keys = [transfer_name(blocks.schema, name) for name in by]
            lines = blocks.frame.groupBy(*keys).agg(sql.count(sql.lit(1)))
            return lines.toDF(*transfer_schema(schema).names)

        return SparkBlocks(self._cache(self._call(run)), schema)

    def map_blocks(
        self, blocks: SparkBlocks, function: BlockFunction, schema: pa.Schema
    ) -> SparkBlocks:
        """Apply a function to every partition, in place."""
        returned = plain_schema(schema)
        shipped = wrap_block_function(function, blocks.schema, returned)
        frame = self._call(lambda: blocks.frame.mapInArrow(shipped, spark_schema(returned)))
        return SparkBlocks(self._cache(frame), returned)

    def map_groups(
        self, blocks: SparkBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> SparkBlocks:
        """Apply a function to all rows of each key (one shuffle)."""
        require_integer_key(blocks.schema, key)
        returned = plain_schema(schema)
        shipped = wrap_group_function(function, blocks.schema, returned)
        column = transfer_name(blocks.schema, key)

        def run() -> Any:
            groups = self._group(blocks.frame, column)
            return groups.applyInArrow(shipped, spark_schema(returned))

        return SparkBlocks(self._cache(self._call(run)), returned)

    def describe(self) -> dict[str, object]:
        """Return the master, the versions, and what the session does not protect."""
        return {
            "name": self.name,
            "master": self._link.master,
            "processors": self.n_workers,
            "session": "started by incrowd" if self._started else "existing",
            "privacy_notes": [*privacy_notes(self.session), *self._link.privacy_notes()],
            "versions": {
                **self._link.versions(),
                "python": platform.python_version(),
                "pyarrow": version("pyarrow"),
            },
        }

    def close(self) -> None:
        """Free all rows; stop the session and remove its files if we started it."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._cancel()
        # Stopping our own session ends its running jobs; another's session goes on.
        self._caller.shutdown(wait=not self._started, cancel_futures=True)
        if self._started:
            self._started.stop()
        else:
            for frame in self._cached:
                # The owner of the session may have stopped it already.
                with contextlib.suppress(Exception):
                    frame.unpersist()
        self._cached.clear()

    def _cache(self, frame: Any) -> Any:
        """Have Spark cache a frame until ``close``."""
        kept = self._call(frame.persist)
        self._cached.append(kept)
        return kept

    def _sort(self, blocks: SparkBlocks) -> Any:
        """Return the rows sorted by content, about ``TABLE_ROWS`` per partition."""
        n_parts = max(1, -(-blocks.frame.count() // TABLE_ROWS))
        keys = sort_keys(blocks.schema, self._link.functions)
        return blocks.frame.repartitionByRange(n_parts, *keys).sortWithinPartitions(*keys)

    def _is_visible_to_workers(self, location: str) -> bool:
        """Return whether a location is the same file to workers; a URL always is."""
        return self._is_on_this_machine or bool(scheme_of(location))

    def _group(self, frame: Any, column: str) -> Any:
        """Group by a key, assigning keys to processors in turn if Spark can (from 4.1).

        Otherwise keys are assigned by hash, and some processors may get none.
        """
        if not hasattr(frame, "repartitionById"):
            return frame.groupBy(column)
        sql = self._link.functions
        n_parts = 4 * self.n_workers
        part = sql.coalesce(sql.pmod(sql.col(column), sql.lit(n_parts)), sql.lit(0))
        # "part" comes after the function's own columns and is dropped by ``from_transfer``.
        placed = frame.withColumn("part", part.cast("int")).repartitionById(n_parts, "part")
        return placed.groupBy("part", column)

    def _name_jobs(self) -> None:
        self._link.name_jobs(self._job_group)

    def _cancel(self) -> None:
        self._link.cancel(self._job_group)

    def _call(self, action: Callable[[], Answer]) -> Answer:
        """Run an action of Spark; raise its errors without values of the data."""
        if self._is_closed:
            raise EngineError("the Spark engine is closed")
        answer = self._caller.submit(action)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self._cancel()
            raise
        except IncrowdError:
            raise
        except Exception as error:
            raise translate_error(error) from None


def _start(
    master: str,
    memory: int | None,
    directory: Path | None,
    settings: Mapping[str, str],
    is_shipped: bool,
) -> StartedSession | RemoteSession:
    if master.startswith(CONNECT):
        return start_remote(master, {**SQL_SETTINGS, **settings}, directory, is_shipped=is_shipped)
    return start_session(master, memory, directory, settings, is_shipped=is_shipped)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")
