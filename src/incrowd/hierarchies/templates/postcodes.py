"""Postcodes by country: how they are written, and which leading characters name larger areas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Shape:
    """How a country writes its postcodes, and how many characters each level keeps.

    In ``pattern`` a 9 is a digit, an A a letter and an X either; other signs separate, and may be
    left out. Codes may begin with up to ``n_zeros`` zeros, which a column of numbers has lost and
    gets back. Codes of digits may stand behind the country's letters: D-10115.
    """

    pattern: str
    kept: tuple[int, ...]
    n_zeros: int = 0

    @property
    def n_characters(self) -> int:
        """How many characters a code has without its separators."""
        return sum(sign in "9AX" for sign in self.pattern)

    def place(self, value: str) -> tuple[str, ...] | None:
        """Return the areas of a postcode, small to large; None where it is none."""
        text = value.strip().upper()
        if set(self.pattern) == {"9"}:
            text = _COUNTRY_LETTERS.sub("", text)
        if text.isdecimal() and len(text) >= self.n_characters - self.n_zeros:
            text = text.zfill(self.n_characters)
        if not any(_regex(self.pattern, signs).fullmatch(text) for signs in (True, False)):
            return None
        code = "".join(sign for sign in text if sign.isalnum())
        return tuple(self._mask(code, kept) for kept in self.kept)

    def _mask(self, code: str, kept: int) -> str:
        masked = iter(code[:kept] + "*" * (len(code) - kept))
        return "".join(next(masked) if sign in "9AX" else sign for sign in self.pattern)


_COUNTRY_LETTERS = re.compile("^[A-Z]{1,2}-")


@cache
def _regex(pattern: str, has_signs: bool) -> re.Pattern[str]:
    classes = {"9": "[0-9]", "A": "[A-Z]", "X": "[A-Z0-9]"}
    parts = (classes.get(sign, re.escape(sign) if has_signs else "") for sign in pattern)
    return re.compile("".join(parts))


_SHAPES = {
    "AT": Shape("9999", (3, 2, 1)),
    "AU": Shape("9999", (3, 2, 1), 1),
    "BE": Shape("9999", (3, 2, 1)),
    "BR": Shape("99999-999", (5, 3, 2, 1)),
    "CA": Shape("A9A 9A9", (3, 1)),
    "CH": Shape("9999", (3, 2, 1)),
    "CN": Shape("999999", (4, 3, 2), 1),
    "CZ": Shape("999 99", (3, 2, 1)),
    "DE": Shape("99999", (3, 2, 1), 1),
    "DK": Shape("9999", (3, 2, 1), 1),
    "ES": Shape("99999", (3, 2), 1),
    "FI": Shape("99999", (3, 2, 1), 2),
    "FR": Shape("99999", (3, 2), 1),
    "GR": Shape("999 99", (3, 2, 1)),
    "HU": Shape("9999", (3, 2, 1)),
    "IE": Shape("A9X XXXX", (3, 1)),
    "IN": Shape("999999", (3, 2, 1)),
    "IT": Shape("99999", (3, 2, 1), 2),
    "JP": Shape("999-9999", (5, 3, 2, 1)),
    "NL": Shape("9999 AA", (4, 2, 1)),
    "NO": Shape("9999", (3, 2, 1), 2),
    "NZ": Shape("9999", (3, 2, 1), 1),
    "PL": Shape("99-999", (3, 2, 1)),
    "PT": Shape("9999-999", (4, 3, 2, 1)),
    "SE": Shape("999 99", (3, 2, 1)),
    "SK": Shape("999 99", (3, 2, 1)),
}

_BRITISH = re.compile(r"([A-Z]{1,2})([0-9][A-Z0-9]?)(?: ?([0-9])([A-Z]{2})?)?")
_ZIP = re.compile(r"([0-9]{3,4}|[0-9]{5}(?:-?([0-9]{4}))?)")


def _place_british(value: str) -> tuple[str, ...] | None:
    """Return sector, district and area of a postcode, or of a sector or district."""
    text = value.strip().upper()
    # a district may end in a digit: where no blank tells, the last three characters are the unit
    if " " not in text and len(text) >= 5:
        text = f"{text[:-3]} {text[-3:]}"
    found = _BRITISH.fullmatch(text)
    if found is None:
        return None
    area, district = found[1], found[1] + found[2]
    whole = f"{district} ***"
    return (f"{district} {found[3]}**" if found[3] else whole), whole, area


def _place_zip(value: str) -> tuple[str, ...] | None:
    """Return the ZIP code of a ZIP+4 code, and of either its sectional center and its region."""
    text = value.strip()
    found = _ZIP.fullmatch(text)
    if found is None:
        return None
    code = found[1][:5].zfill(5)  # a column of numbers has lost the zeros of New England
    return (f"{code}-****" if found[2] else value), f"{code[:3]}**", f"{code[0]}****"


PLACES: dict[str, Callable[[str], tuple[str, ...] | None]] = {
    **{country: shape.place for country, shape in _SHAPES.items()},
    "GB": _place_british,
    "US": _place_zip,
}
"""By country, what returns a postcode's areas."""

COUNTRIES = tuple(sorted(PLACES))


def countries_fitting(values: Iterable[str]) -> list[str]:
    """Return the countries whose postcodes are written like all of these."""
    distinct = list(values)
    return [
        country
        for country in COUNTRIES
        if all(PLACES[country](value) is not None for value in distinct)
    ]
