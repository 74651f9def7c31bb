"""The sustained attack: people are matched to rows after some matches became known.

As in the analysis of adaptive anonymity by b-matchings (Choromanski, Jebara and Tang, NIPS 2013):
the attacker knows everybody's original row and who is in the file, learns c people's rows, and
holds every matching of the others that is left for equally likely. The success is what they then
believe of the true row, averaged over the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.guarantees.adaptive.compatibility import Bounds, compatible_pairs
from incrowd.guarantees.adaptive.people import People, people_of
from incrowd.guarantees.adaptive.posterior import Posterior, compute_posterior
from incrowd.guarantees.evidence import Evidence, Finding
from incrowd.measures.attacks.linkage import exact_rate, format_rate, repeated_rate
from incrowd.measures.options import AttackOptions
from incrowd.tables.table import Table

N_DRAWS = 5
"""How often the people whose rows become known are drawn."""

SHARES = (0.01, 0.05, 0.1)

MOST_TESTS, MOST_EDGES = 1_000_000_000, 10_000_000
"""Above these only the closed form is used, which is never too low."""


def sustained_finding(
    released: Table,
    original: Table,
    original_row: NDArray[np.int64],
    quasi: tuple[str, ...],
    options: AttackOptions,
) -> Finding:
    """Attack everybody whose row is not known yet, for growing numbers of known rows."""
    evidence = Evidence.from_table(released.frame, quasi)
    behind = original.frame.select(list(quasi)).take(pa.array(original_row))
    people = people_of(replace(evidence, original=behind), 1)
    if people.is_untrue.any():
        raise InputError(
            "the attack 'sustained' is of releases that show cells or mask them, and this one "
            "shows other cells",
            remedy="Use --attack linkage for generalized cells.",
        )
    numbers = options.numbers_of_people or tuple(
        sorted({max(1, round(share * people.n)) for share in SHARES})
    )
    as_it_was = People(people.original, people.original, people.k)
    by_number: dict[str, Any] = {}
    is_bound = False
    for n_known in sorted({0, *numbers}):
        if n_known >= people.n:
            continue
        before, after, estimated, bounded = [], [], 0, 0
        for number in range(N_DRAWS if n_known else 1):
            is_left = np.ones(people.n, dtype=np.bool_)
            draw = np.random.default_rng([options.seed, 3, n_known, number])
            is_left[draw.permutation(people.n)[:n_known]] = False
            before.append(Bounds.of(as_it_was.only(is_left)).posterior)
            belief = _beliefs(people.only(is_left))
            after.append(belief.belief)
            estimated += int(belief.is_estimated.sum())
            bounded += int((~belief.is_exact & ~belief.is_estimated).sum())
        is_bound |= bounded > 0
        by_number[str(n_known)] = {
            "n_left": people.n - n_known,
            "n_estimated": estimated // len(after),
            "n_at_most": bounded // len(after),
            "before": _rate(before),
            "after": _rate(after) | {"highest": max(float(item.max()) for item in after)},
        }
    figures = {
        "n_people": people.n,
        "n_draws": N_DRAWS,
        "seed": options.seed,
        "is_upper_bound": is_bound,
        "by_known_people": by_number,
    }
    return Finding("attack: sustained", None, _summarize(figures), figures, is_public=False)


def _beliefs(people: People) -> Posterior:
    bounds = Bounds.of(people)
    pairs = compatible_pairs(people, MOST_TESTS, MOST_EDGES)
    if pairs.edges is None:
        return Posterior.bounded(bounds)
    return compute_posterior(people, bounds, pairs.edges, informs_only=True)


def _rate(beliefs: list[NDArray[np.float64]]) -> dict[str, Any]:
    if len(beliefs) == 1:
        return exact_rate(beliefs[0])
    return repeated_rate(np.array([float(belief.mean()) for belief in beliefs]), len(beliefs[0]))


def _summarize(figures: dict[str, Any]) -> str:
    most = "at most " if figures["is_upper_bound"] else ""
    parts = [
        f"with {number} rows known, the others are found with {most}{format_rate(found['after'])} "
        f"(original: {format_rate(found['before'])})"
        for number, found in figures["by_known_people"].items()
    ]
    return "; ".join(parts) or "there is nobody to attack"
