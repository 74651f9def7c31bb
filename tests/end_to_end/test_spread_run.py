"""Tables whose rows lie on disk or on Spark: the same release as in memory, or none."""

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from incrowd.flow.assignment import KEPT
from incrowd.tables.files.read import read_table

ROLES = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
METHODS = {
    "greedy": ("--method", "greedy"),
    "partitions": ("--method", "greedy", "--partitions", 3),
    "preset": ("--method", "greedy", "--preset", "pgpkaa", "--processors", 2),
    "mondrian": ("--method", "mondrian"),
    "cluster": ("--method", "cluster", "--effort", "quick"),
    "full-domain": ("--method", "full-domain"),
}
ON_DISK = ("--memory", "300MB")
"""Less than the program itself takes: rows then lie on disk, however few they are."""


def parts_of(desk, name, n_parts):
    """Cut the census into part files of a folder."""
    rows = desk.rows("census.csv")
    (desk / name).mkdir()
    for part in range(n_parts):
        with (desk / name / f"part-{part}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[part::n_parts])


def rows_of_folder(folder):
    tables = [read_table(path).frame for path in sorted(folder.glob("part-*"))]
    return pa.concat_tables(tables)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_rows_on_disk_give_the_bytes_of_rows_in_memory(desk, method):
    in_memory = desk.call("run", "census.csv", "--k", 4, *ROLES, *method, "-o", "memory.csv")
    assert in_memory.status == 0, in_memory.err
    on_disk = desk.call(
        "run", "census.csv", "--k", 4, *ROLES, *method, "-o", "disk.csv", "--json", *ON_DISK
    )
    assert on_disk.status == 0, on_disk.err
    assert on_disk.json["engine"]["rows"] == "on disk"
    assert (desk / "disk.csv").read_bytes() == (desk / "memory.csv").read_bytes()
    assert not [path for path in desk.folder.iterdir() if path.name.startswith(".")]


CODED = ("--bottom", "age=20", "--top", "age=72", "--hierarchy", "age=intervals:5,10,20")


ASKED = {
    "l": ("--l", 3),
    "entropy": ("--l", 2, "--l-kind", "entropy", "--suppression-limit", 0.05),
    "t": ("--t", 0.4),
    "hierarchical t": ("--t", 0.4, "--t-kind", "hierarchical", "--hierarchy", "diagnosis=flat"),
    "limit": ("--suppression-limit", 0.05),
    "kept as stars": ("--suppression-limit", 0.05, "--keep-suppressed"),
    "k column": ("--k-column", "k", "--suppression-limit", 0.01),
    "rules": (
        *("--k-rule", "9 where occupation = sales", "--k-rule", "20 where age >= 60"),
        *("--l", 2, "--suppression-limit", 0.02),
    ),
}
"""What groups are held to besides one k."""

QUICK = {("l", "mondrian"), ("t", "mondrian"), ("kept as stars", "full-domain")}
QUICK |= {("k column", "cluster"), ("rules", "full-domain")}


def slow_unless(is_quick, *values, name):
    return pytest.param(*values, marks=[] if is_quick else [pytest.mark.slow], id=name)


@pytest.mark.parametrize(
    "more",
    [
        slow_unless(True, ("--insensitive", "education", *METHODS["mondrian"]), name="insensitive"),
        slow_unless(True, (*CODED, *METHODS["mondrian"]), name="coded"),
        slow_unless(True, (*CODED, *METHODS["cluster"]), name="coded by cluster"),
        slow_unless(False, (*CODED, *METHODS["greedy"]), name="coded by greedy"),
        slow_unless(False, (*CODED, *METHODS["full-domain"]), name="coded full-domain"),
        slow_unless(False, (*CODED, *ASKED["rules"], *METHODS["cluster"]), name="coded by rules"),
        *(
            slow_unless(
                (asked, method) in QUICK,
                (*ASKED[asked], *METHODS[method]),
                name=f"{asked} {method}",
            )
            for asked in ASKED
            for method in ("cluster", "partitions", "mondrian", "full-domain")
            if asked != "hierarchical t" or method == "mondrian"
        ),
    ],
)
def test_losses_and_findings_are_those_of_rows_in_memory(desk, more):
    flags = ("--k", 4, *ROLES, *more, "--json")
    in_memory = desk.call("run", "census.csv", *flags, "-o", "memory.csv").json
    on_disk = desk.call("run", "census.csv", *flags, "-o", "disk.csv", *ON_DISK).json
    for same in ("losses", "n_groups", "n_rows", "n_suppressed", "notes"):
        assert on_disk[same] == in_memory[same]
    assert on_disk["release_sha256"] == in_memory["release_sha256"]
    assert on_disk["input_sha256"] == in_memory["input_sha256"]

    def told(audit):
        return sorted(
            json.dumps([finding["name"], finding["holds"], finding["summary"], finding["figures"]])
            for finding in audit["findings"]
            if finding["name"] not in ("key", "truth", "row order")
        )

    assert told(on_disk) == told(in_memory)
    assert on_disk["engine"]["rows"] == "on disk"


@pytest.mark.slow
def test_equal_rows_are_compared_by_the_same_columns_as_in_memory(desk, monkeypatch):
    monkeypatch.setattr("incrowd.flow.assignment.ROWS_PER_PART", 60)
    rows = desk.rows("census.csv")
    for number, row in enumerate(rows):
        row["age"] = str(int(row["age"]) // 20)
        row["ward"] = str(number % 3)
    columns = ["ward", "diagnosis", "k", "sex", "age"]  # the roles name them in another order
    write_rows(desk / "few.csv", [{name: row[name] for name in columns} for row in rows])
    roles = ("--quasi", "age,sex", "--sensitive", "diagnosis", "--insensitive", "ward")
    for asked in ((), ("--l", 3), ("--k-column", "k", "--suppression-limit", 0.02)):
        flags = ("--k", 200, *roles, *asked, *METHODS["cluster"], "--force")
        for name, more in (("memory.csv", ()), ("disk.csv", ON_DISK)):
            done = desk.call("run", "few.csv", *flags, *more, "-o", name)
            assert done.status == 0, done.err
        assert (desk / "disk.csv").read_bytes() == (desk / "memory.csv").read_bytes()


def write_rows(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_conditions_look_at_dates_and_numbers_as_they_are_read(desk):
    rows = desk.rows("census.csv")
    for number, row in enumerate(rows):
        row["born"] = f"{1 + number * 7 % 28:02}.{1 + number % 12:02}.{2020 - int(row['age'])}"
        row["income"] = f"{1 + number % 5}.{number % 7}00,50"
        row["k"] = "" if number < 2 else row["k"]
    write_rows(desk / "formats.csv", rows)
    flags = (
        *("--k", 4, "--quasi", "born,sex", "--sensitive", "income", "--method", "mondrian"),
        *("--t", 0.5, "--t-kind", "ordered", "--hierarchy", "born=age:2021-01-01"),
        *("--number-format", "income=1.234,5", "--json"),
    )
    in_memory = desk.call("run", "formats.csv", *flags, "-o", "memory.csv")
    on_disk = desk.call("run", "formats.csv", *flags, "-o", "disk.csv", *ON_DISK)
    assert in_memory.status == on_disk.status == 0, on_disk.err
    assert on_disk.json["release_sha256"] == in_memory.json["release_sha256"]
    assert on_disk.json["notes"] == in_memory.json["notes"]
    assert "column 'income': every group is within t = 0.5" in str(on_disk.json["findings"])
    wishes = desk.call("run", "formats.csv", *flags, "--k-column", "k", *ON_DISK, "-o", "r.csv")
    assert wishes.status == 2
    assert "column 'k': 2 rows hold no whole number of 1 or more" in wishes.err
    unread = desk.call("run", "formats.csv", *flags, "--k-rule", "9 where agee = 3", *ON_DISK)
    assert unread.status == 2
    assert "k rule 1" in unread.err


def test_a_parquet_file_on_disk_gives_the_same_bytes(desk):
    frame = read_table(desk / "census.csv").frame
    age = frame.column("age").cast(pa.int16())
    frame = frame.set_column(frame.column_names.index("age"), "age", age)
    parquet.write_table(frame, desk / "census.parquet", row_group_size=70)
    for name, flags in (("memory.parquet", ()), ("disk.parquet", ON_DISK)):
        done = desk.call(
            "run", "census.parquet", "--k", 4, *ROLES, *METHODS["cluster"], *flags, "-o", name
        )
        assert done.status == 0, done.err
    assert (desk / "disk.parquet").read_bytes() == (desk / "memory.parquet").read_bytes()


def test_a_folder_becomes_a_folder_that_is_whole(desk):
    parts_of(desk, "people", 3)
    done = desk.call("run", "people", "--k", 4, *ROLES, *METHODS["cluster"], "--json")
    assert done.status == 0, done.err
    whole = desk.call("run", "census.csv", "--k", 4, *ROLES, *METHODS["cluster"], "-o", "w.csv")
    assert whole.status == 0, whole.err
    folder = desk / "people.release"
    assert rows_of_folder(folder).equals(read_table(desk / "w.csv").frame)
    manifest = (folder / "_manifest.json").read_text(encoding="utf-8")
    assert hashlib.sha256(manifest.encode()).hexdigest() == done.json["release_sha256"]
    for part in json.loads(manifest)["parts"]:
        content = (folder / part["name"]).read_bytes()
        assert len(content) == part["bytes"]
        assert hashlib.sha256(content).hexdigest() == part["sha256"]
    assert (folder / "_SUCCESS").exists()
    again = desk.call("run", "people", "--k", 4, *ROLES)
    assert again.status == 2
    assert "already exists" in again.err


def test_check_reads_a_whole_folder_and_refuses_another(desk):
    parts_of(desk, "people", 3)
    done = desk.call("run", "people", "--k", 4, *ROLES, *METHODS["greedy"], "-o", "out.parquet/")
    assert done.status == 0, done.err
    assert [path.suffix for path in (desk / "out.parquet").glob("part-*")] == [".parquet"]
    flags = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
    assert desk.call("check", "out.parquet", "--k", 4, *flags).status == 0
    exposed = desk.call("check", "out.parquet", "--k", 400, *flags)
    assert exposed.status == 1
    (desk / "out.parquet" / "_SUCCESS").unlink()
    refused = desk.call("check", "out.parquet", "--k", 4, *flags)
    assert refused.status == 2
    assert "_SUCCESS" in refused.err


def test_a_folder_can_be_released_as_one_file(desk):
    parts_of(desk, "people", 2)
    flags = ("--k", 4, *ROLES, *METHODS["mondrian"])
    assert desk.call("run", "people", *flags, "-o", "one.csv").status == 0
    assert desk.call("run", "census.csv", *flags, "-o", "memory.csv").status == 0
    assert (desk / "one.csv").read_bytes() == (desk / "memory.csv").read_bytes()


def test_people_are_counted_in_memory_also_from_a_folder(desk):
    parts_of(desk, "people", 2)
    flags = ("--k", 4, "--person", "id", *ROLES, *METHODS["mondrian"])
    done = desk.call("run", "people", *flags, "-o", "one.csv")
    assert done.status == 0, done.err
    refused = desk.call("run", "people", *flags)
    assert refused.status == 2
    assert "this release is one file" in refused.err
    assert not (desk / "people.release").exists()
    too_small = desk.call("run", "census.csv", *flags, *ON_DISK)
    assert too_small.status == 2
    assert "does not fit into 300MB" in too_small.err


@pytest.mark.slow
def test_a_folder_is_released_by_rules_and_with_rows_left_out(desk):
    parts_of(desk, "people", 3)
    flags = ("--k", 4, *ROLES, *ASKED["rules"], *METHODS["full-domain"])
    done = desk.call("run", "people", *flags, "--json")
    assert done.status == 0, done.err
    assert done.json["n_suppressed"] > 0
    assert desk.call("run", "census.csv", *flags, "-o", "w.csv").status == 0
    assert rows_of_folder(desk / "people.release").equals(read_table(desk / "w.csv").frame)


@pytest.mark.slow
def test_a_public_certificate_tells_nothing_that_only_the_owner_can_check(desk):
    flags = ("--k", 4, *ROLES, *METHODS["mondrian"], *ON_DISK, "--certificate-for", "public")
    for name, asked in (("own", ("--k-rule", "9 where age >= 60")), ("file", ("--l", 2))):
        done = desk.call(
            "run",
            "census.csv",
            *asked,
            *flags,
            "-o",
            f"{name}.csv",
            "--certificate",
            f"{name}.json",
        )
        assert done.status == 0, done.err
    told = [
        [finding["name"] for finding in json.loads((desk / name).read_text())["findings"]]
        for name in ("own.json", "file.json")
    ]
    assert told[0] == []
    assert told[1][:2] == ["k-anonymity", "l-diversity"]
    assert "truth" not in told[1]


def test_codes_of_all_rows_that_take_too_much_memory_are_refused(desk, monkeypatch):
    monkeypatch.setattr("incrowd.flow.out_of_core.PER_CODE", 60_000)
    flags = ("--k", 4, *ROLES, *METHODS["mondrian"], *ON_DISK, "-o", "r.csv")
    refused = desk.call("run", "census.csv", "--l", 2, *flags)
    assert refused.status == 2
    assert "takes the codes of all 1,500 rows, about 343.4MB" in refused.err
    assert "--memory 343.4MB" in refused.err
    assert not (desk / "r.csv").exists()
    assert desk.call("run", "census.csv", *flags).status == 0


@pytest.mark.parametrize(
    "asked",
    [("--l", 40, "--l-kind", "entropy"), ("--k-rule", "2000 where age >= 60")],
    ids=["l", "a k per row"],
)
def test_what_no_release_can_keep_is_refused_as_in_memory(desk, asked):
    flags = ("--k", 4, *ROLES, *METHODS["mondrian"], *asked, "-o", "r.csv")
    here = desk.call("run", "census.csv", *flags)
    there = desk.call("run", "census.csv", *flags, *ON_DISK)
    assert here.status == there.status == 3
    assert here.err == there.err


def test_a_leaking_column_and_stars_are_refused_before_anything_is_searched(desk):
    rows = desk.rows("census.csv")
    for number, row in enumerate(rows):
        row["member"] = f"m{number * 7919 % len(rows)}"
    rows[5]["diagnosis"] = "*"

    def write(name, columns):
        with (desk / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    write("members.csv", ["age", "sex", "zip", "member"])
    flags = ("--k", 4, "--quasi", "age,sex,zip", "--method", "greedy", *ON_DISK)
    leaking = desk.call("run", "members.csv", *flags, "--insensitive", "member", "-o", "r.csv")
    assert leaking.status == 2
    assert "are alone with their values of the insensitive column 'member'" in leaking.err
    write("starred.csv", ["age", "sex", "zip", "diagnosis"])
    starred = desk.call("run", "starred.csv", *flags, "--sensitive", "diagnosis", "-o", "r.csv")
    assert starred.status == 2
    assert "1 cells are already '*'" in starred.err
    assert not (desk / "r.csv").exists()


def test_what_is_not_there_is_refused(desk):
    unknown = desk.call("run", "census.csv", "--k", 4, "--quasi", "agee", *ON_DISK, "-o", "r.csv")
    assert unknown.status == 2
    assert "did you mean" in unknown.err.lower()
    many = desk.call("run", "census.csv", "--k", 10**7, *ROLES, *ON_DISK, "-o", "r.csv")
    assert many.status == 3
    address = desk.call("run", "s3a://bucket/people", "--k", 4, *ROLES)
    assert address.status == 2
    assert "--engine spark" in address.err
    assert not (desk / "r.csv").exists()


def _without_a_row(table):
    return table.slice(1)


def _with_another_diagnosis(table):
    cells = table.column("diagnosis").to_pylist()
    cells[0] = "flu" if cells[0] != "flu" else "asthma"
    return table.set_column(table.column_names.index("diagnosis"), "diagnosis", pa.array(cells))


def _with_two_people_traded(table):
    cells = table.column("diagnosis").to_pylist()
    shown = table.select(["age", "sex", "zip"]).to_pylist()
    other = next(
        place for place, cell in enumerate(cells) if cell != cells[0] and shown[place] != shown[0]
    )
    cells[0], cells[other] = cells[other], cells[0]
    return table.set_column(table.column_names.index("diagnosis"), "diagnosis", pa.array(cells))


def _with_another_age(table):
    cells = [str(cell) for cell in table.column("age").to_pylist()]
    cells[0] = next(cell for cell in cells if cell != cells[0])
    return table.set_column(table.column_names.index("age"), "age", pa.array(cells))


@pytest.mark.parametrize(
    "tamper", [_without_a_row, _with_another_diagnosis, _with_two_people_traded, _with_another_age]
)
def test_a_release_that_is_not_what_was_made_is_refused(desk, monkeypatch, tamper):
    from incrowd.flow import out_of_core as spread_pipeline

    write = spread_pipeline.write_tables

    def written(tables, schema, path, stored):
        write((tamper(table) for table in tables), schema, path, stored)

    monkeypatch.setattr(spread_pipeline, "write_tables", written)
    done = desk.call(
        "run", "census.csv", "--k", 4, *ROLES, *METHODS["mondrian"], *ON_DISK, "-o", "r.csv"
    )
    assert done.status == 4
    assert "truth: the release differs from what was made of the original" in done.err
    assert not (desk / "r.csv").exists()
    assert not [path for path in desk.folder.iterdir() if path.name.startswith(".")]


def test_a_row_that_is_left_out_and_written_all_the_same_is_refused(desk, monkeypatch):
    from incrowd.flow import out_of_core

    generalize = out_of_core.generalize_blocks

    def keep_all(engine, blocks, made, n_rows, asked=KEPT):
        assert made.is_left_out.any()
        if asked == KEPT:
            made = replace(made, is_left_out=np.zeros_like(made.is_left_out))
        return generalize(engine, blocks, made, n_rows, asked)

    monkeypatch.setattr(out_of_core, "generalize_blocks", keep_all)
    flags = ("--k", 4, *ROLES, *ASKED["limit"], *METHODS["full-domain"], *ON_DISK, "-o", "r.csv")
    done = desk.call("run", "census.csv", *flags)
    assert done.status == 4
    assert "truth: the release differs" in done.err
    assert "in its groups, other columns" in done.err
    assert "suppressed rows: 0 of 1500 rows are suppressed" in done.err
    assert not (desk / "r.csv").exists()


def test_a_group_below_the_largest_k_of_its_rows_is_refused(desk, monkeypatch):
    from incrowd.methods.mondrian.method import Mondrian
    from incrowd.methods.shared.conditions import Conditions

    run = Mondrian.run

    def forget(self, rows, conditions, *given):
        return run(self, rows, Conditions(conditions.k), *given)

    monkeypatch.setattr(Mondrian, "run", forget)
    flags = ("--k", 4, *ROLES, *METHODS["mondrian"], "-o", "r.csv")
    for asked in (("--k-rule", "30 where age >= 60"), ("--l", 4)):
        here = desk.call("run", "census.csv", *asked, *flags)
        there = desk.call("run", "census.csv", *asked, *flags, *ON_DISK)
        assert here.status == there.status == 4
        name = "k-anonymity" if "--k-rule" in asked else "l-diversity"
        said = [done.err[done.err.index(f"{name}:") :].partition(";")[0] for done in (here, there)]
        assert said[0] == said[1]
        assert not (desk / "r.csv").exists()
