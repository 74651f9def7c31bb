"""Every workload at a tiny size, from the command to the docs: tables say what the JSON says."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compare, tables
from benchmarks.__main__ import main
from benchmarks.adaptive import workload as adaptive
from benchmarks.greedy import workload as greedy
from benchmarks.rules import workload as rules
from benchmarks.scale import workload as scale
from benchmarks.sets import workload as sets
from benchmarks.shared.cases import Workload
from benchmarks.shared.page import NOT_MEASURED, case_table, runs_of
from benchmarks.workloads import WORKLOADS, charts_of, fill
from incrowd.errors import InputError, JobError

TINY = {
    "tables": tables.SMALL,
    "greedy": replace(
        greedy.SMALL,
        index_voters=400,
        growth_rows=(200, 400),
        growth_methods_up_to=200,
        paper_voters=(300, 500),
        shared_voters=400,
        bytes_voters=(300,),
        peer_seconds=60,
    ),
    "adaptive": replace(
        adaptive.SMALL,
        network_rows=40,
        adult_rows=120,
        census_rows=80,
        census_first_rows=90,
        poker_rows=100,
        hands_rows=90,
        payments_rows=70,
        payments_first_rows=80,
        growth_rows=(60, 90),
        plain_rows=80,
        threaded=(("hands", 80, 2),),
        shares=(1.0,),
        share_rows=90,
    ),
    "sets": replace(
        sets.SMALL,
        most_rows=100,
        block_rows=64,
        block_size=16,
        bound_rows=((64, 32),),
        learning_k=(8,),
        queries=30,
        slow_queries=5,
    ),
    "rules": replace(
        rules.SMALL, baskets=(400, 60), n_rules=20, n_rules_varied=(10, 20), most_rows=150
    ),
}


def measure(workload, data_folder, *cases):
    """Measure some cases, or all, and make the tables of what was measured."""
    tiny = replace(WORKLOADS[workload], small=TINY[workload])
    measured = tiny.run(data_folder, cases=cases, is_small=True)
    assert json.loads(json.dumps(measured)) == measured
    for part in measured["parts"].values():
        for case in part["results"].values():
            assert {"commit", "machine", "is_small", "runs"} <= case.keys()
    made = {name: make(measured) for name, make in tiny.tables.items()}
    for name, text in made.items():
        lines = [line.count("|") for line in text.splitlines() if line.startswith("|")]
        assert text == NOT_MEASURED or len(set(lines)) == 1, (name, text)
    return measured, made


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_tables(data_folder):
    measured, made = measure("tables", data_folder)
    cluster = next(run for run in runs_of(measured, "adult") if run["method"] == "cluster")
    assert f"| 10 | {100 * cluster['losses']['loss']:.2f} | " in made["cluster-loss"]
    whole = next(r for r in runs_of(measured, "adult") if r["settings"].get("partitions") == 1)
    assert f"| 10 | {100 * whole['losses']['nllm']:.2f} | " in made["greedy-loss"]


def one_row_bytes(n_columns):
    return 8 + 8 + 4 * n_columns


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_greedy(data_folder):
    measured, made = measure("greedy", data_folder)
    paper = runs_of(measured, "paper")
    first = next(one for one in paper if one["settings"]["preset"] == "gkaa" and one["k"] == 2)
    assert f"| gkaa, 1 | {100 * first['losses']['nllm']:.2f} (2.28) |" in made["paper-adult-loss"]
    parted = next(one for one in paper if one["settings"] == {"preset": "pgpkaa", "processors": 2})
    assert f"| {100 * parted['equation_2']:.2f} (2.29)" in made["paper-adult-equation-2"]
    shared = next(one for one in runs_of(measured, "shared") if one["workers"] == 2)
    loss = f"| loss, 2 threads (Table VIII) | {100 * shared['losses']['nllm']:.2f} (2.28) |"
    assert loss in made["paper-pgkaa"]
    sent = {
        one["settings"]["preset"]: (one["out"], one["back"])
        for one in runs_of(measured, "bytes")
        if one["data"]["name"] == "adult-nine"
    }
    # nothing leaves a shared memory; numbers, counts and nine nodes of each distinct row come back
    assert sent["pgkaa"] == (0, 0)
    assert sent["pgpkaa"][1] == one_row_bytes(9) * shared["n_distinct"]
    assert sent["pgpkaa"][0] == sent["pgpkaa"][1] + 8 * shared["n_distinct"]
    assert {run["peer"] for run in runs_of(measured, "peers") if "peer" in run} > {"anjana"}
    for chart in charts_of({"greedy": measured}).values():
        (panel,) = chart.panels
        assert panel.title == "k = 5"
        assert [len(one.points) for one in panel.series if one.name == "cluster"] == [2]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_adaptive(data_folder):
    cases = ["caltech36", "adult", "growth-60", "plain", "working-set-adult", "partition", "cover"]
    measured, made = measure("adaptive", data_folder, *cases, "threads-hands", "rows-1")
    # the case on Spark starts sessions of its own, which these tests share
    assert [name for name, table in made.items() if table == NOT_MEASURED] == ["adaptive-spark"]
    for run in measured["parts"]["scaling"]["results"]["threads-hands"]["runs"]:
        assert run["shown"] == run["iterations"][-1]["shown"]
    searches = measured["parts"]["searches"]["results"]
    (partition,) = searches["partition"]["runs"]
    assert partition["posterior"]["n_over"] == 0
    line = f"| attributes | partition | – | {100 * partition['shown']:.2f} |"
    assert line in made["adaptive-searches"]
    (adult,) = measured["parts"]["large"]["results"]["adult"]["runs"]
    steps = [step["shown"] for step in adult["iterations"]]
    assert steps == sorted(steps)
    assert steps[-1] == adult["shown"]
    assert f"{100 * steps[-1]:.2f} after {len(steps)} | 90.4, 15 s |" in made["adaptive-large"]
    for network in measured["parts"]["exact"]["results"].values():
        weighed = network["runs"][-1]
        assert weighed["least"]["is_proven"]
        lightest = min(cover["weight"] for cover in weighed["covers"].values())
        assert weighed["bound"]["weight"] <= weighed["least"]["weight"] + 1e-6
        assert weighed["least"]["weight"] <= lightest


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_sets(data_folder):
    cases = [
        "adult",
        "groceries",
        "paper-adult",
        "most-adult",
        "parameters-adult",
        "density",
        "epsilon-adult",
        "bound-64",
    ]
    cases += ["learning-baselines", "learning-cluster-smooth", "learning-node-dp"]
    measured, made = measure("sets", data_folder, *cases, "jaccard-adult", "hamming-adult")
    unmeasured = [name for name, text in made.items() if text == NOT_MEASURED]
    assert unmeasured == ["sets-scale", "sets-chunks"]
    (most,) = runs_of(measured, "most")
    for run in runs_of(measured, "tables"):
        if run["data"]["name"] == "adult" and run["k"] == most["k"]:
            at_most = most["jaccard_at_most"]
            bound = at_most["suppression" if run["guarantee"] == "suppression" else "smooth"]
            assert run["jaccard"] <= bound
    for name in ("divided", "first-column"):
        grouped = [run for run in runs_of(measured, "paper") if run["method"] == name]
        assert {run["guarantee"] for run in grouped} == {"smooth", "suppression"}
    for run in runs_of(measured, "tables"):
        kept = 1 - run["suppressed"]
        if run["guarantee"] == "suppression":
            assert run["created"] == 0
        if run["n_seeds"] == 1:
            assert run["jaccard"] == pytest.approx(kept / (1 + run["created"]), abs=1e-5)
    adult = next(
        run
        for run in measured["parts"]["tables"]["results"]["adult"]["runs"]
        if (run["method"], run["guarantee"], run["k"]) == ("cluster", "smooth", 8)
    )
    shown = f"{100 * adult['jaccard']:.2f} ± {100 * adult['jaccard_deviation']:.2f}"
    assert f"| Adult | 100 × 24 | smooth | {shown} |" in made["sets-jaccard"]
    noise = measured["parts"]["noise"]["results"]
    for run in noise["density"]["runs"]:
        assert run["expected_jaccard"] == pytest.approx(run["wanted_jaccard"], abs=0.02)
        assert run["jaccard"] == pytest.approx(run["expected_jaccard"], abs=0.05)
    smooth, suppressed = noise["bound-64"]["runs"]
    assert suppressed["n_kept"] / 64 <= suppressed["most_kept_a_row"]
    assert smooth["n_kept"] >= suppressed["n_kept"]
    ways = {run["way"] for run in runs_of(measured, "neighbours")}
    assert ways == {"incrowd", "SciPy", "scikit-learn"}
    assert set(charts_of({"sets": measured})) == set(sets.WORKLOAD.charts)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_rules(data_folder, monkeypatch):
    monkeypatch.setattr("benchmarks.rules.runs.N_QUERIES", 500)
    cases = ["times-0.5", "alpha-4", "items-60", "rules-10", "real-groceries", "mined-groceries"]
    measured, made = measure("rules", data_folder, *cases, "km-groceries", "plain")
    # which needs a cluster
    assert [name for name, table in made.items() if table == NOT_MEASURED] == ["rules-nodes"]
    growth = measured["parts"]["growth"]["results"]["times-0.5"]["runs"]
    assert [run["settings"]["alpha"] for run in growth] == [4, 1, "full"]
    assert all(run["n_parts"] <= run["n_public"] for run in growth)
    first = f"| 0.5X | 200 | 4 | {growth[0]['seconds']:.2f} s (1.00 s) |"
    assert first in made["rules-growth"]
    by_m = measured["parts"]["km"]["results"]["km-groceries"]["runs"]
    assert [run["m"] for run in by_m] == [1, 1, 2, 2]
    assert by_m[2]["n_parts"] <= by_m[0]["n_parts"]
    assert [run["way"] for run in runs_of(measured, "plain")] == ["incrowd", "plain"]


@pytest.mark.slow
def test_scale(data_folder, monkeypatch):
    """The product itself in processes of its own: in memory and on disk."""
    tiny = replace(scale.SMALL, voters=3_000, partitions=(2,))
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    workload = replace(scale.WORKLOAD, small=tiny)
    cases = ("memory-3000-p2", "disk-3000-p2")
    measured = workload.run(data_folder, parts=("places",), cases=cases, is_small=True)
    memory, disk = runs_of(measured, "places")
    assert memory["losses"] == pytest.approx(disk["losses"])
    assert memory["n_groups"] == disk["n_groups"]
    for run in (memory, disk):
        assert run["n_rows"] == run["data"]["n_rows"] == 3_000
        assert 0 < run["data"]["n_distinct"] <= 3_000
        assert run["seconds"] >= sum(run["stages"].values())
        assert run["peak_memory_bytes"] > 10**7
    table = workload.tables["scale-voters"](measured)
    assert f"| 3,000 | {disk['data']['n_distinct']:,} | on disk, `--memory 300MB` | 2 |" in table
    assert workload.tables["scale-lists"](measured) == NOT_MEASURED


@pytest.mark.slow
def test_compare(monkeypatch):
    data = os.environ.get("INCROWD_DATA")
    if not data:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    from incrowd.comparing import comparison
    from incrowd.comparing.measure import measure_point as measure_here

    def here(planned, folder, asked):
        folder.mkdir(mode=0o700)
        return measure_here(planned.job, folder, asked)

    monkeypatch.setattr(comparison, "_in_process", here)
    measured = compare.WORKLOAD.run(Path(data), is_small=True)
    (run,) = runs_of(measured, "adult")
    (point,) = run["comparison"]["points"]
    assert point["smallest_group"] >= 50
    learning = point["utility"]["learning"]
    assert learning["accuracy"] > learning["baseline"]["accuracy"] + 0.03
    table = compare.WORKLOAD.tables["compare-adult"](measured)
    assert f"| `mondrian` | 50 | {100 * point['losses']['loss']:.2f} | " in table


# ── the command ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_command_in_processes_of_their_own(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    results, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    page = "before\n<!-- table boundary -->\n<!-- end -->\n<!-- table peers -->\n<!-- end -->\n"
    (docs / "page.md").write_text(page)
    words = ["greedy", "--small", "--part", "boundary", "--results", str(results)]
    assert main([*words, "--docs", str(docs)]) == 0
    measured = json.loads((results / "greedy.json").read_text())
    runs = runs_of(measured, "boundary")
    rows = greedy.DataSet("adult-nine").load(data_folder)
    for run in runs:
        assert run["peak_memory_bytes"] > 10**7
        assert run["cpu_seconds"] > 0
        case = {name: run[name] for name in ("method", "settings", "k", "threads")}
        from benchmarks.greedy.runs import measure as measure_here

        assert measure_here(rows, case)["losses"] == run["losses"]
    made = (docs / "page.md").read_text()
    assert f"| {100 * runs[0]['losses']['nllm']:.2f} |" in made
    assert NOT_MEASURED in made
    assert fill(made, {"greedy": measured}) == made


def test_what_is_lacking_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("INCROWD_DATA", raising=False)
    assert main(["tables"]) == 2
    assert "INCROWD_DATA" in capsys.readouterr().err
    with pytest.raises(InputError, match="adult_30162"):
        tables.WORKLOAD.run(tmp_path, is_small=True)


# ── parts and cases ─────────────────────────────────────────────────────────────────────────────


def workload_of(measured, on_request=()):
    def task(name):
        return lambda _: [measured[name]]

    def plan(names):
        return lambda _: {name: task(name) for name in names}

    parts = {"one": plan(["a", "b"]), "two": plan(["c"])}
    made = case_table(("one", "two"), lambda cases: " ".join(cases))
    return Workload("made-up", parts, "full", "small", {"t": made}, on_request=on_request)


def test_a_case_alone_keeps_the_others_and_the_order():
    kept = []
    workload = workload_of({name: {"figure": name} for name in "abc"})
    before = workload.run(Path())
    assert list(before["parts"]["one"]["results"]) == ["a", "b"]
    workload = workload_of({name: {"figure": name * 2} for name in "abc"})
    after = workload.run(Path(), cases=("a",), before=before, keep=kept.append)
    assert kept == [after]
    assert [run["figure"] for part in ("one", "two") for run in runs_of(after, part)] == [
        *("aa", "b", "c")
    ]
    assert runs_of(before, "one")[0]["figure"] == "a"
    for wrong in ({"cases": ("d",)}, {"parts": ("three",)}, {"parts": ("two",), "cases": ("a",)}):
        with pytest.raises(JobError):
            workload.run(Path(), **wrong)


def test_a_part_on_request_runs_only_when_it_is_named():
    workload = workload_of({name: {} for name in "abc"}, on_request=("two",))
    assert list(workload.run(Path())["parts"]) == ["one"]
    assert list(workload.run(Path(), parts=("two",))["parts"]) == ["two"]
    assert list(workload.run(Path(), cases=("c",))["parts"]) == ["two"]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=list(WORKLOADS))
def test_names_are_unique(workload):
    for sizes in (workload.full, workload.small):
        names = [name for plan in workload.parts.values() for name in plan(sizes)]
        assert len(names) == len(set(names))
    others = [other for other in WORKLOADS.values() if other is not workload]
    assert not set(workload.tables) & {name for other in others for name in other.tables}
