"""The engine with rows on disk: any table in any blocks, its files, full disks and killed runs."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import python
from incrowd.codes import canonical_order
from incrowd.engines.base import ReadOptions
from incrowd.engines.disk import engine as disk
from incrowd.engines.disk.blocks import map_ahead
from incrowd.engines.disk.engine import DiskEngine
from incrowd.errors import EngineError, InputError, JobError
from incrowd.tables.table import Format
from incrowd.workspace import Workspace
from oracles.counting import as_bag, count_lines, group_rows

SCHEMA = pa.schema({"key": pa.int64(), "a": pa.string(), "x": pa.float64(), "person": pa.string()})

rows_of_tables = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from([None, 0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1]),
            "a": st.sampled_from([None, "", "x", "é", "null"]),
            "x": st.sampled_from([None, 0.0, 1.5, -2.0]),
            "person": st.sampled_from([None, "p", "q"]),
        }
    ),
    max_size=40,
)


@contextmanager
def an_engine(**stated):
    with tempfile.TemporaryDirectory() as folder:
        engine = DiskEngine(Path(folder), **stated)
        try:
            yield engine
        finally:
            engine.close()


@given(
    rows=rows_of_tables,
    threads=st.integers(1, 3),
    block_rows=st.integers(1, 50),
    range_bytes=st.sampled_from([1, 300, 1 << 20]),
)
def test_every_verb_is_the_oracles_for_any_blocks(rows, threads, block_rows, range_bytes):
    def tell(group):
        members = sorted((tuple(row.values()) for row in group.to_pylist()), key=repr)
        return pa.table({"key": group.column("key").slice(0, 1), "members": [repr(members)]})

    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    with an_engine(threads=threads, block_rows=block_rows) as engine:
        engine._ranges._range_bytes = range_bytes
        blocks = engine.load(table)
        assert engine.collect(blocks).to_pylist() == rows
        lines = engine.count(blocks, ["x", "a"], "person").to_pylist()
        found = {(line["x"], line["a"]): (line["n_rows"], line["n_people"]) for line in lines}
        assert len(found) == len(lines)
        assert found == count_lines(rows, ["x", "a"], "person")
        schema = pa.schema({"key": pa.int64(), "members": pa.string()})
        told = engine.collect(engine.map_groups(blocks, "key", tell, schema))
        keys = told.column("key").to_pylist()
        assert dict(zip(keys, told.column("members").to_pylist(), strict=True)) == {
            key: repr(members) for key, members in group_rows(table.to_pylist(), "key").items()
        }
        assert keys == sorted(keys, key=lambda key: (key is None, key or 0))
        in_order = [row for some in engine.iter_sorted(blocks) for row in some.to_pylist()]
        assert in_order == table.take(pa.array(canonical_order(table))).to_pylist()


@pytest.mark.parametrize("times", [1, 30])
def test_zeros_have_their_order_whether_rows_are_equal_or_not(times):
    table = pa.table({"x": [0.0, -0.0, None, 1.0] * times, "n": ["b", "c", "a", "d"] * times})
    with an_engine(threads=1) as engine:
        found = pa.concat_tables(engine.iter_sorted(engine.load(table)))
    expected = table.take(pa.array(canonical_order(table)))
    assert repr(found.to_pylist()) == repr(expected.to_pylist())


@pytest.mark.parametrize("n_values", [5, 5_000])
def test_tables_in_order_have_their_number_of_rows(monkeypatch, n_values):
    monkeypatch.setattr(disk, "TABLE_ROWS", 100)
    cells = np.random.default_rng(1).integers(0, n_values, 1_030)
    table = pa.table({"n": cells})
    with an_engine(threads=2, block_rows=77) as engine:
        tables = list(engine.iter_sorted(engine.load(table)))
    assert [some.num_rows for some in tables] == [100] * 10 + [30]
    assert pa.concat_tables(tables).column("n").to_pylist() == sorted(cells.tolist())


def test_parts_follow_on_each_other(monkeypatch, tmp_path):
    monkeypatch.setattr(disk, "TABLE_ROWS", 100)
    table = pa.table({"n": [f"{number:04}" for number in range(250)]})
    with an_engine() as engine, engine.new_folder(str(tmp_path / "out"), force=False) as release:
        engine.write_folder(engine.load(table), release.where, Format())
        assert [part.name for part in release.parts()] == [
            "part-00000.csv",
            "part-00001.csv",
            "part-00002.csv",
        ]
        release.publish("{}")
    lines = [
        (tmp_path / "out" / f"part-0000{part}.csv").read_text().splitlines() for part in range(3)
    ]
    assert [some[0] for some in lines] == ["n"] * 3
    assert [line for some in lines for line in some[1:]] == table.column("n").to_pylist()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    umask = os.umask(0)
    os.umask(umask)
    assert modes == {0o666 & ~umask}


def test_files_are_private_and_gone_when_it_closes(tmp_path):
    folder = tmp_path / "year=2020 it's [a] *b?"  # signs that DuckDB would make something of
    folder.mkdir()
    engine = DiskEngine(folder, block_rows=2)
    blocks = engine.load(pa.table({"a": ["x", "y", "z"]}))
    (private,) = folder.iterdir()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    modes = [stat.S_IMODE(path.stat().st_mode) for path in private.iterdir() if path.is_file()]
    assert modes == [0o600, 0o600]
    assert engine.count(blocks, ["a"]).num_rows == 3
    engine.close()
    engine.close()
    assert list(folder.iterdir()) == []
    for verb in (engine.collect, lambda some: next(engine.iter_sorted(some))):
        with pytest.raises(EngineError, match="closed"):
            verb(blocks)
    with pytest.raises(EngineError, match="closed"):
        engine.load(pa.table({"a": ["x"]}))


def test_what_is_told_of_it():
    with an_engine(threads=2, memory=1 << 30) as engine:
        told = engine.describe()
        assert (told["name"], told["rows"]) == ("local", "on disk")
        assert (told["threads"], told["memory_bytes"]) == (2, 1 << 30)
        assert engine.n_workers == 2


def test_settings_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(JobError, match="threads"):
        DiskEngine(tmp_path, threads=-1)
    with pytest.raises(JobError, match="block"):
        DiskEngine(tmp_path, block_rows=0)
    assert list(tmp_path.iterdir()) == []


def test_few_rows_are_in_memory_while_groups_are_worked_on(monkeypatch):
    n_rows, n_groups, under_way, most = 20_000, 20, 0, 0

    def watch(tables):
        nonlocal under_way, most
        for table in tables:
            under_way += table.num_rows
            most = max(most, under_way)
            yield table

    with an_engine(threads=2, block_rows=1_000) as engine:
        table = pa.table({"key": np.arange(n_rows) % n_groups, "row": np.arange(n_rows)})
        monkeypatch.setattr(engine._ranges, "_range_bytes", table.nbytes // 10)
        groups = watch(engine._ranges.groups(engine.load(table), "key"))
        n_seen = 0
        for n_group in map_ahead(len, groups, 2, len, 1_000):
            under_way -= n_group
            n_seen += n_group
    assert n_seen == n_rows
    assert most <= 3_000  # two groups at work and the next one


def test_an_error_of_a_block_function_ends_the_work():
    begun = []

    def fail(group):
        begun.append(group)
        raise ValueError

    with an_engine(threads=2, block_rows=10) as engine:
        blocks = engine.load(pa.table({"key": list(range(2_000))}))
        for verb in (
            lambda: engine.map_groups(blocks, "key", fail, blocks.schema),
            lambda: engine.map_blocks(blocks, fail, blocks.schema),
        ):
            begun.clear()
            with pytest.raises(ValueError):
                verb()
            assert len(begun) < 100


# ── full disks ──────────────────────────────────────────────────────────────────────────────


def many_rows(n_rows=400_000):
    numbers = np.random.default_rng(1).permutation(n_rows)
    return pa.table({"id": pa.array(numbers).cast(pa.string()), "n": numbers})


def test_a_full_disk_is_told_where_blocks_are_written(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device: zq-00017")

    with an_engine() as engine:
        blocks = engine.load(pa.table({"a": ["x"]}))
        monkeypatch.setattr("pyarrow.parquet.write_table", full)
        for verb in (
            lambda: engine.load(pa.table({"a": ["x"]})),
            lambda: engine.map_blocks(blocks, lambda block: block, blocks.schema),
        ):
            with pytest.raises(InputError, match="disk is full; nothing was published") as raised:
                verb()
            assert "zq-" not in str(raised.value)

        def released():
            with engine.new_folder(str(tmp_path / "out"), force=False) as release:
                engine.write_folder(blocks, release.where, Format("arrow"))

        monkeypatch.setattr("incrowd.tables.files.write.write_tables", full)
        with pytest.raises(InputError, match="disk is full; nothing was published"):
            released()
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_where_rows_are_counted():
    with an_engine(threads=1, memory=64 << 20) as engine:
        blocks = engine.load(many_rows(2_000_000))
        engine._duck.connection().execute("SET max_temp_directory_size = '1MB'")
        for verb in (engine.count, engine.count_in_place):
            with pytest.raises(InputError, match="the disk is full; nothing was published"):
                verb(blocks, ["id", "n"])


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a small disk"
)
def test_a_disk_that_is_really_full(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(small)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount")

    def run(n_rows):
        with Workspace(small) as workspace:
            engine = DiskEngine(workspace.folder, memory=64 << 20)
            try:
                blocks = engine.load(many_rows(n_rows))
                with engine.new_folder(str(small / "out"), force=False) as release:
                    engine.write_folder(blocks, release.where, Format())
                    release.publish("{}")
            finally:
                engine.close()

    try:
        for n_rows in (700_000, 3_000_000):  # too much for the release, and for the blocks
            with pytest.raises(InputError, match="the disk is full; nothing was published"):
                run(n_rows)
            assert list(small.iterdir()) == []
        run(1_000)
        assert (small / "out" / "_SUCCESS").exists()
    finally:
        subprocess.run(["umount", str(small)], check=True)


# ── killed runs ─────────────────────────────────────────────────────────────────────────────


KILLED = """
import sys, time
from pathlib import Path
import pyarrow as pa
from incrowd.tables.table import Format
from incrowd.engines.disk.engine import DiskEngine
from incrowd.workspace import Workspace

