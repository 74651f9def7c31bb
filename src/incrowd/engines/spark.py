"""The engine of a Spark cluster, or of Spark on one machine: blocks are Spark's partitions."""

from __future__ import annotations

import atexit
import contextlib
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa

from incrowd.engines.base import (
    DEFAULT_MEMORY,
    N_PEOPLE,
    N_ROWS,
    BlockFunction,
    plain_schema,
    plain_table,
    require_countable,
    require_integer_key,
)
from incrowd.engines.spark_session import (
    BATCH_ROWS,
    active_session,
    privacy_notes,
    private_copy,
    start_session,
)
from incrowd.engines.spark_travel import on_blocks, on_groups, told_error
from incrowd.engines.travel import arriving, departing, travel_name, travel_schema
from incrowd.errors import EngineError, IncrowdError

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

    def __init__(
        self,
        master: str = "local[2]",
        session: Any = None,
        *,
        memory: int | None = None,
        directory: Path | None = None,
        working_memory: int = DEFAULT_MEMORY,
    ) -> None:
        self.memory_bytes = working_memory
        given = session or active_session()
        if given is not None and ".connect." in type(given).__module__:
            raise EngineError(
                "the Spark engine does not work through Spark Connect",
                remedy="Give it a session of the driver itself.",
            )
        self._started = None if given else start_session(master, memory, directory)
        self.session = self._started.session if self._started else private_copy(given)
        self._kept: list[Any] = []
        self._job_group = f"incrowd-{uuid4()}"
        self._is_closed = False
        # Spark is asked from a thread of its own, so that Ctrl-C finds this one listening.
        self._asking = ThreadPoolExecutor(1, "incrowd-spark", self._name_jobs)
        atexit.register(self.close)

    @property
    def n_workers(self) -> int:
        """One worker per processor that Spark counts on."""
        return int(self.session.sparkContext.defaultParallelism)

    def load(self, table: pa.Table) -> SparkBlocks:
        """Send a table to Spark, a part to each processor at least."""
        table = plain_table(table)
        travelling = departing(table)
        parts = self.session.sparkContext.defaultParallelism
        part_rows = max(1, min(BATCH_ROWS, -(-table.num_rows // parts)))
        # Spark makes a partition of each chunk.
        chunked = pa.Table.from_batches(
            travelling.combine_chunks().to_batches(part_rows), schema=travelling.schema
        )
        frame = self._ask(lambda: self.session.createDataFrame(chunked))
        return SparkBlocks(self._keep(frame), table.schema)

    def collect(self, blocks: SparkBlocks) -> pa.Table:
        """Bring all rows to this process."""
        return arriving(self._ask(blocks.frame.toArrow), blocks.schema)

    def count(self, blocks: SparkBlocks, by: Sequence[str], people: str | None = None) -> pa.Table:
        """Count rows, and distinct people, per combination of ``by`` (Spark's own aggregates)."""
        from pyspark.sql import functions as sql

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

    def map_blocks(
        self, blocks: SparkBlocks, function: BlockFunction, schema: pa.Schema
    ) -> SparkBlocks:
        """Apply a function to every partition, where it lies."""
        returned = plain_schema(schema)
        shipped = on_blocks(function, blocks.schema, returned)
        frame = self._ask(lambda: blocks.frame.mapInArrow(shipped, _spark_schema(returned)))
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
            return groups.applyInArrow(shipped, _spark_schema(returned))

        return SparkBlocks(self._keep(self._ask(ask)), returned)

    def describe(self) -> dict[str, object]:
        """Return the master, the versions, and what the session leaves open to others."""
        context = self.session.sparkContext
        return {
            "name": self.name,
            "master": context.master,
            "processors": context.defaultParallelism,
            "session": "started by incrowd" if self._started else "existing",
            "privacy_notes": privacy_notes(self.session),
            "versions": {
                "spark": context.version,
                "java": context._jvm.System.getProperty("java.version"),
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

    def _grouped(self, frame: Any, column: str) -> Any:
        """Group by a key, key after key on processor after processor where Spark can (from 4.1).

        Without it keys go where their hashes fall, and some processors may get none.
        """
        if not hasattr(frame, "repartitionById"):
            return frame.groupBy(column)
        from pyspark.sql import functions as sql

        n_parts = 4 * self.session.sparkContext.defaultParallelism
        part = sql.coalesce(sql.pmod(sql.col(column), sql.lit(n_parts)), sql.lit(0))
        # The last column, "part", is one more than the function's and is dropped on arrival.
        placed = frame.withColumn("part", part.cast("int")).repartitionById(n_parts, "part")
        return placed.groupBy("part", column)

    def _name_jobs(self) -> None:
        self.session.sparkContext.setJobGroup(self._job_group, "incrowd", interruptOnCancel=True)

    def _cancel(self) -> None:
        """End our jobs that are under way; a Java process that is gone has none."""
        with contextlib.suppress(Exception):
            self.session.sparkContext.cancelJobGroup(self._job_group)

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


def _spark_schema(schema: pa.Schema) -> Any:
    """Return the travelling columns of a schema in Spark's own types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(travel_schema(schema))
