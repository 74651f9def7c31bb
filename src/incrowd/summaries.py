"""How results introduce themselves: a few lines of text, and a small table in a notebook."""

from __future__ import annotations

from html import escape


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
        return f"<div><strong>{escape(self._title())}</strong><table>{rows}</table></div>"


def verdict(holds: bool | None) -> str:
    """Return a verdict in words; None only informs."""
    return {True: "holds", False: "does not hold", None: "note"}[holds]