folder = Path(sys.argv[1])
with Workspace(folder) as workspace:
    engine = DiskEngine(workspace.folder, block_rows=10)
    blocks = engine.load(pa.table({"a": [f"zq-{row:05}" for row in range(1000)]}))
    with engine.new_folder(str(folder / "out"), force=True) as release:
        engine.write_folder(blocks, release.where, Format())
        print("written", flush=True)
        time.sleep(60)
        release.publish("{}")
"""


@pytest.mark.parametrize("is_there_before", [False, True])
def test_a_killed_run_is_cleaned_up_by_the_next(tmp_path, is_there_before):
    out = tmp_path / "out"
    with an_engine() as engine:

        def release(cell):
            with engine.new_folder(str(out), force=True) as folder:
                engine.write_folder(engine.load(pa.table({"a": [cell]})), folder.where, Format())
                folder.publish("{}")

        if is_there_before:
            release("before")
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout.readline() == "written\n"
            run.kill()
        assert any(path.name.startswith(".incrowd-") for path in tmp_path.iterdir())
        assert out.exists() == is_there_before
        if is_there_before:
            rows = engine.collect(engine.read(str(out), ReadOptions())[0])
            assert as_bag(rows.to_pylist()) == as_bag([{"a": "before"}])
        release("after")
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert engine.collect(engine.read(str(out), ReadOptions())[0]).to_pylist() == [
            {"a": "after"}
        ]


# ── memory ──────────────────────────────────────────────────────────────────────────────────


MEMORY_OF_A_SORT = """
import sys
from pathlib import Path
import pyarrow as pa
from incrowd.engines.disk import engine as disk
from incrowd.engines.base import ReadOptions

