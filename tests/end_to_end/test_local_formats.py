"""A hospital's export: semicolons, dd.mm.yyyy, decimal commas and currencies, there and back."""

import csv
import random
import tomllib
from collections import Counter
from datetime import date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic

HEADER = [
    *("Patient", "Geburtsdatum", "Aufnahmedatum", "Entlassdatum", "Gewicht", "Kosten"),
    *("PLZ", "Hauptdiagnose"),
]
ROLES = (
    *("--quasi", "Geburtsdatum,Gewicht,PLZ", "--sensitive", "Hauptdiagnose,Kosten"),
    *("--identifying", "Patient"),
)
K = ("--k", 5, "--effort", 500)


def admissions(n_rows=240, seed=7):
    """Return made-up admissions as a German hospital's system exports them."""
    draw = random.Random(seed)
    rows = []
    for number in range(n_rows):
        birth = date(1935, 1, 1) + timedelta(days=draw.randrange(29_000))
        admitted = datetime(2024, 1, 1) + timedelta(minutes=draw.randrange(500_000))
        left = admitted.date() + timedelta(days=draw.randrange(30))
        cost = f"{draw.uniform(80, 25_000):,.2f}".translate(str.maketrans(",.", ".,"))
        rows.append(
            (
                f"P{number}",
                f"{birth:%d.%m.%Y}",
                f"{admitted:%d.%m.%Y %H:%M}",
                f"{left:%d.%m.%Y}",
                f"{draw.uniform(48, 120):.1f}".replace(".", ","),
                f"{cost} €",
                draw.choice(["80331", "80333", "01067", "01069", "10115"]),
                draw.choice(["E11.9", "I10.00", "J18.9", "Übelkeit"]),
            )
        )
    return rows


def write(path, rows, encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=";", lineterminator="\n").writerows([HEADER, *rows])


@pytest.fixture
def clinic(desk):
    write(desk / "klinik.csv", admissions())
    (desk / "private").mkdir(exist_ok=True)
    return desk


def test_a_german_export_is_released_and_checked_by_a_stranger_and_its_owner(clinic):
    made = clinic.call(
        "run", "klinik.csv", "-o", "out.csv", *K, *ROLES, "--key", "private/key.csv",
        "--save-job", "job.toml", "--certificate", "cert.json", "--certificate-for", "public",
        "--report", "page.html", "--report-for", "public",
        "--hierarchy", "Geburtsdatum=dates:month,quarter,year,decade",
    )  # fmt: skip
    assert made.status == 0, made.err
    assert "column 'Geburtsdatum': dates as dd.mm.yyyy" in made.err
    assert "column 'Gewicht': numbers as 1234,5" in made.err
    released = clinic.rows("out.csv", ";")
    groups = Counter(tuple(row[name] for name in ROLES[1].split(",")) for row in released)
    assert min(groups.values()) >= 5
    originals = [dict(zip(HEADER, row, strict=True)) for row in admissions()]
    key = {int(line["released_row"]): int(line["original_row"]) for line in
           clinic.rows("private/key.csv")}  # fmt: skip
    for number, row in enumerate(released, 1):
        original = originals[key[number] - 1]
        assert row["Kosten"] == original["Kosten"]
        assert row["Hauptdiagnose"] == original["Hauptdiagnose"]
        assert _is_true(row["Geburtsdatum"], original["Geburtsdatum"])
    stranger = clinic.call("check", "out.csv", *K[:2], *ROLES[:4])
    assert stranger.status == 0, stranger.err
    owner = clinic.call(
        "check", "out.csv", "--job", "job.toml", "--original", "klinik.csv", "--key",
        "private/key.csv", "--utility", "statistics", "--json",
    )  # fmt: skip
    assert owner.status == 0, owner.err
    assert {"key", "utility: statistics"} <= {found["name"] for found in owner.json["findings"]}
    verified = clinic.call("verify-certificate", "out.csv", "cert.json", "--report", "again.html")
    assert verified.status == 0, verified.err
    assert (clinic / "again.html").read_bytes() == (clinic / "page.html").read_bytes()


def _is_true(shown, written):
    """Whether a released cell tells the truth of a day, by the labels' own words."""
    day = datetime.strptime(written, "%d.%m.%Y").date()
    quarter = f"{day.year}-Q{(day.month + 2) // 3}"
    decade = f"{day.year // 10 * 10}-{day.year // 10 * 10 + 9}"
    return shown in ("*", written, f"{day:%Y-%m}", quarter, str(day.year), decade)


def test_cells_that_are_not_generalized_are_written_as_they_were(desk):
    rows = [row for row in admissions(12) for _ in range(5)]
    write(desk / "klinik.csv", [(f"P{place}", *row[1:]) for place, row in enumerate(rows)])
    quasi = "Geburtsdatum,Aufnahmedatum,Gewicht,Kosten"
    made = desk.call(
        "run", "klinik.csv", "-o", "out.csv", "--k", 5, "--quasi", quasi, "--identifying", "Patient"
    )
    assert made.status == 0, made.err
    names = quasi.split(",")
    before = Counter(tuple(row[name] for name in names) for row in desk.rows("klinik.csv", ";"))
    after = Counter(tuple(row[name] for name in names) for row in desk.rows("out.csv", ";"))
    assert after == before


