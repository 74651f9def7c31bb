"""The tables of the workload ``adaptive`` as problems: codes of attributes and a k per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.generated import Generated, census, hands, payments
from benchmarks.shared.datasets import require
from benchmarks.shared.provenance import file_record

if TYPE_CHECKING:
    from incrowd.methods.adaptive.search import Problem

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

GENERATED: dict[str, Callable[[int], Generated]] = {
    "hands": hands,
    "census": census,
    "payments": payments,
}


@dataclass(frozen=True)
class Wished:
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
        from incrowd.methods.adaptive.search import Problem

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
        files = [file_record(name, require(folder, name)) for name in self._files()]
        return {**stated, "source": " and ".join(self._files()), "sha256": files[0]["sha256"]}

    def _files(self) -> tuple[str, ...]:
        if self.name in NETWORKS:
            return (f"facebook100/{NETWORKS[self.name]}_nodes.csv.gz",)
        return {"adult": (ADULT,), "poker": POKER}[self.name]

    def _codes(self, folder: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.name in GENERATED:
            made = GENERATED[self.name](self.n_rows)
            return made.codes, made.n_values
        import pyarrow as pa

        from incrowd.encoding.one_hot import encode_categories
        from incrowd.tables.read import read_table
        from incrowd.tables.table import Table

        tables = [read_table(require(folder, name)) for name in self._files()]
        columns = {"adult": CATEGORICAL}.get(self.name, tuple(tables[0].columns))
        if self.name in NETWORKS:
            columns = NETWORK_COLUMNS
        found = encode_categories(
            Table(pa.concat_tables([table.frame for table in tables])), columns
        )
        return found.codes, found.n_values


def few(problem: Problem, n_rows: int = 60) -> Problem:
    """Return a small problem of the same shape, on which the same loops are compiled."""
    from incrowd.methods.adaptive.search import Problem

    codes = np.ascontiguousarray(problem.codes[:, :n_rows])
    k = np.minimum(problem.k[:n_rows], 5).astype(np.int32)
    return Problem(codes, problem.n_values, k, problem.is_bit)
