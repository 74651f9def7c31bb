"""What a released table on an engine gives away beside its quasi-identifying columns.

The same findings as ``leaks.find_leaks``, from counts that the engine makes: only sums of them come
to this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from incrowd.engines.base import N_ROWS, Blocks, OutOfCoreEngine
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.tables.cells import shows_nothing, to_frame
from incrowd.guarantees.tables.leaks import (
    Guess,
    find_spread_signed_zeros,
    formula_finding,
    is_formula,
    no_stand_in,
    numbering_finding,
    stand_in_finding,
    unique_finding,
)

_N_KEYS = 64
"""In how many groups the values of insensitive columns meet."""

_WHOLE = r"^\s*[0-9]{1,18}\s*$"


def find_spread_leaks(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    n_rows: int,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str] = (),
    *,
    groups: pa.Table,
) -> list[Finding]:
    """Look for columns that number the rows, telling insensitive columns, and formulas.

    ``groups`` counts the rows of every combination of the quasi-identifying columns.
    """
    names = [*quasi, *sensitive, *insensitive]
    facts = {name: _facts_of_lines(_values_of(groups, name)) for name in quasi}
    facts |= {name: _facts(engine, blocks, name) for name in (*sensitive, *insensitive)}
    differing = {
        name: found.is_consecutive
        for name, found in facts.items()
        if n_rows >= 2 and not found.n_missing and found.n_values == n_rows
    }
    findings = [numbering_finding(differing, sensitive, accepted, n_rows)]
    findings += find_spread_signed_zeros(engine, blocks, quasi)
    findings += spread_insensitive_leaks(engine, blocks, quasi, insensitive, accepted)
    findings += formula_finding({name: facts[name].n_formulas for name in names})
    return findings


def spread_insensitive_leaks(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    quasi: Sequence[str],
    insensitive: Sequence[str],
    accepted: Sequence[str] = (),
) -> list[Finding]:
    """Look for insensitive columns that single rows out or give a quasi-identifying one away."""
    if not insensitive:
        return []
    refused = [name for name in insensitive if name not in accepted]
    findings = []
    for names, holds in ((refused, False), (list(insensitive), None)):
        if names and (holds is False or len(names) > len(refused)):
            n_unique = _n_unique(engine, blocks, names)
            findings.append(unique_finding(names, holds, n_unique))
    for name in insensitive:
        findings += _stand_ins(engine, blocks, [name], quasi, None if name in accepted else False)
    if len(refused) > 1:
        alone = {finding.figures["quasi"] for finding in findings if finding.name == "stand-in"}
        rest = [name for name in quasi if name not in alone]
        findings += _stand_ins(engine, blocks, refused, rest, False)
    if not any(finding.name == "stand-in" for finding in findings):
        findings.append(no_stand_in())
    return findings


# ── one column ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Facts:
    """What the distinct values of a column come to; ``is_consecutive`` if each occurs once."""

    n_values: int
    n_missing: int
    n_formulas: int
    is_consecutive: bool


_FACTS = pa.schema(
    [
        ("n_values", pa.int64()),
        ("n_missing", pa.int64()),
        ("n_formulas", pa.int64()),
        ("is_whole", pa.bool_()),
        ("least", pa.int64()),
        ("most", pa.int64()),
    ]
)


def _facts(engine: OutOfCoreEngine, blocks: Blocks, name: str) -> _Facts:
    lines = engine.counted(blocks, [name])
    return _facts_of_lines(engine.collect(engine.map_blocks(lines, _facts_of_values, _FACTS)))


def _values_of(groups: pa.Table, name: str) -> pa.Table:
    """Return the facts on a column of counted combinations."""
    by_value = groups.select([name, N_ROWS]).group_by(name).aggregate([(N_ROWS, "sum")])
    return _facts_of_values(by_value.select([name, f"{N_ROWS}_sum"]))


def _facts_of_lines(of_blocks: pa.Table) -> _Facts:
    """Put together what was found in parts of a column's values."""
    frame = pl.DataFrame(pl.from_arrow(of_blocks))
    n_values = int(frame["n_values"].sum())
    numbers = frame.filter(pl.col("n_values") > 0)
    is_consecutive = False
    if n_values and bool(numbers["is_whole"].all()):
        span = pl.concat([numbers["least"], numbers["most"]])
        is_consecutive = int(span.max()) - int(span.min()) == n_values - 1  # type: ignore[arg-type]
    return _Facts(
        n_values, int(frame["n_missing"].sum()), int(frame["n_formulas"].sum()), is_consecutive
    )


