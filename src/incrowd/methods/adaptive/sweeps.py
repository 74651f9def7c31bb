"""Local search on masks: fewer masked cells, and everybody keeps their crowd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.interrupts import is_end_wished
from incrowd.methods.adaptive.problem import Found, Problem
from incrowd.methods.adaptive.sweeps_crowds import Sorted, crowds_of, equal_released, sweep_groups
from incrowd.methods.adaptive.sweeps_posterior import FINE, ROUGH, Posterior, posterior_of
from incrowd.progress import Progress, silent

STAGE = "unmasking cells"

MOST_PAIRS, MOST_BOUND_PAIRS = 6_000_000_000, 1_000_000_000
"""Pairs of profiles above which only rows of one group are held against each other; and above
which beliefs are not computed."""

MARGIN = 1e-3
"""How far below 1/k beliefs are kept that no closed form settles: a check scales them anew."""

ASK_MORE, ASK_OVER = 1.2, 1.05
"""How much larger a crowd a row must find whose change was undone; also by how far it was over."""

LOSERS_AT_ONCE, NEAR_AT_ONCE = 2, 8
"""One in so many of the rows that left somebody, or are merely like them, is undone before beliefs
are computed anew."""

ROUNDING, COUNT_ROUNDING = 1e-6, 1e-9
"""How far a belief may seem to rise that did not: scaling ends a little short; and how far one
that is counted may seem above 1/k."""


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
    swept inside groups of equal released rows; under ``is_bound`` they are left as they are.
    Raises ValueError where the masks given do not keep the crowds.
    """
    if is_masked.shape != (problem.n_rows, problem.n_cells):
        raise ValueError("one mask per row and one flag per cell")
    people = Sorted.of(problem)
    masks = np.ascontiguousarray(is_masked[people.rows])
    before = int(masks.sum())
    notes: tuple[str, ...] = ()
    n_changed = n_undone = n_done = 0
    if len(people.codes) ** 2 <= (MOST_BOUND_PAIRS if is_bound else MOST_PAIRS):
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
        self._asked = people.k.copy()
        self._is_bound = is_bound
        self._most = np.full(len(people.k), 1.0 - MARGIN)
        if is_bound:
            self._given, self._posterior = masks, self._believe(None, FINE)
            self._given_posterior = self._posterior
            given = self._posterior.belief * people.k * (1.0 + ROUNDING)
            is_open = ~self._posterior.is_certain
            self._most[is_open] = np.maximum(self._most, given)[is_open]

    def run(self, n_sweeps: int, progress: Progress) -> int:
        """Sweep so many times, or until nothing changes or the end is wished; return how often."""
        for done in range(n_sweeps):
            progress(STAGE, done, n_sweeps, float(self.masks.mean()))
            if is_end_wished():
                return done
            if not self._crowds.sweep(self.people.in_turn(self._random), self._asked):
                return done
            before, self.masks = self.masks, self._crowds.masks
            if self._is_bound:
                self._undo(before)
            self.n_changed += int((before != self.masks).any(axis=1).sum())
        progress(STAGE, n_sweeps, n_sweeps, float(self.masks.mean()))
        return n_sweeps

    def _ask_more(self, is_undone: NDArray[np.bool_]) -> None:
        """Have rows whose change was undone try a larger crowd next time."""
        over = np.where(self._posterior.is_certain, 1.0, self._posterior.belief * self.people.k)
        more = np.ceil(np.maximum(self._asked * ASK_MORE, self.people.k * over * ASK_OVER))
        self._asked[is_undone] = more[is_undone].astype(np.int64)

    def _believe(self, before: Posterior | None, residual: float) -> Posterior:
        people = self.people
        return posterior_of(
            people.problem, self.masks, people.profile_of_row, people.k, before, residual
        )

    def _undo(self, before: NDArray[np.bool_]) -> None:
        """Undo changes until nobody is over, and nobody lost their crowd by that.

        Whoever is over or alone gets their own mask back; if all of them have it, rows that can
        help them get theirs. With all masks back nobody is over, so it ends.
        """
        people, residual = self.people, ROUGH
        while True:
            is_changed = (before != self.masks).any(axis=1)
            if is_end_wished() or not is_changed.any():
                self.masks = before
                self._crowds.masks = before
                return
            is_bad = self._crowds.crowd < people.k
            if not is_bad.any():
                self._posterior = posterior = self._believe(self._posterior, residual)
                is_bad = ~posterior.is_certain & (posterior.belief * people.k > self._most)
            if not is_bad.any():
                if residual == ROUGH:
                    residual = FINE
                    continue
                is_bad = self._unproven()
                if not is_bad.any():
                    return
            is_undone = is_bad & is_changed
            if not is_undone.any():
                is_undone = self._losers(is_bad, is_changed, before)
                self._asked[is_bad] = len(people.k) + 1  # nobody may leave them any more
            self.masks = np.where(is_undone[:, None], before, self.masks)
            self._crowds.masks = self.masks
            self._ask_more(is_undone)
            self.n_undone += int(is_undone.sum())

    def _unproven(self) -> NDArray[np.bool_]:
        """Return of whom nothing shows that a check will find them within 1/k.

        A bound above 1/k that did not rise shows nothing, nor does an estimate within a bound.
        They are counted, unless all of their part is as it was given.
        """
        people, now, given = self.people, self._posterior, self._given_posterior
        is_low = now.belief * people.k <= 1.0 - MARGIN
        is_settled = now.is_estimated & (given.is_estimated | is_low)
        is_open = ~now.is_certain & ~is_settled & ~self._is_as_given()
        if now.matchings is not None and is_open.any():
            counted = now.matchings.count(is_open)
            is_open &= counted * people.k > 1.0 + COUNT_ROUNDING
        return is_open

    def _is_as_given(self) -> NDArray[np.bool_]:
        """Return whose part has the rows and masks that it had at the start, and so its beliefs."""
        part, part_given = self._posterior.part_of_row, self._given_posterior.part_of_row
        rows = np.flatnonzero(part >= 0)
        _, first, of_row = np.unique(part[rows], return_index=True, return_inverse=True)
        given_of_row = part_given[rows][first][of_row]
        is_same = (self.masks[rows] == self._given[rows]).all(axis=1)
        is_same &= part_given[rows] == given_of_row
        n_same = np.bincount(of_row, is_same)
        is_whole = (n_same == np.bincount(of_row))[of_row]
        is_whole &= n_same[of_row] == np.bincount(part_given[part_given >= 0])[given_of_row]
        is_as_given = np.zeros(len(part), dtype=np.bool_)
        is_as_given[rows] = is_whole
        return is_as_given

    def _losers(
        self, is_bad: NDArray[np.bool_], is_changed: NDArray[np.bool_], before: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return some of the changed rows whose old masks help people who are over or alone.

        Those that were shown like one of them: back together they are certified again, if they
        were. If there are none, half of those that left them, those first that left most of them;
        if there are none, some that differ from them least.
        """
        people = self.people
        _, group = equal_released(people.problem, before, np.arange(len(is_bad)))
        is_mate = is_changed & np.isin(group, group[is_bad])
        if is_mate.any():
            return is_mate
        changed = np.flatnonzero(is_changed)
        profiles = np.unique(people.profile_of_row[is_bad])
        n_lost = people.count_lost(profiles, changed, before, self.masks)
        losers = changed[np.argsort(-n_lost, kind="stable")][: int((n_lost > 0).sum())]
        n_undone = -(-len(losers) // LOSERS_AT_ONCE)
        if not len(losers):
            away = np.full(len(changed), people.problem.n_attributes)
            for profile in profiles:
                differs = people.problem.codes[:, changed] != people.codes[profile][:, None]
                away = np.minimum(away, differs.sum(axis=0))
            losers = changed[np.argsort(away, kind="stable")]
            n_undone = -(-len(losers) // NEAR_AT_ONCE)
        is_loser = np.zeros(len(is_bad), dtype=np.bool_)
        is_loser[losers[:n_undone]] = True
        return is_loser
