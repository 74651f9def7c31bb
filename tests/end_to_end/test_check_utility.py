"""What a release is still good for, asked of ``check``."""

import pytest

FLAGS = ["--k", 5, "--quasi", "age,sex,zip", "--sensitive", "diagnosis"]


@pytest.fixture
def released(desk):
    (desk / "private").mkdir()
    words = ["run", "census.csv", *FLAGS, "--method", "mondrian", "-o", "out.csv"]
    assert desk.call(*words, "--key", "private/key.csv").status == 0
    return desk


def test_all_that_can_be_asked(released):
    owner = ["--original", "census.csv", "--key", "private/key.csv", "--json"]
    asked = ["--utility", "queries,statistics,learning", "--predict", "sex"]
    checked = released.call("check", "out.csv", *FLAGS, *owner, *asked)
    assert checked.status == 0, checked.err
    found = {finding["name"]: finding for finding in checked.json["findings"]}
    assert 0 < found["utility: queries"]["figures"]["are"] < 1
    assert found["utility: statistics"]["figures"]["mean_distance"] > 0
    assert "utility: learning" in found
    assert not any(found[name]["is_public"] for name in found if name.startswith("utility"))


@pytest.mark.parametrize(
    "words",
    [
        ["--utility", "queries"],
        ["--utility", "beauty"],
        ["--utility", "learning", "--original", "census.csv", "--key", "private/key.csv"],
        ["--predict", "sex"],
        ["--utility", "queries", "--original", "census.csv"],
    ],
)
def test_what_cannot_be_asked(released, words):
    assert released.call("check", "out.csv", *FLAGS, *words).status == 2
