"""The private key file of a release, read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.errors import DataError


def read_key(path: Path, n_rows: int) -> Any:
    """Return ``original_row[released row]``, counted from 0, from the file that run --key wrote."""
    import numpy as np
    import pyarrow as pa

    from incrowd.tables.read import read_table

    table = read_table(path, header=True)
    table.require(["released_row", "original_row"], str(path))
    try:
        released_row, original_row = (
            table.frame.column(name).cast(pa.int64()).to_numpy() - 1
            for name in ("released_row", "original_row")
        )
    except (pa.ArrowInvalid, TypeError):
        raise DataError(f"{path}: the key's columns must be whole numbers") from None
    if not np.array_equal(np.sort(released_row), np.arange(n_rows)):
        raise DataError(
            f"{path}: the key does not name each of the {n_rows} released rows once",
            remedy="Use the key that was written with this release.",
        )
    return original_row[np.argsort(released_row, kind="stable")]
