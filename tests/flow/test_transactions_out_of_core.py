"""Transactions whose rows stay on an engine: the bytes of one process, audited by sums."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import incrowd as ic
from incrowd.checking import transactions as checking
from incrowd.checking.request import Request
from incrowd.engines.choice import EngineChoice
from incrowd.engines.items import ItemRows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import AuditError, DataError, JobError
from incrowd.flow import placement
from incrowd.flow import transactions_out_of_core as out_of_core
from incrowd.guarantees.transactions import rule_check
from incrowd.job.job import Job
from incrowd.sets.files import read_sets, write_sets
from incrowd.sets.format import SetFormat, SetOptions
from incrowd.sets.stream import RowStream, write_stream
from incrowd.transactions.generalized import parse_label

N_ITEMS = 30
SENSITIVE = ",".join(f"s{item}" for item in range(4))


def baskets(n_rows=300, seed=3):
    """Return rows of names, some of them empty or equal, and one with an item twice."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        public = (N_ITEMS * random.random(random.integers(0, 7)) ** 2).astype(int)
        told = [f"s{item}" for item in range(4) if random.random() < 0.25]
        rows.append(sorted({f"i{item}" for item in public.tolist()}) + told)
    rows[0] = ["i1", "i2", "i1", "s0"]
    rows[1] = ["i1", "s0", "s1", "s2", "s3", "i29"]
    return rows


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with baskets, as text, packed and as Parquet, and rules; any file is large."""
    rows = baskets()
    lines = "".join(" ".join(row) + "\n" for row in rows)
    (tmp_path / "b.dat").write_text(lines, encoding="utf-8")
    lists = pa.table({"codes": pa.array([list(dict.fromkeys(row)) for row in rows])})
    parquet.write_table(lists, tmp_path / "b.parquet")
    named = lists.add_column(0, "who", pa.array(range(len(rows), 0, -1), pa.int32()))
    parquet.write_table(named, tmp_path / "named.parquet")
    (tmp_path / "parts").mkdir()
    cut = lines.index("\n", len(lines) // 2) + 1
    (tmp_path / "parts" / "part-0.dat").write_text(lines[:cut], encoding="utf-8")
    (tmp_path / "parts" / "part-1.dat").write_text(lines[cut:], encoding="utf-8")
    rules = [f"i{a} i{b} -> s{(a + b) % 4}\n" for a in range(0, 9, 2) for b in range(1, 12, 3)]
    (tmp_path / "rules.txt").write_text("".join(rules), encoding="utf-8")
    monkeypatch.setattr(placement, "PER_BYTE_OF_TEXT", 1 << 20)
    return tmp_path


def job(folder, data="b.dat", output="out.dat", engine=None, **more):
    stated = {
        "guarantee": ic.RuleProtection(k=4, confidence=0.8),
        "method": ic.Rbat(),
        "rules": ic.RuleInput(file=str(folder / "rules.txt"), sensitive_items=SENSITIVE),
    }
    return Job(
        **{**stated, **more},
        data=str(folder / data),
        output=str(folder / output),
        engine=engine or EngineChoice(memory="1MB", threads=2),
    )


def alone(folder, data="b.dat", output="alone.dat", **settings):
    """Return the release of one process, without improvement."""
    method = ic.Rbat(improve="none", rounds="driver", **settings)
    return ic.run(job(folder, data, output, EngineChoice(), method=method))


CASES = [
    ("b.dat", "dat"),
    ("b.dat", "dat.gz"),
    ("parts", "dat"),
    ("b.parquet", "parquet"),
    ("named.parquet", "parquet"),
]


@pytest.mark.parametrize(("data", "ending"), CASES)
def test_rows_on_disk_give_the_bytes_of_one_process(shop, monkeypatch, data, ending):
    monkeypatch.setattr("incrowd.sets.files._BLOCK_ENTRIES", 100)
    of_process = alone(shop, data, f"alone.{ending}")
    on_disk = ic.run(job(shop, data, f"disk.{ending}"))
    assert on_disk.audit.engine["rows"] == "on disk"
    assert "rows" not in of_process.audit.engine
    require_the_same(shop, f"alone.{ending}", f"disk.{ending}")
    assert on_disk.audit.method["parameters"]["parts"] > 2
    assert on_disk.audit.method["parameters"]["n_rounds"] > 1
    require_the_same_audit(of_process.audit, on_disk.audit)


def require_the_same(folder, name, other):
    for ending in ("", ".mapping.csv"):
        content = (folder / f"{name}{ending}").read_bytes()
        assert content == (folder / f"{other}{ending}").read_bytes()
    assert not list(folder.glob(".incrowd*"))


def require_the_same_audit(audit, spread):
    """All that is counted is counted the same; only held queries look at rows."""
    assert spread.n_rows == audit.n_rows
    assert spread.holds
    for name in ("items", "rules", "absent rules", "closure"):
        assert spread.finding(name).figures == audit.finding(name).figures
        assert spread.finding(name).summary == audit.finding(name).summary
    assert spread.finding("truth").holds
    assert spread.finding("canonical order").holds
    held = {"are_held_subsets", "are_held_share", "n_held_queries"}
    assert {**spread.losses} == {
        **{name: loss for name, loss in audit.losses.items() if name not in held},
        "n_held_queries": 0,
    }


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_rows_on_spark_give_the_bytes_of_one_process(shop):
    of_process = alone(shop, alpha=2, gamma=1)
    on_spark = ic.run(job(shop, engine=EngineChoice("spark"), method=ic.Rbat(alpha=2, gamma=1)))
    require_the_same(shop, "alone.dat", "out.dat")
    require_the_same_audit(of_process.audit, on_spark.audit)
    # the check of the file by itself counts on Spark too
    released = shop / "out.dat"
    here = ic.check(released, on_spark.job)
    there = ic.check(released, on_spark.job, engine=EngineChoice("spark"))
    assert there.engine["name"] == "spark"
    assert list(map(repr, there.findings)) == list(map(repr, here.findings))
    assert there.release_sha256 == here.release_sha256 == on_spark.audit.release_sha256
    # the saved job makes the same release anywhere
    again = ic.run(replace(on_spark.job, output=str(shop / "again.dat"), engine=EngineChoice()))
    assert again.audit.release_sha256 == on_spark.audit.release_sha256


def test_the_saved_job_states_that_rounds_found_the_parts(shop):
    on_disk = ic.run(job(shop))
    assert on_disk.job.method.rounds == "engine"
    assert on_disk.job.method.improve == "none"
    again = ic.run(replace(on_disk.job, output=str(shop / "again.dat"), engine=EngineChoice()))
    assert again.audit.release_sha256 == on_disk.audit.release_sha256


def test_rules_are_saved_and_notes_kept(shop):
    rules = ic.RuleInput(
        file=str(shop / "rules.txt"), sensitive_items=SENSITIVE, save=str(shop / "kept.rules")
    )
    release = ic.run(job(shop, rules=rules))
    assert (shop / "kept.rules").read_text().count("->") == 20
    assert any("1 entries stood there more than once" in note for note in release.audit.notes)
    assert len(release.overview.rows) == 5


def drop_last(_labels, rows):
    """Leave a row out."""
    return rows[:-1]


def swap_items(labels, rows):
    """Show another part than the one that the first row with items had."""
    rows = [list(row) for row in rows]
    at = next(place for place, row in enumerate(rows) if row)
    rows[at][0] = (rows[at][0] + 1) % len(labels)
    rows[at] = sorted(set(rows[at]))
    return rows


def move_sensitive(labels, rows):
    """Give the sensitive items of a row to another one; every count stays as it is."""
    told = {place for place, label in enumerate(labels.to_pylist()) if label.startswith("s")}
    rows = [set(row) for row in rows]
    by_told = {frozenset(row & told): place for place, row in enumerate(rows)}
    (one, first), (other, second), *_ = by_told.items()
    rows[first], rows[second] = rows[first] - one | other, rows[second] - other | one
    return [sorted(row) for row in rows]


def test_a_label_that_was_not_made_is_refused(shop, monkeypatch):
    written = out_of_core.write_stream

    def with_another(labels, blocks, path, stored):
        written(labels, blocks, path, stored)
        path.write_text("i0 unheard-of\n" + path.read_text().partition("\n")[2])

    monkeypatch.setattr(out_of_core, "write_stream", with_another)
    with pytest.raises(AuditError, match="original"):
        ic.run(job(shop))


@pytest.mark.parametrize("change", [drop_last, swap_items, move_sensitive])
def test_a_written_file_that_is_not_what_was_made_is_refused(shop, monkeypatch, change):
    """The audit holds what was written against the originals, not against what was found."""
    in_order = out_of_core.ReleasedRows.in_order

    def changed(self):
        rows = []
        for starts, items in in_order(self):
            rows += [row.tolist() for row in np.split(items, starts[1:-1])]
        changed_rows = change(self.labels, rows)
        starts = np.cumsum([0, *map(len, changed_rows)]).astype(np.int64)
        yield starts, np.array([item for row in changed_rows for item in row], dtype=np.int32)

    monkeypatch.setattr(out_of_core.ReleasedRows, "in_order", changed)
    with pytest.raises(AuditError) as refused:
        ic.run(job(shop))
    assert "original" in str(refused.value)
    assert not (shop / "out.dat").exists()
    assert not (shop / "out.dat.mapping.csv").exists()


def test_rows_that_are_not_in_order_are_told(shop, monkeypatch):
    in_order = out_of_core.ReleasedRows.in_order

    def backwards(self):
        for starts, items in in_order(self):
            rows = np.split(items, starts[1:-1])[::-1]
            sizes = np.diff(starts)[::-1]
            yield np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(rows)

    monkeypatch.setattr(out_of_core.ReleasedRows, "in_order", backwards)
    audit = ic.run(job(shop)).audit
    assert audit.finding("canonical order").holds is None


REASONS = {
    "kᵐ": {"guarantee": ic.KmAnonymity(3, 2), "rules": ic.RuleInput()},
    "driver": {"method": ic.Rbat(rounds="driver")},
    "improve": {"method": ic.Rbat(improve=2)},
    "found in": {"rules": ic.RuleInput(mine=1, sensitive_items=SENSITIVE)},
    "order": {"release": ic.ReleaseOptions(keep_order=True)},
    "report": {"release": ic.ReleaseOptions(report="r.html")},
}


@pytest.mark.parametrize("reason", REASONS)
def test_why_one_process_holds_all_transactions(shop, reason):
    from incrowd.flow.outputs import resolve_target

    stated = job(shop, **REASONS[reason])
    target = resolve_target(stated, False)
    assert reason in placement.why_in_process(stated, target)
    assert not placement.runs_out_of_core(stated, target)
    plain = job(shop)
    assert placement.runs_out_of_core(plain, target)
    assert not placement.runs_out_of_core(replace(plain, engine=EngineChoice()), target)
    assert placement.runs_out_of_core(replace(plain, engine=EngineChoice("spark")), target)


@pytest.mark.parametrize("name", ["e.txt", "pairs.parquet", "listed.dat"])
def test_files_whose_rows_are_not_lists_are_read_as_a_whole(shop, name):
    from incrowd.flow.outputs import resolve_target

    (shop / "e.txt").write_text("1 a\n1 s0\n", encoding="utf-8")
    parquet.write_table(pa.table({"row": [1], "item": ["a"]}), shop / "pairs.parquet")
    (shop / "listed.dat").write_text("a s0\n", encoding="utf-8")
    (shop / "listed.dat.rows").write_text("x\n", encoding="utf-8")
    stated = job(shop, name, "o.dat")
    assert placement.why_in_process(stated, resolve_target(stated, False))
    written = job(shop, output="o.txt")
    assert "written" in placement.why_in_process(written, resolve_target(written, False))


def test_a_job_that_cannot_run_out_of_core_says_so_before_it_starts(shop, caplog):
    """On Spark; here an engine of files stands in for it."""
    from contextlib import ExitStack

    from incrowd.flow.adapter import adapter_for_file
    from incrowd.flow.outputs import resolve_target
    from incrowd.workspace import Workspace

    stated = job(shop, **REASONS["kᵐ"])
    engine = LocalEngine()
    engine.is_out_of_core = True
    with Workspace(shop) as workspace, ExitStack() as resources:
        target = resolve_target(stated, False)
        adapter_for_file(stated, target, engine, workspace, resources, force=False)
    assert "every set of m items" in caplog.text


def test_a_damaged_file_is_named(shop):
    (shop / "b.dat").write_bytes(b"")
    with pytest.raises(DataError, match=r"b\.dat"):
        ic.run(job(shop))
    (shop / "b.dat").write_text('i1 "never closed\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        ic.run(job(shop))


def test_rows_that_share_a_name_are_refused(shop):
    table = pa.table({"who": [1, 2, 2, 2], "items": [["i1"], ["s0"], ["i1"], ["i2"]]})
    parquet.write_table(table, shop / "equal.parquet")
    with pytest.raises(DataError, match="2 rows have the name of another"):
        ic.run(job(shop, "equal.parquet", "out.parquet"))


# ── the parts ───────────────────────────────────────────────────────────────────────────────────


def test_counts_on_an_engine_are_those_of_one_process(shop, monkeypatch):
    monkeypatch.setattr(checking, "MOST_CELLS", 50)
    sets = read_sets(shop / "b.dat")
    spread = checking.EngineRowCounts(ItemRows.of_sets(LocalEngine(block_rows=17), sets))
    whole = rule_check.SetCounts(sets)
    assert spread.support.tolist() == whole.support.tolist()
    itemsets = [(0, 3), (1, 2, 5), (7, 9), (4, -1)]
    placed = rule_check.number_itemsets(itemsets, sets.n_items)
    n_public = np.array([1, 2, 1, 1])
    for some, others in zip(
        spread.count_rules(placed, n_public), whole.count_rules(placed, n_public), strict=True
    ):
        assert some.tolist() == others.tolist()
    sensitive_of_item = np.full(sets.n_items, -1, dtype=np.int32)
    sensitive_of_item[-4:] = np.arange(4)
    asked = placed, sensitive_of_item, 4
    for some, others in zip(
        spread.count_with_sensitive(*asked), whole.count_with_sensitive(*asked), strict=True
    ):
        assert some.tolist() == others.tolist()


@pytest.mark.parametrize("k", [4, 60])
def test_a_file_is_checked_on_an_engine(shop, k):
    """What anyone finds on a file, holding or not, is found by sums too."""
    ic.run(job(shop))
    stated = replace(job(shop), guarantee=ic.RuleProtection(k=k, confidence=0.8))
    request = Request.of_job(stated, str(shop / "out.dat"), engine=stated.engine)
    assert not checking.why_in_process(request)
    audit = checking.check_on_engine(request).audit
    here = ic.check(str(shop / "out.dat"), stated)
    assert audit.holds == here.holds == (k == 4)
    assert list(map(repr, audit.findings)) == list(map(repr, here.findings))
    assert [one.figures for one in audit.findings] == [one.figures for one in here.findings]
    assert audit.release_sha256 == here.release_sha256
    assert "original" in checking.why_in_process(replace(request, original=str(shop / "b.dat")))
    assert "file" in checking.why_in_process(replace(request, released=read_sets(shop / "b.dat")))
    with pytest.raises(JobError, match="no rules"):
        checking.check_on_engine(replace(request, rules=ic.RuleInput()))


def test_fingerprints_are_of_the_rows_and_not_of_their_order():
    """The oracle: rows as Counter; one more, one less or two exchanged items are others."""

    def of(rows):
        starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        items = np.array([item for row in rows for item in row], dtype=np.int32)
        cells = np.zeros(3, dtype=np.int64)
        checking._add_hashes(np.arange(9, dtype=np.int32), starts, items, cells)
        return tuple(cells.tolist())

    rows = [[0, 1], [2], [], [0, 1], [3, 4, 5]]
    variants = [
        rows[::-1],
        [[1, 0], [2], [], [0, 1], [5, 3, 4]],
        [[0, 2], [1], [], [0, 1], [3, 4, 5]],
        [[0, 1], [2], [], [], [0, 1, 3, 4, 5]],
        rows[:-1],
        [*rows, []],
        [[0, 1], [2], [2], [], [3, 4, 5]],
    ]
    for variant in variants:
        same = Counter(map(frozenset, variant)) == Counter(map(frozenset, rows))
        assert (of(variant) == of(rows)) == same


def test_labels_come_back_from_what_was_written(shop):
    """The stream's writer and ``write_sets`` agree on names that need quotes, and on numbers."""
    (shop / "q.dat").write_text('"a b" c (x) 10 s0\n10 c s1\n"a b" s2\n' * 9, encoding="utf-8")
    (shop / "rules.txt").write_text('c 10 -> s0\n"a b" -> s2\n', encoding="utf-8")
    rules = ic.RuleInput(file=str(shop / "rules.txt"), sensitive_items="s0,s1,s2")
    plain = job(shop, "q.dat", "q1.dat", EngineChoice(), rules=rules)
    ic.run(replace(plain, method=ic.Rbat(improve="none", rounds="driver")))
    ic.run(job(shop, "q.dat", "q2.dat", rules=rules))
    require_the_same(shop, "q1.dat", "q2.dat")
    sets = read_sets(shop / "q2.dat")
    assert {name for label in sets.item_names.to_pylist() for name in parse_label(label)} == {
        *("a b", "c", "(x)", "10", "s0", "s1", "s2")
    }


