"""Where a job's rows live: in memory, on disk or on Spark; and why a job cannot run out of core."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from incrowd.encoding.personal_k import columns_of_rules
from incrowd.engines.base import Engine
from incrowd.engines.choice import make_engine, out_of_core_engine
from incrowd.errors import DataError, InputError
from incrowd.flow.outputs import Target
from incrowd.guarantees.evidence import TABLES, TRANSACTIONS
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import MEAN
from incrowd.job.job import Job
from incrowd.methods.base import TableMethod, TransactionMethod
from incrowd.tables.frames import is_spark_frame
from incrowd.tables.locations import Location, is_address, is_folder, location_name
from incrowd.tables.table import COMPRESSIONS, IN_MEMORY, SUFFIXES, format_by_suffix

PER_BYTE_OF_TEXT = 8
"""About how many bytes a run in memory takes for one of a text file …"""

PACKED = 6
"""… for each byte of which there are so many where it is compressed."""

PER_CELL = 50
"""About how many bytes a run in memory takes for a cell of a typed file."""

PROGRAM = 400 << 20
"""What the program itself takes."""


def engine_for_file(job: Job, target: Target, folder: Path) -> Engine:
    """Return the engine of a job on files; what it keeps on disk lies in a private folder."""
    if runs_out_of_core(job, target):
        return out_of_core_engine(job.engine, folder)
    return make_engine(job.engine, folder)


def engine_for_frame(data: Any, job: Job) -> Engine:
    """Return the engine of a frame: Spark on the session of a Spark frame, else the job's."""
    if job.shape != TABLES or not is_spark_frame(data):
        return make_engine(job.engine)
    from incrowd.engines.spark.engine import SparkEngine

    return cast(Engine, SparkEngine(session=data.sparkSession))


def runs_out_of_core(job: Job, target: Target) -> bool:
    """Return whether a job's rows stay on an engine; raise where they would have to and cannot.

    On Spark they do wherever they can. On this machine they lie on disk where they are many
    files, or more than fits into the memory that is stated (or half of the machine's).
    """
    if job.shape == TRANSACTIONS:
        is_kept = not why_in_process(job, target)
        return is_kept and (job.engine.name == "spark" or _is_long(job, target.data))
    if job.shape != TABLES:
        return False
    reason = why_not_out_of_core(job) or why_in_memory(target)
    if job.engine.name == "local":
        for location in (target.data, target.output):
            if is_address(location):
                raise InputError(
                    f"{location}: the local engine reads and writes this machine's files",
                    remedy="Use --engine spark, which knows such addresses.",
                )
        if not (is_folder(target.data) or target.is_folder or is_larger(job, target.data)):
            return False
    if not reason:
        return True
    if target.is_folder:
        raise InputError(
            f"{target.output}: this release is one file, since {reason}",
            remedy="Name a file of this machine with -o.",
        )
    if job.engine.memory is not None and not is_folder(target.data) and is_larger(job, target.data):
        raise InputError(
            f"{target.data}: the table does not fit into {job.engine.memory}, and its rows cannot "
            f"be searched from disk, since {reason}",
            remedy="State more with --memory, or ask for less.",
        )
    return False


def why_in_process(job: Job, target: Target) -> str:
    """Return why this process must hold all transactions of a job; nothing where it need not.

    Where rules are counted in rounds, sums are enough.
    """
    from incrowd.sets.stream import why_in_memory as why_in_memory_sets

    release = job.release
    reasons = {
        "the rules are found in the transactions": job.rules.file is None,
        "a key numbers the rows": release.key is not None,
        "a report shows all rows together": release.report is not None,
        "rows keep their order": release.keep_order,
        "the items of the data are listed": job.sets.items is not None,
    }
    method = cast(TransactionMethod, job.method)
    reason = method.why_in_process(job.guarantee)
    reason = reason or next((reason for reason, is_so in reasons.items() if is_so), "")
    if reason or is_address(target.data) or target.is_folder:
        return reason or "transactions are read from and written to files of this machine"
    return why_in_memory_sets(Path(target.data), Path(target.output), job.sets.reading(job.input))


def _is_long(job: Job, location: Location) -> bool:
    """Whether transactions take more memory than was stated, or than rounds may take."""
    from incrowd.sets.sets import memory_limit

    if job.engine.memory is None and job.method_parameters.get("rounds") != "engine":
        return False
    path = Path(location)
    files = [file for file in path.iterdir() if file.is_file()] if path.is_dir() else [path]
    n_bytes = sum(
        (PACKED if file.suffix.lower() in COMPRESSIONS else 1) * file.stat().st_size
        for file in files
        if file.exists()
    )
    return PER_BYTE_OF_TEXT * n_bytes > memory_limit(job.engine.memory_bytes)


def why_not_out_of_core(job: Job) -> str:
    """Return why a job cannot run out of core; nothing where it can.

    Where groups are tested by their size alone, the distinct rows and their counts are enough;
    where they are tested by more, the codes of all rows.
    """
    guarantee, release = cast(TableGuarantee, job.guarantee), job.release
    specs = job.hierarchy_specs
    means = any(spec.grouping_kind == MEAN for spec in specs.values())
    of_rules = columns_of_rules(guarantee.k_rules)
    reasons = {
        f"the guarantee {guarantee.name} compares rows": not isinstance(guarantee, KAnonymity),
        "a k rule looks at dates of which ages or days are shown": any(
            name in specs and specs[name].is_derived for name in of_rules
        ),
        "groups count people": job.schema.person is not None,
        "stars are wildcards": guarantee.stars != "as-value",
        "a key numbers the rows": release.key is not None,
        "pseudonyms number the rows": release.pseudonyms is not None,
        "a report shows all rows together": release.report is not None,
        "a policy is saved with its release": release.save_policy is not None,
        "a former release is compared with it": bool(release.former),
        "rows keep their order": release.keep_order,
        "numbers are binned or averaged": bool(job.bins) or means,
        f"method {job.method.name} looks at every row as it is set": not cast(
            TableMethod, job.method
        ).runs_on_distinct_rows,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")


def why_in_memory(target: Target) -> str:
    """Return why the formats of a job's files need its rows in memory; nothing if they do not."""
    for location in (target.data, target.output):
        known = SUFFIXES.get(Path(location_name(location)).suffix.lower())
        if known is not None and known.kind in IN_MEMORY:
            return "Excel, SPSS, Stata and SAS files go through memory as a whole"
    return ""


def is_larger(job: Job, location: Location) -> bool:
    """Whether a file takes more memory than a run may use: what is stated, or the machine's half.

    A file that cannot be looked at (missing, of an unknown kind, broken) is left to its reader,
    which says what is wrong with it.
    """
    import pyarrow as pa

    from incrowd.sets.sets import memory_limit

    allowed = memory_limit(job.engine.memory_bytes)
    try:
        return memory_needed(Path(location)) > allowed
    except (OSError, DataError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


def memory_needed(path: Path) -> int:
    """Return about how many bytes a run in memory takes for a file."""
    stored = format_by_suffix(path)
    n_bytes = path.stat().st_size
    if stored.kind == "parquet":
        from pyarrow import parquet

        about = parquet.ParquetFile(path).metadata
        return PROGRAM + PER_CELL * int(about.num_rows) * int(about.num_columns)
    if stored.compression or stored.kind == "xlsx":
        n_bytes *= PACKED
    return PROGRAM + PER_BYTE_OF_TEXT * n_bytes
