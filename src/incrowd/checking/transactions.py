"""The audit of released transactions that lie on an engine: sums come here, no rows.

Rules are counted where the rows lie, by the code that counts them in one process. That every
released transaction is what an original one generalizes to is proven by fingerprints: the
originals are generalized once more, by the labels of the release alone, and both must come to the
same rows, however often each.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import assemble
from incrowd.checking.out_of_core import CheckedRows
from incrowd.checking.request import Request
from incrowd.checking.sets import read_rules_to_check, sensitive_names
from incrowd.engines.choice import out_of_core_engine
from incrowd.engines.items import ItemRows
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.row_order import order_finding
from incrowd.guarantees.transactions.promises import RuleProtection
from incrowd.guarantees.transactions.rule_check import (
    NOT_SHOWN,
    ReleasedItems,
    add_rules,
    add_with_sensitive,
    find_in_counts,
    truth_left_open,
)
from incrowd.measures.losses.transactions import CountedRows, measure_counted_losses
from incrowd.sets.build import drop_duplicates
from incrowd.sets.stream import RowStream, why_in_memory
from incrowd.tables.locations import is_address
from incrowd.transactions.generalized import (
    Itemset,
    NumberedItemsets,
    add_supports,
    number_itemsets,
)
from incrowd.transactions.rules import Rules
from incrowd.workspace import Workspace

MOST_CELLS = 1 << 21
"""So many sums of antecedents and sensitive items are counted in one pass."""

_SALTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@dataclass(frozen=True, eq=False)
class OwnersRows:
    """What the audit holds released transactions against, their original on the engine."""

    original: ItemRows
    rules: Rules
    sensitive: frozenset[str]
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]


def examine_transactions(
    guarantee: RuleProtection, released: ItemRows, own: OwnersRows, *, is_in_order: bool
) -> tuple[list[Finding], dict[str, float]]:
    """Check a release as it was read back; return what was found and what was lost."""
    findings, shown = find_in_counts(guarantee, own.rules, own.sensitive, EngineRowCounts(released))
    if shown is not None:
        findings.append(_truth(own.original, released, shown))
    findings.append(order_finding(is_in_order))
    if shown is None or any(finding.holds is False for finding in findings):
        return findings, {}
    before, after = (
        CountedRows(rows.names, rows.support, partial(_count_supports, rows))
        for rows in (own.original, released)
    )
    losses = measure_counted_losses(before, after, own.is_sensitive, weight=own.weight).as_dict()
    return findings, {name: value for name, value in losses.items() if value is not None}


def why_in_process(request: Request) -> str:
    """Return why this process must hold the transactions of a check; nothing if it need not."""
    if not isinstance(request.released, (str, Path)) or is_address(request.released):
        return "they are no file of this machine"
    reasons = {
        "they are compared with their original": request.original is not None,
        "further measurements look at rows": request.measures or bool(request.measurements.flags),
    }
    path = Path(request.released)
    reason = next((reason for reason, is_so in reasons.items() if is_so), "")
    return reason or why_in_memory(path, path, request.sets.reading(request.input))


def check_on_engine(request: Request) -> CheckedRows:
    """Audit released transactions for rules, counted on an engine."""
    started = time.perf_counter()
    guarantee = cast(RuleProtection, request.guarantee)
    rules = read_rules_to_check(request)
    path = Path(request.released)
    with (
        Workspace(Path(tempfile.gettempdir())) as workspace,
        closing(out_of_core_engine(request.engine, workspace.folder)) as engine,
    ):
        stream = RowStream(path, request.sets.reading(request.input))
        rows = ItemRows.of_stream(engine, stream)
        sensitive = sensitive_names(request, rows.names)
        findings, _ = find_in_counts(guarantee, rules, sensitive, EngineRowCounts(rows))
        audit = assemble(
            guarantee,
            [*findings, truth_left_open()],
            rows.n_rows,
            engine=engine.describe(),
            release_sha256=engine.hash_location(str(path)),
            seconds=round(time.perf_counter() - started, 4),
        )
    return CheckedRows(audit)


class EngineRowCounts:
    """Counts of released rows that lie on an engine: see ``rule_check.RowCounts``."""

    def __init__(self, rows: ItemRows) -> None:
        self._rows = rows
        self.names, self.support = rows.names, rows.support
        self.n_rows, self.n_repeated = rows.n_rows, rows.n_repeated

    def count_rules(
        self, placed: NumberedItemsets, n_public: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count all rules in one pass."""
        counts = self._rows.sum_rows(2 * len(n_public), _AddRules(placed, n_public))
        support, joint = counts.reshape(2, -1)
        return support, joint

    def count_with_sensitive(
        self, placed: NumberedItemsets, sensitive_of_item: NDArray[np.int32], n_sensitive: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Count as many itemsets in a pass as there is room for."""
        n_sets = len(placed.starts) - 1
        counts = np.zeros((n_sets, 1 + n_sensitive), dtype=np.int64)
        at_once = max(1, MOST_CELLS // (1 + n_sensitive))
        for first in range(0, n_sets, at_once):
            end = min(first + at_once, n_sets)
            some = placed._replace(starts=placed.starts[first : end + 1])
            add = _AddWithSensitive(some, sensitive_of_item, n_sensitive)
            n_cells = (end - first) * (1 + n_sensitive)
            counts[first:end] = self._rows.sum_rows(n_cells, add).reshape(end - first, -1)
        return counts[:, 0].copy(), counts[:, 1:].astype(np.int32)


@dataclass(frozen=True, eq=False)
class _AddRules:
    placed: NumberedItemsets
    n_public: NDArray[np.int64]

    def __call__(
        self, starts: NDArray[np.int64], items: NDArray[np.int32], cells: NDArray[np.int64]
    ) -> None:
        add_rules(self.placed, self.n_public, starts, items, cells.reshape(2, -1))


@dataclass(frozen=True, eq=False)
class _AddWithSensitive:
    placed: NumberedItemsets
    sensitive_of_item: NDArray[np.int32]
    n_sensitive: int

    def __call__(
        self, starts: NDArray[np.int64], items: NDArray[np.int32], cells: NDArray[np.int64]
    ) -> None:
        n_sets = len(self.placed.starts) - 1
        support = np.zeros(n_sets, dtype=np.int64)
        joint = np.zeros((n_sets, self.n_sensitive), dtype=np.int32)
        add_with_sensitive(self.placed, self.sensitive_of_item, starts, items, support, joint)
        lines = cells.reshape(n_sets, -1)
        lines[:, 0] += support
        lines[:, 1:] += joint


def _count_supports(rows: ItemRows, itemsets: list[Itemset]) -> NDArray[np.int64]:
    """Return how many rows hold all items of each itemset; −1 is an item that no row holds."""
    placed = number_itemsets(itemsets, rows.n_items)
    return rows.sum_rows(len(itemsets), partial(add_supports, placed))


# ── truth ─────────────────────────────────────────────────────────────────────────────────────────


def _truth(original: ItemRows, released: ItemRows, shown: ReleasedItems) -> Finding:
    """Hold the release against its originals as its own labels generalize them."""
    of_item = shown.items_of(str(name) for name in original.names.to_pylist())
    n_lost = int(np.count_nonzero((of_item == NOT_SHOWN) & (original.support > 0)))
    of_item[of_item == NOT_SHOWN] = released.n_items
    expected = _fingerprint(original, of_item.astype(np.int32))
    found = _fingerprint(released, np.arange(released.n_items, dtype=np.int32))
    is_true = not n_lost and bool(np.array_equal(expected, found))
    summary = (
        "every transaction is what an original one generalizes to, sensitive items intact"
        if is_true
        else "the release differs from what its original generalizes to"
    )
    figures = {"n_rows": released.n_rows, "n_items_lost": n_lost, "by": "fingerprints"}
    return Finding("truth", is_true, summary, figures, is_public=False)


def _fingerprint(rows: ItemRows, number_of_item: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many rows there are and two sums of hashes of their sets of numbers."""
    return rows.sum_rows(1 + len(_SALTS), partial(_add_hashes, number_of_item))


def _add_hashes(
    number_of_item: NDArray[np.int32],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    cells: NDArray[np.int64],
) -> None:
    starts, numbers = drop_duplicates(starts, number_of_item[items])
    cells[0] += len(starts) - 1
    sums = cells.view(np.uint64)
    for place, salt in enumerate(_SALTS, 1):
        of_number = _mix(np.arange(1, int(numbers.max(initial=0)) + 2, dtype=np.uint64), salt)
        so_far = np.zeros(len(numbers) + 1, dtype=np.uint64)
        np.cumsum(of_number[numbers], out=so_far[1:])
        # sets of numbers as sums, which wrap; mixed once more, or rows would cancel each other
        of_row = _mix(so_far[starts[1:]] - so_far[starts[:-1]], salt)
        sums[place] += of_row.sum(dtype=np.uint64)


def _mix(numbers: NDArray[np.uint64], salt: int) -> NDArray[np.uint64]:
    """Return numbers that look random, the same for the same (the finalizer of splitmix64)."""
    mixed = numbers + np.uint64(salt)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found
