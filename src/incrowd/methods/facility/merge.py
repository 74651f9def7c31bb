"""Step 5 of Alg. 2: clusters with fewer than k rows are merged up to k, and stay under 2k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.methods.facility.atoms import Atoms
from incrowd.methods.facility.location import Work, facilities_at, nearest_facilities


def merge_small(
    atoms: Atoms, number_of_atom: NDArray[np.int32], facility: NDArray[np.int32], work: Work
) -> NDArray[np.int32]:
    """Return the group of each atom, none smaller than its rows ask for.

    Small clusters are merged in an order drawn by the seed, each batch until it has enough rows:
    two clusters under k never make more than 2k − 2. What is left over takes the rows it lacks
    from a larger cluster that can spare them (the paper's footnote 3), or else joins the cluster
    with the nearest facility.
    """
    groups, group_of_atom = np.unique(number_of_atom, return_inverse=True)
    group_of_atom = group_of_atom.astype(np.int32)
    n_rows, asked = _sums(atoms, group_of_atom, len(groups))
    is_small = n_rows < asked
    batch_of_group = np.arange(len(groups))
    batch: list[int] = []
    for group in work.rng.permutation(np.flatnonzero(is_small)).tolist():
        batch.append(group)
        if n_rows[batch].sum() >= asked[batch].max():
            batch_of_group[batch] = batch[0]
            batch = []
    if batch:
        batch_of_group[batch] = batch[0]
    merged = batch_of_group[group_of_atom].astype(np.int32)
    if batch:
        merged = _placed(atoms, merged, batch[0], facility[groups], work)
    return merged


def _sums(
    atoms: Atoms, group_of_atom: NDArray[np.int32], n_groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_rows = np.zeros(n_groups, dtype=np.int64)
    np.add.at(n_rows, group_of_atom, atoms.weight)
    asked = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(asked, group_of_atom, atoms.need)
    return n_rows, asked


def _placed(
    atoms: Atoms,
    group_of_atom: NDArray[np.int32],
    left: int,
    facility: NDArray[np.int32],
    work: Work,
) -> NDArray[np.int32]:
    """Give the group that is still too small what it lacks, or give it away."""
    n_rows, asked = _sums(atoms, group_of_atom, len(facility))
    lacking = int(asked[left] - n_rows[left])
    near = facilities_at(atoms, facility[left : left + 1])
    _, distance = nearest_facilities(atoms, near, work)
    for group in np.argsort(-n_rows, kind="stable").tolist():
        if group == left or n_rows[group] - lacking < asked[group]:
            continue
        members = np.flatnonzero((group_of_atom == group) & (atoms.need <= asked[left]))
        members = members[np.argsort(distance[members], kind="stable")]
        n_after = np.cumsum(atoms.weight[members])
        n_taken = int(np.searchsorted(n_after, lacking)) + 1
        if n_taken <= len(members) and n_rows[group] - n_after[n_taken - 1] >= asked[group]:
            given = group_of_atom.copy()
            given[members[:n_taken]] = left
            return given
    others = np.flatnonzero((n_rows > 0) & (np.arange(len(facility)) != left))
    if not len(others):
        return group_of_atom
    joined = others[np.argmin(distance[facility[others]])]
    while True:
        given = np.where(group_of_atom == left, joined, group_of_atom).astype(np.int32)
        n_rows, asked = _sums(atoms, given, len(facility))
        is_short = (n_rows < asked) & (n_rows > 0)
        if not is_short.any():
            return given
        # somebody in it asks for more rows than the two have together: join the next
        group_of_atom, left = given, int(joined)
        others = np.flatnonzero((n_rows > 0) & (np.arange(len(facility)) != left))
        joined = others[np.argmax(n_rows[others])]
