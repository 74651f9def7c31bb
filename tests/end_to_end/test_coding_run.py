"""Top and bottom coding from the command line, for every method, recounted with csv."""

import csv
import tomllib
from collections import Counter

import pytest

from incrowd.methods.table import methods_keeping

QUASI = ["age", "sex"]
BASE = ["run", "census.csv", "--quasi", "age,sex", "--sensitive", "diagnosis", "--k", 5]
BASE += ["--json", "--force"]
LIMITS = ["--bottom", "age=20", "--top", "age=72"]


NO_CODING = ("microaggregate", "adaptive", "policy")
"""Methods that show means, or values as they are: they refuse a coding."""


def by_original(desk):
    """Pairs of the original's age and the released cell, by the key."""
    rows, released = desk.rows("census.csv"), desk.rows("census.release.csv")
    return [
        (
            int(rows[int(line["original_row"]) - 1]["age"]),
            released[int(line["released_row"]) - 1]["age"],
        )
        for line in desk.rows("private/key.csv")
    ]


CODING = [name for name in methods_keeping("k-anonymity") if name not in NO_CODING]


@pytest.mark.parametrize("method", CODING)
def test_every_method_codes(desk, method):
    (desk / "private").mkdir()
    flags = ["--method", method, "--hierarchy", "age=intervals:5,10,20", "--key", "private/key.csv"]
    finished = desk.call(*BASE, *LIMITS, *flags, "--suppression-limit", 0.1)
    assert finished.status == 0, finished.err
    assert min(desk.group_sizes("census.release.csv", QUASI).values()) >= 5
    pairs = by_original(desk)
    shown = Counter(cell for _, cell in pairs)
    assert shown["<20"] > 100
    assert shown[">72"] > 50
    for age, cell in pairs:
        if cell == "<20":
            assert age < 20
        elif cell == ">72":
            assert age > 72
        elif cell.isdecimal():
            assert 20 <= age == int(cell) <= 72
    finding = next(f for f in finished.json["findings"] if f["name"] == "coding")
    assert finding["figures"]["n_coded"] == {"<20": shown["<20"], ">72": shown[">72"]}
    n_low = sum(int(row["age"]) < 20 for row in desk.rows("census.csv"))
    assert any(f"{n_low} cells are coded as <20" in note for note in finished.json["notes"])
    # coding is paid for: even where nothing else is generalized, its cells have lost something
    assert finished.json["losses"]["loss"] > 0


@pytest.mark.parametrize("hierarchy", ["flat", "auto", "intervals:5,10,20", "prefix", "ages.csv"])
def test_any_hierarchy_of_numbers(desk, hierarchy):
    with (desk / "ages.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        for age in range(120):
            writer.writerow([age, f"{age // 7}/7", f"{age // 28}/28", "*"])
    finished = desk.call(*BASE, *LIMITS, "--hierarchy", f"age={hierarchy}", "--method", "mondrian")
    assert finished.status == 0, finished.err
    shown = Counter(row["age"] for row in desk.rows("census.release.csv"))
    assert shown["<20"] + shown["*"] > 100
    assert not any(cell.isdecimal() and not 20 <= int(cell) <= 72 for cell in shown)


def test_the_key_proves_coded_cells(desk):
    (desk / "private").mkdir()
    run = [*BASE, *LIMITS, "--method", "mondrian", "--save-job", "job.toml"]
    assert desk.call(*run, "--key", "private/key.csv").status == 0
    job = tomllib.loads((desk / "job.toml").read_text())
    assert job["coding"] == {"age": {"bottom": 20, "top": 72}}
    check = ["check", "census.release.csv", "--job", "job.toml", "--original", "census.csv"]
    check += ["--key", "private/key.csv", "--json"]
    good = desk.call(*check)
    assert good.status == 0, good.err
    stated = ["check", "census.release.csv", "--k", 5, "--quasi", "age,sex"]
    stated += ["--sensitive", "diagnosis", *LIMITS, "--original", "census.csv"]
    assert desk.call(*stated, "--key", "private/key.csv").status == 0
    # the same file, if somebody of 40 were among those below 20
    pairs = by_original(desk)
    coded = next(place for place, (_, cell) in enumerate(pairs) if cell == "<20")
    grown = next(place for place, (age, _) in enumerate(pairs) if 30 < age < 60)
    lines = desk.rows("private/key.csv")
    originals = [line["original_row"] for line in lines]
    originals[coded], originals[grown] = originals[grown], originals[coded]
    with (desk / "private/swapped.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["released_row", "original_row"])
        writer.writerows(zip((line["released_row"] for line in lines), originals, strict=True))
    swapped = desk.call(*check[:-3], "--key", "private/swapped.csv", "--json")
    assert swapped.status == 1
    assert "age" in swapped.json["findings"][0]["figures"]["columns"]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["--key", "private/key.csv"], ["--aligned"]])
