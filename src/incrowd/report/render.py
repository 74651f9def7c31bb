"""A page of blocks → one HTML file that needs nothing else: no script runs, nothing is fetched."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from incrowd.figures.blocks import (
    Bars,
    Block,
    Cell,
    Code,
    Facts,
    Heat,
    Lines,
    Listing,
    Page,
    Steps,
    Tree,
    Unit,
)
from incrowd.report.charts import (
    NARROW,
    WIDE,
    Chart,
    chart_specification,
    is_drawn,
    is_wide,
    subtree_sums,
)
from incrowd.report.drawing import (
    LONGEST_CODE,
    LONGEST_NAME,
    LONGEST_PARAGRAPH,
    format_cell,
    series_colours,
    shorten,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def list_numbers(block: Chart) -> Listing:
    """Return every number that a drawing is made of."""
    if isinstance(block, Bars):
        return _list_bars(block)
    if isinstance(block, Steps):
        return _list_steps(block)
    if isinstance(block, Lines):
        return _list_lines(block)
    if isinstance(block, Heat):
        rows = zip(block.rows, block.values, strict=True)
        return Listing(("", *block.columns), tuple((name, *numbers) for name, numbers in rows))
    return _list_tree(block)


def _list_bars(block: Bars) -> Listing:
    columns = (block.y_title or "value", *block.series)
    rows = zip(block.categories, *block.series.values(), strict=True)
    units: dict[str, Unit] = dict.fromkeys(block.series, block.unit)
    return Listing(columns, tuple(rows), units=units)


def _list_steps(block: Steps) -> Listing:
    rows: list[tuple[Cell, ...]] = [
        cells
        for cells in zip(block.edges, block.edges[1:], *block.series.values(), strict=False)
        if any(cells[2:])
    ]
    units: dict[str, Unit] = dict.fromkeys(block.series, block.unit)
    return Listing(("from", "to below", *block.series), tuple(rows), units=units)


def _list_lines(block: Lines) -> Listing:
    columns = ("series", block.x_title or "x", block.y_title or "y")
    rows = tuple((name, x, y) for name, points in block.series.items() for x, y in points)
    return Listing(columns, rows, units={columns[1]: block.x_unit, columns[2]: block.y_unit})


def _list_tree(block: Tree) -> Listing:
    columns = ("node", "below", block.weight_title, block.span_title)
    rows: list[tuple[Cell, ...]] = []
    for node, span in zip(block.nodes, subtree_sums(block), strict=True):
        above = block.nodes[node.parent].label if node.parent >= 0 else ""
        rows.append((node.label, above, node.weight, span))
    return Listing(columns, tuple(rows), units={columns[2]: block.unit, columns[3]: block.unit})


# A page of blocks → one HTML file that needs nothing else: no script runs, nothing is fetched.

VERDICTS = {True: "holds", False: "does not hold", None: ""}
MOST_LISTED = 300
"""Rows that a table of numbers shows; it says how many are left."""

CHARTS = (Bars, Steps, Lines, Heat, Tree)


@dataclass(frozen=True)
class Grid:
    """A table as it is written: cells as texts, and which of them are numbers."""

    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[tuple[str, str], ...], ...]
    n_left: int = 0


@dataclass(frozen=True)
class Card:
    """A block as it is put on the page; ``span`` is how many columns of cards it takes."""

    kind: str
    span: str
    block: Block
    drawings: tuple[tuple[str, Markup], ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    grid: Grid | None = None
    facts: tuple[tuple[str, str], ...] = ()
    label: str = ""


def render(page: Page) -> str:
    """Return the page as a self-contained HTML text; the same page gives the same bytes."""
    sections = [(section, [_card(block) for block in section.blocks]) for section in page.sections]
    highlights = _facts(page.highlights) if page.highlights else ()
    template = _environment().get_template("page.html.j2")
    text: str = template.render(
        page=page,
        verdict=VERDICTS[page.verdict],
        sign={True: "good", False: "bad", None: "open"}[page.verdict],
        highlights=highlights,
        sections=sections,
        data=_data_block(page.data),
    )
    return text


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("incrowd.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["name"] = lambda text: shorten(text, LONGEST_NAME)
    environment.filters["paragraph"] = lambda text: shorten(text, LONGEST_PARAGRAPH)
    environment.filters["code"] = lambda text: shorten(text, LONGEST_CODE)
    return environment


def _card(block: Block) -> Card:
    if isinstance(block, Facts):
        facts = _facts(block)
        longest = max((len(said) for _, said in facts), default=0)
        return Card("facts", "one" if longest <= 36 else "two", block, facts=facts)
    if isinstance(block, Listing):
        grid = _grid(block)
        return Card("listing", _span_of(grid), block, grid=grid)
    if isinstance(block, Code):
        return Card("code", "all", block)
    return _chart(block)


def _span_of(grid: Grid) -> str:
    """Return how much room a table asks for, by the longest texts of its columns."""
    if len(grid.columns) == 1:
        return "two"
    width = 0
    for place, name in enumerate(grid.columns):
        cells = [len(row[place][0]) for row in grid.rows]
        width += 3 + max([min(len(name), 16), *cells])
    if width > 105 or len(grid.columns) > 6:
        return "all"
    return "one" if width <= 36 else "two"


def _facts(block: Facts) -> tuple[tuple[str, str], ...]:
    return tuple((name, format_cell(cell, block.units.get(name))) for name, cell in block.facts)


def _chart(block: Chart) -> Card:
    from markupsafe import Markup

    from incrowd.report.drawing import draw

    drawings: tuple[tuple[str, Markup], ...] = ()
    if is_drawn(block):
        widths = {"narrow": NARROW, "wide": WIDE} if is_wide(block) else {"only": NARROW}
        drawings = tuple(
            (name, Markup(draw(chart_specification(block, width))))
            for name, width in widths.items()
        )
    legend: tuple[tuple[str, str], ...] = ()
    if not isinstance(block, (Heat, Tree)) and len(block.series) > 1:
        names = tuple(block.series)
        legend = tuple(zip(names, series_colours(names), strict=True))
    span = "two" if is_wide(block) else "one"
    label = shorten(f"{block.title}. {block.note}".strip(), 300)
    kind = type(block).__name__.lower()
    return Card(kind, span, block, drawings, legend, _grid(list_numbers(block)), label=label)


def _grid(block: Listing) -> Grid:
    shown = block.rows[:MOST_LISTED]
    shares = {place for place, name in enumerate(block.columns) if name in block.bars}
    is_number = tuple(
        bool(shown)
        and all(_is_number(row[place]) or row[place] is None for row in shown)
        and any(_is_number(row[place]) for row in shown)
        for place in range(len(block.columns))
    )
    rows = tuple(
        tuple(
            (
                format_cell(cell, block.units.get(block.columns[place])),
                _bar(cell) if place in shares else "",
            )
            for place, cell in enumerate(row)
        )
        for row in shown
    )
    return Grid(block.columns, is_number, rows, len(block.rows) - len(shown))


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _bar(cell: Any) -> str:
    """Return how long the bar behind a share is, in percent of its cell."""
    if not _is_number(cell) or not math.isfinite(cell):
        return ""
    return f"{100 * min(1.0, max(0.0, float(cell))):.1f}"


def _data_block(data: dict[str, Any]) -> Markup:
    """Return plain data as JSON that cannot end its own element, whatever texts are in it."""
    from markupsafe import Markup

    text = json.dumps(_replace_infinite(data), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _replace_infinite(data: Any) -> Any:
    """Return the data with null in place of numbers that JSON does not have."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(name): _replace_infinite(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_replace_infinite(value) for value in data]
    return data
