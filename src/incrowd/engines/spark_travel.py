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
from incrowd.engines.travel import arriving, departing, travel_schema
from incrowd.errors import EngineError, IncrowdError

_MARK = re.compile(r"incrowd-worker:([A-Za-z0-9+/=]+):")

_FILE = re.compile(r"FAILED_READ_FILE.*?reading file (.+?)\.(?: |\n|$)", re.DOTALL)

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
    if "Python worker exited unexpectedly" in str(error):
        return EngineError(
            "a worker of Spark ended before its work was done",
            remedy="Often it had too little memory: ask for more partitions.",
        )
    file = _FILE.search(str(error))
    if file:
        return errors.DataError(
            f"{PurePath(file[1]).name}: it is no Parquet file, or it is damaged or cut off",
            remedy="Write it again, or fetch it again.",
        )
    if "PATH_NOT_FOUND" in str(error):
        return errors.DataError("there is no such file or folder", remedy="Check the address.")
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
