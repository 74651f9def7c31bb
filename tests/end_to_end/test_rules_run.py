"""Transactions, rules and kᵐ from the command line, recounted in plain Python."""

import gzip
import os
import random
import re
from itertools import combinations
from pathlib import Path

import pytest

TABLE_1 = "b c e g h\na c d i j\na f l\nb e g h\nd f l\n"
TABLE_2 = (
    "(a,b,f) (c,d,e) g h\n(a,b,f) (c,d,e) i j\n(a,b,f) l\n(a,b,f) (c,d,e) g h\n(c,d,e) (a,b,f) l\n"
)
PROMISE = ["--k", "3", "--confidence", "0.6", "--rules", "rules.txt"]
SENSITIVE = ["--sensitive-items", "g,h,i,j,l"]


def transactions_of(text):
    """The released transactions: each a list of sets of items."""
    parts = re.compile(r"\(([^)]*)\)|(\S+)")
    return [
        [frozenset((several or alone).split(",")) for several, alone in parts.findall(line)]
        for line in text.splitlines()
    ]


@pytest.fixture
def visits(desk):
    """The paper's Tables 1 and 2, and its rule."""
    (desk / "visits.dat").write_text(TABLE_1, encoding="utf-8")
    (desk / "table2.dat").write_text(TABLE_2, encoding="utf-8")
    (desk / "rules.txt").write_text("a c -> h\n", encoding="utf-8")
    return desk


@pytest.fixture
def shop(desk):
    """Four hundred baskets of thirty items, of which the last four are sensitive."""
    random.seed(5)
    lines = []
    for _ in range(400):
        items = {min(25, int(random.expovariate(0.15))) for _ in range(random.randint(1, 6))}
        items |= {random.randrange(26, 30)} if random.random() < 0.3 else set()
        lines.append(" ".join(str(item) for item in sorted(items)))
    (desk / "shop.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rules = [
        f"{' '.join(map(str, sorted(random.sample(range(26), 2))))} -> {random.randrange(26, 30)}"
        for _ in range(60)
    ]
    (desk / "rules.txt").write_text("\n".join(dict.fromkeys(rules)) + "\n", encoding="utf-8")
    (desk / "private").mkdir()
    return desk


def test_the_papers_tables(visits):
    check = ["--guarantee", "rules", *PROMISE, *SENSITIVE, "--json"]
    published = visits.call("check", "table2.dat", *check)
    assert published.status == 0, published.err
    found = next(f for f in published.json["findings"] if "least_support" in f["figures"])
    assert found["figures"]["least_support"] == 4
    assert found["figures"]["worst_confidence"] == pytest.approx(0.5)
    assert visits.call("check", "visits.dat", *check).status == 1