def test_a_coded_release_has_a_report_and_utility(desk, keys):
    (desk / "private").mkdir()
    run = [*BASE, *LIMITS, "--method", "mondrian"]
    run += ["--keep-order"] if keys == ["--aligned"] else keys
    ran = desk.call(*run)
    assert ran.status == 0, ran.err
    check = ["check", "census.release.csv", "--k", 5, "--quasi", "age,sex", *LIMITS]
    check += ["--sensitive", "diagnosis", "--original", "census.csv", *keys]
    more = ["--report", "page.html", "--utility", "queries,statistics", "--json"]
    checked = desk.call(*check, *more, "--attack", "linkage", "--risk")
    assert checked.status == 0, checked.err
    found = {finding["name"]: finding["figures"] for finding in checked.json["findings"]}
    assert found["utility: queries"]["are"] > 0
    assert "&gt;72" in (desk / "page.html").read_text()


def test_a_coded_release_is_held_against_a_population(desk):
    ages = ["--hierarchy", "age=intervals:5,10,20"]
    assert desk.call(*BASE, *LIMITS, *ages, "--method", "mondrian").status == 0
    check = ["check", "census.release.csv", "--k", 5, "--quasi", "age,sex", *LIMITS, *ages]
    checked = desk.call(*check, "--risk", "--population", "census.csv", "--json")
    assert checked.status == 0, checked.err
    risk = next(f["figures"] for f in checked.json["findings"] if f["name"] == "risk")
    assert risk["release"]["journalist"]["n_rows_fitting_nobody"] == 0


def test_a_value_beyond_the_limit_is_found(desk):
    assert desk.call(*BASE, "--method", "mondrian", "--hierarchy", "age=flat").status == 0
    check = ["check", "census.release.csv", "--k", 5, "--quasi", "age,sex", "--json"]
    check += ["--sensitive", "diagnosis"]
    assert desk.call(*check).status == 0
    finished = desk.call(*check, *LIMITS)
    assert finished.status == 1
    finding = next(f for f in finished.json["findings"] if f["name"] == "coding")
    ages = [row["age"] for row in desk.rows("census.release.csv")]
    beyond = [age for age in ages if age != "*" and not 20 <= int(age) <= 72]
    assert finding["figures"]["n_exposed"] == len(beyond) > 0


def test_missing_cells_stay(desk):
    rows = desk.rows("census.csv")
    for place, row in enumerate(rows):
        if place % 10 == 0:
            row["age"] = "?" if place % 20 else ""
    with (desk / "census.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    finished = desk.call(*BASE, *LIMITS, "--method", "mondrian", "--missing-values", "?")
    assert finished.status == 0, finished.err
    shown = Counter(row["age"] for row in desk.rows("census.release.csv"))
    assert shown["?"] + shown[""] + shown["*"] >= 150
    assert shown["?"] > 0
    assert shown[""] > 0
    assert desk.call(*BASE, *LIMITS, "--method", "mondrian").status == 2  # "?" is not a number


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--bottom", "age"], "COLUMN=NUMBER"),
        (["--bottom", "age=old"], "COLUMN=NUMBER"),
        (["--bottom", "age=80", "--top", "age=20"], "below top"),
        (["--bottom", "sex=3"], "no number"),
        (["--bottom", "zipp=3"], "zipp"),
        (["--top", "diagnosis=3"], "quasi-identifying"),
        (["--set", "coding.age=3"], "[coding]"),
        (["--set", "coding.age.botom=3"], "bottom"),
        (["--set", 'coding.age.top="x"'], "not a number"),
        (["--top", "age=nan"], "not a number"),
        (["--top", "age=80", "--set", "method.costs.age=ages.csv"], "costs"),
    ],
)
def test_wrong_limits_are_refused(desk, flags, says):
    finished = desk.call(*BASE, *flags)
    assert finished.status == 2
    assert says in finished.err
    assert not (desk / "census.release.csv").exists()
