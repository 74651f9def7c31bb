"""The workload greedy on small generated data: every part, its JSON, its tables."""

import contextlib
import json
import re
from dataclasses import replace

import pytest

from benchmarks.__main__ import main
from benchmarks.greedy import workload as greedy
from benchmarks.greedy.sizes import SMALL
from benchmarks.pages import TABLES, drawings, fill
from benchmarks.shared import measured, plans
from benchmarks.shared.datasets import DataSet, load
from incrowd.errors import InputError, JobError
from incrowd.progress import silent

TINY = replace(
    SMALL,
    index_voters=400,
    growth_rows=(200, 400),
    growth_methods_up_to=200,
    paper_voters=(300, 500),
    peer_seconds=60,
)
COMMON = {"data", "k", "settings", "method", "seconds", "losses", "n_groups", "n_distinct"}


@pytest.fixture
def in_this_process(monkeypatch):
    """Cases run here instead of in processes of their own: the same figures, sooner."""

    class Here:
        def __init__(self, data, folder):
            self.data, self.rows = data, load(data, folder)

        def run(self, cases, done):
            results = []
            for case in cases:
                said = measured.measure(self.rows, case)
                extra = {"n_rows": self.data.n_rows} if self.data.n_rows else {}
                extra |= {"n_distinct": 1, "compile_seconds": 0.0, "peak_memory_bytes": 1}
                results.append({"data": self.data.name, **case, **extra, **said})
                done()
            return results

    @contextlib.contextmanager
    def stem_of(data, folder):
        yield Here(data, folder)

    monkeypatch.setattr(plans, "stem_of", stem_of)


@pytest.mark.usefixtures("in_this_process")
def test_every_part_and_its_tables(data_folder):
    told = []
    result = greedy.run(
        data_folder, (), lambda stage, done, total: told.append((stage, done, total)), sizes=TINY
    )
    assert json.loads(json.dumps(result)) == result
    assert list(result["parts"]) == list(greedy.PARTS)
    for name, part in result["parts"].items():
        assert part["results"], name
        assert part["is_small"]
        assert {"commit", "machine", "data", "took_seconds"} <= part.keys()
        for one in part["results"]:
            if "peer" not in one:
                assert one.keys() >= COMMON, name
                assert all(0 <= loss <= 1 for loss in one["losses"].values())
    assert all(done <= total for _, done, total in told)
    shown = {name: TABLES[name][1](result) for name in TABLES if TABLES[name][0] == "greedy"}
    for name, table in shown.items():
        widths = {line.count("|") for line in table.splitlines() if line.startswith("|")}
        assert len(widths) == 1, (name, table)
    paper = result["parts"]["paper"]["results"]
    first = next(one for one in paper if one["settings"]["preset"] == "gkaa" and one["k"] == 2)
    assert f"| gkaa, 1 | {100 * first['losses']['nllm']:.2f} (2.28) |" in shown["paper-adult-loss"]
    parted = next(one for one in paper if one["settings"] == {"preset": "pgpkaa", "processors": 2})
    assert f"| {100 * parted['equation_2']:.2f} (2.29)" in shown["paper-adult-equation-2"]
    for drawing in drawings({"greedy": result}).values():
        assert drawing.count("<polyline") == 1  # one k, and only cluster has several points
        assert "k = 5" in drawing


@pytest.mark.usefixtures("in_this_process")
def test_parts_run_alone_keep_the_others(data_folder):
    before = {"parts": {"curve": {"results": ["kept"]}, "index": {"results": ["old"]}}}
    result = greedy.run(data_folder, ("index",), silent, sizes=TINY, before=before)
    assert result["parts"]["curve"] == {"results": ["kept"]}
    assert len(result["parts"]["index"]["results"]) == 6
    with pytest.raises(JobError):
        greedy.run(data_folder, ("indices",), silent, sizes=TINY)


@pytest.mark.usefixtures("in_this_process")
def test_other_merges_than_the_scan_are_refused(data_folder, monkeypatch):
    def measure(rows, case, honest=measured.measure):
        return {**honest(rows, case), "merges_sha256": case["search"]}

    monkeypatch.setattr(measured, "measure", measure)
    with pytest.raises(RuntimeError, match="other merges"):
        greedy.run(data_folder, ("index",), silent, sizes=TINY)


@pytest.mark.parametrize(
    ("stated", "brief"),
    [
        ({"metric": "ncp"}, {"metric": "ncp"}),
        ({"effort": 200_000}, {"effort": 20}),
        ({"effort": "60s"}, {"effort": "0.01s"}),
        ({"partitions": 1}, {}),
        ({"partitions": 32}, {"partitions": 2}),
        ({"preset": "gkaa", "processors": 1}, {}),
        ({"preset": "h-pgpkaa", "processors": 64, "reorganize": "none"}, None),
    ],
)
def test_compiling_takes_the_same_way_as_the_run(stated, brief):
    wanted = {"reorganize": "none", "partitions": 2} if brief is None else brief
    assert measured._brief(stated) == wanted


def test_groups_below_k_are_refused(data_folder, monkeypatch):
    rows = load(DataSet("adult"), data_folder)
    monkeypatch.setattr(measured, "_search", lambda rows, _: (rows, {}))
    with pytest.raises(RuntimeError, match="a group of 1 rows"):
        measured.measure(rows, {"method": "greedy", "settings": {}, "k": 5})


def test_a_command_in_processes_of_their_own(data_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INCROWD_DATA", str(data_folder))
    results = tmp_path / "results"
    words = ["greedy", "--small", "--part", "boundary", "--results", str(results)]
    docs = tmp_path / "docs"
    docs.mkdir()
    page = "before\n<!-- table boundary -->\n<!-- end -->\n<!-- table peers -->\n<!-- end -->\n"
    (docs / "page.md").write_text(page)
    assert main([*words, "--docs", str(docs)]) == 0, capsys.readouterr()
    found = json.loads((results / "greedy.json").read_text())["parts"]["boundary"]["results"]
    here = load(DataSet("adult-nine"), data_folder)
    for one in found:
        assert one["peak_memory_bytes"] > 10**7
        case = {name: one[name] for name in ("method", "settings", "k", "threads")}
        assert measured.measure(here, case)["losses"] == one["losses"]
    made = (docs / "page.md").read_text()
    assert made.count(f"{100 * found[0]['losses']['nllm']:.2f}") >= 1
    assert "(not measured yet)" in made
    assert fill(made, {"greedy": json.loads((results / "greedy.json").read_text())}) == made
    assert (docs / "images" / "curve-adult.svg").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["tables", "--small"],
        ["tables", "--part", "index"],
        ["adaptive", "--peers-python", "python"],
        ["greedy", "--case", "adult"],
    ],
)
def test_flags_of_other_workloads(words, capsys):
    assert main(words) == 2
    assert f"the workload {words[1]} takes no {words[2]}" in capsys.readouterr().err


def test_missing_data_set(tmp_path):
    with pytest.raises(InputError) as caught:
        greedy.run(tmp_path, ("boundary",), silent, sizes=TINY)
    assert re.search("adult_30162", caught.value.what)
