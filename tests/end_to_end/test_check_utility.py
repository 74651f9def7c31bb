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
        ["--utility", "bound", "--original", "census.csv", "--key", "private/key.csv"],
    ],
)
def test_what_cannot_be_asked(released, words):
    assert released.call("check", "out.csv", *FLAGS, *words).status == 2


def test_lists_beside_the_best_that_could_be(desk):
    """What a run of facility says of its data, a check says of a release by any method."""
    (desk / "private").mkdir()
    lines = [
        " ".join(f"i{(row + 3 * item) % 17}" for item in range(1 + row % 4)) for row in range(90)
    ]
    (desk / "lists.dat").write_text("\n".join(lines) + "\n", "utf-8")
    promise = ["--guarantee", "smooth", "--k", 4]
    key = ["--key", "private/key.csv", "--force"]
    said = {}
    for method in ("facility", "cluster"):
        words = ["run", "lists.dat", *promise, "--method", method, "-o", "out.dat", *key, "--json"]
        run = desk.call(*words)
        assert run.status == 0, run.err
        owner = ["--original", "lists.dat", "--key", "private/key.csv", "--json"]
        checked = desk.call("check", "out.dat", *promise, *owner, "--utility", "bound")
        assert checked.status == 0, checked.err
        found = {finding["name"]: finding for finding in checked.json["findings"]}
        figures = said[method] = found["utility: bound"]["figures"]
        assert figures["jaccard"] == run.json["losses"]["jaccard"] <= figures["jaccard_at_most"]
        assert figures["share_of_best"] == figures["jaccard"] / figures["jaccard_at_most"]
        if method == "facility":
            parameters = run.json["method"]["parameters"]
            assert parameters["jaccard_at_most"] == figures["jaccard_at_most"]
    assert said["facility"]["jaccard_at_most"] == said["cluster"]["jaccard_at_most"] < 1
