"""How much a group gives away about sensitive values: α, β, δ and the measures of k, l and t.

With p a value's share of the whole released file and q its share of a group:

* (α, k)-anonymity (Wong, Li, Fu and Wang 2006): k-anonymity, and q ≤ α for every value;
* basic β-likeness (Cao and Karras 2012): (q − p)/p ≤ β wherever q > p;
* enhanced β-likeness (the same): (q − p)/p ≤ min(β, −ln p) wherever q > p;
* δ-disclosure privacy (Brickell and Shmatikov 2008): |ln(q/p)| < δ for every value, so that a
  group that lacks a value breaks it for every δ.

α looks at the values inside a group, as l does: rows with no value are left out. β and δ compare
with the whole file, as t does: having no value is one more value.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.tables.crowds import count_crowds, require_columns
from incrowd.guarantees.tables.l_diversity import (
    Mixture,
    company,
    distinct_values,
    entropies_of,
    exposed_by,
    least_c,
    mix,
    most_and_tail,
)
from incrowd.guarantees.tables.t_closeness import (
    equal_distances,
    hierarchical_distances,
    ordered_distances,
)

TOLERANCE = 1e-9
"""α and β include their boundary: exceeding it by less than this is rounding. δ excludes its
boundary: falling short of it by less than this does not hold."""


def measure(
    evidence: Evidence,
    *,
    stars: str = "as-value",
    l: int = 2,  # noqa: E741
    joint: bool = False,
) -> dict[str, Any]:
    """Return what a released file achieves: k, and per sensitive column α, l, t, β and δ.

    Numbers are the tightest that hold: the largest k and l, the smallest α, c (bounds that c must
    exceed), t, β and δ. None stands where no number holds, or (``t_ordered``,
    ``t_hierarchical``) where the column's values have no order or no hierarchy.
    """
    require_columns(evidence)
    crowds = count_crowds(evidence, stars, 1)
    columns = {}
    for column in evidence.sensitive:
        mixture = mix(evidence, column, stars, joint=joint)
        columns[column] = _measures(evidence, mixture, l)
    return {
        "k": int(crowds.size.min()) if len(crowds.size) else 0,
        "n_groups": len(crowds.size),
        "counts": "people" if evidence.person else "rows",
        "stars": stars,
        "columns": columns,
    }


def check_thresholds(
    evidence: Evidence,
    alpha: float | None = None,
    beta: float | None = None,
    enhanced_beta: float | None = None,
    delta: float | None = None,
    *,
    stars: str = "as-value",
    joint: bool = False,
) -> list[Finding]:
    """Check the stated thresholds on every sensitive column; k itself is the guarantee's check."""
    stated = {"alpha": alpha, "beta": beta, "enhanced_beta": enhanced_beta, "delta": delta}
    thresholds = {name: value for name, value in stated.items() if value is not None}
    for name, value in thresholds.items():
        _refuse_impossible(name, value)
    if not thresholds:
        return []
    require_columns(evidence)
    if not evidence.sensitive:
        raise InputError(
            f"{', '.join(thresholds)}: about sensitive columns, and none is named",
            remedy="Name them with --sensitive.",
        )
    findings = []
    for column in evidence.sensitive:
        mixture = mix(evidence, column, stars, joint=joint)
        for name, threshold in thresholds.items():
            findings.append(_against(evidence, mixture, name, threshold))
    return findings


def alphas(mixture: Mixture) -> NDArray[np.float64]:
    """Return the largest share of one value in each crowd, among the rows that show a value."""
    known = mixture.known
    size = mixture.sum_by_crowd(mixture.n, known)
    largest = np.zeros(mixture.n_crowds)
    np.maximum.at(largest, mixture.crowd[known], mixture.n[known] / size[mixture.crowd[known]])
    return largest


def betas(mixture: Mixture) -> NDArray[np.float64]:
    """Return each crowd's largest relative gain (q − p)/p, at least 0."""
    return _largest(mixture, np.maximum(_gains(mixture), 0.0))


def enhanced_betas(mixture: Mixture) -> NDArray[np.float64]:
    """Return the least β with which each crowd is enhanced β-like, ∞ where some gain is over −ln p.

    The bound −ln p does not depend on β, so a crowd that keeps it needs no other β than the basic.
    """
    _, whole = mixture.shares()
    gains = np.maximum(_gains(mixture), 0.0)
    is_over = gains > -np.log(whole[mixture.value]) + TOLERANCE
    return _largest(mixture, np.where(is_over, np.inf, gains))


