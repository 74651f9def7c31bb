"""The workload sets on small data: every part, its JSON, its tables, and what it refuses."""

import contextlib
import importlib.util
import io
import json
import os
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import PARTS, main
from benchmarks.pages import DRAWINGS, TABLES, drawings, fill
from benchmarks.sets import neighbours as sets_neighbours
from benchmarks.sets import noise as sets_noise
from benchmarks.sets import runs as sets_runs
from benchmarks.sets import scale as sets_scale
from benchmarks.sets import workload as sets
from benchmarks.sets.data import SetData, playstore_sets, reload, save
from benchmarks.sets.paper import TABLE_3
from benchmarks.sets.sizes import SMALL
from benchmarks.shared import extras
from incrowd.cli import run_with_status
from incrowd.errors import InputError, JobError
from incrowd.progress import silent
from incrowd.sets.sets import Sets

TINY = replace(
    SMALL,
    most_rows=100,
    block_rows=64,
    block_size=16,
    bound_rows=((64, 32),),
    list_rows=(400,),
    whole_rows=1_000,
    list_items=60,
    learning_k=(8,),
    queries=30,
    slow_queries=5,
)

HAS_SCIKIT_LEARN = importlib.util.find_spec("sklearn") is not None
WITHOUT_IT = tuple(part for part in sets.PARTS if part not in sets.NEED_BENCH_EXTRA)


def forked(task):
    return {**task(), "peak_memory_bytes": 9, "cpu_seconds": 1.0}


def run_here(source, target, settings):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run_with_status(sets_scale.words_of(source, target, settings)) == 0
    taken = {"seconds": 1.0, "cpu_seconds": 1.0, "peak_memory_bytes": 9}
    return {**taken, **sets_scale.said_of(said.getvalue())}


@pytest.fixture
def in_this_process(monkeypatch, tmp_path):
    """Cases run here instead of in processes of their own: the same figures, sooner."""

    def measured_cases(data, cases, folder):
        instances = data.instances(folder)
        return [
            found for case in cases for found in sets_runs.measure_case(instances, case, tmp_path)
        ]

    def neighbours_case(question, data, sizes):
        def task(folder):
            said = {"data": data.record(folder), "versions": {"scipy": "1", "scikit-learn": "2"}}
            found = sets_neighbours.compared(question, data.instances(folder)[0], sizes)
            return [{**said, **one} for one in found]

        return task

    monkeypatch.setattr(sets_runs, "forked", forked)
    monkeypatch.setattr(sets_neighbours, "neighbours_case", neighbours_case)
    monkeypatch.setattr(sets_scale, "run_apart", run_here)
    monkeypatch.setattr(sets_scale, "write_apart", sets_scale.write_lists)
    for module in (sets, sets_noise):
        monkeypatch.setattr(module, "measured_cases", measured_cases)


@pytest.fixture
def tables():
    def made(result):
        return {name: TABLES[name][1](result) for name in TABLES if TABLES[name][0] == "sets"}

    return made


@pytest.mark.usefixtures("in_this_process")
def test_every_part_and_its_tables(data_folder, tables):
    parts = tuple(sets.PARTS) if HAS_SCIKIT_LEARN else WITHOUT_IT
    told = []
    result = sets.run(data_folder, parts, lambda *some: told.append(some), sizes=TINY)
    assert json.loads(json.dumps(result)) == result
    assert tuple(sets.PARTS) == PARTS["sets"]
    assert tuple(result["parts"]) == parts
    assert all(done <= total for _, done, total in told)
    for name, part in result["parts"].items():
        assert list(part["results"]) == list(sets.PARTS[name](TINY))
        for case in part["results"].values():
            assert case["is_small"]
            assert {"commit", "machine", "runs"} <= case.keys()
            for run in case["runs"]:
                assert 0 <= run.get("jaccard", 0) <= 1
                if "wanted_density" not in run:  # of no data but evenly spread entries
                    assert len(run["data"]["sha256"]) == 64
    found = {name: part["results"] for name, part in result["parts"].items()}
    _look_at_tables(found["tables"])
    _look_at_noise(found["noise"])
    made = tables(result)
    for name, table in made.items():
        widths = {line.count("|") for line in table.splitlines() if line.startswith("|")}
        if table != "(not measured yet)":
            assert len(widths) == 1, (name, table)
            assert "a small trial" in table
        else:
            assert not HAS_SCIKIT_LEARN
    adult = next(
        run
        for run in found["tables"]["adult"]["runs"]
        if (run["method"], run["guarantee"], run["k"]) == ("cluster", "smooth", 8)
    )
    shown = f"{100 * adult['jaccard']:.2f} ± {100 * adult['jaccard_deviation']:.2f}"
    assert f"| Adult | 100 × 24 | smooth | {shown} |" in made["sets-jaccard"]
    assert f"| {TABLE_3['adult']['smooth'][0]} | – |" in made["sets-jaccard"]
    drawn = drawings({"sets": result})
    assert set(drawn) == {name for name in DRAWINGS if DRAWINGS[name][0] == "sets"}
    n_lines = 5 * len(found["tables"]) - 2 * len(sets.FACILITY)  # there facility has one k alone
    assert drawn["sets-by-k.svg"].count("<polyline") == n_lines
    if HAS_SCIKIT_LEARN:
        assert "node DP, ε = 10" in drawn["sets-learning.svg"]
        ways = [run["way"] for run in found["neighbours"]["jaccard-adult"]["runs"]]
        assert ways == ["incrowd", "SciPy", "scikit-learn"]


