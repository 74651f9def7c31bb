"""What Python passes is taken as a job file takes it, or refused with what was expected."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import incrowd as ic
from incrowd.hierarchies.specs import HierarchySpec

SCHEMA = ic.Schema(quasi=["age"], sensitive=["diagnosis"])
JOB = ic.Job(ic.KAnonymity(5), SCHEMA, ic.Mondrian())


@pytest.fixture(scope="module")
def census():
    return ic.sample_census(200, 3)


@pytest.mark.parametrize(
    "stated",
    [
        {"guarantee": 5},
        {"guarantee": {"k": 5}},
        {"guarantee": {"name": "k-anonymity", "k": 5}},
        {"schema": {"quasi": ["age"], "sensitive": ["diagnosis"]}},
        {"schema": {"age": "quasi-identifying", "diagnosis": "sensitive"}},
        {"method": "mondrian"},
        {"method": {"name": "mondrian"}},
        {"guarantee": ic.KAnonymity(np.int64(5))},
        {"release": {"suppression_limit": 0.0}},
        {"engine": "local"},
        {"input": {}},
        {"seed": 0},
    ],
    ids=str,
)
def test_a_job_takes_what_a_job_file_states(stated):
    parts = {"guarantee": ic.KAnonymity(5), "schema": SCHEMA, "method": ic.Mondrian()}
    assert ic.Job(**{**parts, **stated}) == JOB


@pytest.mark.parametrize(
    ("stated", "spec"),
    [
        ({"intervals": [5, 10]}, "intervals:5,10"),
        ({"intervals": [5, 10], "from": 20}, "intervals:5,10,from=20"),
        ({"prefix": True}, "prefix"),
        ({"file": "age.csv", "missing": "suppress"}, "age.csv,missing=suppress"),
        (Path("age.csv"), "age.csv"),
        ("flat", "flat"),
        (HierarchySpec.parse("flat"), "flat"),
    ],
    ids=str,
)
def test_builders_of_hierarchies(stated, spec):
    job = ic.Job(ic.KAnonymity(5), SCHEMA, hierarchies={"age": stated})
    assert job.hierarchies["age"] == HierarchySpec.parse(spec)


@pytest.mark.parametrize(
    ("stated", "told", "remedy"),
    [
        ({"guarantee": "5"}, "unknown guarantee '5'", "k-anonymity"),
        ({"guarantee": ic.KAnonymity}, "the class KAnonymity", "ic.KAnonymity(5)"),
        ({"guarantee": [5]}, "guarantee is not a promise but a list", "ic.KAnonymity(5)"),
        ({"guarantee": 5, "schema": ic.Schema()}, "not a promise but 5", "ic.KAnonymity(5)"),
        ({"guarantee": {"kk": 5}}, "unknown field 'kk'", "'k'"),
        ({"guarantee": SCHEMA}, "guarantee is not a promise but Schema", "ic.KAnonymity(5)"),
        ({"method": "mondrain"}, "unknown method 'mondrain'", "'mondrian'"),
        ({"method": ic.Mondrian}, "the class Mondrian (write Mondrian(…))", '"mondrian"'),
        ({"method": 3}, "method is not a method but 3", "cluster"),
        ({"schema": ["age"]}, "schema is not a schema but a list", "ic.Schema(quasi="),
        ({"schema": {"age": "quazi"}}, "unknown role 'quazi'", "Known: identifying, quasi-ident"),
        ({"hierarchies": "age=flat"}, "not a mapping of columns but 'age=flat'", "intervals:5,10"),
        ({"hierarchies": {"age": 5}}, "column 'age' is not a specification but 5", "intervals"),
        ({"hierarchies": {"age": {"interval": [5]}}}, "names 0 builders", "intervals"),
        ({"coding": {"age": 5}}, "[coding] age: not a table", "bottom"),
        ({"bins": {"age": "ten"}}, "is not a whole number", "whole number"),
        ({"data": pd.DataFrame()}, "data is a frame", "ic.anonymize(frame, job)"),
        ({"release": 3}, "release is not ReleaseOptions but 3", "ic.ReleaseOptions"),
        ({"engine": "sparc"}, "unknown engine 'sparc'", "'spark'"),
    ],
    ids=str,
)
def test_a_job_refuses_the_rest_with_what_it_takes(stated, told, remedy):
    parts = {"guarantee": ic.KAnonymity(5), "schema": SCHEMA}
    with pytest.raises(ic.InputError) as caught:
        ic.Job(**{**parts, **stated})
    assert told in str(caught.value)
    assert remedy in str(caught.value)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(ic.InputError) as caught:
        ic.Job(guarantee=[5], schema=["age"], method=3)
    for told in ("guarantee is not", "schema is not", "method is not"):
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: ic.KAnonymity("5"), "KAnonymity: k is not a whole number: it is '5'"),
        (lambda: ic.KAnonymity(True), "k is not a whole number"),
        (lambda: ic.ReleaseOptions(suppression_limit="0.05"), "suppression_limit is not a number"),
        (lambda: ic.InputOptions(missing_values=[1]), "missing_values is not a list of texts"),
        (lambda: ic.InputOptions(header="yes"), "header is not True or False"),
        (lambda: ic.FullDomain(maximum_levels=3), "maximum_levels is not a mapping"),
        (lambda: ic.Cluster(effort=[1]), "effort is not a text or a whole number: it is a list"),
        (lambda: ic.Schema(quasi=5), "quasi: not a list of column names but a int"),
        (lambda: ic.Schema(quasi=[5]), "holds others than texts"),
    ],
)
def test_options_check_their_types(made, told):
    with pytest.raises(ic.InputError, match=None) as caught:
        made()
    assert told in str(caught.value)
    assert caught.value.remedy


def test_options_take_what_means_the_same():
    assert ic.InputOptions(missing_values=["?"]).missing_values == ("?",)
    assert ic.InputOptions(missing_values="?, NA").missing_values == ("?", "NA")
    assert ic.KAnonymity(5, k_rules="10 where age < 20, 30").k_rules == ("10 where age < 20, 30",)
    assert ic.ReleaseOptions(report=Path("page.html")).report == "page.html"
    assert ic.InputOptions(header=np.bool_(True)).header is True
    assert type(ic.ReleaseOptions(suppression_limit=np.float32(0.25)).suppression_limit) is float


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ic.Job(ic.KAnonymity(5), shema=SCHEMA), "did you mean schema?"),
        (lambda: ic.KAnonymity(5, tt=3), "did you mean t?"),
        (lambda: ic.ReleaseOptions(supression_limit=0.1), "did you mean suppression_limit?"),
        (lambda: ic.Schema(quazi=["age"]), "did you mean quasi?"),
        (lambda: ic.anonymize(None, quazi=["age"], k=5), "did you mean quasi?"),
        (lambda: ic.check(None, 5, orginal=1), "did you mean original?"),
        (
            lambda: ic.midpoints(None, xyz=1),
            "it takes data, columns, bounds, limits, open_ranges, decimal",
        ),
    ],
)
def test_unknown_keywords_name_the_near_ones(call, told):
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        call()
    assert told in str(caught.value)


def test_python_counts_arguments_itself():
    with pytest.raises(TypeError, match="multiple values"):
        ic.KAnonymity(5, k=5)
    with pytest.raises(TypeError, match="missing 1 required"):
        ic.KAnonymity()
    with pytest.raises(TypeError, match="positional arguments"):
        ic.InputOptions(None, None, None, (), *range(50))


@pytest.mark.parametrize(
    ("call", "told", "remedy"),
    [
        (lambda frame: ic.anonymize(JOB, frame), "Job is given in their place", "Swap them"),
        (
            lambda frame: ic.anonymize(frame, ic.KAnonymity(5)),
            "not KAnonymity",
            "ic.Job(guarantee=",
        ),
        (lambda frame: ic.anonymize(frame, ["age"]), "expects a job, not a list", "ic.Job("),
        (lambda _: ic.anonymize([1], JOB), "list is not a supported data frame", "pandas"),
        (lambda frame: ic.check(ic.KAnonymity(5), frame), "comes first", "Swap them"),
        (lambda frame: ic.check(frame, SCHEMA, 5), "schema is not a schema but 5", "ic.Schema("),
        (lambda frame: ic.check(frame, [5], SCHEMA), "not a promise but a list", "ic.KAnonymity"),
        (lambda frame: ic.run(frame), "run expects a job, not Table", "ic.anonymize(frame, job)"),
        (lambda _: ic.run("census.csv"), "not 'census.csv'", "ic.Job(data="),
        (lambda frame: ic.compare(frame), "compare expects a job", "data=frame"),
        (lambda _: ic.compare(JOB), "names no data", "data"),
        (lambda frame: ic.anonymize(frame, JOB, progress=3), "progress", "progress=True"),
    ],
)
def test_swapped_and_wrong_arguments(census, call, told, remedy):
    with pytest.raises(ic.InputError) as caught:
        call(census)
    assert told in str(caught.value)
    assert remedy in str(caught.value)


def test_functions_take_what_a_job_file_states(census, tmp_path):
    tables = {
        "roles": {"age": "quasi-identifying", "diagnosis": "sensitive"},
        "guarantee": {"k": 5},
        "method": {"name": "mondrian"},
    }
    release = ic.anonymize(census, tables)
    assert release.data.equals(ic.anonymize(census, JOB).data)
    assert ic.check(release, tables).holds
    assert ic.check(release.data, 5, {"quasi": ["age"], "sensitive": ["diagnosis"]}).holds
    census.to_pandas().to_csv(tmp_path / "census.csv", index=False)
    (tmp_path / "job.toml").write_text(f'data = "census.csv"\n{JOB.to_toml()}', encoding="utf-8")
    written = ic.run(tmp_path / "job.toml")
    assert ic.check(written, tmp_path / "job.toml").holds


# ── progress ────────────────────────────────────────────────────────────────────────────────


def test_progress_is_a_bar_or_a_function(census, capsys, monkeypatch):
    told = []
    ic.anonymize(census, JOB, progress=lambda stage, *_: told.append(stage))
    assert {"reading", "searching", "auditing"} <= set(told)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("incrowd.bars.QUIET_SECONDS", 0.0)
    ic.anonymize(census, JOB, progress=True)  # no terminal: a line per stage
    lines = capsys.readouterr().err.splitlines()
    assert lines.index("reading …") < lines.index("searching …") < lines.index("auditing …")
    ic.anonymize(census, JOB)
    assert capsys.readouterr().err == ""
