"""What an attacker believes who matches people to rows: each person's share of all matchings.

The attacker knows everybody's original row and who is in the file, not k, and holds every perfect
matching of people to compatible rows for equally likely. P(v, v) is the share of matchings that
give v their own row.

Rows that are shown whole are settled by a closed form and leave with as many people of their
profile. Of the other pairs, those that lie in no perfect matching are dropped: the truth is one
matching, so a pair is in one if and only if its ends are strongly connected in the residual graph.
What is left falls into components that are matched independently of one another. A component in
which every pair fits, or with few enough states, is counted exactly; a larger one is scaled to
doubly stochastic form, which is an estimate, and a walk over matchings is held against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.adaptive.compatibility import Bounds, Edges
from incrowd.guarantees.adaptive.kernels import (
    enumerate_matchings,
    keep_inside,
    scale,
    strong_components,
    walk_matchings,
)
from incrowd.guarantees.adaptive.people import People

RESIDUAL = 1e-6
"""The largest error of a person's summed belief that an estimate may have."""

MOST_STATES = 1 << 18
"""States up to which a component is enumerated: 18 people, or more where rows are equal."""

MOST_ENUMERATED = 150_000_000
"""Steps of all enumerations together; components beyond it are estimated."""

MOST_SCALED, LITTLE_SCALED = 60_000_000_000, 500_000_000
"""Pairs times iterations up to which one component is scaled: to decide, and to inform."""

MOST_WATCHED, WALK_STEPS, N_BATCHES = 64, 8_000_000, 12


@dataclass(frozen=True, eq=False)
class Components:
    """The pairs that lie in a perfect matching, component by component.

    Profiles and patterns are numbered anew by component: *places*. ``profiles[place]`` and
    ``patterns[place]`` are their numbers among the people's; component c has the places from
    ``profile_start[c]`` and ``pattern_start[c]``. ``kept[kept_start[pattern]:…]`` are the places of
    the profiles that a pattern's place is paired with, rising.
    """

    profiles: NDArray[np.int64]
    patterns: NDArray[np.int64]
    profile_start: NDArray[np.int64]
    pattern_start: NDArray[np.int64]
    kept_start: NDArray[np.int64]
    kept: NDArray[np.int32]
    n_people: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_dropped: int

    @property
    def n(self) -> int:
        """How many components there are."""
        return len(self.profile_start) - 1

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many people each component has."""
        return np.add.reduceat(self.n_people, self.profile_start[:-1])

    @cached_property
    def n_pairs(self) -> NDArray[np.int64]:
        """How many pairs each component has."""
        return np.diff(self.kept_start[self.pattern_start])

    @cached_property
    def is_complete(self) -> NDArray[np.bool_]:
        """In which components every profile fits every pattern."""
        n_possible = np.diff(self.profile_start) * np.diff(self.pattern_start)
        return np.asarray(self.n_pairs == n_possible)

    @cached_property
    def n_states(self) -> NDArray[np.float64]:
        """How many states an enumeration by patterns, and one by profiles, would have."""
        by_pattern = np.add.reduceat(np.log2(self.n_rows + 1.0), self.pattern_start[:-1])
        by_profile = np.add.reduceat(np.log2(self.n_people + 1.0), self.profile_start[:-1])
        return np.asarray(np.exp2(np.minimum(np.stack([by_pattern, by_profile]), 200.0)))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Every person's P(v, v): exact, estimated, or no more than a bound.

    ``is_estimated`` marks estimates by scaling; ``is_open`` people whose component did not settle
    within the bounds, of whom only the closed form is known.
    """

    belief: NDArray[np.float64]
    is_exact: NDArray[np.bool_]
    is_estimated: NDArray[np.bool_]
    is_open: NDArray[np.bool_]
    figures: dict[str, int | float | None] = field(default_factory=dict)

    @classmethod
    def bounded(cls, bounds: Bounds) -> Posterior:
        """Return what the closed forms alone say."""
        nobody = np.zeros(len(bounds.posterior), dtype=np.bool_)
        return cls(bounds.posterior, bounds.is_exact, nobody, nobody)


