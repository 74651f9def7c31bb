"""Data sets of the benchmark's shape, generated: a folder as INCROWD_DATA names one."""

import csv
import gzip
import random

import pytest

from incrowd.bench.datasets import ADULT_NINE, CUP98_EIGHT

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
    people = [[f"{32000 + 3 * place}", draw.randint(50, 40_000)] for place in range(200)]
    lines = [["zip", "population"], *people]
    write_lines(folder / "voters/florida_zip_population.csv", lines, ",")
    return folder
