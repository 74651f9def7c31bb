"""Numbers without a hierarchy, from the command line: ranges that hold, and a proof that bites."""

import csv
from collections import Counter

import numpy as np

from oracles import ranges as oracle


def test_ranges_are_released_true_and_a_false_one_is_refused(desk):
    random = np.random.default_rng(3)
    rows = [
        (str(age), f"{pay:.2f}")
        for age, pay in zip(random.integers(18, 95, 300), random.lognormal(3, 1, 300), strict=True)
    ]
    with (desk / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "pay"), *rows])
    (desk / "private").mkdir(exist_ok=True)
    quasi = ("--k", 4, "--quasi", "age,pay")
    made = desk.call(
        "run", "people.csv", *quasi, "--method", "cluster", "--metric", "ncp", "--effort", 3000,
        "-o", "out.csv", "--key", "private/key.csv", "--json",
    )  # fmt: skip
    assert made.status == 0, made.err
    with (desk / "out.csv").open(newline="") as file:
        released = [tuple(row.values()) for row in csv.DictReader(file)]
    assert min(Counter(released).values()) >= 4
    with (desk / "private/key.csv").open(newline="") as file:
        key = [list(map(int, line)) for line in list(csv.reader(file))[1:]]
    for place, original in key:
        for label, text in zip(released[place - 1], rows[original - 1], strict=True):
            assert oracle.holds(label, text)
    check = ("check", "out.csv", *quasi, "--original", "people.csv", "--key", "private/key.csv")
    assert desk.call(*check).status == 0
    # a range of another group in a whole group: large enough, but not true
    shown = next(row[0] for row in released if oracle.edges(row[0]))
    wrong = next(row for row in released if not oracle.holds(shown, row[0]) and row[0].isdigit())
    broken = [(shown, row[1]) if row == wrong else row for row in released]
    with (desk / "out.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "pay"), *broken])
    refused = desk.call(*check, "--json")
    assert refused.status == 1
    assert refused.json["findings"][0]["name"] == "key"
