"""Releases of little use: warned of before they are published; dry runs leave nothing behind."""

import csv
import random

import pytest

import incrowd as ic
from incrowd.flow.adapter import Checked
from incrowd.flow.usefulness import warnings_of_use


@pytest.fixture
def wide(desk):
    """Eight columns of numbers in few rows, and one that is the same for pairs of people."""
    drawn = random.Random(3)
    with (desk / "wide.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"m{number}" for number in range(8)), "city"])
        for row in range(120):
            measured = [drawn.randint(0, 9_999) for _ in range(8)]
            writer.writerow([*measured, f"city-{row // 2}"])
    return desk


COLUMNS = ",".join([*(f"m{number}" for number in range(8)), "city"])


def test_a_useless_release_is_warned_of_with_what_helps(wide):
    ran = wide.call("run", "wide.csv", "--k", 10, "--quasi", COLUMNS)
    assert ran.status == 0, ran.err
    (warning,) = [line for line in ran.err.splitlines() if "of the information is lost" in line]
    assert warning.startswith("warning: ")
    assert "Most is lost in" in warning
    for way in ("--identifying", "--suppression-limit 0.05", "a smaller k than 10"):
        assert way in warning
    with_json = wide.call("run", "wide.csv", "--k", 10, "--quasi", COLUMNS, "--json", "--force")
    assert with_json.json["warnings"][0] in warning
    assert with_json.json["losses"]["loss"] > 0.5


def test_the_share_is_the_owners(wide):
    lenient = wide.call("run", "wide.csv", "--k", 10, "--quasi", COLUMNS, "--warn-loss", 1)
    assert "of the information is lost:" not in lenient.err
    strict = ("--k", 2, "--quasi", "city", "--warn-loss", 0, "-o", "strict.csv", "--json")
    assert wide.call("run", "wide.csv", *strict).json["warnings"] == []
    refused = wide.call("run", "wide.csv", "--k", 2, "--quasi", "city", "--warn-loss", 1.5)
    assert refused.status == 2


def test_a_column_that_is_gone_is_named(wide):
    ran = wide.call(
        *("run", "wide.csv", "--k", 60, "--quasi", "city,m0", "--hierarchy", "city=flat"),
        *("--hierarchy", "m0=ranges", "--json"),
    )
    assert ran.status == 0, ran.err
    assert {row["city"] for row in wide.rows("wide.release.csv")} == {"*"}
    gone = [text for text in ran.json["warnings"] if "in every row" in text]
    assert len(gone) == 1
    assert "column 'city' is suppressed" in gone[0]
    assert "--identifying city" in gone[0]


def test_what_holds_and_is_of_use_gets_no_warning(desk):
    ran = desk.call("run", "census.csv", "--k", 3, "--quasi", "sex,age", "--json")
    assert ran.json["warnings"] == []
    assert "warning" not in ran.err


def test_sets_and_transactions():
    sets = ic.Job(guarantee=ic.Smooth(8))
    assert warnings_of_use(sets, Checked([], 9, {"suppressed": 0.4})) == ()
    (warning,) = warnings_of_use(sets, Checked([], 9, {"suppressed": 0.8}))
    assert warning.startswith("80% of the entries are suppressed")


# ── dry runs ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("more", [(), ("--memory", "300MB"), ("-o", "parts/")], ids=str)
def test_a_dry_run_says_what_would_happen_and_leaves_nothing(desk, more):
    before = desk.files()
    asked = ("run", "census.csv", "--k", 4, "--quasi", "age,sex", "--sensitive", "diagnosis", *more)
    dry = desk.call(*asked, "--dry-run")
    assert dry.status == 0, dry.err
    assert "would publish" in dry.out
    assert "published census" not in dry.out
    assert desk.files() == before
    assert not [path for path in desk.folder.iterdir() if path.name.startswith(".")]
    real = desk.call(*asked)
    assert real.status == 0, real.err
    assert real.out.splitlines()[1:] == dry.out.splitlines()[1:]


def test_a_dry_run_writes_no_documents_and_no_job(desk):
    before = desk.files()
    dry = desk.call(
        *("run", "census.csv", "--k", 4, "--quasi", "age,sex", "--dry-run", "--json"),
        *("--report", "report.html", "--certificate", "c.json", "--save-job", "saved.toml"),
        *("--key", "key.csv", "--save-policy", "policy", "--force"),
    )
    assert dry.status == 0, dry.err
    assert dry.json["dry_run"] is True
    assert dry.json["holds"] is True
    assert desk.files() == before


def test_a_dry_run_is_refused_as_the_run_would_be(desk):
    asked = ("run", "census.csv", "--quasi", "age,sex", "--dry-run")
    assert desk.call(*asked, "--k", 10_000).status == 3
    (desk / "census.release.csv").write_text("mine")
    assert desk.call(*asked, "--k", 4).status == 2
    assert desk.call(*asked, "--k", 4, "--force").status == 0
    assert (desk / "census.release.csv").read_text() == "mine"


def test_in_python(desk):
    job = ic.Job(
        guarantee=ic.KAnonymity(4), schema=ic.Schema(quasi=["age", "sex"]), data=desk / "census.csv"
    )
    release = ic.run(job, dry_run=True)
    assert not release.is_published
    assert not (desk / "census.release.csv").exists()
    assert repr(release).startswith("Dry run of a release")
