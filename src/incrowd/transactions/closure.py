"""More rules than were stated: what somebody who knows less, or wants to know else, could infer."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import JobError, unknown

if TYPE_CHECKING:
    from incrowd.transactions.rules import Rules


CLOSURES = ("none", "sensitive", "all")
"""What is added to stated rules: nothing, every sensitive item, or also every fewer known items."""

MOST_RULES = 5_000_000
"""More are refused: they are all held and all checked."""


def close_rules(rules: Rules, is_sensitive: NDArray[np.bool_], how: str) -> Rules:
    """Return the rules, and behind them those of their closure that are none of them.

    ``sensitive``: each public part with every sensitive item alone. A rule p → s t is met where
    p → s is, since no transaction holds s and t that does not hold s; so single items suffice.
    ``all``: also each non-empty part of every public part. Neither support nor confidence of a
    smaller public part follows: what p leaves open of s, a part of p may still tell.
    Raises JobError where there would be more than ``MOST_RULES``, before they are made.
    """
    from incrowd.transactions.rules import Rules

    if how not in CLOSURES:
        raise unknown("closure", how, CLOSURES)
    rules = rules.distinct()
    if how == "none" or not rules.n_rules:
        return rules
    consequents = np.flatnonzero(is_sensitive).astype(np.int32)
    parts = [
        tuple(rules.public[begin:end].tolist())
        for begin, end in zip(
            rules.public_starts[:-1].tolist(), rules.public_starts[1:].tolist(), strict=True
        )
    ]
    whole = dict.fromkeys(parts)
    most = MOST_RULES // max(1, len(consequents))
    antecedents = list(whole) if how == "sensitive" else _add_parts(whole, most, len(consequents))
    if len(antecedents) > most:
        raise _too_many_error(len(antecedents) * len(consequents))
    number_of = {antecedent: number for number, antecedent in enumerate(antecedents)}
    is_new = np.ones((len(antecedents), len(consequents)), dtype=np.bool_)
    for rule in np.flatnonzero(rules.sensitive_sizes == 1).tolist():
        item = rules.sensitive[rules.sensitive_starts[rule]]
        is_new[number_of[parts[rule]], np.searchsorted(consequents, item)] = False
    antecedent_of_rule, consequent_of_rule = np.nonzero(is_new)
    sizes = np.array([len(antecedent) for antecedent in antecedents], dtype=np.int64)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    items = np.array([item for one in antecedents for item in one], dtype=np.int32)
    sizes = sizes[antecedent_of_rule]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(starts[-1]) - np.repeat(starts[:-1] - begins[antecedent_of_rule], sizes)
    n_new = len(antecedent_of_rule)
    return Rules(
        np.concatenate([rules.public_starts, rules.public_starts[-1] + starts[1:]]),
        np.concatenate([rules.public, items[places]]),
        np.concatenate(
            [rules.sensitive_starts, rules.sensitive_starts[-1] + np.arange(1, n_new + 1)]
        ),
        np.concatenate([rules.sensitive, consequents[consequent_of_rule]]),
        rules.names,
    )


def _add_parts(
    whole: dict[tuple[int, ...], None], most: int, n_consequents: int
) -> list[tuple[int, ...]]:
    """Return all parts of these antecedents, once each, stated ones first."""
    found = dict(whole)
    for antecedent in whole:
        if 2 ** len(antecedent) - 1 > most:
            raise _too_many_error((2 ** len(antecedent) - 1) * n_consequents)
        for size in range(1, len(antecedent)):
            for part in combinations(antecedent, size):
                found[part] = None
        if len(found) > most:
            raise _too_many_error(len(found) * n_consequents)
    return list(found)


def _too_many_error(n_rules: int) -> JobError:
    return JobError(
        f"the closure has at least {n_rules:,} rules, and {MOST_RULES:,} is the most",
        remedy="State fewer or shorter public parts, close them over the sensitive items only, "
        'or promise  guarantee = "km",  which needs no list.',
    )
