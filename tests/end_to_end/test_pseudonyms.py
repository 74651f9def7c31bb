"""Releases with a random string for every row, and the key kept apart."""

import csv
import re

import pandas as pd
import pytest

import incrowd as ic

FLAGS = ["--k", "3", "--quasi", "age,sex,education", "--sensitive", "diagnosis"]
FLAGS += ["--identifying", "id", "--effort", "200"]
KEPT = ["--pseudonyms", "pid", "--pseudonym-secret", "private/secret"]
FORM = r"[bcdfghjklmnpqrst]{20}"


@pytest.fixture
def few(desk):
    """Two hundred people of the census."""
    rows = desk.rows("census.csv")[:200]
    with (desk / "census.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, list(rows[0]))
        lines.writeheader()
        lines.writerows(rows)
    (desk / "private").mkdir()
    return desk


def run(desk, name, *flags):
    return desk.call(
        "run", "census.csv", *FLAGS, *flags, "-o", f"{name}.csv", "--key", f"private/{name}.csv",
        "--save-job", f"{name}.toml", "--json",
    )  # fmt: skip


def test_the_key_leads_from_pseudonyms_to_people(few):
    finished = run(few, "out", *KEPT)
    assert finished.status == 0, finished.err
    assert run(few, "plain").status == 0
    released, key, people = (
        few.rows(name) for name in ("out.csv", "private/out.csv", "census.csv")
    )
    # the release as it is without them, and a random string in every row
    assert [{**row, "pid": None} for row in released] == [
        {**row, "pid": None} for row in few.rows("plain.csv")
    ]
    assert list(released[0])[-1] == "pid"
    strings = [row["pid"] for row in released]
    assert len(set(strings)) == 200
    assert all(re.fullmatch(FORM, text) for text in strings)
    # the key tells who is behind a string: by the row, and by what identifies people
    assert list(key[0]) == ["released_row", "original_row", "pseudonym", "id"]
    for line in key:
        person = people[int(line["original_row"]) - 1]
        row = released[int(line["released_row"]) - 1]
        assert line["pseudonym"] == row["pid"]
        assert line["id"] == person["id"]
        assert row["diagnosis"] == person["diagnosis"]
    # equal rows lie in the order of their strings, not of their people
    assert strings != [line["pseudonym"] for line in sorted(key, key=lambda x: x["original_row"])]
    assert [tuple(row.values()) for row in released] == sorted(map(tuple_of, released))
    for name in ("out.csv", "secret"):
        assert (few / "private" / name).stat().st_mode & 0o777 == 0o600
    finding = next(item for item in finished.json["findings"] if item["name"] == "pseudonyms")
    assert finding["holds"]


def tuple_of(row):
    return tuple(row.values())


def test_the_secret_makes_the_same_strings_again_and_none_other(few):
    assert run(few, "one", *KEPT).status == 0
    secret = (few / "private" / "secret").read_bytes()
    again = few.call("run", "one.toml", "-o", "two.csv", "--key", "private/two.csv")
    assert again.status == 0, again.err
    assert (few / "two.csv").read_bytes() == (few / "one.csv").read_bytes()
    assert (few / "private" / "secret").read_bytes() == secret
    # another release has other strings under the same secret; and without one they are new
    assert run(few, "other", *KEPT, "--k", "4").status == 0
    assert run(few, "fresh", "--pseudonyms", "pid").status == 0
    seen = [{row["pid"] for row in few.rows(f"{name}.csv")} for name in ("one", "other", "fresh")]
    assert len(set.union(*seen)) == 600


def test_checks_take_the_strings_apart_and_refuse_what_tells(few):
    assert run(few, "out", *KEPT, "--certificate", "out.json", "--certificate-for", "public",
               "--report", "out.html", "--report-for", "public").status == 0  # fmt: skip
    owner = ["--original", "census.csv", "--key", "private/out.csv"]
    plain = ["check", "out.csv", "--k", "3", "--quasi", "age,sex,education", "--sensitive"]
    plain += ["diagnosis"]
    assert few.call("check", "out.csv", "--job", "out.toml", *owner).status == 0
    assert few.call(*plain, "--pseudonyms", "pid").status == 0
    assert few.call(*plain).status == 1  # a column in which no two rows agree
    proof = ["verify-certificate", "out.csv", "out.json", "--report", "again.html"]
    assert few.call(*proof).status == 0
    assert (few / "again.html").read_bytes() == (few / "out.html").read_bytes()
    rows = few.rows("out.csv")
    rows[0]["pid"], rows[1]["pid"] = rows[1]["pid"], rows[0]["pid"]
    with (few / "out.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, list(rows[0]))
        lines.writeheader()
        lines.writerows(rows)
    swapped = few.call("check", "out.csv", "--job", "out.toml", *owner)
    assert swapped.status == 1
    assert "key" in swapped.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--pseudonyms", "age"], "another meaning"),
        (["--pseudonyms", " "], "name"),
        (["--pseudonym-secret", "private/secret"], "--pseudonyms"),
        (["--pseudonyms", "pid", "--pseudonym-secret", "secret"], "folder"),
        (["--pseudonyms", "pid", "--pseudonym-secret", "census.csv"], "secret"),
    ],
)
def test_what_does_not_fit_is_refused(few, flags, said):
    before = few.files()
    finished = run(few, "out", *flags)
    assert finished.status == 2, finished.out
    assert said in finished.err
    assert few.files() == before


def test_an_identifying_column_may_be_replaced_and_frames_have_them_too():
    frame = ic.sample_census(300)
    frame = pd.DataFrame({name: frame[name] for name in ("id", "age", "sex", "diagnosis")})
    job = ic.Job(
        schema=ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], identifying=["id"]),
        guarantee=ic.KAnonymity(5),
        method=ic.Cluster(effort=200),
        release=ic.ReleaseOptions(pseudonyms="id"),
    )
    released = ic.anonymize(frame, job).data
    assert list(released.columns) == ["age", "sex", "diagnosis", "id"]
    assert released["id"].str.fullmatch(FORM).all()
    assert ic.check(released, job).holds
