"""Sets under a bound on memory: the same bytes with entries on disk, and nothing left behind."""

import random
import signal

import pyarrow as pa
import pytest
from pyarrow import parquet

from command_line import python
from incrowd.sets.sets import EntryStorage

BOUND = "1.2MB"
"""Enough for what 2,500 rows need, and too little for their entries."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same 2,500 lists as baskets, edges, pairs and lists, and a graph."""
    folder = tmp_path_factory.mktemp("sets")
    random.seed(8)
    tastes = [random.sample(range(200), 14) for _ in range(40)]
    rows = []
    for row in range(2_500):
        some = {item for item in tastes[row % 40] if random.random() < 0.7}
        rows.append(sorted(some | {random.randrange(200)}))
    rows[5] = []
    lines = [" ".join(f"i{item}" for item in row) for row in rows]
    (folder / "baskets.dat").write_text("\n".join(lines) + "\n", "utf-8")
    entries = [(f"u{row}", f"i{item}") for row, items in enumerate(rows) for item in items]
    random.shuffle(entries)
    text = "".join(f"{row} {item}\n" for row, item in entries)
    (folder / "edges.txt").write_text(text, "utf-8")
    columns = dict(zip(("row", "item"), map(list, zip(*entries, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), folder / "pairs.parquet")
    lists = [[f"i{item}" for item in row] for row in rows]
    parquet.write_table(pa.table({"items": lists}), folder / "lists.parquet")
    edges = {tuple(random.sample(range(900), 2)) for _ in range(24_000)}
    (folder / "graph.txt").write_text("".join(f"{a} {b}\n" for a, b in edges), "utf-8")
    return folder


@pytest.fixture
def storages(monkeypatch):
    """The storages of the runs that a test makes."""
    made = []
    begin = EntryStorage.__init__

    def remembered(self, *arguments):
        begin(self, *arguments)
        made.append(self)

    monkeypatch.setattr(EntryStorage, "__init__", remembered)
    return made


FACILITY = ["--method", "facility", "--orders", "2"]


def release(desk, data, name, *flags):
    effort = [] if "facility" in flags else ["--effort", "2"]
    flags = ["--guarantee", "smooth", "--k", "6", *effort, *flags]
    finished = desk.call("run", data, *flags, "-o", name, "--force")
    assert finished.status == 0, finished.err
    return {
        path.name.removeprefix(name): path.read_bytes() for path in desk.folder.glob(f"{name}*")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("baskets.dat", ["--chunk-rows", "1000"]),
        ("baskets.dat", ["--chunk-rows", "1000", *FACILITY]),
        ("edges.txt", ["--no-header"]),
        ("pairs.parquet", []),
        ("lists.parquet", ["--chunk-rows", "1000"]),
        ("lists.parquet", ["--keep-order"]),
        ("graph.txt", ["--graph", "directed"]),
        ("graph.txt", ["--graph", "undirected"]),
    ],
)
def test_releases_are_the_same_bytes_on_disk(desk, files, storages, name, flags):
    data, output = files / name, f"out.{name.rsplit('.')[-1]}"
    expected = release(desk, data, output, *flags)
    assert [storage.is_on_disk for storage in storages] == [False]
    for threads in ("1", "2"):
        assert release(desk, data, output, *flags, "--memory", BOUND, "--threads", threads) == (
            expected
        )
    assert [storage.is_on_disk for storage in storages] == [False, True, True]
    assert not list(desk.folder.glob(".incrowd-*"))


def test_items_that_are_listed_are_the_same_on_disk(desk, files, storages):
    listed = [f"i{item}" for item in reversed(range(230))]
    (desk / "items.txt").write_text("\n".join(listed) + "\n", "utf-8")
    flags = ["--items", "items.txt"]
    expected = release(desk, files / "baskets.dat", "out.dat", *flags)
    assert release(desk, files / "baskets.dat", "out.dat", *flags, "--memory", BOUND) == expected
    assert storages[-1].is_on_disk


def test_a_bound_below_what_rows_need_names_the_least(desk):
    items = [row % 7 for row in range(9_000)]
    (desk / "many.dat").write_text("".join(f"{item}\n" for item in items), "utf-8")
    pairs = "".join(f"u{row} i{item}\n" for row, item in enumerate(items))
    (desk / "many.txt").write_text(pairs, "utf-8")
    parquet.write_table(pa.table({"row": range(9_000), "item": items}), desk / "many.parquet")
    for name in ("many.dat", "many.txt", "many.parquet"):
        flags = ["--guarantee", "smooth", "--k", "6", "--no-header", "-o", f"out.{name}"]
        before = desk.files()
        refused = desk.call("run", name, *flags, "--memory", "1MB")
        assert refused.status == 2
        assert "9,000 rows" in refused.err
        assert desk.files() == before
        least = refused.err.rsplit("--memory ", 1)[1].split(",")[0]
        assert least.endswith("MB")
        finished = desk.call("run", name, *flags, "--memory", least)
        assert finished.status == 0, finished.err


def checked(desk, *arguments):
    finished = desk.call("check", *arguments, "--json")
    assert finished.status in (0, 1), finished.err
    measured = ("seconds", "peak_memory_bytes")
    return finished.status, {
        name: value for name, value in finished.json.items() if name not in measured
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "graph"),
    [("baskets.dat", "bipartite"), ("lists.parquet", "bipartite"), ("graph.txt", "directed")],
)
@pytest.mark.parametrize("k", ["6", "400"])
def test_checks_say_the_same_on_disk(desk, files, storages, name, graph, k):
    output = f"out.{name.rsplit('.')[-1]}"
    flags = ["--graph", graph]
    (desk / "private").mkdir()
    release(desk, files / name, output, *flags, "--key", desk / "private" / "key.csv")
    owner = ["--original", files / name, "--key", desk / "private" / "key.csv"]
    asked = [desk / output, "--guarantee", "smooth", "--k", k, *flags, *owner]
    before = desk.files()
    del storages[:]
    expected = checked(desk, *asked)
    assert expected[0] == (0 if k == "6" else 1)
    assert [storage.is_on_disk for storage in storages] == [False]
    assert checked(desk, *asked, "--memory", BOUND) == expected
    assert [storage.is_on_disk for storage in storages] == [False, True]
    assert desk.files() == before


