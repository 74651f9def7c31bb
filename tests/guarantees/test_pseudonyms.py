"""The check of pseudonyms: distinct, of one form, and without anything of the original."""

import random

import numpy as np
import pyarrow as pa
import pytest

from incrowd.guarantees.tables.pseudonyms import ALPHABET, LENGTH, check_pseudonyms


def drawn(n_rows, seed=3):
    rng = random.Random(seed)
    return ["".join(rng.choice(ALPHABET) for _ in range(LENGTH)) for _ in range(n_rows)]


def check(texts, original=None, **more):
    column = pa.chunked_array([pa.array(texts, pa.string())])
    return check_pseudonyms(column, original, **more)


def people(n_rows=300):
    rng = random.Random(5)
    ages = [str(rng.randrange(20, 90)) for _ in range(n_rows)]
    return pa.table({"age": ages, "name": [f"n{number:05}" for number in range(n_rows)]})


ROWS = np.random.default_rng(8).permutation(300)
"""``original_row`` of a release in another order."""


def test_random_strings_hold():
    found = check(drawn(300), people(), original_row=ROWS)
    assert found.holds
    assert found.figures["largest_deviation"] < 4
    assert not found.is_public
    assert check(drawn(300)).is_public
    assert check([]).holds


@pytest.mark.parametrize("wrong", ["id-00017", "", None, "a" * LENGTH, "bcd"])
def test_another_form_is_refused(wrong):
    texts = drawn(50)
    texts[17] = wrong
    found = check(texts)
    assert found.holds is False
    assert found.figures["n_malformed"] == 1
    assert found.exposed_rows == (18,)


def test_repeated_ones_are_refused():
    texts = drawn(50)
    texts[4] = texts[40]
    found = check(texts)
    assert found.holds is False
    assert found.figures["n_repeated"] == 2
    assert found.exposed_rows == (5, 41)


def test_a_cell_of_the_original_is_refused():
    texts = drawn(300)
    original = people().append_column("key", pa.array([texts[9]] + ["x"] * 299))
    found = check(texts, original, original_row=ROWS)
    assert found.holds is False
    assert found.figures["n_in_original"] == 1


@pytest.mark.parametrize("by", ["order", "age"])
def test_an_order_that_follows_the_original_is_refused(by):
    original = people()
    if by == "order":
        sign = ROWS
    else:
        sign = np.array([int(age) for age in original["age"].to_pylist()])[ROWS]
    texts = [""] * 300
    for text, row in zip(sorted(drawn(300)), np.argsort(sign, kind="stable"), strict=True):
        texts[row] = text
    found = check(texts, original, original_row=ROWS)
    assert found.holds is False
    assert found.figures["n_repeated"] == found.figures["n_malformed"] == 0
    assert ("order of rows" if by == "order" else "'age'") in found.summary


def test_the_key_states_the_same():
    texts = drawn(20)
    stated = pa.chunked_array([pa.array(texts)])
    assert check(texts, in_key=stated).holds
    found = check([texts[1], texts[0], *texts[2:]], in_key=stated)
    assert found.holds is False
    assert found.figures["n_not_as_in_key"] == 2
