"""Files of sets: what is written reads back, and holds nothing that was not released."""

from __future__ import annotations

import gzip
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError
from incrowd.sets.files import (
    SetFormat,
    SetOptions,
    format_of_path,
    read_set_file,
    read_sets,
    write_sets,
)
from incrowd.sets.names import NameCoder, align_items, find_names, sort_names
from incrowd.sets.sets import Sets
from oracles import set_files as oracle
from oracles.set_files import put
from tiers import examples

LISTS = "lists.parquet"
FILES = [
    "o.dat",
    "o.dat.gz",
    "o.dat.zst",
    "o.txt",
    "o.csv",
    "o.tsv.gz",
    "o.parquet",
    LISTS,
    "o.npz",
    "o.mtx",
    "o.mtx.gz",
]
AWKWARD = ["a b", 'say "hi"', "x,y", "(p,q)", "ünï", "#top", "%", "line\nbreak", " lead", "\t"]


def format_for(name: str) -> SetFormat:
    return SetFormat("lists") if name == LISTS else format_of_path(name)


def made(rows: list[list[int]], n_items: int, row_names=None, item_names=None, graph="bipartite"):
    """Make sets of rows of item numbers; names are given in any order and sorted."""
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in sorted(row)], dtype=np.int32)
    ordered = [
        None if names is None else sort_names(pa.array(names))[0]
        for names in (row_names, item_names)
    ]
    return Sets(starts, items, n_items, *ordered, graph)


def there_and_back(sets: Sets, folder: Path, name: str) -> Sets:
    written = write_sets(sets, folder / name, format_for(name))
    assert written[0] == folder / name
    assert sorted(path.name for path in written) == sorted(
        path.name for path in folder.iterdir() if path.name.startswith(name)
    )
    return read_sets(folder / name, format_for(name).options(sets.graph))


# ── there and back ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("row_names", [None, ["u 1", "u,2", '"q"', "p(", "é"], [7, -1, 30, 4, 5]])
@pytest.mark.parametrize("item_names", [None, AWKWARD, list(range(5, 105, 10))])
def test_every_format_reads_back(tmp_path, name, row_names, item_names):
    sets = made([[0, 2, 9], [], [1, 3, 4, 5, 6, 7, 8], [6, 7], [0]], 10, row_names, item_names)
    assert oracle.as_dict(there_and_back(sets, tmp_path, name)) == oracle.as_dict(sets)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("rows", [[[0, 1]], [[]], [[], []], [[], [1], []]])
def test_single_and_empty_rows(tmp_path, name, rows):
    sets = made(rows, 2, item_names=["a", "b"])
    found = there_and_back(sets, tmp_path, name)
    assert oracle.as_dict(found) == oracle.as_dict(sets)
    assert found.n_rows == len(rows)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("graph", ["directed", "undirected"])
@pytest.mark.parametrize("names", [None, ["n 0", "n,1", "n2", "n(3"]])
def test_graphs_read_back(tmp_path, name, graph, names):
    rows = [[1, 2], [0, 1], [0], []] if graph == "undirected" else [[2], [1, 2], [0], []]
    found = there_and_back(made(rows, 4, names, names, graph), tmp_path, name)
    assert oracle.as_dict(found) == oracle.as_dict(made(rows, 4, names, names, graph))
    assert (found.graph, found.n_items) == (graph, 4)
    if names is not None:
        assert found.row_names.equals(found.item_names)


texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=6,
)
whole = st.integers(-(10**17), 10**17)
names_of = st.one_of(st.lists(texts, min_size=1, max_size=6, unique=True),
                     st.lists(whole, min_size=1, max_size=6, unique=True))  # fmt: skip


@st.composite
def random_sets(draw):
    row_names, item_names = draw(names_of), draw(names_of)
    row = st.sets(st.integers(0, len(item_names) - 1))
    rows = [sorted(draw(row)) for _ in row_names]
    return made(rows, len(item_names), row_names, item_names)


def seen(sets: Sets) -> dict[str, list[str]]:
    """Text files do not tell the text 5 from the number 5."""
    return {
        str(row): sorted(str(item) for item in items) for row, items in oracle.as_dict(sets).items()
    }


