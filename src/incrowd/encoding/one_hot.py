"""Columns as bits, one for each of their values, and back again after masking.

Khan et al. (2018), Section V-A: every feature is binarized by one-hot encoding and anonymized bit
by bit. A value's bit is named ``education=Bachelors``; the bit of missing cells is ``education=``.

What a masked table still tells: a shown 1 is the value. A shown 0 rules its value out, so that a
row which shows no 1 still narrows the attribute to the values whose bits are masked, and where a
single bit is masked it names the value. ``decoded`` writes ``*`` for all of these: it never claims
more than a shown 1, but the bits can tell more than it does. Audit the bits, not the decoded table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from incrowd.errors import DataError, JobError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from incrowd.tables.table import Table


SET_BIT = "1"
"""How a bit that is set is written."""

Blocks = Mapping[str, tuple[str, ...]]
"""By attribute: the values of its bits, in their order; ``""`` stands for missing."""


@dataclass(frozen=True, eq=False)
class Categories:
    """Quasi-identifying columns as codes: ``codes[attribute, row]`` is a place in its values.

    Values are texts in sorted order, and missing, ``""``, comes last.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int32]

    @property
    def n_values(self) -> NDArray[np.int64]:
        """How many values each attribute has, missing included where it occurs."""
        import numpy as np

        return np.array([len(values) for values in self.values], dtype=np.int64)

    @property
    def blocks(self) -> dict[str, tuple[str, ...]]:
        """The values by attribute."""
        return dict(zip(self.names, self.values, strict=True))


def encode_categories(table: Table, quasi: Sequence[str]) -> Categories:
    """Number the values of the quasi-identifying columns; tokens for missing are values too."""
    import numpy as np

    from incrowd.encoding.encode import encode_labels

    table.require(list(quasi), "quasi-identifying columns")
    codes = np.empty((len(quasi), table.n_rows), dtype=np.int32)
    values = []
    for place, name in enumerate(quasi):
        cells = encode_labels(table.frame.column(name))
        codes[place] = np.where(cells.codes < 0, len(cells.labels), cells.codes)
        values.append((*cells.labels, *([""] if cells.has_missing else [])))
    return Categories(tuple(quasi), tuple(values), codes)


@dataclass(frozen=True, eq=False)
class OneHot:
    """A table with bits in place of its quasi-identifying columns.

    ``names`` are the bit columns in their order and ``attribute_of_name`` the place of the column
    that each stands for; other columns are as they were, where they were.
    """

    table: Table
    names: tuple[str, ...]
    attribute_of_name: tuple[int, ...]
    categories: Categories

    @cached_property
    def blocks(self) -> dict[str, tuple[str, ...]]:
        """The values of the bits by attribute, as ``decoded`` takes them."""
        return self.categories.blocks


def bit_name(attribute: str, value: str) -> str:
    """Return the name of a value's bit."""
    return f"{attribute}={value}"


