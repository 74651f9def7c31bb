"""Rules that the data as they are would break: a proposal of what to protect.

A rule p → s is broken where p occurs in fewer than k transactions, or where more than the stated
share of those holds s. Mined are all broken rules whose public part has up to three items that
some transaction holds together, and whose sensitive part is one item:

- *Confidence.* p → s, s any sensitive item that too many transactions with p hold. Sensitive parts
  of two and more items need no rule of their own: p → s t is never told more often than p → s.
- *Support.* p → s for every sensitive item s that occurs with p. Where none does, nothing is there
  to be told, but p still points at fewer than k transactions: such a rule is held with the most
  frequent sensitive item.

**What may be left out.** It is tempting to keep only the smallest public parts, since a p with
little support makes every larger one have little. But that is so before generalization only: when
a becomes (a,x), enough transactions may hold it while few hold (a,x) with b. The other way round it
holds: the items that a stands for are among those that a and b stand for, so a has at least the
support of a and b together. Hence rules about support alone are kept for the largest public parts
only; for parts of them they follow. About confidence nothing follows in either direction, and each
broken rule is kept.

What the data would not break is not mined, and may come to be broken by generalization; the closure
of rules (``data/rule_closure.py``) adds every sensitive item to every public part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import JobError
from incrowd.progress import Progress, is_abort_requested, silent
from incrowd.sets.names import item_names_of
from incrowd.transactions.rules import Rules

if TYPE_CHECKING:
    from incrowd.sets.sets import Sets


LARGEST = 3
"""The most public items of a mined rule."""

MOST_RULES = 2_000_000
"""More are refused: they are all held and all checked."""

_SLICES = 64


def mine_rules(
    sets: Sets,
    is_sensitive: NDArray[np.bool_],
    k: int,
    confidence: float,
    largest: int = 2,
    *,
    most: int = MOST_RULES,
    progress: Progress = silent,
) -> Rules:
    """Return the rules that the data break, ascending by their public items; perhaps none.

    ``largest`` is the most public items of a rule. Raises JobError where there are more than
    ``most``. Exact; O(Σ over transactions of the number of their sets), memory O(entries).
    """
    _require(is_sensitive, k, confidence, largest)
    from incrowd.transactions.kernels import mine

    public_starts, public_items = _keep_items(sets, ~is_sensitive)
    sensitive_starts, sensitive_items = _keep_items(sets, is_sensitive)
    support = np.bincount(sensitive_items, minlength=sets.n_items)
    stand_in = int(np.argmax(np.where(is_sensitive, support, -1)))
    limits = np.array([k, largest, stand_in], dtype=np.int64)
    rows = np.repeat(np.arange(sets.n_rows, dtype=np.int32), np.diff(public_starts))
    places = np.argsort(public_items, kind="stable")
    rows = rows[places]
    item_starts = np.searchsorted(public_items[places], np.arange(sets.n_items + 1))
    behind = public_starts[rows + 1] - places - 1
    most_behind = _largest_sum(behind, item_starts) if largest > 1 else 0
    scratch_rows = np.empty(2 * most_behind, dtype=np.int32)
    scratch_places = np.empty(2 * most_behind, dtype=np.int64)
    found = np.empty((most, 4), dtype=np.int32)
    n_found, first = 0, 0
    for last in _slice_bounds(behind, item_starts):
        if is_abort_requested():
            raise KeyboardInterrupt
        progress("mining rules", first, sets.n_items)
        n_found = mine(
            first, last, public_starts, public_items, sensitive_starts, sensitive_items,
            rows, places, item_starts, limits, float(confidence), scratch_rows,
            scratch_places, found, n_found,
        )  # fmt: skip
        if n_found > most:
            raise JobError(
                f"the data break more than {most:,} rules with up to {largest} public items",
                remedy="Mine shorter ones, or promise  km,  which needs no list of rules.",
            )
        first = last
    return _to_rules(found[:n_found], item_names_of(sets).cast(pa.string()))


def _require(is_sensitive: NDArray[np.bool_], k: int, confidence: float, largest: int) -> None:
    faults = []
    if not 1 <= largest <= LARGEST:
        faults.append(f"rules of up to {largest} public items are not mined: 1 to {LARGEST} are")
    if k < 1:
        faults.append(f"k is {k}, and 1 is the least")
    if not 0 <= confidence <= 1:
        faults.append(f"the confidence is {confidence:g}, and lies between 0 and 1")
    if is_sensitive.all() or not is_sensitive.any():
        faults.append("rules need public and sensitive items")
    if faults:
        raise JobError("; ".join(faults))


def _keep_items(
    sets: Sets, is_wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows with only some of the items."""
    is_kept = is_wanted[sets.items]
    before = np.concatenate([[0], np.cumsum(is_kept)]).astype(np.int64)
    return before[sets.starts], sets.items[is_kept]


def _largest_sum(behind: NDArray[np.int64], item_starts: NDArray[np.int64]) -> int:
    sums = np.concatenate([[0], np.cumsum(behind)])
    return int(np.diff(sums[item_starts]).max(initial=0))


def _slice_bounds(behind: NDArray[np.int64], item_starts: NDArray[np.int64]) -> list[int]:
    """Return where slices of items end that have about as many entries behind them."""
    n_items = len(item_starts) - 1
    sums = np.concatenate([[0], np.cumsum(behind + 1)])[item_starts]
    wanted = sums[-1] * np.arange(1, _SLICES) / _SLICES
    inner = np.searchsorted(sums, wanted).tolist()
    return sorted({*inner, n_items} - {0})


def _to_rules(found: NDArray[np.int32], names: pa.Array) -> Rules:
    is_item = found[:, :3] >= 0
    public_starts = np.concatenate([[0], np.cumsum(is_item.sum(axis=1))]).astype(np.int64)
    return Rules(
        public_starts,
        found[:, :3][is_item],
        np.arange(len(found) + 1, dtype=np.int64),
        found[:, 3].copy(),
        names,
    )
