"""How results introduce themselves: a few lines of text, and a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

SIGNS = {
    True: '<span style="color:#1f8a5b">✓ </span>',
    False: '<span style="color:#c4392f">✗ </span>',
    None: "",
}
"""What stands before a verdict in a notebook; readable on light and dark."""


class Summarized:
    """A result that a title and a few facts tell; it holds far more than one wants to see."""

    def _title(self) -> str:
        raise NotImplementedError

    def _facts(self) -> list[tuple[str, str]]:
        """Return what else is told, each under its name."""
        return []

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name}: {text}" for name, text in self._facts())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._facts()
        )
        title = f"{SIGNS[self._verdict()]}<strong>{escape(self._title())}</strong>"
        return f"<div>{title}<table>{rows}</table>{self._more_html()}</div>"

    def _verdict(self) -> bool | None:
        """Return whether it holds, for a sign before the title; None where nothing is judged."""
        return None

    def _more_html(self) -> str:
        """Return what a notebook shows besides the facts."""
        return ""


def html_table(columns: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """Return a table of texts for a notebook; nothing in it is markup."""
    left = ' style="text-align:left"'
    top = "".join(f"<th{left}>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{left}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    said = f'<p style="margin:0.6em 0 0.2em">{escape(caption)}</p>' if caption else ""
    return f"{said}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def verdict(holds: bool | None) -> str:
    """Return a verdict in words; None only informs."""
    return {True: "holds", False: "does not hold", None: "note"}[holds]
