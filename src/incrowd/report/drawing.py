"""Specifications of Vega-Lite → drawings that lie in the page, as text that can be read."""

from __future__ import annotations

import re
from typing import Any

from incrowd.report.colours import colour, with_variables

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
    lean = _TAG.sub(_lean_tag, drawn)
    while (without := _EMPTY.sub("", lean)) != lean:
        lean = without
    return with_variables(lean)


def _lean_tag(found: re.Match[str]) -> str:
    """Drop what a drawing inside a page needs not; numbers to two places. Texts stay."""
    tag = found[0]
    if tag.startswith("<path class="):  # told apart by its class, and dropped next
        return tag
    return _LONG_NUMBER.sub(_rounded, _UNNEEDED.sub("", tag))


def _rounded(found: re.Match[str]) -> str:
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
