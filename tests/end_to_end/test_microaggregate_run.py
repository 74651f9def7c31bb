"""Means from the command line: recounted exactly, proven by the key, refused where false."""

import csv
import tomllib
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.encoding import encode as encoding
from incrowd.encoding.encode import encode
from incrowd.errors import DataError, JobError
from incrowd.guarantees.tables.truth import prove_key
from incrowd.hierarchies.means import covering_ranges, mean_cells
from incrowd.tables.frames import from_frame

QUASI = ("--quasi", "age,pay")
RUN = ("run", "people.csv", *QUASI, "--method", "microaggregate", "--json", "--effort", 2000)


def write_people(desk, name="people.csv", n_rows=240):
    random = np.random.default_rng(3)
    with (desk / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "pay", "illness"])
        for age, pay in zip(
            random.integers(18, 95, n_rows), random.lognormal(3, 1, n_rows), strict=True
        ):
            writer.writerow([age, f"{pay:.2f}", "flu" if pay > 20 else "none"])


def lines(desk, key="private/key.csv", release="out.csv"):
    """The originals behind each released line: their ages and pays."""
    originals, released = desk.rows("people.csv"), desk.rows(release)
    behind = defaultdict(list)
    for entry in desk.rows(key):
        line, person = released[int(entry["released_row"]) - 1], int(entry["original_row"]) - 1
        behind[line["age"], line["pay"]].append(originals[person])
        assert line["illness"] == originals[person]["illness"]
    return behind


@pytest.fixture
def made(desk):
    write_people(desk)
    (desk / "private").mkdir(exist_ok=True)
    finished = desk.call(
        *RUN, "--sensitive", "illness", "--k", 4, "-o", "out.csv", "--key", "private/key.csv",
        "--save-job", "job.toml",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    return finished


def nearest(number, unit):
    below = number // unit * unit
    return below + unit if number - below >= unit / 2 else below


def test_every_line_shows_the_means_of_its_people(desk, made):
    behind = lines(desk)
    assert sum(map(len, behind.values())) == 240
    assert min(map(len, behind.values())) >= 4
    assert len(behind) > 40
    squares = {"age": [0.0, 0.0], "pay": [0.0, 0.0]}
    originals = desk.rows("people.csv")
    for shown, people in behind.items():
        for name, cell, unit in zip(squares, shown, (Fraction(1), Fraction(1, 2)), strict=True):
            numbers = [Fraction(person[name]) for person in people]
            assert Fraction(cell) == nearest(sum(numbers) / len(numbers), unit)
            squares[name][0] += float(sum((number - Fraction(cell)) ** 2 for number in numbers))
    for name, sums in squares.items():
        numbers = np.asarray([float(person[name]) for person in originals])
        sums[1] = float(np.square(numbers - numbers.mean()).sum())
    expected = sum(lost / whole for lost, whole in squares.values()) / 2
    assert made.json["losses"]["sse"] == pytest.approx(expected)
    assert 0 < expected < 0.1
    assert 0 < made.json["losses"]["ncp"] < 0.3
    assert made.json["method"]["parameters"]["iterations"] == 2000
    proof = next(f for f in made.json["findings"] if f["name"] == "key")
    assert "mean (age, pay)" in proof["summary"]


def test_a_saved_job_makes_the_same_bytes(desk, made):
    assert made.status == 0
    saved = tomllib.loads((desk / "job.toml").read_text())
    assert saved["hierarchies"] == {"age": "mean", "pay": "mean"}
    before = (desk / "out.csv").read_bytes()
    assert desk.call("run", "job.toml", "--force").status == 0
    assert (desk / "out.csv").read_bytes() == before
    assert desk.call("run", "job.toml", "--force", "--seed", 1).status == 0
    assert (desk / "out.csv").read_bytes() != before


def test_check_counts_and_proves(desk, made):
    assert made.status == 0
    assert desk.call("check", "out.csv", "--k", 4, *QUASI).status == 0
    refused = desk.call("check", "out.csv", "--k", 9, *QUASI, "--json")
    assert refused.status == 1
    owner = ("--original", "people.csv", "--key", "private/key.csv")
    means = ("--hierarchy", "age=mean", "--hierarchy", "pay=mean")
    check = ("check", "out.csv", "--k", 4, *QUASI, *owner, *means, "--json")
    assert desk.call(*check).status == 0
    released = desk.rows("out.csv")

    def rewritten(rows):
        with (desk / "out.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["age", "pay", "illness"])
            writer.writeheader()
            writer.writerows(rows)
        finished = desk.call(*check)
        assert finished.status == 1
        assert finished.json["findings"][0]["name"] == "key"
        return finished.json["findings"][0]

    # a whole line's number moved by one unit: still k rows, and no longer their mean
    line = (released[0]["age"], released[0]["pay"])
    moved = [
        row | {"age": str(int(row["age"]) + 1)} if (row["age"], row["pay"]) == line else row
        for row in released
    ]
    finding = rewritten(moved)
    assert finding["figures"]["columns"] == ["age"]
    size = sum((row["age"], row["pay"]) == line for row in released)
    assert finding["figures"]["n_untrue_rows"] == size
    # a number that is none, and one between two units
    for wrong in ("*", "", "about 30", "30.5"):
        rewritten([row | {"age": wrong} if row is released[0] else row for row in released])


def test_rows_swapped_across_groups_are_refused(desk, made):
    assert made.status == 0
    key = desk.rows("private/key.csv")
    originals = desk.rows("people.csv")
    by_age = sorted(key, key=lambda entry: int(originals[int(entry["original_row"]) - 1]["age"]))
    youngest, oldest = by_age[0], by_age[-1]
    youngest["original_row"], oldest["original_row"] = (
        oldest["original_row"],
        youngest["original_row"],
    )
    with (desk / "private/key.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(key[0]))
        writer.writeheader()
        writer.writerows(key)
    finished = desk.call(
        "check", "out.csv", "--k", 4, *QUASI, "--original", "people.csv", "--key",
        "private/key.csv", "--hierarchy", "age=mean", "--hierarchy", "pay=mean", "--json",
    )  # fmt: skip
    assert finished.status == 1
    assert "age" in finished.json["findings"][0]["figures"]["columns"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--k", 2), "k of at least 3"),
        (("--k", 4, "--hierarchy", "age=ranges"), "'age'"),
        (("--k", 4, "--top", "age=80"), "'age'"),
        (("--k", 4, "--sensitive", "illness", "--l", 2), "l-diversity"),
        (("--k", 4, "--quasi", "age,illness"), "'illness'"),
        (("--k", 4, "--method", "cluster", "--hierarchy", "pay=mean"), "'pay'"),
        (("--k", 4, "--sensitive", "illness", "--hierarchy", "illness=mean"), "'illness'"),
        (("--k", 4, "--person", "illness"), "person"),
        (("--k", 4, "--hierarchy", "age=mean:0"), "mean"),
        (("--k", 400), "400"),
    ],
)
def test_what_cannot_be_is_refused(desk, flags, said):
    write_people(desk)
    before = set(desk.files())
    finished = desk.call(*RUN, *flags, "-o", "out.csv")
    assert finished.status in (2, 3)
    assert said in finished.err
    assert set(desk.files()) == before


def test_missing_numbers_are_refused(desk):
    write_people(desk)
    with (desk / "people.csv").open("a") as file:
        file.write(",3.5,flu\n")
    finished = desk.call(*RUN, "--k", 4, "-o", "out.csv")
    assert finished.status == 2
    assert "'age'" in finished.err
    assert "1 cells are missing" in finished.err


def people_frame(n_rows=60):
    random = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "age": random.integers(0, 9, n_rows),
            "weight": random.normal(70.0, 9.0, n_rows),
            "same": np.full(n_rows, 2.5),
        }
    )


