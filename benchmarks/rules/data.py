"""The data of the workload ``rules``: baskets generated or real, sensitive items and rules."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.data import SetData

if TYPE_CHECKING:
    from incrowd.sets.sets import Sets
    from incrowd.transactions.rules import Rules

SHOP = "shop"
REAL = ("groceries", "msweb", "bms-webview1", "kosarak70k", "retail")


class Transactions(NamedTuple):
    """Rows of items, which of these are sensitive, and rules of the others."""

    sets: Sets
    is_sensitive: NDArray[np.bool_]
    rules: Rules


@dataclass(frozen=True)
class RuleData:
    """Transactions by name: ``shop`` is generated, others are read; rules are drawn from them.

    ``n_rows`` and ``n_items`` are those of 1X, and ``times`` how often its rows are selected;
    rules are drawn from 1X, so that they are the same for every ``times``. Of real data
    ``n_rows`` of 0 takes all.
    """

    name: str
    n_rules: int
    n_rows: int = 0
    n_items: int = 0
    longest: int = 0
    times: float = 1
    share: float = 0.1

    def made(self, folder: Path) -> Transactions:
        """Read or draw them."""
        from incrowd.transactions.rule_files import sensitive_items
        from incrowd.transactions.samples import generate_rules

        sets = self._once(folder)
        is_sensitive, _ = sensitive_items(f"share:{self.share}", range(sets.n_items))
        rules = generate_rules(sets, is_sensitive, self.n_rules)
        if self.times != 1:
            sets = self._drawn(self.times)
        return Transactions(sets, is_sensitive, rules)

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of the data: where they are from, with a hash."""
        if self.name == SHOP:
            once = replace(self, times=1)._once(folder)
            digest = hashlib.sha256(once.items.tobytes()).hexdigest()
            return {**asdict(self), "source": "generated", "sha256": digest}
        read = SetData(self.name, self.n_rows).record(folder)
        return {**asdict(self), "source": read["source"], "sha256": read["sha256"]}

    def _once(self, folder: Path) -> Sets:
        if self.name == SHOP:
            return self._drawn(1)
        return SetData(self.name, self.n_rows).instances(folder)[0]

    def _drawn(self, times: float) -> Sets:
        from benchmarks.rules.samples import shop_baskets

        return shop_baskets(self.n_rows, self.n_items, longest=self.longest, times=times)


def save(transactions: Transactions, path: Path) -> None:
    """Write transactions for another process."""
    sets, is_sensitive, rules = transactions
    np.savez(
        path,
        starts=sets.starts,
        items=sets.items,
        is_sensitive=is_sensitive,
        public_starts=rules.public_starts,
        public=rules.public,
        sensitive_starts=rules.sensitive_starts,
        sensitive=rules.sensitive,
    )


def reload(path: Path) -> Transactions:
    """Read what ``save`` wrote."""
    import pyarrow as pa

    from incrowd.sets.sets import Sets
    from incrowd.transactions.rules import Rules

    with np.load(path) as kept:
        is_sensitive = kept["is_sensitive"]
        names = pa.array([str(item) for item in range(len(is_sensitive))])
        sets = Sets(kept["starts"], kept["items"], len(is_sensitive))
        rules = Rules(
            kept["public_starts"],
            kept["public"],
            kept["sensitive_starts"],
            kept["sensitive"],
            names,
        )
        return Transactions(sets, is_sensitive, rules)
