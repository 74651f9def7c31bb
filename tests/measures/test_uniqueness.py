"""Estimates of how many people of a population are unique, on populations that are known."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from incrowd.measures.risk.measures import (
    choose_estimate,
    estimate_groups_shlosser,
    estimate_slide_negative_binomial,
    estimate_uniqueness,
    estimate_zayatz,
)


def sizes_of(people):
    return np.array(sorted(Counter(people).values()))


def counted(sizes):
    return np.unique(np.asarray(sizes), return_counts=True)


def pitman_population(n, theta, alpha, seed):
    """Draw a population by Pitman's scheme, person after person."""
    draw = np.random.default_rng(seed)
    group_of, n_in = np.empty(n, dtype=np.int64), []
    for person in range(n):
        if draw.random() < (theta + len(n_in) * alpha) / (theta + person):
            group_of[person] = len(n_in)
            n_in.append(1)
            continue
        while True:  # a group with chance in proportion to its size − α
            group = group_of[draw.integers(person)]
            if draw.random() < (n_in[group] - alpha) / n_in[group]:
                break
        n_in[group] += 1
        group_of[person] = group
    return group_of


def of_sample(population, fraction, seed):
    draw = np.random.default_rng(seed)
    drawn = draw.permutation(population)[: round(len(population) * fraction)]
    truth = int((sizes_of(population.tolist()) == 1).sum())
    return estimate_uniqueness(sizes_of(drawn.tolist()), fraction), truth


def test_zayatz_by_hand():
    """Sample: 2 groups of one, 1 of two; n = 4 of N = 8; chances counted by enumeration."""
    size, number = counted([1, 1, 2])
    chance = {
        j: sum(len(set(drawn) & set(range(j))) == 1 for drawn in combinations(range(8), 4))
        / math.comb(8, 4)
        for j in (1, 2)
    }
    given_one = 2 * chance[1] / (2 * chance[1] + 1 * chance[2])
    assert estimate_zayatz(size, number, 0.5) == pytest.approx(2 * given_one / 0.5)


def test_shlosser_by_hand():
    """q = 1/2, three groups of one and one of two, every sum written out."""
    first = (3 * 1 * 0.25 + 2 * 0.25 * 0.75) / (3 * 0.5 * 0.5 + 0.25 * (1.5**2 - 1))
    second = (3 * 0.5 + 0.25) / (3 * 0.5 + 2 * 0.5 * 0.5)
    assert estimate_groups_shlosser(*counted([1, 1, 1, 2]), 0.5) == pytest.approx(
        4 + 3 * first * second**2
    )


def test_the_slide_negative_binomial_meets_its_own_expectations():
    """Fitted to the numbers that parameters are expected to show, it gives their uniques."""
    draw = np.random.default_rng(5)
    n_groups, alpha, beta, fraction = 60_000, 0.8, 0.15, 0.5
    sizes = 1 + draw.negative_binomial(alpha, beta, n_groups)
    sample = draw.binomial(sizes, fraction)
    found = estimate_slide_negative_binomial(*counted(sample[sample > 0]), fraction)
    assert found == pytest.approx(n_groups * beta**alpha, rel=0.15)


@pytest.mark.parametrize(("theta", "alpha"), [(50, 0.3), (2_000, 0.2), (300, 0.6)])
@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_pitman_is_near_on_populations_of_its_kind(theta, alpha, fraction):
    population = pitman_population(20_000, theta, alpha, seed=3)
    found, truth = of_sample(population, fraction, seed=4)
    assert truth > 100
    assert found["estimates"]["pitman"]["n_uniques"] == pytest.approx(truth, rel=0.35)


@pytest.mark.parametrize("spread", [1.0, 2.0])
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.6])
def test_the_rule_is_within_a_factor_of_three_on_other_populations(spread, fraction):
    """Groups of log-normal shares, which none of the models assumes."""
    draw = np.random.default_rng(7)
    shares = draw.lognormal(0, spread, 12_000)
    population = draw.choice(12_000, 24_000, p=shares / shares.sum())
    found, truth = of_sample(population, fraction, seed=8)
    chosen = found["estimates"][found["chosen"]]["n_uniques"]
    assert truth / 3 <= chosen <= truth * 3


def test_a_whole_population_is_counted():
    sizes = np.array([1] * 40 + [2] * 10 + [5] * 3)
    found = estimate_uniqueness(sizes, 1.0)
    assert found["n_sample_uniques"] == 40
    for name in ("zayatz", "snb"):
        assert found["estimates"][name]["n_uniques"] == pytest.approx(40)


def test_no_sample_uniques_mean_no_sign_of_any():
    found = estimate_uniqueness(np.array([2, 3, 9]), 0.1)
    assert {item["n_uniques"] for item in found["estimates"].values()} == {0.0}


def test_what_has_no_solution_is_none():
    everybody_alone = estimate_uniqueness(np.ones(30, dtype=np.int64), 0.05)
    assert everybody_alone["estimates"]["pitman"] is None
    assert everybody_alone["estimates"]["snb"] is None
    assert everybody_alone["chosen"] == "zayatz"


def test_the_rule_chooses_as_it_is_stated():
    estimates = {"zayatz": 10.0, "pitman": 30.0, "snb": 20.0}
    assert choose_estimate(estimates, 0.1) == "pitman"
    assert choose_estimate(estimates, 0.2) == "zayatz"
    assert choose_estimate({**estimates, "snb": 5.0}, 0.2) == "snb"
    assert choose_estimate({**estimates, "snb": None}, 0.2) == "zayatz"
    assert choose_estimate({**estimates, "pitman": None}, 0.05) == "zayatz"
