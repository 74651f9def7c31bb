"""The workload adaptive on small data: every part, its JSON, its tables, and what it refuses."""

import importlib.util
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import PARTS, main
from benchmarks.adaptive import exact as adaptive_exact
from benchmarks.adaptive import exact_cover
from benchmarks.adaptive import plain as adaptive_plain
from benchmarks.adaptive import runs as adaptive_runs
from benchmarks.adaptive import workload as adaptive
from benchmarks.adaptive.data import GENERATED, Wished, few
from benchmarks.adaptive.exact import first_covers
from benchmarks.adaptive.exact_cover import CompleteGraph, bound, masks_of_edges, optimum
from benchmarks.adaptive.plain_neighbours import by_numpy, by_scikit_learn, one_hot_floats
from benchmarks.adaptive.sizes import SMALL
from benchmarks.pages import TABLES, fill
from incrowd import covers
from incrowd.errors import InputError, JobError
from incrowd.methods.adaptive.search import Problem
from incrowd.progress import silent

TINY = replace(
    SMALL,
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
)


@pytest.fixture
def in_this_process(monkeypatch, tmp_path):
    """Cases run here instead of in processes of their own: the same figures, sooner."""

    def measured_cases(wished, cases, folder, done):
        problem = wished.problem(folder)
        results = []
        for case in cases:
            masks = tmp_path / "masks.npy"
            result = adaptive_runs.measure(problem, {**case, "threads": 1}, masks)
            result |= adaptive_runs.looked_at(adaptive_runs.recounted, problem, masks)
            if case.get("is_audited"):
                believed = adaptive_runs.looked_at(adaptive_runs.believed, problem, masks)
                result["posterior"] = believed
            extra = {"compile_seconds": 0.0, "peak_memory_bytes": 9, "base_memory_bytes": 1}
            extra["cpu_seconds"] = 1.0
            results.append({**case, "data": wished.name, **extra, **result})
            done()
        return results

    for module in (adaptive, adaptive_exact):
        monkeypatch.setattr(module, "measured_cases", measured_cases)


@pytest.mark.usefixtures("in_this_process")
def test_every_part_and_its_tables(data_folder):
    told = []
    result = adaptive.run(
        data_folder, (), lambda stage, done, total: told.append((stage, done, total)), sizes=TINY
    )
    assert json.loads(json.dumps(result)) == result
    assert tuple(result["parts"]) == PARTS["adaptive"]
    assert all(done <= total for _, done, total in told)
    for name, part in result["parts"].items():
        assert list(part["results"]) == list(adaptive.PARTS[name](TINY))
        for case in part["results"].values():
            assert case["is_small"]
            assert {"commit", "machine", "runs"} <= case.keys()
            for run in case["runs"]:
                assert len(run["table"]["sha256"]) == 64
                if "shown" in run:
                    assert 0 <= run["shown"] <= 1
                    assert run["n_recounted"] > 30
    shown = {name: TABLES[name][1](result) for name in TABLES if TABLES[name][0] == "adaptive"}
    for name, table in shown.items():
        widths = {line.count("|") for line in table.splitlines() if line.startswith("|")}
        assert len(widths) == 1, (name, table)
        assert "a small trial" in table
    searches = result["parts"]["searches"]["results"]
    run = searches["partition"]["runs"][0]
    assert run["posterior"]["n_over"] == 0
    assert (
        f"| attributes | partition | – | {100 * run['shown']:.2f} |" in (shown["adaptive-searches"])
    )
    adult = result["parts"]["large"]["results"]["adult"]["runs"][0]
    steps = [step["shown"] for step in adult["iterations"]]
    assert steps == sorted(steps)
    assert steps[-1] == adult["shown"]
    assert (
        f"{100 * adult['shown']:.2f} after {len(steps)} | 90.4, 15 s |" in (shown["adaptive-large"])
    )
    first = result["parts"]["large"]["results"]["payments-first"]["runs"][0]
    assert len(first["iterations"]) == 1
    for network in result["parts"]["exact"]["results"].values():
        weighed = network["runs"][-1]
        assert weighed["least"]["is_proven"]
        lightest = min(cover["weight"] for cover in weighed["covers"].values())
        assert weighed["bound"]["weight"] <= weighed["least"]["weight"] + 1e-6
        assert weighed["least"]["weight"] <= lightest


