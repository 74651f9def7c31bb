"""The search of the lattice of levels: the cheapest levels on which the guarantee holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import le
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError, JobError
from incrowd.hierarchies.costs import fixed_point_costs
from incrowd.methods.shared.conditions import Conditions, PackedConditions
from incrowd.methods.shared.fragments import sort_into_runs, sort_key
from incrowd.progress import Progress

if TYPE_CHECKING:
    from incrowd.kernels.validity import Scratch


Levels = tuple[int, ...]

ROOM_FOR_GROUPS = 6
"""Groups of earlier choices are kept, up to this many times the distinct rows in all."""

LARGEST_KEY = 1 << 63
FIRST_RADIX = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Column:
    """A column on every level: ``code[level][leaf]`` numbers the nodes that are shown there."""

    code: tuple[NDArray[np.int64], ...]
    n_codes: tuple[int, ...]
    to_root: tuple[NDArray[np.int64], ...]
    price: tuple[int, ...]

    @property
    def n_levels(self) -> int:
        """How many levels there are, the leaves and the root included."""
        return len(self.code)


@dataclass(frozen=True)
class Verdict:
    """What a choice of levels comes to.

    ``price`` is that of the table with its suppressed rows at the roots, None where too many rows
    would be suppressed. ``n_surely`` rows are suppressed here and on all lower levels, which costs
    at least ``extra`` over what generalizing alone costs.
    """

    price: int | None
    n_surely: int
    extra: int


@dataclass(frozen=True, eq=False)
class _Groups:
    levels: Levels
    distinct_of_group: NDArray[np.int32]
    size_of_group: NDArray[np.int64]


class LeveledTable:
    """A table's distinct rows, grouped and judged under any choice of levels.

    ``n_suppressible`` rows may be left out: those of groups that do not hold. With t the
    distribution is that of the rows that stay, so groups are judged again until none falls out.
    There are ``n_of_row[row]`` of each row where sizes are all that groups are judged by.
    """

    def __init__(
        self,
        rows: Rows,
        conditions: Conditions,
        n_suppressible: int,
        metric: str,
        weights: list[float],
        n_of_row: NDArray[np.int64] | None = None,
    ) -> None:
        n_of_row = np.ones(rows.n_rows, dtype=np.int64) if n_of_row is None else n_of_row
        self.n_rows, self.n_suppressible = int(n_of_row.sum()), n_suppressible
        self._conditions = conditions
        ladders = [hierarchy.ladder for hierarchy in rows.hierarchies]
        sizes = [hierarchy.n_leaves for hierarchy in rows.hierarchies]
        order, starts = sort_into_runs(sort_key(list(rows.nodes), sizes, rows.n_rows))
        self._rows = order.astype(np.int32)
        self._start_of_distinct = starts
        distinct = order[starts[:-1]]
        self._leaf_of_distinct = np.ascontiguousarray(rows.nodes[:, distinct].T)
        self._start_of_column = np.cumsum([0, *sizes])[:-1].astype(np.int64)
        costs = fixed_point_costs(rows.hierarchies, metric, weights)
        self.columns = [
            _column(ladder, cost.astype(np.int64), _counts(leaves, n_of_row, ladder.shape[1]))
            for ladder, cost, leaves in zip(ladders, costs, rows.nodes, strict=True)
        ]
        everything = _Groups(
            (0,) * rows.n_columns,
            np.arange(len(distinct), dtype=np.int32),
            np.add.reduceat(n_of_row[order], starts[:-1]).astype(np.int64),
        )
        self._known = [everything]
        self._n_known = 0
        n_slots = 1 << (2 * max(1, len(distinct)) - 1).bit_length()
        self._slots = np.empty(n_slots, dtype=np.int32)
        self._key_of_group = np.empty(len(distinct), dtype=np.uint64)

    @property
    def is_closed(self) -> bool:
        """Whether what holds on some levels holds on all higher ones, suppressed rows included.

        Without suppression it always does: a union of valid groups is valid. With it, a valid
        group may be joined by rows that were suppressed below, so that only conditions that no
        additional row can break stay true: crowds of one k, and distinct values.
        """
        if self.n_suppressible == 0:
            return True
        return self._conditions.k_of_row is None and all(
            column.t < 0.0 and (column.l <= 0.0 or column.l_kind == "distinct")
            for column in self._conditions.sensitive
        )

    def judge(self, levels: Levels) -> Verdict:
        """Say what these levels come to."""
        from incrowd.methods.full_domain.kernel import price_of_groups

        groups, group_of_entry = self._group(levels)
        is_small = groups.size_of_group < self._conditions.k
        n_small = int(groups.size_of_group[is_small].sum())
        is_broken, n_broken = is_small, n_small
        if not self._conditions.is_size_only and not self._is_too_many(n_small):
            is_broken = is_small.copy()
            n_broken = self._judge_all(is_broken, group_of_entry, groups.size_of_group)
        prices = np.concatenate(
            [column.to_root[level] for column, level in zip(self.columns, levels, strict=True)]
        )
        is_sure, n_sure = (is_broken, n_broken) if self.is_closed else (is_small, n_small)
        places = (
            groups.distinct_of_group,
            groups.size_of_group,
            self._leaf_of_distinct,
            self._start_of_column,
            prices,
        )
        extra = int(price_of_groups(is_sure, *places))
        if self._is_too_many(n_broken):
            return Verdict(None, n_sure, extra)
        dearer = extra if is_sure is is_broken else int(price_of_groups(is_broken, *places))
        return Verdict(self.price(levels) + dearer, n_sure, extra)

    def price(self, levels: Levels) -> int:
        """Return what the levels cost where nothing is suppressed."""
        pairs = zip(self.columns, levels, strict=True)
        return sum(column.price[level] for column, level in pairs)

    def is_hopeless(self, verdict: Verdict) -> bool:
        """Return whether neither these levels nor any lower ones can hold."""
        return verdict.price is None and self._is_too_many(verdict.n_surely)

    def suppressed(self, levels: Levels) -> NDArray[np.bool_]:
        """Return which of the rows given are suppressed on levels that hold."""
        everything = self._known[0]
        groups, group_of_distinct = self._group(levels, everything)
        is_broken = groups.size_of_group < self._conditions.k
        if not self._conditions.is_size_only:
            self._judge_all(is_broken, group_of_distinct, groups.size_of_group)
        is_suppressed = np.zeros(len(self._rows), dtype=np.bool_)
        is_suppressed[self._rows] = np.repeat(
            is_broken[group_of_distinct], np.diff(self._start_of_distinct)
        )
        return is_suppressed

    def _is_too_many(self, n_broken: int) -> bool:
        return n_broken > self.n_suppressible or n_broken == self.n_rows

    def _group(
        self, levels: Levels, start: _Groups | None = None
    ) -> tuple[_Groups, NDArray[np.int32]]:
        """Group from the fewest groups that are known of levels nowhere higher."""
        from incrowd.methods.full_domain.kernel import group_entries, merge_entries

        if start is None:
            start = self._known[0]
            if self._conditions.is_size_only:
                below = [known for known in self._known if all(map(le, known.levels, levels))]
                start = min(below, key=lambda known: len(known.size_of_group))
        pairs = list(zip(self.columns, levels, strict=True))
        sizes = [column.n_codes[level] for column, level in pairs]
        radix, is_injective = _radix(sizes)
        entries = start.distinct_of_group
        group_of_entry = np.empty(len(entries), dtype=np.int32)
        n_groups = group_entries(
            entries,
            self._leaf_of_distinct,
            self._start_of_column,
            np.concatenate([column.code[level] for column, level in pairs]),
            radix,
            is_injective,
            self._slots[: 1 << (2 * len(entries) - 1).bit_length()],
            self._key_of_group,
            group_of_entry,
        )
        merged = merge_entries(group_of_entry, n_groups, entries, start.size_of_group)
        groups = _Groups(levels, *merged)
        if self._conditions.is_size_only:
            self._keep(groups)
        return groups, group_of_entry

    def _keep(self, groups: _Groups) -> None:
        self._known.append(groups)
        self._n_known += len(groups.size_of_group)
        while self._n_known > ROOM_FOR_GROUPS * len(self._leaf_of_distinct):
            self._n_known -= len(self._known.pop(1).size_of_group)

    def _judge_all(
        self,
        is_broken: NDArray[np.bool_],
        group_of_distinct: NDArray[np.int32],
        size_of_group: NDArray[np.int64],
    ) -> int:
        from incrowd.methods.full_domain.kernel import judge_groups

        is_shifting = self.n_suppressible > 0 and any(
            column.t >= 0.0 for column in self._conditions.sensitive
        )
        limits = self._limits
        n_before = -1
        n_broken = int(size_of_group[is_broken].sum())
        while n_before < n_broken and not self._is_too_many(n_broken):
            if is_shifting and n_broken:
                limits = self._limits_without(is_broken[group_of_distinct])
            n_before = n_broken if is_shifting else self.n_rows
            n_broken = int(
                judge_groups(
                    is_broken,
                    group_of_distinct,
                    size_of_group,
                    self._rows,
                    self._start_of_distinct,
                    self.n_suppressible,
                    limits,
                    self._scratch,
                )
            )
        return n_broken

    def _limits_without(self, is_left_out: NDArray[np.bool_]) -> PackedConditions:
        """Return the conditions with the distribution of the rows that stay."""
        kept = self._rows[~np.repeat(is_left_out, np.diff(self._start_of_distinct))]
        shares = self._conditions.take(kept.astype(np.int64)).packed(len(kept)).tree_share
        return self._limits._replace(tree_share=shares)

    @cached_property
    def _limits(self) -> PackedConditions:
        return self._conditions.packed(self.n_rows)

    @cached_property
    def _scratch(self) -> Scratch:
        from incrowd.kernels.validity import scratch_for

        return scratch_for(self._limits)


def _counts(
    leaves: NDArray[np.int32], n_of_row: NDArray[np.int64], n_leaves: int
) -> NDArray[np.int64]:
    """Return how many rows have each leaf."""
    counts = np.zeros(n_leaves, dtype=np.int64)
    np.add.at(counts, leaves, n_of_row)
    return counts


def _column(
    ladder: NDArray[np.int32], cost: NDArray[np.int64], n_rows_of_leaf: NDArray[np.int64]
) -> Column:
    codes, n_codes = [], []
    for shown in ladder:
        nodes, code = np.unique(shown, return_inverse=True)
        codes.append(code.astype(np.int64))
        n_codes.append(len(nodes))
    to_root = tuple(cost[shown] for shown in ladder)
    price = tuple(int((n_rows_of_leaf * (to_root[0] - left)).sum()) for left in to_root)
    return Column(tuple(codes), tuple(n_codes), to_root, price)


def _radix(sizes: list[int]) -> tuple[NDArray[np.uint64], bool]:
    """Return factors that make Σ code · factor a key, and whether different rows differ in it."""
    radix, factor = [], 1
    for size in sizes:
        radix.append(factor)
        factor *= size
    if factor < LARGEST_KEY:
        return np.asarray(radix, dtype=np.uint64), True
    powers = [pow(FIRST_RADIX, place + 1, 1 << 64) for place in range(len(sizes))]
    return np.asarray(powers, dtype=np.uint64), False


# The search of the lattice of levels: the cheapest levels on which the conditions hold.

STAGE = "searching levels"

MOST_CHOICES = 2_000_000
"""The largest lattice that is searched: three numbers are kept per choice of levels."""

DONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Found:
    """The best choice of levels, and how many choices were looked at."""

    levels: Levels
    price: int
    n_judged: int
    n_choices: int


def search_levels(
    table: LeveledTable, lowest: Levels, highest: Levels, progress: Progress
) -> Found:
    """Return the cheapest levels between ``lowest`` and ``highest`` on which the conditions hold.

    Exact. Of equally cheap choices the one with the least sum of levels is taken, then the
    lexicographically first. Raises InfeasibleError where none holds.
    """
    lattice = _Lattice(table, lowest, highest)
    current: Levels | None = highest
    while current is not None:
        progress(STAGE, lattice.n_settled, lattice.n_choices)
        if lattice.judge(current):
            _descend(lattice, current)
        current = lattice.next_choice()
    progress(STAGE, lattice.n_choices, lattice.n_choices)
    if lattice.best is None:
        raise InfeasibleError(
            f"none of the {lattice.n_choices} choices of levels keeps the promise",
            remedy="Raise --maximum-levels or --suppression-limit, or lower k or l or raise t.",
        )
    return Found(lattice.best, lattice.best_price, lattice.n_judged, lattice.n_choices)


def _descend(lattice: _Lattice, levels: Levels) -> None:
    """Go down from levels that hold, always to the cheapest that holds, while that is better."""
    current: Levels | None = levels
    while current is not None:
        below = [lower for lower in lattice.lower_neighbours(current) if lattice.is_open(lower)]
        # judged in the order of what they save at best, so that good ones close others early
        below.sort(key=lambda lower: (lattice.bound_of(lower), lower))
        better = [lower for lower in below if lattice.is_open(lower) and lattice.judge(lower)]
        current = better[-1] if better else None


class _Lattice:
    """All choices of levels: what each costs at least, and the best that was found.

    ``_bound`` is the least that a choice can cost, DONE once it is judged or known not to hold.
    All choices below one are a slice of it.
    """

    def __init__(self, table: LeveledTable, lowest: Levels, highest: Levels) -> None:
        self._table, self._lowest = table, lowest
        shape = tuple(top - low + 1 for low, top in zip(lowest, highest, strict=True))
        self.n_choices = 1
        for n_levels in shape:
            self.n_choices *= n_levels
        if self.n_choices > MOST_CHOICES:
            raise JobError(
                f"method full-domain: {self.n_choices} choices of levels are more than the "
                f"{MOST_CHOICES} that are searched",
                remedy="Narrow them with --minimum-levels and --maximum-levels, use fewer "
                "columns, or another method.",
            )
        # columns with one level take no part, so that the lattice has few axes, but one at least
        self._axes = [column for column, n_levels in enumerate(shape) if n_levels > 1] or [0]
        self._shape = tuple(shape[column] for column in self._axes)
        fixed = table.price(lowest)
        self._price = np.full(self._shape, fixed, dtype=np.int64)
        self._level_sum = np.zeros(self._shape, dtype=np.int32)
        for axis, column in enumerate(self._axes):
            prices = table.columns[column].price[lowest[column] : highest[column] + 1]
            across = [1] * len(self._shape)
            across[axis] = len(prices)
            self._price += (np.asarray(prices) - prices[0]).reshape(across)
            self._level_sum += np.arange(len(prices), dtype=np.int32).reshape(across)
        self._bound = self._price.copy()
        self.best: Levels | None = None
        self.best_price = int(DONE)
        self.n_judged = 0

    @property
    def n_settled(self) -> int:
        """How many choices need not be looked at any more."""
        return self.n_choices - int(self._is_candidate().sum())

    def judge(self, levels: Levels) -> bool:
        """Judge a choice; return whether it is the best so far."""
        verdict = self._table.judge(levels)
        self.n_judged += 1
        place = self._place(levels)
        self._close_below(place, verdict)
        self._bound[place] = DONE
        if verdict.price is None or not self._is_better(verdict.price, place):
            return False
        self.best, self.best_price = levels, verdict.price
        return True

    def is_open(self, levels: Levels) -> bool:
        """Return whether a choice may still be the best."""
        place = self._place(levels)
        return self._bound[place] < DONE and self._is_better(int(self._bound[place]), place)

    def bound_of(self, levels: Levels) -> int:
        """Return the least that a choice can cost."""
        return int(self._bound[self._place(levels)])

    def lower_neighbours(self, levels: Levels) -> list[Levels]:
        """Return the choices one level lower in one column."""
        return [
            (*levels[:column], levels[column] - 1, *levels[column + 1 :])
            for column in self._axes
            if levels[column] > self._lowest[column]
        ]

    def next_choice(self) -> Levels | None:
        """Return the dearest choice that may still be the best, or None where there is none.

        Dear choices lie high: one that does not hold closes all below it.
        """
        candidate = self._is_candidate()
        if not candidate.any():
            return None
        index = int(np.where(candidate, self._bound, -1).argmax())
        place = np.unravel_index(index, self._shape)
        levels = list(self._lowest)
        for column, step in zip(self._axes, place, strict=True):
            levels[column] += int(step)
        return tuple(levels)

    def _close_below(self, place: tuple[int, ...], verdict: Verdict) -> None:
        below = tuple(slice(0, step + 1) for step in place)
        if self._table.is_hopeless(verdict):
            self._bound[below] = DONE
        elif verdict.extra:
            bound = self._bound[below]
            np.maximum(bound, self._price[below] + verdict.extra, out=bound)

    def _is_candidate(self) -> NDArray[np.bool_]:
        is_cheaper = np.asarray(self._bound < self.best_price, dtype=np.bool_)
        if self.best is None:
            return is_cheaper
        place = self._place(self.best)
        is_equal = self._bound == self.best_price
        if not is_equal.any():
            return is_cheaper
        is_lower = self._level_sum < self._level_sum[place]
        is_tied = (self._level_sum == self._level_sum[place]).reshape(-1)
        is_tied[int(np.ravel_multi_index(place, self._shape)) :] = False
        is_first = np.asarray(is_lower | is_tied.reshape(self._shape), dtype=np.bool_)
        return np.asarray(is_cheaper | (is_equal & is_first), dtype=np.bool_)

    def _is_better(self, price: int, place: tuple[int, ...]) -> bool:
        if self.best is None or price != self.best_price:
            return price < self.best_price
        best = self._place(self.best)
        return (int(self._level_sum[place]), place) < (int(self._level_sum[best]), best)

    def _place(self, levels: Levels) -> tuple[int, ...]:
        return tuple(levels[column] - self._lowest[column] for column in self._axes)
