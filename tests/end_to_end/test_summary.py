"""The end of a run: what each column became, sample rows and the verdict, recounted."""

import csv
import io

import pytest

import incrowd as ic
from incrowd.flow.run import run
from incrowd.job.job import Job
from incrowd.sets.files import write_sets
from incrowd.sets.sets import Sets

RUN = ("run", "census.csv", "--k", 5, "--quasi", "age,sex,zip", "--sensitive", "diagnosis")


def job_of(desk, **stated):
    mapping = {
        "data": "census.csv",
        "output": "out.csv",
        "roles": {
            "age": "quasi-identifying",
            "zip": "quasi-identifying",
            "diagnosis": "sensitive",
            "occupation": "insensitive",
        },
        "hierarchies": {"age": "intervals:10,20", "zip": "prefix"},
        "guarantee": {"k": 8},
        "method": {"name": "mondrian"},
        **stated,
    }
    return Job.from_mapping(mapping, desk.folder)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_each_column_became_is_what_the_file_shows(desk, is_on_disk):
    data = "census.csv"
    if is_on_disk:  # rows of a folder stay on the disk engine
        (desk / "people").mkdir()
        (desk / "people" / "part.csv").write_bytes((desk / "census.csv").read_bytes())
        data = "people"
    release = run(job_of(desk, data=data))
    assert ("distinct_rows" in release.audit.method["parameters"]) == is_on_disk
    rows = desk.rows("out.csv")
    outcomes = {outcome.column: outcome for outcome in release.overview.outcomes}
    assert list(outcomes) == list(rows[0])
    originals = {name: {row[name] for row in desk.rows("census.csv")} for name in ("age", "zip")}
    for name, values in originals.items():
        shown = [row[name] for row in rows]
        n_starred = sum(cell == "*" for cell in shown)
        n_kept = sum(cell in values for cell in shown)
        assert outcomes[name].share_suppressed == pytest.approx(n_starred / len(rows))
        assert outcomes[name].share_unchanged == pytest.approx(n_kept / len(rows))
    assert outcomes["diagnosis"].words == "unchanged (sensitive)"
    assert outcomes["occupation"].words == "unchanged (insensitive)"
    assert "digit" in outcomes["zip"].words
    assert release.overview.columns == tuple(rows[0])
    written = [tuple(row.values()) for row in rows]
    assert len(release.overview.rows) == 5
    assert set(release.overview.rows) <= set(written)


def test_suppressed_rows_are_not_counted_as_released_cells(desk):
    release = run(job_of(desk, release={"suppression_limit": 0.05}, method={"name": "full-domain"}))
    assert release.audit.n_suppressed > 0
    for outcome in release.overview.outcomes:
        cells = [row[outcome.column] for row in desk.rows("out.csv")]
        starred = sum(cell == "*" for cell in cells) / len(cells)
        assert outcome.share_suppressed == pytest.approx(starred)


def test_python_has_the_overview_too():
    frame = ic.sample_census(300)
    release = ic.anonymize(frame, quasi=["age", "sex"], k=4, method="mondrian")
    assert [str(outcome).partition(":")[0] for outcome in release.overview.outcomes] == [
        "age",
        "sex",
    ]


def test_the_summary_is_short_and_verbose_has_the_rest(desk):
    finished = desk.call(*RUN, "--method", "mondrian")
    for words in ("what each column became", "information loss", "of the 1,500 released rows"):
        assert words in finished.out
    assert "verdict: holds" in finished.out
    assert "at least 4 others" in finished.out
    for words in ("discernibility", "canonical order", "MB of memory"):
        assert words not in finished.out
    full = desk.call(*RUN, "--method", "mondrian", "--force", "--verbose").out
    for words in ("discernibility", "canonical order", "MB of memory", "what each column became"):
        assert words in full
    sampled = [line for line in finished.out.splitlines() if line.startswith("    ")]
    released = next(csv.reader(io.StringIO((desk / "census.release.csv").read_text())))
    assert any(line.split() == released for line in sampled)


