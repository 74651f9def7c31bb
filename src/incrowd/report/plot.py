"""One chart on its own: it shows itself in a notebook and is saved as SVG, PNG or PDF."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.report.charts import WIDE, Chart, chart_specification, is_drawn
from incrowd.report.drawing import FONT, draw, series_colours, shorten

TITLE_SIZE, TEXT_SIZE = 15, 11
MARGIN = 12
FORMATS = (".svg", ".png", ".pdf")

_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")
_STATED = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6});")
_SIZE = re.compile(r'<svg[^>]*? width="([0-9.]+)"[^>]*? height="([0-9.]+)"')


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """A chart; a notebook shows it, ``save`` writes it and ``svg`` is its text."""

    chart: Chart

    @property
    def title(self) -> str:
        """What the chart is about."""
        return self.chart.title

    @property
    def svg(self) -> str:
        """The chart as an SVG document that needs nothing else."""
        return _standalone(self.chart)

    @property
    def data(self) -> list[dict[str, Any]]:
        """The numbers that are drawn, a record per row of the chart."""
        from incrowd.report.render import list_numbers

        listing = list_numbers(self.chart)
        return [dict(zip(listing.columns, row, strict=True)) for row in listing.rows]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the chart to a new file; its ending says how: .svg, .png or .pdf.

        A chart of an original shows its values: the file is for its owner alone (mode 0600).
        """
        from incrowd.workspace import write_atomically

        path = Path(path)
        kind = path.suffix.lower()
        if kind not in FORMATS:
            raise InputError(
                f"{path}: a chart is not saved as {kind or 'a file without an ending'}",
                remedy=f"Name a file that ends in {', '.join(FORMATS)}.",
            )
        write_atomically(path, _encode(self.svg, kind), force=force, private=True)
        return path

    def __repr__(self) -> str:
        return f"Plot: {self.title} (shown in a notebook; save it with .save('plot.svg'))"

    def _repr_html_(self) -> str:
        return f'<div style="max-width:{WIDE + 2 * MARGIN}px">{self.svg}</div>'

    def _repr_svg_(self) -> str:
        return self.svg


def _encode(svg: str, kind: str) -> str | bytes:
    if kind == ".svg":
        return svg
    import vl_convert

    convert: Any = vl_convert.svg_to_png if kind == ".png" else vl_convert.svg_to_pdf
    options = {"scale": 2.0} if kind == ".png" else {}
    return bytes(convert(svg, **options))


def _standalone(chart: Chart) -> str:
    """Return a drawing with its title, legend and note, in colours for a light background."""
    drawing = draw(chart_specification(chart, WIDE)) if is_drawn(chart) else ""
    found = _SIZE.search(drawing)
    width, height = (float(found[1]), float(found[2])) if found else (float(WIDE), 0.0)
    top = MARGIN + TITLE_SIZE
    parts = [_text(chart.title, MARGIN, top, TITLE_SIZE, "ink", "bold")]
    names = tuple(getattr(chart, "series", ()))
    if len(names) > 1:
        top += 20
        across = float(MARGIN)
        for name, colour in zip(names, series_colours(names), strict=True):
            corner = f'x="{across:g}" y="{top - 9}"'
            parts += [
                f'<rect {corner} width="10" height="10" fill="var(--{colour})"/>',
                _text(name, across + 15, top, TEXT_SIZE, "ink"),
            ]
            across += 32 + 6.5 * len(name)
    top += 10
    parts.append(f'<g transform="translate({MARGIN},{top})">{drawing}</g>')
    bottom = top + height
    if chart.note:
        bottom += 18
        parts.append(_text(shorten(chart.note, 120), MARGIN, bottom, TEXT_SIZE, "muted"))
    full_width, full_height = width + 2 * MARGIN, bottom + MARGIN
    body = "".join(parts)
    return _VARIABLE.sub(
        lambda name: _palette()[name[1]],
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full_width:g}" height="{full_height:g}" '
        f'viewBox="0 0 {full_width:g} {full_height:g}" font-family="{FONT}">'
        f"<title>{escape(chart.title)}</title>"
        f'<rect width="100%" height="100%" rx="6" fill="var(--card)"/>{body}</svg>',
    )


def _text(
    said: str, across: float, down: float, size: int, colour: str, weight: str = "normal"
) -> str:
    return (
        f'<text x="{across:g}" y="{down:g}" font-size="{size}" font-weight="{weight}" '
        f'fill="var(--{colour})">{escape(said)}</text>'
    )


@cache
def _palette() -> dict[str, str]:
    """Return the light colours of reports by name, from their style sheet."""
    text = files("incrowd.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    return dict(reversed(_STATED.findall(text)))  # light colours are stated first
