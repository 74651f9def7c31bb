"""The data of the workload ``rules``: baskets generated or real, sensitive items and rules.

Generated baskets are a reconstruction of what Memon and Shao, "MR-RBAT: Anonymizing Large
Transaction Datasets Using MapReduce" (2015), measured on: BMS-POS, which is not ours to pass on.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.data import SetData
from incrowd.errors import JobError
from incrowd.sets.format import MOST
from incrowd.sets.sets import Sets
from incrowd.transactions.rule_files import find_sensitive_items
from incrowd.transactions.rules import Rules
from incrowd.transactions.samples import generate_rules

SHOP = "shop"
REAL = ("groceries", "msweb", "bms-webview1", "kosarak70k", "retail")


class Transactions(NamedTuple):
    """Rows of items, which of these are sensitive, and rules of the others."""

    sets: Sets
    is_sensitive: NDArray[np.bool_]
    rules: Rules


@dataclass(frozen=True)
class RuleData:
    """Transactions by name: ``shop`` is generated, others are read; rules are drawn from them.

    ``n_rows`` and ``n_items`` are those of 1X, and ``times`` how often its rows are selected;
    rules are drawn from 1X, so that they are the same for every ``times``. Of real data
    ``n_rows`` of 0 takes all.
    """

    name: str
    n_rules: int
    n_rows: int = 0
    n_items: int = 0
    longest: int = 0
    times: float = 1
    share: float = 0.1

    def load(self, folder: Path) -> Transactions:
        """Read or draw them."""
        sets = self._once(folder)
        is_sensitive, _ = find_sensitive_items(f"share:{self.share}", range(sets.n_items))
        rules = generate_rules(sets, is_sensitive, self.n_rules)
        if self.times != 1:
            sets = self._drawn(self.times)
        return Transactions(sets, is_sensitive, rules)

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of the data: where they are from, with a hash."""
        if self.name == SHOP:
            digest = hashlib.sha256(self._once(folder).items.tobytes()).hexdigest()
            return {**asdict(self), "source": "generated", "sha256": digest}
        read = SetData(self.name, self.n_rows).record(folder)
        return {**asdict(self), "source": read["source"], "sha256": read["sha256"]}

    def _once(self, folder: Path) -> Sets:
        if self.name == SHOP:
            return self._drawn(1)
        return SetData(self.name, self.n_rows).instances(folder)[0]

    def _drawn(self, times: float) -> Sets:
        return shop_baskets(self.n_rows, self.n_items, longest=self.longest, times=times)


# ── generated baskets ───────────────────────────────────────────────────────────────────────────

_BLOCK_ROWS = 1 << 16  # fixed: every block draws from a seed of its own
_ROUNDS = 6  # after that, rows that still lack items are filled by one draw of all items
_SPREAD = 0.9  # of the logarithms of lengths
_OWN_SHARE = 0.6  # of a basket's items that its type brings
_OWN_ITEMS = 48  # that a type is made of


def shop_baskets(
    n_rows: int = 515_597,
    n_items: int = 1_657,
    mean: float = 6.5,
    longest: int = 164,
    *,
    times: float = 1,
    n_types: int = 80,
    seed: int = 0,
) -> Sets:
    """Draw baskets of the size and shape of BMS-POS: long tails, Zipf's law, types of baskets.

    Lengths follow a log-normal law cut at ``longest`` whose mean is ``mean``; the longest there
    may be is there. Items are popular by 1/rank, in a random order of their numbers; a basket has
    a type, which brings most of its items. ``times`` makes more or fewer of them as the paper
    does, by random selection: with replacement above 1, without below. Rows are drawn in blocks:
    memory is that of the result and of one block.
    """
    _require(n_rows, "rows")
    _require(n_items, "items")
    _require(n_types, "types")
    if not 1 <= longest <= n_items or not 1 <= mean <= (1 + longest) / 2:
        raise JobError(
            f"baskets cannot have {mean:g} of {n_items:,} items on average and {longest:,} at most",
            remedy="State 1 to all items at most, and a mean of 1 to half of the longest.",
        )
    if not 0 < times * n_rows <= MOST:
        raise JobError(
            f"{n_rows:,} rows cannot be selected {times:g} times",
            remedy=f"The product must be above 0 and at most {MOST:,}.",
        )
    rng = np.random.default_rng([seed, 0])
    item_of_rank = rng.permutation(n_items).astype(np.int32)
    popular = 1 / np.arange(1, n_items + 1)
    cumulated = _cumulate(popular)
    own = item_of_rank[_pick(cumulated, rng.random((n_types, min(_OWN_ITEMS, n_items))))]
    chance_of_item = np.empty(n_items)
    chance_of_item[item_of_rank] = popular
    sizes = 1 + _pick(_cumulate(_length_chances(mean, longest)), rng.random(n_rows))
    if n_rows > longest and mean > 1:
        sizes[rng.integers(n_rows)] = longest
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.empty(starts[-1], dtype=np.int32)
    draw = _Draw(item_of_rank, cumulated, own, chance_of_item)
    for first in range(0, n_rows, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, n_rows)
        rng = np.random.default_rng([seed, 1, first])
        items[starts[first] : starts[last]] = draw.baskets(sizes[first:last], rng)
    sets = Sets(starts, items, n_items)
    return sets if times == 1 else _select(sets, times, seed)


