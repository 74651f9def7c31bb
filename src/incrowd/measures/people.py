"""Whose rows a release has, where groups count people and not rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table


def people_of_release(
    released: Table,
    schema: Schema,
    original: Table | None,
    original_row: NDArray[np.int64] | None,
) -> pa.ChunkedArray | None:
    """Return the person of each released row; None if the schema has no person column.

    ``original_row[released row]`` is needed if the release does not have that column.
    """
    if schema.person is None:
        return None
    if schema.person in released.columns:
        return released.frame.column(schema.person)
    if original is None or original_row is None:
        raise InputError(
            "counting people requires the person of each released row",
            remedy="State the original and the key: --original DATA with --key KEY or --aligned; "
            "or omit --person to count rows.",
        )
    return original.frame.column(schema.person).take(pa.array(original_row))
