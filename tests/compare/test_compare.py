"""Grids from Python: what is measured, kept, resumed and refused."""

import json
from dataclasses import replace

import pytest

from benchmarks.sets.data import user_lists
from incrowd.comparing import comparison as comparing
from incrowd.comparing.comparison import ONE_ONLY, Comparison, compare
from incrowd.comparing.grid import grid
from incrowd.comparing.measure import UtilityRequest
from incrowd.comparing.page import page_of
from incrowd.errors import InputError, JobError
from incrowd.flow.run import run
from incrowd.job.job import Job
from incrowd.report.render import render
from incrowd.sets.files import write_sets

TIMES = ("seconds", "cpu_seconds", "stages", "peak_memory_bytes", "front", "fingerprint")


def without_times(stated):
    if isinstance(stated, dict):
        return {name: without_times(part) for name, part in stated.items() if name not in TIMES}
    return [without_times(part) for part in stated] if isinstance(stated, list) else stated


def test_a_point_is_what_run_releases(job, tmp_path):
    found = compare(job, ks=[3, 7], n_queries=50)
    assert isinstance(found, Comparison)
    for result in found.points:
        guarantee = replace(job.guarantee, k=result["point"]["k"])
        output = tmp_path / f"release-{guarantee.k}.csv"
        audit = run(replace(job, guarantee=guarantee, output=output)).audit
        assert result["losses"] == audit.losses
        assert result["n_groups"] == audit.n_groups
        assert result["smallest_group"] == audit.smallest_group
        assert result["holds"] is True
        assert result["status"] == "released"
        assert set(result["stages"]) >= {"search", "audit"}
        assert result["cpu_seconds"] > 0
        assert result["utility"]["queries"]["n_queries"] == 50
        assert 0 <= result["utility"]["statistics"]["mean_distance"] <= 1
    table = found.table()
    assert table.column("k").to_pylist() == [3, 7]
    assert table.column("loss").to_pylist() == [one["losses"]["loss"] for one in found.points]
    assert sum(table.column("is_recommended").to_pylist()) == 1
    assert json.loads(found.to_json())["warning"] == ONE_ONLY
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "census.csv",
        "hierarchies",
        "release-3.csv",
        "release-7.csv",
    ]