class _Draw:
    """Draws the items of baskets whose lengths are known."""

    def __init__(
        self,
        item_of_rank: NDArray[np.int32],
        cumulated: NDArray[np.float64],
        own: NDArray[np.int32],
        chance_of_item: NDArray[np.float64],
    ) -> None:
        self._item_of_rank = item_of_rank
        self._cumulated = cumulated
        self._own = own
        self._own_cumulated = _cumulate(1 / np.sqrt(np.arange(1, own.shape[1] + 1)))
        self._chance_of_item = chance_of_item
        self._n_items = len(item_of_rank)

    def baskets(self, sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """Return the items of all baskets, one after the other, each basket's ascending."""
        n_rows, n_items = len(sizes), self._n_items
        n_types = len(self._own)
        type_of_row = _pick(_cumulate(1 / np.arange(1, n_types + 1)), rng.random(n_rows))
        done: list[NDArray[np.int64]] = []  # keys, row · n_items + item, of rows that are full
        keys = np.zeros(0, dtype=np.int64)  # of the others, ascending and distinct
        lacking = sizes
        for _ in range(_ROUNDS):
            rows = np.repeat(np.arange(n_rows), lacking)
            is_own = rng.random(len(rows)) < _OWN_SHARE
            items = self._item_of_rank[_pick(self._cumulated, rng.random(len(rows)))]
            place = _pick(self._own_cumulated, rng.random(int(is_own.sum())))
            items[is_own] = self._own[type_of_row[rows[is_own]], place]
            keys = np.unique(np.concatenate([keys, rows * n_items + items]))
            row_of_key = keys // n_items
            wanted = np.where(lacking > 0, sizes, 0)
            lacking = wanted - np.where(wanted, np.bincount(row_of_key, minlength=n_rows), 0)
            is_done = lacking[row_of_key] == 0
            done.append(keys[is_done])
            keys = keys[~is_done]
        keys = np.concatenate([*done, self._fill(keys, lacking, rng)])
        keys.sort()
        return (keys % n_items).astype(np.int32)

    def _fill(
        self, keys: NDArray[np.int64], lacking: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the keys of rows that lack items, with those added; a clock for every item.

        Items whose exponential clocks ring first are a draw without replacement.
        """
        n_items = self._n_items
        found = [keys]
        rows = np.flatnonzero(lacking)
        for some in np.array_split(rows, len(rows) // 512 + 1):
            if not len(some):
                continue
            begin, end = np.searchsorted(keys, [some[0] * n_items, (some[-1] + 1) * n_items])
            rings = rng.exponential(size=(len(some), n_items)) / self._chance_of_item
            held = keys[begin:end]
            rings[np.searchsorted(some, held // n_items), held % n_items] = np.inf
            order = np.argsort(rings, axis=1)
            is_first = np.arange(n_items) < lacking[some][:, None]
            found.append((some[:, None] * n_items + order)[is_first])
        return np.concatenate(found)


def _length_chances(mean: float, longest: int) -> NDArray[np.float64]:
    """Return the chances of the lengths 1 to ``longest``: log-normal, with this mean."""
    lengths = np.arange(1, longest + 1)
    logarithms = np.log(lengths)

    def chances(middle: float) -> NDArray[np.float64]:
        exponents = -((logarithms - middle) ** 2) / (2 * _SPREAD**2) - logarithms
        weights: NDArray[np.float64] = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        return weights

    low, high = -20.0, math.log(longest) + 5.0
    for _ in range(80):
        middle = (low + high) / 2
        if float((chances(middle) * lengths).sum()) < mean:
            low = middle
        else:
            high = middle
    return chances(high)


def _select(sets: Sets, times: float, seed: int) -> Sets:
    """Return so many times the rows, by random selection; in blocks."""
    rng = np.random.default_rng([seed, 2])
    n_wanted = max(1, round(sets.n_rows * times))
    if times < 1:
        rows = np.sort(rng.permutation(sets.n_rows)[:n_wanted])
    else:
        rows = rng.integers(0, sets.n_rows, n_wanted)
    sizes = sets.sizes[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.empty(starts[-1], dtype=np.int32)
    for first in range(0, n_wanted, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, n_wanted)
        items[starts[first] : starts[last]] = sets.take(rows[first:last]).items
    return Sets(starts, items, sets.n_items)


def _cumulate(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cumulated chances; the last is above every draw."""
    chances: NDArray[np.float64] = np.cumsum(weights)
    chances /= chances[-1]
    chances[-1] = 1.0
    return chances


def _pick(cumulated: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(cumulated, draws, side="right")


def _require(count: int, what: str) -> None:
    if not 1 <= count <= MOST:
        raise JobError(f"there cannot be {count:,} {what}", remedy=f"State 1 to {MOST:,}.")
