"""Tables and charts of the workload ``greedy``, made from whatever cases were measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.greedy import paper
from benchmarks.shared.charts import Chart, Panel, Series
from benchmarks.shared.page import (
    Result,
    Runs,
    case_table,
    peak_memory,
    percent,
    runs_of,
    table_of,
)

DATA = {
    "adult-nine": "Adult, nine columns",
    "adult": "Adult, eight columns",
    "cup98": "cup98",
    "voters": "voters",
}


def _index(results: list[Result]) -> str:
    rows = []
    for one, other in zip(results[::2], results[1::2], strict=True):
        rows.append(
            f"| {DATA[one['data']['name']]} | `{one['settings']['metric']}` | {one['k']} | "
            f"{one['n_distinct']:,} | {one['n_merges']:,} | {_seconds(one)} | {_seconds(other)} | "
            f"{other['seconds'] / max(one['seconds'], 0.001):.0f}× |"
        )
    head = "| data | metric | k | distinct rows | merges | index | scan | ratio |"
    return table_of(head, rows)


def _growth(results: list[Result]) -> str:
    rows = [
        f"| {one['data']['n_rows']:,} | {one['n_distinct']:,} | {_seconds(one)} | "
        f"{peak_memory(one)} | {_percent(one, 'nllm')} |"
        for one in results
        if (one["method"], one["settings"]) == ("greedy", {})
    ]
    return table_of("| rows | distinct rows | time | peak memory | loss (`nllm`) |", rows)


def _voters(results: list[Result]) -> str:
    compared = [one for one in results if one["k"] == 5]
    most = max((one["data"]["n_rows"] for one in compared), default=0)
    rows = [
        f"| `{one['method']}` | {one['n_distinct']:,} | {_percent(one, 'loss')} | "
        f"{_seconds(one)} | {peak_memory(one)} |"
        for one in compared
        if one["data"]["n_rows"] == most
    ]
    n_distinct, _, loss, seconds, memory = paper.ARX_VOTERS
    rows.append(
        f"| ARX, on its own 1,000,000 voters, measured elsewhere | {n_distinct:,} | {loss:.2f} | "
        f"{seconds} s | {1000 * memory:.0f} MB |"
    )
    head = f"| {most:,} voters, k = 5 | distinct rows | loss | time | peak memory |"
    return table_of(head, rows)


# ── the paper's tables ──────────────────────────────────────────────────────────────────────────

Cell = Callable[[Result, Result], str]
Printed = dict[paper.Key, tuple[float, ...]]


def _grid(
    results: list[Result],
    theirs: Printed,
    ours: Cell,
    their_form: str,
    *,
    skip_first: bool = False,
) -> list[str]:
    """Return a line per preset and processors: our cell, and the paper's in brackets."""
    k_shown = sorted({one["k"] for one in results})
    first = {one["k"]: one for one in results if one["settings"]["preset"] == paper.GKAA}
    found = {(_key(one), one["k"]): one for one in results}
    lines = []
    for key in dict.fromkeys(_key(one) for one in results):
        if skip_first and key[0] == paper.GKAA:
            continue
        cells = []
        for k in k_shown:
            cell = ours(found[key, k], first[k])
            if key in theirs and k in paper.K:
                cell += f" ({theirs[key][paper.K.index(k)]:{their_form}})"
            cells.append(cell)
        lines.append(f"| {key[0]}, {key[1]} | " + " | ".join(cells) + " |")
    return lines


def _key(result: Result) -> paper.Key:
    return result["settings"]["preset"], result["settings"]["processors"]


def _sorted_runs(results: list[Result], data: str) -> list[Result]:
    return [
        one
        for one in results
        if one["data"]["name"] == data and "reorganize" not in one["settings"]
    ]


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


def _adult(
    results: list[Result], theirs: Printed, ours: Cell, form: str, *, skip_first: bool = False
) -> str:
    chosen = _sorted_runs(results, "adult-nine")
    lines = _grid(chosen, theirs, ours, form, skip_first=skip_first)
    return table_of(_head("", chosen), lines)


