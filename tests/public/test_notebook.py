"""What a notebook shows: proposals of roles, charts, and results as frames."""

import pickle
import re
import xml.etree.ElementTree as ET

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import incrowd as ic

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def census():
    return ic.sample_census(300, 3)


@pytest.fixture(scope="module")
def release(census):
    return ic.anonymize(census, ic.Job(ic.KAnonymity(4), SCHEMA, ic.Mondrian()))


# ── proposals ───────────────────────────────────────────────────────────────────────────────


def test_roles_are_proposed_and_the_job_runs(census):
    proposal = ic.init(census, k=3)
    assert proposal.roles["age"] == "quasi-identifying"
    assert proposal.roles["name"] == "identifying"
    assert proposal.job.guarantee.k == 3
    assert proposal.job.schema.sensitive == ("diagnosis",)
    smaller = proposal.with_roles(identifying=["zip", "education", "occupation"])
    assert smaller.job.schema.quasi == ("age", "sex", "marital_status")
    assert ic.anonymize(census, smaller.job).audit.holds


def test_a_proposal_of_a_file_names_it(census, tmp_path):
    path = tmp_path / "census.csv"
    census.to_pandas().to_csv(path, index=False)
    proposal = ic.init(path, missing_values=["?"])
    assert proposal.job.data == path
    assert proposal.job.input.missing_values == ("?",)
    assert proposal.roles == ic.init(census).roles


def test_a_proposal_shows_itself(census):
    proposal = ic.init(census.rename_columns(["<b>id</b>", *census.column_names[1:]]))
    lines = repr(proposal).splitlines()
    assert lines[0] == "Proposed roles of 10 columns, 300 rows: to confirm"
    assert any(re.match(r"  age +quasi-identifying \(high\): ", line) for line in lines)
    shown = proposal._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;id" in shown
    frame = proposal.to_frame("polars")
    assert frame.filter(pl.col("column") == "diagnosis")["role"].to_list() == ["sensitive"]


def test_what_cannot_be_proposed_is_told(census):
    with pytest.raises(ic.InputError, match="k = 1"):
        ic.init(census, k=1)
    with pytest.raises(ic.InputError, match="list is not a supported data frame"):
        ic.init([1, 2])
    with pytest.raises(ic.InputError, match="quasi-identifying") as caught:
        _ = ic.init(pa.table({"diagnosis": ["a", "b"] * 20})).job
    assert "with_roles" in caught.value.remedy
    with pytest.raises(ic.InputError, match="Did you mean 'age'"):
        ic.init(census).with_roles(quasi=["agee"])


# ── charts ──────────────────────────────────────────────────────────────────────────────────


def test_a_chart_of_what_each_column_lost(release):
    plot = release.plot()
    lost = {row["column"]: row["loss"] for row in plot.data}
    assert set(lost) == {"age", "sex"}
    mean = sum(lost.values()) / 2
    assert mean == pytest.approx(release.audit.losses.loss)
    root = ET.fromstring(plot.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in plot.svg
    assert "<svg" in plot._repr_html_()
    assert repr(plot).startswith("Plot: What each column lost")


@pytest.mark.parametrize("column", ["age", "sex", "diagnosis"])
def test_a_chart_of_a_column_before_and_after(release, census, column):
    plot = release.plot(column)
    assert sum(row["before"] for row in plot.data) == census.num_rows
    assert sum(row["after"] for row in plot.data) == pytest.approx(census.num_rows)
    assert plot.title == f"{column}, before and after"


def test_charts_are_saved_for_their_owner(release, tmp_path):
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        path = release.plot().save(tmp_path / f"chart{ending}")
        assert path.read_bytes().startswith(start)
        assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ic.InputError, match="exists"):
        release.plot().save(tmp_path / "chart.svg")
    with pytest.raises(ic.InputError, match=r"\.jpg"):
        release.plot().save(tmp_path / "chart.jpg")


def test_no_column_no_chart(release):
    with pytest.raises(ic.InputError, match="'age'"):
        release.plot("agee")


