"""The data of the workload ``sets``: one-hot tables, graphs and baskets as sets of items."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.adaptive.data import ADULT, CATEGORICAL
from benchmarks.shared.datasets import require
from benchmarks.shared.provenance import file_record

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.sets.sets import Sets

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
        from benchmarks.sets.samples import block_model

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
        return {
            **stated,
            "source": file,
            "sha256": file_record(file, require(folder, file))["sha256"],
        }

    def _file(self) -> str:
        if self.name in GRAPHS:
            return GRAPHS[self.name][0]
        return BASKETS.get(self.name) or {"adult": ADULT, "playstore": PLAYSTORE}[self.name]

    def _read(self, folder: Path) -> Sets:
        from incrowd.sets.files import SetOptions, read_sets

        path = require(folder, self._file())
        if self.name in GRAPHS:
            return read_sets(path, SetOptions(GRAPHS[self.name][1]))
        if self.name in BASKETS:
            return read_sets(path)
        return {"adult": adult_sets, "playstore": playstore_sets}[self.name](path)

    def _first_rows(self, sets: Sets) -> Sets:
        """Return the sets as rows and items without names, cut to the rows that are wanted."""
        from incrowd.sets.sets import BIPARTITE

        sets = replace(sets, row_names=None, item_names=None, graph=BIPARTITE)
        if not self.n_rows or self.n_rows >= sets.n_rows:
            return sets
        return sets.take(np.arange(self.n_rows))


def adult_sets(path: Path) -> Sets:
    """Return Adult's eight categorical columns one-hot, ``?`` as a value: 102 items."""
    from incrowd.encoding.one_hot import encode_categories
    from incrowd.tables.read import read_table

    return _one_hot(list(encode_categories(read_table(path), CATEGORICAL).codes))


def playstore_sets(path: Path) -> Sets:
    """Return ten attributes of apps one-hot: the rows that lack none of them.

    Category, installs, type, content rating, genres and Android version as they are; the rating
    as printed, to a tenth; reviews and size by powers of two; the last update by quarter.
    """
    from incrowd.tables.read import read_table

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
    from incrowd.sets.sets import Sets

    widths = [int(np.max(column, initial=-1)) + 1 for column in codes]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    items = np.stack([np.asarray(c) + f for c, f in zip(codes, first[:-1], strict=True)], axis=1)
    n_rows, n_columns = items.shape
    starts = np.arange(n_rows + 1, dtype=np.int64) * n_columns
    return Sets(starts, np.ascontiguousarray(items.reshape(-1), dtype=np.int32), int(first[-1]))


# ── between processes ───────────────────────────────────────────────────────────────────────────


def save(instances: Sequence[Sets], path: Path) -> None:
    """Write sets for another process."""
    arrays: dict[str, Any] = {}
    for place, sets in enumerate(instances):
        arrays[f"starts_{place}"] = sets.starts
        arrays[f"items_{place}"] = sets.items
        arrays[f"n_items_{place}"] = np.array(sets.n_items)
    np.savez(path, **arrays)


def reload(path: Path) -> list[Sets]:
    """Read what ``save`` wrote."""
    from incrowd.sets.sets import Sets

    with np.load(path) as kept:
        return [
            Sets(kept[f"starts_{place}"], kept[f"items_{place}"], int(kept[f"n_items_{place}"]))
            for place in range(len(kept.files) // 3)
        ]
