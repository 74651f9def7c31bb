"""What every engine promises of its verbs, on every engine.

Block functions are closures: a function of a test module could not be found by a worker.
"""

import datetime
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from incrowd.codes import canonical_order
from incrowd.engines.disk.blocks import DiskBlocks
from incrowd.engines.local.engine import LocalBlocks
from incrowd.errors import DataError, EngineError, InfeasibleError, JobError
from oracles.counting import as_bag, count_lines, group_rows

COLUMNS = pa.schema(
    {"part": pa.int32(), "zip": pa.string(), "age": pa.int64(), "person": pa.string()}
)


def make(rows):
    return pa.Table.from_pylist(
        [dict(zip(COLUMNS.names, row, strict=True)) for row in rows], schema=COLUMNS
    )


TABLES = {
    "no rows": make([]),
    "one row": make([(7, "1010", 30, "a")]),
    "two rows": make([(1, "1010", 30, "a"), (0, "1010", 30, None)]),
    "heavy duplicates": make([(row % 2, "1010", row % 2, "ab"[row % 2]) for row in range(60)]),
    "half in one value": make(
        [(0, "1010", 30, f"p{row}") for row in range(50)]
        + [(row, f"2{row:03}", row, "q") for row in range(50)]
    ),
    "nulls": make(
        [(None, None, None, None)] * 3
        + [(2, None, 5, "a"), (2, None, 5, None), (2, "", 5, "a"), (None, "1", None, "b")]
        + [(-3, "1", None, None), (2**31 - 1, "null", 0, "null")]
    ),
}


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]


# One block, blocks without rows, more blocks than rows: whatever can go wrong in the meeting.
SPLITS = [
    ("no rows", 1),
    ("no rows", 4),
    ("one row", 1),
    ("two rows", 5),
    ("heavy duplicates", 1),
    ("heavy duplicates", 7),
    ("half in one value", 1),
    ("half in one value", 4),
    ("nulls", 4),
    ("nulls", 12),
]


