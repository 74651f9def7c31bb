"""Sets before and after: entries kept and created, sizes of lists, how common items are, parts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.errors import DataError
from incrowd.figures.blocks import Bars, Block, Facts, Listing, Section, Steps
from incrowd.figures.columns import top_bars
from incrowd.figures.groups import as_floats, bin_edges, count_between
from incrowd.figures.trees import split_tree
from incrowd.sets.names import item_names_of
from incrowd.sets.order import NO_ITEM, match_items
from incrowd.sets.sets import Sets, count_items
from incrowd.transactions.generalized import parse_label

MOST_PARTS = 25


def entries_section(losses: Mapping[str, float]) -> Section | None:
    """Return what became of the original's entries, and what was added, as the audit counted."""
    if "n_kept" not in losses:
        return None
    kept = int(losses["n_kept"])
    before, after = int(losses["n_entries_before"]), int(losses["n_entries_after"])
    bars = Bars(
        "Entries",
        ("kept", "suppressed", "created"),
        {"entries": (float(kept), float(before - kept), float(after - kept))},
        is_horizontal=True,
        y_title="what became of them",
        note="An entry is one item of one row.",
    )
    facts = Facts(
        (
            ("entries before", before),
            ("entries after", after),
            ("suppressed, of those before", losses["suppressed"]),
            ("created, over those before", losses["created"]),
            ("Jaccard similarity", losses["jaccard"]),
        ),
        title="In numbers",
        units={"suppressed, of those before": "share", "created, over those before": "share"},
    )
    return Section("entries", "Entries suppressed and created", (), (bars, facts))


def sizes_section(material: SetMaterial) -> Section | None:
    """Return how many items rows hold, before and after."""
    released, own = material.released, material.own
    if not released.n_rows:
        return None
    sides = {"rows": released.sizes}
    if own is not None:
        sides = {"before": own.original.sizes, "after": released.sizes}
    largest = max(int(sizes.max(initial=0)) for sizes in sides.values())
    edges, is_log = bin_edges(largest)
    steps = Steps(
        "Rows by how many items they hold",
        tuple(float(edge) for edge in edges),
        {name: as_floats(count_between(sizes, edges)) for name, sizes in sides.items()},
        x_title="items",
        y_title="rows",
        is_log_x=is_log,
    )
    facts: list[tuple[str, Any]] = []
    for name, sizes in sides.items():
        said = "" if name == "rows" else f", {name}"
        facts += [
            (f"items a row, mean{said}", float(sizes.mean())),
            (f"longest{said}", int(sizes.max(initial=0))),
            (f"empty rows{said}", int((sizes == 0).sum())),
        ]
    return Section("sizes", "Sizes of lists", (), (steps, Facts(tuple(facts), title="In numbers")))


def items_section(material: SetMaterial) -> Section | None:
    """Return the commonest items: in how many rows each is, before and after."""
    released, own = material.released, material.own
    after = count_items(released.items, released.n_items)
    if own is None:
        bars = _most_common(_names(released), after)
        text = "How many rows show each item."
        return Section("items", "Items", (text,), (bars,)) if len(bars.categories) else None
    before = count_items(own.original.items, own.original.n_items)
    matched = (
        own.original_item if own.original_item is not None else match_items(released, own.original)
    )
    of_original = np.zeros(own.original.n_items, dtype=np.int64)
    is_known = matched != NO_ITEM
    np.add.at(of_original, matched[is_known], after[is_known])
    names = _names(own.original)
    order = np.lexsort((np.arange(len(before)), -before))
    order = order[(before[order] > 0) | (of_original[order] > 0)]
    named = {
        "before": [(names[item], float(before[item])) for item in order.tolist()],
        "after": [(names[item], float(of_original[item])) for item in order.tolist()],
    }
    if not len(order):
        return None
    bars = top_bars("The commonest items", named, "items")
    return Section(
        "items",
        "Items before and after",
        (
            "In how many rows each item is. "
            f"{int((before > 0).sum()):,} items were in some row, "
            f"{int(((before > 0) & (of_original > 0)).sum()):,} of them still are.",
        ),
        (bars, _survival_by_frequency(before, of_original)),
    )


