"""Rows with equal sets as one: what facility location is solved on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.methods.sets.promise import SetPromise


@dataclass(frozen=True, eq=False)
class Atoms:
    """The different sets: their items, how many rows have each, and the largest k those ask for.

    Atom a holds ``items[starts[a]:starts[a + 1]]``; ``atoms_of_item`` is the same turned around:
    item i is held by ``holders[holder_starts[i]:holder_starts[i + 1]]``. Atoms are numbered by
    their first rows. All rows of an atom stay in one group.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    holder_starts: NDArray[np.int64]
    holders: NDArray[np.int32]
    weight: NDArray[np.int64]
    need: NDArray[np.int64]
    atom_of_row: NDArray[np.int32]

    @property
    def n_atoms(self) -> int:
        """How many different sets there are."""
        return len(self.weight)

    @property
    def n_items(self) -> int:
        """How many items there are, held or not."""
        return len(self.holder_starts) - 1


def atoms_of(sets: Sets, promise: SetPromise) -> Atoms:
    """Return the different sets of rows with what they weigh and ask for. O(entries)."""
    from incrowd.kernels.rows import turned_around
    from incrowd.methods.facility.kernel_atoms import first_equal_rows, row_hashes

    hashes = row_hashes(sets.starts, sets.items)
    order = np.argsort(hashes, kind="stable")
    first_of_row = first_equal_rows(sets.starts, sets.items, order, hashes)
    firsts, atom_of_row, weight = np.unique(first_of_row, return_inverse=True, return_counts=True)
    need = np.full(len(firsts), promise.k, dtype=np.int64)
    np.maximum.at(need, atom_of_row, promise.needs(sets.n_rows))
    different = sets.take(firsts)
    holder_starts, holders = turned_around(different.starts, different.items, sets.n_items)
    return Atoms(
        different.starts,
        different.items,
        holder_starts,
        holders,
        weight.astype(np.int64),
        need,
        atom_of_row.astype(np.int32),
    )
