"""The data of the workload ``sets``: one-hot tables, graphs, baskets and generated sets.

The same seed gives the same generated sets; nobody in them exists.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.adaptive.data import ADULT, CATEGORICAL
from benchmarks.shared.cases import Measured
from benchmarks.shared.provenance import file_sha256, require_file
from incrowd.encoding.one_hot import encode_categories
from incrowd.errors import JobError
from incrowd.sets.build import Pairs, from_pairs
from incrowd.sets.files import read_sets, write_sets
from incrowd.sets.format import MOST, SetFormat, SetOptions
from incrowd.sets.sets import BIPARTITE, Sets
from incrowd.tables.files.read import read_table

PLAYSTORE = "playstore/googleplaystore.csv.gz"
GRAPHS = {
    "ca-condmat": ("graphs/ca_condmat_lcc.txt.gz", "undirected"),
    "cit-hepph": ("graphs/cit_hepph_directed.txt.gz", "directed"),
}
BASKETS = {
    "groceries": "transactions/groceries.dat.gz",
    "msweb": "transactions/msweb.dat.gz",
    "bms-webview1": "transactions/bms_webview1.dat.gz",
    "kosarak70k": "transactions/kosarak70k.dat.gz",
    "retail": "transactions/retail.dat.gz",
    "t10i4d100k": "transactions/t10i4d100k.dat.gz",
}
BLOCK_MODEL = "block-model"


@dataclass(frozen=True)
class Sizes:
    """The data and the repetitions of every part; 0 rows take a data set whole."""

    most_rows: int = 0
    block_rows: int = 1024
    block_size: int = 64
    all_k: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    k: int = 8
    seeds: int = 10
    few_seeds: int = 3
    alphas: tuple[float, ...] = (0.125, 0.25, 0.5)
    betas: tuple[float, ...] = (2, 4, 8)
    epsilons: tuple[float, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    most_noise: int = 20_000_000
    densities: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    dense_entries: int = 200_000
    bound_rows: tuple[tuple[int, int], ...] = ((1024, 64), (2048, 256), (4096, 512))
    learning_k: tuple[int, ...] = (4, 16, 64, 200)
    learning_epsilons: tuple[float, ...] = (10, 100, 300, 1000)
    learning_seeds: int = 5
    epochs: int = 10
    list_rows: tuple[int, ...] = (1_000_000, 10_000_000)
    list_memory: str = "4GB"
    whole_rows: int = 1_000_000
    chunked_rows: tuple[int, ...] = (200_000, 500_000)
    chunk_rows: int = 10_000
    list_items: int = 100_000
    n_nearest: int = 16
    queries: int = 2_000
    slow_queries: int = 20


FULL = Sizes()

SMALL = Sizes(
    most_rows=400,
    block_rows=128,
    block_size=32,
    all_k=(2, 8),
    seeds=2,
    few_seeds=1,
    alphas=(0.25, 0.5),
    betas=(2, 4),
    epsilons=(3, 6),
    most_noise=200_000,
    densities=(1e-1, 1e-2),
    dense_entries=2_000,
    bound_rows=((128, 32), (256, 128)),
    learning_k=(8, 50),
    learning_epsilons=(10, 500),
    learning_seeds=2,
    epochs=3,
    list_rows=(2_000, 4_000),
    whole_rows=2_000,
    chunked_rows=(2_000, 4_000),
    chunk_rows=1_000,
    list_items=500,
    n_nearest=8,
    queries=100,
    slow_queries=10,
)
"""The same parts in a minute or so."""


@dataclass(frozen=True)
class SetData:
    """Data by name. ``n_rows`` of 0 takes them whole, else their first rows.

    Generated ones need ``n_rows``: the block model has instances, each drawn from a seed of its
    own, with ``block_size`` (§4.2 of the paper: q = 0.8 inside a block, p = 0.01 outside).
    """

    name: str
    n_rows: int = 0
    block_size: int = 0
    n_instances: int = 1

    def instances(self, folder: Path) -> list[Sets]:
        """Read or draw them: one, or the instances of the block model."""
        if self.name == BLOCK_MODEL:
            return [
                block_model(self.n_rows, self.block_size, seed=seed)
                for seed in range(self.n_instances)
            ]
        return [self._first_rows(self._read(folder))]

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of the data: their shape, and their file's hash or their own."""
        one = self.instances(folder)[0]
        shape = {"n_rows": one.n_rows, "n_items": one.n_items, "n_entries": one.n_entries}
        stated = {**asdict(self), **shape}
        if self.name == BLOCK_MODEL:
            digest = hashlib.sha256(one.items.tobytes()).hexdigest()
            return {**stated, "source": "generated", "sha256": digest}
        file = self._file()
        return {**stated, "source": file, "sha256": file_sha256(require_file(folder, file))}

    def _file(self) -> str:
        if self.name in GRAPHS:
            return GRAPHS[self.name][0]
        return BASKETS.get(self.name) or {"adult": ADULT, "playstore": PLAYSTORE}[self.name]

    def _read(self, folder: Path) -> Sets:
        path = require_file(folder, self._file())
        if self.name in GRAPHS:
            return read_sets(path, SetOptions(GRAPHS[self.name][1]))
        if self.name in BASKETS:
            return read_sets(path)
        return {"adult": adult_sets, "playstore": playstore_sets}[self.name](path)

    def _first_rows(self, sets: Sets) -> Sets:
        """Return the sets as rows and items without names, cut to the rows that are wanted."""
        sets = replace(sets, row_names=None, item_names=None, graph=BIPARTITE)
        if not self.n_rows or self.n_rows >= sets.n_rows:
            return sets
        return sets.take(np.arange(self.n_rows))


