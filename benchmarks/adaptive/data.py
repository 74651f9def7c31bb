"""The tables of the workload ``adaptive``: codes of attributes and a k per row.

Real ones are read; large ones are generated in the shape of those in Khan et al. (2018), Table I:

===========  ==========================================================================
table        recipe
===========  ==========================================================================
hands        five cards dealt from a deck of 52, in the order dealt, and the hand's class:
             UCI's poker, 11 columns, 95 one-hot columns
census       68 coded attributes of as many values as those of UCI's USCensus1990; people
             belong to one of 20 kinds, more to some than to others, and take in each
             attribute the kind's own value or else one drawn from skewed shares
payments     32 attributes of 512 values in all, of Zipf shares: a payment goes with one of
             400 payers, more with some than with others, who have their own habit in each
             attribute and leave it at times
===========  ==========================================================================

Nobody in them exists. Drawn by NumPy's PCG64 from a seed; results keep the hash of the codes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.provenance import file_sha256, require_file
from incrowd.encoding.one_hot import encode_categories
from incrowd.methods.adaptive.search import Problem
from incrowd.tables.files.read import read_table
from incrowd.tables.table import Table

ADULT = "adult/adult.csv.gz"
CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
"""The columns of Adult: 102 one-hot columns with ``?`` as a value."""

NETWORKS = {"caltech36": "Caltech36", "reed98": "Reed98"}
NETWORK_COLUMNS = ("status", "gender", "major", "second_major", "dorm", "year")
POKER = ("poker/poker_train.csv.gz", "poker/poker_test_first50k.csv.gz")


@dataclass(frozen=True)
class WishedTable:
    """A table and the wishes on it: k drawn evenly from ``lowest`` to ``highest``, seed 0.

    ``n_rows`` of 0 takes a real table whole, else its first rows; generated ones need it. With
    ``is_bit`` every bit of the one-hot code is a cell, as in the paper, else every attribute.
    """

    name: str
    lowest: int
    highest: int
    n_rows: int = 0
    is_bit: bool = True

    def problem(self, folder: Path) -> Problem:
        """Read or draw it."""
        codes, n_values = self._codes(folder)
        if self.n_rows:
            codes = codes[:, : self.n_rows]
        k = np.random.default_rng(0).integers(self.lowest, self.highest + 1, codes.shape[1])
        return Problem(
            np.ascontiguousarray(codes, dtype=np.int32),
            n_values,
            np.minimum(k, codes.shape[1]).astype(np.int32),
            self.is_bit,
        )

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of the table: its file's hash, or that of its codes."""
        stated = asdict(self)
        if self.name in GENERATED:
            made = GENERATED[self.name](self.n_rows)
            return {**stated, "source": "generated", "sha256": made.sha256}
        digest = file_sha256(require_file(folder, self._files()[0]))
        return {**stated, "source": " and ".join(self._files()), "sha256": digest}

    def _files(self) -> tuple[str, ...]:
        if self.name in NETWORKS:
            return (f"facebook100/{NETWORKS[self.name]}_nodes.csv.gz",)
        return {"adult": (ADULT,), "poker": POKER}[self.name]

    def _codes(self, folder: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.name in GENERATED:
            made = GENERATED[self.name](self.n_rows)
            return made.codes, made.n_values
        import pyarrow as pa

        tables = [read_table(require_file(folder, name)) for name in self._files()]
        columns = {"adult": CATEGORICAL}.get(self.name, tuple(tables[0].columns))
        if self.name in NETWORKS:
            columns = NETWORK_COLUMNS
        found = encode_categories(
            Table(pa.concat_tables([table.frame for table in tables])), columns
        )
        return found.codes, found.n_values


def few(problem: Problem, n_rows: int = 60) -> Problem:
    """Return a small problem of the same shape, on which the same loops are compiled."""
    codes = np.ascontiguousarray(problem.codes[:, :n_rows])
    k = np.minimum(problem.k[:n_rows], 5).astype(np.int32)
    return Problem(codes, problem.n_values, k, problem.is_bit)


# ── generated tables ────────────────────────────────────────────────────────────────────────────

HAND_NAMES = ("S1", "C1", "S2", "C2", "S3", "C3", "S4", "C4", "S5", "C5", "hand")
N_SUITS, N_RANKS, N_CLASSES = 4, 13, 10

CENSUS_VALUES = (
    *(8, 12, 13, 5, 5, 8, 6, 3, 3, 4, 2, 8, 2, 6, 6, 9, 4, 2, 2, 2, 2, 2, 2, 2, 11, 2, 3, 3, 5, 2),
    *(12, 5, 3, 3, 7, 3, 3, 7, 3, 4, 5, 6, 14, 7, 9, 5, 7, 2, 6, 16, 2, 7, 11, 4, 2, 2, 3, 2, 4, 7),
    *(2, 3, 3, 3, 2, 16, 8, 3),
)
"""How many values each attribute of the census has."""

N_KINDS = 20
"""How many kinds of people the census has."""

PAYMENT_VALUES = (
    *(60, 56, 52, 45, 40, 35, 30, 25, 22, 18, 15, 12, 10, 10, 9, 8, 7, 6, 6, 5, 5, 5, 4, 4, 4, 4),
    *(3, 3, 3, 2, 2, 2),
)
"""How many values each attribute of a payment has: 512 in all."""

N_PAYERS = 400
"""How many payers there are."""

_BLOCK = 1 << 16  # rows that are drawn at a time: fixed, since draws depend on it


@dataclass(frozen=True, eq=False)
class Generated:
    """Category codes of a table, ``codes[attribute, row]`` below ``n_values[attribute]``."""

    names: tuple[str, ...]
    codes: NDArray[np.uint8]
    n_values: NDArray[np.int64]

    @property
    def sha256(self) -> str:
        """The hash of the codes."""
        return hashlib.sha256(np.ascontiguousarray(self.codes).tobytes()).hexdigest()


def hands(n_rows: int, seed: int = 0) -> Generated:
    """Deal hands of poker, each order of each hand as likely as any other."""
    draw = np.random.default_rng(seed)
    cards = np.empty((5, n_rows), dtype=np.int64)
    for place in range(5):
        card = draw.integers(0, 52 - place, n_rows)
        for dealt in np.sort(cards[:place], axis=0):  # step over the cards that are gone
            card += card >= dealt
        cards[place] = card
    suits, ranks = cards // N_RANKS, cards % N_RANKS
    codes = np.empty((11, n_rows), dtype=np.uint8)
    codes[0:10:2], codes[1:10:2], codes[10] = suits, ranks, class_of_hand(suits, ranks)
    n_values = np.array([N_SUITS, N_RANKS] * 5 + [N_CLASSES], dtype=np.int64)
    return Generated(HAND_NAMES, codes, n_values)


def class_of_hand(suits: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return UCI's class of each hand, 0 for nothing to 9 for a royal flush; rank 0 is the ace.

    Both are ``[card, hand]``.
    """
    order = np.sort(ranks, axis=0)
    n_equal = (ranks[:, None, :] == ranks[None, :, :]).sum(axis=(0, 1)) - 5  # ordered pairs
    is_flush = (suits == suits[0]).all(axis=0)
    is_royal = (order == np.array([0, 9, 10, 11, 12])[:, None]).all(axis=0)
    is_straight = (n_equal == 0) & ((order[4] - order[0] == 4) | is_royal)
    found = np.zeros(ranks.shape[1], dtype=np.uint8)
    for pairs, its_class in ((2, 1), (4, 2), (6, 3), (8, 6), (12, 7)):
        found[n_equal == pairs] = its_class
    found[is_straight] = 4
    found[is_flush] = 5
    found[is_straight & is_flush] = 8
    found[is_royal & is_flush] = 9
    return found


def census(n_rows: int, seed: int = 0) -> Generated:
    """Draw people with 68 coded attributes.

    The shares were chosen for what the first 99 rows of the real file show: the likeliest value of
    an attribute has seven rows in ten, two people differ in 27 attributes, and a person differs
    from the nearest of the 98 others in 10 attributes, from the fifth in 13 (here in 9 and 14).
    """
    return _habits(
        n_rows,
        seed,
        tuple(f"attribute-{place}" for place in range(len(CENSUS_VALUES))),
        np.array(CENSUS_VALUES, dtype=np.int64),
        n_kinds=N_KINDS,
        kind_skew=1.2,
        value_skew=2.0,
        least_kept=0.55,
    )


def payments(n_rows: int, seed: int = 0) -> Generated:
    """Draw payments with 32 skewed attributes, 512 one-hot columns."""
    return _habits(
        n_rows,
        seed,
        tuple(f"attribute-{place}" for place in range(len(PAYMENT_VALUES))),
        np.array(PAYMENT_VALUES, dtype=np.int64),
        n_kinds=N_PAYERS,
        kind_skew=1.0,
        value_skew=1.2,
        least_kept=0.5,
    )


def _habits(
    n_rows: int,
    seed: int,
    names: tuple[str, ...],
    n_values: NDArray[np.int64],
    *,
    n_kinds: int,
    kind_skew: float,
    value_skew: float,
    least_kept: float,
) -> Generated:
    """Draw rows of kinds: in each attribute the kind's habit, or a draw from the same shares.

    The share of the m-th kind falls as m to the power of ``−kind_skew``, that of the m-th value as
    m to the power of ``−value_skew``; habits are drawn from the values' shares too. An attribute
    keeps habits with a chance of its own, evenly spread from ``least_kept`` to 1.
    """
    draw = np.random.default_rng(seed)
    kind_shares = _falling(n_kinds, kind_skew)
    kept = least_kept + (1 - least_kept) * draw.permutation(len(n_values)) / len(n_values)
    shares = [_falling(int(count), value_skew) for count in n_values]
    order = [draw.permutation(int(count)) for count in n_values]  # the likeliest is any code
    habits = [
        np.searchsorted(share, draw.random(n_kinds), side="right").clip(max=len(share) - 1)
        for share in shares
    ]
    codes = np.empty((len(n_values), n_rows), dtype=np.uint8)
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, min(n_rows, start + _BLOCK))
        size = block.stop - block.start
        kind = np.searchsorted(kind_shares, draw.random(_BLOCK), side="right")[:size]
        kind = kind.clip(max=n_kinds - 1)
        for place, share in enumerate(shares):
            is_kept = draw.random(_BLOCK)[:size] < kept[place]
            other = np.searchsorted(share, draw.random(_BLOCK), side="right")[:size]
            found = np.where(is_kept, habits[place][kind], other.clip(max=len(share) - 1))
            codes[place, block] = order[place][found]
    return Generated(names, codes, n_values)


def _falling(count: int, skew: float) -> NDArray[np.float64]:
    """Return cumulated shares that fall by a power of their place."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -skew
    return np.asarray(np.cumsum(weights / weights.sum()), dtype=np.float64)


GENERATED: dict[str, Callable[[int], Generated]] = {
    "hands": hands,
    "census": census,
    "payments": payments,
}
