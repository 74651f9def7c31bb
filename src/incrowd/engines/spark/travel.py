"""What goes to Spark's workers and comes back: functions and errors.

An error of a worker comes back as its kind and place; its text may quote a value and stays behind.
"""

from __future__ import annotations

import base64
import json
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from incrowd import errors
from incrowd.engines.base import BlockFunction, conformed
from incrowd.engines.columns import arriving, departing, travel_schema
from incrowd.errors import DataError, EngineError, IncrowdError

_MARK = re.compile(r"incrowd-worker:([A-Za-z0-9+/=]+):")

_FILE = re.compile(r"FAILED_READ_FILE.*?reading file (.+?)\.(?: |\n|$)", re.DOTALL)

_LOST = (
    "a worker of Spark ended before its work was done",
    "Often it had too little memory: ask for more partitions, or give executors more of it.",
)

# What Spark says of faults that are not of the data, and what we say of them.
_KNOWN = (
    ("Python worker exited unexpectedly", *_LOST),
    ("ExecutorLostFailure", *_LOST),
    (
        "No module named 'incrowd'",
        "the workers of Spark do not have incrowd",
        "Install it on the cluster, or let incrowd start the session: it brings itself along.",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "the workers of Spark run another version of Python than this process",
        "Set PYSPARK_PYTHON to the same version on the workers.",
    ),
    (
        "UnsupportedFileSystemException",
        "Spark has no file system for this address",
        "For s3a:  --spark-conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION , "
        "with the version of Hadoop that Spark has.",
    ),
)

_REVIVED = frozenset(
    ("InputError", "JobError", "DataError", "HierarchyError", "EngineError", "InfeasibleError")
)


class WorkerError(Exception):
    """How an error leaves a worker: a coded line of what may be told."""


def on_blocks(
    function: BlockFunction, given: pa.Schema, returned: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function as Spark's ``mapInArrow`` calls it: once for a whole partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = [batch for batch in batches if batch.num_rows]
        if partition:
            yield from _call(
                function, pa.Table.from_batches(partition), given, returned
            ).to_batches()

    return run


def on_groups(
    function: BlockFunction, given: pa.Schema, returned: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
    """Return the function as Spark's ``applyInArrow`` calls it: once for a group."""

    def run(group: pa.Table) -> pa.Table:
        return _call(function, group, given, returned)

    return run


def spark_schema(schema: pa.Schema) -> Any:
    """Return the travelling columns of a schema in Spark's own types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(travel_schema(schema))


def told_error(error: BaseException) -> IncrowdError:
    """Return the error to raise on the driver for one that Spark reported, without values."""
    coded = _MARK.search(str(error))
    if coded:
        told = json.loads(base64.b64decode(coded[1]))
        revived: IncrowdError = getattr(errors, told["kind"])(told["what"], remedy=told["remedy"])
        return revived
    text = str(error)
    file = _FILE.search(text)
    if file and "FILE_NOT_EXIST" in text:
        return DataError(
            f"{PurePath(file[1]).name}: the workers do not see it",
            remedy="Give an address that every worker can read, or a plain path.",
        )
    if file:
        return DataError(
            f"{PurePath(file[1]).name}: not a valid Parquet file (corrupt or truncated)",
            remedy="Write it again, or fetch it again.",
        )
    for sign, what, remedy in _KNOWN:
        if sign in text:
            return EngineError(what, remedy=remedy)
    return EngineError(
        f"Spark could not do its work: {_kind_of(error)}",
        remedy="The session's own log may say more; it can hold values of people's data.",
    )


def _call(
    function: BlockFunction, travelled: pa.Table, given: pa.Schema, returned: pa.Schema
) -> pa.Table:
    with told_without_values():
        return departing(conformed(function(arriving(travelled, given)), returned))


@contextmanager
def told_without_values() -> Iterator[None]:
    """Let an error leave a worker as its kind and place only."""
    try:
        yield
    except Exception as error:
        raise WorkerError(_coded(error)) from None


def _coded(error: Exception) -> str:
    if isinstance(error, IncrowdError) and type(error).__name__ in _REVIVED:
        told = {"kind": type(error).__name__, "what": error.what, "remedy": error.remedy}
    else:
        what = f"a block function failed on a worker of Spark: {type(error).__name__}"
        told = {"kind": "EngineError", "what": what + _place_of(error), "remedy": ""}
    return f"incrowd-worker:{base64.b64encode(json.dumps(told).encode()).decode()}:"


def _place_of(error: Exception) -> str:
    """Return the file's name and line of code that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {PurePath(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def _kind_of(error: BaseException) -> str:
    """Return the kind of an error of Spark, with its condition or Java class, without its text."""
    words = [type(error).__name__]
    condition = getattr(error, "getCondition", lambda: None)()
    java = getattr(error, "java_exception", None)
    if condition:
        words.append(str(condition))
    elif java is not None:
        words.append(str(java.getClass().getName()))
    return ", ".join(words)