def adult_sets(path: Path) -> Sets:
    """Return Adult's eight categorical columns one-hot, ``?`` as a value: 102 items."""
    return _one_hot(list(encode_categories(read_table(path), CATEGORICAL).codes))


def playstore_sets(path: Path) -> Sets:
    """Return ten attributes of apps one-hot: the rows that lack none of them.

    Category, installs, type, content rating, genres and Android version as they are; the rating
    as printed, to a tenth; reviews and size by powers of two; the last update by quarter.
    """
    frame = read_table(path).frame
    columns = [_coarse(frame.column(name), how) for name, how in PLAYSTORE_COLUMNS.items()]
    rows = [row for row in zip(*columns, strict=True) if "" not in row]
    codes = [np.unique(list(column), return_inverse=True)[1] for column in zip(*rows, strict=True)]
    return _one_hot(codes)


def _coarse(column: pa.ChunkedArray, how: Callable[[str], str]) -> list[str]:
    texts = (str(cell.as_py() or "") for cell in column)
    return ["" if text in ("", "NaN") else how(text) for text in texts]


def _as_it_is(text: str) -> str:
    return text


def _by_power_of_two(text: str) -> str:
    """Return the power of two below a number such as ``159``, ``8.7M`` or ``201k``."""
    scale = {"k": 1e3, "M": 1e6}.get(text[-1])
    try:
        number = float(text[:-1]) * scale if scale else float(text)
    except ValueError:
        return text  # varies with device
    return "0" if number < 1 else f"2^{math.floor(math.log2(number))}"


def _by_quarter(text: str) -> str:
    """Return the year and the quarter of a date such as ``January 7, 2018``."""
    month, year = text[:3], text.rpartition(" ")[2]
    return f"{year} {_MONTHS.index(month) // 3}" if month in _MONTHS else text


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

PLAYSTORE_COLUMNS: dict[str, Callable[[str], str]] = {
    "Category": _as_it_is,
    "Rating": _as_it_is,
    "Reviews": _by_power_of_two,
    "Size": _by_power_of_two,
    "Installs": _as_it_is,
    "Type": _as_it_is,
    "Content Rating": _as_it_is,
    "Genres": _as_it_is,
    "Last Updated": _by_quarter,
    "Android Ver": _as_it_is,
}


def _one_hot(codes: Sequence[Any]) -> Sets:
    """Return each row's codes as items, one attribute after the other."""
    widths = [int(np.max(column, initial=-1)) + 1 for column in codes]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    items = np.stack([np.asarray(c) + f for c, f in zip(codes, first[:-1], strict=True)], axis=1)
    n_rows, n_columns = items.shape
    starts = np.arange(n_rows + 1, dtype=np.int64) * n_columns
    return Sets(starts, np.ascontiguousarray(items.reshape(-1), dtype=np.int32), int(first[-1]))


# ── generated sets ──────────────────────────────────────────────────────────────────────────────

Places = NDArray[np.int64]

_BLOCK_ROWS = 1 << 18  # fixed: every block draws from a seed of its own


def block_model(
    n_rows: int = 1024,
    block_size: int = 64,
    inside: float = 0.8,
    outside: float = 0.01,
    seed: int = 0,
) -> Sets:
    """Draw the bipartite stochastic block model; rows and items are as many.

    Epasto et al., "Smooth Anonymity for Sparse Graphs", Section 4.2: rows and items fall into
    blocks of equal size; a row has each item of its block with the probability ``inside`` (q) and
    each other one with ``outside`` (p). Takes time and memory in the number of entries.
    """
    _require(n_rows, "rows")
    if block_size < 1 or n_rows % block_size:
        raise JobError(
            f"{n_rows:,} rows do not fall into blocks of {block_size:,}",
            remedy="The number of rows must be a multiple of the block's size.",
        )
    for share in (inside, outside):
        if not 0 <= share <= 1:
            raise JobError(f"{share} is no probability", remedy="State one from 0 to 1.")
    rng = np.random.default_rng(seed)
    rows, places = np.divmod(_hits(rng, n_rows * block_size, inside), block_size)
    items = rows // block_size * block_size + places
    n_others = n_rows - block_size
    if n_others:
        other_rows, places = np.divmod(_hits(rng, n_rows * n_others, outside), n_others)
        is_behind = places >= other_rows // block_size * block_size
        rows = np.concatenate([rows, other_rows])
        items = np.concatenate([items, places + is_behind * block_size])
    return _sets(rows, items, n_rows, n_rows)


