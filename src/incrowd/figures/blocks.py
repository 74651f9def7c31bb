"""The blocks that pages are made of: plain data, each with all that its drawing needs.

Page
└── Section: a title, words, and blocks
    ├── Facts: names and what they are
    ├── Listing: a table of words and numbers
    ├── Bars: numbers per category, one or more series (before, after)
    ├── Steps: numbers over a numeric axis cut into ranges (a histogram)
    ├── Lines: points of one or more series, one of them marked
    ├── Heat: a number for every pair of names
    ├── Tree: nodes with weights, each below its parent
    └── Code: text to copy
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Unit = Literal["count", "share", "number", "seconds"]
Cell = str | int | float | bool | None
"""Numbers are shown by their unit; None as a dash."""


@dataclass(frozen=True)
class Facts:
    """Names and what they are, in order; ``units`` say how numbers are written."""

    facts: tuple[tuple[str, Cell], ...]
    title: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Listing:
    """A table; ``units`` are of columns by name, and a column of shares may be drawn as bars.

    ``signs`` names a column of verdicts: True holds, False does not hold, None is a note.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    bars: tuple[str, ...] = ()
    note: str = ""
    signs: str = ""


@dataclass(frozen=True)
class Bars:
    """A number for every category in each series; categories in the order they are shown.

    With ``has_rest`` the last category is all that is left: told, and not drawn to scale.
    """

    title: str
    categories: tuple[str, ...]
    series: dict[str, tuple[float, ...]]
    unit: Unit = "count"
    x_title: str = ""
    y_title: str = ""
    is_horizontal: bool = False
    note: str = ""
    has_rest: bool = False


@dataclass(frozen=True)
class Steps:
    """A number for every range between two neighbouring ``edges``, in each series.

    ``mark`` is a place on the axis and what it is called. With ``is_date_x`` edges are days as
    ``date.toordinal`` counts them.
    """

    title: str
    edges: tuple[float, ...]
    series: dict[str, tuple[float, ...]]
    unit: Unit = "count"
    x_title: str = ""
    y_title: str = ""
    is_log_x: bool = False
    mark: tuple[float, str] | None = None
    note: str = ""
    is_date_x: bool = False


@dataclass(frozen=True)
class Lines:
    """Points (x, y) of each series; ``marked`` is a series and a point's place in it.

    Points are joined where their order means something. ``labels`` name points, by series, where
    there is room beside them.
    """

    title: str
    series: dict[str, tuple[tuple[float, float], ...]]
    x_title: str = ""
    y_title: str = ""
    x_unit: Unit = "number"
    y_unit: Unit = "number"
    is_log_x: bool = False
    is_log_y: bool = False
    marked: tuple[str, int] | None = None
    note: str = ""
    is_joined: bool = True
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Heat:
    """A number for every pair of a row name and a column name; None where there is none."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    low: float = 0.0
    high: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Node:
    """A node of a tree: ``parent`` is its place in the list, -1 at the root.

    ``weight`` is how much lies at the node itself; ``is_shown`` whether a release shows it.
    ``span``, where given for all nodes, is how much of the whole belongs to the node and all below
    it, and its size in the drawing; without it that is the weight of the node and all below it.
    """

    label: str
    parent: int
    weight: float = 0.0
    is_shown: bool = False
    span: float | None = None


@dataclass(frozen=True)
class Tree:
    """Nodes, parents before children: a hierarchy with what became of its values, or splits."""

    title: str
    nodes: tuple[Node, ...]
    unit: Unit = "count"
    weight_title: str = "at the node itself"
    span_title: str = "at it and below"
    note: str = ""


@dataclass(frozen=True)
class Code:
    """Text to copy, as it is."""

    text: str
    language: str = "console"
    title: str = ""


Block = Facts | Listing | Bars | Steps | Lines | Heat | Tree | Code


@dataclass(frozen=True)
class Section:
    """A part of a page; ``name`` is its anchor, ``text`` its paragraphs.

    Sections of the appendix come last, under a heading of their own.
    """

    name: str
    title: str
    text: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    is_appendix: bool = False


@dataclass(frozen=True)
class Page:
    """A whole page. ``verdict`` is None where nothing is judged; ``data`` is told as JSON in it.

    ``highlights`` stand beside the verdict, the few numbers that everybody asks for. ``about``
    says under the title which files and which day a page is of; ``note`` is its owner's words.
    ``warnings`` come right after the verdict.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    edition: Literal["owner", "public"] = "owner"
    verdict: bool | None = None
    highlights: Facts | None = None
    data: dict[str, Any] = field(default_factory=dict)
    about: tuple[str, ...] = ()
    note: str = ""
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)
