"""Templates of hierarchies in a run: stated or chosen, on disk as in memory, and in a policy."""

import csv
import random
import re

import pytest

ICD = ["I10.00", "I10.90", "I11.9", "I20.0", "E11.9", "E10.1", "C50.1", "J18.9", "S72.0"]


def write_patients(path, seed, n_rows=400):
    drawn = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["PLZ", "Hauptdiagnose", "Alter"])
        for _ in range(n_rows):
            zip_code = drawn.choice([10115, 10117, 10999, 80331, 80333, 81541, 20095])
            writer.writerow([zip_code, drawn.choice(ICD), drawn.randint(20, 80)])


@pytest.fixture
def ward(desk):
    write_patients(desk / "may.csv", 1)
    write_patients(desk / "june.csv", 2)
    return desk


def test_a_stated_template_is_used_and_a_zip_code_is_no_number(ward):
    ran = ward.call(
        *("run", "may.csv", "--k", 5, "--quasi", "PLZ,Hauptdiagnose,Alter"),
        *("--hierarchy", "Hauptdiagnose=icd10"),
    )
    assert ran.status == 0, ran.err
    rows = ward.rows("may.release.csv")
    shown = {row["PLZ"] for row in rows}
    assert all(re.fullmatch(r"\d{1,5}\**|\*", label) for label in shown), shown
    groups = {row["Hauptdiagnose"] for row in rows} - {*ICD, "*"}
    assert groups
    assert all(re.fullmatch(r"[A-Z]\d\d(\.-|-[A-Z]\d\d.*)", label) for label in groups), groups


def test_what_does_not_fit_ends_the_run_or_is_suppressed(ward):
    asked = ["run", "may.csv", "--k", 5, "--quasi", "PLZ,Alter"]
    refused = ward.call(*asked, "--hierarchy", "Alter=isco")
    assert refused.status == 2
    assert "no code of ISCO-08" in refused.err
    assert "Alter=isco,missing=suppress" in refused.err
    assert not (ward / "may.release.csv").exists()
    ran = ward.call(*asked, "--hierarchy", "Alter=isco,missing=suppress")
    assert ran.status == 0, ran.err


def test_memory_and_disk_give_the_same_bytes(ward):
    asked = ["run", "may.csv", "--k", 5, "--quasi", "PLZ,Hauptdiagnose"]
    assert ward.call(*asked, "-o", "memory.csv").status == 0
    ran = ward.call(*asked, "-o", "disk.csv", "--memory", "300MB", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["engine"]["rows"] == "on disk"
    assert (ward / "memory.csv").read_bytes() == (ward / "disk.csv").read_bytes()


def test_a_policy_puts_the_same_groups_on_the_next_batch(ward):
    ran = ward.call(
        *("run", "may.csv", "--k", 5, "--quasi", "PLZ,Hauptdiagnose"),
        *("--hierarchy", "Hauptdiagnose=icd10", "--save-policy", "look"),
    )
    assert ran.status == 0, ran.err
    assert '[hierarchies.PLZ]\npostcode = "DE"' in (ward / "look/policy.toml").read_text()
    again = ward.call("run", "june.csv", "--policy", "look", "--policy-unfit", "search")
    assert again.status == 0, again.err
    first = {(row["PLZ"], row["Hauptdiagnose"]) for row in ward.rows("may.release.csv")}
    second = {(row["PLZ"], row["Hauptdiagnose"]) for row in ward.rows("june.release.csv")}
    assert len(first & second) >= 0.8 * len(second)
