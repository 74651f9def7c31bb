"""The numbers behind a drawing, as a table: whoever cannot see it, or doubts it, reads them."""

from __future__ import annotations

from incrowd.figures.blocks import Bars, Cell, Heat, Lines, Listing, Steps, Tree, Unit
from incrowd.report.charts import Chart
from incrowd.report.icicle import spans


def listed(block: Chart) -> Listing:
    """Return every number that a drawing is made of."""
    if isinstance(block, Bars):
        return _bars(block)
    if isinstance(block, Steps):
        return _steps(block)
    if isinstance(block, Lines):
        return _lines(block)
    if isinstance(block, Heat):
        rows = zip(block.rows, block.values, strict=True)
        return Listing(("", *block.columns), tuple((name, *numbers) for name, numbers in rows))
    return _tree(block)


def _bars(block: Bars) -> Listing:
    columns = (block.y_title or "value", *block.series)
    rows = zip(block.categories, *block.series.values(), strict=True)
    units: dict[str, Unit] = dict.fromkeys(block.series, block.unit)
    return Listing(columns, tuple(rows), units=units)


def _steps(block: Steps) -> Listing:
    rows: list[tuple[Cell, ...]] = [
        cells
        for cells in zip(block.edges, block.edges[1:], *block.series.values(), strict=False)
        if any(cells[2:])
    ]
    units: dict[str, Unit] = dict.fromkeys(block.series, block.unit)
    return Listing(("from", "to below", *block.series), tuple(rows), units=units)


def _lines(block: Lines) -> Listing:
    columns = ("series", block.x_title or "x", block.y_title or "y")
    rows = tuple((name, x, y) for name, points in block.series.items() for x, y in points)
    return Listing(columns, rows, units={columns[1]: block.x_unit, columns[2]: block.y_unit})


def _tree(block: Tree) -> Listing:
    columns = ("node", "below", block.weight_title, block.span_title)
    rows: list[tuple[Cell, ...]] = []
    for node, span in zip(block.nodes, spans(block), strict=True):
        above = block.nodes[node.parent].label if node.parent >= 0 else ""
        rows.append((node.label, above, node.weight, span))
    return Listing(columns, tuple(rows), units={columns[2]: block.unit, columns[3]: block.unit})
