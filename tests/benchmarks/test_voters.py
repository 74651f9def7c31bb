"""The generated voter list: its shape, its skew, the same rows for the same seed."""

import hashlib
import random
from collections import Counter

import numpy as np
import pytest

from benchmarks.greedy import data as voters
from incrowd.errors import DataError

PEOPLE = {f"{32000 + 3 * place}": random.Random(place).randint(60, 50_000) for place in range(300)}


def test_shape_of_the_papers_list():
    rows = voters.voters(20_000, PEOPLE)
    assert [tree.n_leaves for tree in rows.hierarchies] == [1_026, 2, 8, 109, 10]
    # levels of the paper's Table III count the values
    heights = [int(tree.height[tree.root]) + 1 for tree in rows.hierarchies]
    assert heights == [4, 2, 2, 5, 2]
    for tree, nodes in zip(rows.hierarchies, rows.nodes, strict=True):
        assert 0 <= nodes.min() <= nodes.max() < tree.n_leaves


def test_the_same_rows_everywhere():
    rows = voters.voters(500, PEOPLE, seed=3)
    again = voters.voters(500, PEOPLE, seed=3)
    other = voters.voters(500, PEOPLE, seed=4)
    assert np.array_equal(rows.nodes, again.nodes)
    assert not np.array_equal(rows.nodes, other.nodes)
    assert hashlib.sha256(rows.nodes.tobytes()).hexdigest()[:12] == "b2db44a01e97"


def test_most_rows_are_from_covered_places():
    rows = voters.voters(20_000, PEOPLE, n_covered=20)
    labels = rows.hierarchies[0].labels
    covered = sorted(PEOPLE, key=lambda code: -PEOPLE[code])[:20]
    n_covered = sum(labels[node] in covered for node in rows.nodes[0].tolist())
    assert 0.94 < n_covered / 20_000 < 0.98
    everywhere = voters.voters(20_000, PEOPLE, n_covered=1_026)
    assert len(set(everywhere.nodes[0].tolist())) > len(set(rows.nodes[0].tolist()))


def test_more_codes_with_few_people():
    codes = voters.extend_codes(PEOPLE)
    assert len(codes) == 1_026
    assert PEOPLE.items() <= codes.items()
    few = {people for code, people in codes.items() if code not in PEOPLE}
    assert few == {sorted(PEOPLE.values())[30]}


def test_as_a_table_of_texts():
    rows = voters.voters(300, PEOPLE)
    table = voters.as_table(rows)
    assert table.column_names == list(voters.COLUMNS)
    counts = Counter(table.column("party").to_pylist())
    assert counts == Counter(voters.PARTIES[node] for node in rows.nodes[4].tolist())


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "zip,population\n32000,many\n"])
def test_no_table_of_populations(tmp_path, text):
    path = tmp_path / "people.csv"
    path.write_text(text)
    if not text:
        path.unlink()
    with pytest.raises(DataError):
        voters.zip_population(path)