@pytest.mark.slow
def test_a_grid_resumes_where_it_stopped(job, here, tmp_path, monkeypatch):
    kept = tmp_path / "kept.json"
    whole = compare(job, ks=[2, 3, 4, 5], output=tmp_path / "whole.json", n_queries=20)
    assert len(here) == 4
    measure = comparing._in_process

    def interrupted(planned, folder, asked):
        if len(here) == 6:
            raise KeyboardInterrupt
        return measure(planned, folder, asked)

    monkeypatch.setattr(comparing, "_in_process", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(job, ks=[2, 3, 4, 5], output=kept, n_queries=20)
    first = json.loads(kept.read_text("utf-8"))["points"]
    assert [point["point"]["k"] for point in first] == [2, 3]
    assert oct(kept.stat().st_mode & 0o777) == "0o600"
    monkeypatch.setattr(comparing, "_in_process", measure)
    resumed = compare(job, ks=[2, 3, 4, 5], output=kept, n_queries=20)
    assert [key.split()[0] for key in here[6:]] == ["k=4", "k=5"]
    assert resumed.points[:2] == first
    assert without_times(resumed.to_dict()) == without_times(whole.to_dict())
    stored = json.loads(kept.read_text("utf-8"))
    assert stored == json.loads(resumed.to_json())
    # all is there: nothing is measured, and a larger grid measures what lacks
    compare(job, ks=[5, 2], output=kept, n_queries=20)
    assert len(here) == 8
    narrower = compare(job, ks=[5, 9], output=kept, n_queries=20)
    assert here[8:] == [next(key for key in here if key.startswith("k=9"))]
    assert [point["point"]["k"] for point in narrower.points] == [5, 9]
    assert len(json.loads(kept.read_text("utf-8"))["points"]) == 5
    assert not list(tmp_path.glob(".incrowd-*"))


def test_what_a_point_cannot_have_is_told_and_does_not_stop_the_grid(job):
    found = compare(job, ks=[301, 4], n_queries=20)
    infeasible, released = found.points
    assert infeasible["status"] == "infeasible"
    assert "301" in infeasible["reason"]
    assert "--k 300" in infeasible["reason"]
    assert released["status"] == "released"
    assert found.recommended is released
    assert found.front == [1]
    page = page_of(found)
    assert page.sections[-1].name == "without"
    assert page.sections[-1].blocks[0].rows[0][1] == 301


def test_a_point_whose_process_was_ended_is_tried_again(job, here, tmp_path, monkeypatch):
    kept = tmp_path / "kept.json"
    measure = comparing._in_process
    ended = {"status": "failed", "reason": "ended by SIGKILL", "remedy": "State --memory."}

    def short_of_memory(planned, folder, asked):
        return dict(ended) if planned.point.k == 5 else measure(planned, folder, asked)

    monkeypatch.setattr(comparing, "_in_process", short_of_memory)
    found = compare(job, ks=[3, 5, 7], output=kept, n_queries=20)
    assert [one["status"] for one in found.points] == ["released", "failed", "released"]
    assert found.points[1]["reason"] == "ended by SIGKILL"
    with pytest.raises(InputError, match="SIGKILL"):  # nothing was measured: a grid ends there
        compare(job, ks=[5, 7], n_queries=20)
    monkeypatch.setattr(comparing, "_in_process", measure)
    again = compare(job, ks=[3, 5, 7], output=kept, n_queries=20)
    assert [one["status"] for one in again.points] == ["released"] * 3
    assert [key.split()[0] for key in here] == ["k=3", "k=7", "k=5"]


def test_a_process_ends_as_it_ends(job, tmp_path, monkeypatch):
    """What a process of a point says, or fails to say, is understood."""
    (planned,) = grid(job, [3])
    monkeypatch.undo()

    def answered(program):
        monkeypatch.setattr(comparing.sys, "executable", str(program))
        return comparing._in_process(planned, tmp_path / "point", UtilityRequest())

    def script(text):
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o700)
        return program

    assert answered(script('cat > /dev/null; echo \'{"status": "x"}\''))["status"] == "x"
    killed = answered(script("cat > /dev/null; kill -9 $$"))
    assert killed["status"] == "failed"
    assert "SIGKILL" in killed["reason"]
    with pytest.raises(RuntimeError, match="without an answer"):
        answered(script("cat > /dev/null; exit 3"))
    internal = '{"status": "internal", "reason": "ValueError"}'
    with pytest.raises(RuntimeError, match="failed: ValueError"):
        answered(script(f"cat > /dev/null; echo '{internal}'"))
    assert not (tmp_path / "point").exists()


def test_kept_results_of_something_else_are_refused(job, here, census, tmp_path):
    kept = tmp_path / "kept.json"
    compare(job, ks=[4], output=kept, n_queries=20)
    bytes_before = kept.read_bytes()
    with pytest.raises(InputError, match="other queries"):
        compare(job, ks=[4], output=kept, n_queries=21)
    person = replace(job, hierarchies={"sex": "flat"})
    with pytest.raises(InputError, match="another job"):
        compare(person, ks=[4], output=kept, n_queries=20)
    lines = census.read_text("utf-8").splitlines()
    census.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="other data"):
        compare(job, ks=[4], output=kept, n_queries=20)
    assert kept.read_bytes() == bytes_before
    assert len(here) == 1
    for text in ("{", "[]", '{"kind": "incrowd comparison"}', '{"kind": "other"}', "\x00"):
        kept.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="no comparison, or a damaged one") as told:
            compare(job, ks=[4], output=kept, n_queries=20)
        assert told.value.exit_status == 2
        assert kept.read_text("utf-8") == text
    compare(job, ks=[4], output=kept, n_queries=20, force=True)
    assert len(json.loads(kept.read_text("utf-8"))["points"]) == 1