def components_of(people: People, edges: Edges) -> Components:
    """Drop every pair that lies in no perfect matching, and find the connected components."""
    profiles, patterns, kinds = people.profiles, people.patterns, people.kinds
    is_masked = (patterns.cells < 0).any(axis=1)
    n_people = np.bincount(profiles.of_row[is_masked[patterns.of_row]], minlength=profiles.n)
    is_active = np.concatenate([n_people > 0, is_masked])
    order = np.argsort(kinds.cells[:, 1], kind="stable")
    n_back = np.bincount(kinds.cells[:, 1], minlength=patterns.n)
    component = np.full(profiles.n + patterns.n, -1, dtype=np.int32)
    n_components = strong_components(
        edges.out_start,
        edges.pattern_of_edge,
        np.concatenate([[0], np.cumsum(n_back)]).astype(np.int64),
        np.ascontiguousarray(kinds.cells[order, 0]),
        is_active,
        component,
    )
    of_profile, of_pattern = component[: profiles.n], component[profiles.n :]
    profile_places, profile_start = _by_component(of_profile, n_components)
    pattern_places, pattern_start = _by_component(of_pattern, n_components)
    place_of_profile = np.full(profiles.n, -1, dtype=np.int64)
    place_of_profile[profile_places] = np.arange(len(profile_places))
    kept_start = np.zeros(len(pattern_places) + 1, dtype=np.int64)
    given = (
        pattern_places, edges.edge_start, edges.profile_of_edge, of_profile, of_pattern,
        place_of_profile, kept_start,
    )  # fmt: skip
    keep_inside(*given, np.empty(0, dtype=np.int32))
    np.cumsum(kept_start, out=kept_start)
    kept = np.empty(int(kept_start[-1]), dtype=np.int32)
    keep_inside(*given, kept)
    return Components(
        profile_places,
        pattern_places,
        profile_start,
        pattern_start,
        kept_start,
        kept,
        n_people[profile_places].astype(np.int64),
        patterns.counts[pattern_places],
        edges.n - len(kept) - int((~is_masked).sum()),
    )


def compute_posterior(
    people: People,
    bounds: Bounds,
    edges: Edges,
    *,
    walk_seed: int | None = None,
    informs_only: bool = False,
) -> Posterior:
    """Return everybody's posterior, exactly where that is possible and estimated elsewhere.

    Whatever is estimated is never above the closed form's bound. With a seed, a walk over
    matchings is held against the estimates. Where the result only informs, less work is done.
    """
    components = components_of(people, edges)
    belief, is_exact = bounds.posterior.copy(), bounds.is_exact.copy()
    is_estimated, is_open = (np.zeros(people.n, dtype=np.bool_) for _ in range(2))
    figures: dict[str, int | float | None] = {
        "n_pairs": edges.n,
        "n_pairs_in_no_matching": components.n_dropped,
        "n_components": components.n,
        "largest_component": int(components.size.max()) if components.n else 0,
    }
    masked = np.flatnonzero(~bounds.is_exact)
    if not len(masked):
        return Posterior(belief, is_exact, is_estimated, is_open, figures)
    profile, pattern = _places(people, components, masked)
    component = np.searchsorted(components.pattern_start, pattern, side="right") - 1
    most_scaled = LITTLE_SCALED if informs_only else MOST_SCALED
    among_rest, way = _beliefs(components, component, profile, pattern, most_scaled, figures)
    # of z people with this original, only those without a whole row take part
    z = people.profiles.counts[people.profiles.of_row[masked]]
    share = among_rest * components.n_people[profile] / z
    is_settled = way[component] != OPEN
    belief[masked[is_settled]] = np.minimum(share, bounds.posterior[masked])[is_settled]
    is_exact[masked] = way[component] == EXACT
    is_estimated[masked] = way[component] == SCALED
    is_open[masked] = ~is_settled
    if walk_seed is not None and is_estimated.any():
        is_scaled = way[component] == SCALED
        figures |= _walk(
            people, bounds, components, masked[is_scaled], profile[is_scaled],
            pattern[is_scaled], among_rest[is_scaled], walk_seed,
        )  # fmt: skip
    return Posterior(belief, is_exact, is_estimated, is_open, figures)


