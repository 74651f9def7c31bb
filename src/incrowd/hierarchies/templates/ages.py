"""Ages in years: bands of five years, then stages of life; from 90 on they are one group."""

from __future__ import annotations

import re

OLDEST_BAND = 90
STAGES = ((0, 14), (15, 24), (25, 44), (45, 64))  # and 65 and over
MOST_YEARS = 130

_AGE = re.compile(r"([0-9]{1,3})(?:\.[0-9]+)?")
_OPEN = re.compile(r"(?:>=? ?([0-9]{2,3})|([0-9]{2,3}) ?\+)")


def place_age(value: str) -> tuple[str, ...] | None:
    """Return the band and the stage of an age; None where it is no age in years."""
    text = value.strip()
    opened = _OPEN.fullmatch(text)
    if opened:
        years = int(opened[1] or opened[2])
        return (">=90", ">=65") if OLDEST_BAND <= years <= MOST_YEARS else None
    found = _AGE.fullmatch(text)
    if found is None or int(found[1]) > MOST_YEARS:
        return None
    years = int(found[1])
    stage = next((f"{first}-{last}" for first, last in STAGES if years <= last), ">=65")
    first = years // 5 * 5
    return (f"{first}-{first + 4}" if years < OLDEST_BAND else ">=90"), stage
