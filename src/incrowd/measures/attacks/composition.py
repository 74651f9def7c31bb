"""Composition: what two releases together tell of people who are in both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.encode import encode_labels
from incrowd.encoding.fitting import fit_by_flags, fitting_row_pairs, number_distinct_rows
from incrowd.errors import InputError
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.hierarchies.range_labels import closed_bounds
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.measures.attacks.linkage import exact_rate, format_rate
from incrowd.measures.options import CompositionOptions
from incrowd.tables.table import Table

MOST_LABEL_PAIRS = 200_000_000
"""Pairs of labels of one column up to which they are compared."""


def find_overlaps(
    first: list[str], second: list[str], hierarchy: Hierarchy | None
) -> NDArray[np.bool_]:
    """Return which labels of the first file may be about a value of which of the second."""
    if len(first) * len(second) > MOST_LABEL_PAIRS:
        raise InputError(
            f"{len(first):,} and {len(second):,} labels of one column are too many to compare",
            remedy="Leave the column out of --quasi, or compare coarser releases.",
        )
    if hierarchy is not None and hierarchy.mean_unit is not None:
        return np.ones((len(first), len(second)), dtype=np.bool_)
    found = _compare_texts(first, second)
    if hierarchy is not None:
        nodes, other_nodes = (
            np.array([hierarchy.node_of_label.get(label, -1) for label in labels], dtype=np.int32)
            for labels in (first, second)
        )
        rows, columns = np.flatnonzero(nodes >= 0), np.flatnonzero(other_nodes >= 0)
        inside = _find_shared_leaves(hierarchy, nodes[rows], other_nodes[columns])
        found[np.ix_(rows, columns)] = inside
    return found


def _find_shared_leaves(
    hierarchy: Hierarchy, nodes: NDArray[np.int32], others: NDArray[np.int32]
) -> NDArray[np.bool_]:
    above, below = (grid.astype(np.int32) for grid in np.meshgrid(nodes, others, indexing="ij"))
    found = hierarchy.is_ancestor(above, below) | hierarchy.is_ancestor(below, above)
    runs = hierarchy.runs
    if runs is not None:
        n_leaves = hierarchy.n_leaves
        is_range = (above >= n_leaves) & (below >= n_leaves)
        meets = (runs.first[above] <= runs.last[below]) & (runs.first[below] <= runs.last[above])
        found |= is_range & meets
    return found


def _compare_texts(first: list[str], second: list[str]) -> NDArray[np.bool_]:
    left, right = np.array(first, dtype=np.str_), np.array(second, dtype=np.str_)
    found: NDArray[np.bool_] = left[:, None] == right[None, :]
    found |= (left == STAR)[:, None] | (right == STAR)[None, :]
    low, high = closed_bounds(first)
    other_low, other_high = closed_bounds(second)
    with np.errstate(invalid="ignore"):
        meets = (low[:, None] <= other_high[None, :]) & (other_low[None, :] <= high[:, None])
    found |= meets  # what is no range has bounds of NaN, which are never at most anything
    for row, label in enumerate(first):
        found[row] |= _matches_masked(label, right)
    for column, label in enumerate(second):
        found[:, column] |= _matches_masked(label, left)
    return found


def _matches_masked(label: str, others: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which texts begin as a label with a starred end does, and are as long."""
    start = label.rstrip(STAR)
    if not start or start == label:
        return np.zeros(len(others), dtype=np.bool_)
    return np.asarray(np.char.startswith(others, start) & (np.char.str_len(others) == len(label)))


# Composition: what two releases together tell of people who are in both.

MOST_PAIRS = 20_000_000
"""Overlapping pairs of groups up to which they are compared."""

NAME = "attack: composition"


@dataclass(frozen=True, eq=False)
class PublishedRelease:
    """One of two releases: its quasi-identifying and sensitive columns, and who is in it.

    ``person_of_row`` names the person of every row in a way that both releases share, where the
    owner knows it; None where only the file is known.
    """

    table: Table
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    person_of_row: pa.Array | pa.ChunkedArray | None = None

    def __post_init__(self) -> None:
        self.table.require([*self.quasi, *self.sensitive], self.table.name)


@dataclass(frozen=True, eq=False)
class _Groups:
    """A release's groups: of every row, their sizes, and the first row of each."""

    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, release: PublishedRelease) -> _Groups:
        keys = []
        for name in release.quasi:
            cells = encode_labels(release.table.frame.column(name))
            keys.append((cells.codes + np.int32(1), len(cells.texts) + 1))
        of_row = number_distinct_rows(keys, release.table.n_rows)
        first = np.unique(of_row, return_index=True)[1].astype(np.int64)
        return cls(of_row, np.bincount(of_row).astype(np.int64), first)


