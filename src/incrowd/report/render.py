"""A page of blocks → one HTML file that needs nothing else: no script runs, nothing is fetched."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
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
    FULL,
    HALF,
    MOST_NARROW_LEVELS,
    NARROW,
    WIDE,
    Chart,
    chart_specification,
    is_drawn,
    subtree_sums,
    tree_depth,
    tree_height,
)
from incrowd.report.drawing import (
    LONGEST_CODE,
    LONGEST_NAME,
    LONGEST_PARAGRAPH,
    N_SHADES,
    format_cell,
    series_colours,
    shorten,
)
from incrowd.report.layout import COLUMNS, Span, Wish, arrange
from incrowd.tables.columns.types import days_as_text

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
    edges = days_as_text(block.edges) if block.is_date_x else block.edges
    rows: list[tuple[Cell, ...]] = [
        cells
        for cells in zip(edges, edges[1:], *block.series.values(), strict=False)
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
SIGNS = {True: ("good", "holds"), False: ("bad", "does not hold"), None: ("note", "note")}
"""How a verdict of a table looks and reads: its sign is drawn, so that colour is not all."""

MOST_LISTED = 300
"""Rows that a table of numbers shows; it says how many are left."""

LONGEST_FIGURE = 26
"""Facts of at most so many characters stand side by side, longer ones below each other."""

LONGEST_BAR_NAME = 22

WHOLE = Span(COLUMNS)

CARD_EDGES = 75
"""Pixels of a card besides its content: caption and padding."""

WIDTHS = {2: (NARROW,), 3: (NARROW, HALF), 4: (NARROW, WIDE), 6: (NARROW, WIDE, FULL)}
"""The widths that a chart is drawn in, by the columns that its card takes on a wide screen."""

WIDTH_NAMES = {NARROW: "narrow", HALF: "half", WIDE: "wide", FULL: "full"}


@dataclass(frozen=True)
class Grid:
    """A table as it is written: cells as texts, bars and signs, and which columns are numbers."""

    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[tuple[str, str, str], ...], ...]
    n_left: int = 0


@dataclass(frozen=True)
class BarRow:
    """A category and, per series, its bar's length as a share, its number and its colour."""

    name: str
    bars: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Card:
    """A block as it is put on the page, and the columns that it takes on a wide screen."""

    kind: str
    block: Block
    span: Span = WHOLE
    drawings: tuple[tuple[str, Markup], ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    grid: Grid | None = None
    facts: tuple[tuple[str, str], ...] = ()
    bars: tuple[BarRow, ...] = ()
    room: str = ""
    label: str = ""


def render(page: Page) -> str:
    """Return the page as a self-contained HTML text; the same page gives the same bytes."""
    sections = [(section, _cards(section.blocks)) for section in page.sections]
    highlights = _facts(page.highlights) if page.highlights else ()
    template = _environment().get_template("page.html.j2")
    text: str = template.render(
        page=page,
        verdict=VERDICTS[page.verdict],
        sign={True: "good", False: "bad", None: "open"}[page.verdict],
        highlights=highlights,
        sections=[one for one in sections if not one[0].is_appendix],
        appendix=[one for one in sections if one[0].is_appendix],
        n_shades=N_SHADES,
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


def _cards(blocks: tuple[Block, ...]) -> list[Card]:
    """Return the cards of a section, each with its room; charts are drawn for it."""
    cards = [_card(block) for block in blocks]
    spans = arrange([_wish(card) for card in cards])
    return [_fit(card, span) for card, span in zip(cards, spans, strict=True)]


def _card(block: Block) -> Card:
    if isinstance(block, Facts):
        facts = _facts(block)
        longest = max((len(said) for _, said in facts), default=0)
        return Card("strip" if longest <= LONGEST_FIGURE else "facts", block, facts=facts)
    if isinstance(block, Listing):
        kind = "points" if len(block.columns) == 1 else "listing"
        return Card(kind, block, grid=_grid(block))
    if isinstance(block, Code):
        return Card("code", block)
    kind = type(block).__name__.lower()
    label = shorten(f"{block.title}. {block.note}".strip(), 300)
    if isinstance(block, Bars):
        return _bar_card(block, label)
    return Card(kind, block, legend=_legend(block), grid=_grid(list_numbers(block)), label=label)


def _wish(card: Card) -> Wish:
    """Return the room that a card asks for, by what is in it."""
    block = card.block
    if isinstance(block, Listing) and card.grid is not None:
        return Wish(_table_columns(card.grid), CARD_EDGES + 31 * (1 + len(card.grid.rows)))
    if isinstance(block, Bars):
        lines = [max(1, len(row.name) / LONGEST_BAR_NAME) for row in card.bars]
        of_line = 25 if len(block.series) == 1 else 39
        return Wish(3 if max(lines, default=0) > 1 else 2, CARD_EDGES + of_line * sum(lines))
    if isinstance(block, Tree) and is_drawn(block):
        width = COLUMNS if tree_depth(block) > MOST_NARROW_LEVELS else 4
        return Wish(width, CARD_EDGES + 60 + tree_height(block))
    if isinstance(block, Heat):
        return Wish(3 if len(block.columns) > 5 else 2, CARD_EDGES + 26 * len(block.rows) + 80)
    if isinstance(block, (Steps, Lines)):
        return Wish(3 if isinstance(block, Lines) else 4, CARD_EDGES + 290)
    return Wish(COLUMNS, CARD_EDGES)


def _table_columns(grid: Grid) -> int:
    """Return how many columns of the page a table asks for, by the longest texts of its own."""
    width = 0
    for place, name in enumerate(grid.columns):
        cells = [len(row[place][0]) for row in grid.rows]
        width += 3 + max([min(len(name), 16), *cells])
    if len(grid.columns) > 6:
        return COLUMNS
    return next((columns for columns, most in ((2, 36), (3, 58), (4, 84)) if width <= most), 6)


def _fit(card: Card, span: Span) -> Card:
    """Return the card in its room, drawn where it is a chart."""
    block = card.block
    if isinstance(block, (Facts, Listing, Code, Bars)) or not is_drawn(block):
        return replace(card, span=span)
    from markupsafe import Markup

    from incrowd.report.drawing import draw

    drawings = tuple(
        (WIDTH_NAMES[width], Markup(draw(chart_specification(block, width))))
        for width in WIDTHS[span.columns]
    )
    return replace(card, span=span, drawings=drawings)


def _facts(block: Facts) -> tuple[tuple[str, str], ...]:
    return tuple((name, format_cell(cell, block.units.get(name))) for name, cell in block.facts)


def _legend(block: Chart) -> tuple[tuple[str, str], ...]:
    if isinstance(block, (Heat, Tree)) or len(block.series) < 2:
        return ()
    names = tuple(block.series)
    return tuple(zip(names, series_colours(names), strict=True))


def _bar_card(block: Bars, label: str) -> Card:
    """Return bars as rows of the page itself: they are as wide as it is, and read as text."""
    colours = series_colours(tuple(block.series))
    drawn = len(block.categories) - block.has_rest
    sizes = (abs(n) for numbers in block.series.values() for n in numbers[:drawn])
    largest = max(sizes, default=0.0)
    rows = []
    for place, category in enumerate(block.categories if block.series else ()):
        bars = tuple(
            (
                f"{abs(numbers[place]) / largest:.4f}" if largest > 0 and place < drawn else "0",
                format_cell(numbers[place], block.unit),
                colour if place < drawn else "",
            )
            for numbers, colour in zip(block.series.values(), colours, strict=True)
        )
        rows.append(BarRow(category or "(empty)", bars))
    longest = max((len(row.name) for row in rows), default=0)
    figures = max((len(said) for row in rows for _, said, _ in row.bars), default=0)
    room = f"--name:{min(longest, LONGEST_BAR_NAME) + 1}ch;--figure:{figures + 1}ch"
    return Card("bars", block, legend=_legend(block), bars=tuple(rows), room=room, label=label)


def _grid(block: Listing) -> Grid:
    shown = block.rows[:MOST_LISTED]
    shares = {place for place, name in enumerate(block.columns) if name in block.bars}
    verdicts = block.columns.index(block.signs) if block.signs else -1
    is_number = tuple(
        bool(shown)
        and all(_is_number(row[place]) or row[place] is None for row in shown)
        and any(_is_number(row[place]) for row in shown)
        for place in range(len(block.columns))
    )
    rows = tuple(
        tuple(
            _sign_cell(cell)
            if place == verdicts
            else (
                format_cell(cell, block.units.get(block.columns[place])),
                _bar(cell) if place in shares else "",
                "",
            )
            for place, cell in enumerate(row)
        )
        for row in shown
    )
    return Grid(block.columns, is_number, rows, len(block.rows) - len(shown))


def _sign_cell(holds: Any) -> tuple[str, str, str]:
    sign, said = SIGNS[holds]
    return said, "", sign


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
