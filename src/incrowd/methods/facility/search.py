"""The papers' ways from rows to groups: Alg. 1, Alg. 2 and the practical variant; small groups
merged, large groups cut.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError
from incrowd.methods.facility.location import (
    Atoms,
    Location,
    Work,
    atoms_of,
    best_of_orders,
    facilities_at,
    nearest_facilities,
    nearest_sums,
)
from incrowd.methods.facility.median import medians
from incrowd.methods.shared.of_sets.vote import Found, SetPromise, numbered_by_first_row
from incrowd.progress import Progress, silent
from incrowd.sets.sets import Sets

if TYPE_CHECKING:
    from incrowd.engines.base import Engine


MOST_MEMBERS = 4096
"""A larger group is first laid out by its members' first items and cut into spans: the cutting
itself looks at every member once per part."""


def cut_groups(atoms: Atoms, group_of_atom: NDArray[np.int32], work: Work) -> NDArray[np.int32]:
    """Return smaller groups, each of which still has the rows that its members ask for.

    Without personal k and equal rows every group then has k to 2k − 1 rows.
    """
    from incrowd.methods.facility.kernels.median import cut_group

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


# Step 5 of Alg. 2: clusters with fewer than k rows are merged up to k, and stay under 2k.


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


# The papers' ways from rows to groups: Alg. 1, Alg. 2 and the practical variant.

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
    from incrowd.methods.facility.kernels import location as location_kernels

    number_of_atom = location.number_of_atom.copy()
    distance_of_atom = location.distance_of_atom.copy()
    n_facilities = len(location.facility)
    state = (
        atoms.starts,
        atoms.items,
        atoms.weight,
        atoms.need,
        facilities_at(atoms, location.facility),
        location_kernels.clients_of(n_facilities, number_of_atom, atoms.weight, atoms.need),
        number_of_atom,
        distance_of_atom,
    )
    order = work.rng.permutation(n_facilities)
    work.progress("closing facilities", 0, 0)
    if cost is not None:
        location_kernels.close_dear(order, cost, *state)
    location_kernels.close_small(order, share, *state)
    return number_of_atom
