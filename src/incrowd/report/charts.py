"""What each kind of block looks like, as a specification of Vega-Lite for a width."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from incrowd.figures.blocks import Bars, Heat, Lines, Steps, Tree, Unit
from incrowd.report.drawing import N_SHADES, colour, format_cell, series_colours, shorten
from incrowd.tables.columns.types import days_as_text

LINE = 15
"""Pixels of height that a label takes: no field of a tree is lower."""

MOST_DATES_ON_AXIS = 7
"""Dates that are named on an axis."""

LEAST_HEIGHT, MOST_SPREAD = 130, 420
"""A tree is at least so high, and at most so high unless its labels ask for more."""


@dataclass(frozen=True)
class Place:
    """A node's place: its column, and from where to where it reaches, in pixels.

    ``share`` is how much of what belongs to it lies at the node itself.
    """

    label: str
    column: int
    top: float
    bottom: float
    share: float
    is_shown: bool


def subtree_sums(tree: Tree) -> list[float]:
    """Return how much belongs to each node and all below it."""
    if tree.nodes and all(node.span is not None for node in tree.nodes):
        return [float(node.span or 0.0) for node in tree.nodes]
    below = [node.weight for node in tree.nodes]
    for place in range(len(tree.nodes) - 1, 0, -1):
        parent = tree.nodes[place].parent
        if parent >= 0:
            below[parent] += below[place]
    return below


def layout_tree(tree: Tree) -> list[Place]:
    """Return the place of every node that belongs to something; O(nodes).

    A field has room for its label; what height is left is shared out by what belongs to nodes.
    """
    below = subtree_sums(tree)
    needed, of_children = _label_room(tree, below)
    roots = [place for place, node in enumerate(tree.nodes) if node.parent < 0 and below[place] > 0]
    whole = sum(below[place] for place in roots)
    column = _columns(tree)
    n_most = max(Counter(column).values(), default=0)
    least = sum(needed[place] for place in roots)
    spare = max(least, LEAST_HEIGHT, min(MOST_SPREAD, 2 * LINE * n_most)) - least
    top, height = [0.0] * len(below), [0.0] * len(below)
    next_free, spare_of = [0.0] * len(below), [0.0] * len(below)
    root_free = 0.0
    found: list[Place] = []
    for place, node in enumerate(tree.nodes):
        if below[place] <= 0:
            continue
        if node.parent < 0:
            height[place] = needed[place] + spare * below[place] / whole
            top[place], root_free = root_free, root_free + height[place]
        else:
            share = below[place] / below[node.parent] if below[node.parent] > 0 else 0.0
            height[place] = needed[place] + spare_of[node.parent] * min(1.0, share)
            top[place] = next_free[node.parent]
            next_free[node.parent] += height[place]
        next_free[place] = top[place]
        spare_of[place] = max(0.0, height[place] - of_children[place])
        found.append(
            Place(
                node.label,
                column[place],
                top[place],
                top[place] + height[place],
                min(1.0, node.weight / below[place]),
                node.is_shown,
            )
        )
    return found


def _label_room(tree: Tree, below: list[float]) -> tuple[list[float], list[float]]:
    """Return the height that labels take: of each node and all below it, and of those alone."""
    of_children = [0.0] * len(below)
    needed = [0.0] * len(below)
    for place in range(len(below) - 1, -1, -1):
        if below[place] > 0:
            needed[place] = max(float(LINE), of_children[place])
            parent = tree.nodes[place].parent
            if parent >= 0:
                of_children[parent] += needed[place]
    return needed, of_children


def _columns(tree: Tree) -> list[int]:
    """Return how many steps each node lies below a root."""
    column = [0] * len(tree.nodes)
    for place, node in enumerate(tree.nodes):
        if node.parent >= 0:
            column[place] = column[node.parent] + 1
    return column


def tree_height(tree: Tree) -> float:
    """Return how high a tree is drawn, in pixels."""
    return max((place.bottom for place in layout_tree(tree)), default=0.0)


def tree_depth(tree: Tree) -> int:
    """Return how many levels a tree has."""
    return 1 + max((place.column for place in layout_tree(tree)), default=0)


# What each kind of block looks like, as a specification of Vega-Lite for a width.

Chart = Bars | Steps | Lines | Heat | Tree
Specification = dict[str, Any]

NARROW, HALF, WIDE, FULL = 304, 470, 640, 1000
"""Widths in pixels: a telephone or a third of a page, half of it, two thirds, and all of it."""

MOST_NARROW_LEVELS = 5
"""Trees with more levels take the whole page, so that their labels can be read."""

LONGEST_LABEL = 80
LABEL_SHARE = 0.42
"""The most of a drawing's width that the names of its bars take."""


