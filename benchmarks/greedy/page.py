"""Tables and drawings of the workload ``greedy``, made from whatever parts were measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from benchmarks.greedy import paper as printed
from benchmarks.shared.chart import Panel, Series, draw
from benchmarks.shared.table_text import NOT_MEASURED

Result = dict[str, Any]

DATA = {
    "adult-nine": "Adult, nine columns",
    "adult": "Adult, eight columns",
    "cup98": "cup98",
    "voters": "voters",
}


def _of_part(part: str, make: Callable[[list[Result]], str]) -> Callable[[Result], str]:
    def table(measured: Result) -> str:
        found = measured["parts"].get(part)
        if found is None:
            return NOT_MEASURED
        where = found["machine"]
        said = "a small trial, " if found["is_small"] else ""
        footer = f"{said}{where['cores']} cores, commit {found['commit'] or 'unknown'}"
        return f"{make(found['results'])}\n\n({footer})"

    return table


def _lines(head: str, rows: Iterable[str]) -> str:
    rule = "| " + " | ".join("---" for _ in head.strip("|").split("|")) + " |"
    return "\n".join([head, rule, *rows])


def _index(results: list[Result]) -> str:
    rows = []
    for one, other in zip(results[::2], results[1::2], strict=True):
        rows.append(
            f"| {DATA[one['data']]} | `{one['settings']['metric']}` | {one['k']} | "
            f"{one['n_distinct']:,} | {one['n_merges']:,} | {_seconds(one)} | {_seconds(other)} | "
            f"{other['seconds'] / max(one['seconds'], 0.001):.0f}× |"
        )
    head = "| data | metric | k | distinct rows | merges | index | scan | ratio |"
    return _lines(head, rows)


def _growth(results: list[Result]) -> str:
    rows = [
        f"| {one['n_rows']:,} | {one['n_distinct']:,} | {_seconds(one)} | {_memory(one)} | "
        f"{_percent(one, 'nllm')} |"
        for one in results
        if (one["method"], one["settings"]) == ("greedy", {})
    ]
    return _lines("| rows | distinct rows | time | peak memory | loss (`nllm`) |", rows)


def _voters(results: list[Result]) -> str:
    compared = [one for one in results if one["k"] == 5]
    most = max((one["n_rows"] for one in compared), default=0)
    rows = [
        f"| `{one['method']}` | {one['n_distinct']:,} | {_percent(one, 'loss')} | "
        f"{_seconds(one)} | {_memory(one)} |"
        for one in compared
        if one["n_rows"] == most
    ]
    n_distinct, _, loss, seconds, memory = printed.ARX_VOTERS
    rows.append(
        f"| ARX, on its own 1,000,000 voters, measured elsewhere | {n_distinct:,} | {loss:.2f} | "
        f"{seconds} s | {1000 * memory:.0f} MB |"
    )
    head = f"| {most:,} voters, k = 5 | distinct rows | loss | time | peak memory |"
    return _lines(head, rows)


# ── the paper's tables ──────────────────────────────────────────────────────────────────────────

Cell = Callable[[Result, Result], str]


def _grid(
    results: list[Result],
    theirs: dict[printed.Key, tuple[float, ...]],
    ours: Cell,
    their_form: str,
    *,
    skip_first: bool = False,
) -> list[str]:
    """Return a line per preset and processors: our cell, and the paper's in brackets."""
    k_shown = sorted({one["k"] for one in results})
    first = {one["k"]: one for one in results if one["settings"]["preset"] == printed.GKAA}
    found = {(_key(one), one["k"]): one for one in results}
    lines = []
    for key in dict.fromkeys(_key(one) for one in results):
        if skip_first and key[0] == printed.GKAA:
            continue
        cells = []
        for k in k_shown:
            cell = ours(found[key, k], first[k])
            if key in theirs and k in printed.K:
                cell += f" ({theirs[key][printed.K.index(k)]:{their_form}})"
            cells.append(cell)
        lines.append(f"| {key[0]}, {key[1]} | " + " | ".join(cells) + " |")
    return lines


def _key(result: Result) -> printed.Key:
    return result["settings"]["preset"], result["settings"]["processors"]


def _sorted_runs(results: list[Result], data: str) -> list[Result]:
    return [one for one in results if one["data"] == data and "reorganize" not in one["settings"]]