def job_of(k=3, **more):
    return ic.Job(
        schema=ic.Schema(quasi=["age", "weight", "same"]),
        guarantee=ic.KAnonymity(k),
        method=ic.Microaggregate(effort=500),
        **more,
    )


def test_frames_hold_numbers():
    frame = people_frame()
    release = ic.anonymize(frame, job_of())
    assert release.data["age"].dtype.kind == "i"
    assert release.data["weight"].dtype.kind == "f"
    assert set(release.data["same"]) == {2.5}
    assert release.data.groupby(list(release.data)).size().min() >= 3
    assert release.data["weight"].mean() == pytest.approx(frame["weight"].mean(), abs=0.1)
    again = ic.anonymize(frame.sample(frac=1, random_state=1), job_of())
    pd.testing.assert_frame_equal(release.data, again.data)


def test_fewer_than_two_groups_are_one():
    release = ic.anonymize(people_frame(5), job_of())
    assert release.audit.n_groups == 1
    assert release.audit.losses["sse"] == pytest.approx(1.0, abs=0.05)


def test_a_coarse_unit_joins_lines_and_still_holds():
    specs = {"age": "mean:5", "weight": "mean:20"}
    release = ic.anonymize(people_frame(), job_of(hierarchies=specs))
    fine = ic.anonymize(people_frame(), job_of())
    assert release.audit.n_groups < fine.audit.n_groups
    assert set(release.data["age"]) <= {0, 5, 10}
    assert release.audit.holds


def test_keeping_the_order_and_the_proof_of_each_cell():
    frame = people_frame()
    job = job_of(release=ic.ReleaseOptions(keep_order=True))
    release = ic.anonymize(frame, job)
    table, _ = from_frame(frame)
    shown, _ = from_frame(release.data)
    before, _ = encode(table, job.schema.quasi, job.hierarchies)
    trees = dict(zip(before.names, before.hierarchies, strict=True))
    rows = np.arange(len(frame))

    def proof(released, order=rows):
        return prove_key(table.frame, released, order, job.schema.quasi, trees)

    assert proof(shown.frame).holds
    for name in ("age", "weight", "same"):
        column = shown.frame.column_names.index(name)
        cells = shown.frame.column(name).to_pylist()
        for row in (0, 17, 59):
            other = [*cells]
            other[row] += 1
            broken = shown.frame.set_column(column, name, [other])
            found = proof(broken)
            assert not found.holds
            assert name in found.figures["columns"]
    nodes = covering_ranges(trees["age"], before.nodes[0], np.zeros(len(frame), dtype=np.int32))
    assert set(nodes.tolist()) == {trees["age"].root}


@pytest.mark.parametrize("n_wrong", [1, 60])
def test_a_release_with_false_means_is_not_published(monkeypatch, n_wrong):
    def false_means(hierarchy, leaves, groups):
        cells = mean_cells(hierarchy, leaves, groups).to_pylist()
        step = int(hierarchy.mean_unit) or float(hierarchy.mean_unit)
        return pa.array([cell + step * (row < n_wrong) for row, cell in enumerate(cells)])

    monkeypatch.setattr(encoding, "mean_cells", false_means)
    with pytest.raises(ic.AuditError, match="not true to their originals"):
        ic.anonymize(people_frame(), job_of())


def test_refusals_in_python():
    with pytest.raises(JobError, match="at least 3"):
        job_of(k=2)
    frame = people_frame().assign(same="b")
    with pytest.raises(DataError, match="'same'"):
        ic.anonymize(frame, job_of())