folder = Path(sys.argv[1])
disk.TABLE_ROWS = 1 << 12  # what is handed over counts, too
engine = disk.DiskEngine(folder, threads=2, memory=96 << 20)
blocks, stored = engine.read(str(folder / "in.csv"), ReadOptions())
n_rows, before = 0, ("", "")
for table in engine.iter_sorted(blocks):
    for row in zip(*(column.to_pylist() for column in table.columns)):
        assert before <= row
        before = row
    n_rows += table.num_rows
engine.close()
print(n_rows, pa.default_memory_pool().max_memory() >> 20)
"""


@pytest.mark.slow
def test_rows_beyond_the_memory_are_put_in_order_within_it(tmp_path):
    rng = np.random.default_rng(1)
    padding = "x" * 800
    with (tmp_path / "in.csv").open("w") as file:
        file.write("a,b\n")
        for _ in range(10):  # 160 MB of text
            numbers = rng.integers(0, 1 << 60, 20_000).tolist()
            file.writelines(f"a{number % 1000},{number}{padding}\n" for number in numbers)
    done = python("-c", MEMORY_OF_A_SORT, tmp_path)
    assert done.status == 0, done.err
    n_rows, peak = map(int, done.out.split())
    assert n_rows == 200_000
    assert peak < 96  # megabytes of rows in Arrow's hands