def _shared(results: list[Result]) -> str:
    """Return PGkAA's lines of Tables V, II and VIII, and the time of the index beside them."""
    chosen = [one for one in results if one["data"]["name"] == "adult-nine"]
    found = {(one["search"], one["workers"], one["k"]): one for one in chosen}
    many = sorted({one["workers"] for one in chosen} - {1})

    def line(name: str, workers: int, ours: Cell, theirs: Printed, form: str) -> str:
        key = (paper.PGKAA, workers) if workers > 1 else (paper.GKAA, 1)
        cells = []
        for k in sorted({one["k"] for one in chosen}):
            cell = ours(found["scan", workers, k], found["scan", 1, k])
            printed = theirs.get(key, ())
            has_theirs = printed and k in paper.K
            cells.append(f"{cell} ({printed[paper.K.index(k)]:{form}})" if has_theirs else cell)
        return f"| {name} | " + " | ".join(cells) + " |"

    minutes, ratios, losses = paper.ADULT_MINUTES, paper.ADULT_SPEED_UP, paper.ADULT_LOSS
    rows = [line("time, 1 thread (Table V)", 1, _time, minutes, "g")]
    rows += [line(f"time, {n} threads (Table V)", n, _time, minutes, "g") for n in many]
    rows += [line(f"speed-up, {n} threads (Table II)", n, _speed_up, ratios, "g") for n in many]
    rows += [line("CPU time, 1 thread", 1, _busy, {}, "")]
    rows += [line(f"CPU time, {n} threads", n, _busy, {}, "") for n in many]
    rows += [line(f"of the first of {n} threads", n, _first_thread, {}, "") for n in many]
    rows += [line(f"speed-up by it, {n} threads", n, _speed_up_of_first, {}, "") for n in many]
    rows += [line("loss, 1 thread (Table VIII)", 1, _loss, losses, ".2f")]
    rows += [line(f"loss, {n} threads (Table VIII)", n, _loss, losses, ".2f") for n in many]
    by_index = [one for one in chosen if one["search"] == "index"]
    rows.append("| time by the index, 1 thread | " + " | ".join(map(_seconds, by_index)) + " |")
    return table_of(_head("", chosen), rows)


def _shared_voters(results: list[Result]) -> str:
    rows = [
        f"| {one['data']['n_rows']:,} | {one['n_distinct']:,} | {one['k']} | {one['search']} | "
        f"{one['workers']} | {_seconds(one)} | {_busy(one, one)} | {_first_thread(one, one)} |"
        for one in results
        if one["data"]["name"] == "voters"
    ]
    head = "| rows | distinct rows | k | search | threads | time | CPU time | of the first thread |"
    return table_of(head, rows)


def _busy(one: Result, _: Result) -> str:
    return f"{one['busy_seconds']:.2f} s"


def _schemes(results: list[Result]) -> str:
    rows = []
    for place in dict.fromkeys((_key(one)[1], one["settings"]["reorganize"]) for one in results):
        same = [one for one in results if (_key(one)[1], one["settings"]["reorganize"]) == place]
        shown = " | ".join(_percent(one, "nllm") for one in same)
        rows.append(f"| {place[0]} | `{place[1]}` | {shown} |")
    return table_of(f"| parts {_head('sort order', results)}", rows)


def _first_thread(one: Result, _: Result) -> str:
    return f"{one['first_thread_seconds']:.2f} s"


def _speed_up_of_first(one: Result, first: Result) -> str:
    return f"{first['busy_seconds'] / max(one['first_thread_seconds'], 0.001):.1f}"


def _bytes(results: list[Result]) -> str:
    rows = []
    for one in results:
        preset, processors = _key(one)
        n_rows = one["data"]["n_rows"]
        name = DATA[one["data"]["name"]] + (f", {n_rows:,}" if n_rows else "")
        sent = [f"{one[place] / 1000:,.0f}" for place in ("out", "back", "largest_out", "plan")]
        n_parts = one.get("partitions_searched", 1)
        rows.append(f"| {name} | {preset}, {processors} | {n_parts} | {' | '.join(sent)} |")
    head = "| in kB | | partitions | rows out | rows back | largest partition | plan, to each |"
    return table_of(head, rows)


def _unsorted(results: list[Result]) -> str:
    with_order = {
        (_key(one)[1], one["k"]): one
        for one in _sorted_runs(results, "adult-nine")
        if _key(one)[0] == paper.PGPKAA
    }
    rows = []
    for one in results:
        if one["settings"].get("reorganize") != "none":
            continue
        place = (one["settings"]["processors"], one["k"])
        theirs = paper.UNSORTED_LOSS.get(place)
        shown = f"{theirs[0]:g} → {theirs[1]:g}" if theirs else "–"
        rows.append(
            f"| {place[0]} | {place[1]} | {_percent(one, 'nllm')} | "
            f"{_percent(with_order[place], 'nllm')} | {shown} |"
        )
    return table_of("| parts | k | as in the file | reorganized | the paper |", rows)


def _voters_grid(results: list[Result], theirs: dict[int, Printed], ours: Cell, form: str) -> str:
    chosen = _sorted_runs(results, "voters")
    rows = []
    for n_rows in sorted({one["data"]["n_rows"] for one in chosen}):
        some = [one for one in chosen if one["data"]["n_rows"] == n_rows]
        lines = _grid(some, theirs.get(n_rows, {}), ours, form)
        rows += [f"| {n_rows:,} {line}" for line in lines]
    return table_of("| rows " + _head("", chosen), rows)


def _voters_speed_up(results: list[Result]) -> str:
    chosen = _sorted_runs(results, "voters")
    most = max(one["data"]["n_rows"] for one in chosen)
    chosen = [one for one in chosen if one["data"]["n_rows"] == most]
    lines = _grid(chosen, paper.VOTERS_SPEED_UP, _speed_up, "g", skip_first=True)
    return table_of(_head(f"{most:,} rows", chosen), lines)


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
    return table_of("| k | parts | cuts | loss (`nllm`) | against one part | time |", rows)


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
            f"| {one['k']} | {name}{kept} | {_seconds(one)} | {peak_memory(one)} | "
            f"{_percent(one, 'loss')} | {_percent(one, 'ncp')} |"
        )
    return table_of("| k | | time | peak memory | loss | NCP |", rows)