@given(random_sets(), st.sampled_from(FILES))
def test_any_names_read_back(sets, name):
    with tempfile.TemporaryDirectory() as folder:
        found = there_and_back(sets, Path(folder), name)
        assert seen(found) == seen(sets)
        again = there_and_back(found, Path(folder), name)
        assert oracle.as_dict(again) == oracle.as_dict(found)


@given(random_sets())
def test_text_is_as_the_csv_module_reads_it(sets):
    with tempfile.TemporaryDirectory() as folder:
        shown = oracle.as_dict(sets)
        write_sets(sets, Path(folder) / "o.dat")
        content = (Path(folder) / "o.dat").read_bytes().decode()
        assert oracle.baskets(content) == [list(map(str, row)) for row in shown.values()]
        write_sets(sets, Path(folder) / "o.csv")
        content = (Path(folder) / "o.csv").read_bytes().decode()
        assert oracle.edges(content, ",") == {
            (str(row), str(item)) for row, items in shown.items() for item in items
        }


@given(st.lists(st.lists(st.sampled_from(["1", "22", "b", "é", "x"])), min_size=1), st.data())
def test_baskets_are_read_as_the_oracle_reads_them(lines, data):
    blank = st.sampled_from([" ", "  ", "\t", " \t "])
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = "".join(
        data.draw(st.sampled_from(["", " "]))
        + data.draw(blank).join(line)
        + data.draw(st.sampled_from(["", " ", "\t"]))
        + end
        for line in lines
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "o.dat"
        path.write_bytes(text.encode())
        found = [sorted(map(str, items)) for items in oracle.as_dict(read_sets(path)).values()]
    assert found == [sorted(set(line)) for line in lines]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1),
    st.sampled_from(["directed", "undirected"]),
)
def test_graphs_are_what_their_edges_say(edges, graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.txt"
        path.write_text("".join(f"{first} {second}\n" for first, second in edges), "utf-8")
        found = read_sets(path, SetOptions(graph))
    wanted = oracle.both_directions(edges) if graph == "undirected" else set(edges)
    nodes = {node for edge in edges for node in edge}
    assert oracle.as_dict(found) == {
        node: sorted(second for first, second in wanted if first == node) for node in sorted(nodes)
    }


def test_blocks_of_a_file_are_one(tmp_path, monkeypatch):
    from incrowd.sets import files as set_write
    from incrowd.sets import parquet as set_parquet
    from incrowd.sets import text as set_cells

    sets = made(
        [[row % 7, 7 + row % 5] for row in range(300)], 12, None, [f'i "{n}' for n in range(12)]
    )
    for name in ["o.dat", "o.csv", "o.mtx", "o.parquet", LISTS]:
        whole_file = write_sets(sets, tmp_path / name, format_for(name))[0].read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(set_cells, "_BLOCK_BYTES", 64)
            patch.setattr(set_parquet, "_BATCH_ROWS", 64)
            assert oracle.as_dict(read_sets(tmp_path / name, format_for(name).options())) == (
                oracle.as_dict(sets)
            )
            patch.setattr(set_write, "_BLOCK_ENTRIES", 16)
            cut = write_sets(sets, tmp_path / f"cut.{name}", format_for(name))[0].read_bytes()
        assert cut == whole_file or name.endswith(".parquet")


# ── what is found and noted ─────────────────────────────────────────────────────────────────


def test_numbers_are_sorted_by_value_and_texts_by_text(tmp_path):
    numbers = read_sets(put(tmp_path, "a.txt", "10 2\n9 30\n9 -4\n"))
    assert oracle.as_dict(numbers) == {9: [-4, 30], 10: [2]}
    texts = read_sets(put(tmp_path, "b.txt", "10 2\n9 30\n9 04\n"))
    assert oracle.as_dict(texts) == {9: ["04", "30"], 10: ["2"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [("d.dat", "1 1 2\n2 2 2\n"), ("d.txt", "0 1\n0 1\n0 2\n1 2\n1 2\n1 2\n")],
)
def test_entries_that_occur_again_are_one_and_noted(tmp_path, name, content):
    found = read_set_file(put(tmp_path, name, content))
    assert oracle.as_dict(found.sets) == {0: [1, 2], 1: [2]}
    assert len(found.notes) == 1
    assert "3 entries" in found.notes[0]


def test_loops_and_missing_directions_are_noted(tmp_path):
    path = put(tmp_path, "g.txt", "0 0\n0 1\n1 0\n1 2\n2 0\n3 3\n")
    directed = read_set_file(path, SetOptions("directed"))
    assert oracle.as_dict(directed.sets) == {0: [0, 1], 1: [0, 2], 2: [0], 3: [3]}
    assert ["2 nodes" in note for note in directed.notes] == [True]
    undirected = read_set_file(path, SetOptions("undirected"))
    assert oracle.as_dict(undirected.sets) == {0: [0, 1, 2], 1: [0, 2], 2: [0, 1], 3: [3]}
    assert "2 edges" in undirected.notes[1]
    assert read_set_file(path).notes == []


def test_comments_above_an_edge_list(tmp_path):
    text = "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n5\t1\n"
    found = read_set_file(put(tmp_path, "snap.txt", text), SetOptions("directed"))
    assert oracle.as_dict(found.sets) == {0: [1], 1: [], 5: [1]}
    assert "2 lines of comments" in found.notes[0]
    assert found.format.delimiter == "\t"


@pytest.mark.parametrize("name", ["#a", "%b"])
def test_names_that_look_like_comments(tmp_path, name):
    sets = made([[0], [0]], 1, [name, "z"], ["i"])
    assert oracle.as_dict(there_and_back(sets, tmp_path, "o.txt")) == {name: ["i"], "z": ["i"]}


@pytest.mark.parametrize(
    ("text", "delimiter", "has_header"),
    [
        ("user item\n1 5\n2 6\n", " ", True),
        ("1 5\n2 6\n", " ", False),
        ("who,what\n1,pear\n2,fig\n", ",", True),
        ("1;pear\n2;fig\n", ";", False),
        ('1\t"red pear"\n2\tfig\n', "\t", False),
        ("a|1\nb|2\n", "|", False),
    ],
)
def test_how_an_edge_list_is_written_is_found_and_kept(tmp_path, text, delimiter, has_header):
    path = put(tmp_path, "e.txt", text)
    found = read_set_file(path)
    assert (found.format.delimiter, found.format.has_header) == (delimiter, has_header)
    again = format_of_path(tmp_path / "o.txt.gz", found.format)
    write_sets(found.sets, tmp_path / "o.txt.gz", again)
    assert gzip.decompress((tmp_path / "o.txt.gz").read_bytes()).decode() == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "windows-1252"])