@pytest.mark.usefixtures("in_this_process")
def test_a_case_alone_keeps_the_others(data_folder):
    before = {
        "parts": {
            "large": {"results": {"payments": {"runs": ["kept"]}, "adult": {"runs": ["old"]}}},
            "exact": {"results": {"reed98": {"runs": ["kept"]}}},
        }
    }
    kept = []
    given = {"sizes": TINY, "before": before, "keep": kept.append}
    result = adaptive.run(data_folder, ("large",), silent, cases=("adult",), **given)
    assert kept == [result]
    assert list(result["parts"]) == ["exact", "large"]
    assert result["parts"]["exact"] == before["parts"]["exact"]
    large = result["parts"]["large"]["results"]
    assert list(large) == ["adult", "payments"]
    assert large["payments"] == {"runs": ["kept"]}
    assert large["adult"]["runs"][0]["n_rows"] == 120
    assert before["parts"]["large"]["results"]["adult"] == {"runs": ["old"]}
    for wrong in ({"cases": ("adlt",)}, {"cases": ("caltech36",)}):
        with pytest.raises(JobError):
            adaptive.run(data_folder, ("large",), silent, sizes=TINY, **wrong)
    with pytest.raises(JobError):
        adaptive.run(data_folder, ("largest",), silent, sizes=TINY)


def test_a_command_in_processes_of_their_own(data_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    results, docs = tmp_path / "results", tmp_path / "docs"
    docs.mkdir()
    marked = [name for name in TABLES if name.startswith("adaptive-")]
    (docs / "page.md").write_text("".join(f"<!-- table {n} -->\n<!-- end -->\n" for n in marked))
    words = ["adaptive", "--small", "--part", "searches", "--case", "cover"]
    words += ["--results", str(results), "--docs", str(docs)]
    assert main(words) == 0, capsys.readouterr()
    kept = json.loads((results / "adaptive.json").read_text())
    (run,) = kept["parts"]["searches"]["results"]["cover"]["runs"]
    assert run["peak_memory_bytes"] >= run["base_memory_bytes"] > 10**7
    assert run["cpu_seconds"] > 0
    problem = Wished("adult", *SMALL.k, SMALL.adult_rows, False).problem(data_folder)
    case = {"steps": [["cover", {}]], "threads": 1}
    assert adaptive_runs.measure(problem, case)["shown"] == run["shown"]
    made = (docs / "page.md").read_text()
    assert f"| attributes | cover | {100 * run['iterations'][0]['shown']:.2f} | " in made
    assert made.count("(not measured yet)") == len(marked) - 1
    assert fill(made, {"adaptive": kept}) == made


def test_missing_data_set(tmp_path):
    with pytest.raises(InputError, match=r"adult\.csv"):
        adaptive.run(tmp_path, ("searches",), silent, sizes=TINY)


# ── what is looked at after a run ───────────────────────────────────────────────────────────────


def problems(is_bit, n_rows=12, seed=0):
    draw = np.random.default_rng(seed)
    n_values = np.array([2, 3, 4], dtype=np.int64)
    codes = np.array([draw.integers(0, most, n_rows) for most in n_values], dtype=np.int32)
    return Problem(codes, n_values, draw.integers(1, 5, n_rows).astype(np.int32), is_bit)


@pytest.mark.parametrize("is_bit", [True, False])
def test_crowds_by_comparing_texts(is_bit):
    problem = problems(is_bit)
    draw = np.random.default_rng(1)
    is_masked = draw.random((problem.n_rows, problem.n_cells)) < 0.6
    columns = [adaptive_runs.cells_of(problem, cell) for cell in range(problem.n_cells)]
    cells = np.column_stack(columns).tolist()
    assert {sum(row) for row in cells} == {3} or not is_bit

    def fits(person, row):
        return all(
            is_masked[row, cell] or cells[person][cell] == cells[row][cell]
            for cell in range(problem.n_cells)
        )

    rows = range(problem.n_rows)
    wanted = [sum(fits(one, other) and fits(other, one) for other in rows) for one in rows]
    found = adaptive_runs.mutual_crowds(problem, is_masked, np.arange(problem.n_rows))
    assert found.tolist() == wanted
    assert len(set(wanted)) > 1


def test_a_release_in_which_somebody_is_short_does_not_count():
    problem = problems(False)
    everything = np.ones((12, 3), dtype=np.bool_)
    assert adaptive_runs.recounted(problem, everything) == {"n_recounted": 12}
    nothing = np.zeros((12, 3), dtype=np.bool_)
    with pytest.raises(RuntimeError, match="lack their crowd"):
        adaptive_runs.recounted(problem, nothing)


def test_belief_in_a_release_that_shows_everything_or_nothing():
    problem = problems(False)
    with pytest.raises(RuntimeError, match="without their crowd"):
        adaptive_runs.believed(problem, np.zeros((12, 3), dtype=np.bool_))
    hidden = adaptive_runs.believed(problem, np.ones((12, 3), dtype=np.bool_))
    assert hidden["sum_p"] == pytest.approx(1.0)
    assert hidden["n_over"] == 0
    assert hidden["worst_p_times_k"] == pytest.approx(problem.k.max() / 12)
    content = Problem(problem.codes, problem.n_values, np.ones(12, dtype=np.int32))
    shown = adaptive_runs.believed(content, np.zeros((12, 3), dtype=np.bool_))
    profiles = {tuple(row) for row in problem.codes.T.tolist()}
    assert shown["sum_p"] == pytest.approx(len(profiles))  # 1/z for each of z equal rows


def test_a_problem_travels_between_processes(tmp_path):
    problem = problems(True)
    adaptive_runs.save(problem, tmp_path / "problem.npz")
    again = adaptive_runs.reload(tmp_path / "problem.npz")
    assert (again.codes == problem.codes).all()
    assert (again.k == problem.k).all()
    assert again.is_bit
    assert few(problem, 5).n_rows == 5


def test_generated_tables_need_no_files(tmp_path):
    for name in GENERATED:
        problem = Wished(name, 5, 100, 50).problem(tmp_path)
        assert problem.n_rows == 50
        assert problem.k.max() <= 50


def test_tables_have_the_paper_s_widths():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    widths = {"caltech36": (769, 101), "reed98": (962, 139), "adult": (32_561, 102)}
    for name, shape in {**widths, "poker": (75_010, 95)}.items():
        problem = Wished(name, 2, 5).problem(Path(folder))
        assert (problem.n_rows, problem.n_cells) == shape


# ── the least cover ─────────────────────────────────────────────────────────────────────────────


def least_by_trying(graph):
    edges = list(zip(graph.lower.tolist(), graph.upper.tolist(), strict=True))
    best = None
    for size in range(len(edges) + 1):
        for chosen in itertools.combinations(range(len(edges)), size):
            ends = [end for edge in chosen for end in edges[edge]]
            if all(ends.count(vertex) >= b for vertex, b in enumerate(graph.b.tolist())):
                weight = sum(int(graph.weight[edge]) for edge in chosen)
                best = weight if best is None else min(best, weight)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_least_cover_by_trying_all(seed):
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 3, (4, 5))
    graph = CompleteGraph.of_rows(codes, draw.integers(0, 4, 5))
    proven = bound(graph)
    least = least_by_trying(graph)
    assert proven.weight <= least + 1e-6
    found = optimum(graph, proven, int(graph.weight.sum()), 20)
    assert (found.weight, found.is_proven) == (least, True)