def _curve(results: list[Result]) -> str:
    rows = []
    for data, k in dict.fromkeys((one["data"]["name"], one["k"]) for one in results):
        some = [one for one in results if (one["data"]["name"], one["k"]) == (data, k)]
        cluster = [one for one in some if one["method"] == "cluster"]
        steps = ", ".join(f"{_percent(one, 'loss')} in {_seconds(one)}" for one in cluster)
        others = [
            f"{_percent(one, 'loss')} in {_seconds(one)}"
            for method in ("greedy", "mondrian")
            for one in some
            if one["method"] == method
        ]
        arx = paper.ARX_ADULT.get(k) if data == "adult" else None
        shown = f"{arx[0]:.1f} in {arx[1]} s" if arx else "–"
        rows.append(f"| {DATA[data]} | {k} | {steps} | {' | '.join(others)} | {shown} |")
    head = "| data | k | `cluster`, by effort | `greedy` | `mondrian` | ARX, measured elsewhere |"
    return table_of(head, rows)


def _beside_arx(results: list[Result]) -> str:
    """Return the loss and time of ``cluster`` on Adult at two efforts, beside ARX's figures."""
    efforts = ("2s", "10s")
    found = {
        (one["k"], one["settings"]["effort"]): f"{_percent(one, 'loss')} in {_seconds(one)}"
        for one in results
        if (one["data"]["name"], one["method"]) == ("adult", "cluster")
    }
    rows = [
        " | ".join(
            [
                f"| {k}",
                *(found.get((k, effort), "–") for effort in efforts),
                f"{loss:.1f} in {seconds} s |",
            ]
        )
        for k, (loss, seconds) in paper.ARX_ADULT.items()
    ]
    heads = " | ".join(f"incrowd, `--effort {effort}`" for effort in efforts)
    head = f"| k | {heads} | ARX 3.9.2, local recoding (measured elsewhere) |"
    return table_of(head, rows)


def _curves(measured: Result, data: str) -> Chart:
    """Return loss against time on a data set: a panel per k."""
    chosen = [one for one in runs_of(measured, "curve") if one["data"]["name"] == data]
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
        if data == "adult" and k in paper.ARX_ADULT:
            loss, seconds = paper.ARX_ADULT[k]
            series.append(Series("ARX (measured elsewhere)", ((seconds, loss),)))
        panels.append(Panel(f"k = {k}", tuple(series)))
    return Chart(f"Loss against time on {DATA[data]}", tuple(panels))


def _seconds(result: Result) -> str:
    seconds = result["seconds"]
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _percent(result: Result, loss: str) -> str:
    return percent(result["losses"][loss])


def _table(part: str, make: Callable[[list[Result]], str]) -> Callable[[Result], str]:
    def from_cases(cases: Runs) -> str:
        return make([run for runs in cases.values() for run in runs])

    return case_table(part, from_cases)


TABLES: dict[str, Callable[[Result], str]] = {
    "index": _table("index", _index),
    "growth": _table("growth", _growth),
    "voters": _table("growth", _voters),
    "paper-adult-loss": _table(
        "paper", partial(_adult, theirs=paper.ADULT_LOSS, ours=_loss, form=".2f")
    ),
    "paper-adult-equation-2": _table(
        "paper", partial(_adult, theirs=paper.ADULT_LOSS, ours=_loss_by_parts, form=".2f")
    ),
    "paper-adult-time": _table(
        "paper", partial(_adult, theirs=paper.ADULT_MINUTES, ours=_time, form="g")
    ),
    "paper-adult-speed-up": _table(
        "paper",
        partial(_adult, theirs=paper.ADULT_SPEED_UP, ours=_speed_up, form="g", skip_first=True),
    ),
    "paper-pgkaa": _table("shared", _shared),
    "pgkaa-voters": _table("shared", _shared_voters),
    "paper-schemes": _table("schemes", _schemes),
    "paper-bytes": _table("bytes", _bytes),
    "paper-unsorted": _table("paper", _unsorted),
    "paper-voters-loss": _table(
        "paper", partial(_voters_grid, theirs=paper.VOTERS_LOSS, ours=_loss, form=".2f")
    ),
    "paper-voters-time": _table(
        "paper", partial(_voters_grid, theirs=paper.VOTERS_MINUTES, ours=_time, form="g")
    ),
    "paper-voters-speed-up": _table("paper", _voters_speed_up),
    "boundary": _table("boundary", _boundary),
    "peers": _table("peers", _peers),
    "curve": _table("curve", _curve),
    "beside-arx": _table("curve", _beside_arx),
}

CHARTS: dict[str, Callable[[Result], Chart]] = {
    f"curve-{data}.svg": partial(_curves, data=data) for data in ("adult", "cup98")
}