@dataclass(frozen=True, eq=False)
class _OverlappingPairs:
    """Pairs of groups with people in common: ``n_both`` at most, or exactly, and values left."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n_both: NDArray[np.int64]
    n_values: dict[str, NDArray[np.int64]] = field(default_factory=dict)


def composition_finding(
    first: PublishedRelease,
    second: PublishedRelease,
    k: int,
    options: CompositionOptions | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Finding:
    """Compare every pair of overlapping groups of two releases; broken where one exposes people.

    From files it is broken where anybody may be exposed; where the people are the same, where
    somebody surely is; with keys, where somebody is. Pairs overlap if their labels do, in every
    quasi-identifying column that both have. It is about two files, so that neither's public
    edition has it.
    """
    options = options or CompositionOptions()
    columns = tuple(name for name in first.quasi if name in second.quasi)
    if not columns:
        raise InputError(
            "the two releases have no quasi-identifying column in common",
            remedy="Name the columns that both have with --quasi.",
        )
    sensitive = tuple(name for name in first.sensitive if name in second.sensitive)
    groups, others = _Groups.of(first), _Groups.of(second)
    if first.person_of_row is not None and second.person_of_row is not None:
        return _compare_people(first, second, groups, others, sensitive, k)
    if options.same_people and first.table.n_rows != second.table.n_rows:
        raise InputError(
            f"--same-people: the releases have {first.table.n_rows} and {second.table.n_rows} rows",
            remedy="Leave it out where some people are in one of them only.",
        )
    pairs = _overlapping_pairs(first, second, groups, others, columns, hierarchies or {})
    found = _bound_common_people(first, second, groups, others, sensitive, pairs)
    return _compare_files(found, first, second, groups, others, columns, sensitive, k, options)


# ── from the files alone ────────────────────────────────────────────────────────────────────────


def _overlapping_pairs(
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    columns: tuple[str, ...],
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    fitting = []
    for name in columns:
        left, right = (
            encode_labels(first.table.frame.column(name)),
            encode_labels(second.table.frame.column(name)),
        )
        flags = find_overlaps(["", *left.labels], ["", *right.labels], hierarchies.get(name))
        fitting.append(
            fit_by_flags(
                (left.codes + np.int32(1))[groups.first],
                (right.codes + np.int32(1))[others.first],
                flags.shape[1],
                [flags],
            )
        )
    pairs = fitting_row_pairs(fitting, MOST_PAIRS)
    if pairs is None:
        raise InputError(
            f"more than {MOST_PAIRS:,} pairs of groups overlap",
            remedy="Compare releases with coarser groups, or state the originals and keys.",
        )
    return pairs


def _bound_common_people(
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    sensitive: tuple[str, ...],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> _OverlappingPairs:
    """Return how many people each pair can have in common, without pairs that can have none."""
    left, right = pairs
    n_both = np.minimum(groups.sizes[left], others.sizes[right])
    n_values: dict[str, NDArray[np.int64]] = {}
    frame = pl.DataFrame({"pair": np.arange(len(left)), "first": left, "second": right})
    for name in (*sensitive, None) if sensitive else ():
        asked = sensitive if name is None else (name,)
        met = _intersect_values(frame, first, second, groups, others, asked)
        if name is None:
            n_both = met["n"].to_numpy().astype(np.int64)
        else:
            n_values[name] = met["n_values"].to_numpy().astype(np.int64)
    is_met = n_both > 0
    return _OverlappingPairs(
        left[is_met],
        right[is_met],
        n_both[is_met],
        {name: numbers[is_met] for name, numbers in n_values.items()},
    )


def _intersect_values(
    pairs: pl.DataFrame,
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    names: tuple[str, ...],
) -> pl.DataFrame:
    """Return, pair by pair, the multiset intersection of the groups' values: size and support."""
    counts = []
    for release, of_row, side in (
        (first, groups.of_row, "first"),
        (second, others.of_row, "second"),
    ):
        columns = {side: pl.Series(of_row)}
        for place, name in enumerate(names):
            cells = encode_labels(release.table.frame.column(name))
            texts = pl.Series(["", *cells.labels], dtype=pl.String)
            columns[f"value {place}"] = texts.gather(cells.codes + 1)
        keys = list(columns)
        counts.append(pl.DataFrame(columns).group_by(keys).len(name=f"n {side}"))
    values = [f"value {place}" for place in range(len(names))]
    met = (
        pairs.lazy()
        .join(counts[0].lazy(), on="first")
        .join(counts[1].lazy(), on=["second", *values])
        .group_by("pair")
        .agg(
            pl.min_horizontal("n first", "n second").sum().alias("n"),
            pl.len().alias("n_values"),
        )
    )
    return (
        pairs.lazy()
        .select("pair")
        .join(met, on="pair", how="left")
        .sort("pair")
        .fill_null(0)
        .collect()
    )