def _look_at_tables(found):
    for case in found.values():
        for run in case["runs"]:
            if run["guarantee"] == "suppression":
                assert run["created"] == 0
                assert run["jaccard"] == pytest.approx(1 - run["suppressed"], abs=1e-5)
            kept = 1 - run["suppressed"]
            if run["n_seeds"] == 1:
                assert run["jaccard"] == pytest.approx(kept / (1 + run["created"]), abs=1e-5)
    of_majority = [run for run in found["adult"]["runs"] if run["guarantee"] == "majority"]
    assert {run["k"] for run in of_majority} == {8}


def _look_at_noise(found):
    for run in found["density"]["runs"]:
        assert run["expected_jaccard"] == pytest.approx(run["wanted_jaccard"], abs=0.02)
        assert run["jaccard"] == pytest.approx(run["expected_jaccard"], abs=0.05)
    refused = [run for run in found["epsilon-cit-hepph"]["runs"] if "outcome" in run]
    assert all("entries of noise" in run["outcome"] for run in refused)
    smooth, suppressed = found["bound-64"]["runs"]
    assert suppressed["n_kept"] / 64 <= suppressed["most_kept_a_row"]
    assert smooth["n_kept"] >= suppressed["n_kept"]


@pytest.mark.usefixtures("in_this_process")
def test_a_case_alone_keeps_the_others(data_folder):
    before = {
        "parts": {
            "tables": {"results": {"retail": {"runs": ["kept"]}, "groceries": {"runs": ["old"]}}},
            "scale": {"results": {"lists-7": {"runs": ["kept"]}}},
        }
    }
    kept = []
    given = {"sizes": TINY, "before": before, "keep": kept.append}
    result = sets.run(data_folder, ("tables",), silent, cases=("groceries",), **given)
    assert kept == [result]
    assert result["parts"]["scale"] == before["parts"]["scale"]
    assert list(result["parts"]["tables"]["results"]) == ["groceries", "retail"]
    assert result["parts"]["tables"]["results"]["groceries"]["runs"][0]["data"]["n_rows"] == 100
    with pytest.raises(JobError):
        sets.run(data_folder, ("tables",), silent, cases=("grocery",), sizes=TINY)