@pytest.mark.parametrize(("name", "kind"), [("s.dat", "baskets"), ("s.parquet", "lists")])
@pytest.mark.parametrize("n_at_once", [1, 7, 1000])
def test_streams_are_written_as_sets_are(shop, monkeypatch, name, kind, n_at_once):
    """However rows come: blocks of a file are cut by their entries, which its bytes show."""
    monkeypatch.setattr("incrowd.sets.files._BLOCK_ENTRIES", 100)
    sets = read_sets(shop / "b.dat")
    write_sets(sets, shop / name, SetFormat(kind), is_generalized=True)

    def blocks():
        for first in range(0, sets.n_rows, n_at_once):
            some = sets.take(np.arange(first, min(first + n_at_once, sets.n_rows)))
            yield some.starts, some.items

    write_stream(sets.item_names, blocks, shop / f"t-{name}", SetFormat(kind))
    assert (shop / f"t-{name}").read_bytes() == (shop / name).read_bytes()


def test_a_stream_has_the_rows_of_the_file(shop):
    stream = RowStream(shop / "parts", SetOptions())
    sets = read_sets(shop / "b.dat")
    blocks = list(stream.blocks())
    names, place, support = stream.finish()
    assert names.equals(sets.item_names)
    assert support.tolist() == np.bincount(sets.items, minlength=sets.n_items).tolist()
    rows = [
        set(place[row].tolist())
        for starts, items in blocks
        for row in np.split(items, starts[1:-1])
    ]
    assert rows == [set(row.tolist()) for row in np.split(sets.items, sets.starts[1:-1])]
    assert (stream.n_rows, stream.n_entries) == (sets.n_rows, sets.n_entries)
    assert stream.n_repeated == sets.n_repeated == 1
