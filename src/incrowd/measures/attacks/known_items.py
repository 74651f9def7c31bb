"""Known items: somebody knows m items of a person's set and looks for the row they are in.

The items are drawn from the person's original set. The attacker takes the rows that hold all of
them, all rows of the file if there are none, and picks one, each with the same chance. People with
fewer than m items are not attacked with m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.guarantees.evidence import Finding
from incrowd.measures.attacks.linkage import format_rate, sampled_rate
from incrowd.measures.options import AttackOptions
from incrowd.sets.order import NO_ITEM, match_items
from incrowd.sets.sets import Sets

COMMON_SHARE = 32
"""An item is common where one in so many rows holds it."""


def known_items_finding(
    released: Sets,
    original: Sets,
    original_row: NDArray[np.int64],
    options: AttackOptions,
    *,
    original_item: NDArray[np.int64] | None = None,
    is_generalized: bool = False,
) -> Finding:
    """Attack people by items of their own, on the original as it is and on the release.

    ``original_item[released item]`` is the key of items that were renamed. Where released items
    stand for sets of items, ``(a,b,f)``, a known item is looked for as what stands for it.
    """
    shown_as = _released_items(released, original, original_item, is_generalized)
    released_row = np.empty(original.n_rows, dtype=np.int64)
    released_row[original_row] = np.arange(len(original_row))
    holders_before, holders_after = _Holders.of(original), _Holders.of(released)
    by_number: dict[str, Any] = {}
    for n_known in options.numbers_of_items:
        draw = np.random.default_rng([options.seed, 2, n_known])
        people = np.flatnonzero(original.sizes >= n_known).astype(np.int64)
        n_able = len(people)
        if n_able > options.sample:
            people = np.sort(draw.choice(people, options.sample, replace=False))
        known = _draw_items(original, people, n_known, draw)
        before = _measure_success(holders_before, known, people, original.n_rows)
        after = _measure_success(
            holders_after, shown_as[known], released_row[people], released.n_rows
        )
        by_number[str(n_known)] = {
            "n_able": n_able,
            "before": sampled_rate(before) | {"n_certain": int((before >= 1.0).sum())},
            "after": sampled_rate(after) | {"n_certain": int((after >= 1.0).sum())},
        }
    figures = {"n_rows": original.n_rows, "seed": options.seed, "by_known_items": by_number}
    return Finding("attack: known items", None, _summarize(figures), figures, is_public=False)


def _released_items(
    released: Sets,
    original: Sets,
    original_item: NDArray[np.int64] | None,
    is_generalized: bool,
) -> NDArray[np.int32]:
    """Return the released item that shows each original one, −1 where none does."""
    shown_as = np.full(original.n_items, NO_ITEM, dtype=np.int32)
    if is_generalized:
        from incrowd.transactions.generalized import parse_label

        names = _names(original)
        item_of_name = {name: item for item, name in enumerate(names)}
        for item, label in enumerate(_names(released)):
            for member in parse_label(label):
                if member in item_of_name:
                    shown_as[item_of_name[member]] = item
        return shown_as
    stands_for = match_items(released, original) if original_item is None else original_item
    is_there = stands_for != NO_ITEM
    shown_as[stands_for[is_there]] = np.flatnonzero(is_there).astype(np.int32)
    return shown_as


def _names(sets: Sets) -> list[str]:
    if sets.item_names is None:
        return [str(item) for item in range(sets.n_items)]
    return [str(name) for name in sets.item_names.to_pylist()]


@dataclass(frozen=True, eq=False)
class _Holders:
    """The rows that hold each item, item after item, and as bits where the item is common."""

    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    words_of_item: NDArray[np.int32]
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, sets: Sets) -> _Holders:
        order = np.argsort(sets.items, kind="stable")
        rows = np.repeat(np.arange(sets.n_rows, dtype=np.int32), sets.sizes)[order]
        counts = np.bincount(sets.items, minlength=sets.n_items)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        common = np.flatnonzero(counts > sets.n_rows // COMMON_SHARE)
        words_of_item = np.full(sets.n_items, -1, dtype=np.int32)
        words_of_item[common] = np.arange(len(common), dtype=np.int32)
        words = np.zeros((len(common), -(-sets.n_rows // 64)), dtype=np.uint64)
        for place, item in enumerate(common.tolist()):
            flags = np.zeros(words.shape[1] * 64, dtype=np.bool_)
            flags[rows[start[item] : start[item + 1]]] = True
            words[place] = np.packbits(flags, bitorder="little").view("<u8")
        return cls(start, rows, words_of_item, words)


def _draw_items(
    original: Sets, people: NDArray[np.int64], n_known: int, draw: np.random.Generator
) -> NDArray[np.int32]:
    """Return ``n_known`` items of each person's set, every choice with the same chance."""
    own = original.take(people)
    person_of_entry = np.repeat(np.arange(own.n_rows), own.sizes)
    order = np.lexsort((draw.random(own.n_entries), person_of_entry))
    places = own.starts[:-1, None] + np.arange(n_known)[None, :]
    return np.ascontiguousarray(own.items[order[places]], dtype=np.int32)


def _measure_success(
    holders: _Holders,
    known: NDArray[np.int32],
    own_row: NDArray[np.int64],
    n_rows: int,
) -> NDArray[np.float64]:
    from incrowd.measures.attacks.kernels import count_holders

    n_holders = np.zeros(len(known), dtype=np.int64)
    is_holder = np.zeros(len(known), dtype=np.bool_)
    count_holders(
        holders.start,
        holders.rows,
        holders.words_of_item,
        holders.words,
        np.ascontiguousarray(known),
        own_row,
        n_holders,
        is_holder,
    )
    is_blind = n_holders == 0
    return np.where(is_blind, 1.0 / n_rows, is_holder / np.maximum(n_holders, 1))


def _summarize(figures: dict[str, Any]) -> str:
    parts = [
        f"knowing {number} item{'s' if number != '1' else ''}, the right row is picked with "
        f"{format_rate(found['after'])}, of the original with {format_rate(found['before'])}"
        for number, found in figures["by_known_items"].items()
        if found["n_able"]
    ]
    return "; ".join(parts) or "nobody has so many items"
