"""Losses that are prices: what the generalized cells cost, over what losing everything costs.

With μ the sum of prices over all cells, a loss is the share μ(T) / μ(T*), T* being the same rows
with every cell at the root. The prices themselves are ``data/prices.py``'s.
"""

from __future__ import annotations

from collections.abc import Callable

from incrowd.data.prices import cost_to_root
from incrowd.metrics.tally import Tally, weighed


def share_of_price(metric: str) -> Callable[[Tally], float]:
    """Return the loss that weighs cells by a metric's prices.

    It is 0 where nothing can be lost: no columns, or prices that are all 0.
    """

    def share(tally: Tally) -> float:
        lost = dearest = 0.0
        for hierarchy, before, after in zip(
            tally.hierarchies, tally.before, tally.after, strict=True
        ):
            price = cost_to_root(hierarchy, metric)
            # the difference of counts first: an unchanged column is then exactly 0
            lost += weighed(before - after, price)
            dearest += weighed(before, price)
        return lost / dearest if dearest > 0 else 0.0

    return share


def gcp(tally: Tally) -> float:
    """Return the mean over all cells of the released node's normalized certainty penalty."""
    if tally.n_cells == 0:
        return 0.0
    penalty = 0.0
    for hierarchy, after in zip(tally.hierarchies, tally.after, strict=True):
        price = cost_to_root(hierarchy, "ncp")
        penalty += weighed(after, price.max() - price)
    return penalty / tally.n_cells


def granularity(tally: Tally) -> float:
    """Return 1 − loss."""
    return 1.0 - share_of_price("loss")(tally)