def split(engine, table, n_parts):
    """Load a table as ``n_parts`` blocks; blocks without rows come up where rows are fewer."""
    blocks = engine.load(table)
    if isinstance(blocks, LocalBlocks):
        size = -(-table.num_rows // n_parts)
        return replace(
            blocks,
            tables=tuple(table.slice(part * size, size) for part in range(n_parts)),
        )
    if isinstance(blocks, DiskBlocks):
        size = max(1, -(-table.num_rows // n_parts))
        parts = [engine.load(table.slice(part * size, size)) for part in range(n_parts)]
        return replace(blocks, files=tuple(file for part in parts for file in part.files))
    return replace(blocks, frame=blocks.frame.repartition(n_parts))


def counted(lines, by):
    """Return what ``count`` returned as the oracle tells it, refusing a combination twice."""
    found = {}
    for line in lines.to_pylist():
        combination = tuple(line.pop(name) for name in by)
        assert combination not in found
        found[combination] = tuple(line.values()) if len(line) > 1 else line["n_rows"]
    return found


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_count_is_the_oracles(engine, name, n_parts):
    table = TABLES[name]
    blocks = split(engine, table, n_parts)
    rows = table.to_pylist()
    lines = engine.count(blocks, ["zip", "age"], "person")
    assert lines.column_names == ["zip", "age", "n_rows", "n_people"]
    assert lines.schema.types == [pa.string(), pa.int64(), pa.int64(), pa.int64()]
    assert counted(lines, ["zip", "age"]) == count_lines(rows, ["zip", "age"], "person")
    assert counted(engine.count(blocks, ["zip"]), ["zip"]) == count_lines(rows, ["zip"])


def test_count_without_columns_is_the_whole(engine, table):
    blocks = engine.load(table)
    assert engine.count(blocks, []).to_pylist() == [{"n_rows": table.num_rows}]
    n_people = len(set(table.column("person").to_pylist()))
    assert engine.count(blocks, [], "person").to_pylist() == [
        {"n_rows": table.num_rows, "n_people": n_people}
    ]


def test_unknown_people_are_one_person(engine):
    blocks = engine.load(make([(0, "z", 1, None)] * 4 + [(0, "z", 1, "a")]))
    assert engine.count(blocks, ["zip"], "person").column("n_people").to_pylist() == [2]


def test_count_takes_nan_for_equal_and_zero_for_zero(engine):
    blocks = engine.load(pa.table({"x": [float("nan"), float("nan"), 0.0, -0.0, None, None, 1.0]}))
    assert sorted(engine.count(blocks, ["x"]).column("n_rows").to_pylist()) == [1, 2, 2, 2]


def test_count_refuses_what_is_not_there(engine):
    blocks = engine.load(TABLES["two rows"])
    with pytest.raises(JobError, match=r"unknown column 'zap'[^']*'zip'"):
        engine.count(blocks, ["zap"])
    with pytest.raises(JobError, match="'persons'"):
        engine.count(blocks, ["zip"], "persons")
    named_like_a_count = engine.load(pa.table({"n_rows": ["1"]}))
    with pytest.raises(DataError, match="name of a count"):
        engine.count(named_like_a_count, ["n_rows"])


def test_load_refuses_repeated_and_no_columns(engine):
    with pytest.raises(DataError, match="'a' occurs more than once"):
        engine.load(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="no columns"):
        engine.load(pa.table({}))


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_collect_brings_every_row_back(engine, name, n_parts):
    table = TABLES[name]
    collected = engine.collect(split(engine, table, n_parts))
    assert collected.schema == table.schema
    assert as_bag(collected.to_pylist()) == as_bag(table.to_pylist())


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_map_blocks_maps_every_row_once(engine, name, n_parts):
    table = TABLES[name]
    schema = pa.schema({"zip": pa.string(), "older": pa.int64()})

    def one_year_later(block):
        assert block.num_rows
        return pa.table({"zip": block.column("zip"), "older": pc.add(block.column("age"), 1)})

    mapped = engine.map_blocks(split(engine, table, n_parts), one_year_later, schema)
    expected = [
        {"zip": row["zip"], "older": None if row["age"] is None else row["age"] + 1}
        for row in table.to_pylist()
    ]
    collected = engine.collect(mapped)
    assert collected.schema == schema
    assert as_bag(collected.to_pylist()) == as_bag(expected)
    assert counted(engine.count(mapped, ["zip"]), ["zip"]) == count_lines(expected, ["zip"])


def test_map_blocks_may_return_nothing(engine):
    schema = pa.schema({"age": pa.int64()})

    def nothing(block):
        return block.select(["age"]).slice(0, 0)

    mapped = engine.map_blocks(engine.load(TABLES["half in one value"]), nothing, schema)
    assert engine.collect(mapped) == schema.empty_table()
    assert engine.count(mapped, ["age"]).num_rows == 0


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_map_groups_sees_all_rows_of_a_key_at_once(engine, name, n_parts):
    table = TABLES[name]
    schema = pa.schema({"part": pa.int32(), "members": pa.string()})

    def members(group):
        assert len(set(group.column("part").to_pylist())) == 1
        told = repr(sorted((tuple(row.values()) for row in group.to_pylist()), key=repr))
        return pa.table({"part": group.column("part").slice(0, 1), "members": [told]})

    mapped = engine.map_groups(split(engine, table, n_parts), "part", members, schema)
    groups = group_rows(table.to_pylist(), "part")
    expected = [{"part": part, "members": repr(rows)} for part, rows in groups.items()]
    assert as_bag(engine.collect(mapped).to_pylist()) == as_bag(expected)


def test_map_groups_may_drop_groups(engine):
    table = TABLES["half in one value"]

    def keep_small(group):
        return group if group.num_rows < 10 else group.slice(0, 0)

    mapped = engine.map_groups(engine.load(table), "part", keep_small, table.schema)
    kept = [row for row in table.to_pylist() if row["part"] != 0]
    assert as_bag(engine.collect(mapped).to_pylist()) == as_bag(kept)


@pytest.mark.parametrize("key_type", [pa.int8(), pa.int64(), pa.uint64()])
def test_keys_of_every_integer_type(engine, key_type):
    largest = {pa.int8(): 127, pa.int64(): 2**63 - 1, pa.uint64(): 2**64 - 1}[key_type]
    keys = [0, largest, largest - 1, None, largest, None]
    table = pa.table({"key": pa.array(keys, key_type), "row": pa.array(range(6))})

    def rows(group):
        return pa.table({"rows": [repr(sorted(group.column("row").to_pylist()))]})

    mapped = engine.map_groups(engine.load(table), "key", rows, pa.schema({"rows": pa.string()}))
    found = sorted(engine.collect(mapped).column("rows").to_pylist())
    assert found == ["[0]", "[1, 4]", "[2]", "[3, 5]"]


def test_a_key_is_an_integer_column(engine):
    blocks = engine.load(TABLES["two rows"])
    with pytest.raises(EngineError, match="'zip' cannot be a key"):
        engine.map_groups(blocks, "zip", lambda group: group, COLUMNS)
    with pytest.raises(JobError, match="'key'"):
        engine.map_groups(blocks, "key", lambda group: group, COLUMNS)


def test_verbs_follow_on_each_other(engine):
    table = TABLES["half in one value"]

    def half_the_age(block):
        halved = pc.divide(block.column("age"), 2)
        return pa.table({"part": block.column("part"), "age": halved})

    def count_them(group):
        n_rows = pa.array([group.num_rows])
        return pa.table({"age": group.column("age").slice(0, 1), "n": n_rows})

    two = pa.schema({"part": pa.int32(), "age": pa.int64()})
    halved = engine.map_blocks(engine.load(table), half_the_age, two)
    sizes = engine.map_groups(
        halved, "age", count_them, pa.schema({"age": pa.int64(), "n": pa.int64()})
    )
    expected = count_lines([{"age": row["age"] // 2} for row in table.to_pylist()], ["age"])
    found = {(line["age"],): line["n"] for line in engine.collect(sizes).to_pylist()}
    assert found == expected


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_select_keeps_rows_and_the_order_of_names(engine, name, n_parts):
    table = TABLES[name]
    blocks = engine.select(split(engine, table, n_parts), ["person", "zip"])
    assert engine.schema(blocks) == table.select(["person", "zip"]).schema
    rows = table.select(["person", "zip"]).to_pylist()
    assert as_bag(engine.collect(blocks).to_pylist()) == as_bag(rows)
    assert counted(engine.count(blocks, ["zip"], "person"), ["zip"]) == count_lines(
        rows, ["zip"], "person"
    )
    twice = engine.select(blocks, ["zip"])
    mapped = engine.map_blocks(twice, lambda block: block, engine.schema(twice))
    assert as_bag(engine.collect(mapped).to_pylist()) == as_bag(table.select(["zip"]).to_pylist())
    with pytest.raises(JobError, match="'age'"):
        engine.select(blocks, ["age"])


@pytest.mark.parametrize(("name", "n_parts"), SPLITS)
def test_in_order_is_the_order_of_content(engine, name, n_parts):
    table = TABLES[name]
    tables = list(engine.iter_sorted(split(engine, table, n_parts)))
    assert all(found.schema == table.schema and found.num_rows for found in tables)
    found = [row for some in tables for row in some.to_pylist()]
    assert found == table.take(pa.array(canonical_order(table))).to_pylist()


def test_a_shared_value_reaches_block_functions(engine):
    years = engine.broadcast({30: 31})

    def older(block):
        ages = [years().get(age, age) for age in block.column("age").to_pylist()]
        return pa.table({"age": pa.array(ages, pa.int64())})

    blocks = engine.load(TABLES["two rows"])
    mapped = engine.map_blocks(blocks, older, pa.schema({"age": pa.int64()}))
    assert engine.collect(mapped).column("age").to_pylist() == [31, 31]


def test_many_shared_values_are_told_apart(engine):
    shared = [engine.broadcast([number]) for number in range(4)]

    def added(block):
        # some more than a worker keeps unpacked, again and again
        numbers = [shared[place]()[0] for place in (0, 1, 2, 3, 0, 1, 0)]
        return pa.table({"sum": pa.array([sum(numbers)] * block.num_rows, pa.int64())})

    blocks = engine.load(TABLES["two rows"])
    mapped = engine.map_blocks(blocks, added, pa.schema({"sum": pa.int64()}))
    assert engine.collect(mapped).column("sum").to_pylist() == [7, 7]


EVERY_TYPE = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-128, None], pa.int8()),
    "uint8": pa.array([255, None], pa.uint8()),
    "uint32": pa.array([2**32 - 1, None], pa.uint32()),
    "uint64": pa.array([2**64 - 1, None], pa.uint64()),
    "float32": pa.array([0.5, None], pa.float32()),
    "float64": pa.array([0.1, None]),
    "decimal": pa.array([Decimal("1.25"), None]),
    "string": pa.array(["é", None]),
    "large_string": pa.array(["x", None], pa.large_string()),
    "binary": pa.array([b"\x00\xff", None]),
    "date": pa.array([datetime.date(1582, 10, 10), None]),
    "time": pa.array([datetime.time(23, 59, 59, 1), None]),
    "naive": pa.array([2**62, None], pa.timestamp("ns")),
    "zoned": pa.array([-1, None], pa.timestamp("us", "Europe/Vienna")),
    "duration": pa.array([5, None], pa.duration("s")),
    "nothing": pa.nulls(2),
}


def test_types_and_names_arrive_as_they_left(engine):
    table = pa.table(EVERY_TYPE)
    expected = table.schema

    def same(block):
        # To the letter: a function on a worker sees what it would see here.
        assert block.schema.equals(expected, check_metadata=True), block.schema
        return block

    blocks = engine.map_blocks(engine.load(table), same, table.schema)
    assert sorted(engine.collect(blocks).to_pylist(), key=repr) == sorted(
        table.to_pylist(), key=repr
    )
    lines = engine.count(blocks, table.column_names)
    assert lines.schema.types == [*table.schema.types, pa.int64()]
    assert lines.column("n_rows").to_pylist() == [1, 1]


def test_dictionaries_and_metadata_are_left_behind(engine):
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    schema = pa.schema([pa.field("word", words.type, metadata={"a": "b"})], metadata={"c": "d"})
    blocks = engine.load(pa.table([words], schema=schema))
    collected = engine.collect(blocks)
    assert collected.schema.equals(pa.schema({"word": pa.string()}), check_metadata=True)
    assert counted(engine.count(blocks, ["word"]), ["word"]) == {("a",): 2, ("b",): 1}


def test_awkward_names(engine):
    names = ["a.b", "Age", "age", "`q`", "c0", "part", "with space", "ä", ""]
    table = pa.table({name: [number, number, 50] for number, name in enumerate(names)})
    blocks = engine.load(table)
    assert engine.collect(blocks).column_names == names
    lines = engine.count(blocks, ["age", "a.b", "part"], "Age").to_pylist()
    assert sorted(lines, key=repr) == [
        {"age": 2, "a.b": 0, "part": 5, "n_rows": 2, "n_people": 1},
        {"age": 50, "a.b": 50, "part": 50, "n_rows": 1, "n_people": 1},
    ]


def test_a_function_keeps_to_its_schema(engine):
    blocks = engine.load(TABLES["two rows"])

    def narrower(block):
        return pa.table({"age": pa.array([300] * block.num_rows)})

    declared = pa.schema({"age": pa.int16()})
    mapped = engine.map_blocks(blocks, narrower, declared)
    assert engine.collect(mapped) == pa.table({"age": [300, 300]}, schema=declared)
    with pytest.raises(EngineError, match="does not fit the declared int8") as raised:
        engine.collect(engine.map_blocks(blocks, narrower, pa.schema({"age": pa.int8()})))
    assert "300" not in str(raised.value)


def test_deliberate_errors_come_back_as_they_were_raised(engine):
    blocks = engine.load(TABLES["half in one value"])

    def refuse(block):
        values = block.column("zip").to_pylist()
        raise InfeasibleError("no group can hold", remedy="Lower k.", examples=values)

    with pytest.raises(InfeasibleError, match="no group can hold") as raised:
        engine.collect(engine.map_groups(blocks, "part", refuse, COLUMNS))
    assert raised.value.remedy == "Lower k."
    assert "1010" not in str(raised.value)


def test_describe_tells_what_ran(engine):
    told = engine.describe()
    assert told["name"] == engine.name
    assert told["versions"]["pyarrow"] == pa.__version__
