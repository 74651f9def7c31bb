"""A table that is published month after month: its policy, what moves, and who comes back."""

import csv
import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field

import openpyxl
import polars as pl
import pytest

QUASI = ["age", "sex", "ward", "zip", "admitted"]
WARDS = ["ENT", "Eye", "Heart", "Lung", "Skin", "Bone"]
ZIPS = ["10115", "10117", "10243", "20095"]
DIAGNOSES = ["E11", "I10", "J45", "K21"]
STATED = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis", "--hierarchy", "zip=prefix"]


@dataclass
class Month:
    """What the batch of one month holds."""

    number: int
    patients: list[int]
    year: int = 2026
    wards: list[str] = field(default_factory=lambda: WARDS)
    zips: list[str] = field(default_factory=lambda: ZIPS)
    diagnoses: list[str] = field(default_factory=lambda: DIAGNOSES)

    def rows(self):
        for patient in self.patients:
            draw = random.Random(patient)  # people keep their age and where they live
            person = [draw.randint(18, 90), draw.choice("mf")]
            draw = random.Random(patient * 100 + self.number)
            day = f"{self.year}-{self.number:02d}-{draw.randint(1, 28):02d}"
            stay = [draw.choice(self.wards), draw.choice(self.zips), day]
            yield [f"P{patient:04d}", *person, *stay, draw.choice(self.diagnoses)]

    def write(self, path, delimiter=",", columns=None):
        head = ["patient", *QUASI, "diagnosis"]
        order = [head.index(name) for name in columns or head]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow([head[place] for place in order])
            writer.writerows([row[place] for place in order] for row in self.rows())


@pytest.fixture
def months(desk):
    Month(10, [*range(0, 240)]).write(desk / "oct.csv")
    # a new ward, a new postcode, a new diagnosis; other people
    november = Month(11, [*range(240, 460)], wards=[*WARDS, "Burns"], zips=[*ZIPS, "80331"])
    november.diagnoses = [*DIAGNOSES, "Z99"]
    november.write(desk / "nov.csv")
    Month(12, [*range(460, 560)], wards=WARDS[1:4]).write(desk / "dec.csv")
    return desk


def release(desk, data, *flags, **also):
    output = also.get("output") or data.replace(".csv", ".out.csv")
    return desk.call("run", data, "-o", output, "--json", *flags)


def save_october(desk, *flags):
    ran = release(desk, "oct.csv", "--k", 5, *STATED, "--save-policy", "p10", *flags)
    assert ran.status == 0, ran.err
    return ran


def combinations(desk, name):
    return Counter(tuple(row[column] for column in QUASI) for row in desk.rows(name))


def former(audit, name):
    return next(item for item in audit["findings"] if item["name"] == f"former release: {name}")


@pytest.mark.slow
def test_three_months(months):
    """Each month is k-anonymous alone, looks like the one before, and is held against all."""
    save_october(months, "--person", "patient")
    moving = ["--rebase", "admitted", "--policy-unfit", "search", "--save-policy", "p11"]
    november = release(months, "nov.csv", "--policy", "p10", *moving)
    assert november.status == 0, november.err
    december = release(months, "dec.csv", "--policy", "p11", "--save-policy", "p12")
    assert december.status == 0, december.err
    for name, n_rows, period in (("oct", 240, "-10"), ("nov", 220, "-11"), ("dec", 100, "-12")):
        found = combinations(months, f"{name}.out.csv")
        assert sum(found.values()) == n_rows
        assert min(found.values()) >= 5
        for combination in found:
            assert combination[-1] in ("*", "2026", "2020-2029") or period in combination[-1]
    figures = november.json["method"]["parameters"]
    assert figures["policy_combinations_unknown"] == 0
    assert 0 < figures["searched_rows"] < 220, "some of November fits October's combinations"
    assert former(november.json, "oct.out.csv")["holds"] is True
    assert {former(december.json, f"{name}.out.csv")["holds"] for name in ("oct", "nov")} == {True}
    recorded = json.loads((months / "p12/former.json").read_text())
    assert [item["path"] for item in recorded] == [f"../{m}.out.csv" for m in ("oct", "nov", "dec")]


