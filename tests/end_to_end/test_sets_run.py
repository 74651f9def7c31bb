"""Lists, matrices and graphs from the command line, recounted in plain Python."""

import gzip
import random
from collections import Counter
from itertools import pairwise

import pytest


def lists_of(text):
    return [frozenset(line.split()) for line in text.splitlines()]


@pytest.fixture
def lists(desk):
    """Two hundred lists of some tastes, with empty ones and equal ones."""
    random.seed(3)
    tastes = [random.sample(range(60), 8) for _ in range(7)]
    lines = []
    for row in range(200):
        taste = tastes[row % 7]
        items = {item for item in taste if random.random() < 0.7}
        items |= {random.randrange(60)} if random.random() < 0.3 else set()
        lines.append(" ".join(str(item) for item in sorted(items)))
    lines[10] = lines[11] = ""
    (desk / "lists.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (desk / "private").mkdir()
    return desk


def run(desk, *flags, data="lists.dat", output="out.dat", key="private/key.csv"):
    return desk.call("run", data, *flags, "-o", output, "--key", key, "--json")


def original_rows(desk, key="private/key.csv"):
    lines = sorted(desk.rows(key), key=lambda line: int(line["released_row"]))
    return [int(line["original_row"]) - 1 for line in lines]


@pytest.mark.parametrize("guarantee", ["smooth", "majority", "suppression"])
def test_groups_and_votes_are_as_promised(lists, guarantee):
    finished = run(lists, "--guarantee", guarantee, "--k", "6", "--save-job", "job.toml")
    assert finished.status == 0, finished.err
    before = lists_of((lists / "lists.dat").read_text("utf-8"))
    after = lists_of((lists / "out.dat").read_text("utf-8"))
    rows = original_rows(lists)
    assert sorted(rows) == list(range(200))
    groups = Counter(after)
    assert min(groups.values()) >= 6
    kept = created = 0
    for shown, size in groups.items():
        people = [before[rows[place]] for place, other in enumerate(after) if other == shown]
        for item in shown:
            holders = sum(item in person for person in people)
            if guarantee == "smooth":
                assert 2 * holders >= size
            elif guarantee == "majority":
                assert 2 * holders >= 6
            else:
                assert holders == size
        kept += sum(len(shown & person) for person in people)
        created += sum(len(shown - person) for person in people)
    n_entries = sum(map(len, before))
    losses = finished.json["losses"]
    assert losses["jaccard"] == pytest.approx(kept / (n_entries + created))
    assert losses["created"] == pytest.approx(created / n_entries)
    assert losses["suppressed"] == pytest.approx(1 - kept / n_entries)
    # rows are in the order of their content: equal ones stand together
    assert sum(one != two for one, two in pairwise(after)) == (len(groups) - 1)
    first = (lists / "out.dat").read_bytes()
    again = lists.call(
        "run", "job.toml", "-o", "again.dat", "--key", "private/again.csv", "--threads", "1"
    )
    assert again.status == 0, again.err
    assert (lists / "again.dat").read_bytes() == first


def test_check_finds_what_was_broken(lists):
    assert run(lists, "--k", "6").status == 0  # a .dat file holds sets, and smooth is their default
    promise = ["--guarantee", "smooth", "--k", "6"]
    owner = ["--original", "lists.dat", "--key", "private/key.csv"]
    assert lists.call("check", "out.dat", *promise).status == 0
    assert lists.call("check", "out.dat", *promise, *owner).status == 0
    assert lists.call("check", "out.dat", "--guarantee", "smooth", "--k", "150").status == 1
    lines = (lists / "out.dat").read_text("utf-8").splitlines()
    groups = Counter(lines)
    largest = max(groups, key=lambda line: groups[line])
    # an item that fewer than half had, shown to a whole group
    foreign = next(str(item) for item in range(60) if str(item) not in largest.split())
    added = " ".join(sorted([*largest.split(), foreign], key=int))
    broken = [added if line == largest else line for line in lines]
    (lists / "added.dat").write_text("\n".join(broken) + "\n", encoding="utf-8")
    assert lists.call("check", "added.dat", *promise).status == 0  # a stranger cannot tell
    assert lists.call("check", "added.dat", *promise, *owner).status == 1
    # a group of one
    lines[lines.index(largest)] = added
    (lists / "alone.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lists.call("check", "alone.dat", *promise).status == 1


def test_formats_come_back_as_they_were(lists):
    lines = (lists / "lists.dat").read_text("utf-8").splitlines()
    edges = [f"u{row} i{item}" for row, line in enumerate(lines) for item in line.split()]
    with gzip.open(lists / "edges.txt.gz", "wt") as file:
        file.write("\n".join(edges) + "\n")
    flags = ["--guarantee", "suppression", "--k", "5", "--no-header"]
    finished = run(lists, *flags, data="edges.txt.gz", output="out.txt.gz")
    assert finished.status == 0, finished.err
    with gzip.open(lists / "out.txt.gz", "rt") as file:
        shown = [line.split() for line in file]
    assert not any(row.startswith("u") for row, _ in shown)  # people's names are gone
    assert all(item.startswith("i") for _, item in shown)
    named = (lists / "out.txt.gz.rows").read_text("utf-8").split()
    assert len(named) == len({edge.split()[0] for edge in edges})
    sizes = Counter(frozenset(item for name, item in shown if name == row) for row in named)
    assert min(sizes.values()) >= 5


@pytest.mark.parametrize("method", ["cluster", "facility", "mondrian"])
def test_each_person_their_own_k(lists, method):
    wishes = "row,k\n3,20\n77,9\n"
    (lists / "wishes.csv").write_text(wishes, encoding="utf-8")
    finished = run(lists, "--k", "4", "--row-k", "wishes.csv", "--method", method)
    assert finished.status == 0, finished.err
    after = lists_of((lists / "out.dat").read_text("utf-8"))
    groups, rows = Counter(after), original_rows(lists)
    assert groups[after[rows.index(3)]] >= 20
    assert groups[after[rows.index(77)]] >= 9
    (lists / "wishes.csv").write_text("row,k\n9999,20\n", encoding="utf-8")
    assert run(lists, "--k", "4", "--row-k", "wishes.csv", output="o2.dat").status == 2


def test_graphs_keep_their_nodes_and_say_so(lists):
    random.seed(9)
    edges = {tuple(sorted(random.sample(range(40), 2))) for _ in range(200)}
    text = "\n".join(f"{one} {two}" for one, two in sorted(edges)) + "\n"
    (lists / "graph.txt").write_text(text, encoding="utf-8")
    flags = ["--guarantee", "smooth", "--k", "4", "--graph", "undirected"]
    finished = run(lists, *flags, data="graph.txt", output="graph.out.txt")
    assert finished.status == 0, finished.err
    findings = {finding["name"]: finding for finding in finished.json["findings"]}
    assert any("identit" in finding["summary"] for finding in findings.values())
    owner = ["--original", "graph.txt", "--key", "private/key.csv"]
    assert lists.call("check", "graph.out.txt", *flags, *owner).status == 0
    kept = run(lists, *flags, "--keep-order", data="graph.txt", output="kept.txt",
               key="private/kept.csv")  # fmt: skip
    assert kept.status == 0, kept.err
    aligned = ["--original", "graph.txt", "--aligned"]
    assert lists.call("check", "kept.txt", *flags, *aligned).status == 0


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (["--guarantee", "smooth", "--k", "201"], 3),
        (["--guarantee", "smooth", "--k", "1"], 2),
        (["--guarantee", "smooth", "--k", "5", "--quasi", "age"], 2),
        (["--guarantee", "smooth", "--k", "5", "--method", "greedy"], 2),
        (["--guarantee", "smooth", "--k", "5", "--vote", "most"], 2),
        (["--guarantee", "smooth", "--k", "5", "--symmetrize", "both"], 2),
        (["--guarantee", "smooth", "--k", "5", "--chunk-rows", "3"], 2),
        (["--guarantee", "smooth"], 2),
    ],
)
def test_what_does_not_fit_is_refused(lists, flags, status):
    before = lists.files()
    finished = run(lists, *flags)
    assert finished.status == status, finished.err
    assert lists.files() == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.mtx", b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n2\n"),
        ("bad.npz", b"PK\x03\x04 not really"),
        ("bad.txt", b"justone\nagain\n"),
        ("huge.mtx", b"%%MatrixMarket matrix coordinate pattern general\n900000000000 3 1\n1 1\n"),
    ],
)
def test_bad_files_are_refused(lists, name, content):
    (lists / name).write_bytes(content)
    before = lists.files()
    finished = run(lists, "--guarantee", "smooth", "--k", "3", data=name, output="out" + name[-4:])
    assert finished.status == 2, finished.err
    assert lists.files() == before


