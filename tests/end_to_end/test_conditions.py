"""Every condition of a job, kept by every method and confirmed by a recount of the file."""

import itertools

import pytest

from oracles.guarantees import (
    distribution,
    equal_distance,
    hierarchical_distance,
    is_diverse,
    known_counts,
    ordered_distance,
)

QUASI = ["age", "sex", "education"]
BASE = ["run", "census.csv", "--quasi", ",".join(QUASI), "--k", 3, "--json"]


def groups_of(desk):
    groups = {}
    for row in desk.rows("census.release.csv"):
        groups.setdefault(tuple(row[name] for name in QUASI), []).append(row)
    return groups


def published(desk, *flags):
    finished = desk.call(*BASE, *flags)
    assert finished.status == 0, finished.err
    return groups_of(desk)


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("distinct", ["--l", 4]),
        ("entropy", ["--l", 2.5]),
        ("recursive", ["--l", 3, "--c", 2]),
    ],
)
def test_diversity_is_kept(desk, method, kind, flags):
    groups = published(
        desk, "--sensitive", "diagnosis", "--method", method, "--l-kind", kind, *flags
    )
    c = flags[3] if len(flags) > 2 else 1.0
    assert len(groups) > 1
    for group in groups.values():
        counts = known_counts(group, "diagnosis")
        assert is_diverse(counts, flags[1], kind, c)


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_equal_closeness_is_kept(desk, method):
    groups = published(desk, "--sensitive", "diagnosis", "--method", method, "--t", 0.3)
    whole = distribution([row for group in groups.values() for row in group], "diagnosis")
    assert len(groups) > 1
    for group in groups.values():
        assert equal_distance(distribution(group, "diagnosis"), whole) <= 0.3 + 1e-9


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_ordered_closeness_is_kept(desk, method):
    groups = published(
        desk, "--sensitive", "k", "--method", method, "--t", 0.15, "--t-kind", "ordered"
    )
    rows = [row for group in groups.values() for row in group]
    values = sorted({row["k"] for row in rows}, key=int)
    whole = distribution(rows, "k")
    assert len(groups) > 1
    for group in groups.values():
        assert ordered_distance(distribution(group, "k"), whole, values) <= 0.15 + 1e-9


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_hierarchical_closeness_is_kept(desk, method):
    groups = published(
        desk,
        "--sensitive",
        "diagnosis",
        "--method",
        method,
        "--t",
        0.25,
        "--t-kind",
        "hierarchical",
        "--hierarchy",
        "diagnosis=hierarchies/diagnosis.csv",
    )
    children = {}
    for line in (desk / "hierarchies/diagnosis.csv").read_text().splitlines():
        path = line.split(";")
        for child, above in itertools.pairwise(path):
            children.setdefault(above, set()).add(child)
    whole = distribution([row for group in groups.values() for row in group], "diagnosis")
    assert len(groups) > 1
    for group in groups.values():
        distance = hierarchical_distance(distribution(group, "diagnosis"), whole, children, "*")
        assert distance <= 0.25 + 1e-9


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_all_conditions_at_once(desk, method):
    (desk / "private").mkdir()
    finished = desk.call(
        *BASE,
        "--sensitive",
        "diagnosis",
        "--method",
        method,
        "--l",
        3,
        "--t",
        0.5,
        "--k-column",
        "k",
        "--person",
        "id",
        "--key",
        "private/key.csv",
    )
    assert finished.status == 0, finished.err
    groups = groups_of(desk)
    assert min(map(len, groups.values())) >= 3
    names = [finding["name"] for finding in finished.json["findings"]]
    assert {"k-anonymity", "l-diversity", "t-closeness", "key"} <= set(names)


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
def test_missing_values_stay_what_they_are(desk, method):
    header, *lines = (desk / "census.csv").read_text().splitlines()
    columns = header.split(",")
    age, sex = columns.index("age"), columns.index("sex")
    cells = [line.split(",") for line in lines]
    for number, row in enumerate(cells):
        row[age] = "" if number % 50 == 0 else row[age]
        row[sex] = "?" if number % 40 == 0 else row[sex]
    text = "\n".join([header, *(",".join(row) for row in cells)]) + "\n"
    (desk / "census.csv").write_text(text)
    groups = published(
        desk, "--sensitive", "diagnosis", "--method", method, "--missing-values", "?"
    )
    assert min(map(len, groups.values())) >= 3
    shown = {cell for group in groups for cell in group}
    assert "?" in shown
    assert "" in shown