def test_a_command_in_processes_of_their_own(data_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    results, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    marked = [name for name in TABLES if name.startswith("sets-")]
    (docs / "page.md").write_text("".join(f"<!-- table {n} -->\n<!-- end -->\n" for n in marked))
    words = ["sets", "--small", "--part", "parameters", "--case", "parameters-adult"]
    words += ["--results", str(results), "--docs", str(docs)]
    assert main(words) == 0, capsys.readouterr()
    kept = json.loads((results / "sets.json").read_text())
    runs = kept["parts"]["parameters"]["results"]["parameters-adult"]["runs"]
    assert runs[0]["peak_memory_bytes"] > 10**7
    assert runs[0]["cpu_seconds"] > 0
    instances = SetData("adult", SMALL.most_rows).instances(data_folder)
    case = {"method": "facility", "settings": runs[0]["settings"], "k": 8}
    groups = tmp_path / "groups.npy"
    sets_runs.search(instances[0], case, "smooth", 0, groups)
    again = sets_runs.look_at(instances[0], case, "smooth", groups)
    assert round(again["jaccard"], 6) == runs[0]["jaccard"]
    made = (docs / "page.md").read_text()
    assert "| Adult | alg2 | α = 0.25 | " in made
    assert made.count("(not measured yet)") == len(marked) - 1
    assert fill(made, {"sets": kept}) == made
    assert (docs / "images" / "sets-by-k.svg").exists()


def test_the_whole_product_in_a_process_of_its_own(tmp_path):
    lists = tmp_path / "lists.parquet"
    made = sets_scale.write_apart(300, 40, lists)
    assert made["n_rows"] == 300
    found = sets_scale.run_apart(lists, tmp_path / "release.parquet", {"effort": "quick"})
    assert found["peak_memory_bytes"] > 10**7
    assert found["smallest_group"] >= sets_scale.K
    assert {"read", "search", "write", "audit"} <= found["stages"].keys()
    assert found["method"]["parameters"]["passes"] == 2


def test_an_account_that_does_not_hold_does_not_count():
    with pytest.raises(RuntimeError, match="does not hold"):
        sets_scale.said_of(json.dumps({"holds": False}))


def test_other_flags_are_refused(data_folder, monkeypatch, capsys):
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    for words in (
        ["tables", "--small"],
        ["greedy", "--case", "adult"],
        ["sets", "--peers-python", "p"],
    ):
        assert main(words) == 2
        assert f"the workload {words[0]} takes no {words[1]}" in capsys.readouterr().err


def test_a_missing_package_is_told_before_anything_is_measured(data_folder, monkeypatch):
    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(extras, "version", absent)
    kept = []
    for part in sets.NEED_BENCH_EXTRA:
        with pytest.raises(InputError, match="scikit-learn") as refused:
            sets.run(data_folder, (), silent, sizes=TINY, keep=kept.append)
        assert "pip install 'incrowd[bench]'" in refused.value.remedy
        with pytest.raises(InputError, match=f"the part {part}"):
            sets.run(data_folder, (part,), silent, sizes=TINY)
    assert kept == []


def test_missing_data_set(tmp_path):
    with pytest.raises(InputError, match="groceries"):
        sets.run(tmp_path, ("tables",), silent, cases=("groceries",), sizes=TINY)


# ── data ────────────────────────────────────────────────────────────────────────────────────────


def test_sets_travel_between_processes(tmp_path):
    given = SetData("block-model", 64, 16, 2).instances(tmp_path)
    save(given, tmp_path / "sets.npz")
    for one, again in zip(given, reload(tmp_path / "sets.npz"), strict=True):
        assert (one.starts == again.starts).all()
        assert (one.items == again.items).all()
        assert one.n_items == again.n_items
    assert given[0].n_entries != given[1].n_entries or (given[0].items != given[1].items).any()


def test_apps_are_coded_as_stated(tmp_path):
    names = "App,Category,Rating,Reviews,Size,Installs,Type,Price,Content Rating,Genres"
    lines = [
        f"{names},Last Updated,Current Ver,Android Ver",
        'a,G,4.1,159,19M,1+,Free,0,Teen,Art,"January 7, 2018",1,4.0',
        'b,G,4.1,255,17M,1+,Free,0,Teen,Art,"March 30, 2018",2,4.0',  # the same bins
        'c,G,4.1,256,201k,1+,Free,0,Teen,Art,"April 1, 2018",1,4.0',  # other bins in three
        'd,G,NaN,256,201k,1+,Free,0,Teen,Art,"April 1, 2018",1,4.0',  # a rating is missing
    ]
    (tmp_path / "apps.csv").write_text("\n".join(lines) + "\n")
    found = playstore_sets(tmp_path / "apps.csv")
    assert found.n_rows == 3
    rows = found.items.reshape(3, 10)
    assert (rows[0] == rows[1]).all()
    assert (rows[0] != rows[2]).sum() == 3
    assert found.n_items == 13


def test_data_have_the_paper_s_shapes():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    adult = SetData("adult").record(Path(folder))
    assert (adult["n_rows"], adult["n_items"], adult["n_entries"]) == (32_561, 102, 260_488)
    graph = SetData("ca-condmat").record(Path(folder))
    assert (graph["n_rows"], graph["n_items"]) == (21_363, 21_363)
    apps = SetData("playstore").record(Path(folder))
    assert apps["n_entries"] == 10 * apps["n_rows"]


# ── what is looked at after a run ───────────────────────────────────────────────────────────────


def test_a_release_that_breaks_its_promise_does_not_count(tmp_path):
    given = SetData("block-model", 64, 16).instances(tmp_path)[0]
    groups = tmp_path / "groups.npy"
    np.save(groups, (np.arange(64) // 8).astype(np.int32))
    found = sets_runs.look_at(given, {"k": 8}, "smooth", groups)
    assert found["n_groups"] <= 8
    with pytest.raises(RuntimeError, match="the audit refused"):
        sets_runs.look_at(given, {"k": 9}, "smooth", groups)


def test_means_and_deviations():
    run = dict.fromkeys((*sets_runs.MEASURED, "n_kept", "n_groups", "largest_group"), 1.0)
    runs = [
        {**run, "jaccard": 0.5, "peak_memory_bytes": 3},
        {**run, "jaccard": 0.7, "peak_memory_bytes": 2},
    ]
    found = sets_runs.averaged(runs)
    assert found["jaccard"] == 0.6
    assert found["jaccard_deviation"] == pytest.approx(0.141421, abs=1e-6)
    assert found["peak_memory_bytes"] == 3
    assert "jaccard_deviation" not in sets_runs.averaged(runs[:1])


def test_what_is_not_run_says_why(tmp_path, tables):
    case = {"method": "facility", "settings": {"cut": False}, "k": 8, "outcome": "too slow"}
    (told,) = sets_runs.measure_case([], case, tmp_path)
    assert told == case
    run = {"data": {"n_rows": 1, "n_items": 1, "n_entries": 1}, **told}
    provenance = {"commit": "c", "machine": {"cores": 1}, "is_small": False}
    result = {"parts": {"tables": {"results": {"retail": {**provenance, "runs": [run]}}}}}
    assert "uncut as in the paper on retail: too slow" in tables(result)["sets-jaccard"]


# ── near rows ───────────────────────────────────────────────────────────────────────────────────


def some_sets(n_rows=40, n_items=30, seed=0):
    draw = np.random.default_rng(seed)
    lists = [np.flatnonzero(draw.random(n_items) < 0.2) for _ in range(n_rows)]
    lists[3] = lists[7]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return Sets(starts, np.concatenate(lists).astype(np.int32), n_items)


def by_trying_all(rows, question, n_nearest):
    lists = [
        set(rows.items[a:b].tolist()) for a, b in zip(rows.starts, rows.starts[1:], strict=False)
    ]
    found = []
    for place, one in enumerate(lists):
        others = [other for spot, other in enumerate(lists) if spot != place]
        if question == "jaccard":
            alike = sorted(len(one & other) / max(len(one | other), 1) for other in others)
            found.append(alike[::-1][:n_nearest])
        else:
            found.append(sum(sorted(len(one ^ other) for other in others)[:n_nearest]))
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize("n_items", [30, 300])  # by bitsets, by lists
def test_near_rows_by_trying_all(n_items):
    rows = sets_neighbours.different_rows(some_sets(n_items=n_items))
    assert rows.n_rows == 39
    for question, ours in (
        ("jaccard", sets_neighbours.most_alike),
        ("hamming", sets_neighbours.nearest_summed),
    ):
        wanted = by_trying_all(rows, question, 5)
        assert np.allclose(ours(rows, 5), wanted)
        asked = np.arange(0, 39, 3)
        if importlib.util.find_spec("scipy"):
            found = sets_neighbours.by_products(question, rows, asked, 5)
            assert np.allclose(found, wanted[asked])
        if HAS_SCIKIT_LEARN:
            found = sets_neighbours.by_scikit_learn(question, rows, asked, 5)
            assert np.allclose(found, wanted[asked], atol=1e-5)


def test_other_neighbours_are_refused(monkeypatch):
    monkeypatch.setattr(sets_neighbours, "by_scikit_learn", sets_neighbours.by_products)
    given = some_sets()
    ways = [one["way"] for one in sets_neighbours.compared("hamming", given, TINY)]
    assert ways == ["incrowd", "SciPy", "scikit-learn"]
    wrong = sets_neighbours.nearest_summed
    monkeypatch.setattr(sets_neighbours, "nearest_summed", lambda *some: wrong(*some) + 1)
    with pytest.raises(RuntimeError, match="other nearest rows"):
        sets_neighbours.compared("hamming", given, TINY)