def deltas(mixture: Mixture, *, shown_only: bool = False) -> NDArray[np.float64]:
    """Return each crowd's largest |ln(q/p)|; a value that it lacks makes it ∞.

    ``shown_only`` leaves values that a crowd lacks out, as some tools do.
    """
    share, whole = mixture.shares()
    largest = _largest(mixture, np.abs(np.log(share / whole[mixture.value])))
    if shown_only:
        return largest
    n_lines = np.bincount(mixture.crowd, minlength=mixture.n_crowds)
    return np.where(n_lines < np.count_nonzero(mixture.whole), np.inf, largest)


def _gains(mixture: Mixture) -> NDArray[np.float64]:
    share, whole = mixture.shares()
    expected = whole[mixture.value]
    gains: NDArray[np.float64] = (share - expected) / expected
    return gains


def _largest(mixture: Mixture, of_line: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.zeros(mixture.n_crowds)
    np.maximum.at(largest, mixture.crowd, of_line)
    return largest


def _measures(evidence: Evidence, mixture: Mixture, l: int) -> dict[str, Any]:  # noqa: E741
    hierarchy = evidence.sensitive_hierarchies.get(mixture.column)
    entropies = entropies_of(mixture)
    measures: dict[str, Any] = {
        "n_values": mixture.n_values,
        "alpha": _finite(alphas(mixture)),
        "l_distinct": int(distinct_values(mixture).min()) if mixture.n_crowds else 0,
        "l_entropy": float(np.exp(entropies.min())) if mixture.n_crowds else 0.0,
        "l_recursive": l,
        "c_recursive": least_c(*most_and_tail(mixture, l)),
        "t_equal": _finite(equal_distances(mixture)),
        "t_ordered": None,
        "t_hierarchical": None,
        "beta": _finite(betas(mixture)),
        "enhanced_beta": _finite(enhanced_betas(mixture)),
        "delta": _finite(deltas(mixture)),
        "delta_of_shown_values": _finite(deltas(mixture, shown_only=True)),
    }
    with suppress(InputError):  # a column with no order keeps its None
        measures["t_ordered"] = _finite(ordered_distances(mixture, hierarchy))
    if hierarchy is not None:
        measures["t_hierarchical"] = _finite(hierarchical_distances(mixture, hierarchy))
    return measures


def _finite(amounts: NDArray[np.float64]) -> float | None:
    largest = float(amounts.max(initial=0.0))
    return largest if np.isfinite(largest) else None


def _refuse_impossible(name: str, value: float) -> None:
    limits = {"alpha": (0.0, 1.0), "delta": (0.0, np.inf)}
    low, high = limits.get(name, (0.0, np.inf))
    if not low < value <= high:
        bounds = f"above 0 and at most {high:g}" if np.isfinite(high) else "above 0"
        raise JobError(f"{name} = {value:g} is not {bounds}", remedy=f"State one {bounds}.")


_MEASURES = {
    "alpha": ("(α, k)-anonymity", alphas, "the largest share of one value in a group"),
    "beta": ("β-likeness", betas, "the largest relative gain of a value in a group"),
    "enhanced_beta": ("enhanced β-likeness", enhanced_betas, "the least β that every group keeps"),
    "delta": ("δ-disclosure", deltas, "the largest |ln(q/p)| of a value in a group"),
}


def _against(evidence: Evidence, mixture: Mixture, name: str, threshold: float) -> Finding:
    title, measure_of, measured = _MEASURES[name]
    found = measure_of(mixture)
    fails = found >= threshold - TOLERANCE if name == "delta" else found > threshold + TOLERANCE
    exposed, rows = exposed_by(evidence, mixture, fails)
    largest = _finite(found)
    figures = {"column": mixture.column, name: threshold, "largest": largest} | exposed
    shown = f"{measured} is {largest:.4g}" if largest is not None else f"{measured} is unbounded"
    verdict = (
        "every group keeps"
        if not fails.any()
        else (f"{exposed['n_exposed']} rows in {exposed['n_exposed_groups']} groups break")
    )
    summary = f"column {mixture.column!r}: {verdict} {name} = {threshold:g}; {shown}"
    summary += company(evidence, mixture)
    return Finding(title, not fails.any(), summary, figures, rows)
