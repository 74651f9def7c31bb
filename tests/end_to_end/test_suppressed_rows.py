"""Suppressed rows through the whole flow, recounted with csv; a stub suppresses what it is told."""

import csv
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from incrowd.methods.base import TableMethod
from incrowd.methods.shared.options import KEEPS
from incrowd.methods.table import METHODS
from incrowd.options import option

QUASI = ["sex", "zip"]


@dataclass(frozen=True)
class Leave(TableMethod):
    """Show every row as it is, at the roots where told, and suppress the rows it is told to."""

    name: ClassVar[str] = "leave"
    keeps: ClassVar[frozenset[str]] = KEEPS

    rows: tuple[str, ...] = option((), help="Rows to suppress, from 1.")
    roots: tuple[str, ...] = option((), help="Rows to put at the roots, from 1.")

    def run(self, rows, conditions, engine, seed, progress):  # noqa: ARG002
        nodes = rows.nodes.copy()
        for row in self.roots:
            nodes[:, int(row) - 1] = [hierarchy.root for hierarchy in rows.hierarchies]
        is_suppressed = np.zeros(rows.n_rows, dtype=np.bool_)
        is_suppressed[[int(row) - 1 for row in self.rows]] = True
        return rows.with_nodes(nodes, is_suppressed)


# row numbers:  1–4 in one group, 5–8 in another, 9–12 in groups of their own
TABLE = [
    *[("f", "10", ill, "p1") for ill in "abab"],
    *[("m", "10", ill, "p2") for ill in "aabb"],
    ("f", "20", "a", "p3"),
    ("m", "30", "b", "p4"),
    ("f", "40", "a", "p5"),
    ("m", "50", "b", "p6"),
]
OUTLIERS = "9,10,11,12"


@pytest.fixture
def table(desk, monkeypatch):
    monkeypatch.setitem(METHODS, "leave", Leave)
    (desk / "private").mkdir()
    with (desk / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("sex", "zip", "ill", "who"), *TABLE])
    return desk


def run(table, *flags, rows=OUTLIERS, k=2, limit=0.4):
    base = ["run", "t.csv", "--quasi", "sex,zip", "--sensitive", "ill", "--method", "leave"]
    base += ["--hierarchy", "sex=flat", "--hierarchy", "zip=flat", "--json", "--force"]
    base += ["--set", f'method.rows="{rows}"', "--k", k, "--suppression-limit", limit]
    return table.call(*base, *flags)


def test_rows_are_left_out_and_counted(table):
    finished = run(table, "--key", "private/key.csv")
    assert finished.status == 0, finished.err
    rows = table.rows("t.release.csv")
    assert Counter((row["sex"], row["zip"]) for row in rows) == {("f", "10"): 4, ("m", "10"): 4}
    audit = finished.json
    assert (audit["n_suppressed"], audit["n_rows"], audit["n_groups"]) == (4, 8, 2)
    finding = next(f for f in audit["findings"] if f["name"] == "suppressed rows")
    assert finding["holds"] is True
    assert finding["figures"] == {
        "n_suppressed": 4,
        "n_left_out": 4,
        "n_kept_as_stars": 0,
        "n_suppressible": 4,
    }
    assert any("left out" in note for note in audit["notes"])
    # nothing was generalized: a third of the cells, those of the suppressed rows, is at the root
    losses = audit["losses"]
    for name in ("loss", "ncp", "gcp", "distortion", "total", "suppressed_cells", "nllm"):
        assert losses[name] == pytest.approx(4 / 12), name
    assert losses["suppressed_rows"] == pytest.approx(4 / 12)
    assert losses["precision"] == losses["granularity"] == pytest.approx(8 / 12)
    assert losses["discernibility"] == 4 * 4 + 4 * 4 + 4 * 12
    assert losses["average_class_size"] == 8 / (2 * 2)
    key = table.rows("private/key.csv")
    assert [int(line["released_row"]) for line in key] == list(range(1, 9))
    assert sorted(int(line["original_row"]) for line in key) == list(range(1, 9))
    for line, row in zip(key, rows, strict=True):
        assert TABLE[int(line["original_row"]) - 1][:3] == tuple(row.values())


