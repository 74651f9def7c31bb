"""What rounds cost: equations 1 to 4 of MR-RBAT, and how many rounds its plan takes.

Memon and Shao (2015), Section 4.2; Section 4.3 says that a check costs the same with γ for α and
the rules for the items. The equations are about one split; our rounds serve all splits of a level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cluster:
    """M mappers and R reducers, and what they take, in any unit of time.

    ``map_setup`` is s_m(M) and ``reduce_setup`` s_r(R), ``read`` is ω, the time to read a
    transaction (or a sum that a mapper sent), ``send`` is ξ, the time to send the sums of a key.
    """

    n_mappers: int
    n_reducers: int
    map_setup: float = 0.0
    reduce_setup: float = 0.0
    read: float = 1.0
    send: float = 1.0

    def map_cost(self, n_rows: int) -> float:
        """Return t_M, equation 1: every mapper reads its share of the transactions."""
        return self.map_setup + n_rows / self.n_mappers * self.read

    def shuffle_cost(self, n_keys: float) -> float:
        """Return t_S of a round of so many keys, equation 2: reducers are sent to side by side."""
        return self._keys_of_reducer(n_keys) * self.send

    def reduce_cost(self, n_keys: float) -> float:
        """Return t_R, equation 3: a reducer reads what every mapper counted for its keys."""
        return self.reduce_setup + self.n_mappers * self._keys_of_reducer(n_keys) * self.read

    def cost(self, n_rows: int, n_keys: int, n_rounds: int) -> float:
        """Return T_total, equation 4: so many keys in so many rounds over all transactions.

        For a split the keys are |ĩ| − 2 items in α rounds, for a check |Θ| rules in γ rounds.
        """
        of_round = n_keys / n_rounds
        return n_rounds * (
            self.map_cost(n_rows) + self.shuffle_cost(of_round) + self.reduce_cost(of_round)
        )

    def _keys_of_reducer(self, n_keys: float) -> float:
        """Return how many keys a reducer has: no more reducers work than there are keys."""
        return n_keys / min(self.n_reducers, n_keys) if n_keys else 0.0


def n_buckets(n_items: int, alpha: int | str) -> int:
    """Return in how many rounds a part of so many items is split: α, or one for each item."""
    n_others = max(0, n_items - 2)
    if isinstance(alpha, str):
        return n_others
    return -(-n_others // max(1, -(-n_others // alpha)))


def rounds_of_paper(sizes: Iterable[int], n_rules: int, per_round: int, alpha: int | str) -> int:
    """Return the most rounds that Algorithm 2 takes for tried splits of parts of these sizes.

    Pairs of items and the first generalization once each; then for every split one round for its
    seeds, α for its items, one to update, and γ for the rules (fewer where one is broken early).
    """
    of_check = -(-n_rules // per_round)
    return 2 + sum(1 + n_buckets(size, alpha) + 1 + of_check for size in sizes)
