"""The workload rules: what it measures is checked, and its tables say what was measured."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.__main__ import WORKLOADS
from benchmarks.rules import beside as rules_beside
from benchmarks.rules import page as render_rules
from benchmarks.rules import runs as rules_runs
from benchmarks.rules import workload as rules
from benchmarks.rules.data import REAL, RuleData, Transactions, reload, save
from benchmarks.rules.plain import plain_rbat
from benchmarks.rules.samples import shop_baskets
from benchmarks.rules.sizes import SMALL
from benchmarks.sets.data import BASKETS
from benchmarks.shared.table_text import NOT_MEASURED
from incrowd.errors import JobError
from incrowd.progress import silent
from incrowd.transactions.samples import generate_rules
from oracles.rbat import rbat

TINY = replace(SMALL, baskets=(400, 60), n_rules=20, n_rules_varied=(10, 20), most_rows=150)
CASE = rules._case(TINY)


@pytest.fixture(scope="module")
def baskets_folder(tmp_path_factory):
    """Return a folder with baskets where the real ones would be."""
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(REAL):
        sets = shop_baskets(200, 50, 4.0, 12, n_types=4, seed=seed)
        path = folder / BASKETS[name]
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt") as file:
            for row in np.split(sets.items, sets.starts[1:-1]):
                file.write(" ".join(map(str, row.tolist())) + "\n")
    return folder


@pytest.fixture(scope="module")
def transactions():
    sets = shop_baskets(400, 60, 4.0, 15, n_types=4)
    is_sensitive = np.arange(60) % 7 == 3
    return Transactions(sets, is_sensitive, generate_rules(sets, is_sensitive, 20))


def lines_of(text):
    """Return how many lines a table has, all of them as wide as its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert "a small trial" in text
    return len(lines) - 2


def run_of(folder, **wanted):
    return rules.run(folder, wanted.pop("parts", ()), silent, sizes=TINY, **wanted)


# ── the plain search ────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60)
@given(
    rows=st.lists(st.sets(st.integers(0, 8), min_size=1), min_size=4, max_size=14),
    stated=st.lists(
        st.tuples(
            st.sets(st.integers(0, 6), min_size=1, max_size=3),
            st.sets(st.integers(7, 8), min_size=1),
        ),
        min_size=1,
        max_size=4,
    ),
    alpha=st.sampled_from([1, 2, 4, "full"]),
)
def test_the_plain_search_is_the_paper_s(rows, stated, alpha):
    held = set().union(*rows)
    stated = [(public & held, told) for public, told in stated if public & held]
    k, confidence = 2, 0.9
    root = frozenset(held - {7, 8})
    holders = [row for row in rows if row & root]
    for _, told in stated:  # the root must keep them, or there is nothing to split
        if len(holders) < k or sum(told <= row for row in holders) / len(holders) > confidence:
            return
    found = plain_rbat(
        [sorted(row) for row in rows],
        frozenset({7, 8}),
        [(tuple(sorted(public)), tuple(sorted(told))) for public, told in stated],
        k,
        confidence,
        alpha,
    )
    wanted = rbat(
        [frozenset(row) for row in rows],
        root,
        [(frozenset(public), frozenset(told)) for public, told in stated],
        k,
        confidence,
        dict.fromkeys(range(9), 1),
        alpha,
    )
    assert set(map(frozenset, found)) == set(wanted)


def test_other_parts_than_the_plain_search_s_are_refused(tmp_path, transactions):
    target = tmp_path / "parts.npy"
    rules_runs.search(transactions, CASE, target)
    assert rules_beside._plainly(transactions, CASE, target)["n_parts"] > 1
    part_of_item = np.load(target)
    part_of_item[part_of_item == part_of_item.max()] = 0
    np.save(target, part_of_item)
    with pytest.raises(RuntimeError, match="other parts"):
        rules_beside._plainly(transactions, CASE, target)


# ── measured runs ───────────────────────────────────────────────────────────────────────────────


def test_a_release_that_breaks_a_rule_does_not_count(tmp_path, transactions):
    target = tmp_path / "parts.npy"
    found = rules_runs.search(transactions, CASE, target)
    said = rules_runs.look_at(transactions, CASE, target)
    assert said["n_parts"] == np.load(target).max() + 1
    assert said["n_public"] == int((np.load(target) >= 0).sum())
    assert found["skewness"] >= 0
    part_of_item = np.full(60, -1, dtype=np.int32)
    public = np.flatnonzero(np.load(target) >= 0)
    part_of_item[public] = np.arange(len(public))
    np.save(target, part_of_item)
    with pytest.raises(RuntimeError, match="refused a measured release"):
        rules_runs.look_at(transactions, CASE, target)


