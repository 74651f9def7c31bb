"""What randomized response will do, from ε, the number of cells and the density alone."""

from __future__ import annotations

import math

USELESS = 0.5
"""Below this expected Jaccard similarity the owner is warned."""


def flip_probability(cell_epsilon: float) -> float:
    """Return q = 1 / (1 + e^ε): a cell is shown as it is not with this probability.

    The paper's p = 2 / (1 + e^ε) is the probability of a coin in its place, which is right half of
    the time: q = p / 2. (1 − q) / q = e^ε is the most by which any outcome's odds can change.
    """
    return math.exp(-cell_epsilon) / (1.0 + math.exp(-cell_epsilon))


def expected_jaccard(density: float, q: float) -> float:
    """Return about what |E ∩ E′| / |E ∪ E′| will be: Theorem 4.1 without its deviation.

    Expected kept entries (1 − q)|E| over the expected union |E| + q(N − |E|), N cells.
    """
    if density <= 0.0:
        return 1.0 if q == 0.0 else 0.0
    return (1.0 - q) / (1.0 + q * (1.0 - density) / density)


def jaccard_bound(density: float, n_cells: int, q: float, delta: float) -> float:
    """Return Theorem 4.1's bound, which J exceeds with probability at most δ; 1 if it is silent."""
    deviation = math.sqrt(math.log(2.0 / delta) / 2.0 / n_cells)
    if 2.0 * q / 4.0 < deviation:
        return 1.0
    return min(1.0, expected_jaccard(density, q) + 2.0 * deviation)


def epsilon_for(jaccard: float, density: float) -> float:
    """Return the ε of one cell at which the expected Jaccard similarity is this. (Figure 2.)"""
    q = (1.0 - jaccard) / (1.0 + jaccard * (1.0 - density) / density)
    return math.log((1.0 - q) / q)


def epsilon_that_fits(n_cells: int, most_entries: int) -> float:
    """Return the least ε of one cell at which so many noisy entries are expected at most."""
    return math.log(max(n_cells / most_entries - 1.0, 1.0))
