"""Measures of re-identification risk: group sizes, candidates in a population, population
uniqueness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.encoding.encode import encode_labels, nodes_of
from incrowd.encoding.fitting import (
    FittingColumn,
    count_fitted,
    fit_by_hierarchy,
    fit_by_text,
    number_distinct_rows,
)
from incrowd.errors import InputError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.table import Table


@dataclass(frozen=True, eq=False)
class Cells:
    """A table's columns as codes, ``codes[column][row]`` below ``n_codes[column]``.

    ``person_of_row`` numbers people where one may have several rows.
    """

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    labels: tuple[list[str], ...]
    n_rows: int
    person_of_row: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, frame: pa.Table, names: tuple[str, ...], person: pa.ChunkedArray | None) -> Cells:
        """Number the cells; a missing cell is a value, shown as the empty text."""
        codes, labels = [], []
        for name in names:
            cells = encode_labels(frame.column(name))
            codes.append(cells.codes + np.int32(1))
            labels.append(["", *cells.labels])
        people = None
        if person is not None:
            people = encode_labels(person).codes.astype(np.int64) + 1
        return cls(names, tuple(codes), tuple(labels), frame.num_rows, people)

    def groups(self, without: int | None = None) -> NDArray[np.int64]:
        """Number the groups; ``without`` is a column that is taken to show ``*`` everywhere."""
        columns = [
            (codes, len(self.labels[place]))
            for place, codes in enumerate(self.codes)
            if place != without
        ]
        return number_distinct_rows(columns, self.n_rows)

    def sizes(self, group_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows, or people, each group has."""
        if self.person_of_row is None:
            return np.bincount(group_of_row).astype(np.int64)
        n_people = int(self.person_of_row.max(initial=0)) + 1
        pairs = np.unique(group_of_row * n_people + self.person_of_row)
        return np.bincount(pairs // n_people).astype(np.int64)

    @property
    def counts(self) -> str:
        """What groups count."""
        return "rows" if self.person_of_row is None else "people"


def risk_of_rows(cells: Cells, without: int | None = None) -> NDArray[np.float64]:
    """Return every row's risk: one divided by the size of its group."""
    group_of_row = cells.groups(without)
    return 1.0 / cells.sizes(group_of_row)[group_of_row]


def summarize_risk(risk: NDArray[np.float64], threshold: float) -> dict[str, Any]:
    """Return the highest, mean and lowest risk, and how many rows are above the threshold."""
    if not len(risk):
        return dict.fromkeys(("highest", "mean", "lowest", "share_above"), 0.0) | {"n_above": 0}
    n_above = int((risk > threshold).sum())
    return {
        "highest": float(risk.max()),
        "mean": float(risk.mean()),
        "lowest": float(risk.min()),
        "share_above": n_above / len(risk),
        "n_above": n_above,
    }


def column_contributions(cells: Cells, threshold: float) -> list[dict[str, Any]]:
    """Return how far the measures fall if one column shows ``*`` everywhere, the largest first.

    Columns are ranked by the fall of the mean risk, then of the share above the threshold.
    """
    whole = summarize_risk(risk_of_rows(cells), threshold)
    found = []
    for place, name in enumerate(cells.names):
        left = summarize_risk(risk_of_rows(cells, place), threshold)
        found.append(
            {
                "column": name,
                "mean_without": left["mean"],
                "highest_without": left["highest"],
                "share_above_without": left["share_above"],
                "mean_falls_by": whole["mean"] - left["mean"],
                "share_above_falls_by": whole["share_above"] - left["share_above"],
            }
        )
    return sorted(found, key=lambda item: (-item["mean_falls_by"], -item["share_above_falls_by"]))


def value_contributions(cells: Cells, threshold: float, most: int) -> list[dict[str, Any]]:
    """Return the values that rows above the threshold have, those of the most such rows first.

    ``share_of_at_risk`` is which share of the rows at risk has the value, ``share_at_risk`` which
    share of the rows with the value is at risk.
    """
    is_at_risk = risk_of_rows(cells) > threshold
    n_at_risk = int(is_at_risk.sum())
    if not n_at_risk:
        return []
    found = []
    for name, codes, labels in zip(cells.names, cells.codes, cells.labels, strict=True):
        n_rows = np.bincount(codes, minlength=len(labels))
        n_of_value = np.bincount(codes[is_at_risk], minlength=len(labels))
        for code in np.argsort(-n_of_value, kind="stable")[:most].tolist():
            if n_of_value[code]:
                found.append(
                    {
                        "column": name,
                        "value": labels[code],
                        "n_rows": int(n_rows[code]),
                        "n_at_risk": int(n_of_value[code]),
                        "share_of_at_risk": int(n_of_value[code]) / n_at_risk,
                        "share_at_risk": int(n_of_value[code]) / int(n_rows[code]),
                    }
                )
    found.sort(key=lambda item: (-item["n_at_risk"], -item["share_at_risk"]))
    return found[:most]


# Risk against a population: how many of its people each released row could be.


@dataclass(frozen=True, eq=False)
class PopulationMatches:
    """How many rows of the population, one row a person, each released row could be.

    ``columns`` are those that both have; ``n_unplaced`` counts the population's cells that a
    hierarchy does not place.
    """

    n_fitting: NDArray[np.int64]
    columns: tuple[str, ...]
    n_population: int
    n_unplaced: int = 0
    by_text: tuple[str, ...] = field(default=())


def match_population(
    shown: pa.Table,
    quasi: tuple[str, ...],
    population: Table,
    hierarchies: Mapping[str, Hierarchy],
    person: str | None = None,
) -> PopulationMatches:
    """Count the population's rows that each shown row fits, in the columns that both have.

    A cell fits a value that is the same or lies under it; ``*`` fits all; a column without a
    hierarchy is compared by its texts. A number that its hierarchy does not have is fitted by
    ranges over both of its neighbours: never too many, so that the risk is never too low.
    """
    columns = tuple(name for name in quasi if name in population.columns)
    if not columns:
        raise InputError(
            f"{population.name}: the population has none of the quasi-identifying columns",
            remedy=f"Give a table with some of the columns {', '.join(quasi)}.",
        )
    means = [
        name for name in columns if name in hierarchies and hierarchies[name].mean_unit is not None
    ]
    if means:
        raise InputError(
            f"columns {', '.join(means)} show means, which fit no single value",
            remedy="Leave --population out: against it, only values, groups and '*' are counted.",
        )
    _require_distinct_people(population, person)
    fitting: list[FittingColumn] = []
    n_unplaced = 0
    for name in columns:
        known = population.frame.column(name)
        if name in hierarchies:
            low, high, unplaced = _locate_cells(known, hierarchies[name])
            n_unplaced += unplaced
            nodes = nodes_of(shown.column(name), hierarchies[name], "the release")
            fitting.append(fit_by_hierarchy(low, nodes, hierarchies[name], high))
        else:
            fitting.append(fit_by_text(known, shown.column(name)))
    return PopulationMatches(
        count_fitted(fitting),
        columns,
        population.n_rows,
        n_unplaced,
        tuple(name for name in columns if name not in hierarchies),
    )


def _require_distinct_people(population: Table, person: str | None) -> None:
    if person is None or person not in population.columns:
        return
    n_people = factorize(population.frame.column(person)).n_values
    if n_people < population.n_rows:
        raise InputError(
            f"{population.name}: column {person!r} has {n_people} people for {population.n_rows} "
            "rows",
            remedy="Give a population with one row for each of its people.",
        )


def _locate_cells(
    column: pa.ChunkedArray, hierarchy: Hierarchy
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return the leaves between which each cell lies, the same twice where it is a leaf."""
    cells = encode_labels(column)
    low = np.full(len(cells.labels) + 1, -1, dtype=np.int32)
    high = low.copy()
    numbers = hierarchy.values
    order = np.zeros(0, dtype=np.int64)
    if numbers is not None:
        order = np.argsort(np.where(np.isnan(numbers), np.inf, numbers), kind="stable")
        order = order[~np.isnan(numbers[order])]
    for code, label in enumerate([*cells.labels, ""]):
        leaf = hierarchy.leaf_of_value.get(label, -1)
        low[code] = high[code] = leaf
        if leaf < 0 and numbers is not None and len(order):
            low[code], high[code] = _neighbours(label, numbers, order)
    unplaced = low[cells.codes] < 0
    return low[cells.codes], high[cells.codes], int(unplaced.sum())


def _neighbours(
    label: str, numbers: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[int, int]:
    try:
        number = float(label)
    except ValueError:
        return -1, -1
    place = int(np.searchsorted(numbers[order], number))
    if not 0 < place < len(order):
        return -1, -1
    is_there = numbers[order[place]] == number
    below = order[place] if is_there else order[place - 1]
    return int(below), int(order[place])


# How many people of a population are unique, estimated from a sample of it.

SMALL_FRACTION = 0.1
"""Up to this sampling fraction the rule takes Pitman's estimate."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def estimate_uniqueness(sizes: NDArray[np.int64], fraction: float) -> dict[str, Any]:
    """Return estimates of how many people of the population are unique, and the rule's choice.

    ``sizes`` are of the sample's groups. With no group of one in the sample there is no sign of
    any in the population, and every estimate is 0.
    """
    size, n_of_size = np.unique(sizes, return_counts=True)
    n_sample = int(sizes.sum())
    population = n_sample / fraction
    n_ones = int(n_of_size[size == 1].sum())
    estimates: dict[str, float | None] = dict.fromkeys(("zayatz", "pitman", "snb"), 0.0)
    if n_ones:
        estimates = {
            "zayatz": estimate_zayatz(size, n_of_size, fraction),
            "pitman": estimate_pitman(size, n_of_size, fraction),
            "snb": estimate_slide_negative_binomial(size, n_of_size, fraction),
        }
    chosen = choose_estimate(estimates, fraction)
    return {
        "sampling_fraction": fraction,
        "n_population": population,
        "n_sample_uniques": n_ones,
        "share_sample_uniques": n_ones / n_sample if n_sample else 0.0,
        "estimates": {
            name: None
            if number is None
            else {"n_uniques": number, "share": number / population if population else 0.0}
            for name, number in estimates.items()
        },
        "chosen": chosen,
    }


def choose_estimate(estimates: dict[str, float | None], fraction: float) -> str:
    """Return which estimate the rule takes: Pitman's of small samples, else the lower other one.

    Where the one it would take has no solution, Zayatz's, which always has one.
    """
    if fraction <= SMALL_FRACTION:
        return "zayatz" if estimates["pitman"] is None else "pitman"
    snb, by_zayatz = estimates["snb"], estimates["zayatz"]
    return "snb" if snb is not None and by_zayatz is not None and snb < by_zayatz else "zayatz"


def estimate_zayatz(
    size: NDArray[np.int64], n_of_size: NDArray[np.int64], fraction: float
) -> float:
    """Return Zayatz's estimate; P(1 in the sample | j in the population) is hypergeometric."""
    n_sample = int((size * n_of_size).sum())
    n_population = max(n_sample, round(n_sample / fraction))
    chance = np.array([_chance_of_one(int(j), n_sample, n_population) for j in size.tolist()])
    is_one = size == 1
    alone = float((n_of_size * chance)[is_one].sum())
    given_one = alone / float((n_of_size * chance).sum())
    return float(n_of_size[is_one].sum()) * given_one / fraction


def _chance_of_one(j: int, n_sample: int, n_population: int) -> float:
    """Return the chance that exactly one of j people is among those sampled."""
    if j - 1 > n_population - n_sample:
        return 0.0
    others = _log_choose(n_population - j, n_sample - 1) - _log_choose(n_population, n_sample)
    return j * math.exp(others)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def estimate_pitman(
    size: NDArray[np.int64], n_of_size: NDArray[np.int64], fraction: float
) -> float | None:
    """Return Pitman's estimate; None where the likelihood has no maximum inside its range.

    The expected number of groups of one among N people is
    N · Γ(θ+1) Γ(θ+α+N−1) / (Γ(θ+α) Γ(θ+N)); Hoshino's N^α Γ(θ+1)/Γ(θ+α) is its limit.
    """
    n_groups, n_sample = int(n_of_size.sum()), int((size * n_of_size).sum())
    if n_groups < 2 or n_groups == n_sample:  # one group, or nobody alike: no maximum
        return None
    population = n_sample / fraction
    sizes, numbers = size.tolist(), n_of_size.tolist()

    def of_sizes(alpha: float) -> float:
        inner = math.fsum(
            number * math.lgamma(j - alpha) for j, number in zip(sizes, numbers, strict=True)
        )
        return inner - n_groups * math.lgamma(1.0 - alpha)

    def likelihood(alpha: float, theta: float) -> float:
        new = (n_groups - 1) * math.log(alpha)
        new += math.lgamma(theta / alpha + n_groups) - math.lgamma(theta / alpha + 1.0)
        return new - math.lgamma(theta + n_sample) + math.lgamma(theta + 1.0)

    def best_theta(alpha: float) -> tuple[float, float]:
        # θ = e^t − α, from just above −α to far beyond the sample
        top = math.log(1e4 * n_sample)
        at = _maximize(lambda t: likelihood(alpha, math.exp(t) - alpha), -14.0, top)
        theta = math.exp(at) - alpha
        return theta, likelihood(alpha, theta) + of_sizes(alpha)

    alpha = _maximize(lambda a: best_theta(a)[1], 1e-4, 1.0 - 1e-4)
    theta = best_theta(alpha)[0]
    log_share = math.lgamma(theta + 1.0) + math.lgamma(theta + alpha + population - 1.0)
    log_share -= math.lgamma(theta + alpha) + math.lgamma(theta + population)
    return float(min(population, population * math.exp(log_share)))


def estimate_slide_negative_binomial(
    size: NDArray[np.int64], n_of_size: NDArray[np.int64], fraction: float
) -> float | None:
    """Return the SNB estimate; None where no parameters meet the sample's ones and twos.

    With d = (1 − π)(1 − β), a population of K groups is expected to show
    K π (β/(1−d))^α (1 + α d/(1−d)) groups of one in the sample and
    K π²/2 α (1−β) β^α (1−d)^(−α−2) (2 − (1−α) d) of two; K β^α are of one in the population.
    """
    ones, twos = (int(n_of_size[size == number].sum()) for number in (1, 2))
    if not ones or not twos or fraction >= 1.0:
        return float(ones) if fraction >= 1.0 else None
    groups = estimate_groups_shlosser(size, n_of_size, fraction)

    def expected(
        log_alpha: NDArray[np.float64], logit: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        alpha, beta = np.exp(log_alpha), 1.0 / (1.0 + np.exp(-logit))
        d = (1.0 - fraction) * (1.0 - beta)
        power = np.exp(alpha * np.log(beta / (1.0 - d)))
        of_one = groups * fraction * power * (1.0 + alpha * d / (1.0 - d))
        of_two = groups * fraction**2 / 2 * alpha * (1.0 - beta) * power / (1.0 - d) ** 2
        return of_one, of_two * (2.0 - (1.0 - alpha) * d)

    middle, reach = np.array([0.0, 0.0]), np.array([9.0, 14.0])
    steps, miss = np.linspace(-1.0, 1.0, 81), math.inf
    for _ in range(40):  # a grid that shrinks around its best point
        log_alpha = (middle[0] + reach[0] * steps)[:, None]
        logit = (middle[1] + reach[1] * steps)[None, :]
        of_one, of_two = expected(log_alpha, logit)
        with np.errstate(divide="ignore"):
            off = np.log(of_one / ones) ** 2 + np.log(of_two / twos) ** 2
        best = np.unravel_index(int(np.argmin(off)), off.shape)
        miss = float(off[best])
        middle = np.array([log_alpha[best[0], 0], logit[0, best[1]]])
        reach = reach * 0.5
    if not miss < 1e-6:
        return None
    alpha, beta = math.exp(middle[0]), 1.0 / (1.0 + math.exp(-middle[1]))
    return float(min(groups * beta**alpha, int((size * n_of_size).sum()) / fraction))


def estimate_groups_shlosser(
    size: NDArray[np.int64], n_of_size: NDArray[np.int64], fraction: float
) -> float:
    """Return Shlosser's modified estimate of how many groups the population has."""
    i, f, q = size.astype(np.float64), n_of_size.astype(np.float64), fraction
    ones = float(f[size == 1].sum())
    first = (i * q * q * (1 - q * q) ** (i - 1) * f).sum()
    first /= ((1 - q) ** i * ((1 + q) ** i - 1) * f).sum()
    second = ((1 - q) ** i * f).sum() / (i * q * (1 - q) ** (i - 1) * f).sum()
    return float(f.sum() + ones * first * second * second)


def _maximize(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one peak is largest, by golden sections."""
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(70):
        if at_inner >= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _GOLDEN * (high - low)
            at_inner = function(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _GOLDEN * (high - low)
            at_outer = function(outer)
    return (low + high) / 2
