"""What a method is to the flow: its name, what it keeps, and what it declares of itself.

Nobody asks a method what it can do by probing it: whatever differs between methods is an attribute
here, with the default of a plain method, and the method that differs says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.engines.items import ItemRows
    from incrowd.guarantees.table import Guarantee
    from incrowd.methods.randomized_response.search import Noisy, Outlook
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.methods.shared.fragments import Fragments
    from incrowd.methods.shared.item_parts import FoundParts, KmConditions, RuleConditions
    from incrowd.methods.shared.set_groups.vote import Found, SetConditions
    from incrowd.progress import Progress
    from incrowd.sets.sets import EntryStorage, Sets


@dataclass(frozen=True)
class Method:
    """A search that keeps guarantees; its settings are the fields of a frozen dataclass."""

    name: ClassVar[str]
    keeps: ClassVar[frozenset[str]]
    """The guarantees, and the conditions beside k, that every result meets."""

    n_kernels: ClassVar[int] = 20
    """About how many kernels a first run compiles, with those of its audit."""

    @property
    def files(self) -> list[str]:
        """The files that the settings name and a run reads."""
        return []

    def refuse_guarantee(self, guarantee: Guarantee) -> None:
        """Raise JobError where these settings do not go with a guarantee that the method keeps."""


@dataclass(frozen=True)
class TableMethod(Method):
    """Rows in, Rows out, every group valid under the conditions."""

    masks_cells: ClassVar[bool] = False
    """Whether a cell is shown as it is or not at all: columns then have flat hierarchies."""

    shows_means: ClassVar[bool] = False
    """Whether every quasi-identifying column is shown as the mean of its group."""

    least_k: ClassVar[int] = 2

    @property
    def masks_bits(self) -> bool:
        """Whether columns are cut into one-hot bits, each masked by itself."""
        return False

    @property
    def decodes_bits(self) -> bool:
        """Whether masked bits are released as values: a column is then an attribute again."""
        return False

    @property
    def drops_unshown_bits(self) -> bool:
        """Whether the bits of values that no row shows are left out of the release."""
        return False

    @property
    def releases_bits(self) -> bool:
        """Whether the columns of a release are one-hot bits."""
        return self.masks_bits and not self.decodes_bits

    @property
    def suppresses_missing(self) -> bool:
        """Whether a missing value is shown as ``*``."""
        return False

    @property
    def stated_costs(self) -> Mapping[str, str]:
        """The files with a user's own costs, by column."""
        return {}

    def known_values(self) -> Mapping[str, Sequence[str]]:
        """Return values that hierarchies need a place for besides those of the data, by column."""
        return {}

    @property
    def runs_on_distinct_rows(self) -> bool:
        """Whether content alone decides what ``run`` does, and ``run_distinct`` where k is the only
        condition: rows need not come in a file's order, nor one by one."""
        return False

    def run(
        self, rows: Rows, conditions: Conditions, engine: Engine, seed: int, progress: Progress
    ) -> Rows:
        """Return the rows generalized so that rows with equal nodes form valid groups.

        What the search did goes with the rows it returns, as their trace.
        """
        raise NotImplementedError

    def run_distinct(
        self,
        rows: Rows,
        n_of_row: NDArray[np.int64],
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Fragments:
        """Return distinct rows with their counts as ``run`` releases the rows they stand for.

        The conditions are one k, and how many rows may be left out: those show LEFT_OUT.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class SetMethod(Method):
    """Sets in, groups of rows out, each as large as the most demanding of its rows asks."""

    works_in_chunks: ClassVar[bool] = False
    """Whether rows are searched in chunks, so that entries may lie on disk."""

    def search(
        self,
        sets: Sets,
        conditions: SetConditions,
        engine: Engine,
        seed: int,
        progress: Progress,
        storage: EntryStorage | None = None,
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for.

        What a search holds that grows with all entries lies on the storage.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class NoiseMethod(Method):
    """Sets in, noisy sets out: a promise of the mechanism, not of a file."""

    @property
    def may_have_loops(self) -> bool:
        """Whether a node of a graph may list itself, which is public knowledge."""
        return False

    @property
    def is_seeded(self) -> bool:
        """Whether the noise can be drawn again: then it protects nobody."""
        return False

    def foresee(self, sets: Sets, level: str, epsilon: float) -> Outlook:
        """Return what the noise will do, from counts alone."""
        raise NotImplementedError

    def respond(
        self,
        sets: Sets,
        level: str,
        epsilon: float,
        progress: Progress,
        engine: Engine | None = None,
    ) -> Noisy:
        """Return the sets with noise in every cell."""
        raise NotImplementedError


@dataclass(frozen=True)
class TransactionMethod(Method):
    """Transactions in, a partition of their public items out."""

    def search(
        self,
        sets: Sets,
        conditions: RuleConditions | KmConditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> FoundParts:
        """Return parts of the public items under which the conditions hold."""
        raise NotImplementedError

    def why_in_process(self, guarantee: Guarantee) -> str:  # noqa: ARG002
        """Return why one process must hold all transactions; nothing where an engine counts."""
        return f"method {self.name} looks at all transactions together"

    def search_rows(
        self, rows: ItemRows, conditions: RuleConditions | KmConditions, progress: Progress
    ) -> FoundParts:
        """Return the same parts by sums over rows that lie on an engine."""
        raise NotImplementedError
