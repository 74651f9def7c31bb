"""Rules drawn from transactions by seed, for experiments (``--generate-rules``).

A reconstruction of what Memon and Shao, "MR-RBAT: Anonymizing Large Transaction Datasets Using
MapReduce" (2015), measured with: they name the number of their rules, not how rules were made.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import JobError
from incrowd.sets.format import MOST
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets
from incrowd.transactions.rules import Rules

_ATTEMPTS = 30  # for each rule that is wanted


def generate_rules(
    sets: Sets,
    is_sensitive: NDArray[np.bool_],
    n_rules: int,
    seed: int = 0,
    *,
    public: tuple[int, int] = (1, 3),
    sensitive: tuple[int, int] = (1, 2),
) -> Rules:
    """Draw distinct rules whose public parts somebody could know: they occur together.

    The public part is ``public`` (least and most) of the public items of a random transaction that
    has enough; the sensitive part is ``sensitive`` of that transaction's sensitive items, filled
    up with any sensitive items where it has fewer. So a rule's public part has support, mostly
    little, and its confidence is often high: rules that matter. Who knows somebody's basket knows
    little of it, hence one to three. Reconstructed: the paper says only how many rules it took.
    """
    if not 1 <= n_rules <= MOST:
        raise JobError(f"there cannot be {n_rules:,} rules", remedy=f"State 1 to {MOST:,}.")
    rng = np.random.default_rng([seed, 3])
    all_sensitive = np.flatnonzero(is_sensitive).astype(np.int32)
    is_hidden = is_sensitive[sets.items]
    rows = np.repeat(np.arange(sets.n_rows), sets.sizes)
    n_public = np.bincount(rows[~is_hidden], minlength=sets.n_rows)
    candidates = np.flatnonzero(n_public >= public[0])
    if not len(candidates) or len(all_sensitive) < sensitive[1]:
        raise JobError(
            "rules cannot be drawn from these data",
            remedy=f"They need transactions with {public[0]} public items, and {sensitive[1]} "
            "sensitive items.",
        )
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for _ in range(_ATTEMPTS * n_rules):
        row = int(candidates[rng.integers(len(candidates))])
        span = slice(sets.starts[row], sets.starts[row + 1])
        held, is_held_hidden = sets.items[span], is_hidden[span]
        size = min(int(rng.integers(public[0], public[1] + 1)), int(n_public[row]))
        known = rng.choice(held[~is_held_hidden], size, replace=False)
        told = held[is_held_hidden]
        size = int(rng.integers(sensitive[0], sensitive[1] + 1))
        if len(told) > size:
            told = rng.choice(told, size, replace=False)
        elif len(told) < size:
            others = np.setdiff1d(all_sensitive, told)
            told = np.concatenate([told, rng.choice(others, size - len(told), replace=False)])
        found[tuple(sorted(known.tolist())), tuple(sorted(told.tolist()))] = None
        if len(found) == n_rules:
            names = item_names_of(sets).cast(pa.string())
            return Rules.of(list(found), names)
    raise JobError(
        f"only {len(found):,} different rules were found of {n_rules:,}",
        remedy="Ask for fewer, or for longer public parts.",
    )
