"""Generalized transactions: made, written, read back, and asked for counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from guarantees.small_transactions import (
    PARTS_OF_TABLE_2,
    PUBLIC,
    SENSITIVE,
    SENSITIVE_OF_TABLES,
    TABLE_1,
    labelled,
    partitions,
    to_transactions,
    transactions,
)
from incrowd.errors import DataError, JobError
from incrowd.sets.files import read_set_file, read_sets, write_sets
from incrowd.sets.format import LISTS, SetFormat, format_of_path
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets
from incrowd.transactions.generalized import format_label, generalize_sets, parse_label
from oracles import rules as oracle
from tiers import examples

FILES = [
    "released.dat",
    "released.dat.gz",
    "released.csv",
    "released.tsv",
    "released.txt",
    "released.parquet",
    "released.npz",
    "released.mtx",
]
ODD = ["a", "b c", 'q"q', "(p)", "x,y", "é", "semi;colon", "#9", "%", "z"]


def roles(sets, parts, sensitive):
    """Return ``part_of_item`` and ``is_sensitive`` of named parts."""
    part_of = {name: number for number, part in enumerate(parts) for name in part}
    names = [str(name) for name in item_names_of(sets).to_pylist()]
    is_held = np.isin(np.arange(sets.n_items), sets.items)
    part_of_item = [
        part_of.get(name, -1) if held else -1 for name, held in zip(names, is_held, strict=True)
    ]
    is_sensitive = [name in sensitive for name in names]
    return np.array(part_of_item, dtype=np.int32), np.array(is_sensitive, dtype=np.bool_)


def released_of(rows, parts, sensitive):
    sets = to_transactions(rows)
    return generalize_sets(sets, *roles(sets, parts, sensitive))


def named_rows(sets):
    names = [str(name) for name in item_names_of(sets).to_pylist()]
    return [
        [names[item] for item in sets.items[sets.starts[row] : sets.starts[row + 1]].tolist()]
        for row in range(sets.n_rows)
    ]


def assert_same(one, other):
    assert named_rows(one) == named_rows(other)
    assert item_names_of(one).equals(item_names_of(other))
    assert (one.starts == other.starts).all()
    assert (one.items == other.items).all()
    assert one.n_items == other.n_items


def table_2():
    return released_of(TABLE_1, PARTS_OF_TABLE_2, SENSITIVE_OF_TABLES)


@examples(80)
@given(transactions, partitions())
def test_rows_hold_the_parts_of_their_items(rows, parts):
    held = set().union(*rows)
    shown = [[item for item in part if item in held] for part in parts]
    shown = [part for part in shown if part]
    released = released_of(rows, parts, SENSITIVE)
    expected = labelled(oracle.generalized(rows, shown, SENSITIVE))
    assert [set(row) for row in named_rows(released)] == [set(row) for row in expected]
    assert all(row == sorted(set(row)) for row in named_rows(released))
    assert released.n_items == len({label for row in expected for label in row})


def test_a_public_item_without_a_part_is_a_mistake():
    sets = to_transactions(["ab"])
    with pytest.raises(ValueError, match="in no part"):
        generalize_sets(sets, np.array([0, -1], dtype=np.int32), np.zeros(2, dtype=np.bool_))


def test_numbers_left_alone_stay_numbers():
    sets = Sets(np.array([0, 2, 3]), np.array([2, 10, 2], dtype=np.int32), 11)
    part_of_item = np.full(11, -1, dtype=np.int32)
    part_of_item[[2, 10]] = [0, 1]
    released = generalize_sets(sets, part_of_item, np.zeros(11, dtype=np.bool_))
    assert released.item_names.equals(pa.array([2, 10]))
    part_of_item[10] = 0
    released = generalize_sets(sets, part_of_item, np.zeros(11, dtype=np.bool_))
    assert released.item_names.to_pylist() == ["(2,10)"]
    assert named_rows(released) == [["(2,10)"], ["(2,10)"]]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, unique=True))
def test_a_label_reads_as_its_members(names):
    assert parse_label(format_label(names)) == tuple(names)


# ── files ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("is_odd", [False, True])
def test_a_release_reads_back_as_it_was_written(tmp_path, name, is_odd):
    if is_odd:
        rows = [ODD[:4], ODD[2:7], ODD[5:], ODD]
        released = released_of(rows, [ODD[:2], ODD[2:5], [ODD[5]], ODD[6:9]], {"z"})
    else:
        released = table_2()
    path = tmp_path / name
    stored = format_of_path(path)
    write_sets(released, path, stored, is_generalized=True)
    assert_same(read_sets(path, stored.options()), released)
    assert_same(ic.read_generalized(path, stored.options()).sets, released)


def test_lists_in_parquet_read_back(tmp_path):
    path = tmp_path / "released.parquet"
    stored = SetFormat(LISTS)
    write_sets(table_2(), path, stored, is_generalized=True)
    assert_same(read_sets(path, stored.options()), table_2())


def test_baskets_show_parts_as_the_paper_prints_them(tmp_path):
    path = tmp_path / "released.dat"
    write_sets(table_2(), path, is_generalized=True)
    assert path.read_text(encoding="utf-8").splitlines()[:2] == [
        "(a,b,f) (c,d,e) g h",
        "(a,b,f) (c,d,e) i j",
    ]
    assert not read_set_file(path).notes


def test_names_that_only_look_like_parts_stay_quoted(tmp_path):
    path = tmp_path / "sets.dat"
    sets = to_transactions([["(a,b)", "c(d)"]])
    write_sets(sets, path)
    assert path.read_text(encoding="utf-8") == '"(a,b)" "c(d)"\n'
    write_sets(sets, path, is_generalized=True)
    assert path.read_text(encoding="utf-8") == '(a,b) "c(d)"\n'
    assert_same(read_sets(path), sets)


@pytest.mark.parametrize("name", ["released.csv", "released.tsv", "released.txt"])
@pytest.mark.parametrize("is_generalized", [False, True])
def test_edge_lists_are_found_out_by_anyone(tmp_path, name, is_generalized):
    """Parts hold commas, and a line of a part of two has one: it is no delimiter."""
    released = released_of([["a", "b"], ["c", "d"]], ["ab", "cd"], "")
    path = tmp_path / name
    write_sets(released, path, is_generalized=is_generalized)
    assert_same(read_sets(path), released)


def test_edge_lists_with_blanks_show_parts_as_they_are(tmp_path):
    path = tmp_path / "released.txt"
    write_sets(table_2(), path, is_generalized=True)
    assert path.read_text(encoding="utf-8").startswith("0 (a,b,f)\n0 (c,d,e)\n0 g\n")


@pytest.mark.parametrize("name", FILES)
def test_entries_that_stand_again_are_counted(tmp_path, name):
    write_sets(table_2(), tmp_path / name, is_generalized=True)
    assert read_sets(tmp_path / name, format_of_path(name).options()).n_repeated == 0
    text = tmp_path / "again.dat"
    text.write_text("(a,b) c\nc (a,b) (a,b) (a,b)\n", encoding="utf-8")
    assert read_sets(text).n_repeated == 2
    assert read_sets(text).take(np.array([0])).n_repeated == 0


# ── counts ──────────────────────────────────────────────────────────────────────────────────


@given(
    transactions,
    partitions(),
    st.frozensets(st.sampled_from(PUBLIC + SENSITIVE), min_size=1, max_size=4),
    st.sampled_from(["subsets", "share"]),
)
def test_support_is_what_the_rows_allow(rows, parts, query, reading):
    held = set().union(*rows)
    shown = [part for part in ([i for i in part if i in held] for part in parts) if part]
    release = ic.read_generalized(released_of(rows, parts, SENSITIVE))
    if not query <= held:
        with pytest.raises(JobError, match="stand in no released item"):
            release.support(query, reading)
        return
    released = oracle.generalized(rows, shown, SENSITIVE)
    answer = release.support(query, reading)
    assert answer.most == sum(oracle.shows(row, query) for row in released)
    assert answer.expected == pytest.approx(float(oracle.expected(released, query, reading)))
    true = sum(query <= row for row in rows)
    assert answer.least <= true <= answer.most
    sure = [row for row in released if all(frozenset({item}) in row for item in query)]
    assert answer.least == len(sure)


def test_support_of_table_2():
    release = ic.read_generalized(table_2())
    assert release.n_rows == 5
    assert release.members[0] == ("a", "b", "f")
    answer = release.support(["a", "c", "h"])
    assert (answer.least, answer.most) == (0, 2)
    assert answer.expected == pytest.approx(2 * (4 / 7) ** 2)
    assert release.support("h").least == 2
    assert release.support([]).least == 5
    with pytest.raises(JobError, match="reading"):
        release.support("h", "halves")


def test_a_frame_is_read_too():
    frame = pa.table({"row": [1, 1, 2], "item": ["(a,b)", "s", "(a,b)"]})
    assert ic.read_generalized(frame).support("a").most == 2


@pytest.mark.parametrize("label", ["a", "(a,c)", "(a"])
def test_parts_that_overlap_or_cannot_be_read_are_refused(label):
    with pytest.raises(DataError):
        ic.read_generalized(to_transactions([["(a,b)", label]]))


@pytest.mark.parametrize("name", ["baskets.dat", "edges.csv"])
def test_long_names_are_written_in_smaller_blocks(tmp_path, monkeypatch, name):
    sets = Sets(
        np.arange(0, 61, 3),
        np.tile(np.arange(3, dtype=np.int32), 20),
        3,
        item_names=pa.array(["a", format_label([f"item{n}" for n in range(200)]), "c"]),
    )
    write_sets(sets, tmp_path / name, is_generalized=True)
    at_once = (tmp_path / name).read_bytes()
    monkeypatch.setattr("incrowd.sets.files._BLOCK_BYTES", 4_000)
    write_sets(sets, tmp_path / name, is_generalized=True)
    assert (tmp_path / name).read_bytes() == at_once
    assert at_once.count(b"item199") == 20