def test_matrices_and_frames_in_python():
    import numpy as np
    import pandas as pd
    from scipy import sparse

    import incrowd as ic

    draw = np.random.default_rng(4)
    dense = (draw.random((80, 12)) < 0.3).astype(np.int8)
    matrix = sparse.csr_matrix(dense)
    release = ic.anonymize(matrix, ic.Job(guarantee=ic.Suppression(4)))
    shown = Counter(map(tuple, release.data.toarray().tolist()))
    assert min(shown.values()) >= 4
    assert release.audit.losses["created"] == 0
    rows, items = np.nonzero(dense)
    frame = pd.DataFrame({"who": [f"p{row}" for row in rows], "what": [f"t{x}" for x in items]})
    release = ic.anonymize(frame, ic.Job(guarantee=ic.Smooth(4)))
    assert list(release.data.columns) == ["who", "what"]
    assert not release.data["who"].astype(str).str.startswith("p").any()


@pytest.mark.parametrize(
    ("method", "guarantee"),
    [("facility", "smooth"), ("facility", "suppression"), ("mondrian", "suppression")],
)
def test_other_methods_keep_the_promise(lists, method, guarantee):
    finished = run(lists, "--guarantee", guarantee, "--k", "5", "--method", method)
    assert finished.status == 0, finished.err
    after = lists_of((lists / "out.dat").read_text("utf-8"))
    assert min(Counter(after).values()) >= 5