def test_the_saved_job_makes_the_same_bytes(clinic):
    run = ("run", "klinik.csv", "-o", "out.csv", *K, *ROLES, "--save-job", "job.toml")
    assert clinic.call(*run).status == 0
    job = tomllib.loads((clinic / "job.toml").read_text(encoding="utf-8"))
    assert job["input"]["date_formats"] == {"Geburtsdatum": "dd.mm.yyyy"}
    assert job["input"]["number_formats"] == {"Gewicht": "1234,5"}
    first = (clinic / "out.csv").read_bytes()
    again = clinic.call("run", "job.toml", "--force")
    assert again.status == 0, again.err
    assert (clinic / "out.csv").read_bytes() == first


@pytest.mark.parametrize(
    "hierarchy",
    ["Geburtsdatum=dates:year,decade", "Geburtsdatum=age:Aufnahmedatum,intervals:5,10"],
)
def test_memory_and_disk_release_the_same_bytes(clinic, hierarchy):
    asked = (*K, *ROLES, "--hierarchy", hierarchy)
    in_memory = clinic.call("run", "klinik.csv", "-o", "memory.csv", *asked)
    assert in_memory.status == 0, in_memory.err
    (clinic / "parts").mkdir()
    rows = admissions()
    write(clinic / "parts/1.csv", rows[:100])
    write(clinic / "parts/2.csv", rows[100:])
    on_disk = clinic.call("run", "parts", "-o", "disk.csv", *asked)
    assert on_disk.status == 0, on_disk.err
    assert (clinic / "disk.csv").read_bytes() == (clinic / "memory.csv").read_bytes()


def test_ages_and_days_replace_dates_and_hold(clinic):
    made = clinic.call(
        "run", "klinik.csv", "-o", "out.csv", *K, "--quasi", "Geburtsdatum,Entlassdatum",
        "--sensitive", "Hauptdiagnose", "--key", "private/key.csv", "--save-job", "job.toml",
        "--hierarchy", "Geburtsdatum=age:2026-01-01,intervals:10,20",
        "--hierarchy", "Entlassdatum=days-since:Aufnahmedatum", "--json",
    )  # fmt: skip
    assert made.status == 0, made.err
    notes = made.json["notes"]
    assert "column 'Geburtsdatum': age in completed years on 2026-01-01" in notes
    assert "column 'Entlassdatum': days since the date in 'Aufnahmedatum'" in notes
    released = clinic.rows("out.csv", ";")
    assert list(released[0]) == ["Geburtsdatum", "Entlassdatum", "Hauptdiagnose"]
    shown = {row["Geburtsdatum"] for row in released}
    assert not any("." in cell for cell in shown)
    assert any("-" in cell for cell in shown)
    check = ("check", "out.csv", "--job", "job.toml", "--original", "klinik.csv")
    held = clinic.call(*check, "--key", "private/key.csv")
    assert held.status == 0, held.err
    # an age of somebody else is found by the owner
    text = (clinic / "out.csv").read_text(encoding="utf-8")
    younger, older = sorted(cell for cell in shown if cell != "*")[:2]
    text = text.replace(f"\n{younger};", f"\n{older};")
    (clinic / "out.csv").write_text(text, encoding="utf-8")
    assert clinic.call(*check, "--key", "private/key.csv").status == 1


