"""The cluster method of sets: its settings, and the way to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.fields import option
from incrowd.methods.effort import stated_effort

if TYPE_CHECKING:
    from incrowd.data.sets import Sets
    from incrowd.engines.base import Engine
    from incrowd.methods.sets.found import Found
    from incrowd.methods.sets.promise import SetPromise
    from incrowd.progress import Progress

LEAST_CHUNK = 1_000


@dataclass(frozen=True)
class SetCluster:
    """Gather near rows by their common items, then move and swap rows while more entries stay.

    Our own search, on the exact objective: the Jaccard similarity of all entries. Above half as
    many again as ``chunk_rows`` rows are searched in chunks of near ones (minhashes, Esfandiari et
    al. 2022, Appendix D), whose groups then meet again. About O(entries · near rows) a pass.
    """

    name: ClassVar[str] = "cluster"
    keeps: ClassVar[frozenset[str]] = frozenset(
        {"smooth", "majority", "suppression", "k-per-person", "entries-on-disk"}
    )

    effort: str | int = option(
        "auto",
        help="How many passes the search of sets makes over all groups, or how long it searches "
        "(10s, 2m), or quick, auto or full: 2, 8 or 60 passes.",
    )
    chunk_rows: int = option(
        100_000,
        help="About how many rows are searched at once; more are cut into chunks of near ones.",
        minimum=LEAST_CHUNK,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "effort", stated_effort(self.effort))
        if type(self.chunk_rows) is not int or self.chunk_rows < LEAST_CHUNK:
            raise JobError(
                f"chunk_rows is not a whole number of {LEAST_CHUNK} or more",
                remedy="State --chunk-rows 100000, for example.",
            )

    def search(
        self, sets: Sets, promise: SetPromise, engine: Engine, seed: int, progress: Progress
    ) -> Found:
        """Return groups of rows, each with as many as the most demanding of them asks for."""
        from incrowd.methods.set_cluster.search import search
        from incrowd.methods.sets.found import Found

        found = search(
            sets,
            promise,
            engine=engine,
            effort=self.effort,
            seed=seed,
            progress=progress,
            chunk_rows=self.chunk_rows,
        )
        return Found(
            found.group_of_row,
            {"passes": found.n_passes, "chunks": found.n_chunks},
            {"effort": found.n_passes} if found.n_passes else {},
        )
