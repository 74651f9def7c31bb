"""Whether any release of given data could keep the promise, from plain counts alone.

The most that can be done without leaving rows out is to put everybody into one group, and what
that group lacks no finer grouping has: if every group is large, diverse or close enough, so is
their union. (For entropy and recursive l-diversity this is the monotonicity of Machanavajjhala et
al. 2006.) One group of all rows is at distance 0 from the whole, so no t is ever infeasible.
Leaving rows out helps only by cutting the commonest values down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from incrowd.errors import InfeasibleError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.guarantees.tables.k_anonymity import KAnonymity

    Counts: TypeAlias = Sequence[int] | NDArray[np.int64] | NDArray[np.int32]


TOLERANCE = 1e-9
"""As in the check of entropy: falling short of log l by less than this is the boundary itself."""


def infeasible(
    guarantee: KAnonymity,
    n_crowd: int,
    sensitive: Mapping[str, Counts],
    k_of_row: Counts | None = None,
    n_suppressible: int = 0,
) -> InfeasibleError | None:
    """Return the first reason why no release can keep the promise, or None where none is known.

    ``n_suppressible`` rows at most may be left out of the release.
    """
    if guarantee.k > n_crowd:
        return InfeasibleError(
            f"k = {guarantee.k} is more than the {n_crowd} there are to stand together",
            remedy=f"The largest k that can be kept is {n_crowd}: --k {n_crowd}."
            if n_crowd >= 2
            else "Fewer than two cannot be a crowd: add data.",
        )
    if k_of_row is not None:
        import numpy as np

        n_over = int((np.asarray(k_of_row) > n_crowd).sum())
        if n_over > n_suppressible:
            return InfeasibleError(
                f"{n_over} rows ask for a k of more than the {n_crowd} there are to stand together",
                remedy=f"Lower their k to {n_crowd} or less, or leave these rows out.",
            )
    if guarantee.l is None:
        return None
    for column, counts in sensitive.items():
        known = sorted((int(count) for count in counts if count > 0), reverse=True)
        if known and n_suppressible >= sum(known):
            continue
        error = _not_diverse(guarantee, column, cut_down(known, n_suppressible))
        if error is not None:
            return error
    return None


def cut_down(counts: Sequence[int], n_removed: int) -> list[Fraction]:
    """Return descending counts with ``n_removed`` taken off the commonest, down to one level.

    Parts of rows are taken too: of all ways to take at most that much off, this one has the
    highest entropy and the smallest r₁ over its tail, so that what fails here fails in whole rows.
    """
    n_cut = 1
    while n_cut < len(counts) and sum(counts[:n_cut]) - n_cut * counts[n_cut] < n_removed:
        n_cut += 1
    if not counts or not n_removed:
        return [Fraction(count) for count in counts]
    level = Fraction(sum(counts[:n_cut]) - n_removed, n_cut)
    return [level] * n_cut + [Fraction(count) for count in counts[n_cut:]]


def _not_diverse(
    guarantee: KAnonymity, column: str, counts: Sequence[Fraction]
) -> InfeasibleError | None:
    asked = guarantee.l
    if asked is None:
        return None
    if guarantee.l_kind == "distinct":
        if asked <= len(counts):
            return None
        return _error(column, f"l = {asked:g}", f"{len(counts)} different values", len(counts))
    if guarantee.l_kind == "entropy":
        if counts and math.log(asked) <= _entropy(counts) + TOLERANCE:
            return None
        effective = math.exp(_entropy(counts)) if counts else 0.0
        nearest = math.floor(effective * 100 + TOLERANCE) / 100
        what = f"an entropy of log {effective:.4g} in all rows together"
        return _error(column, f"entropy l = {asked:g}", what, nearest)
    if _is_recursive(counts, guarantee.c, int(asked)):
        return None
    fitting = [l for l in range(1, len(counts) + 1) if _is_recursive(counts, guarantee.c, l)]  # noqa: E741
    share = float(counts[0] / sum(counts)) if counts else 0.0
    error = _error(
        column,
        f"recursive l = {asked:g} with c = {guarantee.c:g}",
        f"{len(counts)} values, the commonest in {share:.1%} of the rows",
        max(fitting, default=0),
    )
    tail = sum(counts[int(asked) - 1 :])
    if tail:
        least = (math.floor(100 * counts[0] / tail) + 1) / 100
        error.remedy += f" With l = {asked:g}, c = {least:g} can be kept: --c {least:g}."
    return error


def _error(column: str, asked: str, what: str, nearest: float) -> InfeasibleError:
    remedy = "No l can be kept on this column: leave --l out, or the column."
    if nearest >= 1:
        remedy = f"The largest l that can be kept is {nearest:g}: --l {nearest:g}."
    return InfeasibleError(f"column {column!r}: {asked} cannot be kept with {what}", remedy=remedy)


def _entropy(counts: Sequence[Fraction]) -> float:
    total = sum(counts)
    shares = [float(count / total) for count in counts]
    return -sum(share * math.log(share) for share in shares)


def _is_recursive(counts: Sequence[Fraction], c: float, l: int) -> bool:  # noqa: E741
    return len(counts) >= l and counts[0] < Fraction(repr(float(c))) * sum(counts[l - 1 :])
