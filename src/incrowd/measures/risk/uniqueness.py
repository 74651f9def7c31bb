"""How many people of a population are unique, estimated from a sample of it.

Three estimators, and the rule of Dankar, El Emam, Neisa and Roffey ("Estimating the
re-identification risk of clinical data sets", BMC Medical Informatics and Decision Making 12:66,
2012) for choosing between them:

- *Zayatz* (1991): by Bayes' rule, the chance that a group of one in the sample is a group of one
  in the population, the sizes of the population's groups being distributed as the sample's.
- *Pitman* (the sampling formula; Hoshino 2001 for this use): two parameters by maximum likelihood,
  from which the expected number of groups of one follows in closed form.
- *SNB*, the slide negative binomial of Chen and Keller-McNulty (1998): the size of a group is one
  plus a negative binomial number; its parameters solve the expected numbers of groups of one and
  of two. The number of groups in the population is Shlosser's modified estimate (Haas and Stokes
  1998).

Everything is a function of how many groups of each size the sample has. An estimate that has no
solution is None, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
