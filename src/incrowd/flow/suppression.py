"""What becomes of the rows that a search left out: counted, kept as stars, or refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.encoding.rows import Rows
from incrowd.errors import InfeasibleError
from incrowd.guarantees.evidence import Finding
from incrowd.job.documents import ReleaseOptions
from incrowd.methods.shared.conditions import Conditions


@dataclass(frozen=True, eq=False)
class SettledRows:
    """The rows as they are to be released; those ``is_starred`` are suppressed, yet released.

    There are ``n_of_row`` of each.
    """

    rows: Rows
    is_starred: NDArray[np.bool_]
    n_of_row: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    @property
    def n_all(self) -> int:
        """How many rows there are."""
        return int(self.n_of_row.sum())

    @property
    def n_starred(self) -> int:
        """How many rows are shown as stars."""
        return int(self.n_of_row[self.is_starred].sum())

    @property
    def n_suppressed(self) -> int:
        """How many rows show none of their quasi-identifying values, left out or starred."""
        return int(self.n_of_row[self.rows.is_suppressed].sum()) + self.n_starred


def settle(
    after: Rows,
    conditions: Conditions,
    options: ReleaseOptions,
    n_of_row: NDArray[np.int64] | None = None,
) -> SettledRows:
    """Decide what a released file does with its suppressed rows.

    Where size alone counts, rows may stand for ``n_of_row`` each.

    They are left out; with ``keep_suppressed`` they are shown as ``*`` in every column if they
    meet k, l and t as a group of their own. (Rows that the search itself put at the roots then
    join them: a union of groups that meet the promise meets it.) Raises InfeasibleError where
    nothing is left to release, where a file that keeps its order would lose rows, and where
    t-closeness holds no longer because it is measured on the rows of the file.
    """
    if n_of_row is None:
        n_of_row = np.ones(after.n_rows, dtype=np.int64)
    n_suppressed = int(n_of_row[after.is_suppressed].sum())
    nobody = np.zeros(after.n_rows, dtype=np.bool_)
    if not n_suppressed:
        return SettledRows(after, nobody, n_of_row)
    if n_suppressed == int(n_of_row.sum()):
        raise InfeasibleError(
            "every row would be suppressed: nothing is left to release",
            remedy="Lower --suppression-limit, or k, l or t.",
        )
    note = f"{n_suppressed} suppressed rows are left out"
    if options.keep_suppressed:
        starred = _star_suppressed(after)
        problem = _why_not_starred(after, starred, conditions, n_suppressed)
        if not problem:
            note = f"{n_suppressed} suppressed rows are kept, '*' in every quasi-identifying column"
            return SettledRows(starred, after.is_suppressed.copy(), n_of_row, (note,))
        note += f": {problem}"
    if options.keep_order:
        raise InfeasibleError(
            f"rows would not stay in their places: {note}",
            remedy="Use --suppression-limit 0, or write a key (--key) instead of --keep-order.",
        )
    n_far, n_groups = _far_groups(after, conditions)
    if n_far:
        raise InfeasibleError(
            f"{n_far} of {n_groups} groups are further than t from the rows that are left: "
            "suppressed rows change the distribution that t-closeness compares with",
            remedy="Use --suppression-limit 0, raise --t, or keep the rows as stars with "
            "--keep-suppressed.",
        )
    return SettledRows(after, nobody, n_of_row, (note,))


@dataclass(frozen=True)
class Suppressed:
    """How many rows there are, are suppressed, are so but released as stars, and may be so."""

    n_all: int
    n_suppressed: int
    n_starred: int
    n_suppressible: int

    @classmethod
    def of(cls, settled: SettledRows, conditions: Conditions) -> Suppressed:
        """Count the rows of a release."""
        return cls(
            settled.n_all, settled.n_suppressed, settled.n_starred, conditions.n_suppressible
        )


def suppression_finding(expected: Suppressed, n_released: int) -> list[Finding]:
    """Hold what the file left out against what was allowed; nothing where none was either."""
    n_left_out, n_starred = expected.n_all - n_released, expected.n_starred
    n_suppressed = n_left_out + n_starred
    if not n_suppressed and not expected.n_suppressible:
        return []
    figures = {
        "n_suppressed": n_suppressed,
        "n_left_out": n_left_out,
        "n_kept_as_stars": n_starred,
        "n_suppressible": expected.n_suppressible,
    }
    holds = n_suppressed == expected.n_suppressed <= expected.n_suppressible
    summary = (
        f"{n_suppressed} of {expected.n_all} rows are suppressed; {expected.n_suppressible} may be"
    )
    return [Finding("suppressed rows", holds, summary, figures, is_public=False)]


def _star_suppressed(after: Rows) -> Rows:
    """Return the rows with the suppressed ones at the roots and in the file."""
    nodes = after.nodes.copy()
    for column, hierarchy in enumerate(after.hierarchies):
        nodes[column, after.is_suppressed] = hierarchy.root
    return after.with_nodes(nodes, np.zeros(after.n_rows, dtype=np.bool_))


def _why_not_starred(after: Rows, starred: Rows, conditions: Conditions, n_suppressed: int) -> str:
    """Return why the suppressed rows may not be shown as stars, or nothing where they may."""
    from incrowd.methods.shared.conditions import Validity

    alone = np.flatnonzero(after.is_suppressed)
    is_valid = n_suppressed >= conditions.k
    if is_valid and not conditions.is_size_only:
        is_valid = Validity(alone, conditions.packed(after.n_rows)).of_span(0, len(alone))
    if not is_valid:
        return "as a group of their own they do not meet the promise"
    n_far, _ = _far_groups(starred, conditions)
    return f"with them in the file {n_far} groups are further than t from it" if n_far else ""


def _far_groups(rows: Rows, conditions: Conditions) -> tuple[int, int]:
    """Return how many groups do not hold against the distribution of the released rows, of all.

    Without t nothing depends on the other groups, and nothing is looked at.
    """
    if not any(column.t >= 0.0 for column in conditions.sensitive):
        return 0, 0
    from incrowd.methods.shared.conditions import Validity, keep_rows
    from incrowd.methods.shared.fragments import sort_into_runs, sort_key

    kept, limits = keep_rows(rows, conditions)
    sizes = [hierarchy.n_nodes for hierarchy in kept.hierarchies]
    order, starts = sort_into_runs(sort_key(list(kept.nodes), sizes, kept.n_rows))
    validity = Validity(order, limits)
    spans = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    n_far = sum(not validity.of_span(start, end) for start, end in spans)
    return n_far, len(starts) - 1