def _survival_by_frequency(before: NDArray[np.int64], after: NDArray[np.int64]) -> Block:
    """Return items by how common they were and what share of their rows still shows them."""
    largest = int(before.max(initial=1))
    edges = [1]
    while edges[-1] <= largest:
        edges.append(edges[-1] * 4)
    held = before > 0
    rows = []
    for low, high in pairwise(edges):
        mine = held & (before >= low) & (before < high)
        if mine.any():
            n_before, n_after = int(before[mine].sum()), int(after[mine].sum())
            rows.append(
                (
                    f"{low:,} to {high - 1:,}",
                    int(mine.sum()),
                    int((after[mine] > 0).sum()),
                    n_after / n_before,
                )
            )
    return Listing(
        ("rows that had it", "items", "still shown", "entries after over before"),
        tuple(rows),
        title="Rare items and common ones",
        units={"entries after over before": "share"},
        bars=("entries after over before",),
    )


def _most_common(names: list[str], counts: NDArray[np.int64]) -> Bars:
    order = np.lexsort((np.arange(len(counts)), -counts))
    order = order[counts[order] > 0]
    named = [(names[item], float(counts[item])) for item in order.tolist()]
    return top_bars("The commonest items", {"rows": named}, "items")


def _names(sets: Sets) -> list[str]:
    return [str(name) for name in item_names_of(sets).to_pylist()]


def parts_section(material: SetMaterial) -> Section | None:
    """Return the sets of items that stand for one of their members, from the release alone.

    With the owner also the splits by which they came about.
    """
    released = material.released
    counts = count_items(released.items, released.n_items)
    members = _members(released)
    if members is None:
        return None
    members = [of if counts[item] else () for item, of in enumerate(members)]
    several = [item for item, of in enumerate(members) if len(of) > 1]
    several.sort(key=lambda item: (-len(members[item]), -int(counts[item]), item))
    sizes: dict[int, int] = {}
    for of in filter(None, members):
        sizes[len(of)] = sizes.get(len(of), 0) + 1
    n_items = sum(len(of) for of in members)
    facts = Facts(
        (
            ("items", n_items),
            ("shown as they are", sizes.get(1, 0)),
            ("sets of several items", len(several)),
            ("items in such sets", n_items - sizes.get(1, 0)),
            ("largest set", max(sizes, default=0)),
        ),
        title="Parts of items",
        note="A set of items stands for at least one of them.",
    )
    bars = Bars(
        "Released items by how many they stand for",
        tuple("1 item" if size == 1 else f"{size} items" for size in sorted(sizes)[:14]),
        {"released items": tuple(float(sizes[size]) for size in sorted(sizes)[:14])},
        is_horizontal=True,
        y_title="stands for",
    )
    blocks: list[Block] = [facts, bars, _most_common(_names(released), counts)]
    if several:
        rows = tuple(
            (_format_members(members[item]), len(members[item]), int(counts[item]))
            for item in several[:MOST_PARTS]
        )
        n_left = len(several) - len(rows)
        note = f"{n_left:,} further sets are not listed." if n_left else ""
        blocks.append(
            Listing(("set", "items", "rows that show it"), rows, "The largest sets", note=note)
        )
    if material.own is not None and material.own.splits:
        blocks.insert(0, split_tree(material.own.splits))
    return Section("parts", "Generalized items", (), tuple(blocks))


def _members(released: Sets) -> list[tuple[str, ...]] | None:
    """Return what each released item stands for; None where one is written as no set is."""
    try:
        return [parse_label(name) for name in _names(released)]
    except DataError:
        return None


def _format_members(members: tuple[str, ...], most: int = 12) -> str:
    shown = ", ".join(members[:most])
    return f"{shown} and {len(members) - most:,} more" if len(members) > most else shown


def rules_section(own: OwnSets) -> Section | None:
    """Return what the protected rules look like, for the owner."""
    rules = own.rules
    if rules is None or not rules.n_rules:
        return None
    rows = []
    for number in range(min(rules.n_rules, MOST_PARTS)):
        if rules.lacks_public[number] or rules.lacks_sensitive[number]:
            continue
        public, sensitive = rules.rule(number)
        rows.append((_format_members(tuple(public)), _format_members(tuple(sensitive))))
    left = rules.n_rules - len(rows)
    note = f"{left:,} further rules are not listed." if left else ""
    listing = Listing(("known items", "protected items"), tuple(rows), note=note)
    text = (f"{rules.n_rules:,} rules are protected. They reveal what is rare: keep them private.",)
    return Section("rules", "Protected rules", text, (listing,))