def test_sample_rows_that_are_too_wide_stand_side_by_side(desk):
    columns = ["age", "sex", "zip", "education", "occupation", "marital_status"]
    stated = (*RUN[:4], "--quasi", ",".join(columns), "--sensitive", "diagnosis")
    sampled = desk.call(*stated, "--method", "mondrian").out.partition("released rows")[2]
    lines = [line for line in sampled.splitlines() if line.startswith("    ")]
    assert [line.split()[0] for line in lines] == [*columns, "diagnosis"]
    ages = [row["age"] for row in desk.rows("census.release.csv")]
    assert len(lines[0].split()) == 6
    assert set(lines[0].split()[1:]) <= set(ages)


def test_a_finding_that_warns_is_always_shown(desk):
    finished = desk.call(
        *("run", "census.csv", "--k", 5, "--quasi", "age", "--insensitive", "zip,education,sex"),
        *("--accept-insensitive", "zip,education,sex", "--method", "mondrian"),
    )
    assert finished.status == 0, finished.err
    assert "(accepted)" in finished.out


def test_check_hides_what_holds_and_shows_what_does_not(desk):
    desk.call(*RUN, "--method", "mondrian", "-o", "out.csv")
    roles = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
    held = desk.call("check", "out.csv", "--k", 5, *roles)
    assert held.status == 0
    assert "smallest group has 5" in held.out
    assert "row numbers" not in held.out
    assert "further findings hold" in held.out
    assert "row numbers" in desk.call("check", "out.csv", "--k", 5, *roles, "--verbose").out
    broken = desk.call("check", "out.csv", "--k", 50, *roles)
    assert broken.status == 1
    assert "does not hold" in broken.out


def test_sets_in_their_words(desk):
    lists = [[0, 1, 2], [0, 1], [0, 1, 3], [4, 5], [4, 5], [4, 5, 6]]
    starts = [0]
    for one in lists:
        starts.append(starts[-1] + len(one))
    import numpy as np

    items = np.asarray([item for one in lists for item in one], dtype=np.int32)
    write_sets(Sets(np.asarray(starts, dtype=np.int64), items, 7), desk / "lists.dat")
    finished = desk.call("run", "lists.dat", "--guarantee", "suppression", "--k", 3)
    assert finished.status == 0, finished.err
    assert "what became of the lists" in finished.out
    assert "80% kept, 20% suppressed, none added" in finished.out  # 12 of 15 entries
    assert "4 are still shown" in finished.out
    assert "4 5" in finished.out


def test_transactions_in_their_words(desk):
    (desk / "visits.dat").write_text("b c e g h\na c d i j\na f l\nb e g h\nd f l\n")
    (desk / "rules.txt").write_text("a c -> h\n")
    finished = desk.call(
        *("run", "visits.dat", "--rules", "rules.txt", "--sensitive-items", "h"),
        *("--k", 2, "--confidence", 0.5),
    )
    assert finished.status == 0, finished.err
    assert "of the public items unchanged" in finished.out
    assert "verdict: holds" in finished.out


def test_ages_templates_and_numbers_as_the_file_writes_them(desk):
    lines = ["Geburtsdatum;PLZ;HbA1c"]
    for number in range(60):
        lines.append(
            f"{1 + number % 28:02}.03.{1950 + number % 40};1011{number % 8};5,{number % 5}"
        )
    (desk / "export.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    job = Job.from_mapping(
        {
            "data": "export.csv",
            "output": "out.csv",
            "roles": {
                "Geburtsdatum": "quasi-identifying",
                "PLZ": "quasi-identifying",
                "HbA1c": "sensitive",
            },
            "hierarchies": {
                "Geburtsdatum": "age:2026-01-01,intervals:10,20",
                "PLZ": "postcode:DE",
            },
            "guarantee": {"k": 10},
            "method": {"name": "mondrian"},
        },
        desk.folder,
    )
    overview = run(job).overview
    words = {outcome.column: outcome.words for outcome in overview.outcomes}
    assert words["Geburtsdatum"].startswith("age")
    assert "ranges of " in words["Geburtsdatum"]
    assert "unchanged" not in words["Geburtsdatum"]
    written = {tuple(row.values()) for row in desk.rows("out.csv", ";")}
    assert set(overview.rows) <= written
    assert all("," in row[2] for row in overview.rows)