def _compare_files(
    found: _OverlappingPairs,
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    columns: tuple[str, ...],
    sensitive: tuple[str, ...],
    k: int,
    options: CompositionOptions,
) -> Finding:
    is_few = found.n_both < k
    is_exposed = is_few.copy()
    n_told = {}
    for name in sensitive:
        tells = _reveals_one_value(found, first, second, groups, others, name)
        n_told[name] = int(tells.sum())
        is_exposed |= tells
    figures: dict[str, Any] = {
        "basis": "files",
        "same_people": options.same_people,
        "k": k,
        "columns": list(columns),
        "sensitive": list(sensitive),
        "n_groups": [len(groups.sizes), len(others.sizes)],
        "n_overlapping_pairs": len(found.first),
        "n_pairs_below_k": int(is_few.sum()),
        "n_pairs_telling_a_value": n_told,
        "n_exposed_pairs": int(is_exposed.sum()),
        "fewest_in_common": int(found.n_both.min()) if len(found.n_both) else 0,
    }
    is_broken = is_exposed
    if options.same_people:
        least = _least_in_common(found, groups.sizes, others.sizes)
        figures["n_sure_pairs"] = int((is_exposed & (least > 0)).sum())
        figures["n_sure_people"] = int(least[is_exposed].sum())
        room = np.bincount(found.first, weights=found.n_both, minlength=len(groups.sizes))
        figures["n_groups_without_room"] = int((room < groups.sizes).sum())
        is_broken = is_exposed & (least > 0)
    rows = np.flatnonzero(np.isin(groups.of_row, found.first[is_broken]))
    return Finding(
        NAME,
        False if is_broken.any() else None,
        _summarize_files(figures),
        figures,
        tuple((rows[:MOST_ROWS_NAMED] + 1).tolist()),
        is_public=False,
    )


def _summarize_files(figures: dict[str, Any]) -> str:
    if not figures["n_overlapping_pairs"]:
        return "no groups of the two releases overlap, so that nobody can be in both"
    told = f"{figures['n_overlapping_pairs']:,} pairs of groups overlap: "
    if figures["n_exposed_pairs"]:
        told += (
            f"whoever is in both groups of {figures['n_exposed_pairs']:,} of them is exposed "
            f"(fewer than {figures['k']} people in common, or one sensitive value left)"
        )
        if figures["same_people"]:
            told += f"; {figures['n_sure_people']:,} people surely are"
    else:
        told += f"all can have {figures['k']} people and several values in common"
    if figures.get("n_groups_without_room"):
        told += (
            f"; {figures['n_groups_without_room']:,} groups find no place for all their people in "
            "the other release, so that the people cannot be the same"
        )
    return told + "; absence of exposures is not proven"


def _reveals_one_value(
    found: _OverlappingPairs,
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    name: str,
) -> NDArray[np.bool_]:
    """Return which pairs leave one value of a column of which both groups show several."""
    left = _count_values(first, groups, name)[found.first]
    right = _count_values(second, others, name)[found.second]
    return np.asarray((found.n_values[name] == 1) & (left > 1) & (right > 1))