def encode_one_hot(table: Table, quasi: Sequence[str]) -> OneHot:
    """Return the table with a column of ``0`` and ``1`` for every value of a quasi-identifier.

    Raises where two bits, or a bit and another column, would have the same name, and where there
    would be more columns than a table may have.
    """
    import pyarrow as pa

    from incrowd.tables.sniff import MAX_COLUMNS

    found = encode_categories(table, quasi)
    blocks = found.blocks
    n_others = len(table.columns) - len(blocks)
    n_columns = n_others + sum(len(values) for values in blocks.values())
    if n_columns > MAX_COLUMNS:
        widest = max(blocks, key=lambda name: len(blocks[name]))
        raise JobError(
            f"{table.name}: as bits there would be {n_columns:,} columns, and a table may have "
            f"{MAX_COLUMNS:,}; column {widest!r} alone has {len(blocks[widest]):,} values",
            remedy="Group its values beforehand, cut its numbers into bins, or mask by attribute.",
        )
    columns: dict[str, object] = {}
    names: list[str] = []
    for name in table.columns:
        if name not in blocks:
            names.append(name)
        else:
            names.extend(bit_name(name, value) for value in blocks[name])
    clashing = [name for name, count in Counter(names).items() if count > 1]
    if clashing:
        raise DataError(
            f"{table.name}: {len(clashing)} bits would have the name of another column",
            remedy="Rename the column that holds '=' in its name.",
            examples=clashing,
        )
    bits = pa.array(["0", "1"])
    place_of = {name: place for place, name in enumerate(found.names)}
    for name in table.columns:
        if name not in blocks:
            columns[name] = table.frame.column(name)
            continue
        codes = found.codes[place_of[name]]
        for code, value in enumerate(blocks[name]):
            cells = bits.take(pa.array((codes == code).astype("int8")))
            columns[bit_name(name, value)] = pa.chunked_array([cells])
    bit_names = [
        (bit_name(name, value), place)
        for place, name in enumerate(found.names)
        for value in blocks[name]
    ]
    return OneHot(
        replace(table, frame=pa.table(columns)),
        tuple(name for name, _ in bit_names),
        tuple(place for _, place in bit_names),
        found,
    )


def decoded(frame: pa.Table, blocks: Blocks) -> pa.Table:
    """Return released bits as attributes: the value of a shown 1, else ``*``.

    Columns that are no bits stay; an attribute stands where its first bit stood. Raises where a
    row's bits are of no one-hot code: two shown ones, all zeros, or anything but 0, 1 and ``*``.
    """
    import pyarrow as pa

    attribute_of_bit = {
        bit_name(name, value): name for name, values in blocks.items() for value in values
    }
    missing = [name for name in attribute_of_bit if name not in frame.column_names]
    if missing:
        raise DataError(
            f"the released table lacks {len(missing)} of {len(attribute_of_bit)} bits",
            remedy="Decode the table of bits that was released, with its own blocks.",
            examples=missing,
        )
    columns: dict[str, object] = {}
    for name in frame.column_names:
        attribute = attribute_of_bit.get(name)
        if attribute is None:
            if name in columns or name in blocks:
                raise DataError(f"column {name!r} stands beside its own bits", remedy="Rename it.")
            columns[name] = frame.column(name)
        elif attribute not in columns:
            columns[attribute] = _attribute(frame, attribute, blocks[attribute])
    return pa.table(columns)


def _attribute(frame: pa.Table, attribute: str, values: tuple[str, ...]) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from incrowd.hierarchies.tree import STAR
    from incrowd.tables.column_types import labels_of

    shown = np.full(frame.num_rows, -1, dtype=np.int32)
    n_ones = np.zeros(frame.num_rows, dtype=np.int32)
    n_masked = np.zeros(frame.num_rows, dtype=np.int32)
    n_odd = 0
    for place, value in enumerate(values):
        cells = labels_of(frame.column(bit_name(attribute, value)))
        bit = np.asarray(
            pc.fill_null(pc.index_in(cells, pa.array(["0", "1", STAR], cells.type)), 3)
        )
        n_odd += int((bit == 3).sum())
        n_ones += bit == 1
        n_masked += bit == 2
        shown[bit == 1] = place
    is_wrong = (n_ones > 1) | ((n_ones == 0) & (n_masked == 0))
    if n_odd or is_wrong.any():
        row = f" (first in row {int(np.argmax(is_wrong)) + 1})" if is_wrong.any() else ""
        raise DataError(
            f"column {attribute!r}: the bits of {int(is_wrong.sum())} rows are of no single value"
            f"{row}, and {n_odd} cells are neither 0, 1 nor {STAR}",
            remedy="Decode only a release of bits that one_hot made.",
        )
    labels = pa.array([*(value or None for value in values), STAR], pa.string())
    return labels.take(pa.array(np.where(shown < 0, len(values), shown)))
