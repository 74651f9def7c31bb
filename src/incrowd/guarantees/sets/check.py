"""The checks of promises about sets, on groups of equal sets recomputed from the release itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import DataError, InputError
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.sets.promises import STRICT, SetEvidence, SetGuarantee, Smooth, Suppression
from incrowd.sets.order import NO_ITEM, match_items
from incrowd.sets.sets import Sets

ENTRIES_AT_ONCE = 1 << 22
"""Entries that are looked at together: what a check needs besides the sets stays small."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SetGroups:
    """Rows of equal sets: ``group_of_row``, and each group's size and first row.

    Groups are numbered by their first rows.
    """

    group_of_row: Rows
    size: Rows
    first_row: Rows

    @property
    def n_groups(self) -> int:
        """How many different sets there are."""
        return len(self.size)


def require_sets(sets: Sets, whose: str) -> None:
    """Refuse sets whose rows are not ascending, distinct items below ``n_items``."""
    sizes = sets.sizes
    is_bad = bool((sizes < 0).any())
    for first in range(0, sets.n_entries if not is_bad else 0, ENTRIES_AT_ONCE):
        part = sets.items[first : first + ENTRIES_AT_ONCE + 1].astype(np.int64)
        is_bad |= bool((part < 0).any() or (part >= sets.n_items).any())
        is_row_start = np.zeros(len(part), dtype=np.bool_)
        low, high = np.searchsorted(sets.starts, [first, first + len(part)])
        is_row_start[sets.starts[low:high] - first] = True
        is_bad |= bool(((part[1:] <= part[:-1]) & ~is_row_start[1:]).any())
    if is_bad:
        raise DataError(
            f"the {whose} is no list of sets: a row's items are not distinct items in order",
            remedy="Read the file again, or give each row every item once.",
        )


def equal_rows(sets: Sets) -> SetGroups:
    """Return the groups of rows with equal sets; rows without items are a group too.

    O(entries + rows · log rows), in blocks of entries.
    """
    hashes, sizes = _hashes(sets), sets.sizes
    order = np.lexsort((hashes, sizes))
    is_new = np.ones(sets.n_rows, dtype=np.bool_)
    is_new[1:] = (np.diff(hashes[order]) != 0) | (np.diff(sizes[order]) != 0)
    del hashes, sizes
    # lexsort is stable: the first row of a run of equal hashes is its first row in the file
    likely_first = np.empty(sets.n_rows, dtype=np.int64)
    likely_first[order] = order[np.flatnonzero(is_new)][np.cumsum(is_new) - 1]
    del order, is_new
    first_of_row = _truly_equal(sets, likely_first)
    # a group's first row is its own first row, so groups are numbered by marking those
    is_first = np.zeros(sets.n_rows, dtype=np.bool_)
    is_first[first_of_row] = True
    group_of_row = (np.cumsum(is_first) - 1)[first_of_row]
    size = np.bincount(group_of_row, minlength=int(np.count_nonzero(is_first)))
    return SetGroups(group_of_row, size.astype(np.int64), np.flatnonzero(is_first))