def test_transactions_travel_between_processes(tmp_path, transactions):
    save(transactions, tmp_path / "kept.npz")
    again = reload(tmp_path / "kept.npz")
    assert (again.sets.items == transactions.sets.items).all()
    assert (again.sets.starts == transactions.sets.starts).all()
    assert (again.is_sensitive == transactions.is_sensitive).all()
    for number in range(20):
        assert again.rules.rule(number) == transactions.rules.rule(number)


def test_rules_are_those_of_the_data_once(tmp_path):
    once, twice = (
        RuleData("shop", 15, 300, 40, 20, times=times).made(tmp_path) for times in (1, 2)
    )
    assert twice.sets.n_rows == 600
    assert once.rules.public.tolist() == twice.rules.public.tolist()
    assert once.is_sensitive.sum() == 4


def test_cases_are_measured_and_kept(baskets_folder):
    kept = []
    wanted = ("times-0.5", "km-groceries", "mined-groceries", "plain")
    measured = run_of(baskets_folder, cases=wanted, keep=kept.append)
    assert len(kept) == len(wanted)
    assert list(measured["parts"]) == [part for part in rules.PARTS if part in measured["parts"]]
    growth = measured["parts"]["growth"]["results"]["times-0.5"]
    assert growth["is_small"]
    assert [run["settings"]["alpha"] for run in growth["runs"]] == [4, 1, "full"]
    for run in growth["runs"]:
        assert run["n_rows"] == 200
        assert run["n_parts"] <= run["n_public"]
        assert run["peak_memory_bytes"] >= run["base_memory_bytes"]
        assert run["log2_utility_loss"] < 0
    by_m = measured["parts"]["km"]["results"]["km-groceries"]["runs"]
    assert [run["m"] for run in by_m] == [1, 1, 2, 2]
    assert by_m[2]["n_parts"] <= by_m[0]["n_parts"]
    mined = measured["parts"]["mined"]["results"]["mined-groceries"]["runs"]
    assert mined[0]["n_rules"] > 0
    ours, plainly = measured["parts"]["plain"]["results"]["plain"]["runs"]
    assert (ours["way"], plainly["way"]) == ("incrowd", "plain")
    again = run_of(baskets_folder, cases=("mined-groceries",), before=measured)
    assert again["parts"]["growth"] == measured["parts"]["growth"]
    for name in ("growth", "km", "mined", "plain"):
        n_runs = sum(len(case["runs"]) for case in measured["parts"][name]["results"].values())
        assert lines_of(render_rules.RULES_TABLES[f"rules-{name}"](measured)) == n_runs
    for name in ("alpha", "items", "rules", "real"):  # made of the same figures
        results = {"one": growth, "two": growth}
        text = render_rules.RULES_TABLES[f"rules-{name}"]({"parts": {name: {"results": results}}})
        assert lines_of(text) == (2 if name == "rules" else 6)
    assert render_rules.RULES_TABLES["rules-alpha"](measured) == NOT_MEASURED
    drawing = render_rules.RULES_DRAWINGS["rules-growth.svg"](measured)
    assert [f"α = {alpha}<" in drawing for alpha in (4, 1, "full", 16)] == [True, True, True, False]
    assert "<svg" in render_rules.RULES_DRAWINGS["rules-growth.svg"]({"parts": {}})


def test_a_gamma_that_changes_parts_is_refused(monkeypatch, tmp_path):
    found = iter([{"parts_sha256": "a"}, {"parts_sha256": "b"}])
    monkeypatch.setattr(rules, "measured_cases", lambda *_: list(found))
    with pytest.raises(RuntimeError, match="γ changed"):
        rules.rules(TINY)["rules-10"](tmp_path)


def test_more_rules_than_are_mined_are_an_outcome(transactions, monkeypatch):
    from incrowd.transactions import mine

    def refuse(*_):
        raise JobError("too many")

    monkeypatch.setattr(mine, "mine_rules", refuse)
    said = rules_beside._mined(transactions, {"k": 2, "confidence": 0.9, "largest": 1})
    assert said["outcome"] == "more than 2,000,000"
    run = {**said, "cpu_seconds": 1.0, "peak_memory_bytes": 1, "largest": 1, "n_rows": 5}
    assert "more than 2,000,000" in render_rules._mined({"one": [{**run, "data": {"name": "x"}}]})


def test_the_command_and_the_workload_have_the_same_parts(tmp_path):
    assert WORKLOADS["rules"].parts == tuple(rules.PARTS)
    assert set(render_rules.RULES_TABLES) == {f"rules-{part}" for part in rules.PARTS}
    names = [name for plan in rules.PARTS.values() for name in plan(rules.FULL)]
    assert len(names) == len(set(names))
    with pytest.raises(JobError, match="unknown part"):
        run_of(tmp_path, parts=("grwth",))
    with pytest.raises(JobError, match="unknown case"):
        run_of(tmp_path, cases=("times-17",))
