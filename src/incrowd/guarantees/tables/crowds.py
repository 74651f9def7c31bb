"""Equivalence classes of a released file: its patterns, stars read as wildcards, and who stands
with whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from incrowd.errors import DataError, InputError, unknown
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Evidence
from incrowd.guarantees.tables.cells import blank_out, shows_nothing, to_frame

if TYPE_CHECKING:
    import pyarrow as pa


MOST_LOOKUPS = 500_000_000
"""Masks × patterns above which sure crowds are not counted: "could not check"."""

MOST_PAIRS = 40_000_000
"""Pairs (covered, covering) above which they are not kept: "could not check"."""

MOST_MASK_PAIRS = 4_096
"""Pairs of masks above which possible crowds, which only inform, are left out."""

MOST_POSSIBLE_LOOKUPS = 50_000_000
"""Masks × patterns above which possible crowds are left out."""

PATTERN, OTHER, N_ROWS = "pattern", "other", "n_rows"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pattern ``covering[pair]`` covers pattern ``covered[pair]``; every pattern covers itself."""

    covered: NDArray[np.int64]
    covering: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Masked:
    """Distinct patterns as codes, grouped by which columns show nothing."""

    codes: pl.DataFrame
    masks: NDArray[np.bool_]
    mask_of_pattern: NDArray[np.int64]

    @property
    def n_masks(self) -> int:
        """How many different sets of blank columns there are."""
        return int(self.masks.shape[0])

    def shown(self, mask: NDArray[np.bool_]) -> list[str]:
        """Return the columns that are not blank in a mask."""
        return [self.codes.columns[place] for place in np.flatnonzero(~mask)]


def masked(keys: pl.DataFrame, n_wild: int) -> Masked:
    """Code the patterns; a null in the first ``n_wild`` columns is blank, elsewhere a value."""
    codes = keys.select(
        pl.col(name).rank("dense") if place < n_wild else pl.col(name).rank("dense").fill_null(0)
        for place, name in enumerate(keys.columns)
    )
    blank = np.column_stack([codes[name].is_null().to_numpy() for name in codes.columns])
    masks, mask_of_pattern = np.unique(blank, axis=0, return_inverse=True)
    return Masked(codes, masks, mask_of_pattern.reshape(-1).astype(np.int64))


def covering_pairs(patterns: Masked) -> Pairs:
    """Return all pairs of patterns of which the second covers the first.

    A pattern covers only what shows at least the columns it shows, and for one mask at most one
    pattern covers a given one: the one that is equal on the mask's shown columns.
    """
    n_patterns = patterns.codes.height
    if patterns.n_masks * n_patterns > MOST_LOOKUPS:
        raise _too_many(patterns)
    numbered = patterns.codes.with_columns(pl.Series(PATTERN, np.arange(n_patterns)))
    covered, covering, n_pairs = [], [], 0
    for number, mask in enumerate(patterns.masks):
        shows_more = ~(patterns.masks & ~mask).any(axis=1)
        probes = numbered.filter(pl.Series(shows_more[patterns.mask_of_pattern]))
        builds = numbered.filter(pl.Series(patterns.mask_of_pattern == number))
        shown = patterns.shown(mask)
        builds = builds.select(*shown, pl.col(PATTERN).alias(OTHER))
        if shown:
            met = probes.join(builds, on=shown, how="inner").select(PATTERN, OTHER)
        else:
            met = probes.select(PATTERN).join(builds, how="cross")
        covered.append(met[PATTERN].to_numpy())
        covering.append(met[OTHER].to_numpy())
        n_pairs += met.height
        if n_pairs > MOST_PAIRS:
            raise _too_many(patterns)
    if not covered:
        empty = np.zeros(0, dtype=np.int64)
        return Pairs(empty, empty)
    pairs = Pairs(np.concatenate(covered), np.concatenate(covering))
    order = np.lexsort((pairs.covering, pairs.covered))
    return Pairs(pairs.covered[order], pairs.covering[order])


