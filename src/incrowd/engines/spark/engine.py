"""The engine of a Spark cluster, or of Spark on one machine: blocks are Spark's partitions."""

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
    Reading,
    ReleaseFolder,
    plain_schema,
    plain_table,
    require_columns,
    require_countable,
    require_integer_key,
)
from incrowd.engines.columns import arriving, departing, travel_name, travel_schema
from incrowd.engines.folders import hash_of_location, part_name, require_whole
from incrowd.engines.spark.columns import at_home, ordering, schema_of_frame, travelling
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
    is_local,
    privacy_notes,
    private_copy,
    start_session,
)
from incrowd.engines.spark.store import SparkStore
from incrowd.engines.spark.travel import on_blocks, on_groups, spark_schema, told_error
from incrowd.engines.spark.write import BLOB_SCHEMA, from_blob, to_blobs
from incrowd.errors import EngineError, IncrowdError
from incrowd.tables.read import no_rows_error, open_location
from incrowd.tables.table import Format
from incrowd.tables.write import regroup, write_table

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SparkBlocks:
    """Rows on Spark: a frame whose columns are called c0, c1, …, and what they are to us."""

    frame: Any
    schema: pa.Schema


class SparkEngine:
    """Rows in a Spark session: one that we start, one that already runs, or one that is given.

    A session that we start is closed to others (see ``spark_session``) and is stopped by
    ``close``; any other one is left as it was found, and ``describe`` says what it leaves open.
    Loaded rows and results are kept by Spark until ``close``, so that each is computed once.
    Ctrl-C cancels the work under way on Spark.
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
                "settings of Spark cannot be changed in a session that runs already",
                remedy="Leave --spark-conf out, or make them where the session is started.",
            )
        self._started: StartedSession | RemoteSession | None = None
        if given is None:
            self._started = _start(master, memory, directory, settings or {}, is_shipped)
        self.session = self._started.session if self._started else private_copy(given)
        self._link = (
            ConnectLink(self.session) if is_remote(self.session) else DriverLink(self.session)
        )
        self._store = SparkStore(self.session, self._link.hadoop)
        self._is_on_this_machine = is_local(self._link.master)
        self._kept: list[Any] = []
        self._job_group = f"incrowd-{uuid4()}"
        self._is_closed = False
        # Spark is asked from a thread of its own, so that Ctrl-C finds this one listening.
        self._asking = ThreadPoolExecutor(1, "incrowd-spark", self._name_jobs)
        atexit.register(self.close)

    @property
    def n_workers(self) -> int:
        """One worker per processor that Spark counts on."""
        return self._link.n_workers

    def load(self, table: pa.Table) -> SparkBlocks:
        """Send a table to Spark, a part to each processor at least."""
        table = plain_table(table)
        return SparkBlocks(self._keep(self._sent(table)), table.schema)

    def _sent(self, table: pa.Table) -> Any:
        sent = departing(table)
        part_rows = max(1, min(BATCH_ROWS, -(-table.num_rows // self.n_workers)))
        # Spark makes a partition of each chunk.
        chunked = pa.Table.from_batches(
            sent.combine_chunks().to_batches(part_rows), schema=sent.schema
        )
        return self._ask(lambda: self.session.createDataFrame(chunked))

    def _sent_in_pieces(self, tables: Iterable[pa.Table]) -> Any:
        """Send tables one after the other; at no time are all of them held by this process."""
        pieces = [self._sent(table) for table in regroup(tables, TABLE_ROWS)]
        return self._ask(lambda: reduce(lambda one, other: one.union(other), pieces))

    def read(self, location: str, reading: Reading) -> tuple[SparkBlocks, Format]:
        """Take in files where they lie; a plain path is of this machine, an address Spark's.

        A text file of this machine, and anything of it that the cluster cannot see, is read here
        and sent.
        """
        path = local_path(location)
        if reading.is_release and path is not None and path.is_dir():
            require_whole(path)
        is_text_file = path is not None and path.is_file() and not _is_parquet(path)
        if path is not None and (is_text_file or not self._is_seen_by_workers(location)):
            source = open_location(
                path,
                delimiter=reading.delimiter,
                encoding=reading.encoding,
                header=reading.header,
                missing_values=reading.missing_values,
            )
            frame = self._sent_in_pieces(reading.taken(source.tables))
            return SparkBlocks(self._keep(frame), source.schema), source.format
        frame, schema, stored, is_kept = self._ask(lambda: self._store.read(location, reading))
        if is_kept:
            frame = self._keep(frame)
            if not self._ask(frame.count):
                raise no_rows_error(location, stored)
        return SparkBlocks(frame, schema), stored

    def from_frame(self, frame: Any, *, has_plain_zeros: bool = False) -> SparkBlocks:
        """Take in a Spark frame of this session or of its kin; it stays as it is."""
        schema = schema_of_frame(frame, "the frame")
        rows = self._ask(lambda: travelling(frame, schema, has_plain_zeros=has_plain_zeros))
        return SparkBlocks(self._keep(rows), schema)

    def to_frame(self, blocks: SparkBlocks) -> Any:
        """Return rows as a Spark frame of their own names and types, in the order of content.

        It is computed and kept by Spark until whoever gets it says ``unpersist``.
        """

        def ask() -> Any:
            frame = at_home(self._sorted(blocks), blocks.schema).persist()
            frame.count()
            return frame

        return self._ask(ask)

    def schema(self, blocks: SparkBlocks) -> pa.Schema:
        """Return the columns of loaded rows."""
        return blocks.schema

    def select(self, blocks: SparkBlocks, names: Sequence[str]) -> SparkBlocks:
        """Return the same rows with these columns alone; nothing is computed."""
        require_columns(blocks.schema, names)
        columns = [
            f"{travel_name(blocks.schema, name)} AS c{number}" for number, name in enumerate(names)
        ]
        schema = pa.schema([blocks.schema.field(name) for name in names])
        return SparkBlocks(self._ask(lambda: blocks.frame.selectExpr(*columns)), schema)

    def share(self, value: Any) -> Callable[[], Any]:
        """Return a way to a value, sent to each worker once; with each function on Connect."""
        return self._link.share(value)

    def in_order(self, blocks: SparkBlocks) -> Iterator[pa.Table]:
        """Bring rows here in the order of their content, partition after partition."""

        def ask() -> Any:
            packed = self._sorted(blocks).mapInArrow(to_blobs(blocks.schema), BLOB_SCHEMA)
            return packed.toLocalIterator(prefetchPartitions=True)

        rows = self._ask(ask)

        def tables() -> Iterator[pa.Table]:
            while (row := self._ask(lambda: next(rows, None))) is not None:
                yield from_blob(row.rows)

        return regroup(tables(), TABLE_ROWS)

    def write_folder(self, blocks: SparkBlocks, folder: str, stored: Format) -> None:
        """Write part files in the order of content: here, or in tasks at an address.

        A folder of this machine is cut after so many rows, as on every engine; what tasks write
        is cut where Spark cuts, which depends on the cluster.
        """
        path = local_path(folder)
        if path is not None and not scheme_of(folder):
            number = 0
            for number, table in enumerate(self.in_order(blocks), 1):
                write_table(table, path / part_name(number - 1, stored), stored)
            if not number:
                write_table(blocks.schema.empty_table(), path / part_name(0, stored), stored)
            return
        self._ask(lambda: self._store.write(self._sorted(blocks), blocks.schema, folder, stored))

    def new_folder(self, final: str, *, force: bool) -> AbstractContextManager[ReleaseFolder]:
        """Return a folder to write to, on this machine or at an address."""
        return self._store.folder(final, force=force)

    def hash_of(self, location: str) -> str:
        """Return the SHA-256 of a file, or of the names and hashes of a folder's part files."""
        path = local_path(location)
        if path is not None:
            return hash_of_location(path)
        return self._ask(lambda: self._store.hash_of(location))

    def collect(self, blocks: SparkBlocks) -> pa.Table:
        """Bring all rows to this process."""
        return arriving(self._ask(blocks.frame.toArrow), blocks.schema)

    def count(self, blocks: SparkBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by`` (Spark's own aggregates)."""
        sql = self._link.functions
        require_countable(blocks.schema, by, people)
        fields = [blocks.schema.field(name) for name in by]
        fields.append(pa.field(N_ROWS, pa.int64()))

        def ask() -> pa.Table:
            counts = [sql.count(sql.lit(1)).alias(N_ROWS)]
            if people:
                person = sql.col(travel_name(blocks.schema, people))
                # SQL counts no null among distinct values; unknown people are one person.
                unknown = sql.max(sql.when(person.isNull(), 1).otherwise(0))
                known = sql.count_distinct(person)
                counts.append((known + sql.coalesce(unknown, sql.lit(0))).alias(N_PEOPLE))
            keys = [travel_name(blocks.schema, name) for name in by]
            return blocks.frame.groupBy(*keys).agg(*counts).toArrow()

        if people:
            fields.append(pa.field(N_PEOPLE, pa.int64()))
        return arriving(self._ask(ask), pa.schema(fields))

    def counted(self, blocks: SparkBlocks, by: Sequence[str]) -> SparkBlocks:
        """Count rows per combination of ``by`` and leave the lines on Spark."""
        sql = self._link.functions
        require_countable(blocks.schema, by, None)
        fields = [blocks.schema.field(name) for name in by]
        schema = pa.schema([*fields, pa.field(N_ROWS, pa.int64())])

        def ask() -> Any:
            keys = [travel_name(blocks.schema, name) for name in by]
            lines = blocks.frame.groupBy(*keys).agg(sql.count(sql.lit(1)))
            return lines.toDF(*travel_schema(schema).names)

        return SparkBlocks(self._keep(self._ask(ask)), schema)

    def map_blocks(
        self, blocks: SparkBlocks, function: BlockFunction, schema: pa.Schema
    ) -> SparkBlocks:
        """Apply a function to every partition, where it lies."""
        returned = plain_schema(schema)
        shipped = on_blocks(function, blocks.schema, returned)
        frame = self._ask(lambda: blocks.frame.mapInArrow(shipped, spark_schema(returned)))
        return SparkBlocks(self._keep(frame), returned)

    def map_groups(
        self, blocks: SparkBlocks, key: str, function: BlockFunction, schema: pa.Schema
    ) -> SparkBlocks:
        """Bring the rows of each key together (one shuffle) and apply a function to them."""
        require_integer_key(blocks.schema, key)
        returned = plain_schema(schema)
        shipped = on_groups(function, blocks.schema, returned)
        column = travel_name(blocks.schema, key)

        def ask() -> Any:
            groups = self._grouped(blocks.frame, column)
            return groups.applyInArrow(shipped, spark_schema(returned))

        return SparkBlocks(self._keep(self._ask(ask)), returned)

    def describe(self) -> dict[str, object]:
        """Return the master, the versions, and what the session leaves open to others."""
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
        """Let go of all rows; stop the session where we started it, and remove its files."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._cancel()
        # Stopping our own session ends what is still under way; another's session goes on.
        self._asking.shutdown(wait=not self._started, cancel_futures=True)
        if self._started:
            self._started.stop()
        else:
            for frame in self._kept:
                # Whoever owns the session may have stopped it, and the rows are gone.
                with contextlib.suppress(Exception):
                    frame.unpersist()
        self._kept.clear()

    def _keep(self, frame: Any) -> Any:
        """Have Spark keep what it computes for this frame, and remember to let go of it."""
        kept = self._ask(frame.persist)
        self._kept.append(kept)
        return kept

    def _sorted(self, blocks: SparkBlocks) -> Any:
        """Return the rows in the order of their content, about ``TABLE_ROWS`` a partition."""
        n_parts = max(1, -(-blocks.frame.count() // TABLE_ROWS))
        keys = ordering(blocks.schema, self._link.functions)
        return blocks.frame.repartitionByRange(n_parts, *keys).sortWithinPartitions(*keys)

    def _is_seen_by_workers(self, location: str) -> bool:
        """Whether a plain path means the same file to them; an address always does."""
        return self._is_on_this_machine or bool(scheme_of(location))

    def _grouped(self, frame: Any, column: str) -> Any:
        """Group by a key, key after key on processor after processor where Spark can (from 4.1).

        Without it keys go where their hashes fall, and some processors may get none.
        """
        if not hasattr(frame, "repartitionById"):
            return frame.groupBy(column)
        sql = self._link.functions
        n_parts = 4 * self.n_workers
        part = sql.coalesce(sql.pmod(sql.col(column), sql.lit(n_parts)), sql.lit(0))
        # The last column, "part", is one more than the function's and is dropped on arrival.
        placed = frame.withColumn("part", part.cast("int")).repartitionById(n_parts, "part")
        return placed.groupBy("part", column)

    def _name_jobs(self) -> None:
        self._link.name_jobs(self._job_group)

    def _cancel(self) -> None:
        self._link.cancel(self._job_group)

    def _ask(self, action: Callable[[], Answer]) -> Answer:
        """Have Spark do something; its errors come back without values of the data."""
        if self._is_closed:
            raise EngineError("the Spark engine was closed")
        answer = self._asking.submit(action)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self._cancel()
            raise
        except IncrowdError:
            raise
        except Exception as error:
            raise told_error(error) from None


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