def test_the_owner_checks_a_release_with_rows_left_out(table):
    assert run(table, "--key", "private/key.csv").status == 0
    check = ["check", "t.release.csv", "--k", 2, "--quasi", "sex,zip", "--sensitive", "ill"]
    check += ["--hierarchy", "sex=flat", "--hierarchy", "zip=flat", "--json", "--original", "t.csv"]
    good = table.call(*check, "--key", "private/key.csv")
    assert good.status == 0, good.err
    assert good.json["n_suppressed"] == 4
    assert table.call(*check, "--aligned").status == 2
    lines = (table / "private" / "key.csv").read_text().splitlines()
    moved = [line.replace(",1", ",12") if line.endswith(",1") else line for line in lines]
    (table / "private" / "moved.csv").write_text("\n".join(moved) + "\n")
    assert table.call(*check, "--key", "private/moved.csv").status == 1


def test_kept_rows_are_stars_and_a_group(table):
    finished = run(table, "--keep-suppressed", "--l", 2, "--key", "private/key.csv")
    assert finished.status == 0, finished.err
    rows = table.rows("t.release.csv")
    sizes = Counter((row["sex"], row["zip"]) for row in rows)
    assert sizes == {("f", "10"): 4, ("m", "10"): 4, ("*", "*"): 4}
    starred = Counter(row["ill"] for row in rows if row["sex"] == "*")
    assert starred == {"a": 2, "b": 2}
    audit = finished.json
    assert (audit["n_suppressed"], audit["n_rows"], audit["n_groups"]) == (4, 12, 3)
    assert audit["losses"]["loss"] == pytest.approx(4 / 12)
    assert audit["losses"]["suppressed_cells"] == pytest.approx(4 / 12)
    assert len(table.rows("private/key.csv")) == 12


@pytest.mark.parametrize(
    ("rows", "flags"),
    [
        ("9", []),  # fewer than k
        ("9,10", ["--k", 3]),
        ("9,11", ["--l", 2]),  # both have the same value
        ("9,11", ["--t", 0.3]),
        ("9,10", ["--person", "who", "--k", 3]),
    ],
)
def test_what_is_no_group_of_its_own_is_left_out(table, rows, flags):
    others = ",".join(number for number in OUTLIERS.split(",") if number not in rows.split(","))
    roots = f"1,2,3,4,5,6,7,8,{others}"
    finished = run(
        table, "--keep-suppressed", "--set", f'method.roots="{roots}"', *flags, rows=rows
    )
    assert finished.status == 0, finished.err
    assert len(table.rows("t.release.csv")) == 12 - len(rows.split(","))
    assert any("do not meet the promise" in note for note in finished.json["notes"])


def test_kept_rows_join_the_rows_at_the_roots(table):
    """The search's own group of stars and the kept one are one group, and counted as such."""
    flags = ["--keep-suppressed", "--l", 2, "--l-kind", "recursive", "--c", 1.1]
    alone = ["--set", "method.roots=9,10,11,12"]
    joined = run(table, *flags, *alone, rows="1,2,3,4")
    assert joined.status == 0, joined.err
    assert Counter(row["sex"] for row in table.rows("t.release.csv")) == {"*": 8, "m": 4}


def test_more_than_allowed_is_refused_by_the_audit(table):
    finished = run(table, limit=0.3)
    assert finished.status == 4
    assert "suppressed rows" in finished.err
    assert not (table / "t.release.csv").exists()