def test_more_edges_are_asked_for_where_the_light_ones_do_not_do(monkeypatch):
    monkeypatch.setattr(exact_cover, "_FIRST", 1)
    codes = np.random.default_rng(3).integers(0, 3, (5, 60))
    graph = CompleteGraph.of_rows(codes, np.random.default_rng(4).integers(1, 4, 60))
    from scipy.optimize import linprog

    rows = np.zeros((60, len(graph.weight)))
    rows[graph.lower, np.arange(len(graph.weight))] = 1
    rows[graph.upper, np.arange(len(graph.weight))] = 1
    whole = linprog(graph.weight, A_ub=-rows, b_ub=-graph.b, bounds=(0, 1))
    found = bound(graph)
    assert found.weight == pytest.approx(whole.fun)
    assert found.n_rounds > 1


def test_masks_of_a_cover_are_those_of_the_first_iteration(data_folder):
    problem = Wished("caltech36", 2, 5, 40).problem(data_folder)
    first = first_covers(problem, 20)
    assert first["covers"]["mce"]["weight"] <= first["covers"]["nearest"]["weight"]
    graph = CompleteGraph.of_rows(problem.codes, problem.k - 1)
    is_taken = covers.mce(graph.lower, graph.upper, graph.weight, graph.b)
    is_masked = masks_of_edges(
        problem.codes, problem.first_cell, graph.lower[is_taken], graph.upper[is_taken]
    )
    adaptive_runs.recounted(problem, is_masked)
    assert first["covers"]["mce"]["shown"] == pytest.approx(1 - is_masked.mean(), abs=1e-6)


# ── plain searches ──────────────────────────────────────────────────────────────────────────────


def test_plain_searches_find_the_nearest(tmp_path):
    problem = Wished("hands", 5, 20, 300).problem(tmp_path)
    bits = one_hot_floats(problem.codes, problem.n_values)
    rows = problem.codes.T
    apart = 2 * (rows[:, None, :] != rows[None, :, :]).sum(axis=2)
    wanted = np.sort(apart, axis=1)[:, :7]
    assert np.array_equal(by_numpy(bits, bits[::3], 7), wanted[::3])
    if importlib.util.find_spec("sklearn"):
        assert np.array_equal(by_scikit_learn(bits, bits[::3], 7), wanted[::3])


def test_other_distances_are_refused(tmp_path, monkeypatch):
    problem = Wished("hands", 5, 20, 300).problem(tmp_path)
    ways = [one["way"] for one in adaptive_plain.compared(problem, 19)]
    assert ways == ["incrowd", "NumPy", "scikit-learn"]
    monkeypatch.setattr(adaptive_plain, "by_numpy", lambda *given: by_numpy(*given) + 2)
    with pytest.raises(RuntimeError, match="other distances"):
        adaptive_plain.compared(problem, 19)
