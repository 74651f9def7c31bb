"""How much room each card of a section gets, so that every row of cards is filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = 6
"""A row is six columns wide: cards take two, three, four or all of them."""

ALIKE, UNLIKE = 0.7, 0.5
"""Shares of the highest card of a row: one that is higher than the first is stretched to it, with
one that is lower than the second each card has a row of its own."""


@dataclass(frozen=True)
class Wish:
    """The columns that a card would like to take, and about how high it is, in pixels."""

    columns: int
    height: float


@dataclass(frozen=True)
class Span:
    """The columns that a card takes; whether it ends before the others of its row."""

    columns: int
    is_low: bool = False


def arrange(wishes: Sequence[Wish]) -> list[Span]:
    """Return the room of each card, in order: rows are full, and equal cards share rows evenly.

    >>> [span.columns for span in arrange([Wish(2, 99)] * 4)]
    [3, 3, 3, 3]
    """
    spans: list[Span] = []
    for row in _split_unlike(_rows(wishes)):
        columns = _fill([wish.columns for wish in row])
        highest = max(wish.height for wish in row)
        spans += [
            Span(width, wish.height < ALIKE * highest)
            for width, wish in zip(columns, row, strict=True)
        ]
    return spans


def _rows(wishes: Sequence[Wish]) -> list[list[Wish]]:
    """Return cards by rows, none wider than the page; a run of small ones is shared out evenly."""
    rows: list[list[Wish]] = []
    place = 0
    while place < len(wishes):
        run = _count_run(wishes, place)
        per_row = COLUMNS // wishes[place].columns
        if run > per_row:
            n_rows = -(-run // per_row)
            for number in range(n_rows):
                first, last = run * number // n_rows, run * (number + 1) // n_rows
                rows.append(list(wishes[place + first : place + last]))
            place += run
            continue
        row = [wishes[place]]
        place += 1
        while place < len(wishes):
            if sum(wish.columns for wish in row) + wishes[place].columns > COLUMNS:
                break
            row.append(wishes[place])
            place += 1
        rows.append(row)
    return rows


def _split_unlike(rows: list[list[Wish]]) -> list[list[Wish]]:
    """Return rows without those in which a low card would stand beside a much higher one."""
    found: list[list[Wish]] = []
    for row in rows:
        heights = [wish.height for wish in row]
        if min(heights) < UNLIKE * max(heights):
            found += [[wish] for wish in row]
        else:
            found.append(row)
    return found


def _count_run(wishes: Sequence[Wish], place: int) -> int:
    """Return how many cards of one width come one after the other."""
    width, end = wishes[place].columns, place
    while end < len(wishes) and wishes[end].columns == width:
        end += 1
    return end - place


def _fill(columns: list[int]) -> list[int]:
    """Return widths that fill a row: equal ones stay equal, else the widest grows."""
    left = COLUMNS - sum(columns)
    if left > 0 and len(set(columns)) == 1:
        return [COLUMNS // len(columns)] * len(columns)
    filled = list(columns)
    filled[filled.index(max(filled))] += left
    return filled
