"""The engine of one machine: any table, any blocks, any number of threads."""

import _thread
import sys
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import python
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import EngineError, JobError
from oracles.counting import as_bag, count_lines, group_rows

SCHEMA = pa.schema({"key": pa.int64(), "a": pa.string(), "b": pa.int32(), "person": pa.string()})

rows_of_tables = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from([None, 0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1]),
            "a": st.sampled_from([None, "", "x", "y", "null"]),
            "b": st.none() | st.integers(-2, 2),
            "person": st.sampled_from([None, "p", "q"]),
        }
    ),
    max_size=40,
)
engines = st.builds(LocalEngine, threads=st.integers(1, 4), block_rows=st.integers(1, 50))


@given(rows=rows_of_tables, engine=engines, by=st.sampled_from([["a"], ["b", "a"], ["key", "b"]]))
def test_count_is_the_oracles_for_any_blocks(rows, engine, by):
    blocks = engine.load(pa.Table.from_pylist(rows, schema=SCHEMA))
    lines = engine.count(blocks, by, "person").to_pylist()
    found = {tuple(line[name] for name in by): (line["n_rows"], line["n_people"]) for line in lines}
    assert len(found) == len(lines)
    assert found == count_lines(rows, by, "person")


@given(rows=rows_of_tables, engine=engines)
def test_groups_are_the_oracles_for_any_blocks(rows, engine):
    def tell(group):
        members = sorted((tuple(row.values()) for row in group.to_pylist()), key=repr)
        return pa.table({"key": group.column("key").slice(0, 1), "members": [repr(members)]})

    schema = pa.schema({"key": pa.int64(), "members": pa.string()})
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    blocks = engine.load(table)
    told = engine.collect(engine.map_groups(blocks, "key", tell, schema))
    keys = told.column("key").to_pylist()
    assert dict(zip(keys, told.column("members").to_pylist(), strict=True)) == {
        key: repr(members) for key, members in group_rows(table.to_pylist(), "key").items()
    }
    assert keys == sorted(keys, key=lambda key: (key is None, key or 0))


@given(rows=rows_of_tables, engine=engines)
def test_blocks_keep_every_row_in_its_place(rows, engine):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    mapped = engine.map_blocks(engine.load(table), lambda block: block, SCHEMA)
    assert engine.collect(mapped).to_pylist() == rows


@given(rows=rows_of_tables, threads=st.integers(2, 4), block_rows=st.integers(1, 50))
def test_threads_and_blocks_change_nothing(rows, threads, block_rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)

    def largest(group):
        return pa.table({"b": pa.array([pc.max(group.column("b")).as_py()], pa.int32())})

    def run(engine):
        mapped = engine.map_groups(engine.load(table), "key", largest, pa.schema({"b": pa.int32()}))
        return engine.collect(mapped).to_pylist(), as_bag(
            engine.count(engine.load(table), ["a", "b"]).to_pylist()
        )

    assert run(LocalEngine(threads, block_rows)) == run(LocalEngine(1))


def test_loading_copies_nothing():
    table = pa.table({"a": pa.array(range(1000))})
    blocks = LocalEngine(block_rows=100).load(table)
    address = table.column("a").chunk(0).buffers()[1].address
    assert [block.column("a").chunk(0).buffers()[1].address for block in blocks.tables] == (
        [address] * 10
    )


def test_blocks_run_side_by_side():
    meeting = threading.Barrier(2, timeout=10)

    def meet(block):
        meeting.wait()
        return block

    table = pa.table({"a": [1, 2]})
    engine = LocalEngine(threads=2, block_rows=1)
    assert engine.collect(engine.map_blocks(engine.load(table), meet, table.schema)) == table


def test_the_first_block_that_fails_is_the_one_that_is_told():
    def fail(block):
        number = block.column("a")[0].as_py()
        if number == 1:
            time.sleep(0.05)
        if number:
            raise EngineError(f"block {number}")
        return block

    engine = LocalEngine(threads=4, block_rows=1)
    blocks = engine.load(pa.table({"a": [0, 1, 2, 3]}))
    with pytest.raises(EngineError, match="block 1"):
        engine.map_blocks(blocks, fail, blocks.schema)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_the_work_after_the_blocks_under_way(threads):
    begun = []

    def interrupt(block):
        begun.append(block)
        if len(begun) == 1:
            _thread.interrupt_main()
        time.sleep(0.05)
        return block

    engine = LocalEngine(threads, block_rows=1)
    blocks = engine.load(pa.table({"a": list(range(100))}))
    with pytest.raises(KeyboardInterrupt):
        engine.map_blocks(blocks, interrupt, blocks.schema)
    n_begun = len(begun)
    assert n_begun < 20
    time.sleep(0.2)
    assert len(begun) == n_begun, "a thread went on after the interrupt"


def test_a_function_returns_a_table_of_the_declared_columns():
    engine = LocalEngine()
    blocks = engine.load(pa.table({"age": [1]}))
    years = pa.schema({"years": pa.int64()})
    with pytest.raises(EngineError, match=r"columns \['age'\] where it declared \['years'\]"):
        engine.map_blocks(blocks, lambda block: block, years)
    with pytest.raises(EngineError, match="returned NoneType, not a table"):
        engine.map_blocks(blocks, lambda _: None, years)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(JobError, match="threads"):
        LocalEngine(threads=-1)
    with pytest.raises(JobError, match="block"):
        LocalEngine(block_rows=0)


MEMORY_OF_COUNTING = """
import resource
import numpy as np, pyarrow as pa, pyarrow.compute
from incrowd.engines.local.engine import LocalEngine

n_rows, rng = 1_000_000, np.random.default_rng(1)
table = pa.table({
    f"c{place}": pa.array([f"value-{code:09d}" for code in range(50)]).take(
        pa.array(rng.integers(0, 50, n_rows))
    )
    for place in range(5)
})
engine = LocalEngine()
blocks = engine.load(table)
engine.count(engine.load(table.slice(0, 10)), table.column_names)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n_lines = engine.count(blocks, table.column_names).num_rows
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert n_lines > 900_000
print((after - before) * 1024 / n_rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes on Linux")
def test_counting_text_takes_few_bytes_a_row():
    done = python("-c", MEMORY_OF_COUNTING)
    assert done.status == 0, done.err
    assert float(done.out) < 260  # 100 of which are the counted combinations themselves
