"""How numbers and words are written in a page."""

from __future__ import annotations

import math

from incrowd.figures.blocks import Cell, Unit

NOTHING = "–"
LONGEST_CELL = 400
"""Longer texts are cut: a page is to be looked at, and stays small."""

LONGEST_NAME, LONGEST_PARAGRAPH, LONGEST_CODE = 120, 3_000, 200_000


def format_cell(cell: Cell, unit: Unit | None = None) -> str:
    """Return a cell as a reader sees it.

    >>> written(12345, "count"), written(0.12345, "share"), written(None), written(True)
    ('12,345', '12.3 %', '–', 'yes')
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
        return f"{cell:,.0f}" if float(cell).is_integer() else f"{cell:,.1f}"
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
        return f"{percent:,.0f} %"
    if abs(percent) < 0.1:
        return f"{percent:.2g} %"
    return f"{percent:.1f} %"


def _format_seconds(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:,.1f} min"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _format_number(number: float) -> str:
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"
