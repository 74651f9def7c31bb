"""From a CSV to a release, recounted with the csv module."""

import gzip
import json
import stat
import tomllib

import pyarrow.parquet as pq
import pytest

QUASI = ["age", "sex", "zip", "education"]
FLAGS = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis"]


@pytest.mark.parametrize("method", ["greedy", "mondrian"])
@pytest.mark.parametrize("k", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_release_is_k_anonymous_by_recount(desk, method, k):
    finished = desk.incrowd("run", "census.csv", "--k", k, "--method", method, *FLAGS)
    assert finished.status == 0, finished.err
    sizes = desk.group_sizes("census.release.csv", QUASI)
    assert min(sizes.values()) >= k
    assert sum(sizes.values()) == 1_500
    released = desk.rows("census.release.csv")
    assert list(released[0]) == ["age", "sex", "zip", "education", "diagnosis"]
    original = sorted(row["diagnosis"] for row in desk.rows("census.csv"))
    assert sorted(row["diagnosis"] for row in released) == original
    assert released == sorted(released, key=lambda row: list(row.values()))


def test_removed_columns_are_named(desk):
    finished = desk.call("run", "census.csv", "--k", 3, *FLAGS)
    assert "removed, since no role is stated: id, name" in finished.err


def test_l_diversity_by_recount(desk):
    finished = desk.call("run", "census.csv", "--k", 4, "--l", 3, *FLAGS)
    assert finished.status == 0, finished.err
    diagnoses = {}
    for row in desk.rows("census.release.csv"):
        diagnoses.setdefault(tuple(row[name] for name in QUASI), set()).add(row["diagnosis"])
    assert min(map(len, diagnoses.values())) >= 3


def test_personal_k_by_recount(desk):
    """Groups are at least as large as the largest wish in them, told by the key."""
    (desk / "private").mkdir()
    finished = desk.call("run", "census.csv", "--k-column", "k", "--key", "private/key.csv", *FLAGS)
    assert finished.status == 0, finished.err
    released = desk.rows("census.release.csv")
    sizes = desk.group_sizes("census.release.csv", QUASI)
    wishes = [int(row["k"]) for row in desk.rows("census.csv")]
    for line in desk.rows("private/key.csv"):
        row = released[int(line["released_row"]) - 1]
        assert sizes[tuple(row[name] for name in QUASI)] >= wishes[int(line["original_row"]) - 1]
    assert max(wishes) > 5
    assert stat.S_IMODE((desk / "private/key.csv").stat().st_mode) == 0o600


def test_people_are_counted_instead_of_rows(desk):
    text = (desk / "census.csv").read_text()
    header, *lines = text.splitlines()
    (desk / "visits.csv").write_text("\n".join([header, *(lines[:300] * 4)]) + "\n")
    (desk / "private").mkdir()
    finished = desk.call(
        "run", "visits.csv", "--k", 5, "--person", "id", "--key", "private/key.csv", *FLAGS
    )
    assert finished.status == 0, finished.err
    people = {}
    ids = [row["id"] for row in desk.rows("visits.csv")]
    released = desk.rows("visits.release.csv")
    for line in desk.rows("private/key.csv"):
        row = released[int(line["released_row"]) - 1]
        group = tuple(row[name] for name in QUASI)
        people.setdefault(group, set()).add(ids[int(line["original_row"]) - 1])
    assert min(map(len, people.values())) >= 5
    unwarned = desk.call("run", "visits.csv", "--k", 5, "-o", "other.csv", *FLAGS)
    assert "--person id" in unwarned.err


def test_saved_job_gives_the_same_bytes(desk):
    flags = ["--hierarchy", "education=hierarchies/education.csv", "--hierarchy", "zip=prefix"]
    flags += ["--hierarchy", "age=intervals:5,10,20", "--set", "method.metric=loss"]
    (desk / "jobs").mkdir()
    first = desk.call("run", "census.csv", "--k", 6, *FLAGS, *flags, "--save-job", "jobs/j.toml")
    assert first.status == 0, first.err
    second = desk.call("run", "jobs/j.toml", "-o", "again.csv", "--threads", 1)
    assert second.status == 0, second.err
    assert (desk / "again.csv").read_bytes() == (desk / "census.release.csv").read_bytes()
    assert 'metric = "loss"' in (desk / "jobs/j.toml").read_text()


def test_flags_override_a_job(desk):
    desk.call("run", "census.csv", "--k", 6, *FLAGS, "--save-job", "j.toml")
    finished = desk.call("run", "j.toml", "--k", 11, "--method", "mondrian", "--force", "--json")
    assert finished.status == 0, finished.err
    assert finished.json["guarantee"]["parameters"]["k"] == 11
    assert finished.json["method"]["name"] == "mondrian"
    assert min(desk.group_sizes("census.release.csv", QUASI).values()) >= 11


def test_json_has_the_contract(desk):
    audit = desk.call("run", "census.csv", "--k", 3, *FLAGS, "--json").json
    for name in [
        "holds",
        "guarantee",
        "findings",
        "losses",
        "n_rows",
        "n_suppressed",
        "n_groups",
        "smallest_group",
        "method",
        "engine",
        "seed",
        "seconds",
        "peak_memory_bytes",
        "release_sha256",
        "input_sha256",
        "incrowd_version",
        "edition",
    ]:
        assert name in audit
    sizes = desk.group_sizes("census.release.csv", QUASI)
    assert audit["n_groups"] == len(sizes)
    assert audit["smallest_group"] == min(sizes.values())
    assert audit["holds"] is True
    assert audit["edition"] == "owner"
    assert all(isinstance(value, (int, float)) for value in audit["losses"].values())


@pytest.mark.slow
def test_formats_come_back_as_they_were(desk):
    import polars as pl

    frame = pl.read_csv(desk / "census.csv", schema_overrides={"zip": pl.String})
    frame.write_parquet(desk / "census.parquet")
    frame.write_csv(desk / "census.tsv", separator="\t")
    (desk / "census.csv.gz").write_bytes(gzip.compress((desk / "census.csv").read_bytes()))
    for name, released in [
        ("census.parquet", "census.release.parquet"),
        ("census.tsv", "census.release.tsv"),
        ("census.csv.gz", "census.release.csv.gz"),
    ]:
        finished = desk.call("run", name, "--k", 5, *FLAGS)
        assert finished.status == 0, finished.err
        assert (desk / released).exists()
    (desk / "unpacked.csv").write_bytes(
        gzip.decompress((desk / "census.release.csv.gz").read_bytes())
    )
    assert desk.rows("unpacked.csv") == desk.rows("census.release.tsv", delimiter="\t")
    table = pq.read_table(desk / "census.release.parquet")
    assert table.column_names == ["age", "sex", "zip", "education", "diagnosis"]
    assert not table.schema.metadata


def test_nothing_unreleased_hides_in_the_container(desk):
    """Plant a token in every row of what is removed or generalized; it must not be in the file."""
    rows = [f"zq-{row:05d},{20 + row % 50},x" for row in range(200)]
    (desk / "planted.csv").write_text("name,age,diagnosis\n" + "\n".join(rows) + "\n")
    import polars as pl

    pl.read_csv(desk / "planted.csv").with_columns(
        pl.col("name").cast(pl.Categorical)
    ).write_parquet(desk / "planted.parquet")
    for name in ["planted.csv", "planted.parquet"]:
        for column, role in [("name", "--identifying"), ("name", "--quasi")]:
            quasi = "age,name" if role == "--quasi" else "age"
            flags = ["--quasi", quasi, "--sensitive", "diagnosis", "--hierarchy", "name=flat"]
            if role != "--quasi":
                flags = ["--quasi", quasi, "--sensitive", "diagnosis", role, column]
            finished = desk.call("run", name, "--k", 5, *flags, "--force")
            assert finished.status == 0, finished.err
            released = (desk / name.replace(".", ".release.")).read_bytes()
            assert b"zq-" not in released


@pytest.mark.slow
def test_same_bytes_on_any_number_of_threads_and_any_row_order(desk):
    import random

    header, *lines = (desk / "census.csv").read_text().splitlines()
    random.Random(3).shuffle(lines)
    (desk / "shuffled.csv").write_text("\n".join([header, *lines]) + "\n")
    partitions = ["--method", "greedy", "--partitions", 4]
    desk.call("run", "census.csv", "--k", 5, *FLAGS, *partitions, "--threads", 1, "-o", "a.csv")
    desk.call("run", "census.csv", "--k", 5, *FLAGS, *partitions, "--threads", 3, "-o", "b.csv")
    assert (desk / "a.csv").read_bytes() == (desk / "b.csv").read_bytes()
    desk.call("run", "shuffled.csv", "--k", 5, *FLAGS, *partitions, "-o", "c.csv")
    assert desk.group_sizes("a.csv", QUASI) == desk.group_sizes("c.csv", QUASI)


def test_keep_order_keeps_rows_in_place(desk):
    finished = desk.call("run", "census.csv", "--k", 4, *FLAGS, "--keep-order", "--json")
    assert finished.status == 0, finished.err
    released = desk.rows("census.release.csv")
    original = desk.rows("census.csv")
    assert [row["diagnosis"] for row in released] == [row["diagnosis"] for row in original]
    assert "order is unknown" in json.dumps(finished.json["findings"])
    check = desk.call(
        "check", "census.release.csv", "--k", 4, *FLAGS, "--original", "census.csv", "--json"
    )
    assert check.status == 1
    assert any(f["name"] == "row order" and f["holds"] is False for f in check.json["findings"])


@pytest.mark.slow
def test_no_key_stays_without_its_release(desk, monkeypatch):
    import incrowd.flow.publication

    (desk / "private").mkdir()
    before = desk.files()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(incrowd.flow.publication, "publish", full)
    finished = desk.call("run", "census.csv", "--k", 3, *FLAGS, "--key", "private/key.csv")
    assert finished.status == 2
    assert desk.files() == before
    finished = desk.call("run", "census.csv", "--k", 3, *FLAGS, "--key", "nowhere/key.csv")
    assert finished.status == 2
    assert desk.files() == before


@pytest.mark.slow
def test_the_audit_tells_its_time(desk):
    audit = desk.call("run", "census.csv", "--k", 3, *FLAGS, "--json").json
    assert list(audit["stages"]) == ["read", "encode", "search", "decode", "write", "audit"]
    assert audit["seconds"] == pytest.approx(sum(audit["stages"].values()), abs=1e-3)


def test_a_job_saved_after_a_wish_in_seconds_makes_the_same_bytes(desk):
    flags = ["--k", "5", "--quasi", "age,sex,zip", "--sensitive", "diagnosis"]
    flags += ["--method", "cluster", "--effort", "0.3s", "--save-job", "again.toml", "--json"]
    finished = desk.call("run", "census.csv", *flags)
    assert finished.status == 0, finished.err
    settings = finished.json["method"]["parameters"]
    assert settings["effort"] == "0.3s"
    saved = tomllib.loads((desk / "again.toml").read_text())["method"]
    assert saved["effort"] == settings["iterations"] > 0
    first = (desk / "census.release.csv").read_bytes()
    finished = desk.call("run", "again.toml", "--force", "--json")
    assert finished.status == 0, finished.err
    assert (desk / "census.release.csv").read_bytes() == first
    assert finished.json["method"]["parameters"]["iterations"] == settings["iterations"]