def _facts_of_values(block: pa.Table) -> pa.Table:
    """Return one line of facts on values with their counts."""
    lines = to_frame(block, ["c", "n"])
    shown = lines.filter(pl.col("c").is_not_null())
    values, counts = shown["c"], shown["n"]
    n_formulas, is_whole = 0, values.dtype.is_integer()
    numbers = values
    if values.dtype == pl.String:
        n_formulas = int(counts.filter(is_formula(values)).sum())
        is_whole = bool(values.str.contains(_WHOLE).all())
        numbers = values.str.strip_chars().cast(pl.Int64, strict=False)
    least = most = None
    if is_whole and len(values):
        least, most = numbers.min(), numbers.max()
    line = {
        "n_values": [len(values)],
        "n_missing": [int(lines.filter(pl.col("c").is_null())["n"].sum())],
        "n_formulas": [n_formulas],
        "is_whole": [is_whole],
        "least": [least],
        "most": [most],
    }
    return pa.table(line, schema=_FACTS)


# ── several columns ─────────────────────────────────────────────────────────────────────────

_ONE = pa.schema([("n", pa.int64())])


def _n_unique(engine: OutOfCoreEngine, blocks: Blocks, names: Sequence[str]) -> int:
    lines = engine.counted(blocks, list(names))
    alone = engine.collect(engine.map_blocks(lines, _count_alone, _ONE))
    return sum(alone.column("n").to_pylist())


def _count_alone(block: pa.Table) -> pa.Table:
    n_of_line = block.column(N_ROWS).to_numpy()
    return pa.table({"n": [int((n_of_line == 1).sum())]}, schema=_ONE)


_GUESSES = pa.schema([("n_right", pa.int64()), ("n_shown", pa.int64())])


def _stand_ins(
    engine: OutOfCoreEngine,
    blocks: Blocks,
    given: Sequence[str],
    quasi: Sequence[str],
    holds: bool | None,
) -> list[Finding]:
    findings = []
    for name in quasi:
        lines = engine.counted(blocks, [*given, name])
        keyed = engine.map_blocks(
            lines, _with_keys(len(given)), engine.schema(lines).append(pa.field("key", pa.int64()))
        )
        guessed = engine.collect(engine.map_groups(keyed, "key", _guesses(len(given)), _GUESSES))
        n_shown = sum(guessed.column("n_shown").to_pylist())
        if not n_shown:
            continue
        values = to_frame(engine.count(blocks, [name]), ["c", "n"])
        is_blank = shows_nothing("c", values.schema["c"], ())
        commonest = int(values.filter(~is_blank)["n"].max()) / n_shown  # type: ignore[arg-type]
        right = sum(guessed.column("n_right").to_pylist()) / n_shown
        findings += stand_in_finding(Guess(list(given), name, right, commonest), holds)
    return findings


def _with_keys(n_given: int) -> Callable[[pa.Table], pa.Table]:
    """Return a block function that says in which group lines with equal given values meet."""

    def keyed(block: pa.Table) -> pa.Table:
        columns = [f"c{place}" for place in range(block.num_columns)]
        given = to_frame(block, columns).select(columns[:n_given])
        floats = [name for name, kind in given.schema.items() if kind.is_float()]
        given = given.with_columns(pl.col(floats) + 0.0)  # −0.0 and 0.0 are one value
        keys = given.hash_rows(seed=0) % _N_KEYS
        return block.append_column("key", pa.array(keys.cast(pl.Int64).to_numpy()))

    return keyed


def _guesses(n_given: int) -> Callable[[pa.Table], pa.Table]:
    """Return a block function that counts the rows guessed right by their given values."""

    def guessed(block: pa.Table) -> pa.Table:
        names = [*(f"g{place}" for place in range(n_given)), "c", "n", "key"]
        lines = to_frame(block, names)
        shown = lines.filter(~shows_nothing("c", lines.schema["c"], ()))
        most = shown.group_by(names[:n_given]).agg(pl.col("n").max())
        line = {"n_right": [int(most["n"].sum())], "n_shown": [int(shown["n"].sum())]}
        return pa.table(line, schema=_GUESSES)

    return guessed
