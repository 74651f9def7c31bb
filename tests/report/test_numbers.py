"""How numbers are written."""

import math

import pytest

from incrowd.report.drawing import format_cell, shorten


@pytest.mark.parametrize(
    ("cell", "unit", "said"),
    [
        (1234567, "count", "1,234,567"),
        (12.5, "count", "12.5"),
        (3, None, "3"),
        (0, "share", "0%"),
        (1, "share", "100%"),
        (0.12345, "share", "12.3%"),
        (0.00042, "share", "0.042%"),
        (2.5, "share", "250%"),
        (0.1234567, "number", "0.1235"),
        (52650.0, "number", "52,650"),
        (0.004, "seconds", "0.00 s"),
        (12.34, "seconds", "12.3 s"),
        (600, "seconds", "10.0 min"),
        (None, "share", "–"),
        (math.nan, "count", "–"),
        (math.inf, None, "–"),
        (True, None, "yes"),
        ("0.5", "share", "0.5"),
    ],
)
def test_written(cell, unit, said):
    assert format_cell(cell, unit) == said


def test_long_texts_are_cut():
    assert shorten("a" * 10, 10) == "a" * 10
    assert shorten("a" * 11, 10) == "a" * 9 + "…"
    assert len(format_cell("x" * 10_000)) == 400
