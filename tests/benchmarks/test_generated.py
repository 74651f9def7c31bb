"""Generated tables: valid hands and classes, stated widths, the same draws again."""

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.adaptive.generated import census, class_of_hand, hands, payments


def class_by_hand(cards):
    """Tell a hand of (suit, rank) as UCI does; rank 0 is the ace."""
    ranks = sorted(rank for _, rank in cards)
    counts = sorted(Counter(ranks).values(), reverse=True)
    is_flush = len({suit for suit, _ in cards}) == 1
    is_royal = ranks == [0, 9, 10, 11, 12]
    is_straight = is_royal or ranks == list(range(ranks[0], ranks[0] + 5))
    if is_flush and is_straight:
        return 9 if is_royal else 8
    if is_flush:
        return 5
    if is_straight:
        return 4
    return {(1,): 0, (2, 1): 1, (2, 2): 2, (3, 1): 3, (3, 2): 6, (4, 1): 7}[
        tuple(counts[:2]) if counts[0] > 1 else (1,)
    ]


def test_hands_are_five_cards_and_their_class():
    made = hands(20_000, seed=3)
    assert made.codes.dtype == np.uint8
    assert made.n_values.sum() == 95
    assert (made.codes.max(axis=1) < made.n_values).all()
    deals = [
        [(suit, rank) for suit, rank in zip(row[0:10:2], row[1:10:2], strict=True)]
        for row in made.codes.T.tolist()
    ]
    assert all(len(set(deal)) == 5 for deal in deals)
    assert made.codes[10].tolist() == [class_by_hand(deal) for deal in deals]
    cards = Counter(card for deal in deals for card in deal)
    assert len(cards) == 52
    assert max(cards.values()) / min(cards.values()) < 1.25
    assert 0.41 < (made.codes[10] == 1).mean() < 0.435  # one pair: 0.4226


@pytest.mark.parametrize(
    ("cards", "its_class"),
    [
        ([(0, 0), (0, 9), (0, 10), (0, 11), (0, 12)], 9),
        ([(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)], 8),
        ([(0, 5), (1, 5), (2, 5), (3, 5), (0, 4)], 7),
        ([(0, 5), (1, 5), (2, 5), (3, 4), (0, 4)], 6),
        ([(1, 0), (0, 9), (0, 10), (0, 11), (0, 12)], 4),
        ([(1, 1), (0, 9), (0, 10), (0, 11), (0, 12)], 0),
    ],
)
def test_rare_classes(cards, its_class):
    suits, ranks = np.array(cards).T
    assert class_of_hand(suits[:, None], ranks[:, None]).tolist() == [its_class]
    assert class_by_hand(cards) == its_class


def test_classes_are_those_of_the_real_file():
    folder = os.environ.get("INCROWD_DATA")
    if not folder:
        pytest.skip("needs the data sets (INCROWD_DATA)")
    with gzip.open(Path(folder) / "poker/poker_train.csv.gz", "rt") as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=np.int64).T
    found = class_of_hand(rows[0:10:2] - 1, rows[1:10:2] - 1)
    assert found.tolist() == rows[10].tolist()


@pytest.mark.parametrize(
    ("made", "n_attributes", "width"), [(census, 68, 355), (payments, 32, 512)]
)
def test_generated_tables_have_the_stated_shape(made, n_attributes, width):
    table = made(3_000, seed=1)
    assert table.codes.shape == (n_attributes, 3_000)
    assert len(table.names) == n_attributes
    assert table.n_values.sum() == width
    assert (table.codes.max(axis=1) < table.n_values).all()
    assert (made(500, seed=1).codes == table.codes[:, :500]).all()  # a prefix, whatever the length
    assert made(3_000, seed=1).sha256 == table.sha256
    assert made(3_000, seed=2).sha256 != table.sha256
    top = [Counter(line).most_common(1)[0][1] / 3_000 for line in table.codes.tolist()]
    assert 0.35 < sum(top) / n_attributes < 0.85


def test_people_of_the_census_are_as_near_as_the_real_ones():
    rows = census(99).codes.T
    apart = (rows[:, None, :] != rows[None, :, :]).sum(axis=2)
    np.fill_diagonal(apart, 99)
    others = apart[~np.eye(99, dtype=bool)]
    assert 24 < others.mean() < 31
    nearest = np.sort(apart, axis=1)
    assert 7.5 < nearest[:, 0].mean() < 12
    assert 11 < nearest[:, 4].mean() < 17