EXACT, SCALED, OPEN = 0, 1, 2


def _beliefs(
    components: Components,
    component: NDArray[np.int64],
    profile: NDArray[np.int64],
    pattern: NDArray[np.int64],
    most_scaled: int,
    figures: dict[str, int | float | None],
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return each person's belief within their component, and how each component was settled."""
    belief = 1.0 / components.size[component]
    way = np.zeros(components.n, dtype=np.int8)
    people_order = np.argsort(component, kind="stable")
    people_start = np.searchsorted(component[people_order], np.arange(components.n + 1))
    n_types = np.stack([np.diff(components.pattern_start), np.diff(components.profile_start)])
    work = (components.n_states * n_types).min(axis=0)
    left = np.flatnonzero(~components.is_complete)
    left = left[np.argsort(work[left], kind="stable")]
    n_steps, n_iterations, worst, n_enumerated = 0.0, 0, 0.0, 0
    for number in left.tolist():
        members = people_order[people_start[number] : people_start[number + 1]]
        n_steps += float(work[number])
        is_small = components.n_states[:, number].min() <= MOST_STATES
        if is_small and n_steps <= MOST_ENUMERATED:
            n_enumerated += 1
            found = _enumerate(components, number)
            belief[members] = found[
                profile[members] - components.profile_start[number],
                pattern[members] - components.pattern_start[number],
            ]
            continue
        of_profile, of_pattern, residual, n_done = _scale(components, number, most_scaled)
        n_iterations = max(n_iterations, n_done)
        way[number] = SCALED if residual <= RESIDUAL else OPEN
        if residual <= RESIDUAL:
            worst = max(worst, residual)
            belief[members] = (
                of_profile[profile[members] - components.profile_start[number]]
                * of_pattern[pattern[members] - components.pattern_start[number]]
            )
    figures |= {
        "n_complete_components": int(components.is_complete.sum()),
        "n_enumerated_components": n_enumerated,
        "n_scaled_components": int((way == SCALED).sum()),
        "n_unsettled_components": int((way == OPEN).sum()),
        "residual": worst,
        "n_iterations": n_iterations,
    }
    return belief, way


def _enumerate(components: Components, number: int) -> NDArray[np.float64]:
    """Return the belief of each (profile, pattern) of a component, counted exactly."""
    profiles = slice(*components.profile_start[number : number + 2])
    patterns = slice(*components.pattern_start[number : number + 2])
    n_people, n_rows = components.n_people[profiles], components.n_rows[patterns]
    fits = np.zeros((len(n_people), len(n_rows)), dtype=np.bool_)
    start = components.kept_start[patterns.start : patterns.stop + 1]
    of_pair = np.repeat(np.arange(len(n_rows)), np.diff(start))
    fits[components.kept[start[0] : start[-1]] - profiles.start, of_pair] = True
    belief = np.zeros(fits.shape)
    if components.n_states[0, number] <= components.n_states[1, number]:
        enumerate_matchings(n_people, n_rows, fits, belief)
        return belief
    turned = np.zeros(fits.T.shape)
    enumerate_matchings(n_rows, n_people, np.ascontiguousarray(fits.T), turned)
    return turned.T


def _scale(
    components: Components, number: int, most_scaled: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    profiles = slice(*components.profile_start[number : number + 2])
    patterns = slice(*components.pattern_start[number : number + 2])
    start = components.kept_start[patterns.start : patterns.stop + 1]
    n_pairs = int(start[-1] - start[0])
    of_profile = np.empty(profiles.stop - profiles.start)
    of_pattern = np.empty(patterns.stop - patterns.start)
    residual, n_done = scale(
        start,
        components.kept,
        components.n_people[profiles],
        components.n_rows[patterns],
        int(profiles.start),
        of_profile,
        of_pattern,
        max(200, min(100_000, most_scaled // n_pairs)),
        RESIDUAL,
    )
    return of_profile, of_pattern, float(residual), int(n_done)


def _walk(
    people: People,
    bounds: Bounds,
    components: Components,
    persons: NDArray[np.int64],
    profile: NDArray[np.int64],
    pattern: NDArray[np.int64],
    estimate: NDArray[np.float64],
    seed: int,
) -> dict[str, int | float | None]:
    """Hold the estimates of those who are worst off against sampled matchings.

    Worst off are first those whom no closed form settles. ``walk_n_over`` counts those whom the
    walk, but not the estimate, puts over 1/k by more than four standard errors.
    """
    z = people.profiles.counts[people.profiles.of_row[persons]]
    k_of_rest = people.k[persons] * components.n_people[profile] / z
    risk = estimate * k_of_rest
    is_settled = bounds.posterior[persons] * people.k[persons] <= 1.0
    worst = np.lexsort((-risk, is_settled))[: 4 * MOST_WATCHED]
    _, first = np.unique(people.kinds.of_row[persons[worst]], return_index=True)
    watched = worst[np.sort(first)[:MOST_WATCHED]]
    watch_of_profile = np.full(len(components.profiles), -1, dtype=np.int32)
    next_watch = np.full(len(watched), -1, dtype=np.int32)
    for watch, person in enumerate(watched.tolist()):
        next_watch[watch] = watch_of_profile[profile[person]]
        watch_of_profile[profile[person]] = watch
    n_of_profile = np.bincount(profile, minlength=len(components.profiles))
    seen = np.zeros((N_BATCHES, len(watched)))
    generator = np.random.default_rng(seed)
    n_steps = min(WALK_STEPS, 20_000 * len(persons))
    walk_matchings(
        profile.astype(np.int32),
        pattern.astype(np.int32),
        np.argsort(profile, kind="stable").astype(np.int64),
        np.concatenate([[0], np.cumsum(n_of_profile)]).astype(np.int64),
        components.kept_start,
        components.kept,
        pattern[watched].astype(np.int32),
        watch_of_profile,
        next_watch,
        n_steps,
        N_BATCHES,
        generator.integers(1, 1 << 62, 1),
        seen,
    )
    pairs = components.n_people[profile[watched]] * components.n_rows[pattern[watched]]
    settled = seen[N_BATCHES // 4 :] / pairs  # the first batches remember the true matching
    ratio = settled / estimate[watched]
    of_batch = ratio.mean(axis=1)
    risks = settled * k_of_rest[watched]
    surely = risks.mean(axis=0) - 4 * risks.std(axis=0, ddof=1) / np.sqrt(len(risks))
    is_over = (surely > 1.0) & (risk[watched] <= 1.0) & ~is_settled[watched]
    return {
        "walk_n_over": int(is_over.sum()),
        "walk_n_watched": len(watched),
        "walk_n_steps": n_steps,
        "walk_mean_ratio": float(of_batch.mean()),
        "walk_mean_ratio_error": float(of_batch.std(ddof=1) / np.sqrt(len(of_batch))),
        "walk_mean_difference": float(np.abs(settled.mean(axis=0) - estimate[watched]).mean()),
        "walk_largest_difference": float(np.abs(settled.mean(axis=0) - estimate[watched]).max()),
    }


def _by_component(
    component: NDArray[np.int32], n_components: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the active nodes by component, and where each component's begin."""
    active = np.flatnonzero(component >= 0)
    order = active[np.argsort(component[active], kind="stable")].astype(np.int64)
    return order, np.searchsorted(component[order], np.arange(n_components + 1)).astype(np.int64)


def _places(
    people: People, components: Components, persons: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of some people's profiles and patterns."""
    place_of_profile = np.full(people.profiles.n, -1, dtype=np.int64)
    place_of_profile[components.profiles] = np.arange(len(components.profiles))
    place_of_pattern = np.full(people.patterns.n, -1, dtype=np.int64)
    place_of_pattern[components.patterns] = np.arange(len(components.patterns))
    return (
        place_of_profile[people.profiles.of_row[persons]],
        place_of_pattern[people.patterns.of_row[persons]],
    )
