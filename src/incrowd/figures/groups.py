"""Sizes of groups: how many there are of each, and what each person got of the k they requested."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import RowKey, factorize
from incrowd.figures.blocks import Bars, Facts, Listing, Section, Steps
from incrowd.guarantees.adaptive.check import histogram
from incrowd.guarantees.sets.check import equal_rows
from incrowd.sets.sets import Sets
from incrowd.tables.schema import Schema
from incrowd.tables.table import Table

MOST_RANGES = 40


def bin_edges(largest: int, least: int = 0) -> tuple[list[int], bool]:
    """Return edges from ``least`` that hold all numbers up to ``largest``; whether they double.

    >>> edges_of(3)
    ([0, 1, 2, 3, 4], False)
    """
    if largest - least < MOST_RANGES:
        return list(range(least, largest + 2)), False
    first = max(1, least)
    edges = [first]
    while edges[-1] <= largest:
        # four ranges to a doubling, and never the same whole number twice
        edges.append(max(edges[-1] + 1, round(first * 2 ** (len(edges) / 4))))
    if len(edges) <= 4 * MOST_RANGES and least >= 1:
        return edges, True
    step = _round_step((largest - least) / MOST_RANGES)
    start = least // step * step
    return list(range(start, largest + step + 1, step)), False


def _round_step(step: float) -> int:
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= step:
                return factor * power
        power *= 10


def count_between(
    numbers: NDArray[Any], edges: list[int], weight: NDArray[Any] | None = None
) -> Any:
    """Return how many numbers, or how much weight, lie from each edge to below the next."""
    places = np.searchsorted(np.asarray(edges), numbers, side="right") - 1
    return np.bincount(places, weights=weight, minlength=len(edges) - 1)[: len(edges) - 1]


def as_floats(counts: Any) -> tuple[float, ...]:
    """Return counts as plain numbers."""
    return tuple(float(count) for count in counts)


# Sizes of groups: how many there are of each, and what each person got of the k they requested.

Whole = NDArray[np.int64]
MOST_WISHES = 12


def table_group_of_row(released: Table, schema: Schema) -> Whole:
    """Return the group of each released row: rows that are alike in the columns people know."""
    key = RowKey(released.n_rows)
    for name in schema.quasi:
        if name in released.frame.column_names:
            cells = factorize(released.frame.column(name))
            key.add(cells.codes, cells.n_codes)
    return np.asarray(np.unique(key.numbers, return_inverse=True)[1], dtype=np.int64)


def set_group_of_row(released: Sets) -> Whole:
    """Return the group of each released row: rows with equal sets."""
    return equal_rows(released).group_of_row


def sizes_section(group_of_row: Whole, k: int | None, alike: str) -> Section:
    """Return how large the groups are; ``alike`` says in what the rows of a group agree."""
    sizes = np.bincount(group_of_row)
    n_rows, n_groups = len(group_of_row), len(sizes)
    if not n_groups:
        return Section("groups", "Sizes of groups", ("The release has no rows.",))
    of_person = np.sort(sizes[group_of_row])
    facts = Facts(
        (
            ("groups", n_groups),
            ("smallest group", int(sizes.min())),
            ("median group, by row", int(of_person[n_rows // 2])),
            ("largest group", int(sizes.max())),
            ("rows in groups below 2k", _share_below(sizes, 2 * k)) if k else ("rows", n_rows),
        ),
        title="Groups",
        note=f"A group (equivalence class) is all rows with equal values of {alike}.",
    )
    return Section("groups", "Sizes of groups", (), (facts, _histogram(sizes, k)))


def _share_below(sizes: Whole, bound: int) -> int:
    return int(sizes[sizes < bound].sum())


def _histogram(sizes: Whole, k: int | None) -> Steps:
    """Return rows, not groups, by the size of their group: what it is like to be somebody."""
    least = min(int(sizes.min()), k or int(sizes.min()))
    edges, is_log = bin_edges(int(sizes.max()), max(1, least - 1))
    return Steps(
        "Rows by the size of their group",
        tuple(float(edge) for edge in edges),
        {"rows": as_floats(count_between(sizes, edges, sizes))},
        x_title="size of the group",
        y_title="rows",
        is_log_x=is_log,
        mark=(float(k), f"promised: {k}") if k else None,
        note="Each row is counted at the size of the group that it is in.",
    )


def requested_sizes_section(group_of_row: Whole, wish_of_row: NDArray[Any]) -> Section:
    """Return the k that everybody requested and how large the group is that they are in.

    Both are by released row. Where crowds are no groups, the findings report what was achieved.
    """
    achieved = np.bincount(group_of_row)[group_of_row]
    wishes = np.unique(wish_of_row)
    shown = wishes[:MOST_WISHES] if len(wishes) <= MOST_WISHES else _quantiles(wishes)
    rows = []
    for low, high in _range_labels(shown, int(wishes.max(initial=0))):
        mine = (wish_of_row >= low) & (wish_of_row <= high)
        got = np.sort(achieved[mine])
        if len(got):
            says = str(low) if low == high else f"{low} to {high}"
            rows.append(
                (
                    says,
                    len(got),
                    int(got[0]),
                    int(got[len(got) // 2]),
                    int(got[-1]),
                    int((achieved[mine] < wish_of_row[mine]).sum()),
                )
            )
    listing = Listing(
        (
            "requested k",
            "people",
            "smallest group",
            "middle group",
            "largest group",
            "rows below it",
        ),
        tuple(rows),
        title="Requested k and group sizes",
    )
    return Section(
        "wishes", "Achieved against requested k", (), (listing, ratio_bars(achieved, wish_of_row))
    )


def _quantiles(wishes: Whole) -> Whole:
    places = np.unique(np.linspace(0, len(wishes) - 1, MOST_WISHES).astype(int))
    return np.asarray(wishes[places])


def _range_labels(starts: Whole, largest: int) -> list[tuple[int, int]]:
    firsts = [int(start) for start in starts]
    ends = [*(first - 1 for first in firsts[1:]), largest]
    return list(zip(firsts, ends, strict=True))


def ratio_bars(achieved: NDArray[Any], wished: NDArray[Any]) -> Bars:
    """Return people by the size of their group over the k they requested."""
    shares = histogram(achieved / np.maximum(wished, 1))
    return ratio_shares("Group size over requested k", shares)


def ratio_shares(title: str, shares: dict[str, float]) -> Bars:
    """Return shares of people by achieved over requested k, as audits report them."""
    return Bars(
        title,
        tuple(shares),
        {"people": tuple(shares.values())},
        unit="share",
        y_title="achieved over requested",
        is_horizontal=True,
    )
