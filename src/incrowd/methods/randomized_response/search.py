"""One run of randomized response: foreseen from ε and density, refused or warned of, then drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from incrowd.engines.base import Engine
from incrowd.errors import InputError, JobError
from incrowd.methods.randomized_response.noise import Cells, bytes_from, draw_in_blocks, flip_cells
from incrowd.progress import Progress, silent
from incrowd.sets.sets import Sets

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


# ── one run of randomized response: foreseen, refused or warned of, then drawn ────────────────────

EDGE, NODE = "edge", "node"

LARGEST_CELL_EPSILON = 50.0
"""Beyond it a cell is flipped less than once in 10²¹."""

MOST_CELLS = 1 << 60
"""Numbers of cells are 64-bit numbers, with room to add two."""


@dataclass(frozen=True)
class Outlook:
    """What a run will do. ``expected_jaccard`` and ``density`` are the owner's, like the warning;
    the rest follows from n, m and ε."""

    level: str
    epsilon: float
    cell_epsilon: float
    flip_probability: float
    n_cells: int
    expected_noise: float
    density: float
    expected_jaccard: float
    warning: str


@dataclass(frozen=True, eq=False)
class Noisy:
    """Released sets, and what was foreseen of them."""

    released: Sets
    outlook: Outlook
    figures: dict[str, object] = field(default_factory=dict)


def foresee(
    sets: Sets, *, level: str, epsilon: float, self_loops: bool, most_entries: int
) -> Outlook:
    """Say what a run would do, before it; refuse what would not fit, judged on n, m and ε alone."""
    cells = Cells.of(sets, self_loops=self_loops)
    share = cells.n_cells_of_row if level == NODE else 1
    cell_epsilon = epsilon / max(share, 1)
    q = flip_probability(cell_epsilon)
    expected_noise = q * cells.n_cells
    if cell_epsilon > LARGEST_CELL_EPSILON:
        raise JobError(
            f"epsilon = {epsilon:g} would publish the data as they are",
            remedy=f"State {LARGEST_CELL_EPSILON * share:g} or less.",
        )
    if cells.n_cells > MOST_CELLS:
        raise InputError(
            f"{cells.n_rows} rows and {cells.n_items} items are more than 2⁶⁰ cells",
            remedy="Take fewer rows or items.",
        )
    if expected_noise > most_entries:
        least = epsilon_that_fits(cells.n_cells, most_entries) * share
        raise InputError(
            f"epsilon = {epsilon:g} on {cells.n_rows} rows and {cells.n_items} items would show "
            f"about {expected_noise:.3g} entries of noise, more than {most_entries}",
            remedy=f"epsilon of {least:.4g} or more fits; or take fewer rows or items, or raise "
            "most_entries.",
        )
    n_entries = len(cells.ranks(sets))
    density = n_entries / cells.n_cells if cells.n_cells else 0.0
    jaccard = expected_jaccard(density, q)
    return Outlook(
        level,
        epsilon,
        cell_epsilon,
        q,
        cells.n_cells,
        expected_noise,
        density,
        jaccard,
        _warning(density, q, jaccard, share),
    )


def _warning(density: float, q: float, jaccard: float, share: int) -> str:
    if jaccard >= USELESS or density <= 0.0:
        return ""
    n_true, n_noise = (1.0 - q) * density, q * (1.0 - density)
    needed = epsilon_for(USELESS, density) * share
    return (
        f"the release will be nearly useless: a Jaccard similarity of about {jaccard:.2g} is "
        f"expected, {n_true / (n_true + n_noise):.2%} of the entries shown will be true, and a "
        f"similarity of {USELESS:g} needs epsilon = {needed:.3g}"
    )


def respond(
    sets: Sets,
    *,
    level: str,
    epsilon: float,
    self_loops: bool = False,
    most_entries: int = 50_000_000,
    insecure_noise_seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Noisy:
    """Return the sets with every cell flipped with probability 1 / (1 + e^ε).

    With an engine noise is drawn in blocks on its workers, else in this process.

    Esfandiari et al. 2022, Algorithm 1; for a whole row (node) ε/m takes the place of ε. Rows
    stay in their places, and items keep their names. O(entries in + entries out).
    """
    outlook = foresee(
        sets, level=level, epsilon=epsilon, self_loops=self_loops, most_entries=most_entries
    )
    cells = Cells.of(sets, self_loops=self_loops)
    q = outlook.flip_probability
    entries = cells.ranks(sets)
    if engine is None:
        noise = bytes_from(insecure_noise_seed)
        ranks = flip_cells(entries, cells.n_cells, q, noise, progress)
    else:
        ranks = draw_in_blocks(cells, entries, q, insecure_noise_seed, engine)
    return Noisy(
        cells.sets_of(ranks, sets),
        outlook,
        {"expected_jaccard": outlook.expected_jaccard, "expected_noise": outlook.expected_noise},
    )