def test_encodings_of_baskets(tmp_path, encoding):
    path = put(tmp_path, "e.dat", "é b\r\n\r\nb\r\n".encode(encoding))
    stated = "windows-1252" if encoding == "windows-1252" else None
    found = read_set_file(path, SetOptions(encoding=stated))
    assert oracle.as_dict(found.sets) == {0: ["b", "é"], 1: [], 2: ["b"]}
    assert found.format.newline == "\r\n"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_two_of_several_columns(tmp_path, kind):
    path = tmp_path / f"wide.{kind}"
    if kind == "csv":
        path.write_text("id,user,note,item\n1,ada,,pear\n2,bob,x,fig\n", "utf-8")
    else:
        pq.write_table(
            pa.table({"id": [1, 2], "user": ["ada", "bob"], "item": ["pear", "fig"]}), path
        )
    with pytest.raises(DataError, match="columns") as caught:
        read_sets(path, SetOptions(header=True))
    assert "row_column" in caught.value.remedy
    found = read_set_file(path, SetOptions(row_column="user", item_column="item"))
    assert oracle.as_dict(found.sets) == {"ada": ["pear"], "bob": ["fig"]}
    write_sets(found.sets, tmp_path / f"o.{kind}", found.format)
    assert oracle.as_dict(read_sets(tmp_path / f"o.{kind}", found.format.options())) == (
        oracle.as_dict(found.sets)
    )


