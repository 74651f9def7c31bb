"""RBAT as its paper states it, with Python's sets of rows: what ours is timed against.

Memon and Shao (2015), Algorithm 1, with the two rules of the splits that the paper leaves open or
prints the wrong way round settled as ours are: an item goes to the side on which it loses less,
ties go right, the pair with the largest loss that stands first is the seed. Every pair's loss is
counted once beforehand, every part's rows are kept as a set, and every rule is checked after every
split until one fails.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.rules.data import RuleData, Transactions
from benchmarks.rules.runs import brief, compile_loops, search
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import Case, measure_forked

Items = tuple[int, ...]
Rule = tuple[Items, Items]


def plain_case(data: RuleData, cases: list[Case]) -> Task:
    """Return the task that times the plain search and ours, and holds their parts together."""

    def task(folder: Path) -> list[Measured]:
        record = data.record(folder)
        transactions = data.load(folder)
        results = []
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "parts.npy"
            for case in cases:
                compile_loops(transactions, brief(case), Path(scratch))
                ours = measure_forked(partial(search, transactions, case, target))
                plainly = measure_forked(partial(search_plainly, transactions, case, target))
                shape = {"n_rows": transactions.sets.n_rows, "n_items": transactions.sets.n_items}
                for way, found in (("incrowd", ours), ("plain", plainly)):
                    results.append({"data": record, **case, **shape, "way": way, **found})
        return results

    return task


def search_plainly(transactions: Transactions, case: Case, target: Path) -> Measured:
    """Search the plain way; raise where the parts are others than those in the file."""
    sets, is_sensitive, rules = transactions
    rows = [row.tolist() for row in np.split(sets.items, sets.starts[1:-1])]
    sensitive = frozenset(np.flatnonzero(is_sensitive).tolist())
    stated = []
    for number in range(case["n_rules"]):
        public, consequent = rules.rule(number)
        stated.append((tuple(map(int, public)), tuple(map(int, consequent))))
    started = time.perf_counter()
    parts = plain_rbat(
        rows,
        sensitive,
        stated,
        case["k"],
        case["confidence"],
        case["settings"]["alpha"],
    )
    seconds = time.perf_counter() - started
    part_of_item = np.load(target)
    ours = sorted(
        tuple(np.flatnonzero(part_of_item == part).tolist())
        for part in range(int(part_of_item.max()) + 1)
    )
    if ours != parts:
        raise RuntimeError("the plain search found other parts")
    return {"seconds": round(seconds, 3), "n_parts": len(parts)}


def plain_rbat(
    transactions: Sequence[Sequence[int]],
    sensitive: frozenset[int],
    rules: Sequence[Rule],
    k: int,
    confidence: float,
    alpha: int | str,
) -> list[Items]:
    """Return the parts of the public items, each ascending, by their first items."""
    rows_of_item: dict[int, set[int]] = {}
    for row, items in enumerate(transactions):
        for item in items:
            rows_of_item.setdefault(item, set()).add(row)
    public = tuple(sorted(rows_of_item.keys() - sensitive))
    support_of_pair = {
        pair: len(rows_of_item[pair[0]] | rows_of_item[pair[1]]) for pair in combinations(public, 2)
    }
    telling_rows = [
        _common([rows_of_item.get(item, set()) for item in consequent]) for _, consequent in rules
    ]
    part_of_item = dict.fromkeys(public, public)
    rows_of_part = {public: _unite(public, rows_of_item)}
    queue = deque([public])
    while queue:
        part = queue.popleft()
        if len(part) < 2:
            continue
        left, right = _split(part, rows_of_item, support_of_pair, alpha)
        trial = {**part_of_item, **dict.fromkeys(left, left), **dict.fromkeys(right, right)}
        for side in (left, right):
            rows_of_part[side] = _unite(side, rows_of_item)
        if _hold(rules, telling_rows, trial, rows_of_part, k, confidence):
            part_of_item = trial
            queue += [left, right]
    return sorted(set(part_of_item.values()))


def _split(
    part: Items,
    rows_of_item: dict[int, set[int]],
    support_of_pair: dict[tuple[int, int], int],
    alpha: int | str,
) -> tuple[Items, Items]:
    """Return the two sides of a part (Algorithms 3 and 4)."""
    first, second = max(combinations(part, 2), key=lambda pair: support_of_pair[pair])
    left, right = [first], [second]
    rows_left, rows_right = set(rows_of_item[first]), set(rows_of_item[second])
    others = [item for item in part if item not in (first, second)]
    size = 1 if alpha == "full" else max(1, -(-len(others) // int(alpha)))
    for start in range(0, len(others), size):
        to_left: list[int] = []
        to_right: list[int] = []
        for item in others[start : start + size]:
            rows = rows_of_item[item]
            loss_left = ((1 << (len(left) + 1)) - 1) * len(rows_left | rows)
            loss_right = ((1 << (len(right) + 1)) - 1) * len(rows_right | rows)
            (to_left if loss_left < loss_right else to_right).append(item)
        left += to_left
        right += to_right
        rows_left.update(*(rows_of_item[item] for item in to_left))
        rows_right.update(*(rows_of_item[item] for item in to_right))
    return tuple(sorted(left)), tuple(sorted(right))


def _hold(
    rules: Sequence[Rule],
    telling_rows: Sequence[set[int]],
    part_of_item: dict[int, Items],
    rows_of_part: dict[Items, set[int]],
    k: int,
    confidence: float,
) -> bool:
    """Whether every rule has enough support and does not tell too much."""
    for (public, _), telling in zip(rules, telling_rows, strict=True):
        rows = _common([rows_of_part[part] for part in {part_of_item[item] for item in public}])
        if len(rows) < k or len(rows & telling) / len(rows) > confidence:
            return False
    return True


def _common(some: list[set[int]]) -> set[int]:
    return set.intersection(*sorted(some, key=len))


def _unite(items: Items, rows_of_item: dict[int, set[int]]) -> set[int]:
    return set().union(*(rows_of_item[item] for item in items))
