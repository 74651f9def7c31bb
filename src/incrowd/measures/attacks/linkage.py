"""Linkage and homogeneity: an attacker who knows values of a person finds the row, or what its
group shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.encoding.encode import encode_labels, nodes_of
from incrowd.encoding.fitting import (
    FittingColumn,
    count_fitting,
    do_pairs_fit,
    fit_by_hierarchy,
    fit_by_text,
    fit_by_value,
    number_distinct_rows,
)
from incrowd.errors import InputError, unknown
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.truth import line_of_row
from incrowd.hierarchies.means import covering_ranges
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.measures.options import AttackOptions
from incrowd.tables.table import Table

Z95 = 1.959963984540054
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Student's t at 95 % by the number of draws."""


def exact_rate(success: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mean success over everybody: nothing was drawn, so there is no interval."""
    rate = float(success.mean()) if len(success) else 0.0
    return {"rate": rate, "low": rate, "high": rate, "n": len(success), "is_exact": True}


def sampled_rate(success: NDArray[np.float64]) -> dict[str, Any]:
    """Return the mean success of a sample with Wilson's 95 % interval (Wilson 1927).

    A success is a chance from 0 to 1. Chances of some mean vary no more than yes and no of that
    mean, so that the interval is wide enough.
    """
    n = len(success)
    if not n:
        return {"rate": 0.0, "low": 0.0, "high": 1.0, "n": 0, "is_exact": False}
    rate = float(success.mean())
    low, high = wilson_interval(rate, n)
    return {"rate": rate, "low": low, "high": high, "n": n, "is_exact": False}


def wilson_interval(rate: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a rate seen in n."""
    middle = rate + Z95 * Z95 / (2 * n)
    half = Z95 * math.sqrt(rate * (1 - rate) / n + Z95 * Z95 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + Z95 * Z95 / n) for sign in (-1, 1))
    return min(max(low, 0.0), rate), max(min(high, 1.0), rate)


def repeated_rate(means: NDArray[np.float64], n: int) -> dict[str, Any]:
    """Return the mean over repeated draws, each of everybody, with Student's 95 % interval."""
    rate = float(means.mean())
    half = 0.0
    if len(means) > 1:
        half = T95[len(means)] * float(means.std(ddof=1)) / math.sqrt(len(means))
    return {
        "rate": rate,
        "low": max(0.0, rate - half),
        "high": min(1.0, rate + half),
        "n": n,
        "is_exact": False,
        "n_draws": len(means),
    }


def format_rate(rate: dict[str, Any]) -> str:
    """Return a rate in words: as a percentage, with its interval where it has one."""
    if rate["is_exact"]:
        return f"{rate['rate']:.2%}"
    return f"{rate['rate']:.2%} ({rate['low']:.2%} to {rate['high']:.2%})"


# Linkage: somebody knows values of a person exactly, and looks for the row they are in.


@dataclass(frozen=True, eq=False)
class Targets:
    """Who is attacked: rows of the original, and which columns are known of each.

    ``is_known`` is None where the same columns are known of everybody: then nothing but whom is
    drawn, and nothing at all where everybody is attacked.
    """

    rows: NDArray[np.int64]
    columns: tuple[str, ...]
    is_known: NDArray[np.bool_] | None
    is_everybody: bool
    n_known: int


def linkage_finding(
    released: Table,
    original: Table,
    original_row: NDArray[np.int64],
    quasi: tuple[str, ...],
    options: AttackOptions,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    person: str | None = None,
) -> Finding:
    """Attack people who are in the release, on the original as it is and on the release."""
    victims = _choose_targets(original_row, quasi, options)
    people = None
    if person is not None:
        people = factorize(original.frame.column(person)).codes.astype(np.int64)
    before = _measure_success(
        [fit_by_value(original.frame.column(name), victims.rows) for name in victims.columns],
        victims,
        np.arange(original.n_rows, dtype=np.int64),
        people,
    )
    shown = [
        _match_column(
            name, released, original, original_row, quasi, victims.rows, hierarchies or {}
        )
        for name in victims.columns
    ]
    after = _measure_success(shown, victims, original_row, people)
    rate = exact_rate if victims.is_everybody else sampled_rate
    figures: dict[str, Any] = {
        "known_columns": list(victims.columns) if victims.is_known is None else None,
        "n_known_columns": victims.n_known,
        "n_columns": len(quasi),
        "n_people": len(original_row),
        "n_left_out": original.n_rows - len(original_row),
        "n_targets": len(victims.rows),
        "counts": "rows" if person is None else "people",
        "seed": options.seed,
        "before": rate(before) | _worst_case(before),
        "after": rate(after) | _worst_case(after),
    }
    return Finding("attack: linkage", None, _summarize_linkage(figures), figures, is_public=False)


def _choose_targets(
    original_row: NDArray[np.int64], quasi: tuple[str, ...], options: AttackOptions
) -> Targets:
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
        return Targets(rows, columns, None, is_everybody, len(columns))
    n_known = max(1, round(options.known_share * len(quasi)))
    if n_known == len(quasi):
        return Targets(rows, quasi, None, is_everybody, n_known)
    # the columns of the lowest of random numbers: every choice has the same chance
    rank = np.argsort(np.argsort(draw.random((len(rows), len(quasi))), axis=1), axis=1)
    return Targets(rows, quasi, rank < n_known, False, n_known)