def test_a_kept_point_that_lacks_something_is_damaged(job, tmp_path):
    kept = tmp_path / "kept.json"
    compare(job, ks=[4], output=kept, n_queries=20)
    stored = json.loads(kept.read_text("utf-8"))
    for name in ("seconds", "losses", "status", "point"):
        broken = json.loads(json.dumps(stored))
        del broken["points"][0][name]
        kept.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(InputError, match="damaged"):
            compare(job, ks=[4], output=kept, n_queries=20)


def test_data_that_cannot_be_used_stop_the_grid(job, here, tmp_path):
    lacking = replace(job, schema=type(job.schema)(["age", "shoe"], ["diagnosis"]))
    with pytest.raises(InputError, match="shoe"):
        compare(lacking, ks=[2, 3], output=tmp_path / "kept.json")
    assert len(here) == 1
    assert not (tmp_path / "kept.json").exists()
    with pytest.raises(InputError, match="no such file"):
        compare(replace(job, data=tmp_path / "none.csv"), ks=[2])
    with pytest.raises(JobError, match="names no data"):
        compare(replace(job, data=None), ks=[2])


def test_a_loss_that_no_point_has_is_refused(job):
    with pytest.raises(JobError, match="no point has the loss 'shoe'"):
        compare(job, ks=[3], by="shoe", n_queries=20)


def test_grids_hold_every_combination_once(job):
    planned = grid(
        job,
        [2, 5],
        ["cluster", "mondrian"],
        efforts=["quick", "100"],
        suppression_limits=[0.0, 0.05],
    )
    points = [one.point for one in planned]
    # mondrian has no effort: two of its four are the same
    assert len(points) == 2 * (2 * 2 + 2)
    assert {point.metric for point in points} == {"loss"}
    assert {point.effort for point in points} == {"quick", 100, None}
    for one in planned:
        assert one.job is not None
        assert one.job.guarantee.k == one.point.k
        assert one.job.release.suppression_limit == one.point.suppression_limit


def test_the_jobs_own_method_keeps_its_settings(job):
    stated = replace(job, method=replace(job.method, metric="ncp", strict=False))
    own, other = grid(stated, [2], ["mondrian", "greedy"])
    assert own.job.method == stated.method
    assert other.job.method.metric == "loss"
    by_ncp = grid(stated, [2], ["mondrian", "greedy"], metrics=["loss", "ncp"])
    assert [one.job.method.metric for one in by_ncp] == ["loss", "ncp", "loss", "ncp"]


def test_combinations_that_fit_no_job_are_told(job):
    wide = replace(job, guarantee=replace(job.guarantee, l=2))
    planned = grid(wide, [3], ["mondrian", "microaggregate"])
    assert [one.job is None for one in planned] == [False, True]
    assert "does not keep l-diversity" in planned[1].reason
    found = compare(wide, ks=[3], methods=["mondrian", "microaggregate"], n_queries=20)
    assert [one["status"] for one in found.points] == ["released", "unfit"]
    with pytest.raises(JobError, match="does not keep"):
        grid(wide, [3], ["microaggregate"])


def test_grids_that_make_no_sense_are_refused(job, census):
    with pytest.raises(JobError, match="unknown method 'mondrain'"):
        grid(job, [2], ["mondrain"])
    with pytest.raises(JobError, match="no k is stated"):
        grid(job, [])
    with pytest.raises(JobError, match="no compared method has a field effort"):
        grid(job, [2], efforts=["quick"])
    noisy = Job.from_mapping(
        {"data": str(census), "guarantee": {"name": "edge-dp", "epsilon": 1.0}}
    )
    with pytest.raises(JobError, match="has none"):
        grid(noisy, [2])
    with pytest.raises(JobError, match="unknown published column 'shoe'"):
        compare(job, ks=[2], predict="shoe")


