"""Alg. 1: medians with at least k rows each, by greedy stars and local search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_stop_requested
from incrowd.methods.facility.location import Atoms, Work, facilities_at, nearest_facilities
from incrowd.progress import Progress

ATOMS_PER_SLICE = 512

MOST_ROUNDS = 20
"""Rounds of local search at most; the total falls in each, soon by next to nothing."""


def medians(atoms: Atoms, cost: NDArray[np.float64], work: Work) -> NDArray[np.int32]:
    """Return the star of each atom: at least k rows in each, near to one of them.

    Stars are taken around atoms in the order of their ``cost``, the sum of distances to their k
    nearest rows: tight places first. Rows left over join their nearest centres. Then atoms move to
    nearer centres while stars keep k rows, and each star takes its best member for a centre.
    """
    from incrowd.methods.facility.kernels import median as median_kernels

    stars = median_kernels.no_stars(atoms.starts, atoms.holder_starts, atoms.holders, atoms.weight)
    order = np.lexsort((work.rng.random(atoms.n_atoms), cost))
    for first in range(0, atoms.n_atoms, ATOMS_PER_SLICE):
        work.progress("taking stars", first, atoms.n_atoms)
        median_kernels.take_stars(
            first,
            min(first + ATOMS_PER_SLICE, atoms.n_atoms),
            order,
            atoms.starts,
            atoms.items,
            atoms.holder_starts,
            atoms.weight,
            atoms.need,
            stars,
        )
    n_stars = int(stars.counters[0])
    centre = stars.centre[:n_stars].copy()
    star_of_atom = stars.star_of_atom.copy()
    is_left = star_of_atom < 0
    if is_left.any():
        nearest, _ = nearest_facilities(atoms, facilities_at(atoms, centre), work)
        star_of_atom[is_left] = nearest[is_left]
        star_of_atom = _joined(atoms, centre, star_of_atom)
    return _improved(atoms, star_of_atom, work.progress, work)


def _joined(
    atoms: Atoms, centre: NDArray[np.int32], star_of_atom: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Let stars that became too small for a newcomer's own k join the largest star."""
    while True:
        n_rows, asked = _sums(atoms, star_of_atom, len(centre))
        is_short = (n_rows < asked) & (n_rows > 0)
        if not is_short.any():
            return star_of_atom
        n_rows[is_short] = -1
        largest = int(np.argmax(n_rows))
        if is_short.all():
            return np.zeros_like(star_of_atom)
        star_of_atom = np.where(is_short[star_of_atom], largest, star_of_atom).astype(np.int32)


def _sums(
    atoms: Atoms, star_of_atom: NDArray[np.int32], n_stars: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_rows = np.zeros(n_stars, dtype=np.int64)
    np.add.at(n_rows, star_of_atom, atoms.weight)
    asked = np.zeros(n_stars, dtype=np.int64)
    np.maximum.at(asked, star_of_atom, atoms.need)
    return n_rows, asked


def _improved(
    atoms: Atoms, star_of_atom: NDArray[np.int32], progress: Progress, work: Work
) -> NDArray[np.int32]:
    """Move atoms and centres in turn while the total distance falls."""
    from incrowd.methods.facility.kernels import median as median_kernels

    _, star_of_atom = np.unique(star_of_atom, return_inverse=True)
    star_of_atom = star_of_atom.astype(np.int32)
    n_stars = int(star_of_atom.max()) + 1
    centre = np.full(n_stars, -1, dtype=np.int32)
    for round_number in range(MOST_ROUNDS):
        progress("moving rows to nearer centres", round_number, MOST_ROUNDS)
        members = np.argsort(star_of_atom, kind="stable").astype(np.int32)
        member_starts = np.searchsorted(star_of_atom[members], np.arange(n_stars + 1))
        median_kernels.best_centres(
            member_starts.astype(np.int64),
            members,
            atoms.starts,
            atoms.items,
            atoms.weight,
            atoms.n_items,
            centre,
        )
        nearest, nearest_distance = nearest_facilities(atoms, facilities_at(atoms, centre), work)
        distance = median_kernels.distances_to(star_of_atom, centre, atoms.starts, atoms.items)
        n_rows, asked = _sums(atoms, star_of_atom, n_stars)
        n_moved = median_kernels.move_nearer(
            nearest,
            distance,
            nearest_distance,
            atoms.weight,
            atoms.need,
            n_rows,
            asked,
            star_of_atom,
        )
        if not n_moved or is_stop_requested():
            break
    return star_of_atom