def _head(first: str, results: list[Result]) -> str:
    return (
        f"| {first} | " + " | ".join(f"k = {k}" for k in sorted({r["k"] for r in results})) + " |"
    )


def _loss(one: Result, _: Result) -> str:
    return _percent(one, "nllm")


def _loss_by_parts(one: Result, _: Result) -> str:
    """Return the loss by equation 2; of one part it is the loss."""
    return f"{100 * one.get('equation_2', one['losses']['nllm']):.2f}"


def _time(one: Result, _: Result) -> str:
    return _seconds(one)


def _speed_up(one: Result, first: Result) -> str:
    return f"{first['seconds'] / max(one['seconds'], 0.001):.1f}"


def _adult_loss(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "adult-nine")
    return _lines(_head("", chosen), _grid(chosen, printed.ADULT_LOSS, _loss, ".2f"))


def _adult_equation(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "adult-nine")
    return _lines(_head("", chosen), _grid(chosen, printed.ADULT_LOSS, _loss_by_parts, ".2f"))


def _adult_time(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "adult-nine")
    return _lines(_head("", chosen), _grid(chosen, printed.ADULT_MINUTES, _time, "g"))


def _adult_speed_up(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "adult-nine")
    lines = _grid(chosen, printed.ADULT_SPEED_UP, _speed_up, "g", skip_first=True)
    return _lines(_head("", chosen), lines)


def _unsorted(results: list[Result]) -> str:
    with_order = {
        (_key(one)[1], one["k"]): one
        for one in _sorted_runs(results, "adult-nine")
        if _key(one)[0] == printed.PGPKAA
    }
    rows = []
    for one in results:
        if one["settings"].get("reorganize") != "none":
            continue
        place = (one["settings"]["processors"], one["k"])
        theirs = printed.UNSORTED_LOSS.get(place)
        shown = f"{theirs[0]:g} → {theirs[1]:g}" if theirs else "–"
        rows.append(
            f"| {place[0]} | {place[1]} | {_percent(one, 'nllm')} | "
            f"{_percent(with_order[place], 'nllm')} | {shown} |"
        )
    return _lines("| parts | k | as in the file | reorganized | the paper |", rows)


def _voters_grid(
    results: list[Result], theirs: dict[int, dict[printed.Key, tuple[float, ...]]], ours: Cell
) -> str:
    chosen = _sorted_runs(results, "voters")
    form = ".2f" if theirs is printed.VOTERS_LOSS else "g"
    rows = []
    for n_rows in sorted({one["n_rows"] for one in chosen}):
        some = [one for one in chosen if one["n_rows"] == n_rows]
        lines = _grid(some, theirs.get(n_rows, {}), ours, form)
        rows += [f"| {n_rows:,} {line}" for line in lines]
    return _lines("| rows " + _head("", chosen), rows)


def _voters_loss(results: list[Result]) -> str:
    return _voters_grid(results, printed.VOTERS_LOSS, _loss)


def _voters_time(results: list[Result]) -> str:
    return _voters_grid(results, printed.VOTERS_MINUTES, _time)


def _voters_speed_up(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "voters")
    most = max(one["n_rows"] for one in chosen)
    chosen = [one for one in chosen if one["n_rows"] == most]
    lines = _grid(chosen, printed.VOTERS_SPEED_UP, _speed_up, "g", skip_first=True)
    return _lines(_head(f"{most:,} rows", chosen), lines)


# ── boundaries, peers, the curve ────────────────────────────────────────────────────────────────


def _boundary(results: list[Result]) -> str:
    rows = []
    whole = {one["k"]: one for one in results if one["settings"] == {"partitions": 1}}
    for one in results:
        stated = one["settings"]
        repaired = {"yes": "repaired", "no": "not repaired"}.get(stated.get("repair"), "–")
        more = one["losses"]["nllm"] / whole[one["k"]]["losses"]["nllm"] - 1
        rows.append(
            f"| {one['k']} | {stated['partitions']} | {repaired} | {_percent(one, 'nllm')} | "
            f"{100 * more:+.1f}% | {_seconds(one)} |"
        )
    return _lines("| k | parts | cuts | loss (`nllm`) | against one part | time |", rows)