def test_charts_of_sets():
    frame = pd.DataFrame([[column >= row % 3 for column in range(6)] for row in range(30)])
    release = ic.anonymize(sparse.csr_matrix(frame), ic.Job(ic.Smooth(4), method=ic.Mondrian()))
    kept = {row["what became of them"]: row["entries"] for row in release.plot().data}
    assert kept["kept"] + kept["suppressed"] == frame.to_numpy().sum()
    for what in ("items", "sizes"):
        assert ET.fromstring(release.plot(what).svg).tag.endswith("svg")
    with pytest.raises(ic.InputError, match="entries"):
        release.plot("age")


# ── results as frames ───────────────────────────────────────────────────────────────────────


def test_an_audit_is_a_frame(release):
    audit = release.audit
    frame = audit.to_frame()
    assert isinstance(frame, pd.DataFrame)
    findings = frame[frame["kind"] == "finding"]
    assert list(findings["name"]) == [finding.name for finding in audit.findings]
    assert findings["holds"].iloc[0]
    losses = frame[frame["kind"] == "loss"]
    assert dict(zip(losses["name"], losses["value"], strict=True)) == dict(audit.losses)
    assert isinstance(audit.to_frame("polars"), pl.DataFrame)
    assert isinstance(audit.to_frame("pyarrow"), pa.Table)
    with pytest.raises(ic.InputError, match="'polars'"):
        audit.to_frame("polar")


@pytest.mark.slow
def test_a_grid_is_compared_on_a_frame(census, tmp_path):
    job = ic.Job(ic.KAnonymity(2), SCHEMA, ic.Mondrian())
    found = ic.compare(job, ks=[3, 9], data=census.to_pandas(), n_queries=10)
    assert [point["status"] for point in found.points] == ["released", "released"]
    table = found.to_frame("polars")
    assert table["k"].to_list() == [3, 9]
    assert table["is_recommended"].sum() == 1
    census.to_pandas().to_csv(tmp_path / "census.csv", index=False)
    named = ic.Job(ic.KAnonymity(2), SCHEMA, data=tmp_path / "census.csv")
    with pytest.raises(ic.InputError, match="the job names a file"):
        ic.compare(named, data=census)


# ── releases and comparisons ────────────────────────────────────────────────────────────────


def test_a_release_shows_what_each_column_became_and_five_rows(release):
    shown = release._repr_html_()
    assert "k-anonymity holds" in shown
    assert "✓" in shown
    assert "✗" in ic.check(release.data, ic.KAnonymity(200), SCHEMA)._repr_html_()
    assert "What each column became" in shown
    assert "unchanged (sensitive)" in shown
    assert "5 released rows" in shown
    assert shown.count("<tr>") >= 2 + 1 + 3 + 1 + 5
    assert len(repr(release).splitlines()) < 8
    again = pickle.loads(pickle.dumps(release))
    assert again._repr_html_() == shown


def test_values_in_a_notebook_are_no_markup():
    table = pa.table({"<i>age</i>": ["<b>1</b>"] * 8, "ill": list("ab") * 4})
    shown = ic.anonymize(table, quasi=["<i>age</i>"], sensitive=["ill"], k=2)._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert "&lt;b&gt;1" in shown


def test_a_release_in_a_file_or_a_pickle_has_a_chart_too(release, census, tmp_path):
    census.to_pandas().to_csv(tmp_path / "census.csv", index=False)
    job = ic.Job(ic.KAnonymity(4), SCHEMA, ic.Mondrian(), data=tmp_path / "census.csv")
    written = ic.run(job)
    for known in (written, pickle.loads(pickle.dumps(release))):
        shares = {row["column"]: row for row in known.plot().data}
        assert set(shares) == {"age", "sex", "diagnosis"}
        assert shares["diagnosis"]["as it was"] == 1
        with pytest.raises(ic.InputError, match="not kept"):
            known.plot("age")


@pytest.mark.slow
def test_a_comparison_shows_its_points_and_a_chart(census):
    found = ic.compare(ic.Job(ic.KAnonymity(2), SCHEMA, "mondrian"), ks=[3, 9, 500], data=census)
    shown = found._repr_html_()
    assert shown.count("<tr>") >= 1 + 3
    assert "recommended" in shown
    assert {row["k"] for row in found.plot().data} == {3, 9}
