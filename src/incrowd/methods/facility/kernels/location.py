"""The loops of facility location on distinct sets.

Meyerson's online algorithm, nearest facilities, and facilities closed again. Arrays named
``…_of_distinct`` have an entry per distinct set; ``starts`` and ``items`` are their items in rows
of different lengths, ``weight`` is how many rows have a set, ``need`` the largest k that those ask
for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import Flag, Whole, compiled, compiled_inner

NONE = -1

FAR = 1 << 40
"""Farther than any distance."""


# ── Meyerson's online algorithm ─────────────────────────────────────────────────────────────────


class Opened(NamedTuple):
    """Facilities as they are opened, with chained lists of those that hold each item.

    ``facility[n]`` is the distinct set of the n-th; ``last[item]`` its newest link,
    ``earlier[link]`` the one before, ``of_link[link]`` its facility. ``known_distance`` of a
    distinct set was right when there were ``known_at`` facilities. ``counters``: facilities, links,
    the smallest set among them.
    """

    facility: NDArray[np.int32]
    number_of_distinct: NDArray[np.int32]
    last: NDArray[np.int64]
    earlier: NDArray[np.int64]
    of_link: NDArray[np.int32]
    known_distance: NDArray[np.int64]
    known_at: NDArray[np.int64]
    common: NDArray[np.int32]
    touched: NDArray[np.int32]
    counters: NDArray[np.int64]


def nothing_opened(n_distinct: int, n_items: int, n_entries: int) -> Opened:
    """Return the state before any facility is open."""
    return Opened(
        np.empty(n_distinct, dtype=np.int32),
        np.full(n_distinct, NONE, dtype=np.int32),
        np.full(n_items, NONE, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int64),
        np.full(n_distinct, NONE, dtype=np.int64),
        np.zeros(n_distinct, dtype=np.int32),
        np.empty(n_distinct, dtype=np.int32),
        np.asarray([0, 0, FAR], dtype=np.int64),
    )


@compiled_inner
def _distance_to_opened(
    distinct: Whole, starts: NDArray[np.int64], items: NDArray[np.int32], opened: Opened
) -> Whole:
    """Return how far the nearest open facility is. O(links of the distinct set's items)."""
    size = starts[distinct + 1] - starts[distinct]
    nearest: Whole = size + opened.counters[2]
    n_touched = 0
    for place in range(starts[distinct], starts[distinct + 1]):
        link = opened.last[items[place]]
        while link != NONE:
            number = opened.of_link[link]
            if opened.common[number] == 0:
                opened.touched[n_touched] = number
                n_touched += 1
            opened.common[number] += 1
            link = opened.earlier[link]
    for at in range(n_touched):
        number = opened.touched[at]
        other = opened.facility[number]
        distance = size + starts[other + 1] - starts[other] - 2 * opened.common[number]
        nearest = min(nearest, distance)
        opened.common[number] = 0
    return nearest


@compiled
def meet_rows(
    first: Whole,
    end: Whole,
    order: NDArray[np.int32],
    chance: NDArray[np.float64],
    cost: NDArray[np.float64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    opened: Opened,
) -> None:
    """Let rows arrive, ``order[first:end]`` being their distinct sets, and open facilities at some.

    Meyerson 2001: a row at distance d from the nearest facility opens one with probability
    min(1, d / cost), always where its cost is 0 and d is not. ``chance`` has one uniform number per
    row. A row that equals an open facility lies at distance 0.
    """
    for place in range(first, end):
        distinct = order[place]
        if opened.number_of_distinct[distinct] != NONE:
            continue
        n_open = opened.counters[0]
        if opened.known_at[distinct] != n_open:
            opened.known_distance[distinct] = _distance_to_opened(distinct, starts, items, opened)
            opened.known_at[distinct] = n_open
        distance = opened.known_distance[distinct]
        if chance[place] * cost[distinct] >= distance:
            continue
        opened.facility[n_open] = distinct
        opened.number_of_distinct[distinct] = n_open
        for at in range(starts[distinct], starts[distinct + 1]):
            link = opened.counters[1]
            opened.earlier[link] = opened.last[items[at]]
            opened.of_link[link] = n_open
            opened.last[items[at]] = link
            opened.counters[1] += 1
        opened.counters[0] += 1
        opened.counters[2] = min(opened.counters[2], starts[distinct + 1] - starts[distinct])


# ── nearest facilities ──────────────────────────────────────────────────────────────────────────


class Facilities(NamedTuple):
    """Facilities to choose the nearest of.

    ``facility[number]`` is a distinct set; item i is held by ``numbers[number_starts[i]:…]``;
    ``by_size`` has the numbers in the order of their sets' sizes; ``is_open`` may change.
    """

    facility: NDArray[np.int32]
    number_starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    by_size: NDArray[np.int32]
    is_open: NDArray[np.bool_]
    common: NDArray[np.int32]
    touched: NDArray[np.int32]
    found: NDArray[np.int64]


@compiled_inner
def _find_nearest(
    distinct: Whole, starts: NDArray[np.int64], items: NDArray[np.int32], facilities: Facilities
) -> None:
    """Put number and distance of the nearest open facility into ``found``; ties: lowest number.

    ``found[2]`` is where the open facilities begin in ``by_size``. O(holders of the distinct set's
    items).
    """
    while not facilities.is_open[facilities.by_size[facilities.found[2]]]:
        facilities.found[2] += 1
    size = starts[distinct + 1] - starts[distinct]
    best: Whole = np.int64(facilities.by_size[facilities.found[2]])
    smallest = facilities.facility[best]
    nearest: Whole = size + starts[smallest + 1] - starts[smallest]
    n_touched = 0
    for place in range(starts[distinct], starts[distinct + 1]):
        item = items[place]
        for at in range(facilities.number_starts[item], facilities.number_starts[item + 1]):
            number = facilities.numbers[at]
            if facilities.is_open[number]:
                if facilities.common[number] == 0:
                    facilities.touched[n_touched] = number
                    n_touched += 1
                facilities.common[number] += 1
    for at in range(n_touched):
        number = facilities.touched[at]
        other = facilities.facility[number]
        distance = size + starts[other + 1] - starts[other] - 2 * facilities.common[number]
        facilities.common[number] = 0
        if distance < nearest or (distance == nearest and number < best):
            nearest = distance
            best = np.int64(number)
    facilities.found[0] = best
    facilities.found[1] = nearest


@compiled
def assign(
    first: Whole,
    end: Whole,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    facilities: Facilities,
    number_of_distinct: NDArray[np.int32],
    distance_of_distinct: NDArray[np.int64],
) -> None:
    """Give distinct sets ``first`` to ``end`` to their nearest open facilities."""
    for distinct in range(first, end):
        _find_nearest(distinct, starts, items, facilities)
        number_of_distinct[distinct] = facilities.found[0]
        distance_of_distinct[distinct] = facilities.found[1]


# ── closing facilities ──────────────────────────────────────────────────────────────────────────


class Clients(NamedTuple):
    """Who belongs to each facility: chains of sets, rows counted, the largest k asked for."""

    first: NDArray[np.int32]
    following: NDArray[np.int32]
    n_rows: NDArray[np.int64]
    need: NDArray[np.int64]


@compiled
def clients_of(
    n_facilities: Whole,
    number_of_distinct: NDArray[np.int32],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
) -> Clients:
    """Return the clients of each facility, in the order of their numbers. O(distinct sets)."""
    clients = Clients(
        np.full(n_facilities, NONE, dtype=np.int32),
        np.full(len(weight), NONE, dtype=np.int32),
        np.zeros(n_facilities, dtype=np.int64),
        np.zeros(n_facilities, dtype=np.int64),
    )
    for back in range(len(weight)):
        distinct = len(weight) - 1 - back
        _add_client(clients, np.int64(number_of_distinct[distinct]), distinct, weight, need)
    return clients


@compiled_inner
def _add_client(
    clients: Clients,
    number: Whole,
    distinct: Whole,
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
) -> None:
    clients.following[distinct] = clients.first[number]
    clients.first[number] = distinct
    clients.n_rows[number] += weight[distinct]
    clients.need[number] = max(clients.need[number], need[distinct])


@compiled_inner
def _close(
    number: Whole,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    facilities: Facilities,
    clients: Clients,
    number_of_distinct: NDArray[np.int32],
    distance_of_distinct: NDArray[np.int64],
) -> None:
    """Close a facility and give each of its clients to its nearest other one."""
    facilities.is_open[number] = False
    distinct = clients.first[number]
    while distinct != NONE:
        following = clients.following[distinct]
        _find_nearest(np.int64(distinct), starts, items, facilities)
        number_of_distinct[distinct] = facilities.found[0]
        distance_of_distinct[distinct] = facilities.found[1]
        _add_client(clients, facilities.found[0], np.int64(distinct), weight, need)
        distinct = following
    clients.first[number] = NONE
    clients.n_rows[number] = 0
    clients.need[number] = 0


@compiled_inner
def _is_dear(
    number: Whole,
    cost: NDArray[np.float64],
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    facilities: Facilities,
    clients: Clients,
    distance_of_distinct: NDArray[np.int64],
) -> Flag:
    """Return whether a facility costs more than its clients' longer ways to their next nearest."""
    longer = 0.0
    price = cost[facilities.facility[number]]
    beginning = facilities.found[2]
    facilities.is_open[number] = False
    distinct = clients.first[number]
    while distinct != NONE and longer < price:
        _find_nearest(np.int64(distinct), starts, items, facilities)
        longer += weight[distinct] * (facilities.found[1] - distance_of_distinct[distinct])
        distinct = clients.following[distinct]
    facilities.is_open[number] = True
    facilities.found[2] = beginning
    return longer < price


@compiled_inner
def _is_small(number: Whole, share: float, clients: Clients) -> Flag:
    """Return whether a facility has no rows, or fewer than a share of what its clients ask."""
    n_rows = clients.n_rows[number]
    return n_rows == 0 or n_rows < share * clients.need[number]


@compiled
def close_facilities(
    order: NDArray[np.int64],
    cost: NDArray[np.float64] | None,
    share: float,
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    weight: NDArray[np.int64],
    need: NDArray[np.int64],
    facilities: Facilities,
    clients: Clients,
    number_of_distinct: NDArray[np.int32],
    distance_of_distinct: NDArray[np.int64],
) -> None:
    """Close facilities, in this order, until none is to be closed or one is left.

    With ``cost`` those whose cost is more than their clients' longer ways: a local search by
    closing alone. Without it those with fewer than ``share`` of the rows that their clients ask
    for. Clients go to their nearest open ones.
    """
    n_open = 0
    for number in range(len(order)):
        n_open += facilities.is_open[number]
    has_closed = True
    while has_closed:
        has_closed = False
        for number in order:
            if n_open == 1 or not facilities.is_open[number]:
                continue
            if cost is not None:
                is_to_close = _is_dear(
                    number, cost, starts, items, weight, facilities, clients, distance_of_distinct
                )
            else:
                is_to_close = _is_small(number, share, clients)
            if is_to_close:
                _close(
                    number,
                    starts,
                    items,
                    weight,
                    need,
                    facilities,
                    clients,
                    number_of_distinct,
                    distance_of_distinct,
                )
                n_open -= 1
                has_closed = True
