"""Functions that run on Spark's workers, and errors that come back from there.

An error on a worker is reported by its type and line of code; its text may quote a value and is
dropped.
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
from incrowd.engines.base import BlockFunction, conform_result
from incrowd.engines.transfer import from_transfer, to_transfer, transfer_schema
from incrowd.errors import DataError, EngineError, IncrowdError
from incrowd.tables.files.read import damaged_file_error

_MARK = re.compile(r"incrowd-worker:([A-Za-z0-9+/=]+):")

_FILE = re.compile(r"FAILED_READ_FILE.*?reading file (.+?)\.(?: |\n|$)", re.DOTALL)

_LOST = (
    "a Spark worker ended before its task was done",
    "Often it ran out of memory: use more partitions, or give executors more memory.",
)

# Spark's own messages for faults that do not concern the data, with ours.
_KNOWN = (
    ("Python worker exited unexpectedly", *_LOST),
    ("ExecutorLostFailure", *_LOST),
    (
        "No module named 'incrowd'",
        "Spark's workers do not have incrowd",
        "Install it on the cluster, or let incrowd start the session, which ships the package.",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "Spark's workers run another Python version than this process",
        "Set PYSPARK_PYTHON to the same version on the workers.",
    ),
    (
        "UnsupportedFileSystemException",
        "Spark has no file system for this URL",
        "For s3a:  --spark-conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION , "
        "with the Hadoop version of your Spark.",
    ),
)

_DECODABLE = frozenset(
    ("InputError", "JobError", "DataError", "HierarchyError", "EngineError", "InfeasibleError")
)


class WorkerError(Exception):
    """An error on a worker, encoded without values of the data."""


def wrap_block_function(
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


def wrap_group_function(
    function: BlockFunction, given: pa.Schema, returned: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
    """Return the function as Spark's ``applyInArrow`` calls it: once for a group."""

    def run(group: pa.Table) -> pa.Table:
        return _call(function, group, given, returned)

    return run


def spark_schema(schema: pa.Schema) -> Any:
    """Return the transfer form of a schema in Spark's own types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(transfer_schema(schema))


def translate_error(error: BaseException) -> IncrowdError:
    """Return our error, without values of the data, for one that Spark reported."""
    encoded = _MARK.search(str(error))
    if encoded:
        fields = json.loads(base64.b64decode(encoded[1]))
        decoded: IncrowdError = getattr(errors, fields["kind"])(
            fields["what"], remedy=fields["remedy"]
        )
        return decoded
    text = str(error)
    file = _FILE.search(text)
    if file and "FILE_NOT_EXIST" in text:
        return DataError(
            f"{PurePath(file[1]).name}: the workers cannot see the file",
            remedy="Give a URL that every worker can read, or a plain path.",
        )
    if file:
        return damaged_file_error(PurePath(file[1]).name, "parquet")
    for sign, what, remedy in _KNOWN:
        if sign in text:
            return EngineError(what, remedy=remedy)
    return EngineError(
        f"Spark failed: {_kind_of(error)}",
        remedy="The session's log may say more; it can contain values of the data.",
    )


def _call(
    function: BlockFunction, table: pa.Table, given: pa.Schema, returned: pa.Schema
) -> pa.Table:
    with hide_values():
        return to_transfer(conform_result(function(from_transfer(table, given)), returned))


@contextmanager
def hide_values() -> Iterator[None]:
    """Reduce an error on a worker to its type and line of code."""
    try:
        yield
    except Exception as error:
        raise WorkerError(_encode_error(error)) from None


def _encode_error(error: Exception) -> str:
    if isinstance(error, IncrowdError) and type(error).__name__ in _DECODABLE:
        fields = {"kind": type(error).__name__, "what": error.what, "remedy": error.remedy}
    else:
        what = f"a block function failed on a Spark worker: {type(error).__name__}"
        fields = {"kind": "EngineError", "what": what + _place_of(error), "remedy": ""}
    return f"incrowd-worker:{base64.b64encode(json.dumps(fields).encode()).decode()}:"


def _place_of(error: Exception) -> str:
    """Return the file and line of code that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {PurePath(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def _kind_of(error: BaseException) -> str:
    """Return the type of a Spark error, with its condition or Java class, without its text."""
    words = [type(error).__name__]
    condition = getattr(error, "getCondition", lambda: None)()
    java = getattr(error, "java_exception", None)
    if condition:
        words.append(str(condition))
    elif java is not None:
        words.append(str(java.getClass().getName()))
    return ", ".join(words)
