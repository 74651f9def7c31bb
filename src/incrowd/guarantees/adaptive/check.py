"""The check of adaptive anonymity: three levels, each person held against all released rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.guarantees.adaptive.compatibility import (
    FEW_EDGES,
    FEW_TESTS,
    MOST_EDGES,
    MOST_TESTS,
    Bounds,
    Compatibility,
    Crowds,
    compatible_pairs,
    count_crowds,
)
from incrowd.guarantees.adaptive.people import (
    People,
    measure_star_disclosure,
    people_of,
    report_shown_cells,
)
from incrowd.guarantees.adaptive.posterior import Posterior, compute_posterior
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Evidence, Finding

if TYPE_CHECKING:
    from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity


RATIOS = (0.5, 1.0, 1.5, 2.0, 5.0)
"""Where the bins of achieved over wished crowds end."""


def compare_with_requested_k(
    achieved: NDArray[np.int64], wished: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the smallest crowd, the worst case against its wish, and all of them in bins."""
    return {
        "smallest_crowd": int(achieved.min()),
        "largest_wish": int(wished.max()),
        "least_above_wish": int((achieved - wished).min()),
        "achieved_over_wished": histogram(achieved / wished),
    }


def histogram(ratio: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of people by achieved over wished crowd."""
    names = [f"below {RATIOS[0]:g}"]
    names += [f"{low:g} to {high:g}" for low, high in pairwise(RATIOS)]
    names.append(f"{RATIOS[-1]:g} or more")
    counts = np.bincount(np.searchsorted(RATIOS, ratio, side="right"), minlength=len(names))
    return {name: float(count) / len(ratio) for name, count in zip(names, counts, strict=True)}


def interval(name: str, n_met: int, n_drawn: int, n_of: int) -> dict[str, Any]:
    """Return Wilson's 95% interval of how many of ``n_of`` people are met (Wilson 1927)."""
    z = 1.959964
    share = n_met / n_drawn
    middle = share + z * z / (2 * n_drawn)
    half = z * math.sqrt(share * (1 - share) / n_drawn + z * z / (4 * n_drawn * n_drawn))
    low, high = ((middle + sign * half) / (1 + z * z / n_drawn) for sign in (-1, 1))
    return {
        "is_estimated": True,
        f"{name}_at_least": math.floor(max(low, 0.0) * n_of),
        f"{name}_at_most": math.ceil(min(high, 1.0) * n_of),
    }


# The check of adaptive anonymity: three levels, each person held against all released rows.

LITERAL, MUTUAL, POSTERIOR = "literal compatibility", "mutual compatibility", "posterior"

EXACT_TOLERANCE, ESTIMATE_TOLERANCE = 1e-9, 1e-6
"""How far P·k may be above 1: rounding of exact figures, and the residual of estimates."""

MOST_TOO_LOW = 2.4
"""How many times too low an estimate by scaling was found to be, at worst, on 15 people."""

SEED = 0
"""Of samples, walks and revealed people: a check gives the same answer every time."""


def check_people(guarantee: AdaptiveAnonymity, evidence: Evidence) -> list[Finding]:
    """Return the findings of all levels, and what else was asked to be measured.

    Raises InputError ("could not check") where a level can be neither affirmed nor denied within
    the bounds of ``compatibility`` and ``posterior``.
    """
    people = _people(guarantee, evidence)
    if not people.n or people.is_untrue.any():
        return _settled_at_once(people)
    bounds = Bounds.of(people)
    is_sure = bool((bounds.crowd >= people.k).all()) and not _is_over_bound(people, bounds).any()
    most_tests, most_edges = (FEW_TESTS, FEW_EDGES) if is_sure else (MOST_TESTS, MOST_EDGES)
    pairs = compatible_pairs(people, most_tests, most_edges)
    crowds = count_crowds(people, bounds, pairs, SEED, most_tests)
    is_report = guarantee.posterior == "report"
    findings, open_levels = [], []
    for name, achieved, is_counted in (
        (LITERAL, crowds.literal, crowds.is_literal_counted),
        (MUTUAL, crowds.mutual, crowds.is_mutual_counted),
    ):
        finding, is_open = _crowd_finding(name, people, crowds, achieved, is_counted)
        findings.append(finding)
        if is_open and not is_report:
            open_levels.append(name)
    try:
        findings.append(_posterior_finding(people, bounds, pairs, is_report))
    except InputError as error:
        if all(finding.holds is not False for finding in findings):
            raise
        findings.append(_finding(POSTERIOR, None, error.what))
    if open_levels and all(finding.holds is not False for finding in findings):
        raise InputError(
            f"could not check {' and '.join(open_levels)}: {crowds.n_unsettled} people's crowds "
            f"take more than {MOST_TESTS:,} comparisons of rows",
            remedy="State --posterior report for an estimate from a sample, or use --search "
            "partition, whose releases are certified without counting.",
        )
    findings[0].figures.update(
        n_groups=people.patterns.n, smallest_group=int(people.patterns.counts.min())
    )
    findings.append(report_shown_cells(people, evidence))
    if guarantee.revealed:
        findings.append(_sustained(people, guarantee.revealed))
    if guarantee.k_from_sensitive and evidence.sensitive:
        findings.append(measure_star_disclosure(people, evidence))
    return findings


def _people(guarantee: AdaptiveAnonymity, evidence: Evidence) -> People:
    if evidence.k_column is None and (guarantee.k_column or guarantee.k_rules):
        raise InputError(
            "could not check: people's own k are not among the owner's columns",
            remedy="State the original and who is which row: --original DATA with --key KEY or "
            "--aligned.",
        )
    return people_of(evidence, guarantee.k)


def _settled_at_once(people: People) -> list[Finding]:
    if not people.n:
        figures = {"n_groups": 0, "smallest_group": 0}
        return [
            _finding(name, True, "there is no row to check", dict(figures))
            for name in (LITERAL, MUTUAL, POSTERIOR)
        ]
    n_untrue = int(people.is_untrue.sum())
    return [
        _finding(
            LITERAL,
            False,
            f"{n_untrue} released rows show a cell that is neither '*' nor their person's own",
            {
                "n_untrue_rows": n_untrue,
                "n_groups": people.patterns.n,
                "smallest_group": int(people.patterns.counts.min()),
            },
            people.is_untrue,
        )
    ]


def _crowd_finding(
    name: str,
    people: People,
    crowds: Crowds,
    achieved: NDArray[np.int64],
    is_counted: NDArray[np.bool_],
) -> tuple[Finding, bool]:
    """Return the finding of a level that counts, and whether it leaves somebody open."""
    is_open = np.zeros(people.n, dtype=np.bool_)
    if crowds.n_unsettled:
        is_open = (achieved < people.k) & ~is_counted
    is_short = (achieved < people.k) & ~is_open
    n_short, n_open = int(is_short.sum()), int(is_open.sum())
    figures: dict[str, Any] = {
        "n_people": people.n,
        "n_short": n_short,
        "n_counted": int(is_counted.sum()),
        "n_certified": int((~is_counted & ~is_open).sum()),
        "n_not_counted": n_open,
        **compare_with_requested_k(achieved[~is_open], people.k[~is_open]),
    }
    says = "could be as many rows as they wish"
    if name == MUTUAL:
        says = "have as many others as they wish who could be them while they could be these"
    if n_short:
        summary = f"{n_short} people have a smaller crowd than they wish"
    else:
        summary = f"all people {says}"
    summary += (
        f"; the smallest crowd has {figures['smallest_crowd']}, "
        f"the least above a wish is {figures['least_above_wish']}"
    )
    if n_open:
        figures |= interval(
            "n_short", int(is_short[crowds.sampled].sum()), len(crowds.sampled), n_open
        )
        summary = (
            f"estimated: {n_short} of {len(crowds.sampled)} sampled people have a smaller crowd "
            f"than they wish, at most {figures['n_short_at_most']} of {n_open} not counted "
            "(95% interval)"
        )
    holds = False if n_short else None if n_open else True
    return _finding(name, holds, summary, figures, is_short), bool(n_open)


@dataclass(frozen=True, eq=False)
class _Measurement:
    """Beliefs and who is over, with the figures that tell of both."""

    is_over: NDArray[np.bool_]
    is_open: NDArray[np.bool_]
    figures: dict[str, Any]

    @property
    def how(self) -> str:
        """What the verdict rests on, in words."""
        parts = (
            ("certified by closed forms for", self.figures["n_certified"]),
            ("exact for", self.figures["n_exact"]),
            ("estimated for", self.figures["n_estimated"]),
        )
        return ", ".join(f"{word} {count}" for word, count in parts if count)


def _measure(people: People, bounds: Bounds, posterior: Posterior) -> _Measurement:
    risk = posterior.belief * people.k
    tolerance = np.where(posterior.is_estimated, ESTIMATE_TOLERANCE, EXACT_TOLERANCE)
    is_over = risk > 1.0 + tolerance
    is_open = posterior.is_open & is_over
    is_over &= ~is_open
    ratio = 1.0 / risk
    ratio[~is_over] = np.maximum(ratio[~is_over], 1.0)
    is_settled = ~_is_over_bound(people, bounds)
    is_estimated = posterior.is_estimated & ~is_settled
    is_close = is_estimated & ~is_over & (risk * MOST_TOO_LOW > 1.0)
    figures: dict[str, Any] = {
        "n_people": people.n,
        "n_over": int(is_over.sum()),
        "n_close_estimates": int(is_close.sum()),
        "worst_p_times_k": float(risk.max()),
        "largest_p": float(posterior.belief.max()),
        "sum_p": float(posterior.belief.sum()),
        "sum_1_over_k": float((1.0 / people.k).sum()),
        "n_certified": int(is_settled.sum()),
        "n_exact": int((posterior.is_exact & ~is_settled).sum()),
        "n_estimated": int(is_estimated.sum()),
        # how P itself is known, of those too whom a closed form settles
        "n_p_exact": int(posterior.is_exact.sum()),
        "n_p_estimated": int(posterior.is_estimated.sum()),
        "n_p_at_most": int((~posterior.is_exact & ~posterior.is_estimated).sum()),
        "achieved_over_wished": histogram(ratio),
        "least_above_wish": float(((ratio - 1.0) * people.k).min()),
        **posterior.figures,
    }
    return _Measurement(is_over, is_open, figures)


def _is_over_bound(people: People, bounds: Bounds) -> NDArray[np.bool_]:
    """Whom the closed forms do not settle."""
    return np.asarray(bounds.posterior * people.k > 1.0 + EXACT_TOLERANCE)


def _posterior_of(
    people: People, bounds: Bounds, pairs: Compatibility, walk_seed: int | None = None
) -> Posterior | None:
    """Return everybody's posterior; None where the compatible pairs are too many to keep."""
    if not _is_over_bound(people, bounds).any():
        if pairs.edges is None or pairs.n_edges > FEW_EDGES:
            return Posterior.bounded(bounds)
        return compute_posterior(people, bounds, pairs.edges, informs_only=True)
    if pairs.edges is None:
        return None
    return compute_posterior(people, bounds, pairs.edges, walk_seed=walk_seed)


def _posterior_finding(
    people: People, bounds: Bounds, pairs: Compatibility, is_report: bool
) -> Finding:
    posterior = _posterior_of(people, bounds, pairs, SEED)
    if posterior is None:
        if not is_report:
            raise _too_many(people, bounds, pairs)
        return _sampled_posterior(people)
    measured = _measure(people, bounds, posterior)
    if measured.is_open.any():
        raise InputError(
            f"could not check posterior: scaling did not settle to a residual of 10⁻⁶ for "
            f"{int(measured.is_open.sum())} people",
            remedy="Mask so that groups of equal rows carry the crowds: --search partition.",
        )
    n_over = measured.figures["n_over"]
    if n_over:
        summary = f"{n_over} people are believed to be their row with more than 1/k"
    else:
        summary = "nobody is believed to be their row with more than 1/k"
    summary += f"; {_summarize(measured)}"
    if is_report:
        summary += "; informs only: the promise is compatibility"
    return _finding(
        POSTERIOR, None if is_report else n_over == 0, summary, measured.figures, measured.is_over
    )


def _summarize(measured: _Measurement) -> str:
    figures = measured.figures
    most = "at most " if figures["n_p_at_most"] else ""
    told = (
        f"the worst P·k is {most}{figures['worst_p_times_k']:.4g}, "
        f"ΣP {most}{figures['sum_p']:.1f} beside "
        f"Σ1/k {figures['sum_1_over_k']:.1f} ({measured.how})"
    )
    if figures["n_close_estimates"]:
        told += (
            f"; {figures['n_close_estimates']} estimates would be over 1/k if they were "
            f"{MOST_TOO_LOW:g} times too low"
        )
    if "walk_mean_ratio" in figures:
        told += (
            f"; sampled matchings give the {figures['walk_n_watched']} worst off "
            f"{figures['walk_mean_ratio']:.2f} ± {figures['walk_mean_ratio_error']:.2f} times "
            "their estimates on average"
        )
        if figures["walk_n_over"]:
            told += f" and put {figures['walk_n_over']} of them over 1/k whom the estimates do not"
    return told


def _too_many(people: People, bounds: Bounds, pairs: Compatibility) -> InputError:
    n_over = int(_is_over_bound(people, bounds).sum())
    if pairs.literal is None:
        why = f"finding the compatible pairs takes more than {MOST_TESTS:,} comparisons of rows"
    else:
        why = f"{pairs.n_edges:,} compatible pairs are more than the {MOST_EDGES:,} that are kept"
    return InputError(
        f"could not check posterior: {n_over} people are not settled by a closed form, and {why}",
        remedy="State --posterior report for an estimate from a sample, or use --search "
        "partition, whose releases are certified without counting.",
    )


def _sampled_posterior(people: People) -> Finding:
    """Estimate from as many people as fit, the rows of all others taken as known.

    That attacker knows more, so beliefs come out too high rather than too low: about in
    proportion to those left out.
    """
    order = np.random.default_rng(SEED).permutation(people.n)
    n_drawn = people.n
    while n_drawn > 1:
        n_drawn //= 2
        is_drawn = np.zeros(people.n, dtype=np.bool_)
        is_drawn[order[:n_drawn]] = True
        some = people.only(is_drawn)
        pairs = compatible_pairs(some, MOST_TESTS, MOST_EDGES)
        bounds = Bounds.of(some)
        posterior = _posterior_of(some, bounds, pairs)
        if posterior is not None:
            break
    else:
        raise InputError("could not check posterior: there is no room for any compatible pair")
    measured = _measure(some, bounds, posterior)
    n_over = int((measured.is_over | measured.is_open).sum())
    figures = (
        measured.figures | {"n_sampled": some.n} | interval("n_over", n_over, some.n, people.n)
    )
    summary = (
        f"estimated from {some.n} sampled people, all others' rows taken as known: "
        f"{n_over} of them believed with more than 1/k; {_summarize(measured)}; informs only"
    )
    is_over = np.zeros(people.n, dtype=np.bool_)
    is_over[np.flatnonzero(is_drawn)[measured.is_over]] = True
    return _finding(POSTERIOR, None, summary, figures, is_over)


def _sustained(people: People, n_revealed: int) -> Finding:
    """Measure belief after a seeded choice of people's rows are known; informs only."""
    name = "sustained attack"
    figures: dict[str, Any] = {"n_revealed": min(n_revealed, people.n)}
    if n_revealed >= people.n:
        return _finding(name, None, "everybody's row is known: nobody is left", figures)
    is_left = np.ones(people.n, dtype=np.bool_)
    is_left[np.random.default_rng(SEED).permutation(people.n)[:n_revealed]] = False
    others = people.only(is_left)
    bounds = Bounds.of(others)
    posterior = _posterior_of(others, bounds, compatible_pairs(others, MOST_TESTS, MOST_EDGES))
    if posterior is None:
        summary = f"not measured with {n_revealed} people's rows known: too many compatible pairs"
        return _finding(name, None, summary, figures)
    measured = _measure(others, bounds, posterior)
    n_over = int((measured.is_over | measured.is_open).sum())
    is_over = np.zeros(people.n, dtype=np.bool_)
    is_over[np.flatnonzero(is_left)[measured.is_over]] = True
    summary = (
        f"with {n_revealed} people's rows known, {n_over} others are believed with more than 1/k; "
        f"{_summarize(measured)}"
    )
    return _finding(name, None, summary, figures | measured.figures, is_over)


def _finding(
    name: str,
    holds: bool | None,
    summary: str,
    figures: dict[str, Any] | None = None,
    is_exposed: NDArray[np.bool_] | None = None,
) -> Finding:
    rows: tuple[int, ...] = ()
    if is_exposed is not None:
        rows = tuple((np.flatnonzero(is_exposed)[:MOST_ROWS_NAMED] + 1).tolist())
    return Finding(name, holds, summary, figures or {}, rows, is_public=False)
