"""What users are handed: attributes, few lines in a terminal or a notebook, and a log."""

import json
import logging
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.measures.losses.tables import METRICS

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def release():
    job = ic.Job(ic.KAnonymity(4), SCHEMA, ic.Mondrian())
    return ic.anonymize(ic.sample_census(200, 3), job)


def test_losses_are_attributes_and_items(release):
    losses = release.audit.losses
    assert losses.loss == losses["loss"] == dict(losses)["loss"]
    assert set(METRICS) <= set(ic.Losses.__annotations__)
    assert "ncp" in dir(losses)
    with pytest.raises(AttributeError, match="no loss 'jaccard'; it has loss"):
        _ = losses.jaccard
    assert json.loads(release.audit.to_json())["losses"] == dict(losses)
    assert pickle.loads(pickle.dumps(release.audit)).losses.ncp == losses.ncp


def test_results_introduce_themselves(release):
    audit = release.audit
    rows = f"200 rows in {audit.n_groups} groups, smallest {audit.smallest_group}"
    for shown, title in ((release, "Release: "), (audit, "Audit: ")):
        lines = repr(shown).splitlines()
        assert lines[0] == f"{title}k-anonymity holds"
        assert f"  rows: {rows}" in lines
        assert f"  loss: {audit.losses.loss:.4g}" in lines
        assert len(lines) < 8
        assert rows in shown._repr_html_()
    broken = ic.check(release.data, ic.KAnonymity(100), SCHEMA)
    assert repr(broken).startswith("Audit: k-anonymity does not hold\n")
    assert broken.broken[0].summary in repr(broken)
    assert repr(audit.findings[0]).startswith("Finding k-anonymity: holds; all rows")


def test_nothing_in_a_notebook_is_markup():
    table = pa.table({"<b>age</b>": ["1", "1", "2"]})
    audit = ic.check(table, ic.KAnonymity(2), ic.Schema(quasi=["<b>age</b>"]))
    for shown in (audit, *audit.findings):
        assert "<b>" not in shown._repr_html_()
    assert "&lt;b&gt;age" in audit._repr_html_()


@pytest.mark.slow
def test_a_comparison_introduces_itself(tmp_path):
    frame = ic.sample_census(120, 3)
    path = tmp_path / "census.csv"
    frame.to_pandas().to_csv(path, index=False)
    job = ic.Job(ic.KAnonymity(2), SCHEMA, ic.Mondrian(), data=path)
    found = ic.compare(job, ks=[3, 500], n_queries=10, output=tmp_path / "grid.json")
    assert isinstance(found, ic.Comparison)
    lines = repr(found).splitlines()
    assert lines[0] == "Comparison of 2 releases of census.csv by loss"
    assert "  released: 1, 1 without a release" in lines
    assert found.choice.reason in lines[-1]
    assert "<table>" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_a_run_is_logged_without_values(caplog):
    frame = pa.table({"town": [f"zq-{row // 4:05}" for row in range(40)], "ill": list("ab") * 20})
    with caplog.at_level(logging.DEBUG, logger="incrowd"):
        release = ic.anonymize(frame, quasi=["town"], sensitive=["ill"], k=8)
        ic.check(release.data, release.job)
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert {record.name for record in caplog.records} == {"incrowd"}
    assert any(level == "DEBUG" and text.startswith("searching: ") for level, text in told)
    assert any(level == "INFO" and text.startswith("released: k-anonymity") for level, text in told)
    assert any(level == "INFO" and text.startswith("checked: k-anonymity") for level, text in told)
    assert not [text for _, text in told if "zq-" in text]


def test_a_refused_release_is_a_warning(caplog, monkeypatch):
    frame = pa.table({"age": ["1"] * 8, "ill": list("ab") * 4})
    monkeypatch.setattr(ic.KAnonymity, "check", lambda *_: [ic.Finding("k", False, "2 exposed")])
    with caplog.at_level(logging.WARNING, logger="incrowd"), pytest.raises(ic.AuditError):
        ic.anonymize(frame, quasi=["age"], sensitive=["ill"], k=2)
    assert [record.getMessage() for record in caplog.records] == [
        "Finding k: does not hold; 2 exposed"
    ]


def test_a_policy_of_frames_knows_who_was_in_them(tmp_path):
    """Without a file of the former release people are still recognized, and left out."""
    first, second = (ic.sample_census(300, seed).to_pandas() for seed in (1, 2))
    second["id"] += 290
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], person="id")
    policy = ic.ReleaseOptions(save_policy=str(tmp_path / "policy"))
    ic.anonymize(first, ic.Job(schema=schema, guarantee=ic.KAnonymity(5), release=policy))
    job = ic.Job.load(tmp_path / "policy" / "policy.toml")
    job = replace(job, method=replace(job.method, unfit="search"))
    with pytest.raises(ic.AuditError, match="10 people of this batch"):
        ic.anonymize(second, job)
    with pytest.raises(ic.InputError, match="was a frame"):
        ic.anonymize(second, replace(job, release=ic.ReleaseOptions(repeated_people="compare")))
    without = replace(job, release=ic.ReleaseOptions(repeated_people="exclude"))
    release = ic.anonymize(second, without)
    assert release.audit.n_rows == len(release.data) == 290
    assert release.audit.finding("former release: a frame").holds is True
