"""Arrays on a storage are the same in memory and on disk, and leave nothing behind."""

import mmap
import re
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines.choice import parse_memory
from incrowd.errors import InputError, JobError
from incrowd.sets import build as set_build
from incrowd.sets import names as set_names
from incrowd.sets import sets
from incrowd.sets import sets as storage
from incrowd.sets.build import Pairs, from_pairs, sort_in_rows, symmetrize_edges
from incrowd.sets.files import read_set_file, write_sets
from incrowd.sets.format import SetFormat, SetOptions
from incrowd.sets.names import NameCoder
from incrowd.sets.sets import EntryStorage, GrowingArray, Sets
from tiers import examples

NAMES = ["0", "7", "12", "007", "x", "é", "2147483648", "99999999999999999999"]


def base_of(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def on_disk(folder):
    made = EntryStorage(folder, 1 << 20)
    made.is_on_disk = True
    return made


@contextmanager
def small_steps():
    """Blocks of three entries, so that a few entries are many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_names, "_STEP", 3)
        patch.setattr(set_build, "_STEP", 3)
        patch.setattr(sets.row_blocks, "__defaults__", (3,))
        yield


def test_an_array_on_disk_is_a_file_without_a_name(tmp_path):
    kept = on_disk(tmp_path)
    array = kept.array(1000, np.int32)
    array[:] = np.arange(1000)
    assert isinstance(base_of(array), mmap.mmap)
    assert type(array) is np.ndarray
    assert array.flags.writeable
    assert array.sum() == 499_500
    assert list(tmp_path.iterdir()) == []
    assert kept.array(0, np.int64).shape == (0,)
    assert base_of(EntryStorage().array(10, np.int32)) is None


def test_a_bound_sends_entries_to_disk_and_refuses_rows(tmp_path):
    kept = EntryStorage(tmp_path, 4 << 20)  # half of it may be used
    kept.expect(1000, 1000, 80_000)
    assert not kept.is_on_disk
    kept.expect(1000, 1000, 100_000)
    assert kept.is_on_disk
    with pytest.raises(JobError) as refused:
        kept.expect(100_000, 10, 100)
    least = parse_memory(re.search(r"--memory (\S+),", refused.value.remedy)[1])
    assert least > 4 << 20
    EntryStorage(tmp_path, least).expect(100_000, 10, 100)
    with pytest.raises(JobError):
        EntryStorage(tmp_path, least - (1 << 20)).expect(100_000, 10, 100)
    with pytest.raises(JobError):  # names are in memory too
        EntryStorage(tmp_path, least).expect(100_000, 10, 100, n_text=1 << 24)


def test_a_search_that_needs_more_than_the_bound_is_refused(tmp_path):
    kept = EntryStorage(tmp_path, 2 << 30)
    kept.require_search(10, 10, 1 << 40, 8)  # entries are in memory: there is no bound to meet
    kept.expect(1000, 1000, 1 << 30)
    kept.require_search(1000, 1000, 1_000_000, 2)
    with pytest.raises(JobError) as refused:
        kept.require_search(1000, 1000, 20_000_000, 8)
    least = parse_memory(re.search(r"--memory (\S+),", refused.value.remedy)[1])
    enough = EntryStorage(tmp_path, least)
    enough.expect(1000, 1000, 1 << 32)
    enough.require_search(1000, 1000, 20_000_000, 8)
    with pytest.raises(JobError, match="mondrian"):
        kept.require_memory("mondrian", "")
    EntryStorage(tmp_path, 1 << 40).require_memory("mondrian", "")


def test_the_docs_say_what_is_reckoned():
    text = (Path(__file__).parents[2] / "docs" / "guide" / "lists.md").read_text("utf-8")
    each = storage.BYTES_PER_ROW, storage.BYTES_PER_ITEM, storage.BYTES_PER_ENTRY
    assert "{} bytes a row, {} an item, the names of both, and {} an entry".format(*each) in text
    assert f"less {storage.RESERVE >> 20} MB for the program itself" in text


@pytest.mark.parametrize(("n_bytes", "says"), [(1, "0.1MB"), (1 << 20, "1MB"), (3 << 29, "1.5GB")])
def test_amounts_are_said_as_they_are_stated(n_bytes, says):
    assert storage.format_bytes(n_bytes) == says


@given(
    st.lists(st.lists(st.integers(0, 99), max_size=9), max_size=8),
    st.integers(0, 8),
    st.integers(0, 30),
)
def test_a_growing_list_moves_to_disk_at_any_time(tmp_path_factory, blocks, moment, n_expected):
    kept = EntryStorage(tmp_path_factory.getbasetemp(), 1 << 20)
    numbers = GrowingArray(np.int32, kept, n_expected)
    for place, block in enumerate(blocks):
        kept.is_on_disk = kept.is_on_disk or place >= moment
        numbers.append(np.array(block, dtype=np.int64))
        so_far = [number for part in blocks[: place + 1] for number in part]
        assert numbers.view().tolist() == so_far
    assert numbers.length == sum(map(len, blocks))
    found = numbers.finish()
    assert found.tolist() == [number for block in blocks for number in block]
    if len(found) and len(blocks) > moment:
        assert isinstance(base_of(found), mmap.mmap)


@examples(80)
@given(
    st.lists(st.lists(st.sampled_from(NAMES), max_size=5), min_size=1, max_size=9),
    st.integers(0, 9),
)
def test_names_are_the_same_on_disk(tmp_path_factory, blocks, moment):
    kept = EntryStorage(tmp_path_factory.getbasetemp(), 1 << 20)
    with small_steps():
        plain, moved = NameCoder(), NameCoder(storage=kept)
        for place, block in enumerate(blocks):
            kept.is_on_disk = kept.is_on_disk or place >= moment
            plain.add(pa.array(block, pa.string()))
            moved.add(pa.array(block, pa.string()))
        (codes, names), (codes_there, names_there) = plain.finish(), moved.finish()
    entries = [name for block in blocks for name in block]
    assert [str(names[code].as_py()) for code in codes.tolist()] == entries
    assert codes_there.tolist() == codes.tolist()
    assert names_there.equals(names)


@examples(120)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20),
    st.sampled_from(["bipartite", "directed", "undirected"]),
    st.booleans(),
)
def test_pairs_become_the_same_sets_on_disk(tmp_path_factory, pairs, graph, by_sizes):
    if by_sizes:
        pairs = sorted(pairs, key=lambda pair: pair[0])
    expected = [set() for _ in range(6)]
    for row, item in pairs:
        expected[row].add(item)
        if graph == "undirected":
            expected[item].add(row)
    for kept in (EntryStorage(), on_disk(tmp_path_factory.getbasetemp())):
        rows, items = (np.array([pair[side] for pair in pairs], dtype=np.int32) for side in (0, 1))
        sizes = np.bincount(rows, minlength=6).astype(np.int32)
        given = Pairs(None, items, 6, 6, sizes) if by_sizes else Pairs(rows, items, 6, 6)
        with small_steps():
            found, notes = from_pairs(given, None, None, SetOptions(graph), "here", kept)
        lists = [items.tolist() for items in np.split(found.items, found.starts[1:-1])]
        assert lists == [sorted(row) for row in expected]
        n_again = len(pairs) - len(set(pairs))
        assert any(f"{n_again} entries stood there more than once" in note for note in notes) == (
            n_again > 0
        )


@examples(80)
@given(st.lists(st.sets(st.integers(0, 4)), min_size=5, max_size=5), st.booleans())
def test_edges_of_either_end_or_of_both(tmp_path_factory, lists, either):
    starts = np.cumsum([0, *map(len, lists)])
    items = np.array([item for row in lists for item in sorted(row)], dtype=np.int32)
    there = {(row, item) for row, of_row in enumerate(lists) for item in of_row}
    back = {(item, row) for row, item in there}
    expected = sorted(there | back if either else there & back)
    with small_steps():
        kept = on_disk(tmp_path_factory.getbasetemp())
        new_starts, new_items = symmetrize_edges(starts, items, kept, either=either)
    rows = np.repeat(np.arange(5), np.diff(new_starts))
    assert list(zip(rows.tolist(), new_items.tolist(), strict=True)) == expected


@given(st.lists(st.sets(st.integers(0, 9)), max_size=8), st.randoms(), st.data())
def test_rows_are_sorted_and_taken_in_blocks(tmp_path_factory, lists, random, data):
    shuffled = [random.sample(sorted(row), len(row)) for row in lists]
    starts = np.cumsum([0, *map(len, lists)])
    items = np.array([item for row in shuffled for item in row], dtype=np.int32)
    kept = on_disk(tmp_path_factory.getbasetemp())
    with small_steps():
        sort_in_rows(starts, items)
        wanted = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9) if lists else
                           st.just([]))  # fmt: skip
        taken = Sets(starts, items, 10).take(np.array(wanted, dtype=np.int64), kept)
    found = [part.tolist() for part in np.split(taken.items, taken.starts[1:-1])][: len(wanted)]
    assert found == [sorted(lists[row]) for row in wanted]


def test_a_file_is_read_the_same_from_disk(tmp_path):
    rng = np.random.default_rng(5)
    lists = [np.unique(rng.integers(0, 500, 30)) for _ in range(300)]
    made = Sets(np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32), 500,
                pa.array([f"u{row}" for row in range(300)]),
                pa.array([f"i{item}" for item in range(500)]))  # fmt: skip
    folder = tmp_path / "private"
    folder.mkdir()
    for name, kind in [("o.dat", ""), ("o.txt", ""), ("o.parquet", ""), ("l.parquet", "lists")]:
        path = tmp_path / name
        write_sets(made, path, SetFormat(kind) if kind else None)
        options = SetOptions(header=False)
        plain, kept = read_set_file(path, options), EntryStorage(folder, 1 << 18)
        there = read_set_file(path, options, kept)
        assert kept.is_on_disk
        assert isinstance(base_of(there.sets.items), mmap.mmap)
        assert np.array_equal(there.sets.items, plain.sets.items)
        assert np.array_equal(there.sets.starts, plain.sets.starts)
        assert there.sets.row_names == plain.sets.row_names
        assert there.sets.item_names == plain.sets.item_names
        assert there.format == plain.format
        assert list(folder.iterdir()) == []


def test_listed_rows_keep_the_order_of_their_lines(tmp_path):
    (tmp_path / "a.dat").write_text("1 2\n3\n4 5\n")
    (tmp_path / "a.dat.rows").write_text("30\n10\n20\n")
    found = read_set_file(tmp_path / "a.dat").sets
    lists = np.split(found.item_names.to_numpy()[found.items], found.starts[1:-1])
    by_name = dict(zip(found.row_names.to_pylist(), map(list, lists), strict=True))
    assert by_name == {30: [1, 2], 10: [3], 20: [4, 5]}


def test_a_full_disk_is_said_and_never_a_crash(tmp_path):
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(InputError, match="no room"):
            on_disk(tmp_path).array(10_000, np.int64)
        with pytest.raises(InputError, match="no room"):
            GrowingArray(np.int32, on_disk(tmp_path)).append(np.arange(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert list(tmp_path.iterdir()) == []