def blocks_of_rows(sizes: Rows) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of about ``ENTRIES_AT_ONCE`` entries, at least one row each."""
    ends = np.cumsum(sizes + 1)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        end = int(np.searchsorted(ends, before + ENTRIES_AT_ONCE, side="right"))
        end = max(end, first + 1)
        yield first, end
        first = end


def places_of(sets: Sets, rows: Rows) -> Rows:
    """Return where the entries of these rows lie in ``sets.items``, row by row."""
    sizes = sets.starts[rows + 1] - sets.starts[rows]
    ends = np.cumsum(sizes)
    n_places = int(ends[-1]) if len(ends) else 0
    offset = np.repeat(sets.starts[rows] - (ends - sizes), sizes)
    return np.asarray(np.arange(n_places) + offset)


def _hashes(sets: Sets) -> NDArray[np.uint64]:
    """Return the sum over each row of a number made from its item, modulo 2⁶⁴."""
    mixed = np.arange(sets.n_items, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    hashes = np.empty(sets.n_rows, dtype=np.uint64)
    for first, end in blocks_of_rows(sets.sizes):
        start = sets.starts[first]
        summed = np.zeros(sets.starts[end] - start + 1, dtype=np.uint64)
        np.cumsum(mixed[sets.items[start : sets.starts[end]]], out=summed[1:])
        at = summed[sets.starts[first : end + 1] - start]
        hashes[first:end] = at[1:] - at[:-1]
    return hashes


def _truly_equal(sets: Sets, likely_first: Rows) -> Rows:
    """Return the first row equal to each row; ``likely_first`` has as many items as the row."""
    first_of_row = likely_first.copy()
    unlike: list[Rows] = []
    for first, end in blocks_of_rows(sets.sizes):
        rows = np.arange(first, end)
        differs = (
            sets.items[sets.starts[first] : sets.starts[end]]
            != sets.items[places_of(sets, likely_first[rows])]
        )
        bounds = sets.starts[first : end + 1] - sets.starts[first]
        n_before = np.concatenate([[0], np.cumsum(differs)])
        unlike.append(rows[n_before[bounds[1:]] != n_before[bounds[:-1]]])
    first_of_content: dict[bytes, int] = {}
    for row in np.concatenate(unlike).tolist() if unlike else []:
        content = sets.items[sets.starts[row] : sets.starts[row + 1]].tobytes()
        first_of_row[row] = first_of_content.setdefault(content, row)
    return first_of_row


# The checks of promises about sets, on groups recomputed from the released sets themselves.

LEAST_ARRANGEMENTS = math.log(1e6)
"""An order that one of a million arrangements of the released sets has by chance is no chance."""

Whole = NDArray[np.int64]


def check_sets(guarantee: SetGuarantee, evidence: SetEvidence) -> list[Finding]:
    """Return what was found of group sizes, of the key, of original holders and of the order.

    A promise about holders is checked only after the key was proven; without the original its
    finding says what is left to the owner.
    """
    require_whole(evidence)
    require_sets(evidence.released, "release")
    groups = equal_rows(evidence.released)
    key = check_key(evidence)
    is_proven = key is not None and key.holds is True
    asked = np.full(groups.n_groups, guarantee.k, dtype=np.int64)
    has_own_k = evidence.k_of_row is not None and is_proven
    if evidence.k_of_row is not None and has_own_k:
        own = evidence.k_of_row[evidence.original_row].astype(np.int64)
        np.maximum.at(asked, groups.group_of_row, own)
    findings = [_sizes(guarantee, evidence.released, groups, asked, has_own_k=has_own_k)]
    if key is None:
        findings.append(
            Finding(
                guarantee.name,
                None,
                f"only the owner can check, with the original and the key: {guarantee.rule}",
                {"is_checked": False},
            )
        )
    elif not is_proven:
        findings.append(key)
    else:
        findings += [key, _holders(guarantee, evidence, groups, asked)]
        findings += check_order(evidence, groups)
    if evidence.keeps_order and not is_proven:
        findings.append(is_order_kept())
    return findings + _graph(evidence)


def require_whole(evidence: SetEvidence) -> None:
    """Refuse evidence that lacks a part which another part needs."""
    original = evidence.original
    if original is not None and evidence.original_row is None:
        raise InputError(
            "could not check: which released row is which original row is not known",
            remedy="Give --key FILE, or --aligned where rows kept their places.",
        )
    if original is None:
        if evidence.original_row is not None or evidence.k_of_row is not None:
            raise InputError(
                "could not check: a key or each person's k is given, but not the original",
                remedy="Give --original, as the owner.",
            )
        return
    require_sets(original, "original")
    k_of_row = evidence.k_of_row
    if k_of_row is not None:
        is_whole = np.issubdtype(k_of_row.dtype, np.integer)
        if len(k_of_row) != original.n_rows or not is_whole or (k_of_row < 1).any():
            raise InputError(
                "could not check: each original row needs a k of 1 or more, a whole number",
                remedy="Give one k per row of the original.",
            )


def _sizes(
    guarantee: SetGuarantee, released: Sets, groups: SetGroups, asked: Whole, *, has_own_k: bool
) -> Finding:
    is_exposed = groups.size < asked
    n_exposed = int(groups.size[is_exposed].sum())
    smallest = int(groups.size.min()) if groups.n_groups else 0
    figures: dict[str, object] = {
        "k": guarantee.k,
        "counts": "rows",
        "n_rows": released.n_rows,
        "n_groups": groups.n_groups,
        "smallest_group": smallest,
        "largest_group": int(groups.size.max(initial=0)),
        "n_empty_sets": int(np.count_nonzero(released.sizes == 0)),
        "n_exposed": n_exposed,
        "n_exposed_groups": int(is_exposed.sum()),
    }
    what = f"k = {guarantee.k}"
    if has_own_k:
        figures["largest_k"] = int(asked.max(initial=guarantee.k))
        what += " and their own k"
    if groups.n_groups == 0:
        summary = "there is no row to check"
    else:
        says = "all rows stand in groups of at least"
        if n_exposed:
            says = f"{n_exposed} rows stand in groups below"
        summary = f"{says} {what}; the smallest group has {smallest} (counts rows)"
    return Finding(
        "group sizes",
        n_exposed == 0,
        summary,
        figures,
        _named(is_exposed[groups.group_of_row]),
        is_public=not has_own_k,
    )


def check_key(evidence: SetEvidence) -> Finding | None:
    """Return whether the key is one-to-one between released and original rows; None without one."""
    original, original_row = evidence.original, evidence.original_row
    if original is None or original_row is None:
        return None
    problem = _not_one_to_one(original_row, evidence.released.n_rows, original.n_rows, "row")
    if not problem and evidence.released.n_rows != original.n_rows:
        problem = (
            f"{original.n_rows} original rows and {evidence.released.n_rows} released ones: "
            "somebody is missing or was added"
        )
    if not problem and evidence.original_item is not None:
        problem = _not_one_to_one(
            evidence.original_item, evidence.released.n_items, original.n_items, "item"
        )
    summary = problem or "every released row is one original row, and none is left out"
    return Finding("key", not problem, summary, {"is_bijection": not problem}, is_public=False)


def _not_one_to_one(original_of: Whole, n_released: int, n_original: int, what: str) -> str:
    if len(original_of) != n_released:
        return f"the key has {len(original_of)} lines for {n_released} released {what}s"
    if len(original_of) and (original_of.min() < 0 or original_of.max() >= n_original):
        return f"the key names an original {what} that does not exist"
    is_named = np.zeros(n_original, dtype=np.bool_)
    is_named[original_of] = True
    if np.count_nonzero(is_named) != len(original_of):
        return f"the key names an original {what} twice"
    return ""


def _holders(
    guarantee: SetGuarantee, evidence: SetEvidence, groups: SetGroups, asked: Whole
) -> Finding:
    """Count who had each shown item of each group, and hold that against the promise."""
    released, original = evidence.released, evidence.original
    assert original is not None  # a proven key has both
    assert evidence.original_row is not None
    item_of = evidence.original_item
    if item_of is None:
        item_of = match_items(released, original)
    is_broken_group = np.zeros(groups.n_groups, dtype=np.bool_)
    n_shown = n_broken = n_created = 0
    least: int | None = None
    for group_of_shown, holders in _count_holders(
        released, original, evidence.original_row, item_of, groups
    ):
        size = groups.size[group_of_shown]
        is_broken = ~_may_show(guarantee, holders, size, asked[group_of_shown])
        is_broken_group[group_of_shown[is_broken]] = True
        n_broken += int(is_broken.sum())
        n_created += int((size - holders).sum())
        n_shown += len(holders)
        if len(holders):
            least = int(holders.min()) if least is None else min(least, int(holders.min()))
    n_exposed = int(groups.size[is_broken_group].sum())
    figures: dict[str, object] = {
        "vote": guarantee.settled_vote,
        "n_shown": n_shown,
        "least_holders": least,
        "n_created": n_created,
        "n_too_few_holders": n_broken,
        "n_exposed": n_exposed,
    }
    if guarantee.name == Suppression.name:
        del figures["vote"]
    if not n_shown:
        summary = "no item is shown"
    elif n_broken:
        summary = (
            f"{n_broken} shown items of {int(is_broken_group.sum())} groups had too few holders "
            f"in the original ({guarantee.rule}); the least has {least}"
        )
    else:
        summary = f"{guarantee.rule}; the least held of them had {least} holders in its group"
    return Finding(
        guarantee.name,
        n_broken == 0,
        summary,
        figures,
        _named(is_broken_group[groups.group_of_row]),
        is_public=False,
    )


def _may_show(
    guarantee: SetGuarantee, holders: Whole, size: Whole, asked: Whole
) -> NDArray[np.bool_]:
    """Return where so many holders of a group suffice for an item, in whole numbers.

    ``asked`` is the largest k in the group.
    """
    if guarantee.name == Suppression.name:
        return np.asarray(holders == size)
    of = size if guarantee.name == Smooth.name else asked
    if guarantee.settled_vote == STRICT:
        return np.asarray(2 * holders > of)
    return np.asarray(2 * holders >= of)


def _count_holders(
    released: Sets, original: Sets, original_row: Whole, item_of: Whole, groups: SetGroups
) -> Iterator[tuple[Whole, Whole]]:
    """Yield, for blocks of groups, the group of each shown item and how many of its rows had it.

    O(entries · log shown). An item that the original lacks has no holder.
    """
    width = np.int64(max(original.n_items, 1))
    rows = original_row[np.argsort(groups.group_of_row, kind="stable")]
    ends = np.cumsum(groups.size)
    n_shown = released.starts[groups.first_row + 1] - released.starts[groups.first_row]
    for first, end in blocks_of_rows(n_shown):
        group_of_shown = np.repeat(np.arange(first, end), n_shown[first:end])
        shown = item_of[released.items[places_of(released, groups.first_row[first:end])]]
        is_known = shown != NO_ITEM
        cells = group_of_shown[is_known] * width + shown[is_known]
        order = np.argsort(cells, kind="stable")
        cells = cells[order]
        n_holders = np.zeros(len(cells), dtype=np.int64)
        group_of = np.repeat(np.arange(first, end), groups.size[first:end])
        of_block = rows[ends[first] - groups.size[first] : ends[end - 1]]
        shows_some = n_shown[group_of] > 0
        group_of, of_block = group_of[shows_some], of_block[shows_some]
        sizes = original.starts[of_block + 1] - original.starts[of_block]
        for begin, stop in blocks_of_rows(sizes):
            items = original.items[places_of(original, of_block[begin:stop])]
            looked_for = np.repeat(group_of[begin:stop], sizes[begin:stop]) * width + items
            found = np.searchsorted(cells, looked_for)
            is_there = found < len(cells)
            is_there[is_there] = cells[found[is_there]] == looked_for[is_there]
            np.add.at(n_holders, found[is_there], 1)
        holders = np.zeros(len(shown), dtype=np.int64)
        holders[np.flatnonzero(is_known)[order]] = n_holders
        yield group_of_shown, holders


def check_order(evidence: SetEvidence, groups: SetGroups) -> list[Finding]:
    """Say whether released rows stand in the original's order, where that is no chance."""
    assert evidence.original_row is not None  # called with a proven key
    if evidence.keeps_order:
        return [is_order_kept()]
    sizes, n_of_size = np.unique(groups.size, return_counts=True)
    log_arrangements = math.lgamma(evidence.released.n_rows + 1) - sum(
        n_groups * math.lgamma(size + 1)
        for size, n_groups in zip(sizes.tolist(), n_of_size.tolist(), strict=True)
    )
    is_in_order = bool((np.diff(evidence.original_row) > 0).all())
    if not is_in_order or log_arrangements < LEAST_ARRANGEMENTS:
        return []
    changes = int(np.count_nonzero(np.diff(groups.group_of_row)))
    if changes == groups.n_groups - 1:  # sorted by content already in the original
        return []
    return [
        Finding(
            "row order",
            False,
            "rows stand in the original's order, so that a place tells who it is",
            {"is_kept": True},
            is_public=False,
        )
    ]


def is_order_kept() -> Finding:
    """Say that rows stand where the original's stood."""
    summary = "rows keep the original's order: holds if the order is unknown"
    return Finding("row order", None, summary, {"is_kept": True})


def _graph(evidence: SetEvidence) -> list[Finding]:
    if not evidence.shows_people_as_items:
        return []
    if evidence.has_item_keys:
        summary = "items are people too, under keys independent of the rows'"
    else:
        summary = "node identities visible: items are people too, under the names of their rows"
    promise = (
        "the promise is about each node's own list, against somebody who knows lists only; "
        "who lists a node is untouched"
    )
    return [
        Finding("graph", None, promise, {"graph": evidence.released.graph}),
        Finding("node identities", None, summary, {"are_visible": not evidence.has_item_keys}),
    ]


def _named(is_exposed: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) + 1 for row in np.flatnonzero(is_exposed)[:MOST_ROWS_NAMED])
