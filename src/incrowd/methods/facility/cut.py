"""Groups of 2k rows and more, cut into groups of about k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.facility.atoms import Atoms
from incrowd.methods.facility.location import Work

MOST_MEMBERS = 4096
"""A larger group is first laid out by its members' first items and cut into spans: the cutting
itself looks at every member once per part."""


def cut_groups(atoms: Atoms, group_of_atom: NDArray[np.int32], work: Work) -> NDArray[np.int32]:
    """Return smaller groups, each of which still has the rows that its members ask for.

    Without personal k and equal rows every group then has k to 2k − 1 rows.
    """
    from incrowd.methods.facility.kernel_cut import cut_group

    members_of = np.argsort(group_of_atom, kind="stable").astype(np.int32)
    bounds = np.flatnonzero(np.diff(group_of_atom[members_of])) + 1
    part_of_atom = np.empty(atoms.n_atoms, dtype=np.int32)
    n_holding = np.zeros(atoms.n_items, dtype=np.int64)
    is_held = np.zeros(atoms.n_items, dtype=np.bool_)
    next_part = n_done = 0
    for members in np.split(members_of, bounds):
        work.progress("cutting groups", n_done, atoms.n_atoms)
        n_done += len(members)
        for span in _spans(atoms, members):
            next_part = cut_group(
                span,
                atoms.starts,
                atoms.items,
                atoms.weight,
                atoms.need,
                n_holding,
                is_held,
                part_of_atom,
                next_part,
            )
    work.progress("cutting groups", atoms.n_atoms, atoms.n_atoms)
    return part_of_atom


def _spans(atoms: Atoms, members: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Return the members in spans of at most ``MOST_MEMBERS``, if each has rows enough."""
    if len(members) <= MOST_MEMBERS:
        return [members]
    sizes = np.diff(atoms.starts)[members]
    keys = []
    for place in range(4):
        item = np.full(len(members), -1, dtype=np.int64)
        has_item = sizes > place
        item[has_item] = atoms.items[atoms.starts[members[has_item]] + place]
        keys.append(item)
    laid_out = members[np.lexsort(keys[::-1])]
    spans = np.array_split(laid_out, -(-len(members) // MOST_MEMBERS))
    if all(atoms.weight[span].sum() >= atoms.need[span].max() for span in spans):
        return [np.sort(span) for span in spans]
    return [members]
