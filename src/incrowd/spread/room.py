"""Whether a table fits into memory: what a file comes to, by its size."""

from __future__ import annotations

from pathlib import Path

from incrowd.data.locations import Location
from incrowd.data.table import format_by_suffix
from incrowd.errors import DataError
from incrowd.job import Job

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

    from incrowd.data.set_format import SetOptions, memory_allowed

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
