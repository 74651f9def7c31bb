"""Tables of other packages price_table by our losses; what a measured search of a table refuses."""

import csv
import json
import random

import numpy as np
import pytest

from benchmarks.greedy import runs, workload
from benchmarks.greedy.data import DataSet
from benchmarks.greedy.peer_script import NOT_INSTALLED, PEERS, main
from benchmarks.greedy.peers import cell_prices, price_table
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import DataError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import METRICS
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent


@pytest.mark.usefixtures("in_this_process")
def test_other_merges_than_the_scan_are_refused(data_folder, monkeypatch):
    def measure(rows, case, honest=runs.measure):
        return {**honest(rows, case), "merges_sha256": case["search"]}

    monkeypatch.setattr(runs, "measure", measure)
    with pytest.raises(RuntimeError, match="other merges"):
        workload.index(workload.SMALL)["index-adult-nine"](data_folder)


def test_groups_below_k_are_refused(data_folder, monkeypatch):
    rows = DataSet("adult").load(data_folder)
    monkeypatch.setattr(runs, "_search", lambda rows, _: (rows, {}))
    with pytest.raises(RuntimeError, match="a group of 1 rows"):
        runs.measure(rows, {"method": "greedy", "settings": {}, "k": 5})


@pytest.mark.parametrize(
    ("stated", "brief"),
    [
        ({"metric": "ncp"}, {"metric": "ncp"}),
        ({"effort": 200_000}, {"effort": 20}),
        ({"effort": "60s"}, {"effort": "0.01s"}),
        ({"partitions": 1}, {}),
        ({"partitions": 32}, {"partitions": 2}),
        ({"preset": "gkaa", "processors": 1}, {}),
        (
            {"preset": "h-pgpkaa", "processors": 64, "reorganize": "none"},
            {"reorganize": "none", "partitions": 2},
        ),
    ],
)
def test_compiling_takes_the_same_way_as_the_run(stated, brief):
    assert runs.brief({"settings": stated, "k": 50}) == {"settings": brief, "k": 2, "threads": 1}


# ── peers ───────────────────────────────────────────────────────────────────────────────────────

AGES = Hierarchy.from_ladder(
    "age",
    [["20", "25", "30", "40"], ["2x", "2x", "3x", "4x"]],
    values=np.array([20.0, 25.0, 30.0, 40.0]),
)
CITIES = Hierarchy.from_ladder("city", [["a", "b", "c", "d", "e"], ["v", "v", "w", "w", "w"]])


@pytest.mark.parametrize(
    ("text", "tree", "loss", "ncp"),
    [
        ("25", AGES, 0, 0),
        ("2x", AGES, 1 / 3, 5 / 20),
        ("*", AGES, 1, 1),
        ("25-40", AGES, 2 / 3, 15 / 20),
        ("b", CITIES, 0, 0),
        ("w", CITIES, 2 / 4, 3 / 5),
        ("a,e", CITIES, 1 / 4, 2 / 5),
        ("a,b,c,d,e", CITIES, 1, 1),
    ],
)
def test_a_cell_costs_what_it_covers(text, tree, loss, ncp):
    assert cell_prices(text, tree) == pytest.approx({"loss": loss, "ncp": ncp})


@pytest.mark.parametrize(("text", "tree"), [("a,z", CITIES), ("26-29", AGES), ("0-9", CITIES)])
def test_a_foreign_cell_is_refused(text, tree):
    with pytest.raises(DataError) as caught:
        cell_prices(text, tree)
    assert text not in caught.value.what


def test_a_missing_row_costs_everything():
    cells = {"age": ["20", "2x"], "city": ["a", "*"]}
    found = price_table(cells, [2, 1], (AGES, CITIES), 4)
    assert found["loss"] == pytest.approx((1 / 3 + 1 + 2) / 8)
    with pytest.raises(DataError):
        price_table(cells, [2, 3], (AGES, CITIES), 4)


def test_our_own_releases_cost_what_our_metrics_say(data_folder):
    rows = DataSet("adult").load(data_folder)
    after = Greedy(metric="loss").run(rows, Conditions(4), LocalEngine(threads=1), 0, silent)
    cells = {
        name: [tree.labels[node] for node in nodes]
        for name, tree, nodes in zip(rows.names, rows.hierarchies, after.nodes, strict=True)
    }
    found = price_table(cells, [1] * rows.n_rows, rows.hierarchies, rows.n_rows)
    for name in ("loss", "ncp"):
        assert found[name] == pytest.approx(METRICS[name](rows, after))


def test_a_peer_runs_by_itself(data_folder, tmp_path, capsys):
    pytest.importorskip("anjana")
    draw = random.Random(1)
    lines = [[draw.choice("FM"), draw.choice(["r1", "r2", "r3"])] for _ in range(60)]
    table = tmp_path / "table.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["sex", "race"], *lines])
    released = tmp_path / "released.csv"
    hierarchies = str(data_folder / "adult/hierarchies_arx")
    assert main("anjana", str(table), hierarchies, "12", str(released)) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["seconds"] > 0
    with released.open(newline="") as file:
        counts = [int(line["count"]) for line in csv.DictReader(file)]
    assert sum(counts) == 60
    assert min(counts) >= 12


def test_absent_peers_are_said_to_be(monkeypatch):
    monkeypatch.setitem(PEERS, "nobody", ("no_such_package_here", None))
    assert main("nobody", "", "", "5", "") == NOT_INSTALLED