def test_a_method_that_works_in_memory_says_how_much(desk, files):
    flags = ["--guarantee", "suppression", "--k", "6", "--method", "mondrian"]
    before = desk.files()
    data = files / "baskets.dat"
    refused = desk.call("run", data, *flags, "-o", "out.dat", "--memory", BOUND)
    assert refused.status == 2
    assert "all entries in memory" in refused.err
    assert desk.files() == before
    least = refused.err.rsplit("--memory ", 1)[1].split(",")[0]
    assert desk.call("run", data, *flags, "-o", "out.dat", "--memory", least).status == 0


DRIVER = """
import os, signal, sys
from incrowd.cli import run_with_status
from incrowd.sets.sets import EntryStorage

die_at, seen = int(sys.argv[1]), 0
array = EntryStorage.array

def counted(self, length, dtype):
    # each array on disk is one possible moment of death, when it is there
    global seen
    made = array(self, length, dtype)
    seen += self.is_on_disk
    if seen == die_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return made

EntryStorage.array = counted
status = run_with_status(sys.argv[2:])
print("moments", seen, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.slow
def test_killed_with_entries_on_disk(desk, files):
    flags = ["--guarantee", "smooth", "--k", "6", "--no-header", "--memory", BOUND, "--effort", "1"]

    def die(moment):
        words = ["run", files / "edges.txt", *flags, "-o", "out.txt"]
        return python("-c", DRIVER, moment, *words, folder=desk.folder)

    whole = die(-1)
    assert whole.status == 0, whole.err
    n_moments = int(whole.err.rsplit("moments", 1)[1])
    assert n_moments >= 3  # what was read, what is shown, what is released
    (desk / "out.txt").unlink()
    (desk / "out.txt.rows").unlink()
    before = desk.files()
    for moment in (1, n_moments):
        assert die(moment).status == -signal.SIGKILL
        assert not (desk / "out.txt").exists()
        left = [path for path in desk.folder.rglob(".incrowd-*/*") if path.is_file()]
        assert all(path.name.startswith("release") for path in left)  # no entries lie about
    finished = desk.call("run", files / "edges.txt", *flags, "-o", "out.txt")
    assert finished.status == 0, finished.err
    assert set(desk.files()) == {*before, "out.txt", "out.txt.rows"}


@pytest.mark.slow
def test_no_room_for_entries(desk, files):
    program = (
        "import resource, signal, sys\n"
        "from incrowd.cli import run_with_status\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.exit(run_with_status(sys.argv[1:]))"
    )
    before = desk.files()
    for name in ("baskets.dat", "pairs.parquet"):
        flags = ["--guarantee", "smooth", "--k", "6", "--memory", BOUND]
        words = ["run", files / name, *flags, "-o", f"out.{name}"]
        env = {"NUMBA_DISABLE_JIT": "1"}
        finished = python("-c", program, *words, folder=desk.folder, env=env)
        assert finished.status == 2, finished.err
        assert "no room" in finished.err
        assert desk.files() == before
