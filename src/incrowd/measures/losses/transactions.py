"""Losses of generalized transactions, and count queries that a release answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets, count_items
from incrowd.transactions.generalized import (
    SHARE,
    SUBSETS,
    Itemset,
    count_supports,
    item_chance,
    parse_label,
)


@dataclass(frozen=True, eq=False)
class ItemAnswers:
    """The true count of each query, how many released rows show all its parts, their sizes."""

    true: NDArray[np.int64]
    shown: NDArray[np.int64]
    part_sizes: list[list[int]]

    def expected(self, reading: str) -> NDArray[np.float64]:
        """Return what the release answers, by a reading of its parts."""
        chances = [np.prod([item_chance(size, reading) for size in one]) for one in self.part_sizes]
        return np.asarray(self.shown * np.array(chances, dtype=np.float64), dtype=np.float64)


CountSupports = Callable[[Sequence[Itemset]], NDArray[np.int64]]
"""Returns how many rows hold all items of each itemset; −1 is an item that no row holds."""


def answer_queries(
    before: Sets, after: Sets, members: Sequence[Sequence[int]], queries: Sequence[Itemset]
) -> ItemAnswers:
    """Ask queries before and after; ``members[released item]`` are the original items behind it."""
    counts = partial(count_supports, before), partial(count_supports, after)
    return _answers(before.n_items, *counts, members, queries)


def _answers(
    n_items: int,
    count_before: CountSupports,
    count_after: CountSupports,
    members: Sequence[Sequence[int]],
    queries: Sequence[Itemset],
) -> ItemAnswers:
    part_of_item = np.full(n_items, -1, dtype=np.int64)
    size_of_item = np.ones(n_items, dtype=np.int64)
    for part, of_part in enumerate(members):
        part_of_item[list(of_part)] = part
        size_of_item[list(of_part)] = len(of_part)
    asked = [tuple(sorted(set(part_of_item[list(one)].tolist()))) for one in queries]
    return ItemAnswers(
        count_before(queries),
        count_after(asked),
        [size_of_item[list(one)].tolist() for one in queries],
    )


def draw_random_queries(
    is_held: NDArray[np.bool_],
    is_sensitive: NDArray[np.bool_],
    n_queries: int,
    draw: np.random.Generator,
) -> list[Itemset]:
    """Draw queries of two public items and a sensitive one, or of three public ones.

    Fewer items where there are no more; none where there is no public item.
    """
    public = np.flatnonzero(is_held & ~is_sensitive)
    sensitive = np.flatnonzero(is_held & is_sensitive)
    n_known = min(len(public), 2 if len(sensitive) else 3)
    if not n_known:
        return []
    queries = []
    for _ in range(n_queries):
        items = draw.choice(public, n_known, replace=False).tolist()
        if len(sensitive):
            items.append(int(draw.choice(sensitive)))
        queries.append(tuple(items))
    return queries


def draw_held_queries(
    sets: Sets,
    is_sensitive: NDArray[np.bool_],
    n_queries: int,
    draw: np.random.Generator,
    n_items: int = 3,
) -> list[Itemset]:
    """Draw rows, and of each so many items; one is sensitive where any are and there is room.

    Rows with too few items are passed over; no query where all have too few.
    """
    n_sensitive = np.zeros(sets.n_rows, dtype=np.int64)
    if is_sensitive.any():
        n_before = np.concatenate([[0], np.cumsum(is_sensitive[sets.items])])
        n_sensitive = np.diff(n_before[sets.starts])
    has_sensitive = n_items > 1 and bool(n_sensitive.any())
    n_known = n_items - has_sensitive
    is_long = (sets.sizes - n_sensitive >= n_known) & (n_sensitive >= has_sensitive)
    rows = np.flatnonzero(is_long)
    queries = []
    for row in draw.choice(rows, n_queries).tolist() if len(rows) else []:
        held = sets.items[sets.starts[row] : sets.starts[row + 1]]
        of_row = is_sensitive[held]
        items = draw.choice(held[~of_row], n_known, replace=False).tolist()
        if has_sensitive:
            items.append(int(draw.choice(held[of_row])))
        queries.append(tuple(items))
    return queries


# What generalizing items cost, as a pure function of transactions before and after.

N_QUERIES = 1000


@dataclass(frozen=True)
class RuleLosses:
    """How much a release of generalized items tells less than its original.

    ``log2_utility_loss``: the logarithm of Σ (2^|ĩ| − 1) / (2^|P| − 1) · w(ĩ) · σ(ĩ) over the parts
    ĩ of the public items P (Memon and Shao 2015, Definition 4; the weight of a part is the mean of
    its items'); ``log2_utility_loss_unscaled`` is the same without the denominator. None where no
    transaction has a public item that weighs anything.

    ``are_subsets`` and ``are_share``: the average relative error of random queries of two public
    items and a sensitive one (three public ones where there is no sensitive item), over those that
    the original answers with more than 0 (``n_answered`` of ``n_queries``; None where there are
    none). The release answers with the expected count, by either reading of a part (reconstructed:
    the paper does not say how a part is counted).

    ``are_held_subsets`` and ``are_held_share`` (ours): the same over queries of items that a random
    transaction holds together. Where items are many, random ones hardly ever meet, and few of the
    former queries have an answer; all of these have.

    ``share_ungeneralized``: of the public items, those that stand for themselves.
    ``mean_part_size``: over the released public entries. ``n_parts`` counts parts of the public
    items, those of one included.
    """

    log2_utility_loss: float | None
    log2_utility_loss_unscaled: float | None
    are_subsets: float | None
    are_share: float | None
    n_queries: int
    n_answered: int
    are_held_subsets: float | None
    are_held_share: float | None
    n_held_queries: int
    share_ungeneralized: float
    mean_part_size: float
    largest_part: int
    n_public: int
    n_parts: int
    n_entries_before: int
    n_entries_after: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the figures by name."""
        return asdict(self)


def measure_rule_losses(
    before: Sets,
    after: Sets,
    is_sensitive: NDArray[np.bool_],
    *,
    weight: NDArray[np.float64] | None = None,
    n_queries: int = N_QUERIES,
    seed: int = 0,
) -> RuleLosses:
    """Compare generalized transactions with the original ones; rows may be in any order.

    ``is_sensitive`` and ``weight`` are of the items of ``before``; weights are 1 if not given.
    O(entries + queries · rows / 64).
    """
    of_before, of_after = (
        CountedRows(
            item_names_of(sets),
            count_items(sets.items, sets.n_items),
            partial(count_supports, sets),
        )
        for sets in (before, after)
    )

    def draw_held(draw: np.random.Generator) -> list[Itemset]:
        return draw_held_queries(before, is_sensitive, n_queries, draw)

    return measure_counted_losses(
        of_before,
        of_after,
        is_sensitive,
        weight=weight,
        n_queries=n_queries,
        seed=seed,
        draw_held=draw_held,
    )


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows as far as losses count them: items' names and supports, and supports of itemsets."""

    names: pa.Array
    support: NDArray[np.int64]
    count: CountSupports

    @property
    def n_entries(self) -> int:
        """How many pairs of a row and an item there are."""
        return int(self.support.sum())


def measure_counted_losses(
    before: CountedRows,
    after: CountedRows,
    is_sensitive: NDArray[np.bool_],
    *,
    weight: NDArray[np.float64] | None = None,
    n_queries: int = N_QUERIES,
    seed: int = 0,
    draw_held: Callable[[np.random.Generator], list[Itemset]] | None = None,
) -> RuleLosses:
    """Return the losses from counts, wherever rows lie.

    Without ``draw_held``, which looks at rows, there are no queries of items held together.
    """
    names = [str(name) for name in before.names.to_pylist()]
    item_of_name = {name: item for item, name in enumerate(names)}
    members = [
        [item_of_name[name] for name in parse_label(str(label))]
        for label in after.names.to_pylist()
    ]
    is_part = np.array([not is_sensitive[of_item[0]] for of_item in members], dtype=np.bool_)
    size = np.array([len(of_item) for of_item in members], dtype=np.int64)
    support = after.support
    n_public = int(size[is_part].sum())
    weights = np.ones(len(names)) if weight is None else weight
    loss = _total_loss(
        (len(members[part]), int(support[part]), weights[members[part]])
        for part in np.flatnonzero(is_part).tolist()
    )
    n_shown = int(support[is_part].sum())
    draw = np.random.default_rng(seed)
    queries = draw_random_queries(before.support > 0, is_sensitive, n_queries, draw)
    n_answered, are_subsets, are_share = _relative_errors(before, after, members, queries)
    queries = [] if draw_held is None else draw_held(draw)
    n_held, held_subsets, held_share = _relative_errors(before, after, members, queries)
    return RuleLosses(
        log2_utility_loss=_log2(loss / ((1 << n_public) - 1)) if loss else None,
        log2_utility_loss_unscaled=_log2(loss) if loss else None,
        are_subsets=are_subsets,
        are_share=are_share,
        n_queries=n_queries,
        n_answered=n_answered,
        are_held_subsets=held_subsets,
        are_held_share=held_share,
        n_held_queries=n_held,
        share_ungeneralized=int((size[is_part] == 1).sum()) / max(n_public, 1),
        mean_part_size=int((size * support)[is_part].sum()) / max(n_shown, 1),
        largest_part=int(size[is_part].max(initial=0)),
        n_public=n_public,
        n_parts=int(is_part.sum()),
        n_entries_before=before.n_entries,
        n_entries_after=after.n_entries,
    )


def _total_loss(parts: Iterable[tuple[int, int, NDArray[np.float64]]]) -> Fraction:
    """Return Σ (2^size − 1) · weight · support, exactly: 2^1491 is no floating-point number."""
    of_size: dict[int, Fraction] = {}
    for size, support, weights in parts:
        mean = Fraction(math.fsum(weights.tolist())) / size
        of_size[size] = of_size.get(size, Fraction(0)) + support * mean
    return sum((((1 << size) - 1) * of_size[size] for size in of_size), Fraction(0))


def _log2(number: Fraction) -> float:
    return math.log2(number.numerator) - math.log2(number.denominator)


def _relative_errors(
    before: CountedRows,
    after: CountedRows,
    members: list[list[int]],
    queries: list[Itemset],
) -> tuple[int, float | None, float | None]:
    """Return how many queries have an answer, and the mean error by either reading."""
    if not queries:
        return 0, None, None
    found = _answers(len(before.names), before.count, after.count, members, queries)
    has_answer = found.true > 0
    if not has_answer.any():
        return 0, None, None
    true = found.true[has_answer]
    errors = []
    for reading in (SUBSETS, SHARE):
        expected = found.expected(reading)[has_answer]
        errors.append(float(np.mean(np.abs(true - expected) / true)))
    return int(has_answer.sum()), errors[0], errors[1]
