"""Colours that a page decides on: drawings name them, the style sheet says what they are.

A drawing is made before anybody knows whether it is looked at by day or by night. So it is drawn
in colours that nobody would choose, and each of these becomes a variable of the style sheet.
"""

from __future__ import annotations

import re

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


def with_variables(drawing: str) -> str:
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
