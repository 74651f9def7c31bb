"""Local search on masks: fewer masked cells, and everybody keeps their crowd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_end_wished
from incrowd.methods.adaptive.problem import Found, Problem
from incrowd.methods.adaptive.sweeps_crowds import Sorted, crowds_of, sweep_groups
from incrowd.methods.adaptive.sweeps_posterior import Posterior, posterior_of
from incrowd.progress import Progress, silent

STAGE = "unmasking cells"

MOST_PAIRS = 6_000_000_000
"""Pairs of profiles above which only rows of one group are held against each other."""

MARGIN = 1e-3
"""How far below 1/k beliefs are kept that no closed form settles: a check scales them anew."""

ROUNDING = 1e-6
"""How far a belief may seem to rise that did not: scaling ends a little short."""


def improve(
    problem: Problem,
    is_masked: NDArray[np.bool_],
    *,
    n_sweeps: int,
    is_bound: bool,
    seed: int,
    progress: Progress = silent,
) -> Found:
    """Unmask cells of masks that keep everybody's mutual crowd; nobody loses theirs.

    Never masks more cells in all than it was given. ``is_bound``: nobody's belief goes over 1/k,
    or over what it was: after every sweep beliefs are computed, and changes that touch whoever is
    over are undone until nobody is. Tables too large to hold all pairs against each other are
    swept inside groups of equal released rows; under ``is_bound`` they are left as they are. The
    seed orders the profiles. Raises ValueError where the masks given do not keep the crowds.
    """
    if is_masked.shape != (problem.n_rows, problem.n_cells):
        raise ValueError("one mask per row and one flag per cell")
    people = Sorted.of(problem)
    masks = np.ascontiguousarray(is_masked[people.rows])
    before = int(masks.sum())
    notes: tuple[str, ...] = ()
    n_changed = n_undone = n_done = 0
    if len(people.codes) ** 2 <= MOST_PAIRS:
        swept = _Sweeps(people, masks, is_bound, seed)
        n_done = swept.run(n_sweeps, progress)
        masks, n_changed, n_undone = swept.masks, swept.n_changed, swept.n_undone
    elif is_bound:
        notes = ("there are too many rows to compute beliefs: no cells were unmasked",)
    else:
        masks, n_changed = sweep_groups(people, masks, n_sweeps, seed, progress)
        n_done = n_sweeps
        notes = ("there are many rows: cells were unmasked inside groups alone",)
    found = np.empty_like(is_masked)
    found[people.rows] = masks
    figures = {
        "sweeps": n_done,
        "unmasked_cells": before - int(masks.sum()),
        "changed_rows": n_changed,
        "undone_rows": n_undone,
    }
    return Found(found, figures, notes)


class _Sweeps:
    """Masks that are swept: all rows against all."""

    def __init__(self, people: Sorted, masks: NDArray[np.bool_], is_bound: bool, seed: int) -> None:
        self.people = people
        self.masks = masks
        self.n_changed = self.n_undone = 0
        self._crowds = crowds_of(people, masks)
        if np.any(self._crowds.crowd < people.k):
            raise ValueError("the masks given do not keep everybody's crowd")
        self._random = np.random.default_rng(seed)
        self._is_open = np.ones(len(people.k), dtype=np.bool_)
        self._is_bound = is_bound
        self._most = np.full(len(people.k), 1.0 - MARGIN)
        if is_bound:
            self._posterior = self._believe(None)
            own = self._posterior.belief * people.k * (1.0 + ROUNDING)
            self._most = np.maximum(self._most, own)

    def run(self, n_sweeps: int, progress: Progress) -> int:
        """Sweep so many times, or until nothing changes or the end is wished; return how often."""
        for done in range(n_sweeps):
            progress(STAGE, done, n_sweeps, float(self.masks.mean()))
            if is_end_wished():
                return done
            n_changed = self._crowds.sweep(
                self._random.permutation(len(self.people.codes)), self._is_open
            )
            if not n_changed:
                return done
            before, self.masks = self.masks, self._crowds.masks
            if self._is_bound:
                self._undo(before)
            self.n_changed += int((before != self.masks).any(axis=1).sum())
        progress(STAGE, n_sweeps, n_sweeps, float(self.masks.mean()))
        return n_sweeps

    def _believe(self, before: Posterior | None) -> Posterior:
        people = self.people
        return posterior_of(people.problem, self.masks, people.profile_of_row, people.k, before)

    def _undo(self, before: NDArray[np.bool_]) -> None:
        """Undo changes until nobody is over, and nobody lost their crowd by that.

        Whoever is over or alone gets their own mask back; if they have it, the rows that they
        could be before get theirs; if there are none, all of the part in which they can be
        exchanged, at last all rows. With all masks back nobody is over, so it ends.
        """
        people = self.people
        while True:
            is_changed = (before != self.masks).any(axis=1)
            if is_end_wished() or not is_changed.any():
                self.masks = before
                self._crowds.masks = before
                return
            is_bad = self._crowds.crowd < people.k
            if not is_bad.any():
                self._posterior = posterior = self._believe(self._posterior)
                is_bad = ~posterior.is_certain & (posterior.belief * people.k > self._most)
            if not is_bad.any():
                return
            is_undone = is_bad & is_changed
            changed = np.flatnonzero(is_changed)
            wronged = np.unique(people.profile_of_row[is_bad & ~is_changed])
            is_undone[changed] |= people.that_lost(wronged, changed, before, self.masks)
            if not is_undone.any():
                parts = self._posterior.part_of_row
                is_undone = is_changed & np.isin(parts, parts[is_bad])
            if not is_undone.any():
                is_undone = is_changed
            self.masks = np.where(is_undone[:, None], before, self.masks)
            self._crowds.masks = self.masks
            self._is_open &= ~is_undone
            self.n_undone += int(is_undone.sum())
