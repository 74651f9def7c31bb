"""One-hot encoding of quasi-identifiers: a 0/1 column (a bit) for each of their values.

Khan et al. (2018), Section V-A: every feature is binarized by one-hot encoding and anonymized bit
by bit. A value's bit is named ``education=Bachelors``; the bit of missing cells is ``education=``.

What a masked table still discloses: a shown 1 is the value. A shown 0 rules its value out, so a row
that shows no 1 still narrows the attribute to the values whose bits are masked, and where a single
bit is masked, it is the value. So audit the bits, not a table decoded from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.errors import DataError, JobError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.tables.table import Table


SET_BIT = "1"
"""How a bit that is set is written."""


@dataclass(frozen=True, eq=False)
class Categories:
    """Quasi-identifiers as codes: ``codes[attribute, row]`` is a place in the attribute's values.

    Values are texts in sorted order; missing, ``""``, comes last.
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
    def bit_names(self) -> dict[str, list[str]]:
        """The names of the values' bits, by attribute."""
        return {
            name: [f"{name}={value}" for value in values]
            for name, values in zip(self.names, self.values, strict=True)
        }


@dataclass(frozen=True, eq=False)
class OneHot:
    """A table with bits in place of its quasi-identifiers; other columns keep their places.

    ``names`` are the bits, attribute by attribute, and ``attribute_of_name`` the place of the
    attribute that each belongs to.
    """

    table: Table
    names: tuple[str, ...]
    attribute_of_name: tuple[int, ...]
    categories: Categories


def encode_categories(table: Table, quasi: Sequence[str]) -> Categories:
    """Number the values of the quasi-identifiers; missing-value tokens are values too."""
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


def encode_one_hot(table: Table, quasi: Sequence[str]) -> OneHot:
    """Return the table with a column of ``0`` and ``1`` for every value of a quasi-identifier.

    Raises where two bits, or a bit and another column, would have the same name, and where there
    would be more columns than a table may have.
    """
    import pyarrow as pa

    categories = encode_categories(table, quasi)
    bits_of = categories.bit_names
    _refuse_too_many(table, bits_of)
    all_names = Counter(bit for name in table.columns for bit in bits_of.get(name, [name]))
    clashing = [name for name, count in all_names.items() if count > 1]
    if clashing:
        raise DataError(
            f"{table.name}: {len(clashing)} bits would have the name of another column",
            remedy="Rename the column that has '=' in its name.",
            examples=clashing,
        )
    zero_or_one = pa.array(["0", SET_BIT])
    columns: dict[str, object] = {}
    for name in table.columns:
        if name not in bits_of:
            columns[name] = table.frame.column(name)
            continue
        codes = categories.codes[categories.names.index(name)]
        for code, bit in enumerate(bits_of[name]):
            cells = zero_or_one.take(pa.array((codes == code).astype("int8")))
            columns[bit] = pa.chunked_array([cells])
    return OneHot(
        replace(table, frame=pa.table(columns)),
        tuple(bit for bits in bits_of.values() for bit in bits),
        tuple(place for place, bits in enumerate(bits_of.values()) for _ in bits),
        categories,
    )


def _refuse_too_many(table: Table, bits_of: dict[str, list[str]]) -> None:
    from incrowd.tables.files.sniff import MAX_COLUMNS

    n_columns = len(table.columns) - len(bits_of) + sum(map(len, bits_of.values()))
    if n_columns > MAX_COLUMNS:
        widest = max(bits_of, key=lambda name: len(bits_of[name]))
        raise JobError(
            f"{table.name}: as bits there would be {n_columns:,} columns, and a table may have "
            f"{MAX_COLUMNS:,}; column {widest!r} alone has {len(bits_of[widest]):,} values",
            remedy="Group its values beforehand, cut its numbers into bins, or mask by attribute.",
        )
