"""Curves as SVG: the same bytes for the same results, and no library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

WIDTH, PANEL_HEIGHT = 780, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 18, 34, 46
LEGEND = 34
INK, FAINT = "#333333", "#dddddd"
COLOURS = ("#1f5fa8", "#d1600a", "#2c8a4b", "#8a3fa0", "#b3202a", "#0f8b8d", "#6b6b6b", "#a37b00")


@dataclass(frozen=True)
class Series:
    """Points under one name; a line joins them if there are several.

    ``spread`` is how far a point may lie above or below, one for each, drawn as upright lines.
    """

    name: str
    points: tuple[Point, ...]
    spread: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One small chart: a title and its series."""

    title: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Axes:
    """What stands on the axes; ``base`` is of the logarithmic scale across."""

    across: str = "seconds"
    up: str = "loss in percent"
    base: int = 10

    def powers(self, values: Sequence[float]) -> tuple[int, int]:
        """Return the powers of the base between which all values lie."""
        logs = [math.log(value, self.base) for value in values] or [0.0]
        first = math.floor(min(logs) + 1e-9)
        return first, max(first + 1, math.ceil(max(logs) - 1e-9))


def draw(title: str, panels: Sequence[Panel], axes: Axes | None = None) -> str:
    """Return panels two in a row under one legend; the scale across is logarithmic."""
    axes = axes or Axes()
    names = list(dict.fromkeys(one.name for panel in panels for one in panel.series))
    legend, legend_height = _legend(names)
    n_lines = -(-len(panels) // 2)
    height = legend_height + PANEL_HEIGHT * n_lines
    ends = axes.powers([x for panel in panels for one in panel.series for x, _ in one.points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12" '
        f'fill="{INK}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *legend,
    ]
    for place, panel in enumerate(panels):
        corner = ((place % 2) * WIDTH / 2, legend_height + (place // 2) * PANEL_HEIGHT)
        parts += _panel(panel, names, corner, axes, ends)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(names: Sequence[str]) -> tuple[list[str], int]:
    """Return the names with their marks, in as many lines as they need, and their height."""
    parts = []
    x, y = float(LEFT), 17
    for place, name in enumerate(names):
        width = 40 + 6.6 * len(name)
        if x > LEFT and x + width > WIDTH:
            x, y = float(LEFT), y + 20
        parts.append(_mark(place, x, y))
        parts.append(f'<text x="{x + 12:g}" y="{y + 4}">{escape(name)}</text>')
        x += width
    return parts, LEGEND + y - 17


def _panel(
    panel: Panel,
    names: Sequence[str],
    corner: Point,
    axes: Axes,
    ends: tuple[int, int],
) -> list[str]:
    left, top = corner
    first, last = ends
    x0, x1 = left + LEFT, left + WIDTH / 2 - RIGHT
    y0, y1 = top + PANEL_HEIGHT - BOTTOM, top + TOP
    highest = max((y for one in panel.series for _, _, y in _reaches(one)), default=1.0)
    lowest = min((y for one in panel.series for _, y, _ in _reaches(one)), default=0.0)
    step = _step(highest - lowest)
    low, high = step * math.floor(lowest / step), step * math.ceil(highest / step + 0.05)

    def across(value: float) -> float:
        return x0 + (math.log(value, axes.base) - first) / (last - first) * (x1 - x0)

    def up(value: float) -> float:
        return y0 - (value - low) / (high - low) * (y0 - y1)

    middle = (x0 + x1) / 2
    parts = [f'<text x="{middle:g}" y="{top + 22:g}" text-anchor="middle" font-weight="bold">']
    parts[0] += f"{escape(panel.title)}</text>"
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        y = up(value)
        parts.append(_line(x0, y, x1, y, FAINT))
        shown = f"{value:.{max(0, -math.floor(math.log10(step)))}f}"
        parts.append(f'<text x="{x0 - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>')
    for power in range(first, last + 1):
        value = float(axes.base) ** power
        x = across(value)
        parts.append(_line(x, y0, x, y1, FAINT))
        parts.append(f'<text x="{x:.1f}" y="{y0 + 16:.1f}" text-anchor="middle">{value:g}</text>')
    parts += [_line(x0, y0, x1, y0, INK), _line(x0, y0, x0, y1, INK)]
    parts.append(f'<text x="{middle:g}" y="{y0 + 33:.1f}" text-anchor="middle">')
    parts[-1] += f"{escape(axes.across)}</text>"
    label = (left + 14, (y0 + y1) / 2)
    parts.append(
        f'<text x="{label[0]:g}" y="{label[1]:g}" text-anchor="middle" '
        f'transform="rotate(-90 {label[0]:g} {label[1]:g})">{escape(axes.up)}</text>'
    )
    for one in panel.series:
        place = names.index(one.name)
        spots = [(across(x), up(y)) for x, y in one.points]
        if len(spots) > 1:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
            stroke = f'fill="none" stroke="{_colour(place)}" stroke-width="2"'
            parts.append(f'<polyline points="{path}" {stroke}/>')
        for x, below, above in _reaches(one) if one.spread else ():
            parts.append(_line(across(x), up(below), across(x), up(above), _colour(place)))
        parts += [_mark(place, x, y) for x, y in spots]
    return parts


def _reaches(series: Series) -> list[tuple[float, float, float]]:
    """Return how low and how high each point reaches."""
    spread = series.spread or (0.0,) * len(series.points)
    return [(x, y - far, y + far) for (x, y), far in zip(series.points, spread, strict=True)]


def _step(span: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that gives a handful of lines."""
    rough = max(span, 0.05) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _line(x0: float, y0: float, x1: float, y1: float, colour: str) -> str:
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{colour}"/>'


def _mark(place: int, x: float, y: float) -> str:
    """Return a mark: series differ by shape as well as by colour."""
    colour = _colour(place)
    if place % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    corners = {
        1: ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        2: ((0, -5), (5, 4), (-5, 4)),
        3: ((0, -6), (6, 0), (0, 6), (-6, 0)),
    }[place % 4]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'
