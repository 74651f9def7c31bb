"""What is tried on a real cluster, in a process of its own: each check gets the engine."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engines.killing import KillingEngine, dying
from incrowd.codes import canonical_order
from incrowd.engines.base import ReadOptions, hash_parts
from incrowd.errors import DataError, EngineError
from incrowd.tables.files.read import read_table
from incrowd.tables.table import Format
from oracles.counting import as_bag

N_ROWS = 3_000


def people():
    rows = range(N_ROWS)
    return pa.table(
        {
            "part": pa.array([row % 6 for row in rows], pa.int32()),
            "zip": [f"{row * 7919 % 97:04}" if row % 11 else None for row in rows],
            "weight": [float(row % 13) / 2 if row % 5 else None for row in rows],
        }
    )


def in_order(table):
    return table.take(pa.array(canonical_order(table))).to_pylist()


FORMATS = {"parquet": Format("parquet"), "csv": Format(delimiter=";")}


def every_verb(engine, folder, *kinds):
    """Take people through every verb, by way of files that Spark reads and writes itself."""
    folder = Path(folder)
    (folder / "in").mkdir()
    table = people()
    for part in range(3):
        parquet.write_table(table.slice(part * 1000, 1000), folder / "in" / f"{part}.parquet")
    location = f"file://{folder}/in"
    blocks, stored = engine.read(location, ReadOptions())
    assert stored == Format("parquet")
    assert engine.schema(blocks) == table.schema
    assert engine.n_workers >= 2
    counts = engine.count(engine.select(blocks, ["zip"]), ["zip"])
    assert sum(counts.column("n_rows").to_pylist()) == N_ROWS
    added = engine.broadcast(np.arange(6))

    def weigh(group):
        part = group.column("part")[0].as_py()
        weights = pa.array([float(added()[part])] * group.num_rows)
        return group.set_column(2, "weight", weights)

    mapped = engine.map_groups(blocks, "part", weigh, table.schema)
    mapped = engine.map_blocks(mapped, lambda block: block, table.schema)
    expected = table.set_column(2, "weight", table.column("part").cast(pa.float64()))
    found = pa.concat_tables(engine.iter_sorted(mapped)).to_pylist()
    assert found == in_order(expected)
    frame = engine.to_frame(mapped)
    assert frame.columns == table.column_names
    assert as_bag(engine.collect(engine.from_frame(frame)).to_pylist()) == as_bag(found)
    written(engine, mapped, folder, found, kinds)
    return engine.describe()


def written(engine, blocks, folder, expected, kinds=("parquet",)):
    """Write rows as folders, publish them and read them again, here and there."""
    for name in kinds:
        stored = FORMATS[name]
        final = folder / f"out-{name}"
        with engine.new_folder(str(final), force=False) as release:
            engine.write_folder(blocks, release.where, stored)
            parts = release.parts()
            assert not final.exists()
            release.publish(json.dumps([part.name for part in parts]))
        names = sorted(path.name for path in final.iterdir())
        assert names == ["_SUCCESS", "_manifest.json", *(part.name for part in parts)]
        again = [row for part in parts for row in read_table(final / part.name).frame.to_pylist()]
        assert [row["zip"] for row in again] == [row["zip"] for row in expected]
        assert name == "csv" or again == expected
        read = engine.read(str(final), ReadOptions())[0]
        assert as_bag(engine.collect(read).to_pylist()) == as_bag(again)
        assert engine.hash_location(str(final)) == hash_parts(parts)


def survives(engine, folder, what):
    """Lose a worker or an executor within a map over groups and one over blocks, and go on."""
    table = people()
    folder = Path(folder)

    def sizes(group):
        return group.set_column(2, "weight", pa.array([float(group.num_rows)] * group.num_rows))

    def negated(block):
        import pyarrow.compute as pc

        return block.set_column(2, "weight", pc.negate(block.column(2)))

    # The groups are made and the rows brought in order after the kill.
    killing = KillingEngine(engine, folder / "in-groups", what)
    grouped = killing.map_groups(engine.load(table), "part", sizes, table.schema)
    found = pa.concat_tables(engine.iter_sorted(grouped)).to_pylist()
    assert (folder / "in-groups").exists()
    n_rows = Counter(table.column("part").to_pylist())
    expected = [float(n_rows[part]) for part in table.column("part").to_pylist()]
    assert found == in_order(table.set_column(2, "weight", pa.array(expected)))
    # Nothing of the map is computed before rows are written: the kill comes in between.
    killing = KillingEngine(engine, folder / "in-blocks", what)
    blocks = killing.map_blocks(engine.load(table), negated, table.schema)
    assert not (folder / "in-blocks").exists()
    opposite = [None if weight is None else -weight for weight in table.column(2).to_pylist()]
    expected = table.set_column(2, "weight", pa.array(opposite))
    written(engine, blocks, folder, in_order(expected))
    assert (folder / "in-blocks").exists()


def described(engine):
    """Return what an audit says of the engine."""
    return engine.describe()


def dies_for_good(engine, folder):
    """A function that no worker survives ends the job, and nothing is left under the name."""
    folder = Path(folder)
    table = people()
    blocks = engine.map_blocks(engine.load(table), dying_closure(), table.schema)
    with (
        pytest.raises(EngineError, match="a Spark worker ended before its task was done"),
        engine.new_folder(str(folder / "out"), force=False) as release,
    ):
        engine.write_folder(blocks, release.where, Format("parquet"))
    assert list(folder.iterdir()) == []
    assert engine.count(engine.load(table), []).to_pylist() == [{"n_rows": N_ROWS}]


def dying_closure():
    """Return ``dying`` as a closure: workers cannot import what is of the tests."""
    code, name = dying.__code__, dying.__name__
    return type(dying)(code, {"__builtins__": __builtins__}, name)


def names_the_poisoned(engine, folder):
    """A damaged part fails the job by its name, whichever kind it is."""
    folder = Path(folder)
    for kind in ("parquet", "csv"):
        (folder / kind).mkdir()
    table = people().select(["zip", "part"])
    for part in range(3):
        parquet.write_table(table.slice(part * 1000, 1000), folder / f"parquet/part-{part}.parquet")
        (folder / f"csv/part-{part}.csv").write_bytes(b"zip,part\n1010,1\n" * (part < 2))
    poisoned = folder / "parquet" / "part-1.parquet"
    content = poisoned.read_bytes()
    poisoned.write_bytes(content[:100] + b"\xff" * 400 + content[500:])
    (folder / "csv" / "part-2.csv").write_bytes(b'zip,part\n1010,1\n"zq-00017,1\n')
    for location, named in (("parquet", "part-1.parquet"), ("csv", "part-2.csv")):
        with pytest.raises(DataError, match=named) as raised:
            engine.collect(engine.read(f"file://{folder}/{location}", ReadOptions())[0])
        assert "zq-" not in str(raised.value)
