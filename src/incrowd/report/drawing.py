"""Specifications of Vega-Lite → drawings that lie in the page; how numbers and words are
written.
"""

from __future__ import annotations

import math
import re
from typing import Any

from incrowd.figures.blocks import Cell, Unit

NOTHING = "–"
LONGEST_CELL = 400
"""Longer texts are cut: a page is to be looked at, and stays small."""

LONGEST_NAME, LONGEST_PARAGRAPH, LONGEST_CODE = 120, 3_000, 200_000


def format_cell(cell: Cell, unit: Unit | None = None) -> str:
    """Return a cell as a reader sees it.

    >>> written(12345, "count"), written(0.12345, "share"), written(None), written(True)
    ('12,345', '12.3%', '–', 'yes')
    """
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return NOTHING
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return shorten(cell, LONGEST_CELL)
    if unit == "share":
        return _format_percent(cell)
    if unit == "seconds":
        return _format_seconds(float(cell))
    if isinstance(cell, int) or unit == "count":
        is_whole = float(cell).is_integer() or abs(cell) >= 100
        return f"{cell:,.0f}" if is_whole else f"{cell:,.1f}"
    return _format_number(cell)


def shorten(text: str, longest: int) -> str:
    """Return a text of at most so many characters; an ellipsis says that some are left out.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _format_percent(share: float) -> str:
    percent = 100 * share
    if share in (0, 1) or abs(percent) >= 100:
        return f"{percent:,.0f}%"
    if abs(percent) < 0.1:
        return f"{percent:.2g}%"
    return f"{percent:.1f}%"


def _format_seconds(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:,.1f} min"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _format_number(number: float) -> str:
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


# Specifications of Vega-Lite → drawings that lie in the page, in colours that the page decides

N_SHADES = 6
"""How many shades tell how much of something there is, from nothing to all of it."""

MARKS = ("mark-1", "mark-2", "mark-3", "mark-4", "mark-5", "mark-6")

_NAMES = (
    *("ink", "muted", "grid", "card", "before", "pointer"),
    *MARKS,
    *(f"shade-{step}" for step in range(N_SHADES)),
    *(f"on-shade-{step}" for step in range(N_SHADES)),
)
_STAND_INS = {name: f"#fe00{number:02x}" for number, name in enumerate(_NAMES)}
_STAND_IN = re.compile(r"#fe00([0-9a-f]{2})")


def colour(name: str) -> str:
    """Return what stands for a colour of the style sheet in a drawing."""
    return _STAND_INS[name]


def restore_variables(drawing: str) -> str:
    """Return the drawing with the style sheet's colours in place of what stood for them.

    >>> with_variables(f'<path fill="{colour("ink")}"/>')
    '<path fill="var(--ink)"/>'
    """
    return _STAND_IN.sub(lambda found: f"var(--{_NAMES[int(found[1], 16)]})", drawing)


def series_colours(names: tuple[str, ...]) -> list[str]:
    """Return the name of each series' colour: what was before is pale, all else in turn."""
    pale = "before" in names and len(names) > 1
    bold = iter(MARKS * (len(names) // len(MARKS) + 1))
    return ["before" if pale and name == "before" else next(bold) for name in names]


# Specifications of Vega-Lite → drawings that lie in the page, as text that can be read.

VEGA_LITE = "6.4"
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"

_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_EMPTY = re.compile(
    r'<path class="(?:background|foreground)"[^>]*/>|<g>\s*</g>|<g transform="[^"]*">\s*</g>'
)
_UNNEEDED = re.compile(
    r' (?:xmlns(?::xlink)?|version|class|role|aria-\w+|pointer-events|font-family)="[^"]*"'
    r'| opacity="1"'
)


def draw(specification: dict[str, Any]) -> str:
    """Return the drawing of a specification as an ``svg`` element; the same bytes every time."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(
        {**specification, "background": None, "config": _config()}, vl_version=VEGA_LITE
    )
    lean = _TAG.sub(_shrink_tag, drawn)
    while (without := _EMPTY.sub("", lean)) != lean:
        lean = without
    return restore_variables(lean)


def _shrink_tag(found: re.Match[str]) -> str:
    """Drop what a drawing inside a page needs not; numbers to two places. Texts stay."""
    tag = found[0]
    if tag.startswith("<path class="):  # told apart by its class, and dropped next
        return tag
    return _LONG_NUMBER.sub(_round_number, _UNNEEDED.sub("", tag))


def _round_number(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _config() -> dict[str, Any]:
    return {
        "aria": False,
        "font": FONT,
        "padding": 2,
        "view": {"stroke": None},
        "axis": {
            "labelColor": colour("muted"),
            "titleColor": colour("muted"),
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainColor": colour("grid"),
            "gridColor": colour("grid"),
            "ticks": False,
            "labelPadding": 6,
            "labelOverlap": "greedy",
            "labelSeparation": 8,
        },
        "text": {"fontSize": 11, "color": colour("ink")},
    }