def _count_values(release: PublishedRelease, groups: _Groups, name: str) -> NDArray[np.int64]:
    cells = encode_labels(release.table.frame.column(name))
    n_codes = len(cells.texts) + 1
    pairs = np.unique(groups.of_row * n_codes + cells.codes + 1)
    return np.bincount(pairs // n_codes, minlength=len(groups.sizes)).astype(np.int64)


def _least_in_common(
    found: _OverlappingPairs, sizes: NDArray[np.int64], other_sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many people each pair has at least, everybody being in both releases.

    The people of a group that the other groups it overlaps with cannot take are in this one.
    """
    room = np.bincount(found.first, weights=found.n_both, minlength=len(sizes))
    other_room = np.bincount(found.second, weights=found.n_both, minlength=len(other_sizes))
    left = sizes[found.first] - (room[found.first] - found.n_both)
    right = other_sizes[found.second] - (other_room[found.second] - found.n_both)
    return np.maximum(0, np.maximum(left, right)).astype(np.int64)


# ── with the originals and both keys ────────────────────────────────────────────────────────────


def _compare_people(
    first: PublishedRelease,
    second: PublishedRelease,
    groups: _Groups,
    others: _Groups,
    sensitive: tuple[str, ...],
    k: int,
) -> Finding:
    left = pl.DataFrame(
        {
            "person": pl.Series(values=pl.from_arrow(first.person_of_row)).cast(pl.String),
            "first": groups.of_row,
            "row": np.arange(first.table.n_rows),
            **_format_values(first, sensitive),
        }
    )
    right = pl.DataFrame(
        {
            "person": pl.Series(values=pl.from_arrow(second.person_of_row)).cast(pl.String),
            "second": others.of_row,
            **_format_values(second, sensitive),
        }
    )
    smaller = pl.min_horizontal("n first", "n second")
    both = left.join(right.select("person", "second"), on="person").unique(
        ["person", "first", "second"], keep="first"
    )
    sizes = _people_in_words(left, "first").rename({"n": "n first"})
    other_sizes = _people_in_words(right, "second").rename({"n": "n second"})
    several = [pl.col(_format_value(name)).n_unique().alias(f"left: {name}") for name in sensitive]
    pairs = both.group_by("first", "second").agg(pl.col("person").n_unique().alias("n"), *several)
    alone = [
        rows.group_by(side).agg(
            pl.col(_format_value(name)).n_unique().alias(f"{side}: {name}") for name in sensitive
        )
        for rows, side in ((left, "first"), (right, "second"))
    ]
    met = (
        both.join(pairs, on=["first", "second"])
        .join(sizes, on="first")
        .join(other_sizes, on="second")
        .join(alone[0], on="first")
        .join(alone[1], on="second")
    )
    is_few = pl.col("n") < k
    tells = {
        name: (pl.col(f"left: {name}") == 1)
        & (pl.col(f"first: {name}") > 1)
        & (pl.col(f"second: {name}") > 1)
        for name in sensitive
    }
    is_exposed = is_few
    for flag in tells.values():
        is_exposed = is_exposed | flag
    exposed = met.filter(is_exposed)
    people = both["person"].n_unique()
    figures: dict[str, Any] = {
        "basis": "keys",
        "k": k,
        "sensitive": list(sensitive),
        "n_people_in_both": people,
        "n_overlapping_pairs": pairs.height,
        "n_people_below_k": met.filter(is_few)["person"].n_unique(),
        "n_people_told_a_value": {
            name: met.filter(flag)["person"].n_unique() for name, flag in tells.items()
        },
        "n_exposed_people": exposed["person"].n_unique(),
        "fewest_in_common": int(pairs["n"].min() or 0),  # type: ignore[arg-type]
        "before": exact_rate(1.0 / met.select(smaller).to_series().to_numpy()),
        "after": exact_rate(1.0 / met["n"].to_numpy()),
    }
    summary = f"{people:,} people are in both: "
    if exposed.height:
        summary += (
            f"the intersection exposes {figures['n_exposed_people']:,} of them (fewer than {k} "
            "people, or one sensitive value left)"
        )
    else:
        summary += f"each stays among {k} and several values"
    summary += (
        f"; a person is found with {format_rate(figures['after'])} by both together, "
        f"{format_rate(figures['before'])} by the better group alone"
    )
    rows = np.sort(exposed["row"].unique().to_numpy())[:MOST_ROWS_NAMED] + 1
    return Finding(
        NAME,
        False if exposed.height else None,
        summary,
        figures,
        tuple(rows.tolist()),
        is_public=False,
    )


def _format_value(name: str) -> str:
    return f"value {name}"


def _format_values(release: PublishedRelease, names: tuple[str, ...]) -> dict[str, pl.Series]:
    columns = {}
    for name in names:
        cells = encode_labels(release.table.frame.column(name))
        texts = pl.Series(["", *cells.labels], dtype=pl.String)
        columns[_format_value(name)] = texts.gather(cells.codes + 1)
    return columns


def _people_in_words(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    return rows.group_by(side).agg(pl.col("person").n_unique().alias("n"))
