"""Charts of the docs: curves over a logarithmic scale, two panels in a row, by Vega-Lite."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Point = tuple[float, float]
Specification = dict[str, Any]

VEGA_LITE = "6.4"
WIDTH, HEIGHT = 300, 180
COLOURS = ("#1f5fa8", "#d1600a", "#2c8a4b", "#8a3fa0", "#b3202a", "#0f8b8d", "#6b6b6b", "#a37b00")
SHAPES = ("circle", "square", "triangle-up", "diamond")
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"


@dataclass(frozen=True)
class Series:
    """Points under one name; a line joins them if there are several.

    ``spread`` is how far each may lie above or below, drawn as upright lines.
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
class Chart:
    """Panels under one legend; ``base`` is that of the logarithmic scale across."""

    title: str
    panels: tuple[Panel, ...]
    across: str = "seconds"
    up: str = "loss in percent"
    base: int = 10

    @property
    def is_empty(self) -> bool:
        """Whether there is no point to draw."""
        return not any(series.points for panel in self.panels for series in panel.series)

    @cached_property
    def specification(self) -> Specification:
        """The chart as Vega-Lite."""
        names = list(
            dict.fromkeys(one.name for panel in self.panels for one in panel.series if one.points)
        )
        longest = max(map(len, names))
        legend = {"columns": max(1, 2 * WIDTH // (7 * longest + 30)), "labelLimit": 0}
        colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
        shapes = [SHAPES[place % len(SHAPES)] for place in range(len(names))]
        series = {"field": "series", "type": "nominal", "title": None, "legend": legend}
        encoding = {
            "x": self._across(),
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": self.up or None,
                "scale": {"zero": False},
                "axis": {"tickCount": 5},
            },
            "color": {**series, "scale": {"domain": names, "range": colours}},
        }
        shape = {**series, "scale": {"domain": names, "range": shapes}}
        return {
            "description": self.title,
            "columns": 2,
            "concat": [_panel(panel, encoding, shape) for panel in self.panels],
            "bounds": "flush",
            "spacing": 74,
            "background": "white",
            "config": {
                "aria": False,
                "font": FONT,
                "view": {"stroke": None},
                "axis": {
                    "gridColor": "#dddddd",
                    "domainColor": "#333333",
                    "ticks": False,
                    "labelPadding": 6,
                    "labelFlush": False,
                    "titleFontWeight": "normal",
                },
                "legend": {"orient": "top", "symbolSize": 60, "labelFontSize": 12, "offset": 24},
                "title": {"fontSize": 12, "frame": "group", "offset": 10},
            },
        }

    def _across(self) -> Specification:
        values = [x for panel in self.panels for one in panel.series for x, _ in one.points]
        logs = [math.log(value, self.base) for value in values]
        first = math.floor(min(logs) + 1e-9)
        last = max(first + 1, math.ceil(max(logs) - 1e-9))
        powers = [float(self.base) ** power for power in range(first, last + 1)]
        scale = {"type": "log", "base": self.base, "domain": [powers[0], powers[-1]], "nice": False}
        return {
            "field": "x",
            "type": "quantitative",
            "title": self.across,
            "scale": scale,
            "axis": {"values": powers, "format": "~g"},
        }

    @property
    def digest(self) -> str:
        """The hash of the specification: what tells whether a drawing is of these results."""
        text = json.dumps(self.specification, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def svg(self) -> str:
        """Draw the chart; the drawing says what it was drawn from (``digest``)."""
        import vl_convert

        drawn: str = vl_convert.vegalite_to_svg(self.specification, vl_version=VEGA_LITE)
        return drawn.replace(">", f"><!-- {self.digest} -->", 1).rstrip() + "\n"


def _panel(panel: Panel, encoding: Specification, shape: Specification) -> Specification:
    values = []
    for one in panel.series:
        spread = one.spread or (0.0,) * len(one.points)
        for (x, y), far in zip(one.points, spread, strict=True):
            values.append({"series": one.name, "x": x, "y": y, "low": y - far, "high": y + far})
    layers: list[Specification] = [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding},
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**encoding, "shape": shape},
        },
    ]
    if any(one.spread for one in panel.series):
        ends = {"y": {**encoding["y"], "field": "low"}, "y2": {"field": "high"}}
        layers.append({"mark": {"type": "rule"}, "encoding": {**encoding, **ends}})
    return {
        "title": panel.title,
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": values},
        "layer": layers,
    }
