"""Where a job's rows live: in memory, on disk or on Spark, and why a job cannot run out of core."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.engines.base import DEFAULT_MEMORY, Reading
from incrowd.engines.choice import EngineChoice, make_engine
from incrowd.errors import DataError
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import MEAN
from incrowd.job.job import InputOptions, Job
from incrowd.tables.table import Location, format_by_suffix

if TYPE_CHECKING:
    from incrowd.engines.disk.engine import DiskEngine


def engine_of(choice: EngineChoice, folder: Path) -> Any:
    """Return the engine that rows lie on: Spark, or this machine's disk."""
    if choice.name == "local":
        return disk_engine(choice, folder)
    return make_engine(choice, folder)


def disk_engine(choice: EngineChoice, folder: Path) -> DiskEngine:
    """Return this machine's disk as an engine, within the memory that is stated."""
    from incrowd.engines.disk.engine import DiskEngine

    return DiskEngine(folder, choice.threads, choice.memory_bytes or DEFAULT_MEMORY)


def reading_of(options: InputOptions) -> Reading:
    """Return how files are to be read as they stand."""
    return Reading(options.delimiter, options.encoding, options.header, options.missing_values)


# Whether a table fits into memory: what a file comes to, by its size.

PER_BYTE_OF_TEXT = 8
"""About how many bytes a run in memory takes for one of a text file …"""

PACKED = 6
"""… for each byte of which there are so many where it is compressed."""

PER_CELL = 50
"""About how many bytes a run in memory takes for a cell of a typed file."""

PROGRAM = 400 << 20
"""What the program itself takes."""


def is_larger(job: Job, location: Location) -> bool:
    """Whether a file takes more memory than a run may use: what is stated, or the machine's half.

    A file that cannot be looked at (missing, of an unknown kind, broken) is left to its reader,
    which says what is wrong with it.
    """
    import pyarrow as pa

    from incrowd.sets.format import SetOptions, memory_allowed

    allowed = memory_allowed(SetOptions(memory=job.engine.memory_bytes))
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
    if stored.compression:
        n_bytes *= PACKED
    return PROGRAM + PER_BYTE_OF_TEXT * n_bytes


# Which jobs can leave their rows where they lie.


def why_not_spread(job: Job) -> str:
    """Return why a job's rows must lie in this process; nothing where they may be spread.

    Where groups are tested by their size alone, the distinct rows and their numbers are enough.
    """
    guarantee, release = job.guarantee, job.release
    means = any(spec.kind == MEAN for spec in job.hierarchies.values())
    reasons = {
        f"the guarantee {guarantee.name} compares rows": not isinstance(guarantee, KAnonymity),
        "l and t look at the values of every group": guarantee.l is not None
        or guarantee.t is not None,
        "people have a k of their own": bool(guarantee.k_column or guarantee.k_rules),
        "groups count people": job.schema.person is not None,
        "stars are wildcards": guarantee.stars != "as-value",
        "a key numbers the rows": release.key is not None,
        "a report shows all rows together": release.report is not None,
        "a policy is saved with its release": release.save_policy is not None,
        "rows keep their order": release.keep_order,
        "rows may be suppressed": release.suppression_limit > 0,
        "values are coded or binned": bool(job.coding or job.bins) or means,
        f"method {job.method.name} looks at every row as it is set": not getattr(
            job.method, "spreads", False
        ),
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")
