"""The papers' ways from rows to groups: Alg. 1, Alg. 2 and the practical variant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.data.sets import Sets
from incrowd.errors import InfeasibleError
from incrowd.methods.facility.atoms import Atoms, atoms_of
from incrowd.methods.facility.cut import cut_groups
from incrowd.methods.facility.location import (
    Location,
    Work,
    best_of_orders,
    facilities_at,
    nearest_sums,
)
from incrowd.methods.facility.median import medians
from incrowd.methods.facility.merge import merge_small
from incrowd.methods.sets.found import Found, numbered_by_first_row
from incrowd.methods.sets.promise import SetPromise
from incrowd.progress import Progress, silent

if TYPE_CHECKING:
    from incrowd.engines.base import Engine

PRACTICAL, ALG1, ALG2 = "practical", "alg1", "alg2"

VARIANTS = (PRACTICAL, ALG1, ALG2)


def search(
    sets: Sets,
    promise: SetPromise,
    *,
    variant: str = PRACTICAL,
    alpha: float = 0.5,
    beta: float = 2.0,
    orders: int = 10,
    cut: bool = True,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Found:
    """Return groups of at least as many rows as the most demanding of them asks for.

    Esfandiari et al. 2022, §5 and Appendix D. Deviations: the cited approximation algorithms are
    replaced by Meyerson's on random orders (practical, alg2; there with facilities closed while
    that pays off) and by greedy stars with local search (alg1), so no factor is claimed; rows with
    equal sets always stay together; with ``cut`` groups of 2k rows and more are cut.
    The seed decides; threads do not.
    """
    largest = max(promise.k, int(promise.needs(sets.n_rows).max(initial=0)))
    if largest > sets.n_rows:
        raise InfeasibleError(
            f"a group of {largest} is asked for, and there are {sets.n_rows} rows",
            remedy=f"The largest k that can be kept is {sets.n_rows}.",
        )
    n_threads = 1 if engine is None else max(1, min(engine.n_workers, os.cpu_count() or 1))
    work = Work(np.random.default_rng([seed, 0x0FAC]), n_threads, progress)
    atoms = atoms_of(sets, promise)
    figures: dict[str, object] = {"variant": variant, "n_distinct_rows": atoms.n_atoms}
    if variant == ALG1:
        tightness = nearest_sums(atoms, atoms.need, work).astype(np.float64)
        group_of_atom = medians(atoms, tightness, work)
    elif variant == ALG2:
        group_of_atom = _alg2(atoms, alpha, orders, work, figures)
    else:
        group_of_atom = _practical(atoms, beta, orders, work, figures)
    figures["n_clusters"] = len(np.unique(group_of_atom))
    if cut:
        group_of_atom = cut_groups(atoms, group_of_atom, work)
    group_of_row = numbered_by_first_row(group_of_atom[atoms.atom_of_row])
    figures["n_groups"] = int(group_of_row.max()) + 1
    return Found(group_of_row, figures)


def _practical(
    atoms: Atoms, beta: float, orders: int, work: Work, figures: dict[str, object]
) -> NDArray[np.int32]:
    """Appendix D: α = 1/β, costs over the βk nearest, then close every cluster under k."""
    n_nearest = np.ceil(beta * atoms.need).astype(np.int64)
    cost = _factor(1.0 / beta) * nearest_sums(atoms, n_nearest, work)
    location = best_of_orders(atoms, cost, orders, work)
    figures |= {"facility_cost": location.cost, "n_opened": len(location.facility)}
    return _closed(atoms, location, 1.0, None, work)


def _alg2(
    atoms: Atoms, alpha: float, orders: int, work: Work, figures: dict[str, object]
) -> NDArray[np.int32]:
    """§5.3: costs over the k nearest; close clusters under αk, merge those under k."""
    cost = _factor(alpha) * nearest_sums(atoms, atoms.need, work)
    location = best_of_orders(atoms, cost, orders, work)
    figures |= {"facility_cost": location.cost, "n_opened": len(location.facility)}
    number_of_atom = _closed(atoms, location, alpha, cost, work)
    figures["n_clusters_before_merge"] = len(np.unique(number_of_atom))
    return merge_small(atoms, number_of_atom, location.facility, work)


def _factor(alpha: float) -> float:
    return 2.0 * alpha / (1.0 - alpha)


def _closed(
    atoms: Atoms,
    location: Location,
    share: float,
    cost: NDArray[np.float64] | None,
    work: Work,
) -> NDArray[np.int32]:
    """Close facilities with too few rows, in an order drawn by the seed; return who is whose.

    With ``cost`` those are closed first whose closing makes the whole cheaper.
    """
    from incrowd.methods.facility import kernel_location

    number_of_atom = location.number_of_atom.copy()
    distance_of_atom = location.distance_of_atom.copy()
    n_facilities = len(location.facility)
    state = (
        atoms.starts,
        atoms.items,
        atoms.weight,
        atoms.need,
        facilities_at(atoms, location.facility),
        kernel_location.clients_of(n_facilities, number_of_atom, atoms.weight, atoms.need),
        number_of_atom,
        distance_of_atom,
    )
    order = work.rng.permutation(n_facilities)
    work.progress("closing facilities", 0, 0)
    if cost is not None:
        kernel_location.close_dear(order, cost, *state)
    kernel_location.close_small(order, share, *state)
    return number_of_atom
