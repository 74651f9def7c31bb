"""What a released table gives away beside its quasi-identifying columns.

Columns that number the rows, groups that the sign of a zero splits, insensitive columns that single
people out or stand in for a quasi-identifying one, the order of the rows, and cells that a
spreadsheet would run: each found once, from counts of a frame or of rows on an engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.tables.counts import ColumnFacts, Counted, FrameCounts, Guess, TableCounts
from incrowd.guarantees.tables.row_order import find_order

DETERMINED = 0.95
"""The share of rows whose quasi-identifying value an insensitive column gives away from which on
it stands in for it …"""

LEAST_GAIN = 0.5
"""… if it also halves the mistakes of somebody who always guesses the commonest value."""

FEWEST_NUMBERED = 10
"""In a shorter table a sensitive column may hold the numbers from 1 to n by chance."""


def find_table_leaks(
    frame: pa.Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    original: pa.Table | None = None,
    *,
    accepted: Sequence[str] = (),
) -> list[Finding]:
    """Look for all leaks of a table in memory; with the original also for rows in its order."""
    counts = FrameCounts(frame)
    findings = find_leaks(
        counts, quasi, sensitive, insensitive, accepted, find_order(frame, original)
    )
    stated = {*quasi, *sensitive, *insensitive}
    unstated = [name for name in frame.column_names if name not in stated]
    if unstated:
        findings.append(
            Finding(
                "unstated columns",
                None,
                f"no role is stated for {_listed(unstated)}: not looked at",
                {"columns": unstated},
            )
        )
    return findings


def find_leaks(
    counts: TableCounts,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str] = (),
    order: Sequence[Finding] = (),
) -> list[Finding]:
    """Look for every leak that counts show; what the order of rows tells goes between them."""
    facts = {name: counts.facts(name) for name in counts.columns}
    stated = [name for name in (*quasi, *sensitive, *insensitive) if name in facts]
    findings = [_row_numbers({name: facts[name] for name in stated}, counts, sensitive, accepted)]
    findings += _signed_zeros(*counts.split_by_zeros(quasi))
    findings += insensitive_leaks(counts, quasi, insensitive, accepted)
    findings += order
    findings += _formula_cells(facts)
    return findings


def insensitive_leaks(
    counts: TableCounts,
    quasi: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str] = (),
) -> list[Finding]:
    """Look for insensitive columns that single rows out or give a quasi-identifying one away.

    Columns in ``accepted`` only inform, on their own and together with one another; columns that
    are not accepted must be harmless alone and together.
    """
    if not insensitive:
        return []
    refused = [name for name in insensitive if name not in accepted]
    findings = []
    for names, holds in ((refused, False), (list(insensitive), None)):
        # the second round, with the accepted columns too, is only for information
        if names and (holds is False or len(names) > len(refused)):
            findings.append(_unique_rows(names, holds, counts.alone(names)))
    for name in insensitive:
        findings += _stand_ins(counts, [name], quasi, None if name in accepted else False)
    if len(refused) > 1:
        alone = {finding.figures["quasi"] for finding in findings if finding.name == "stand-in"}
        rest = [name for name in quasi if name not in alone]
        findings += _stand_ins(counts, refused, rest, False)
    if not any(finding.name == "stand-in" for finding in findings):
        findings.append(
            Finding(
                "stand-in",
                True,
                "no insensitive column nearly determines a quasi-identifying one",
                {"threshold": DETERMINED},
            )
        )
    return findings


def _unique_rows(names: Sequence[str], holds: bool | None, alone: Counted) -> Finding:
    """Say how many rows are alone with their values of insensitive columns."""
    figures = {"columns": list(names), "n_exposed": alone.n}
    if not alone.n:
        summary = f"no row is alone with its values of {_listed(names)}"
        return Finding("unique rows", True, summary, figures)
    summary = f"{alone.n} rows are alone with their values of the insensitive {_listed(names)}"
    if holds is None:
        summary += " (accepted)"
    return Finding("unique rows", holds, summary, figures, alone.rows)


def _stand_ins(
    counts: TableCounts, given: Sequence[str], quasi: Sequence[str], holds: bool | None
) -> list[Finding]:
    """Find the quasi-identifying columns whose value the given columns nearly determine.

    A column that is nearly unique guesses nearly everything right, and is meant to be found.
    """
    findings = []
    for name in quasi:
        guess = None if name in given else counts.guess(given, name)
        if guess is not None and _gives_away(guess):
            findings.append(_stand_in(guess, holds))
    return findings


def _gives_away(guess: Guess) -> bool:
    if guess.commonest == 1.0 or guess.right < DETERMINED:
        return False
    return (guess.right - guess.commonest) / (1.0 - guess.commonest) >= LEAST_GAIN


def _stand_in(guess: Guess, holds: bool | None) -> Finding:
    figures = {
        "columns": guess.given,
        "quasi": guess.quasi,
        "guessed_right": guess.right,
        "commonest": guess.commonest,
        "threshold": DETERMINED,
    }
    summary = (
        f"the insensitive {_listed(guess.given)} gives the quasi-identifying {guess.quasi!r} away "
        f"in {guess.right:.1%} of the rows (guessing without it: {guess.commonest:.1%})"
    )
    if holds is None:
        summary += " (accepted)"
    return Finding("stand-in", holds, summary, figures)


def _row_numbers(
    facts: dict[str, ColumnFacts],
    counts: TableCounts,
    sensitive: Sequence[str],
    accepted: Sequence[str],
) -> Finding:
    """Find columns that number the rows, or are different in every row.

    Nobody is assumed to know sensitive values, so a sensitive column that merely differs in every
    row only informs; consecutive numbers are a numbering whatever the column is called.
    """
    n_rows = counts.n_rows
    numbering: list[str] = []
    others: list[str] = []
    sensitive_only: list[str] = []
    for name, found in facts.items():
        if n_rows < 2 or found.n_missing or found.n_values < n_rows:
            continue
        if name in sensitive and not (found.is_consecutive and n_rows >= FEWEST_NUMBERED):
            sensitive_only.append(name)
        elif name not in accepted:
            (numbering if found.is_consecutive else others).append(name)
    figures = {
        "numbering": numbering,
        "differing": others,
        "differing_sensitive": sensitive_only,
        "n_exposed": n_rows if numbering or others else 0,
    }
    if numbering or others:
        parts = []
        if numbering:
            parts.append(f"rows are numbered by {_listed(numbering)}")
        if others:
            parts.append(f"no two rows agree in {_listed(others)}")
        rows = tuple(range(1, min(n_rows, MOST_ROWS_NAMED) + 1))
        return Finding("row numbers", False, " and ".join(parts), figures, rows)
    if sensitive_only:
        summary = f"no two rows agree in the sensitive {_listed(sensitive_only)}"
        return Finding("row numbers", None, summary, figures)
    return Finding("row numbers", True, "no column numbers the rows", figures)


def _signed_zeros(columns: list[str], split: Counted) -> list[Finding]:
    """Say how many groups the sign of a zero splits; nothing where it splits none."""
    if not split.n:
        return []
    quoted = ", ".join(map(repr, columns))
    summary = (
        f"{split.n} groups are split by the sign of a zero: {quoted} holds both 0.0 and -0.0, "
        "which are counted as one value and are told apart in the file"
    )
    figures = {"columns": columns, "n_groups": split.n}
    return [Finding("signed zeros", False, summary, figures, split.rows)]


def _formula_cells(facts: dict[str, ColumnFacts]) -> list[Finding]:
    """Say how many cells of each column would run as formulas; nothing where none would."""
    n_cells = {name: found.n_formulas for name, found in facts.items() if found.n_formulas}
    if not n_cells:
        return []
    n_all = sum(n_cells.values())
    summary = f"{n_all} cells of {_listed(n_cells)} would run as formulas in a spreadsheet"
    return [Finding("formula cells", None, summary, {"n_cells": n_cells})]


def _listed(names: Sequence[str] | dict[str, int]) -> str:
    quoted = ", ".join(repr(name) for name in names)
    return f"column {quoted}" if len(names) == 1 else f"columns {quoted}"