def test_parquet_types_come_back(tmp_path):
    table = pa.table(
        {
            "who": pa.array([3, 1, 3], pa.int32()),
            "what": pa.array(["7", "8", "9"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "i.parquet")
    found = read_set_file(tmp_path / "i.parquet")
    write_sets(found.sets, tmp_path / "o.parquet", found.format)
    back = pq.read_table(tmp_path / "o.parquet")
    assert back.schema.types == [pa.int32(), pa.string()]
    assert back.to_pydict() == {"who": [1, 3, 3], "what": ["8", "7", "9"]}


def test_list_columns_with_and_without_names(tmp_path):
    lists = pa.array([["b", "a", "b"], [], ["c"]])
    pq.write_table(pa.table({"basket": lists}), tmp_path / "a.parquet")
    found = read_set_file(tmp_path / "a.parquet")
    assert found.format.kind == "lists"
    assert oracle.as_dict(found.sets) == {0: ["a", "b"], 1: [], 2: ["c"]}
    assert "1 entries" in found.notes[0]
    write_sets(found.sets, tmp_path / "o.parquet", found.format)
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"basket": [["a", "b"], [], ["c"]]}
    pq.write_table(pa.table({"who": ["z", "y", "x"], "basket": lists}), tmp_path / "b.parquet")
    assert oracle.as_dict(read_sets(tmp_path / "b.parquet")) == {
        "x": ["c"],
        "y": [],
        "z": ["a", "b"],
    }


def test_matrices_of_scipy(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    io = pytest.importorskip("scipy.io")
    dense = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    for matrix in (sparse.csr_matrix(dense), sparse.csr_array(dense.astype(np.float32))):
        sparse.save_npz(tmp_path / "m.npz", matrix)
        found = read_set_file(tmp_path / "m.npz")
        assert oracle.as_dict(found.sets) == {0: [0, 2], 1: [], 2: [1]}
        write_sets(found.sets, tmp_path / "o.npz", found.format)
        back = sparse.load_npz(tmp_path / "o.npz")
        assert (back != matrix).nnz == 0
        assert (type(back), back.dtype) == (type(matrix), matrix.dtype)
        assert back.has_canonical_format
    write_sets(found.sets, tmp_path / "o.mtx.gz")
    assert (io.mmread(tmp_path / "o.mtx.gz").toarray() == dense).all()
    io.mmwrite(tmp_path / "s.mtx", sparse.coo_matrix(dense @ dense.T > 0), symmetry="symmetric")
    symmetric = read_set_file(tmp_path / "s.mtx")
    assert oracle.as_dict(symmetric.sets) == {0: [0], 1: [], 2: [2]}
    assert "symmetric" in symmetric.notes[0]


def test_explicit_zeros_and_other_values(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[1, 2], [1, 0]]))
    matrix.data[2] = 0
    sparse.save_npz(tmp_path / "m.npz", matrix)
    text = "%%MatrixMarket matrix coordinate real general\n% c\n2 2 3\n1 1 1\n1 2 2.5\n2 1 0\n"
    for path in (tmp_path / "m.npz", put(tmp_path, "m.mtx", text)):
        with pytest.raises(DataError, match="1 values are neither 0 nor 1") as caught:
            read_sets(path)
        assert "nonzero" in caught.value.remedy
        found = read_set_file(path, SetOptions(values="nonzero"))
        assert oracle.as_dict(found.sets) == {0: [0, 1], 1: []}
        assert len(found.notes) == 2


def test_a_list_of_rows_beside_an_edge_list(tmp_path):
    path = put(tmp_path, "e.txt", "2 5\n")
    put(tmp_path, "e.txt.rows", "4\n2\n3\n")
    assert oracle.as_dict(read_sets(path)) == {2: [5], 3: [], 4: []}
    put(tmp_path, "e.txt.rows", "5\n2\n3\n")
    assert oracle.as_dict(read_sets(path, SetOptions("undirected"))) == {2: [5], 3: [], 5: [2]}


def test_a_release_in_the_items_of_its_original():
    original = made([[0, 2], [1]], 3, item_names=["a", "b", "c"])
    released = made([[0, 1], [1]], 2, item_names=["c", "a"])
    assert oracle.as_dict(align_items(released, original)) == oracle.as_dict(released)
    assert align_items(released, original).items.tolist() == [0, 2, 2]
    with pytest.raises(DataError, match="1 of its items"):
        align_items(original, released)


# ── the container ───────────────────────────────────────────────────────────────────────────


def contents(path: Path) -> bytes:
    """Return a file's bytes, and everything that is packed in it."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        return raw + gzip.decompress(raw)
    if path.suffix == ".zst":
        return raw + pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read()
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            return raw + b"".join(archive.read(name) for name in archive.namelist())
    if path.suffix == ".parquet":
        return raw + repr(pq.read_table(path).to_pydict()).encode()
    return raw


@pytest.mark.parametrize("name", FILES)
def test_nothing_unreleased_is_in_the_files(tmp_path, name):
    names = [f"zq-{number:05}" for number in range(40)]
    rows = [[item for item in range(40) if item % 3 == 0] for _ in range(6)]
    sets = made(rows, 40, item_names=names)
    taken = sets.take(np.array([0, 2], dtype=np.int64))
    written = write_sets(taken, tmp_path / name, format_for(name))
    everything = b"".join(contents(path) for path in written)
    for number, item in enumerate(names):
        assert (item.encode() in everything) == (number % 3 == 0)
    again = write_sets(taken, tmp_path / f"again.{name}", format_for(name))
    for first, second in zip(written, again, strict=True):
        assert first.read_bytes() == second.read_bytes()
        assert tmp_path.name.encode() not in contents(first)
    if name.endswith(".gz"):
        assert (tmp_path / name).read_bytes()[3:8] == bytes(5)  # neither name nor time
    if name.endswith(".npz"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_items_come_sorted_even_where_their_names_were_not(tmp_path):
    sets = Sets(
        np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32), 3, None, pa.array(["c", "b", "a"])
    )
    write_sets(sets, tmp_path / "o.dat")
    assert (tmp_path / "o.dat").read_text("utf-8") == "a c\nb\n"
    write_sets(sets, tmp_path / "o.mtx")
    assert (tmp_path / "o.mtx").read_text("utf-8").splitlines()[1:] == [
        "2 3 3",
        "1 1",
        "1 3",
        "2 2",
    ]
    assert (tmp_path / "o.mtx.items").read_text("utf-8") == "a\nb\nc\n"


@examples(80)
@given(
    st.lists(st.lists(st.sampled_from(["0", "7", "12", "007", "+7", "-3", "x", "0x1", "é",
                                       "2147483648", "99999999999999999999"]), max_size=4),
             min_size=1, max_size=6),
    st.integers(0, 20),
)  # fmt: skip
def test_names_are_numbered_whatever_comes_first(blocks, n_expected):
    coder = NameCoder(n_expected)
    for block in blocks:
        coder.add(pa.array(block, pa.string()))
    codes, names = coder.finish()
    entries = [name for block in blocks for name in block]
    assert [str(names[code].as_py()) for code in codes.tolist()] == entries
    assert len(names) == len(set(entries))


def test_where_names_stand_in_a_list():
    for kind in (pa.int64(), pa.string()):
        names = pa.array([5, 9, 2, 7], pa.int64()).cast(kind)
        assert find_names(names, pa.array([9, 5, 8, 2])).tolist() == [1, 0, 3, -1]
    assert find_names(pa.array([1]), pa.array([], pa.int64())).tolist() == [-1]


# ── real files ──────────────────────────────────────────────────────────────────────────────

REAL = {
    "transactions/groceries.dat.gz": ("bipartite", 9_835, 169, 43_367),
    "transactions/bms_webview1.dat.gz": ("bipartite", 59_602, 497, 149_639),
    "graphs/ca_condmat_lcc.txt.gz": ("undirected", 21_363, 21_363, 2 * 91_342 - 56),
    "graphs/cit_hepph_directed.txt.gz": ("directed", 34_546, 34_546, 421_578),
}


@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="INCROWD_DATA names no folder")
@pytest.mark.parametrize("name", REAL)
def test_real_files_have_the_sizes_that_were_published(name, tmp_path):
    graph, *sizes = REAL[name]
    found = read_set_file(Path(os.environ["INCROWD_DATA"]) / name, SetOptions(graph))
    assert [found.sets.n_rows, found.sets.n_items, found.sets.n_entries] == sizes
    ending = ".dat.gz" if ".dat" in name else ".txt.gz"
    written = write_sets(found.sets, tmp_path / f"o{ending}", found.format)
    again = read_sets(written[0], found.format.options(graph))
    assert (again.starts == found.sets.starts).all()
    assert (again.items == found.sets.items).all()