def _match_column(
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
        return fit_by_text(before.take(rows), after)
    leaves = nodes_of(before, hierarchy, "the original")
    if hierarchy.mean_unit is not None:
        line = line_of_row(released.frame, quasi)
        nodes = covering_ranges(hierarchy, leaves[original_row], line)
    else:
        nodes = nodes_of(after, hierarchy, "the release")
    return fit_by_hierarchy(leaves[rows], nodes, hierarchy)


def _measure_success(
    columns: list[FittingColumn],
    victims: Targets,
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
        own = do_pairs_fit(
            columns, place_of_victim, row_of_original[victims.rows], victims.is_known
        )
        n_own = own.astype(np.int64)
    else:
        n_own = _count_own_rows(columns, victims, people[original_of_row], people[victims.rows])
    return np.divide(n_own, n_fitting, out=np.zeros(len(n_own)), where=n_fitting > 0)


def _count_own_rows(
    columns: list[FittingColumn],
    victims: Targets,
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
    fits = do_pairs_fit(columns, victim, row, victims.is_known)
    return np.bincount(victim[fits], minlength=len(person_of_victim)).astype(np.int64)


def _worst_case(success: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "highest": float(success.max(initial=0.0)),
        "n_certain": int((success >= 1.0).sum()),
    }


def _summarize_linkage(figures: dict[str, Any]) -> str:
    known = f"{figures['n_known_columns']} of {figures['n_columns']} columns"
    if figures["known_columns"] is not None and figures["n_known_columns"] < figures["n_columns"]:
        known = ", ".join(figures["known_columns"])
    return (
        f"knowing {known}, the right row is picked with {format_rate(figures['after'])}; "
        f"of the original with {format_rate(figures['before'])}"
    )


# Homogeneity: somebody who has found a person's group learns what all in it have in common.


def homogeneity_finding(
    released: Table,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    options: AttackOptions,
    *,
    original: Table | None = None,
    people: pa.ChunkedArray | None = None,
    person: str | None = None,
) -> Finding:
    """Measure how many people's sensitive value their group gives away, for each such column.

    ``people`` says whose each released row is, where groups count people.
    """
    if not sensitive:
        raise InputError(
            "the attack 'homogeneity' is about a sensitive column, and none is stated",
            remedy="Name what nobody should learn of a person: --sensitive COLUMN.",
        )
    columns: dict[str, Any] = {}
    for name in sensitive:
        after = _measure_homogeneity(released, quasi, name, people, options.confidence)
        before = None
        if original is not None:
            everybody = original.frame.column(person) if person else None
            before = _measure_homogeneity(original, quasi, name, everybody, options.confidence)
        columns[name] = {"before": before, "after": after}
    figures = {
        "confidence": options.confidence,
        "counts": "rows" if people is None else "people",
        "columns": columns,
    }
    return Finding(
        "attack: homogeneity",
        None,
        _summarize_homogeneity(figures),
        figures,
        is_public=original is None,
    )


def _measure_homogeneity(
    table: Table,
    quasi: tuple[str, ...],
    sensitive: str,
    people: pa.ChunkedArray | None,
    confidence: float,
) -> dict[str, Any]:
    share = _share_of_own_value(table, quasi, sensitive, people)
    certain = share >= 1.0
    return {
        "certain": exact_rate(certain.astype(np.float64)),
        "above": exact_rate((share >= confidence).astype(np.float64)),
        "n_without_value": table.n_rows - len(share) if people is None else None,
    }


def _share_of_own_value(
    table: Table, quasi: tuple[str, ...], sensitive: str, people: pa.ChunkedArray | None
) -> NDArray[np.float64]:
    """Return, per row or (group, person, value), the share of its group that has that value."""
    cells = encode_labels(table.frame.column(sensitive), (*table.missing_values, STAR))
    keys = []
    for name in quasi:
        codes = encode_labels(table.frame.column(name))
        keys.append((codes.codes + np.int32(1), len(codes.texts) + 1))
    group = number_distinct_rows(keys, table.n_rows)
    is_shown = cells.codes >= 0
    group, value = group[is_shown], cells.codes[is_shown].astype(np.int64)
    n_values = max(1, len(cells.texts))
    if people is None:
        in_group = np.bincount(group)
        of_value = np.unique(group * n_values + value, return_inverse=True, return_counts=True)
        return np.asarray(of_value[2][of_value[1].reshape(-1)] / in_group[group])
    person = factorize(people).codes.astype(np.int64)[is_shown]
    n_people = int(person.max(initial=0)) + 1
    pairs = np.unique(group * n_people + person)
    in_group = np.bincount(pairs // n_people)
    kind = np.unique(group * n_values + value, return_inverse=True)[1].reshape(-1)
    # who: one entry for every value that a person shows in a group
    who, first = np.unique(kind * n_people + person, return_index=True)
    n_with = np.bincount(who // n_people)
    return np.asarray(n_with[who // n_people] / in_group[group[first]])


def _summarize_homogeneity(figures: dict[str, Any]) -> str:
    parts = []
    for name, found in figures["columns"].items():
        part = f"{name} is certain for {format_rate(found['after']['certain'])}"
        if found["before"] is not None:
            part += f" (original: {format_rate(found['before']['certain'])})"
        part += (
            f", known with {figures['confidence']:.0%} for {format_rate(found['after']['above'])}"
        )
        parts.append(part)
    return "; ".join(parts) + f" of the {figures['counts']}"