def chart_specification(block: Chart, width: int) -> Specification:
    """Return how a block is drawn in a width, axes and labels included."""
    if isinstance(block, Bars):
        return _bars(block, width)
    if isinstance(block, Steps):
        return _steps(block, width)
    if isinstance(block, Lines):
        return _lines(block, width)
    if isinstance(block, Heat):
        return _heat(block, width)
    return _tree(block, width)


def is_drawn(block: Chart) -> bool:
    """Return whether there is anything to draw."""
    if isinstance(block, Bars):
        return bool(block.categories) and bool(block.series)
    if isinstance(block, Steps):
        return len(block.edges) > 1 and bool(block.series)
    if isinstance(block, Lines):
        return any(block.series.values())
    if isinstance(block, Heat):
        return bool(block.rows) and bool(block.columns)
    return bool(layout_tree(block))


def _sized(width: int, height: int) -> Specification:
    """Return a drawing that is so wide with its labels, and so high without them."""
    return {"width": width, "height": height, "autosize": {"type": "fit-x", "contains": "padding"}}


def _domain(numbers: list[float], room: float = 1.0) -> list[float]:
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    return [low * room, high * room if high > low else 1.0]


def _axis(unit: Unit, title: str, numbers: list[float], **more: Any) -> dict[str, Any]:
    """Return an axis whose numbers are whole where they count, and short where they are large."""
    largest = max((abs(number) for number in numbers), default=0.0)
    written_as = {"share": "~%", "count": ",.0f"}.get(unit, ".6~g")
    if unit != "share" and largest >= 10_000:
        written_as = ".3~s"
    axis = {"format": written_as, "title": _label(title) or None, "tickCount": 5, **more}
    return axis | {"tickMinStep": 1} if unit == "count" else axis