def test_the_same_months_again_are_the_same_bytes(months):
    save_october(months)
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    for name in ("first", "second"):
        ran = release(months, "nov.csv", *flags, "--save-policy", name, output=f"{name}.csv")
        assert ran.status == 0, ran.err
    assert (months / "first.csv").read_bytes() == (months / "second.csv").read_bytes()
    first, second = (
        {path.name: path.read_bytes() for path in (months / name).iterdir()}
        for name in ("first", "second")
    )
    assert first.pop("former.json").replace(b"first", b"second") == second.pop("former.json")
    assert first == second


def test_dates_that_move_are_named_where_nothing_fits(months):
    save_october(months)
    refused = release(months, "nov.csv", "--policy", "p10")
    assert refused.status == 3
    assert "no combination covers the values of 'admitted' in 220 rows" in refused.err
    assert "--rebase" in refused.err
    assert not (months / "nov.out.csv").exists()
    searched = release(months, "nov.csv", "--policy", "p10", "--policy-unfit", "search")
    assert searched.status == 0, searched.err
    assert searched.json["method"]["parameters"]["searched_rows"] == 220
    assert min(combinations(months, "nov.out.csv").values()) >= 5


def test_rebased_dates_by_recount(months):
    """What is kept of October's combinations is their unit: a day, a month, a year."""
    save_october(months)
    flags = ["--rebase", "admitted", "--policy-unfit", "search"]
    ran = release(months, "nov.csv", "--policy", "p10", *flags)
    assert ran.status == 0, ran.err

    def units(name):
        return {(*line[:-1], len(line[-1])) for line in combinations(months, name)}

    figures = ran.json["method"]["parameters"]
    kept = [
        n
        for line, n in combinations(months, "nov.out.csv").items()
        if (*line[:-1], len(line[-1])) in units("oct.out.csv")
    ]
    assert sum(kept) >= 220 - figures["searched_rows"] > 0
    assert release(months, "nov.csv", "--policy", "p10", "--rebase", "age").status == 2
    assert release(months, "nov.csv", "--policy", "p10", "--rebase", "admited").status == 2