def user_lists(
    n_rows: int, n_items: int = 100_000, mean_size: float = 10, n_types: int = 2_000, seed: int = 0
) -> Sets:
    """Draw lists of interests: items popular by Zipf's law, people of latent types.

    A type has a profile of items, each with an appeal; a row takes each of its type's items by
    that appeal and by how active it is, and now and then one of all items. About ``mean_size``
    items a row. Rows are drawn in blocks: memory is that of the result and of one block.
    """
    _require(n_rows, "rows")
    _require(n_items, "items")
    _require(n_types, "types")
    if not 0 < mean_size <= n_items / 4:
        raise JobError(
            f"rows cannot have {mean_size:g} of {n_items:,} items on average",
            remedy="State a mean above 0 and at most a quarter of the items.",
        )
    rng = np.random.default_rng(seed)
    item_of_rank = rng.permutation(n_items).astype(np.int32)
    chance_of_rank = _zipf(n_items)
    chance_of_type = _zipf(n_types)
    n_slots = max(1, math.ceil(1.7 * mean_size))
    slots = rng.random((n_types, n_slots))
    profiles = item_of_rank[np.searchsorted(chance_of_rank, slots)]
    appeal = np.linspace(1.0, 0.1, n_slots, dtype=np.float32)
    sizes, parts = [], []
    for first in range(0, n_rows, _BLOCK_ROWS):
        rng = np.random.default_rng([seed, first])
        count = min(_BLOCK_ROWS, n_rows - first)
        type_of_row = np.searchsorted(chance_of_type, rng.random(count))
        activity = rng.uniform(0.5, 1.5, count).astype(np.float32)
        is_taken = rng.random((count, n_slots), dtype=np.float32) < appeal * activity[:, None]
        rows, taken = np.nonzero(is_taken)
        n_more = rng.poisson(0.15 * mean_size, count)
        more = item_of_rank[np.searchsorted(chance_of_rank, rng.random(int(n_more.sum())))]
        keys = np.concatenate(
            [
                rows * n_items + profiles[type_of_row[rows], taken],
                np.repeat(np.arange(count), n_more) * n_items + more,
            ]
        )
        keys = np.unique(keys)
        sizes.append(np.bincount(keys // n_items, minlength=count))
        parts.append((keys % n_items).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return Sets(starts, np.concatenate(parts), n_items)


def _hits(rng: np.random.Generator, n_cells: int, share: float) -> Places:
    """Return the cells, ascending, that are drawn with one probability each; O(hits)."""
    if share <= 0:
        return np.zeros(0, dtype=np.int64)
    parts: list[Places] = []
    last = -1
    while last < n_cells:
        expected = (n_cells - last) * share
        size = int(min(expected + 4 * math.sqrt(expected) + 16, 1 << 24))
        places = last + np.cumsum(rng.geometric(share, size))
        parts.append(places)
        last = int(places[-1])
    hits = np.concatenate(parts)
    return hits[: np.searchsorted(hits, n_cells)]


def _zipf(count: int) -> NDArray[np.float64]:
    """Return cumulated probabilities that fall as 1/rank; the last is above every draw."""
    chances: NDArray[np.float64] = np.cumsum(1 / np.arange(1, count + 1))
    chances /= chances[-1]
    chances[-1] = 1.0
    return chances


def _sets(rows: Places, items: Places, n_rows: int, n_items: int) -> Sets:
    pairs = Pairs(rows.astype(np.int32), items.astype(np.int32), n_rows, n_items)
    return from_pairs(pairs, None, None, SetOptions("bipartite"), "the sample")[0]


def _require(count: int, what: str) -> None:
    if not 1 <= count <= MOST:
        raise JobError(f"there cannot be {count:,} {what}", remedy=f"State 1 to {MOST:,}.")


def write_lists(n_rows: int, n_items: int, path: Path) -> Measured:
    """Draw user lists and write them as two columns of a Parquet file; say what they are."""
    sets = user_lists(n_rows, n_items)
    write_sets(sets, path, SetFormat("lists", row_column="user", item_column="items"))
    shape = {"n_rows": sets.n_rows, "n_items": sets.n_items, "n_entries": sets.n_entries}
    return {"name": "user-lists", **shape, "sha256": file_sha256(path)}
