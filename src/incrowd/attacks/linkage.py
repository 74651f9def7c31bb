"""Linkage: somebody knows values of a person exactly, and looks for the row they are in.

The attacker knows that the person is in the file, finds the rows that fit what they know and
picks one of them, each with the same chance. The success on a person is the person's share of the
fitting rows, computed and not thrown, so that only the choice of people and columns is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.options import AttackOptions
from incrowd.attacks.rates import exact, sampled, told
from incrowd.audit.means import line_of_row
from incrowd.codes import numbered
from incrowd.data.encoding import nodes_of
from incrowd.data.fitting import (
    FittingColumn,
    by_hierarchy,
    by_text,
    by_value,
    count_fitting,
    fitting_pairs,
)
from incrowd.data.hierarchy import Hierarchy
from incrowd.data.means import least_ranges
from incrowd.data.table import Table
from incrowd.errors import unknown
from incrowd.guarantees.evidence import Finding


@dataclass(frozen=True, eq=False)
class Victims:
    """Who is attacked: rows of the original, and which columns are known of each.

    ``is_known`` is None where the same columns are known of everybody: then nothing but whom is
    drawn, and nothing at all where everybody is attacked.
    """

    rows: NDArray[np.int64]
    columns: tuple[str, ...]
    is_known: NDArray[np.bool_] | None
    is_everybody: bool
    n_known: int


def linkage(
    released: Table,
    original: Table,
    original_row: NDArray[np.int64],
    quasi: tuple[str, ...],
    options: AttackOptions,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    person: str | None = None,
) -> Finding:
    """Attack people who are in the release, on the original as it is and on the release."""
    victims = _victims(original_row, quasi, options)
    people = None
    if person is not None:
        people = numbered(original.frame.column(person)).codes.astype(np.int64)
    before = _success(
        [by_value(original.frame.column(name), victims.rows) for name in victims.columns],
        victims,
        np.arange(original.n_rows, dtype=np.int64),
        people,
    )
    shown = [
        _shown(name, released, original, original_row, quasi, victims.rows, hierarchies or {})
        for name in victims.columns
    ]
    after = _success(shown, victims, original_row, people)
    rate = exact if victims.is_everybody else sampled
    figures: dict[str, Any] = {
        "known_columns": list(victims.columns) if victims.is_known is None else None,
        "n_known_columns": victims.n_known,
        "n_columns": len(quasi),
        "n_people": len(original_row),
        "n_left_out": original.n_rows - len(original_row),
        "n_targets": len(victims.rows),
        "counts": "rows" if person is None else "people",
        "seed": options.seed,
        "before": rate(before) | _worst(before),
        "after": rate(after) | _worst(after),
    }
    return Finding("attack: linkage", None, _told(figures), figures, is_public=False)


def _victims(
    original_row: NDArray[np.int64], quasi: tuple[str, ...], options: AttackOptions
) -> Victims:
    draw = np.random.default_rng([options.seed, 1])
    rows = np.sort(original_row)
    is_everybody = len(rows) <= options.sample
    if not is_everybody:
        rows = np.sort(draw.choice(rows, options.sample, replace=False))
    if options.known_columns:
        for name in options.known_columns:
            if name not in quasi:
                raise unknown("quasi-identifying column", name, quasi, where="--known-columns")
        columns = tuple(name for name in quasi if name in options.known_columns)
        return Victims(rows, columns, None, is_everybody, len(columns))
    n_known = max(1, round(options.known_share * len(quasi)))
    if n_known == len(quasi):
        return Victims(rows, quasi, None, is_everybody, n_known)
    # the columns of the lowest of random numbers: every choice has the same chance
    rank = np.argsort(np.argsort(draw.random((len(rows), len(quasi))), axis=1), axis=1)
    return Victims(rows, quasi, rank < n_known, False, n_known)


def _shown(
    name: str,
    released: Table,
    original: Table,
    original_row: NDArray[np.int64],
    quasi: tuple[str, ...],
    rows: NDArray[np.int64],
    hierarchies: Mapping[str, Hierarchy],
) -> FittingColumn:
    """Return a column of the release beside what is known: cells, groups over them, ``*``.

    A mean fits what lies in the least range of the numbers it was made of: the attacker is taken
    to know that range, which only the owner does.
    """
    before, after = original.frame.column(name), released.frame.column(name)
    hierarchy = hierarchies.get(name)
    if hierarchy is None:
        return by_text(before.take(rows), after)
    leaves = nodes_of(before, hierarchy, "the original")
    if hierarchy.mean_unit is not None:
        line = line_of_row(released.frame, quasi)
        nodes = least_ranges(hierarchy, leaves[original_row], line)
    else:
        nodes = nodes_of(after, hierarchy, "the release")
    return by_hierarchy(leaves[rows], nodes, hierarchy)


def _success(
    columns: list[FittingColumn],
    victims: Victims,
    original_of_row: NDArray[np.int64],
    people: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Return the chance that a row picked of those that fit is the person's.

    ``original_of_row[row]`` is the original behind each row of the attacked file.
    """
    n_fitting = count_fitting(columns, victims.is_known)
    place_of_victim = np.arange(len(victims.rows), dtype=np.int64)
    if people is None:
        row_of_original = np.full(int(original_of_row.max(initial=-1)) + 1, -1, dtype=np.int64)
        row_of_original[original_of_row] = np.arange(len(original_of_row))
        own = fitting_pairs(
            columns, place_of_victim, row_of_original[victims.rows], victims.is_known
        )
        n_own = own.astype(np.int64)
    else:
        n_own = _own_rows(columns, victims, people[original_of_row], people[victims.rows])
    return np.divide(n_own, n_fitting, out=np.zeros(len(n_own)), where=n_fitting > 0)


def _own_rows(
    columns: list[FittingColumn],
    victims: Victims,
    person_of_row: NDArray[np.int64],
    person_of_victim: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return how many of a person's own rows fit what is known of them."""
    order = np.argsort(person_of_row, kind="stable")
    ranked = person_of_row[order]
    start = np.searchsorted(ranked, person_of_victim, side="left")
    end = np.searchsorted(ranked, person_of_victim, side="right")
    n_rows = end - start
    victim = np.repeat(np.arange(len(person_of_victim), dtype=np.int64), n_rows)
    within = np.arange(len(victim)) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    row = order[np.repeat(start, n_rows) + within]
    fits = fitting_pairs(columns, victim, row, victims.is_known)
    return np.bincount(victim[fits], minlength=len(person_of_victim)).astype(np.int64)


def _worst(success: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "highest": float(success.max(initial=0.0)),
        "n_certain": int((success >= 1.0).sum()),
    }


def _told(figures: dict[str, Any]) -> str:
    known = f"{figures['n_known_columns']} of {figures['n_columns']} columns"
    if figures["known_columns"] is not None and figures["n_known_columns"] < figures["n_columns"]:
        known = ", ".join(figures["known_columns"])
    return (
        f"knowing {known}, the right row is picked with {told(figures['after'])}; "
        f"of the original with {told(figures['before'])}"
    )
