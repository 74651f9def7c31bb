"""Pseudonyms: a fresh random string for every released row; who is behind it is in the key alone.

Khan et al. (2018), Section V-A, replace what identifies people by unique random strings. Here
they are made of a secret and of what is released: whoever lacks the secret cannot tell them from
chance, the same secret makes the same strings for the same release, and other strings for any
other one, so that no string leads from one release to another.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import InputError, JobError
from incrowd.flow.publication import KEY_COLUMNS
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.pseudonyms import ALPHABET, LENGTH, PSEUDONYM, check_pseudonyms
from incrowd.tables.frames import frame_hash

SECRET_BYTES = 32


@dataclass(frozen=True, eq=False)
class Secret:
    """What pseudonyms are made of; ``path`` is where a new one is kept, None where it is not."""

    content: bytes
    path: Path | None = None

    @classmethod
    def of(cls, path: str | None) -> Secret:
        """Read the secret from a file that exists, else draw one from the operating system."""
        if path is None or not Path(path).exists():
            return cls(secrets.token_bytes(SECRET_BYTES), Path(path) if path else None)
        try:
            content = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            content = b""
        if len(content) != SECRET_BYTES:
            raise InputError(
                f"{path}: not a secret of pseudonyms ({2 * SECRET_BYTES} hexadecimal digits)",
                remedy="Name the file that run --pseudonym-secret wrote, or one that does not "
                "exist: a new secret is written to it.",
            )
        return cls(content)


def audit_pseudonyms(
    pseudonyms: pa.ChunkedArray,
    originals: Iterable[pa.Table | None],
    original_row: NDArray[np.int64],
) -> Finding:
    """Check pseudonyms as they were written against all columns of the original that are known."""
    columns: dict[str, pa.ChunkedArray] = {}
    for table in originals:
        if table is not None:
            columns |= dict(zip(table.column_names, table.columns, strict=True))
    return check_pseudonyms(pseudonyms, pa.table(columns), original_row)


def key_columns_of(
    pseudonyms: pa.ChunkedArray, identifying: pa.Table | None, original_row: NDArray[np.int64]
) -> pa.Table:
    """Return the pseudonym and the identifying cells of every released row, for the key."""
    columns = {PSEUDONYM: pseudonyms}
    if identifying is not None:
        taken = identifying.take(pa.array(original_row))
        for name in identifying.column_names:
            shown = f"{name} (original)" if name in (*KEY_COLUMNS, PSEUDONYM) else name
            columns[shown] = taken.column(name)
    return pa.table(columns)


def add_pseudonyms(frame: pa.Table, name: str, secret: Secret) -> pa.Table:
    """Return a release with a last column of pseudonyms, one for each row as it lies there.

    SHAKE-256 of the secret and of the release's hash makes 80 bits for each row. Being the last
    column, they order no rows but those that are equal without them.
    """
    if name in frame.column_names:
        raise JobError(
            f"pseudonyms: the release has a column {name!r} already",
            remedy="Name another column with --pseudonyms.",
        )
    seed = secret.content + bytes.fromhex(frame_hash(frame))
    drawn = hashlib.shake_256(seed).digest(frame.num_rows * LENGTH // 2)
    pairs = np.frombuffer(drawn, dtype=np.uint8)
    numbers = np.stack([pairs >> 4, pairs & 15], axis=1).reshape(-1)
    letters = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)[numbers]
    texts = letters.view(f"S{LENGTH}").astype(str) if frame.num_rows else []
    return frame.append_column(name, pa.array(texts, pa.string()))
