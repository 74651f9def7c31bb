"""The words of ``incrowd`` on frames of every kind."""

import inspect
import re
from dataclasses import fields, is_dataclass

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import incrowd as ic

JOB = ic.Job(
    schema=ic.Schema(quasi=["age", "sex", "zip"], sensitive=["diagnosis"]),
    guarantee=ic.KAnonymity(4),
)
KINDS = {
    "pyarrow": (lambda table: table, pa.Table),
    "pandas": (lambda table: table.to_pandas(), pd.DataFrame),
    "polars": (lambda table: pl.from_arrow(table), pl.DataFrame),
}

HANDED_OUT = ("Audit", "Comparison", "Finding", "Hierarchy", "JobProposal", "Plot", "Release")
"""What users are given, not what they make."""


@pytest.fixture(scope="module")
def census():
    return ic.sample_census(600, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_comes_back(census, kind):
    make, expected = KINDS[kind]
    frame = make(census)
    release = ic.anonymize(frame, JOB)
    assert isinstance(release.data, expected)
    assert release.audit.holds
    columns = (
        pl.DataFrame(pl.from_arrow(pa.table(release.data)))
        if kind == "pyarrow"
        else (pl.DataFrame(release.data))
    )
    sizes = columns.group_by(["age", "sex", "zip"]).len()["len"]
    assert sizes.min() >= 4
    assert sizes.sum() == 600
    assert ic.check(release.data, ic.KAnonymity(4), JOB.schema).holds


def test_every_kind_gives_the_same_release(census):
    texts = set()
    for make, _ in KINDS.values():
        released = ic.anonymize(make(census), JOB).data
        rows = pl.DataFrame(pl.from_arrow(released) if isinstance(released, pa.Table) else released)
        texts.add(rows.write_csv())
    assert len(texts) == 1


def test_types_survive_where_nothing_was_generalized(census):
    job = ic.Job(
        schema=ic.Schema(quasi=["sex"], sensitive=["age"], insensitive=[]),
        guarantee=ic.KAnonymity(2),
    )
    released = ic.anonymize(census, job).data
    assert released.schema.field("age").type == census.schema.field("age").type
    generalized = ic.anonymize(census, JOB).data
    assert generalized.schema.field("age").type == pa.string()


def test_frames_are_left_as_they_were(census):
    frame = census.to_pandas()
    copy = frame.copy(deep=True)
    ic.anonymize(frame, JOB)
    pd.testing.assert_frame_equal(frame, copy)


def test_an_index_and_categories_leave_no_trace(census):
    frame = census.to_pandas().set_index("name")
    frame["zip"] = frame["zip"].astype("category")
    released = ic.anonymize(frame, JOB).data
    assert released.index.equals(pd.RangeIndex(len(released)))
    assert set(released["zip"].cat.categories) == set(released["zip"])


def test_mixed_and_nested_columns_are_refused(census):
    frame = census.to_pandas()
    frame["age"] = [*frame["age"][:-1], "old"]
    with pytest.raises(ic.InputError, match="age"):
        ic.anonymize(frame, JOB)
    nested = census.append_column("list", pa.array([[1]] * census.num_rows))
    with pytest.raises(ic.InputError, match="list"):
        ic.anonymize(nested, JOB)


def test_infeasible_and_unknown_are_told(census):
    with pytest.raises(ic.InfeasibleError, match="600"):
        ic.anonymize(census, ic.Job(schema=JOB.schema, guarantee=ic.KAnonymity(601)))
    wrong = ic.Job(schema=ic.Schema(quasi=["agee"]), guarantee=ic.KAnonymity(2))
    with pytest.raises(ic.InputError, match="'age'"):
        ic.anonymize(census, wrong)


def test_a_job_survives_its_file(tmp_path):
    job = ic.Job(
        schema=ic.Schema(["age", "zip"], ["diagnosis"], identifying=["name"], person="id"),
        guarantee=ic.KAnonymity(7, l=2.5, l_kind="entropy", t=0.4, k_column="k"),
        method=ic.Mondrian(metric="ncp", strict=False),
        hierarchies={"age": "intervals:5,10,from=20,to=80", "zip": "prefix:1,3"},
        data=tmp_path / "x.csv",
        output=tmp_path / "y.csv",
        seed=5,
    )
    (tmp_path / "job.toml").write_text(job.to_toml(tmp_path))
    assert ic.Job.load(tmp_path / "job.toml") == job
    assert str(tmp_path) not in (tmp_path / "job.toml").read_text()


def test_impossible_jobs_are_refused_at_once():
    schema = ic.Schema(quasi=["age"])
    for wrong in [
        {"schema": ic.Schema(sensitive=["age"]), "guarantee": ic.KAnonymity(2)},
        {"schema": schema, "guarantee": ic.KAnonymity(2, l=2)},
        {"schema": schema, "guarantee": ic.KAnonymity(2, stars="excluded")},
        {"schema": schema, "guarantee": ic.KAnonymity(2, k_column="age")},
        {"schema": schema, "guarantee": ic.KAnonymity(2), "hierarchies": {"age": "mean"}},
        {"schema": schema, "guarantee": ic.KAnonymity(2), "seed": -1},
    ]:
        with pytest.raises(ic.InputError) as caught:
            ic.Job(**wrong)
        assert caught.value.remedy


def test_all_contradictions_of_a_job_are_told_at_once():
    with pytest.raises(ic.InputError) as caught:
        ic.Job(
            schema=ic.Schema(quasi=["age"]),
            guarantee=ic.KAnonymity(2, l=2, k_column="age"),
            bins={"zip": 3},
            seed=-1,
        )
    problems = [problem.what for problem in caught.value.problems]
    assert len(problems) == 4
    assert all(what in str(caught.value) for what in problems)
    for word in ("seed", "sensitive columns", "'age' holds each person's k", "'zip'"):
        assert any(word in what for what in problems), word


def test_an_idle_hierarchy_is_a_note(census):
    job = ic.Job(
        schema=ic.Schema(quasi=["age"], insensitive=["sex"]),
        guarantee=ic.KAnonymity(2),
        hierarchies={"zip": "flat", "sex": "flat"},
    )
    notes = ic.anonymize(census, job).audit.notes
    assert "column 'zip' is not released: its hierarchy is not used" in notes
    assert "column 'sex' is insensitive: its hierarchy is not used" in notes
    misspelt = ic.Job(
        schema=ic.Schema(quasi=["age"]),
        guarantee=ic.KAnonymity(2),
        hierarchies={"zp": "flat"},
    )
    with pytest.raises(ic.InputError, match="'zip'"):
        ic.anonymize(census, misspelt)


@pytest.mark.parametrize("name", ic.__all__)
def test_help_explains_every_parameter(name):
    """``help()`` of what a user makes has a section with a line for every parameter."""
    public = getattr(ic, name)
    if not isinstance(public, type) or not is_dataclass(public) or name in HANDED_OUT:
        return
    section = inspect.getdoc(public).partition("\nParameters\n----------\n")[2]
    for item in fields(public):
        explained = re.search(rf"^{item.name} : .+\n    \S+", section, re.M)
        assert explained, f"{name}.{item.name}"