def possible_rows(patterns: Masked, n_rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return how many rows unify with each pattern, or None above the stated bounds."""
    n_patterns = patterns.codes.height
    too_many_pairs = patterns.n_masks**2 > MOST_MASK_PAIRS
    if too_many_pairs or patterns.n_masks * n_patterns > MOST_POSSIBLE_LOOKUPS:
        return None
    numbered = patterns.codes.with_columns(
        pl.Series(PATTERN, np.arange(n_patterns)), pl.Series(N_ROWS, n_rows)
    )
    of_mask = [
        numbered.filter(pl.Series(patterns.mask_of_pattern == number))
        for number in range(patterns.n_masks)
    ]
    possible = np.zeros(n_patterns, dtype=np.int64)
    for mask, asked in zip(patterns.masks, of_mask, strict=True):
        for other_mask, others in zip(patterns.masks, of_mask, strict=True):
            both = patterns.shown(mask | other_mask)
            if not both:
                possible[asked[PATTERN].to_numpy()] += others[N_ROWS].sum()
                continue
            sums = others.group_by(both).agg(pl.col(N_ROWS).sum().alias(OTHER))
            met = asked.join(sums, on=both, how="inner")
            possible[met[PATTERN].to_numpy()] += met[OTHER].to_numpy()
    return possible


def _too_many(patterns: Masked) -> InputError:
    return InputError(
        f"could not check as-wildcard: {patterns.codes.height} different rows with stars in "
        f"{patterns.n_masks} different sets of columns are too many to compare",
        remedy="Check the stricter reading, --stars as-value, or fewer columns at a time.",
    )


# Who stands with whom: the patterns of a released file, and the crowd of each.

MOST_EXPANDED = 500_000_000
"""Lines (pattern, member's value) above which crowds of patterns are not counted."""

EXPANDED_AT_ONCE = 5_000_000
ROWS_AT_ONCE = 262_144

ROW, LINE = "row", "line"


@dataclass(frozen=True, eq=False)
class Lines:
    """A count table: each line is a pattern together with values of further columns.

    ``keys`` has one line per pattern and a column per quasi-identifying column. ``further`` and
    ``n_rows`` go line by line. ``pattern_of_line`` is −1 where ``excluded`` leaves a line out.
    """

    keys: pl.DataFrame
    pattern_of_line: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    further: pl.DataFrame
    n_people: NDArray[np.int64] | None = None

    @property
    def n_patterns(self) -> int:
        """How many patterns there are."""
        return self.keys.height

    def per_pattern(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add amounts of lines up to their patterns."""
        counted = self.pattern_of_line >= 0
        sums = np.zeros(self.n_patterns, dtype=np.int64)
        np.add.at(sums, self.pattern_of_line[counted], amounts[counted])
        return sums


@dataclass(frozen=True, eq=False)
class Crowds:
    """Every pattern, its rows, its crowd (rows or people) and the crowd that its rows ask for.

    ``possible`` is the crowd of rows that unify, under ``as-wildcard`` where it was counted.
    """

    keys: pl.DataFrame
    n_rows: NDArray[np.int64]
    size: NDArray[np.int64]
    asked: NDArray[np.int64]
    possible: NDArray[np.int64] | None = None


def column_names(count: int) -> list[str]:
    """Return the names that quasi-identifying columns have in here, by position."""
    return [f"q{place}" for place in range(count)]


def count_lines(
    evidence: Evidence,
    quasi: Sequence[str],
    stars: str,
    further: Sequence[str] = (),
    people: str | None = None,
) -> Lines:
    """Count the file by its patterns and further columns.

    Only the file's own quasi-identifying columns are read by ``stars``; columns that are treated
    as quasi-identifying besides (``joint``) count as they are written.
    """
    names = column_names(len(quasi))
    more = [f"f{place}" for place in range(len(further))]
    table = evidence.engine.count(evidence.blocks, [*quasi, *further], people)
    counts = ["n_rows", *(["n_people"] if people else [])]
    lines = to_frame(table, [*names, *more, *counts])
    own = names[: len(evidence.quasi)]
    is_whole = np.ones(lines.height, dtype=np.bool_)
    if stars == "as-wildcard":
        lines = blank_out(lines, own, evidence.missing_values)
    elif stars == "excluded":
        is_whole = ~_is_blank(lines, own, evidence.missing_values).any(axis=1)
    keys, pattern_of_line = _patterns(
        lines, names, is_whole, are_distinct=not further and stars != "as-wildcard"
    )
    n_people = lines["n_people"].to_numpy() if people else None
    return Lines(
        keys,
        pattern_of_line,
        lines["n_rows"].to_numpy().astype(np.int64),
        lines.select(more),
        n_people,
    )


def count_crowds(evidence: Evidence, stars: str, k: int) -> Crowds:
    """Count every pattern's crowd, and the k that its rows ask for."""
    is_wild = stars == "as-wildcard"
    person, k_column = evidence.person, evidence.k_column
    counts_people_itself = person is not None and not is_wild and k_column is None
    further = [k_column] if k_column else []
    if person is not None and not counts_people_itself:
        further.append(person)
    lines = count_lines(
        evidence, evidence.quasi, stars, further, person if counts_people_itself else None
    )
    n_rows = lines.per_pattern(lines.n_rows)
    asked = np.full(lines.n_patterns, k, dtype=np.int64)
    if k_column:
        wishes = _whole_numbers(lines, k_column)
        counted = lines.pattern_of_line >= 0
        np.maximum.at(asked, lines.pattern_of_line[counted], wishes[counted])
    pairs, possible = None, None
    if is_wild:
        patterns = masked(lines.keys, len(evidence.quasi))
        pairs = covering_pairs(patterns)
        if person is None:
            possible = possible_rows(patterns, n_rows)
    if lines.n_people is not None:
        size = lines.per_pattern(lines.n_people)
    elif person is not None:
        size = _distinct_people(lines, pairs)
    elif pairs is not None:
        size = np.zeros(lines.n_patterns, dtype=np.int64)
        np.add.at(size, pairs.covered, n_rows[pairs.covering])
    else:
        size = n_rows
    return Crowds(lines.keys, n_rows, size, asked, possible)


def expand(
    lines: Lines, pairs: Pairs | None, column: pl.Series, amounts: NDArray[np.int64]
) -> pl.DataFrame:
    """Return, per pattern and value of ``column``, the summed amounts over the pattern's crowd."""
    counted = lines.pattern_of_line >= 0
    values = pl.DataFrame(
        {
            "member": lines.pattern_of_line[counted],
            "value": column.filter(pl.Series(counted)),
            "n": amounts[counted],
        }
    )
    of_pattern = values.group_by("member", "value").agg(pl.col("n").sum())
    if pairs is None:
        return of_pattern.rename({"member": "pattern"}).sort("pattern", "value")
    n_lines = np.bincount(of_pattern["member"].to_numpy(), minlength=lines.n_patterns)
    n_expanded = np.zeros(lines.n_patterns, dtype=np.int64)
    np.add.at(n_expanded, pairs.covered, n_lines[pairs.covering])
    if n_expanded.sum() > MOST_EXPANDED:
        raise InputError(
            f"could not check as-wildcard: the crowds of {lines.n_patterns} different rows hold "
            "too many values to put together",
            remedy="Check the stricter reading, --stars as-value.",
        )
    # pairs are sorted by the covered pattern, and a part never cuts a pattern in two
    part_of_pattern = np.cumsum(n_expanded) // EXPANDED_AT_ONCE
    edges = np.flatnonzero(np.diff(part_of_pattern[pairs.covered])) + 1
    parts = []
    for covered, covering in zip(
        np.split(pairs.covered, edges), np.split(pairs.covering, edges), strict=True
    ):
        part = pl.DataFrame({"pattern": covered, "member": covering})
        met = part.join(of_pattern, on="member")
        parts.append(met.group_by("pattern", "value").agg(pl.col("n").sum()))
    return pl.concat(parts).sort("pattern", "value")


def row_numbers(
    evidence: Evidence, quasi: Sequence[str], stars: str, exposed: pl.DataFrame
) -> tuple[int, ...]:
    """Return the numbers of the first rows whose pattern is among the exposed keys."""
    if evidence.frame is None or not exposed.height:
        return ()
    names = column_names(len(quasi))
    found: list[int] = []
    for start in range(0, evidence.frame.num_rows, ROWS_AT_ONCE):
        part = evidence.frame.select(list(quasi)).slice(start, ROWS_AT_ONCE)
        frame = to_frame(part, names)
        if stars == "as-wildcard":
            frame = blank_out(frame, names[: len(evidence.quasi)], evidence.missing_values)
        numbered = frame.with_row_index(ROW, offset=start + 1)
        keys = exposed.cast(frame.schema)
        met = numbered.join(keys, on=names, how="semi", nulls_equal=True)
        found += met[ROW].sort().to_list()
        if len(found) >= MOST_ROWS_NAMED:
            break
    return tuple(found[:MOST_ROWS_NAMED])


def count_unchecked(evidence: Evidence) -> tuple[int, int, tuple[int, ...]]:
    """Count the rows that ``excluded`` leaves out, and those of them that still show something.

    Returns both counts and the numbers of the first rows of the second kind.
    """
    import pyarrow as pa

    quasi, sensitive, tokens = evidence.quasi, evidence.sensitive, evidence.missing_values

    def survey(block: pa.Table) -> pa.Table:
        left_out, showing = _left_out(block, quasi, sensitive, tokens)
        return pa.table({"left_out": [int(left_out.sum())], "showing": [int(showing.sum())]})

    schema = pa.schema([("left_out", pa.int64()), ("showing", pa.int64())])
    totals = evidence.engine.collect(evidence.engine.map_blocks(evidence.blocks, survey, schema))
    n_left_out = sum(totals.column("left_out").to_pylist())
    n_showing = sum(totals.column("showing").to_pylist())
    named: tuple[int, ...] = ()
    if evidence.frame is not None and n_showing:
        _, showing = _left_out(evidence.frame, quasi, sensitive, tokens)
        named = tuple((np.flatnonzero(showing)[:MOST_ROWS_NAMED] + 1).tolist())
    return n_left_out, n_showing, named


def require_columns(evidence: Evidence) -> None:
    """Raise unless there is something to check, every named column is there and names people."""
    if not evidence.quasi:
        raise InputError(
            "no column is quasi-identifying, so there is nothing to check",
            remedy="Name the columns that somebody could know a person by: --quasi age,zip.",
        )
    if evidence.frame is not None:
        owned = [name for name in (evidence.person, evidence.k_column) if name]
        for name in (*evidence.quasi, *evidence.sensitive, *owned):
            if name not in evidence.frame.column_names:
                raise unknown("column", name, evidence.frame.column_names, where="the release")
    if evidence.person is not None:
        n_nameless = _count_nameless(evidence, evidence.person)
        if n_nameless:
            raise DataError(
                f"column {evidence.person!r}: {n_nameless} rows name no person, so that people "
                "cannot be counted",
                remedy="Give every row its person, or leave --person out.",
            )


def _patterns(
    lines: pl.DataFrame, names: Sequence[str], is_whole: NDArray[np.bool_], *, are_distinct: bool
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the distinct patterns of the whole lines, and each line's pattern (or −1)."""
    pattern_of_line = np.full(lines.height, -1, dtype=np.int64)
    whole = lines.with_row_index(LINE).filter(pl.Series(is_whole))
    if are_distinct:
        pattern_of_line[is_whole] = np.arange(whole.height)
        return whole.select(names), pattern_of_line
    patterns = whole.group_by(names, maintain_order=True).agg(pl.col(LINE))
    members = patterns[LINE]
    n_members = members.list.len().to_numpy()
    flat = members.explode(empty_as_null=False).to_numpy()
    pattern_of_line[flat] = np.repeat(np.arange(patterns.height), n_members)
    return patterns.select(names), pattern_of_line


def _count_nameless(evidence: Evidence, person: str) -> int:
    import pyarrow as pa

    tokens = evidence.missing_values

    def survey(block: pa.Table) -> pa.Table:
        nameless = _is_blank(to_frame(block.select([person]), ["p"]), ["p"], tokens)
        return pa.table({"nameless": [int(nameless.sum())]})

    schema = pa.schema([("nameless", pa.int64())])
    totals = evidence.engine.collect(evidence.engine.map_blocks(evidence.blocks, survey, schema))
    return sum(totals.column("nameless").to_pylist())


def _left_out(
    block: pa.Table, quasi: Sequence[str], sensitive: Sequence[str], tokens: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    names = column_names(len(quasi) + len(sensitive))
    frame = to_frame(block.select([*quasi, *sensitive]), names)
    is_blank = _is_blank(frame, names, tokens)
    left_out = is_blank[:, : len(quasi)].any(axis=1)
    return left_out, left_out & ~is_blank.all(axis=1)


def _is_blank(
    frame: pl.DataFrame, names: Sequence[str], tokens: Sequence[str]
) -> NDArray[np.bool_]:
    """Return, row by row and column by column, which cells show nothing."""
    blank = frame.select(shows_nothing(name, frame.schema[name], tokens) for name in names)
    return np.column_stack([blank[name].to_numpy() for name in names]).astype(np.bool_)


def _whole_numbers(lines: Lines, k_column: str) -> NDArray[np.int64]:
    """Return each line's personal k; anything but whole numbers of at least 1 is refused."""
    column = lines.further["f0"]
    if column.dtype == pl.String:
        digits = column.str.strip_chars()
        is_whole = digits.str.contains(r"^[0-9]{1,9}$").fill_null(False)
        numbers = digits.cast(pl.Int64, strict=False)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Int64, strict=False)
        is_whole = (column == numbers).fill_null(False)
    else:
        numbers = column.cast(pl.Int64, strict=False)
        is_whole = pl.Series(np.zeros(len(column), dtype=np.bool_))
    is_usable = (is_whole & (numbers >= 1)).fill_null(False)
    if not is_usable.all():
        wrong = ~is_usable.to_numpy()
        raise DataError(
            f"column {k_column!r}: {int(lines.n_rows[wrong].sum())} rows hold no whole number of "
            "1 or more",
            remedy="Every row needs its own k; 1 means no wish.",
            examples=column.filter(pl.Series(wrong)).head(3).to_list(),
        )
    return numbers.to_numpy().astype(np.int64)


def _distinct_people(lines: Lines, pairs: Pairs | None) -> NDArray[np.int64]:
    person = lines.further[lines.further.columns[-1]]
    found = expand(lines, pairs, person, np.ones(len(lines.n_rows), dtype=np.int64))
    return np.bincount(found["pattern"].to_numpy(), minlength=lines.n_patterns).astype(np.int64)
