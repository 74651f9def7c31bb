"""Sections of what an audit measured besides its promise: risk, attacks, utility.

Each is told by its finding's name. Figures of a shape that is not known here are listed plainly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from incrowd.figures.blocks import Bars, Block, Cell, Facts, Heat, Listing, Section, Unit
from incrowd.figures.columns import top_bars

Figures = Mapping[str, Any]

MOST_LISTED = 40
MOST_NAMES = 16
"""Names beside a matrix of pairs; more would not be read."""

BEFORE, AFTER = "before", "after"


def finding_section(name: str, summary: str, figures: Figures) -> Section | None:
    """Return the section of a finding that a page draws, None for one that is only listed."""
    anchor = name.replace(": ", "-").replace(" ", "-")
    builder = next((made for start, made in _BUILDERS.items() if name.startswith(start)), None)
    if builder is None:
        return None
    try:
        blocks = builder(figures)
    except (KeyError, TypeError, AttributeError, IndexError):  # written by another version
        blocks = figure_blocks(figures)
    return Section(anchor, _format_title(name), (_format_sentence(summary),), tuple(blocks))


def is_drawn(name: str) -> bool:
    """Return whether a finding has a section of its own."""
    return name.startswith(tuple(_BUILDERS))


def _format_title(name: str) -> str:
    first, _, rest = name.partition(": ")
    return f"{first.capitalize()}: {rest}" if rest else first.capitalize()


def _format_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


# ── plainly ──────────────────────────────────────────────────────────────────────────────────


def figure_blocks(figures: Figures) -> list[Block]:
    """Return any figures: single ones as facts, lists of records as tables, the rest by path."""
    facts: list[tuple[str, Cell]] = []
    blocks: list[Block] = []
    for path, value in _flatten(figures):
        if isinstance(value, list):
            blocks.append(_listing_of(path, value))
        else:
            facts.append((path, value))
    head: list[Block] = [Facts(tuple(facts[:MOST_LISTED]), title="In numbers")] if facts else []
    return head + blocks


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(
                inner, f"{path}, {_figure_label(name)}" if path else _figure_label(name)
            )
    elif isinstance(value, (list, tuple)):
        records = [dict(one) for one in value if isinstance(one, Mapping)]
        if records:
            yield path, records
        elif all(_is_cell(one) for one in value):
            yield path, ", ".join(str(one) for one in value[:MOST_LISTED])
    elif _is_cell(value):
        yield path, value
    else:
        yield path, str(value)


def _listing_of(title: str, records: list[dict[str, Any]]) -> Listing:
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    rows = tuple(
        tuple(_format_cell(record.get(name)) for name in columns)
        for record in records[:MOST_LISTED]
    )
    n_left = len(records) - len(rows)
    note = f"{n_left:,} further ones are not listed." if n_left else ""
    return Listing(tuple(_figure_label(name) for name in columns), rows, title=title, note=note)


def _format_cell(value: Any) -> Cell:
    if _is_cell(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, Mapping):
        return ", ".join(f"{_figure_label(name)} {inner}" for name, inner in value.items())
    return ", ".join(str(one) for one in value) if isinstance(value, (list, tuple)) else str(value)


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


_WORDS = {
    "are": "average relative error",
    "median_error": "half of them are off by at most",
    "ninth_decile": "nine of ten are off by at most",
    "n_empty": "counts that are truly 0",
    "n_predicates": "columns a count is about",
    "mean_selectivity": "rows that meet a count, on average",
    "bound": "counts below this are taken as it",
    "is_exact": "everybody was tried",
    "n_certain": "found for certain",
    "highest": "at most",
    "counts": "counted",
    "mean_distance": "distributions are off by, on average",
    "share_kept": "as it was",
    "n_values": "values",
}


def _figure_label(name: object) -> str:
    """Return the name of a figure in words."""
    known = _WORDS.get(str(name))
    said = str(name).removeprefix("is_").replace("_", " ")
    return known or (f"number of {said[2:]}" if said.startswith("n ") else said)


# ── risk ─────────────────────────────────────────────────────────────────────────────────────


def _risk_section(figures: Figures) -> list[Block]:
    release, original = figures["release"], figures.get("original")
    sides = {BEFORE: original, AFTER: release} if original else {"release": release}
    threshold = figures["threshold"]
    measures: dict[str, Callable[[Any], float]] = {
        "average, row known (prosecutor)": lambda side: side["prosecutor"]["mean"],
        "highest, row known (prosecutor)": lambda side: side["prosecutor"]["highest"],
        f"rows with a risk above {threshold:g}": lambda side: side["prosecutor"]["share_above"],
        "rows found in an attack on all (marketer)": lambda side: side["marketer"]["rate"],
    }
    if release.get("journalist"):
        measures["average, against the population (journalist)"] = lambda side: side["journalist"][
            "mean"
        ]
    bars = Bars(
        "Risk of re-identification",
        tuple(measures),
        {
            name: tuple(float(measure(side)) for measure in measures.values())
            for name, side in sides.items()
        },
        unit="share",
        is_horizontal=True,
        y_title="risk",
    )
    blocks: list[Block] = [bars]
    if release["columns"]:
        blocks.append(_column_listing(release["columns"]))
    if release.get("values"):
        blocks.append(_value_listing(release["values"]))
    if release.get("uniqueness"):
        blocks += figure_blocks(release["uniqueness"])
    return blocks


def _column_listing(columns: list[dict[str, Any]]) -> Listing:
    rows = tuple(
        (
            one["column"],
            float(one["mean_falls_by"]),
            float(one["mean_without"]),
            float(one["share_above_without"]),
        )
        for one in columns[:MOST_LISTED]
    )
    names = ("mean risk falls by", "mean risk then", "share above then")
    return Listing(
        ("column", *names),
        rows,
        title="Which column would lower the risk most if it were suppressed",
        units=dict.fromkeys(names, "share"),
        bars=names[:1],
    )


def _value_listing(values: list[dict[str, Any]]) -> Listing:
    rows = tuple(
        (
            one["column"],
            str(one["value"]),
            int(one["n_at_risk"]),
            float(one["share_of_at_risk"]),
            float(one["share_at_risk"]),
        )
        for one in values[:MOST_LISTED]
    )
    names = ("of all rows at risk", "of the rows with it")
    return Listing(
        ("column", "value", "rows at risk", *names),
        rows,
        title="Values of the rows at risk",
        units=dict.fromkeys(names, "share"),
        bars=names[:1],
    )


# ── attacks ──────────────────────────────────────────────────────────────────────────────────


def _attack_section(figures: Figures) -> list[Block]:
    """Return every rate in the figures, with its interval; before and after side by side."""
    rates = list(_find_rates(figures))
    if not rates:
        return figure_blocks(figures)
    rows = tuple(
        (path, float(rate["rate"]), float(rate["low"]), float(rate["high"]), int(rate["n"]))
        for path, rate in rates[:MOST_LISTED]
    )
    shares = ("succeeds", "at least", "at most")
    listing = Listing(
        ("attack on", *shares, "people"),
        rows,
        title="How often it succeeds",
        units=dict.fromkeys(shares, "share"),
        bars=("succeeds",),
        note="At least and at most: a 95% interval where people were drawn; the rate itself "
        "where everybody was tried.",
    )
    rest = [
        (path, value)
        for path, value in _flatten(_drop_rates(figures))
        if not isinstance(value, list)
    ]
    blocks: list[Block] = [listing]
    bars = _pair_rates(rates)
    if bars is not None:
        blocks.append(bars)
    if rest:
        blocks.append(Facts(tuple(rest[:MOST_LISTED]), title="The attack"))
    return blocks


def _find_rates(figures: Any, path: str = "") -> Iterator[tuple[str, Figures]]:
    if not isinstance(figures, Mapping):
        return
    if {"rate", "low", "high", "n"} <= set(figures):
        yield path or "the release", figures
        return
    for name, inner in figures.items():
        if name == "columns":  # each column's own name says enough
            yield from _find_rates(inner, path)
        else:
            yield from _find_rates(
                inner, f"{path}, {_figure_label(name)}" if path else _figure_label(name)
            )


def _drop_rates(figures: Any) -> Any:
    if not isinstance(figures, Mapping):
        return figures
    if {"rate", "low", "high", "n"} <= set(figures):
        more = {"highest", "n_certain", "is_exact"} & set(figures)
        return {name: figures[name] for name in figures if name in more}
    return {name: _drop_rates(inner) for name, inner in figures.items()}


def _pair_rates(rates: list[tuple[str, Figures]]) -> Bars | None:
    """Return rates whose paths differ by before and after alone, side by side."""
    sides: dict[str, dict[str, float]] = {}
    for path, rate in rates:
        words = path.split(", ")
        side = next((word for word in words if word in (BEFORE, AFTER)), None)
        if side is not None:
            name = ", ".join(word for word in words if word != side) or "succeeds"
            sides.setdefault(name, {})[side] = float(rate["rate"])
    both = {name: found for name, found in sides.items() if len(found) == 2}
    if not both:
        return None
    names = tuple(both)[:MOST_NAMES]
    return Bars(
        "Before and after",
        names,
        {side: tuple(both[name][side] for name in names) for side in (BEFORE, AFTER)},
        unit="share",
        is_horizontal=True,
    )


# ── utility ──────────────────────────────────────────────────────────────────────────────────


_SETTINGS_OF_QUERIES = ("seed", "selectivity", "has_sensitive_value", "bound", "n_predicates")
"""How counts were drawn: in the audit, and of no use to a reader of the page."""


def _query_section(figures: Figures) -> list[Block]:
    units = dict.fromkeys(("are", "median_error", "ninth_decile", "mean_selectivity"), "share")
    facts = Facts(
        tuple(
            (_figure_label(name), value)
            for name, value in figures.items()
            if _is_cell(value) and name not in _SETTINGS_OF_QUERIES
        ),
        title="In numbers",
        units={_figure_label(name): unit for name, unit in units.items()},  # type: ignore[misc]
    )
    blocks: list[Block] = [facts]
    if figures.get("by_column"):
        named = [(str(name), float(error)) for name, error in figures["by_column"].items()]
        bars = top_bars("Mean error of counts about a column", {"error": named}, "columns")
        blocks.append(_as_share(bars))
    if figures.get("by_size"):
        found = figures["by_size"]
        blocks.append(
            Bars(
                "Mean error by the number of items asked for",
                tuple(_several(one["n_items"]) for one in found),
                {"error": tuple(float(one["are"]) for one in found)},
                unit="share",
                is_horizontal=True,
            )
        )
    return blocks


def _several(n_items: int) -> str:
    return "1 item" if n_items == 1 else f"{n_items} items"


def _as_share(bars: Bars) -> Bars:
    return replace(bars, unit="share", y_title="column")


def _statistics_section(figures: Figures) -> list[Block]:
    blocks: list[Block] = []
    if "columns" in figures:
        table = _listing_of("Columns before and after", list(figures["columns"]))
        shares: dict[str, Unit] = {"distance": "share", _figure_label("share_kept"): "share"}
        blocks.append(replace(table, units=shares))
    elif "items" in figures:
        blocks.append(_item_bars(figures["items"]))
    pairs = figures.get("pairs")
    if pairs and pairs.get("names"):
        names = tuple(str(name) for name in pairs["names"][:MOST_NAMES])
        left = len(pairs["names"]) - len(names)
        note = f"{left} further names are not drawn." if left else ""
        what, high = "Association between columns", 1.0
        if "items" in figures:
            what = "Share of rows with both items"
            both = [number for side in (BEFORE, AFTER) for row in pairs[side] for number in row]
            high = max([0.05, *(float(number) for number in both if number is not None)])
        for side in (BEFORE, AFTER):
            values = tuple(
                tuple(None if number is None else float(number) for number in row[:MOST_NAMES])
                for row in pairs[side][:MOST_NAMES]
            )
            blocks.append(Heat(f"{what}, {side}", names, names, values, 0.0, high, note))
    singles = {name: value for name, value in figures.items() if _is_cell(value)}
    sizes = figures.get("sizes", {})
    facts = [(_figure_label(name), value) for name, value in {**singles, **sizes}.items()]
    if facts:
        blocks.append(Facts(tuple(facts), title="In numbers"))
    return blocks


def _item_bars(items: list[dict[str, Any]]) -> Bars:
    shown = items[:MOST_NAMES]
    return Bars(
        "The commonest items: share of rows",
        tuple(str(one["item"]) for one in shown),
        {side: tuple(float(one[side]) for one in shown) for side in (BEFORE, AFTER)},
        unit="share",
        is_horizontal=True,
    )


_BUILDERS: dict[str, Callable[[Figures], list[Block]]] = {
    "risk": _risk_section,
    "attack": _attack_section,
    "utility: queries": _query_section,
    "utility: statistics": _statistics_section,
    "utility": figure_blocks,
}
