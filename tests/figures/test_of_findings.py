"""Sections of findings: of known shape, of another one, and of none."""

import pytest

from incrowd.figures.blocks import Bars, Facts, Heat, Listing
from incrowd.figures.findings import finding_section

RATE = {"rate": 0.25, "low": 0.2, "high": 0.31, "n": 400, "is_exact": False}
SIDE = {
    "prosecutor": {"mean": 0.1, "highest": 0.5, "share_above": 0.02},
    "journalist": None,
    "marketer": {"rate": 0.1},
    "columns": [
        {"column": "age", "mean_falls_by": 0.05, "mean_without": 0.05, "share_above_without": 0.0}
    ],
    "values": [
        {
            "column": "age",
            "value": "40",
            "n_at_risk": 3,
            "share_of_at_risk": 0.6,
            "share_at_risk": 0.5,
        }
    ],
    "uniqueness": None,
}


def kinds(section):
    return [type(block) for block in section.blocks]


def test_a_check_has_no_section_of_its_own():
    assert finding_section("k-anonymity", "all rows", {"k": 5}) is None


def test_risk_before_and_after():
    figures = {"threshold": 0.2, "release": SIDE, "original": SIDE}
    section = finding_section("risk", "a known row is found", figures)
    assert section.name == "risk"
    assert section.text == ("A known row is found.",)
    assert kinds(section) == [Bars, Listing, Listing]
    bars = section.blocks[0]
    assert set(bars.series) == {"before", "after"}
    assert bars.series["after"][0] == 0.1


def test_rates_of_an_attack_stand_side_by_side():
    figures = {"n_targets": 400, "before": RATE | {"n_certain": 3}, "after": RATE | {"rate": 0.2}}
    section = finding_section("attack: linkage", "the right row is picked", figures)
    assert section.name == "attack-linkage"
    listing, bars, facts = section.blocks
    assert [row[:2] for row in listing.rows] == [("before", 0.25), ("after", 0.2)]
    assert bars.series == {"before": (0.25,), "after": (0.2,)}
    assert ("number of targets", 400) in facts.facts
    assert ("before, found for certain", 3) in facts.facts


def test_pairs_become_two_matrices():
    pairs = {"names": ["a", "b"], "before": [[1, 0.5], [0.5, 1]], "after": [[1, 0.2], [0.2, 1]]}
    figures = {"mean_distance": 0.1, "columns": [{"column": "a", "distance": 0.1}], "pairs": pairs}
    section = finding_section("utility: statistics", "a bit off", figures)
    assert kinds(section) == [Listing, Heat, Heat, Facts]
    assert section.blocks[2].values == ((1.0, 0.2), (0.2, 1.0))


@pytest.mark.parametrize("name", ["risk", "attack: new", "utility: queries", "utility: learning"])
@pytest.mark.parametrize(
    "figures",
    [
        {},
        {"release": None, "columns": 3, "pairs": {"names": ["a"]}, "by_column": [1]},
        {"models": [{"model": "tree", "score": 0.5, "more": {"a": 1}}], "deep": {"er": {"x": [1]}}},
        {"odd": object()},
    ],
)
def test_other_shapes_are_listed_plainly(name, figures):
    section = finding_section(name, "something", figures)
    assert section.title.lower().startswith(name[:4])
    for block in section.blocks:
        if isinstance(block, Listing):
            assert all(len(row) == len(block.columns) for row in block.rows)