def _colours(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the colour of each series; a series goes by its number, whatever it is called."""
    shown = [colour(name) for name in series_colours(names)]
    return {
        "field": "series",
        "type": "ordinal",
        "scale": {"domain": list(range(len(names))), "range": shown},
        "legend": None,
    }


def _label(text: str) -> str:
    """Return a label as it is drawn: of one line, and not too long."""
    cut = shorten(text, LONGEST_LABEL)
    return "".join(character if character.isprintable() else " " for character in cut)


# ── bars ─────────────────────────────────────────────────────────────────────────────────────


def _bars(block: Bars, width: int) -> Specification:
    """Bars lie, whatever their number: their names are read without turning the head."""
    names = tuple(block.series)
    values: list[dict[str, Any]] = [
        {
            "place": place,
            "series": series,
            "value": number,
            "said": format_cell(number, block.unit),
        }
        for series, numbers in enumerate(block.series.values())
        for place, number in enumerate(numbers)
    ]
    thick = 18 if len(names) == 1 else max(15, 9 * len(names) + 3)
    labels = [_label(category) or "(empty)" for category in block.categories]
    across: dict[str, Any] = {"field": "value", "type": "quantitative"}
    numbers = [value["value"] for value in values]
    if len(names) == 1:  # numbers stand at the bars' ends instead of on an axis
        room = _room_beside(width, max(len(value["said"]) for value in values))
        across |= {"axis": None, "scale": {"domain": _domain(numbers, room), "nice": False}}
    else:
        across |= {"axis": _axis(block.unit, block.x_title, numbers, tickCount=4)}
    up: dict[str, Any] = {
        "field": "place",
        "type": "ordinal",
        "sort": None,
        "scale": {"domain": list(range(len(labels))), "paddingInner": 0.22, "paddingOuter": 0.1},
        "axis": {
            "title": None,
            "domain": False,
            "labelExpr": _label_expression(labels),
            "labelLimit": round(LABEL_SHARE * width),
            "labelOverlap": False,
            "labelColor": colour("ink"),
        },
    }
    encoding: dict[str, Any] = {"x": across, "y": up, "color": _colours(names)}
    if len(names) > 1:
        each = {"domain": list(range(len(names)))}
        encoding["yOffset"] = {"field": "series", "type": "ordinal", "sort": None, "scale": each}
    layers: list[Specification] = [{"mark": {"type": "bar"}, "encoding": encoding}]
    if len(names) == 1:
        layers.append(
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "color": colour("muted")},
                "encoding": {"x": across, "y": up, "text": {"field": "said"}},
            }
        )
    drawing = _sized(width, thick * len(labels))
    return {**drawing, "data": {"values": values}, "layer": layers}


def _room_beside(width: int, n_characters: int) -> float:
    """Return how much longer than its bars a drawing is, with so long a number beside them."""
    least_for_bars = (1 - LABEL_SHARE) * width
    of_number = min(0.8 * least_for_bars, 6.5 * n_characters + 12)
    return least_for_bars / (least_for_bars - of_number)


def _label_expression(labels: list[str]) -> str:
    """Return the expression that gives each place its label: two places may share a label.

    A sign before each label keeps Vega from taking it for a word of its own, such as ``if``.
    """
    listed = ",".join(_quote("~" + label) for label in labels)
    return f"slice([{listed}][datum.value], 1)"


def _quote(text: str) -> str:
    import json

    return json.dumps(text)


# ── histograms and curves ────────────────────────────────────────────────────────────────────


def _steps(block: Steps, width: int) -> Specification:
    """The first series is filled; further ones run over it as lines."""
    names = tuple(block.series)
    low, high = block.edges[0], block.edges[-1]
    scale: dict[str, Any] = {"domain": [low, high], "nice": False, "zero": False}
    if block.is_log_x:
        scale["type"] = "log"
    across = {
        "field": "from",
        "type": "quantitative",
        "scale": scale,
        "axis": _axis("number", block.x_title, [low, high], grid=False)
        | ({"tickMinStep": 1} if all(edge == round(edge) for edge in block.edges) else {}),
    }
    if block.is_date_x:
        across["axis"] = _date_axis(block)
    numbers = [number for of_series in block.series.values() for number in of_series]
    room = 1.0 if block.mark is None else 1.2  # the mark's words stand above the bars
    up = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": _domain(numbers, room), "nice": block.mark is None},
        "axis": _axis(block.unit, block.y_title, numbers, domain=False, tickCount=4),
    }
    shown = dict(zip(names, series_colours(names), strict=True))
    layers: list[Specification] = []
    for number, (name, counts) in enumerate(block.series.items()):
        if number == 0:
            bars = [
                {"from": start, "to": end, "value": count}
                for start, end, count in zip(block.edges, block.edges[1:], counts, strict=False)
            ]
            mark = {
                "type": "rect",
                "color": colour(shown[name]),
                "stroke": colour("card"),
                "strokeWidth": 0.5 if len(counts) < 60 else 0,
            }
            encoding = {"x": across, "x2": {"field": "to"}, "y": up, "y2": {"datum": 0}}
            layers.append({"data": {"values": bars}, "mark": mark, "encoding": encoding})
            continue
        ends = [*counts, counts[-1] if counts else 0.0]
        points = [
            {"from": edge, "value": count} for edge, count in zip(block.edges, ends, strict=False)
        ]
        mark = {
            "type": "line",
            "interpolate": "step-after",
            "color": colour(shown[name]),
            "strokeWidth": 2,
        }
        encoding = {"x": across, "y": up}
        layers.append({"data": {"values": points}, "mark": mark, "encoding": encoding})
    if block.mark is not None and low <= block.mark[0] <= high:
        layers += _pointer(block.mark, scale, low, high)
    return {**_sized(width, 190), "layer": layers}


def _date_axis(block: Steps) -> dict[str, Any]:
    """Return an axis of days on which some of the edges are named, as precisely as they differ."""
    days = days_as_text(block.edges)
    n_apart = max(1, math.ceil(len(days) / MOST_DATES_ON_AXIS))
    edges, days = block.edges[::n_apart], days[::n_apart]
    length = 10
    if all(day.endswith("-01") for day in days):
        length = 4 if all(day.endswith("-01-01") for day in days) else 7
    places, said = (
        f"[{','.join(map(str, listed))}]"
        for listed in (edges, [_quote(day[:length]) for day in days])
    )
    return {
        "values": list(edges),
        "labelExpr": f"{said}[indexof({places}, datum.value)]",
        "title": _label(block.x_title) or None,
        "grid": False,
    }


def _pointer(
    mark: tuple[float, str], scale: dict[str, Any], low: float, high: float
) -> list[Specification]:
    data = {"values": [{"from": mark[0], "said": _label(mark[1])[:40]}]}
    across = {"field": "from", "type": "quantitative", "scale": scale}
    is_left = mark[0] <= (low + high) / 2 or scale.get("type") == "log"
    rule = {"type": "rule", "color": colour("pointer"), "strokeWidth": 1.5, "strokeDash": [4, 3]}
    text = {
        "type": "text",
        "align": "left" if is_left else "right",
        "dx": 5 if is_left else -5,
        "baseline": "top",
        "y": 2,
        "color": colour("pointer"),
    }
    return [
        {"data": data, "mark": rule, "encoding": {"x": across}},
        {"data": data, "mark": text, "encoding": {"x": across, "text": {"field": "said"}}},
    ]


def _lines(block: Lines, width: int) -> Specification:
    values: list[dict[str, Any]] = [
        {"series": series, "x": x, "y": y, "said": said}
        for series, (name, points) in enumerate(block.series.items())
        for (x, y), said in zip(points, block.labels.get(name, ("",) * len(points)), strict=True)
        if (x > 0 or not block.is_log_x) and (y > 0 or not block.is_log_y)
    ]
    xs, ys = [point["x"] for point in values], [point["y"] for point in values]
    across = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log" if block.is_log_x else "linear", "zero": False, "padding": 14}
        | ({"nice": False} if block.is_log_x else {}),
        "axis": _axis(block.x_unit, block.x_title, xs, grid=False, **_ticks(xs, block.is_log_x)),
    }
    up = {
        "field": "y",
        "type": "quantitative",
        "scale": {"type": "log" if block.is_log_y else "linear", "zero": not block.is_log_y},
        "axis": _axis(block.y_unit, block.y_title, ys, domain=False),
    }
    colours = _colours(tuple(block.series))
    mark: dict[str, Any] = {"type": "line", "strokeWidth": 2, "point": {"size": 36}}
    if not block.is_joined:
        mark = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    encoding = {"x": across, "y": up, "color": colours}
    layers: list[Specification] = [{"data": {"values": values}, "mark": mark, "encoding": encoding}]
    named = _labels_with_room(values, width, is_log_x=block.is_log_x, is_log_y=block.is_log_y)
    for side, points in named.items():
        shift = 7 if side == "left" else -7
        text = {"type": "text", "align": side, "dx": shift, "dy": -8, "color": colour("muted")}
        said = {"x": across, "y": up, "text": {"field": "said"}}
        layers.append({"data": {"values": points}, "mark": text, "encoding": said})
    if block.marked is not None:
        name, place = block.marked
        x, y = block.series[name][place]
        ring = {
            "type": "point",
            "size": 220,
            "strokeWidth": 2.5,
            "filled": False,
            "color": colour("pointer"),
        }
        here = {"values": [{"x": x, "y": y}]}
        layers.append({"data": here, "mark": ring, "encoding": {"x": across, "y": up}})
    return {**_sized(width, LINES_HEIGHT), "layer": layers}


LINES_HEIGHT = 260


def _labels_with_room(
    points: list[dict[str, Any]], width: int, *, is_log_x: bool, is_log_y: bool
) -> dict[str, list[dict[str, Any]]]:
    """Return the points whose labels stand apart from each other, by how these are aligned.

    Places are estimated on the safe side: the axes take some of the width. A label at the right
    edge stands on the left of its point.
    """
    across = 0.82 * width
    xs = _positions([point["x"] for point in points], across, is_log=is_log_x)
    heights = [point["y"] for point in points]
    ys = _positions(heights, 0.9 * LINES_HEIGHT, is_log=is_log_y, from_zero=True)
    kept: list[tuple[float, float, float]] = []
    found: dict[str, list[dict[str, Any]]] = {}
    for point, x, y in zip(points, xs, ys, strict=True):
        long = 7.0 * len(point["said"]) + 10
        is_last = x + long > across
        start = x - long if is_last else x
        is_apart = all(
            abs(y - other_y) > 20 or start + long < other or other + other_long < start
            for other, other_y, other_long in kept
        )
        if point["said"] and is_apart and start >= 0:
            kept.append((start, y, long))
            found.setdefault("right" if is_last else "left", []).append(point)
    return found


def _positions(
    numbers: list[float], length: float, *, is_log: bool, from_zero: bool = False
) -> list[float]:
    scaled = [math.log(number) if is_log else number for number in numbers]
    low = 0.0 if from_zero and not is_log else min(scaled, default=0.0)
    room = max(scaled, default=0.0) - low
    return [length * (number - low) / room if room > 0 else 0.0 for number in scaled]


def _ticks(numbers: list[float], is_log: bool) -> dict[str, Any]:
    """Return ticks at the very places of points, where these are few whole numbers.

    A logarithmic scale over less than two powers of ten has few round ones of its own: five are
    spread over it.
    """
    distinct = sorted(set(numbers))
    if len(distinct) <= 8 and all(number == round(number) for number in distinct):
        return {"values": distinct}
    if not is_log or not distinct or distinct[-1] >= 100 * distinct[0]:
        return {}
    step = (distinct[-1] / distinct[0]) ** 0.25
    return {"values": [float(f"{distinct[0] * step**place:.2g}") for place in range(5)]}


# ── pairs and trees ──────────────────────────────────────────────────────────────────────────


def _shade_of(share: float) -> int:
    """Return the step of a share: 0 for nothing at all, the last for nearly all."""
    if share <= 0:
        return 0
    return min(N_SHADES - 1, 1 + int(share * (N_SHADES - 1)))


def _shades(name: str) -> dict[str, Any]:
    steps = list(range(N_SHADES))
    shown = [colour(f"{name}-{step}") for step in steps]
    return {
        "field": "shade",
        "type": "ordinal",
        "scale": {"domain": steps, "range": shown},
        "legend": None,
    }


def _heat(block: Heat, width: int) -> Specification:
    room = block.high - block.low
    values = []
    for row, numbers in enumerate(block.values):
        for column, number in enumerate(numbers):
            share = 0.0 if number is None or not room else (number - block.low) / room
            said = "" if number is None else f"{number:.2f}"
            values.append({"row": row, "column": column, "shade": _shade_of(share), "said": said})
    row_labels = [_label(name) for name in block.rows]
    column_labels = [_label(name) for name in block.columns]
    room_of_cell = 0.72 * width / max(1, len(block.columns))
    across = {
        "field": "column",
        "type": "ordinal",
        "scale": {"domain": list(range(len(column_labels))), "padding": 0.04},
        "axis": {
            "title": None,
            "orient": "top",
            "domain": False,
            "labelExpr": _label_expression(column_labels),
            "labelAngle": 0 if _do_labels_fit(column_labels, room_of_cell) else -90,
            "labelLimit": 90,
            "labelOverlap": False,
            "labelColor": colour("ink"),
        },
    }
    up = {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": list(range(len(row_labels))), "padding": 0.04},
        "axis": {
            "title": None,
            "domain": False,
            "labelExpr": _label_expression(row_labels),
            "labelLimit": round(0.28 * width),
            "labelOverlap": False,
            "labelColor": colour("ink"),
        },
    }
    cells = {
        "mark": {"type": "rect"},
        "encoding": {"x": across, "y": up, "color": _shades("shade")},
    }
    layers: list[Specification] = [cells]
    if room_of_cell >= 30:
        text = {"type": "text", "fontSize": 10}
        colours = _shades("on-shade")
        layers.append(
            {
                "mark": text,
                "encoding": {"x": across, "y": up, "text": {"field": "said"}, "color": colours},
            }
        )
    drawing = _sized(width, 26 * len(block.rows))
    return {**drawing, "data": {"values": values}, "layer": layers, **OWN_COLOURS}


OWN_COLOURS = {"resolve": {"scale": {"color": "independent"}}}
"""Each layer has its own scale of colours: what lies behind a text, and the text."""


def _do_labels_fit(labels: list[str], room: float) -> bool:
    """Return whether every label is surely narrower than so many pixels."""
    return 8 * max((len(label) for label in labels), default=0) + 4 < room


def _tree(block: Tree, width: int) -> Specification:
    found = layout_tree(block)
    n_columns = 1 + max(place.column for place in found)
    height = max(place.bottom for place in found)
    step = width / n_columns
    values = [
        {
            "left": place.column * step,
            "right": (place.column + 1) * step,
            "top": place.top,
            "bottom": place.bottom,
            "middle": (place.top + place.bottom) / 2,
            "shade": _shade_of(place.share) if place.is_shown else 0,
            "said": _label(place.label),
        }
        for place in found
    ]
    across = {"type": "quantitative", "axis": None, "scale": {"domain": [0, width], "nice": False}}
    up = {
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, height], "nice": False, "reverse": True},
    }
    rects = {
        "mark": {"type": "rect", "stroke": colour("card"), "strokeWidth": 1},
        "encoding": {
            "x": {"field": "left", **across},
            "x2": {"field": "right"},
            "y": {"field": "top", **up},
            "y2": {"field": "bottom"},
            "color": _shades("shade"),
        },
    }
    said = {
        "transform": [{"filter": "datum.said != ''"}],
        "mark": {"type": "text", "align": "left", "dx": 5, "limit": round(step - 9)},
        "encoding": {
            "x": {"field": "left", **across},
            "y": {"field": "middle", **up},
            "text": {"field": "said"},
            "color": _shades("on-shade"),
        },
    }
    data = {"data": {"values": values}}
    return {**_sized(width, round(height)), **data, "layer": [rects, said], **OWN_COLOURS}