def test_a_range_that_no_value_of_the_batch_reaches_stays_a_range(months):
    """October's 25-44 is shown in November although nobody is 40 or older."""
    rows = [["age", "sex"], *([age, "m"] for age in (25, 31, 38, 44, 61, 66, 73, 80))]
    (months / "first.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    ladder = ["--hierarchy", "age=ranges:5,from=20,to=90", "--quasi", "age,sex", "--k", 4]
    saved = release(months, "first.csv", *ladder, "--save-policy", "p")
    assert saved.status == 0, saved.err
    shown = {row["age"] for row in months.rows("first.out.csv")}
    rows = [["age", "sex"], *([age, "m"] for age in (26, 27, 28, 33, 62, 63, 64, 65))]
    (months / "next.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    ran = release(months, "next.csv", "--policy", "p")
    assert ran.status == 0, ran.err
    assert {row["age"] for row in months.rows("next.out.csv")} == shown


def test_people_who_come_back(months):
    """They are counted; the release is refused, or made without them, or compared."""
    save_october(months, "--person", "patient")
    Month(11, [*range(200, 420)]).write(months / "back.csv")
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    refused = release(months, "back.csv", *flags)
    assert refused.status == 4
    assert "40 people of this batch are in it too, by column 'patient'" in refused.err
    assert not (months / "back.out.csv").exists()
    compared = release(months, "back.csv", *flags, "--repeated-people", "compare")
    assert compared.status == 4
    assert "40 people are in both: the intersection exposes" in compared.err
    made = release(months, "back.csv", *flags, "--repeated-people", "exclude")
    assert made.status == 0, made.err
    assert sum(combinations(months, "back.out.csv").values()) == 180
    assert former(made.json, "oct.out.csv")["holds"] is True
    key = ["--repeated-people", "exclude", "--key", "key.csv"]
    assert release(months, "back.csv", *flags, *key).status == 2


def test_everybody_comes_back_and_both_releases_show_the_same(months):
    """Groups of the same people in both expose nobody beyond what one of them does."""
    save_october(months, "--person", "patient", "--method", "mondrian")
    shutil.copy(months / "oct.csv", months / "again.csv")
    assert release(months, "again.csv", "--policy", "p10").status == 4
    ran = release(months, "again.csv", "--policy", "p10", "--repeated-people", "compare")
    assert ran.status == 0, ran.err
    found = former(ran.json, "oct.out.csv")
    assert found["holds"] is None
    assert found["figures"]["n_people_in_both"] == 240
    assert found["figures"]["n_exposed_people"] == 0


def test_identifying_columns_tell_people_apart_too(months):
    save_october(months, "--identifying", "patient")
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    ran = release(months, "nov.csv", *flags)
    assert ran.status == 0, ran.err
    found = former(ran.json, "oct.out.csv")
    assert found["holds"] is None
    assert "no value in common: 'patient'" in found["summary"]
    assert found["figures"]["n_overlapping_pairs"] > 0, "dates that move tell no groups apart"
    Month(11, [*range(200, 420)]).write(months / "back.csv")
    assert release(months, "back.csv", *flags).status == 4


def test_without_a_column_that_names_people_it_says_what_was_assumed(months):
    save_october(months)
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    ran = release(months, "nov.csv", *flags)
    found = former(ran.json, "oct.out.csv")
    assert found["holds"] is None
    assert found["summary"].startswith("assumed that nobody is in both (no column")
    exclude = release(months, "nov.csv", *flags, "--repeated-people", "exclude", output="x.csv")
    assert exclude.status == 2
    assert "no column identifies the people of oct.out.csv" in exclude.err
    compare = release(months, "nov.csv", *flags, "--repeated-people", "compare", output="x.csv")
    assert compare.status == 4, "somebody may be exposed, and nothing tells that nobody is"


@pytest.mark.slow
def test_a_former_release_that_was_moved(months):
    save_october(months)
    (months / "archive").mkdir()
    (months / "oct.out.csv").rename(months / "archive/october.csv")
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    ran = release(months, "nov.csv", *flags)
    assert ran.status == 0, ran.err
    assert "not where it was" in former(ran.json, "oct.out.csv")["summary"]
    asked = [*flags, "--repeated-people", "compare"]
    assert release(months, "nov.csv", *asked, output="x.csv").status == 2
    found = release(months, "nov.csv", *flags, "--former", "archive/october.csv", output="y.csv")
    assert "n_overlapping_pairs" in former(found.json, "oct.out.csv")["figures"]
    (months / "archive/october.csv").write_text("age\n1\n")
    changed = release(months, "nov.csv", *flags, "--former", "nothing.csv", output="z.csv")
    assert changed.status == 2
    none = release(months, "nov.csv", *flags, "--no-check-former", output="w.csv")
    assert not [one for one in none.json["findings"] if one["name"].startswith("former")]


def test_a_former_release_is_never_overwritten(months):
    save_october(months)
    before = (months / "oct.out.csv").read_bytes()
    ran = release(
        months, "nov.csv", "--policy", "p10", "--policy-unfit", "search", "--force",
        output="oct.out.csv",
    )  # fmt: skip
    assert ran.status == 2
    assert (months / "oct.out.csv").read_bytes() == before


def test_a_former_release_without_a_policy(months):
    save_october(months)
    words = ["--k", 5, *STATED, "--former", "oct.out.csv"]
    ran = release(months, "nov.csv", *words)
    assert ran.status == 0, ran.err
    assert former(ran.json, "oct.out.csv")["holds"] is None
    saved = release(months, "nov.csv", *words, "--save-job", "job.toml", output="again.csv")
    assert saved.status == 0, saved.err
    assert 'former = [\n    "oct.out.csv",\n]' in (months / "job.toml").read_text()
    assert release(months, "job.toml", "--force", output="again.csv").status == 0


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_another_dialect_and_order_of_columns(months, delimiter):
    save_october(months)
    columns = ["diagnosis", "admitted", "zip", "patient", "ward", "sex", "age"]
    Month(10, [*range(240)]).write(months / "other.csv", delimiter, columns)
    ran = release(months, "other.csv", "--policy", "p10")
    assert ran.status == 0, ran.err
    assert set(months.rows("other.out.csv", delimiter)[0]) == {*QUASI, "diagnosis"}
    assert ran.json["method"]["parameters"]["unfit_rows"] == 0


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_a_batch_in_another_container(months, ending):
    """Typed numbers and dates fit the combinations of a file of text."""
    save_october(months, "--identifying", "patient")
    batch = pl.read_csv(
        months / "oct.csv", try_parse_dates=True, schema_overrides={"zip": pl.String}
    )
    assert batch.schema["admitted"] == pl.Date
    if ending == "parquet":
        batch.write_parquet(months / "typed.parquet")
    else:
        write_workbook(months / "typed.xlsx", batch)
    flags = ["--policy", "p10", "--no-check-former"]
    ran = release(months, f"typed.{ending}", *flags, output="out.csv")
    assert ran.status == 0, ran.err
    figures = ran.json["method"]["parameters"]
    assert figures["unfit_rows"] == figures["policy_combinations_unknown"] == 0
    assert set(combinations(months, "out.csv")) <= set(combinations(months, "oct.out.csv"))
    people = release(months, f"typed.{ending}", "--policy", "p10", output="x.csv")
    assert people.status == 4
    assert "240 people of this batch are in it too" in people.err


def write_workbook(path, frame):
    workbook = openpyxl.Workbook()
    workbook.active.append(frame.columns)
    for row in frame.rows():
        workbook.active.append(row)
    workbook.save(path)


def test_coded_columns_stay_coded(months):
    save_october(months, "--top", "age=75")
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    ran = release(months, "nov.csv", *flags)
    assert ran.status == 0, ran.err
    assert ran.json["method"]["parameters"]["policy_combinations_unknown"] == 0
    ages = {row["age"] for row in months.rows("nov.out.csv")}
    assert not ages & {str(age) for age in range(76, 100)}


def test_batches_that_do_not_belong_to_the_policy(months):
    save_october(months)
    Month(11, [1, 2, 3]).write(months / "few.csv")
    few = release(months, "few.csv", "--policy", "p10", "--policy-unfit", "search")
    assert few.status == 3, "three rows are fewer than k"
    Month(11, [*range(50)]).write(months / "less.csv", columns=["age", "sex", "ward", "diagnosis"])
    less = release(months, "less.csv", "--policy", "p10")
    assert less.status == 2
    assert "'zip'" in less.err
    text = (months / "nov.csv").read_text().replace("ward", "station", 1)
    (months / "renamed.csv").write_text(text)
    renamed = release(months, "renamed.csv", "--policy", "p10")
    assert renamed.status == 2
    assert "'ward'" in renamed.err
    (months / "empty.csv").write_text(text.splitlines()[0] + "\n")
    assert release(months, "empty.csv", "--policy", "p10").status == 2


def test_new_values_of_a_hierarchy_from_a_file(months):
    """They are named, with where to add them; or go under the root where that is stated."""
    file = "".join(f"{ward};{'head' if ward in ('ENT', 'Eye') else 'body'};*\n" for ward in WARDS)
    (months / "wards.csv").write_text(file)
    save_october(months, "--hierarchy", "ward=wards.csv")
    flags = ["--policy", "p10", "--rebase", "admitted", "--policy-unfit", "search"]
    refused = release(months, "nov.csv", *flags)
    assert refused.status == 2
    assert "Burns" not in refused.err
    assert "'Burns'" in release(months, "nov.csv", *flags, "--show-values").err
    (months / "wards.csv").write_text(file + "Burns;body;*\n")
    added = release(months, "nov.csv", *flags, "--hierarchy", "ward=wards.csv")
    assert added.status == 0, added.err
    as_root = ["--hierarchy", "ward=p10/hierarchy-2.json,missing=suppress"]
    assert release(months, "nov.csv", *flags, *as_root, output="x.csv").status == 0


def test_hierarchies_of_sensitive_columns_are_found_from_the_policy(months):
    (months / "tree.csv").write_text("".join(f"{one};{one[0]};*\n" for one in DIAGNOSES))
    closeness = ["--t", 0.7, "--t-kind", "hierarchical", "--hierarchy", "diagnosis=tree.csv"]
    save_october(months, *closeness)
    Month(11, [*range(240, 460)]).write(months / "nov.csv")
    ran = release(months, "nov.csv", "--policy", "p10", "--policy-unfit", "search")
    assert ran.status == 0, ran.err


@pytest.mark.slow
def test_a_damaged_policy_is_refused(months):
    save_october(months, "--person", "patient")
    flags = ["--policy", "p10", "--policy-unfit", "search"]
    for name in ("former.json", "values.json", "combinations.csv", "people-1.csv"):
        whole = (months / "p10" / name).read_bytes()
        for content in ("", "[1]", '{"age": 3}', "column 1\nab\n"):
            (months / "p10" / name).write_text(content)
            ran = release(months, "oct.csv", *flags, output="x.csv")
            assert ran.status == 2, (name, content, ran.err)
            assert not (months / "x.csv").exists()
        (months / "p10" / name).write_bytes(whole)
    assert release(months, "oct.csv", *flags, "--no-check-former", output="x.csv").status == 0
