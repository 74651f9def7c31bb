"""Full-domain recoding from the command line, recounted with csv."""

import tomllib
from collections import Counter, defaultdict

import pytest

QUASI = ["age", "sex", "education"]
BASE = ["run", "census.csv", "--quasi", ",".join(QUASI), "--sensitive", "diagnosis"]
BASE += ["--method", "full-domain", "--hierarchy", "age=intervals:5,10,20", "--k", 5]
BASE += ["--hierarchy", "education=hierarchies/education.csv", "--json", "--force"]


def widths(desk):
    """How many values each released age stands for, by its label; 1 where it is a value."""
    found = Counter()
    for row in desk.rows("census.release.csv"):
        label = row["age"]
        bounds = [int(part) for part in label.replace("[", "").replace(")", "").split("-") if part]
        found[1 if len(bounds) == 1 else label.count("-") and bounds[1] - bounds[0]] += 1
    return found


def test_one_level_per_column_and_the_limit_is_kept(desk):
    finished = desk.call(*BASE, "--suppression-limit", 0.05, "--maximum-levels", "age=2,sex=0")
    assert finished.status == 0, finished.err
    sizes = desk.group_sizes("census.release.csv", QUASI)
    assert min(sizes.values()) >= 5
    n_rows = len(desk.rows("census.csv"))
    audit = finished.json
    assert 0 < audit["n_suppressed"] <= 0.05 * n_rows
    assert sum(sizes.values()) == n_rows - audit["n_suppressed"]
    assert {row["sex"] for row in desk.rows("census.release.csv")} == {"female", "male"}
    assert len(widths(desk)) == 1
    assert audit["method"]["parameters"]["maximum_levels"] == {"age": 2, "sex": 0}


@pytest.mark.parametrize(
    "flags",
    [
        ["--l", 3],
        ["--l", 2.5, "--l-kind", "entropy"],
        ["--t", 0.3],
        ["--t", 0.3, "--keep-suppressed"],
        ["--k-column", "k"],
        ["--person", "id"],
    ],
)
def test_every_condition_with_suppression(desk, flags):
    finished = desk.call(*BASE, "--suppression-limit", 0.1, *flags)
    assert finished.status == 0, finished.err
    audit = finished.json
    assert audit["holds"]
    assert audit["n_suppressed"] > 0
    groups = defaultdict(list)
    for row in desk.rows("census.release.csv"):
        groups[tuple(row[name] for name in QUASI)].append(row["diagnosis"])
    assert min(map(len, groups.values())) >= 5
    if "distinct" in str(audit["guarantee"]["claim"]):
        assert min(len(set(values)) for values in groups.values()) >= 3
    whole = Counter(value for values in groups.values() for value in values)
    n_all = whole.total()
    if "--t" in flags:
        for values in groups.values():
            here = Counter(values)
            gaps = (abs(here[value] / len(values) - whole[value] / n_all) for value in whole)
            assert sum(gaps) / 2 <= 0.3 + 1e-9


def test_levels_of_a_job_file_and_settings(desk):
    saved = ["--save-job", "job.toml", "--suppression-limit", 0.1]
    flags = ["--minimum-levels", "age=1", "--set", "method.minimum_levels.sex=1"]
    assert desk.call(*BASE, *flags, *saved).status == 2  # a flag's text is no table to add to
    flags = ["--set", "method.minimum_levels.age=1", "--set", "method.minimum_levels.sex=1"]
    flags += ["--column-weights", "age=2,education=0.5"]
    finished = desk.call(*BASE, *flags, *saved)
    assert finished.status == 0, finished.err
    assert {row["sex"] for row in desk.rows("census.release.csv")} == {"*"}
    assert 1 not in widths(desk)
    job = tomllib.loads((desk / "job.toml").read_text())
    assert job["method"]["minimum_levels"] == {"age": 1, "sex": 1}
    assert job["method"]["column_weights"] == {"age": 2.0, "education": 0.5}
    before = (desk / "census.release.csv").read_bytes()
    assert desk.call("run", "job.toml", "--force").status == 0
    assert (desk / "census.release.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--minimum-levels", "age"], "COLUMN=NUMBER"),
        (["--minimum-levels", "age=x"], "COLUMN=NUMBER"),
        (["--minimum-levels", "agee=1"], "agee"),
        (["--minimum-levels", "age=9"], "levels 0 to"),
        (["--set", "method.minimum_levels=3"], "not a table"),
        (["--set", "method.minimum_levels.age=0.5"], "whole number"),
        (["--column-weights", "age=-1"], "column_weights"),
    ],
)
def test_wrong_settings_are_refused(desk, flags, says):
    finished = desk.call(*BASE, *flags)
    assert finished.status == 2
    assert says in finished.err
    assert not (desk / "census.release.csv").exists()


def test_no_levels_hold(desk):
    finished = desk.call(*BASE, "--maximum-levels", "age=0,sex=0,education=0")
    assert finished.status == 3
    assert "--suppression-limit" in finished.err