def test_noise_is_attested_and_never_checked(lists):
    (lists / "items.txt").write_text("\n".join(map(str, range(60))) + "\n", encoding="utf-8")
    flags = ["--guarantee", "edge-dp", "--epsilon", "3"]
    finished = run(lists, *flags, "--items", "items.txt", output="noisy.dat")
    assert finished.status == 0, finished.err
    assert "expected Jaccard" in finished.err
    assert finished.json["findings"][0]["holds"] is True
    again = run(lists, *flags, "--items", "items.txt", output="n2.dat", key="private/n2.csv")
    assert again.status == 0
    assert (lists / "noisy.dat").read_bytes() != (lists / "n2.dat").read_bytes()
    unlisted = run(lists, *flags, output="n3.dat", key="private/n3.csv")
    assert unlisted.status == 0, unlisted.err
    assert "not DP" in unlisted.json["findings"][0]["summary"]
    seeded = run(
        lists, *flags, "--items", "items.txt", "--insecure-noise-seed", "1", output="n4.dat",
        key="private/n4.csv",
    )  # fmt: skip
    assert seeded.status == 4
    checked = lists.call("check", "noisy.dat", *flags)
    assert checked.status == 2
    assert "mechanism" in checked.err


def test_symmetric_releases_are_audited_as_they_are(lists):
    """Cliques stay equal lists when edges go both ways; a ring's nodes do not, and are refused."""
    cliques = [
        f"{one} {two}"
        for start in range(0, 40, 8)
        for one in range(start, start + 8)
        for two in range(one + 1, start + 8)
    ]
    ring = [f"{node} {(node + 1) % 40}" for node in range(40)]
    for name, edges in (("cliques", cliques), ("ring", ring)):
        (lists / f"{name}.txt").write_text("\n".join(edges) + "\n", encoding="utf-8")
    flags = ["--guarantee", "smooth", "--k", "4", "--graph", "undirected", "--symmetrize", "either"]
    finished = run(lists, *flags, data="cliques.txt", output="sym.txt")
    assert finished.status == 0, finished.err
    shown = {tuple(line.split()) for line in (lists / "sym.txt").read_text("utf-8").splitlines()}
    assert {(two, one) for one, two in shown} == shown
    refused = run(lists, *flags, data="ring.txt", output="ring.out.txt", key="private/ring.csv")
    assert refused.status == 4, refused.out
    assert not (lists / "ring.out.txt").exists()


def test_a_folder_of_part_files_is_read_as_one_file(lists):
    lines = (lists / "lists.dat").read_text("utf-8").splitlines(keepends=True)
    (lists / "parts").mkdir()
    for part, start in enumerate(range(0, 200, 70)):
        text = "".join(lines[start : start + 70])
        (lists / "parts" / f"part-{part}.dat").write_text(text, "utf-8")
    (lists / "parts" / "_SUCCESS").write_text("", "utf-8")
    flags = ["--guarantee", "smooth", "--k", "6"]
    whole = run(lists, *flags)
    assert whole.status == 0, whole.err
    for name in ("parts", "parts/"):
        finished = run(lists, *flags, data=name, output="of-parts.dat", key="private/parts.csv")
        assert finished.status == 0, finished.err
        assert (lists / "of-parts.dat").read_bytes() == (lists / "out.dat").read_bytes()
        assert finished.json["input_sha256"] != whole.json["input_sha256"]
        (lists / "of-parts.dat").unlink()
        (lists / "private" / "parts.csv").unlink()
    owner = ["--original", "parts", "--key", "private/key.csv"]
    assert lists.call("check", "out.dat", *flags, *owner).status == 0
    assert lists.call("check", "parts", *flags).status == 1


@pytest.mark.parametrize("output", [None, "out/", "parts/out.dat"])
def test_a_release_of_sets_is_one_file_that_is_not_among_the_data(lists, output):
    (lists / "parts").mkdir()
    (lists / "parts" / "a.dat").write_bytes((lists / "lists.dat").read_bytes())
    before = lists.files()
    flags = ["--guarantee", "smooth", "--k", "6", *(["-o", output] if output else [])]
    refused = lists.call("run", "parts", *flags)
    assert refused.status == 2
    assert ("one file" if output != "parts/out.dat" else "among the data") in refused.err
    assert lists.files() == before
