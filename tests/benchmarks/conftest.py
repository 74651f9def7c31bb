"""Data sets of the benchmark's shape, generated: a folder as INCROWD_DATA names one."""

import csv
import gzip
import json
import random
from importlib import import_module

import pytest

from benchmarks.adaptive.data import (
    ADULT,
    CATEGORICAL,
    HAND_NAMES,
    NETWORK_COLUMNS,
    NETWORKS,
    POKER,
)
from benchmarks.greedy.data import ADULT_NINE, CUP98_EIGHT
from benchmarks.sets.data import BASKETS, GRAPHS, PLAYSTORE
from benchmarks.shared import processes

GROUPED = {
    "marital-status": {"alone": ["single", "widowed"], "with": ["married", "partnered"]},
    "education": {"school": ["s1", "s2", "s3"], "beyond": ["b1", "b2"]},
    "native-country": {"north": ["n1", "n2"], "south": ["t1"]},
    "workclass": {"public": ["p1", "p2"], "private": ["q1"]},
    "occupation": {"hand": ["h1", "h2"], "head": ["d1", "d2", "d3"]},
}
FLAT = {"sex": ["F", "M"], "race": ["r1", "r2", "r3"], "salary-class": ["<", ">"]}
CUP98 = {name: [f"{name}{value}" for value in range(4)] for name in CUP98_EIGHT}


def write_lines(path, lines, delimiter, opened=open):
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(lines)


def write_adaptive(folder, draw):
    """Write what the workload adaptive reads: Adult as published, networks, hands of cards."""
    columns = {name: [f"{name}-{value}" for value in range(3)] for name in CATEGORICAL}
    columns = {"age": [str(age) for age in range(17, 91)], **columns, "salary-class": ["<", ">"]}
    rows = [[draw.choice(values) for values in columns.values()] for _ in range(200)]
    write_lines(folder / ADULT, [list(columns), *rows], ",", gzip.open)
    names = ["id", *NETWORK_COLUMNS, "high_school"]
    for network in NETWORKS.values():
        rows = [[row, *(draw.randint(0, 3) for _ in names[1:])] for row in range(80)]
        path = folder / f"facebook100/{network}_nodes.csv.gz"
        write_lines(path, [names, *rows], ",", gzip.open)
    for path, n_rows in zip(POKER, (60, 90), strict=True):
        rows = [
            [*(draw.randint(1, most) for most in (4, 13) * 5), draw.randint(0, 9)]
            for _ in range(n_rows)
        ]
        write_lines(folder / path, [HAND_NAMES, *rows], ",", gzip.open)


def write_sets(folder, draw):
    """Write what the workload sets reads besides Adult: graphs, baskets and apps."""
    for path, _ in GRAPHS.values():
        edges = {(draw.randrange(90), draw.randrange(90)) for _ in range(500)}
        write_lines(folder / path, sorted(edges), " ", gzip.open)
    for path in BASKETS.values():
        baskets = [sorted(draw.sample(range(30), draw.randint(1, 6))) for _ in range(150)]
        write_lines(folder / path, baskets, " ", gzip.open)
    columns = {
        "App": ["an app"],
        "Category": ["GAME", "TOOLS"],
        "Rating": ["4.1", "4.2", "NaN"],
        "Reviews": ["3", "159", "87510"],
        "Size": ["19M", "201k", "Varies with device"],
        "Installs": ["10,000+", "500+"],
        "Type": ["Free", "Paid"],
        "Price": ["0"],
        "Content Rating": ["Everyone", "Teen"],
        "Genres": ["Art;Play", "Tools"],
        "Last Updated": ["January 7, 2018", "August 1, 2017"],
        "Current Ver": ["1.0"],
        "Android Ver": ["4.0 and up", "Varies with device"],
    }
    rows = [[draw.choice(values) for values in columns.values()] for _ in range(150)]
    write_lines(folder / PLAYSTORE, [list(columns), *rows], ",", gzip.open)


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(5)
    ages = [[str(age), f"{age // 10}x", "*"] for age in range(1, 101)]
    write_lines(folder / "adult/hierarchies_arx/age.csv", ages, ";")
    values = {"age": [str(age) for age in range(17, 91)]}
    for name, groups in GROUPED.items():
        lines = [[value, group, "*"] for group, some in groups.items() for value in some]
        write_lines(folder / f"adult/hierarchies_arx/{name}.csv", lines, ";")
        values[name] = [line[0] for line in lines]
    for name, some in FLAT.items():
        write_lines(folder / f"adult/hierarchies_arx/{name}.csv", [[v, "*"] for v in some], ";")
        values[name] = some
    rows = [[draw.choice(values[name]) for name in ADULT_NINE] for _ in range(300)]
    write_lines(folder / "adult/adult_30162_qi9.csv.gz", [ADULT_NINE, *rows], ",", gzip.open)
    for name, some in CUP98.items():
        write_lines(folder / f"cup98/hierarchies/{name}.csv", [[v, "*"] for v in some], ";")
    rows = [[draw.choice(CUP98[name]) for name in CUP98_EIGHT] for _ in range(200)]
    write_lines(folder / "cup98/cup98.csv.gz", [CUP98_EIGHT, *rows], ",", gzip.open)
    write_adaptive(folder, draw)
    write_sets(folder, draw)
    people = [[f"{32000 + 3 * place}", draw.randint(50, 40_000)] for place in range(200)]
    lines = [["zip", "population"], *people]
    write_lines(folder / "voters/florida_zip_population.csv", lines, ",")
    return folder


@pytest.fixture
def in_this_process(monkeypatch, tmp_path):
    """Cases run here instead of in processes of their own: the same figures, sooner."""

    def measure_cases(module, stated, cases, folder):
        measurement = import_module(module)
        data = measurement.load(json.loads(json.dumps(stated)), folder)
        for results in processes.measure_loaded(measurement, data, cases, tmp_path):
            yield json.loads(json.dumps(results))

    def call_apart(module, *words, **_):
        return json.loads(json.dumps(import_module(module).main(*words)))

    def run_forked(task):
        return json.loads(json.dumps(task()))

    def measure_forked(task):
        return {**run_forked(task), "peak_memory_bytes": 9 << 20, "cpu_seconds": 1.0}

    monkeypatch.setattr(processes, "measure_cases", measure_cases)
    for name in ("greedy", "adaptive", "rules", "sets"):
        runs = import_module(f"benchmarks.{name}.runs")
        monkeypatch.setattr(runs, "measure_forked", measure_forked)
        monkeypatch.setattr(runs, "run_forked", run_forked, raising=False)
    for name in ("adaptive.nearest", "sets.neighbours"):
        monkeypatch.setattr(f"benchmarks.{name}.call_apart", call_apart)
    monkeypatch.setattr("benchmarks.rules.plain.measure_forked", measure_forked)