def test_learning_holds_rows_back_before_anything_is_anonymized(job):
    pytest.importorskip("sklearn", reason="scikit-learn is an extra")
    wide = replace(job, schema=type(job.schema)(["age", "marital_status"], ["sex"]))
    found = compare(wide, ks=[4], predict="sex", n_queries=20)
    learning = found.points[0]["utility"]["learning"]
    assert learning["is_split_first"]
    assert learning["n_tested"] == 90
    assert learning["n_trained_original"] == learning["n_trained_release"] == 210
    assert found.table().column("accuracy").to_pylist() == [learning["accuracy"]]
    assert "accuracy" in page_of(found).sections[2].blocks[0].columns


def test_sets_are_compared_by_what_lacks_to_their_likeness(tmp_path):
    write_sets(user_lists(120, 40, seed=1), tmp_path / "lists.dat")
    job = Job.from_mapping(
        {
            "data": str(tmp_path / "lists.dat"),
            "guarantee": {"name": "suppression", "k": 2},
            "method": {"name": "mondrian"},
        }
    )
    found = compare(job, ks=[2, 6], n_queries=60)
    assert found.by == "jaccard"
    for place in (0, 1):
        result = found.points[place]
        assert found.loss(result) == 1 - result["losses"]["jaccard"]
        assert result["utility"]["queries"]["by_size"]
        assert "mean_item_error" in result["utility"]["statistics"]
    with pytest.raises(JobError, match="these are sets"):
        compare(job, ks=[2], predict="shoe")
    with pytest.raises(JobError, match="left out"):
        compare(job, ks=[2], suppression_limits=[0.1])


def test_transactions_are_compared_by_their_counts(tmp_path):
    visits = "b c e g h\na c d i j\na f l\nb e g h\nd f l\n"
    (tmp_path / "visits.dat").write_text(visits, encoding="utf-8")
    job = Job.from_mapping(
        {
            "data": str(tmp_path / "visits.dat"),
            "guarantee": {"name": "km", "k": 2, "m": 2},
        }
    )
    found = compare(job, ks=[2], n_queries=30)
    assert found.by == "are"
    assert found.points[0]["utility"]["queries"]["n_queries"] == 30
    assert found.loss(found.points[0]) == found.points[0]["utility"]["queries"]["are"]


def time(result):
    return result["seconds"]


@pytest.mark.slow
def test_the_page_shows_the_front_and_the_reason(job):
    found = compare(job, ks=[2, 5, 20], methods=["mondrian", "greedy"], n_queries=20)
    page = page_of(found)
    assert page.lead == f"Recommended: {found.choice.reason}"
    assert found.command is None  # nobody called a command
    recommended, fronts, table = page.sections
    assert ONE_ONLY in recommended.text
    lines = fronts.blocks[0]
    assert set(lines.series) == {"mondrian", "greedy"}
    assert [x for x, _ in lines.series["greedy"]] == [2.0, 5.0, 20.0]
    name, place = lines.marked
    assert lines.series[name][place][1] == found.loss(found.recommended)
    joined, scattered, errors = fronts.blocks
    assert (joined.is_joined, scattered.is_joined, errors.is_joined) == (True, False, True)
    by_time = sorted((one for one in found.points if one["point"]["method"] == "greedy"), key=time)
    assert [x for x, _ in scattered.series["greedy"]] == [time(one) for one in by_time]
    assert scattered.labels["greedy"] == tuple(f"k {one['point']['k']}" for one in by_time)
    assert len(table.blocks[0].rows) == 6
    assert [row[-1] for row in table.blocks[0].rows].count("recommended") == 1
    assert dict(page.highlights.facts).keys() == {f"least loss at k = {k}" for k in (2, 5, 20)}
    assert recommended.text[0].startswith("k = 2 costs ")
    assert page.data == found.to_dict()
    html = render(page)
    assert found.choice.reason in html
    assert "never two" in html


def test_the_data_of_a_job_may_lie_anywhere(job, here, tmp_path, monkeypatch):
    """A fingerprint is of contents: the same comparison goes on from another folder."""
    kept = tmp_path / "kept.json"
    compare(job, ks=[4], output=kept, n_queries=20)
    monkeypatch.chdir(tmp_path)
    moved = Job.from_mapping({**job.to_mapping(), "data": "census.csv"})
    compare(moved, ks=[4], output=kept, n_queries=20)
    assert len(here) == 1