def test_nothing_left_is_infeasible(table):
    every = ",".join(str(number) for number in range(1, 13))
    for flags in ([], ["--keep-suppressed"]):
        finished = run(table, *flags, rows=every, limit=1)
        assert finished.status == 3
        assert "nothing is left" in finished.err
        assert not (table / "t.release.csv").exists()


def test_order_is_kept_only_where_no_row_is_lost(table):
    assert run(table, "--keep-order").status == 2
    kept = run(table, "--keep-order", "--keep-suppressed")
    assert kept.status == 0, kept.err
    shown = [tuple(row.values()) for row in table.rows("t.release.csv")]
    assert shown == [row[:3] for row in TABLE[:8]] + [("*", "*", row[2]) for row in TABLE[8:]]
    (table / "t.release.csv").unlink()
    lost = run(table, "--keep-order", "--keep-suppressed", "--l", 2, rows="9,11")
    assert lost.status == 3
    assert "places" in lost.err
    assert not (table / "t.release.csv").exists()


def test_closeness_is_measured_on_what_is_left(table):
    """All rows: a 1/2. Without four rows of value a it is 1/4, and half of a group is too far."""
    (table / "t.csv").write_text(
        "sex,zip,ill,who\n"
        + "".join(f"f,10,{ill},x\n" for ill in "aabb")
        + "".join(f"m,10,{ill},x\n" for ill in "abbbabbb")
        + "".join(f"f,2{ill},{ill},x\n" for ill in "aaaa"),
        encoding="utf-8",
    )
    rows = "13,14,15,16"
    t = ["--t", 0.26]
    assert run(table, *t, rows=rows, limit=0.25).status == 0
    drifted = run(table, "--t", 0.16, rows=rows, limit=0.25)
    assert drifted.status == 3, drifted.err
    assert "distribution" in drifted.err
    assert "--keep-suppressed" in drifted.err


def test_closeness_is_measured_with_what_is_kept(table):
    """One group of b alone; the kept rows are half a, so that a third of the whole file is a."""
    (table / "t.csv").write_text(
        "sex,zip,ill,who\n"
        + "".join(f"f,10,{ill},x\n" for ill in "bbbb")
        + "".join(f"m,{20 + number},{ill},x\n" for number, ill in enumerate("abababab")),
        encoding="utf-8",
    )
    rows = "5,6,7,8,9,10,11,12"
    near = run(table, "--keep-suppressed", "--t", 0.34, rows=rows, limit=0.7)
    assert near.status == 0, near.err
    assert len(table.rows("t.release.csv")) == 12
    far = run(table, "--keep-suppressed", "--t", 0.2, rows=rows, limit=0.7)
    assert far.status == 0, far.err
    assert len(table.rows("t.release.csv")) == 4
    assert any("1 groups are further than t" in note for note in far.json["notes"])


@pytest.mark.parametrize("limit", ["-0.1", "1.5", "nan"])
def test_a_limit_is_a_share(table, limit):
    finished = run(table, limit=limit)
    assert finished.status == 2
    assert "suppression_limit" in finished.err


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "greedy"])
def test_methods_that_cannot_suppress_ignore_the_limit(desk, method):
    base = ["run", "census.csv", "--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--k", 5]
    released = []
    for flags in ([], ["--suppression-limit", 0.05, "--keep-suppressed"]):
        finished = desk.call(*base, "--method", method, "--json", "--force", *flags)
        assert finished.status == 0, finished.err
        assert finished.json["n_suppressed"] == 0
        released.append((desk / "census.release.csv").read_bytes())
    assert released[0] == released[1]


def test_a_saved_job_states_the_suppression(table):
    assert run(table, "--keep-suppressed", "--save-job", "job.toml").status == 0
    text = (table / "job.toml").read_text()
    assert "suppression_limit = 0.4" in text
    assert "keep_suppressed = true" in text
    before = (table / "t.release.csv").read_bytes()
    assert table.call("run", "job.toml", "--force").status == 0
    assert (table / "t.release.csv").read_bytes() == before