def test_an_open_order_of_day_and_month_is_asked_for(desk):
    draw = random.Random(2)
    rows = [(f"{draw.randint(1, 12):02d}/{draw.randint(1, 12):02d}/19{draw.randint(50, 99)}", "x")
            for _ in range(60)]  # fmt: skip
    with (desk / "visits.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("born", "why"), *rows])
    run = ("run", "visits.csv", "-o", "out.csv", "--k", 3, "--quasi", "born")
    refused = desk.call(*run)
    assert refused.status == 2
    assert "column 'born': its dates may be written as dd/mm/yyyy or mm/dd/yyyy" in refused.err
    assert "--date-format born=dd/mm/yyyy" in refused.err
    assert not (desk / "out.csv").exists()
    stated = desk.call(*run, "--date-format", "born=mm/dd/yyyy")
    assert stated.status == 0, stated.err
    # nobody asks where the column is published as it is, or removed
    kept = (
        "run",
        "visits.csv",
        "-o",
        "kept.csv",
        "--k",
        3,
        "--quasi",
        "why",
        "--sensitive",
        "born",
    )
    assert desk.call(*kept).status == 0
    wrong = desk.call(*run, "--date-format", "born=dd.mm.yyyy", "--force")
    assert wrong.status == 2
    assert "60 rows (row 1, 2, 3, 4, 5, …) not written as dd.mm.yyyy" in wrong.err


def test_thousands_or_decimals_are_asked_for(desk):
    rows = [(f"{place % 9 + 1}.{place % 7 + 1}00", "x") for place in range(63)]
    with (desk / "pay.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("pay", "why"), *rows])
    run = ("run", "pay.csv", "-o", "out.csv", "--k", 3, "--quasi", "pay", "--sensitive", "why")
    refused = desk.call(*run)
    assert refused.status == 2
    assert "--number-format pay=1.234,5" in refused.err
    stated = desk.call(*run, "--number-format", "pay=1.234,5", "--hierarchy", "pay=intervals:5000")
    assert stated.status == 0, stated.err
    assert {row["pay"] for row in desk.rows("out.csv")} <= {"0-4999", "5000-9999", "*"} | {
        row[0] for row in rows
    }


def test_string_columns_of_parquet_and_of_frames_are_read_alike(clinic):
    columns = dict(zip(HEADER, zip(*admissions(), strict=True), strict=True))
    parquet.write_table(pa.table(columns), clinic / "klinik.parquet")
    assert clinic.call("run", "klinik.csv", "-o", "out.csv", *K, *ROLES).status == 0
    assert clinic.call("run", "klinik.parquet", "-o", "out.parquet", *K, *ROLES).status == 0
    job = ic.Job(
        schema=ic.Schema(
            quasi=ROLES[1].split(","), sensitive=ROLES[3].split(","), identifying=["Patient"]
        ),
        guarantee=ic.KAnonymity(5),
        method=ic.Cluster(effort=500),
    )
    release = ic.anonymize(pd.DataFrame(columns), job)
    shown = [tuple(row.values()) for row in clinic.rows("out.csv", ";")]
    typed = parquet.read_table(clinic / "out.parquet").to_pylist()
    assert [tuple(row.values()) for row in typed] == shown
    assert list(release.data.itertuples(index=False, name=None)) == shown


def test_a_policy_shows_the_next_batch_by_the_same_formats(clinic):
    made = clinic.call(
        "run", "klinik.csv", "-o", "out.csv", *K, *ROLES, "--hierarchy",
        "Geburtsdatum=dates:decade", "--hierarchy", "Gewicht=intervals:20,40",
        "--save-policy", "private/policy",
    )  # fmt: skip
    assert made.status == 0, made.err
    write(clinic / "next.csv", admissions(400, seed=8))
    again = clinic.call("run", "next.csv", "--policy", "private/policy", "-o", "next.out.csv")
    assert again.status in (0, 3), again.err
    policy = tomllib.loads((clinic / "private/policy/policy.toml").read_text(encoding="utf-8"))
    assert policy["input"]["date_formats"] == {"Geburtsdatum": "dd.mm.yyyy"}


def test_a_written_hierarchy_has_the_values_of_the_file(clinic):
    made = clinic.call(
        "hierarchy", "klinik.csv", "Geburtsdatum", "--build", "dates:year", "-o", "born.csv"
    )
    assert made.status == 0, made.err
    lines = (clinic / "born.csv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        day, year, root = line.split(";")
        assert (day[-4:], root) == (year, "*")
    assert {line.split(";")[0] for line in lines} == {row[1] for row in admissions()}
    stated = clinic.call(
        "run", "klinik.csv", "-o", "out.csv", *K, *ROLES, "--hierarchy", "Geburtsdatum=born.csv"
    )
    assert stated.status == 0, stated.err
    ages = clinic.call(
        "hierarchy", "klinik.csv", "Geburtsdatum", "--build", "age:Aufnahmedatum", "--json"
    )
    assert ages.status == 0, ages.err


def test_init_proposes_dates_and_asks_for_open_formats(clinic):
    proposed = clinic.call("init", "klinik.csv", "--json").json
    by_column = {each["column"]: each for each in proposed}
    assert by_column["Geburtsdatum"]["kind"] == "date"
    assert by_column["Geburtsdatum"]["hierarchy_spec_text"].startswith("dates")
    assert by_column["Gewicht"]["hierarchy_spec_text"] == "ranges"
    written = clinic.call("init", "klinik.csv", "-o", "job.toml")
    assert written.status == 0, written.err
    assert "would not run" not in written.err
    (clinic / "visits.csv").write_text(
        "born,why\n" + "".join(f"0{n % 9 + 1}/0{n % 7 + 1}/19{50 + n % 40},x\n" for n in range(60))
    )
    asked = clinic.call("init", "visits.csv", "--json")
    assert "--date-format born=dd/mm/yyyy" in asked.err
    assert asked.json[0]["hierarchy_spec_text"].startswith("dates")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_releases_the_same_bytes(clinic):
    asked = (*K, *ROLES, "--hierarchy", "Geburtsdatum=age:Aufnahmedatum,intervals:5,10")
    in_memory = clinic.call("run", "klinik.csv", "-o", "memory.csv", *asked)
    assert in_memory.status == 0, in_memory.err
    on_spark = clinic.call("run", "klinik.csv", "-o", "spark.csv", *asked, "--engine", "spark")
    assert on_spark.status == 0, on_spark.err
    assert (clinic / "spark.csv").read_bytes() == (clinic / "memory.csv").read_bytes()
