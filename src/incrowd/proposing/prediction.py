"""What a release would lose, by a quick search on a sample of the rows, and which columns cost most.

An estimate: Mondrian takes a fraction of the time of the default search and loses more, and more
rows lose less than a sample of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from incrowd.encoding.encode import encode
from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import JobError
from incrowd.flow.conditions import derive_conditions, refuse_infeasible
from incrowd.job.job import Job
from incrowd.measures.losses.tables import count_tables, measure_tally
from incrowd.measures.outcomes import describe_outcome, format_share
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import Progress, report_compilation, silent
from incrowd.tables.table import Table

MOST_CELLS = 500_000
"""Quasi-identifying cells of the sample."""

FEWEST_ROWS = 2_000
"""Rows that are sampled however many columns there are."""

MUCH = 0.15
"""From this loss on, columns are looked for without which less would be lost."""

MOST_REMOVED = 3
N_TRIED = 3
"""How many columns are left out at most, and how many are tried for each of them."""

LEAST_GAIN = 0.04
"""A column is worth leaving out if the loss falls by this much."""


@dataclass(frozen=True)
class Prediction:
    """The estimated loss of a job, and the loss without the few columns that cost most.

    ``removed`` is empty where leaving columns out gains little.
    """

    loss: float
    quasi: tuple[str, ...]
    k: int
    n_rows: int
    n_sampled: int
    removed: tuple[str, ...] = ()
    loss_without: float = 0.0

    @property
    def text(self) -> str:
        """The prediction in a sentence, and what it is based on."""
        n_columns = len(self.quasi)
        which = (
            "this quasi-identifier" if n_columns == 1 else f"these {n_columns} quasi-identifiers"
        )
        told = f"with {which} {_about(self.loss)} of the information is lost"
        if self.removed:
            without = _join(self.removed)
            if len(self.removed) > MOST_REMOVED:
                first, last = self.removed[0], self.removed[-1]
                without = f"the {len(self.removed)} that are in doubt ({first} … {last})"
            told += f"; without {without} {_about(self.loss_without)}"
        sample = f"{self.n_rows:,} rows"
        if self.n_sampled < self.n_rows:
            sample = f"a sample of {self.n_sampled:,} of {self.n_rows:,} rows"
        return f"{told} (a quick estimate for k = {self.k} on {sample}; a run usually loses less)"


def predict_loss(
    table: Table, job: Job, *, in_doubt: Sequence[str] = (), progress: Progress = silent
) -> Prediction | None:
    """Return what a job on a table would lose, by Mondrian on a sample; None where it has no rows.

    Where much is lost and many columns are ``in_doubt``, these are left out together. Else columns
    are left out one after another, each time the one of the few costliest whose absence helps
    most. At most 10 searches on 500,000 cells. Raises as a run does where a hierarchy does not fit
    the table or nothing can satisfy the job.
    """
    quasi = job.schema.quasi
    if not quasi:
        raise JobError("no column is quasi-identifying", remedy="Name those that others may know.")
    if table.n_rows == 0:
        return None
    sample = _draw_sample(table, len(quasi))
    rows, _ = encode(sample, quasi, job.hierarchy_specs, job.coding)
    conditions = derive_conditions(replace(job, method=Mondrian()), sample, {})
    refuse_infeasible(job, conditions, sample.n_rows)
    k = conditions.k
    with report_compilation(progress, Mondrian.n_kernels):
        loss, costly = _measure(rows, conditions)
        total = 1 + MOST_REMOVED * N_TRIED
        progress("estimating the loss", 1, total)
        removed: list[str] = []
        best = loss
        doubtful = [name for name in quasi if name in in_doubt]
        if loss > MUCH and MOST_REMOVED < len(doubtful) < len(quasi):
            kept = [name for name in quasi if name not in doubtful]
            best, _ = _measure(_select(rows, kept), conditions)
            if best <= loss - LEAST_GAIN:
                found = (table.n_rows, sample.n_rows, tuple(doubtful), best)
                return Prediction(loss, quasi, k, *found)
            best = loss
        while len(removed) < min(MOST_REMOVED, len(quasi) - 1) and best > MUCH:
            tried = {}
            for name in costly[:N_TRIED]:
                kept = [column for column in quasi if column not in (*removed, name)]
                tried[name] = _measure(_select(rows, kept), conditions)
                done = 1 + len(removed) * N_TRIED + len(tried)
                progress("estimating the loss", done, total)
            name = min(tried, key=lambda column: (tried[column][0], column))
            if tried[name][0] > best - LEAST_GAIN:
                break
            best, costly = tried[name]
            removed.append(name)
    return Prediction(loss, quasi, k, table.n_rows, sample.n_rows, tuple(removed), best)


def _draw_sample(table: Table, n_columns: int) -> Table:
    """Return rows of a table in their order, drawn at random but the same each time."""
    n_wanted = max(FEWEST_ROWS, MOST_CELLS // n_columns)
    if n_wanted >= table.n_rows:
        return table
    drawn = np.random.default_rng(0).choice(table.n_rows, n_wanted, replace=False)
    return replace(table, frame=table.frame.take(pa.array(np.sort(drawn))))


def _measure(rows: Rows, conditions: Conditions) -> tuple[float, list[str]]:
    """Return the loss of a quick search, and the columns, the costliest first."""
    found = Mondrian().run(rows, conditions, LocalEngine(), 0, silent)
    counted = count_tables(rows, found, conditions.k)
    loss_of = {
        hierarchy.name: describe_outcome(hierarchy.name, hierarchy, counts).loss
        for hierarchy, counts in zip(counted.hierarchies, counted.after, strict=True)
    }
    return measure_tally(counted)["loss"], sorted(loss_of, key=lambda name: (-loss_of[name], name))


def _select(rows: Rows, names: Sequence[str]) -> Rows:
    places = [rows.names.index(name) for name in names]
    hierarchies = tuple(rows.hierarchies[place] for place in places)
    return Rows(tuple(names), np.ascontiguousarray(rows.nodes[places]), hierarchies)


def _about(share: float) -> str:
    if 0.45 <= share <= 0.55:
        return f"about half ({format_share(share)})"
    return f"about {format_share(share)}"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