def test_rules_are_kept_as_promised(shop):
    finished = shop.call(
        "run", "shop.dat", "--k", "5", "--confidence", "0.5", "--rules", "rules.txt",
        "--sensitive-items", "26,27,28,29", "-o", "out.dat", "--key", "private/key.csv", "--json",
        "--save-job", "job.toml",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    assert finished.json["guarantee"]["name"] == "rules"  # implied by the rules
    after = transactions_of((shop / "out.dat").read_text("utf-8"))
    parts = {part for transaction in after for part in transaction}
    part_of = {item: part for part in parts for item in part}
    assert sum(len(part) for part in parts) == len(part_of)  # parts do not overlap
    assert all(part_of[str(item)] == {str(item)} for item in range(26, 30))
    for line in (shop / "rules.txt").read_text("utf-8").splitlines():
        public, sensitive = (side.split() for side in line.split("->"))
        known = [t for t in after if all(part_of[item] in t for item in public)]
        told = [t for t in known if all(part_of[item] in t for item in sensitive)]
        assert len(known) >= 5
        assert len(told) <= 0.5 * len(known)
    before = [line.split() for line in (shop / "shop.dat").read_text("utf-8").splitlines()]
    rows = {
        int(line["released_row"]): int(line["original_row"])
        for line in shop.rows("private/key.csv")
    }
    for place, transaction in enumerate(after, 1):
        had = before[rows[place] - 1]
        assert set(transaction) == {part_of[item] for item in had}
    mapping = {line["item"]: line["released"] for line in shop.rows("out.dat.mapping.csv")}
    assert mapping.keys() == part_of.keys()
    again = shop.call(
        "run", "job.toml", "-o", "again.dat", "--key", "private/2.csv", "--threads", "1"
    )
    assert again.status == 0, again.err
    assert (shop / "again.dat").read_bytes() == (shop / "out.dat").read_bytes()
    owner = ["--original", "shop.dat", "--key", "private/key.csv"]
    assert shop.call("check", "out.dat", "--job", "job.toml", *owner).status == 0


@pytest.mark.parametrize("m", [1, 2, 3])
def test_km_is_kept_as_promised(shop, m):
    finished = shop.call("run", "shop.dat", "--k", "6", "--m", str(m), "-o", "out.dat", "--json")
    assert finished.status == 0, finished.err
    assert finished.json["guarantee"]["name"] == "km"
    after = transactions_of((shop / "out.dat").read_text("utf-8"))
    counts = {}
    for transaction in after:
        for size in range(1, m + 1):
            for some in combinations(sorted(transaction, key=sorted), size):
                counts[some] = counts.get(some, 0) + 1
    assert min(counts.values()) >= 6
    assert shop.call("check", "out.dat", "--guarantee", "km", "--k", "6", "--m", str(m)).status == 0
    lines = (shop / "out.dat").read_text("utf-8").splitlines()
    rare = min((line for line in lines if line), key=lines.count)
    (shop / "less.dat").write_text(
        "\n".join(line for line in lines if not set(rare.split()) <= set(line.split())) + "\n"
        + rare + "\n",
        encoding="utf-8",
    )  # fmt: skip
    found = shop.call("check", "less.dat", "--guarantee", "km", "--k", "6", "--m", str(m))
    assert found.status in ((0, 1) if m < len(rare.split()) else (1,))


@pytest.mark.parametrize(
    ("files", "flags", "says"),
    [
        ({"rules.txt": "a zz -> h\n"}, [], "none of the data's"),
        ({"rules.txt": "a g -> h\n"}, [], "sensitive"),
        ({"rules.txt": "a -> b\n"}, [], "public"),
        ({"rules.txt": "-> h\n"}, [], "no public item"),
        ({"rules.txt": "a h\n"}, [], "->"),
        ({}, ["--confidence", "1.2"], "confidence"),
        ({}, ["--sensitive-items", "g,zz"], "none of the data's"),
        ({}, ["--alpha", "none"], "alpha"),
        ({}, ["--gamma", "0"], "gamma"),
        ({}, ["--mine-rules", "2"], "exactly one source"),
        ({}, ["--graph", "directed"], "graph"),
        ({"weights.csv": "item,weight\na,-1\n"}, ["--weights", "weights.csv"], "weight"),
    ],
)
def test_bad_input_is_refused(visits, files, flags, says):
    for name, text in files.items():
        (visits / name).write_text(text, encoding="utf-8")
    stated = [*PROMISE, *([] if "--sensitive-items" in flags else SENSITIVE)]
    before = sorted(path.name for path in visits.folder.iterdir())
    finished = visits.call("run", "visits.dat", *stated, *flags)
    assert finished.status == 2, finished
    assert says in finished.err
    assert sorted(path.name for path in visits.folder.iterdir()) == before


def test_rules_that_nothing_can_protect_are_infeasible(visits):
    finished = visits.call(
        "run", "visits.dat", "--k", "6", "--confidence", "0.6", "--rules", "rules.txt", *SENSITIVE
    )
    assert finished.status == 3
    assert "5" in finished.err  # the largest k that would do
    finished = visits.call(
        "run", "visits.dat", "--k", "3", "--confidence", "0.1", "--rules", "rules.txt", *SENSITIVE
    )
    assert finished.status == 3
    assert "0.4" in finished.err  # two of five transactions hold h
    assert "rule 1" in finished.err
    assert not (visits / "visits.release.dat").exists()


def test_mined_rules_are_protected_and_saved_for_the_owner(shop):
    finished = shop.call(
        "run", "shop.dat", "--k", "4", "--confidence", "0.6", "--mine-rules", "2",
        "--sensitive-items", "26,27,28,29", "-o", "out.dat", "--save-rules", "private/mined.txt",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    mined = Path(shop / "private/mined.txt")
    assert mined.stat().st_mode & 0o777 == 0o600
    assert mined.read_text("utf-8").count("->") > 5
    promise = ["--guarantee", "rules", "--k", "4", "--confidence", "0.6", "--rules", str(mined)]
    assert shop.call("check", "out.dat", *promise).status == 0
    assert shop.call("check", "shop.dat", *promise).status == 1


@pytest.mark.parametrize("target", ["shop.dat", "rules.txt", "old.txt"])
def test_saved_rules_overwrite_nothing(shop, target):
    (shop / "old.txt").write_text("1 -> 26\n", encoding="utf-8")
    before = shop.files()
    force = [] if target == "old.txt" else ["--force"]
    finished = shop.call(
        "run", "shop.dat", "--k", "4", "--confidence", "0.6", "--rules", "rules.txt",
        "--sensitive-items", "26,27,28,29", "-o", "out.dat", "--save-rules", target, *force,
    )  # fmt: skip
    assert finished.status == 2
    assert shop.files() == before


FILES = ["bms_webview1", "groceries", "kosarak70k", "msweb", "retail", "t10i4d100k"]


@pytest.mark.slow
@pytest.mark.skipif("INCROWD_DATA" not in os.environ, reason="INCROWD_DATA is not set")
@pytest.mark.parametrize("name", FILES)
def test_real_transactions(desk, name):
    source = Path(os.environ["INCROWD_DATA"]) / "transactions" / f"{name}.dat.gz"
    finished = desk.call(
        "run", str(source), "--k", "5", "--confidence", "0.9", "--generate-rules", "1000",
        "--sensitive-items", "share:0.1", "--improve", "quick", "-o", "out.dat.gz", "--json",
        "--save-rules", "rules.txt",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    assert finished.json["holds"]
    with gzip.open(desk / "out.dat.gz", "rt") as released, gzip.open(source, "rt") as original:
        assert sum(1 for _ in released) == sum(1 for _ in original)


ROUNDS = ["--k", "5", "--confidence", "0.5", "--rules", "rules.txt", "--rounds", "engine"]
ROUNDS += ["--sensitive-items", "26,27,28,29", "--json"]


@pytest.mark.spark
def test_rounds_on_spark_publish_the_same_bytes(shop, spark_engine):  # noqa: ARG001
    alone = ["--rounds", "driver", "--improve", "none"]
    runs = {"local": [], "driver": alone, "spark": ["--engine", "spark"]}
    audits = {}
    for name, more in runs.items():
        ran = shop.call("run", "shop.dat", *ROUNDS, *more, "-o", f"{name}.dat")
        assert ran.status == 0, ran.err
        audits[name] = ran.json
    released = {name: (shop / f"{name}.dat").read_bytes() for name in runs}
    assert released["spark"] == released["local"] == released["driver"]
    assert b"(" in released["local"]
    assert audits["spark"]["engine"]["name"] == "spark"
    figures = {name: audit["method"]["parameters"] for name, audit in audits.items()}
    assert figures["spark"]["n_rounds"] == figures["local"]["n_rounds"] > 1
    assert "n_rounds" not in figures["driver"]


def test_rounds_are_for_rules_alone(shop):
    refused = shop.call("run", "shop.dat", "--k", "5", "--m", "2", "--rounds", "engine")
    assert refused.status == 2
    assert "rounds" in refused.err
    assert not (shop / "shop.release.dat").exists()
