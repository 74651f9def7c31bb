"""The Mondrian method of sets: it has no settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from incrowd.data.sets import Sets
    from incrowd.engines.base import Engine
    from incrowd.methods.sets.found import Found
    from incrowd.methods.sets.promise import SetPromise
    from incrowd.progress import Progress


@dataclass(frozen=True)
class SetMondrian:
    """Cut the rows in two by the item that about half of them hold, and each part again.

    Mondrian (LeFevre, DeWitt and Ramakrishnan 2006) on binary columns, the baseline of Esfandiari
    et al. 2022, §6. Deviation: only items that somebody in a part holds are ever looked at, never
    rows × items. About O(entries · log rows + groups · items of a part).
    """

    name: ClassVar[str] = "mondrian"
    keeps: ClassVar[frozenset[str]] = frozenset({"smooth", "majority", "suppression"})

    def search(
        self,
        sets: Sets,
        promise: SetPromise,
        engine: Engine | None,
        seed: int,
        progress: Progress,
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for.

        There is no chance in it, and it runs in this process: engine and seed play no part.
        """
        from incrowd.methods.set_mondrian.search import cut_rows

        del engine, seed
        return cut_rows(sets, promise, progress)
