"""l-diversity: every group holds at least l well-represented sensitive values.

Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam (2006), in three kinds:

* distinct: at least l different values;
* entropy: the entropy of the group's values is at least log l;
* recursive (c, l): r₁ < c·(r_l + … + r_m) for the counts r₁ ≥ r₂ ≥ … of the group's m values,
  false where m < l.

A cell that is ``*`` or missing is no value: it is no distinct one, and entropy and recursive leave
its row out of the counts. A group that shows no value at all is not l-diverse.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.guarantees.mixtures import Mixture, company, exposed_by, mix

if TYPE_CHECKING:
    from incrowd.guarantees.k_anonymity import KAnonymity

TOLERANCE = 1e-9
"""Entropies are floating-point numbers: one that falls short of log l by less than this is taken
to lie on the boundary, which the definition includes. Distinct and recursive are decided in whole
numbers, with no tolerance."""

FEW_VALUES = 50
ROWS_PER_VALUE = 10
"""A column of more than 50 values, on average of fewer than 10 rows, is near-continuous."""


def check(evidence: Evidence, guarantee: KAnonymity, column: str) -> list[Finding]:
    """Check one sensitive column for the guarantee's l, and warn where l means little."""
    asked = guarantee.l
    if asked is None:
        raise ValueError("no l was asked for")
    mixture = mix(evidence, column, guarantee.stars, joint=guarantee.joint)
    figures: dict[str, object] = {
        "column": column,
        "l": asked,
        "l_kind": guarantee.l_kind,
        "stars": guarantee.stars,
        "joint": guarantee.joint,
    }
    if guarantee.l_kind == "distinct":
        found = distinct_values(mixture)
        fails = found < asked
        figures["smallest_l"] = int(found.min()) if len(found) else 0
        measured = f"the fewest different values in a group are {figures['smallest_l']}"
    elif guarantee.l_kind == "entropy":
        entropies = entropies_of(mixture)
        fails = entropies < math.log(asked) - TOLERANCE
        figures["smallest_l"] = _effective(float(entropies.min())) if len(entropies) else 0.0
        measured = f"the least exp(entropy) of a group is {figures['smallest_l']:.4g}"
    else:
        figures["c"] = guarantee.c
        most, tail = most_and_tail(mixture, int(asked))
        fails = ~_is_below(most, guarantee.c, tail)
        least = least_c(most, tail)
        figures["least_c"] = least
        measured = (
            f"every c above {least:.4g} would do"
            if least is not None
            else f"some group shows fewer than {int(asked)} values, so that no c would do"
        )
    exposed, rows = exposed_by(evidence, mixture, fails)
    holds = not fails.any()
    kind = f"{guarantee.l_kind} l = {asked:g}"
    if guarantee.l_kind == "recursive":
        kind += f", c = {guarantee.c:g}"
    if holds:
        summary = f"column {column!r}: every group has {kind}; {measured}"
    else:
        summary = (
            f"column {column!r}: {exposed['n_exposed']} rows in {exposed['n_exposed_groups']} "
            f"groups lack {kind}; {measured}"
        )
    summary += company(evidence, mixture)
    finding = Finding("l-diversity", holds, summary, figures | exposed, rows)
    return [finding, *_near_continuous(mixture)]


def distinct_values(mixture: Mixture) -> NDArray[np.int64]:
    """Return how many different values each crowd shows."""
    found = np.bincount(mixture.crowd[mixture.known], minlength=mixture.n_crowds)
    return found.astype(np.int64)


def entropies_of(mixture: Mixture) -> NDArray[np.float64]:
    """Return the entropy (natural logarithm) of each crowd's values; −∞ where it shows none."""
    known = mixture.known
    size = mixture.sum_by_crowd(mixture.n, known)
    share = mixture.n[known] / size[mixture.crowd[known]]
    terms = np.zeros(len(mixture.n))
    terms[known] = -share * np.log(share)
    return np.where(size > 0, mixture.sum_by_crowd(terms, known), -np.inf)


def most_and_tail(mixture: Mixture, l: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: E741
    """Return r₁ and r_l + … + r_m of each crowd; the tail is 0 where it shows fewer values."""
    known = mixture.known
    crowd, n = mixture.crowd[known], mixture.n[known]
    order = np.lexsort((-n, crowd))
    crowd, n = crowd[order], n[order]
    n_lines = np.bincount(crowd, minlength=mixture.n_crowds)
    first_line = np.cumsum(n_lines) - n_lines
    rank = np.arange(len(n)) - first_line[crowd]
    most = np.zeros(mixture.n_crowds, dtype=np.int64)
    most[crowd[rank == 0]] = n[rank == 0]
    tail = np.zeros(mixture.n_crowds, dtype=np.int64)
    np.add.at(tail, crowd[rank >= l - 1], n[rank >= l - 1])
    return most, tail


def least_c(most: NDArray[np.int64], tail: NDArray[np.int64]) -> float | None:
    """Return the bound above which every c suffices, None where none does."""
    if len(most) == 0:
        return 0.0
    if (tail == 0).any():
        return None
    return float((most / tail).max())


def _is_below(most: NDArray[np.int64], c: float, tail: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Decide r₁ < c·tail in whole numbers: c is the fraction that its decimal digits say."""
    stated = Fraction(repr(float(c)))
    left = most.astype(object) * stated.denominator
    return np.asarray(left < tail.astype(object) * stated.numerator, dtype=np.bool_)


def _effective(entropy: float) -> float:
    return math.exp(entropy) if entropy > -math.inf else 0.0


def _near_continuous(mixture: Mixture) -> list[Finding]:
    n_known = int(mixture.whole[: mixture.n_values].sum())
    if mixture.n_values <= FEW_VALUES or n_known >= ROWS_PER_VALUE * mixture.n_values:
        return []
    return [
        Finding(
            "near-continuous",
            None,
            f"column {mixture.column!r} has {mixture.n_values} different values in {n_known} rows: "
            "different values may be almost the same, so that l means little",
            {"column": mixture.column, "n_values": mixture.n_values, "n_rows": n_known},
        )
    ]