def _peers(results: list[Result]) -> str:
    rows = []
    for one in sorted(results, key=lambda one: one["k"]):
        name = one["peer"] if "peer" in one else f"`{one['method']}`"
        if "peer" in one and one.get("version"):
            name += f" ({one['version']})"
        if one.get("settings", {}).get("strict") is False:
            name += ", relaxed"
        if "losses" not in one:
            rows.append(f"| {one['k']} | {name} | {one['outcome']} | – | – | – |")
            continue
        kept = "" if one.get("keeps_k", True) else ", k not kept"
        rows.append(
            f"| {one['k']} | {name}{kept} | {_seconds(one)} | {_memory(one)} | "
            f"{_percent(one, 'loss')} | {_percent(one, 'ncp')} |"
        )
    return _lines("| k | | time | peak memory | loss | NCP |", rows)


def _curve(results: list[Result]) -> str:
    rows = []
    for data, k in dict.fromkeys((one["data"], one["k"]) for one in results):
        some = [one for one in results if (one["data"], one["k"]) == (data, k)]
        cluster = [one for one in some if one["method"] == "cluster"]
        steps = ", ".join(f"{_percent(one, 'loss')} in {_seconds(one)}" for one in cluster)
        others = [
            f"{_percent(one, 'loss')} in {_seconds(one)}"
            for method in ("greedy", "mondrian")
            for one in some
            if one["method"] == method
        ]
        arx = printed.ARX_ADULT.get(k) if data == "adult" else None
        shown = f"{arx[0]:.1f} in {arx[1]} s" if arx else "–"
        rows.append(f"| {DATA[data]} | {k} | {steps} | {' | '.join(others)} | {shown} |")
    head = "| data | k | `cluster`, by effort | `greedy` | `mondrian` | ARX, measured elsewhere |"
    return _lines(head, rows)


def drawing(measured: Result, data: str) -> str:
    """Return the curves of a data set as SVG: a panel per k."""
    results = measured["parts"].get("curve", {}).get("results", [])
    chosen = [one for one in results if one["data"] == data]
    panels = []
    for k in sorted({one["k"] for one in chosen}):
        series = [
            Series(
                name,
                tuple(
                    (max(one["seconds"], 0.001), 100 * one["losses"]["loss"])
                    for one in chosen
                    if (one["k"], one["method"]) == (k, method)
                ),
            )
            for name, method in (
                ("cluster", "cluster"),
                ("greedy (GkAA)", "greedy"),
                ("Mondrian", "mondrian"),
            )
        ]
        if data == "adult" and k in printed.ARX_ADULT:
            loss, seconds = printed.ARX_ADULT[k]
            series.append(Series("ARX (measured elsewhere)", ((seconds, loss),)))
        panels.append(Panel(f"k = {k}", tuple(series)))
    return draw(f"Loss against time on {DATA[data]}", panels)


def _seconds(result: Result) -> str:
    seconds = result["seconds"]
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _memory(result: Result) -> str:
    return f"{result['peak_memory_bytes'] / 2**20:.0f} MB"


def _percent(result: Result, loss: str) -> str:
    return f"{100 * result['losses'][loss]:.2f}"


GREEDY_TABLES: dict[str, Callable[[Result], str]] = {
    "index": _of_part("index", _index),
    "growth": _of_part("growth", _growth),
    "voters": _of_part("growth", _voters),
    "paper-adult-loss": _of_part("paper", _adult_loss),
    "paper-adult-equation-2": _of_part("paper", _adult_equation),
    "paper-adult-time": _of_part("paper", _adult_time),
    "paper-adult-speed-up": _of_part("paper", _adult_speed_up),
    "paper-unsorted": _of_part("paper", _unsorted),
    "paper-voters-loss": _of_part("paper", _voters_loss),
    "paper-voters-time": _of_part("paper", _voters_time),
    "paper-voters-speed-up": _of_part("paper", _voters_speed_up),
    "boundary": _of_part("boundary", _boundary),
    "peers": _of_part("peers", _peers),
    "curve": _of_part("curve", _curve),
}

GREEDY_DRAWINGS: dict[str, Callable[[Result], str]] = {
    f"curve-{data}.svg": partial(drawing, data=data) for data in ("adult", "cup98")
}
"""By file name under ``docs/images``: the curves of a data set."""
