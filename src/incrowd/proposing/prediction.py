"""What a release would lose, by a quick search on a sample, and which columns cost most.

An estimate: Mondrian takes a fraction of the time of the default search and loses more, and more
rows lose less than a sample of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import JobError
from incrowd.flow.tables import TableAdapter, TableFrame
from incrowd.job.job import Job
from incrowd.measures.losses.tables import count_tables, measure_tally
from incrowd.measures.outcomes import describe_outcome, format_share
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import Progress, report_compilation, silent
from incrowd.tables.table import Table

MOST_CELLS = 300_000
"""Quasi-identifying cells of the sample."""

FEWEST_ROWS = 2_000
"""Rows that are sampled however many columns there are."""

MUCH = 0.15
"""From this loss on, columns are looked for without which less would be lost."""

MOST_REMOVED = 4
"""How many columns are left out at most."""

N_COSTLIEST, N_FINEST = 2, 2
"""Each is the best of so many that lose most, and of so many that tell most about a row."""

LEAST_GAIN = 0.02
"""Leaving columns out is worth telling if the loss falls by this much for each of them."""

LEAST_GAIN_IN_DOUBT = 0.1
"""The same of all columns together that are in doubt."""


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

    Where much is lost and many columns are ``in_doubt``, these are left out together; else a few
    columns one after another, each time the likely one whose absence helps most. At most 18
    searches on 300,000 cells. Raises as a run does where a hierarchy does not fit the table or
    nothing can satisfy the job.
    """
    quasi = job.schema.quasi
    if not quasi:
        raise JobError("no column is quasi-identifying", remedy="Name those that others may know.")
    if table.n_rows == 0:
        return None
    sample = _draw_sample(table, len(quasi))
    rows, conditions = encode_for(sample, job)
    with report_compilation(progress, Mondrian.n_kernels):
        loss, costly = _measure(rows, conditions)
        removed: tuple[str, ...] = ()
        best = loss
        doubtful = [name for name in quasi if name in in_doubt]
        if loss > MUCH and MOST_REMOVED < len(doubtful) < len(quasi):
            kept = [name for name in quasi if name not in doubtful]
            removed, best = tuple(doubtful), _measure(_select(rows, kept), conditions)[0]
        if loss > MUCH and best > loss - LEAST_GAIN_IN_DOUBT:
            removed, best = _leave_out(rows, conditions, loss, costly, progress)
    return Prediction(loss, quasi, conditions.k, table.n_rows, sample.n_rows, removed, best)


def encode_for(table: Table, job: Job) -> tuple[Rows, Conditions]:
    """Return a table's quasi-identifiers and what groups must meet, as a run of the job has them.

    Raises as the run does where something does not fit.
    """
    engine, job = LocalEngine(), replace(job, method=Mondrian())
    adapter = TableAdapter(job, engine, TableFrame(job, table.frame, engine))
    encoded = adapter.encode(table, silent)
    return encoded.view.rows, encoded.conditions


def _leave_out(
    rows: Rows, conditions: Conditions, loss: float, costly: Sequence[str], progress: Progress
) -> tuple[tuple[str, ...], float]:
    """Return the few columns without which least is lost, and that loss; none if it gains little.

    One column after another: single ones may gain nothing where several do.
    """
    finest = _finest(rows)
    kept, best = list(rows.names), loss
    removed: list[str] = []
    found: tuple[tuple[str, ...], float] = ((), loss)
    total = MOST_REMOVED * (N_COSTLIEST + N_FINEST)
    while len(removed) < MOST_REMOVED and len(kept) > 1 and best > MUCH:
        likely = [*costly[:N_COSTLIEST], *[name for name in finest if name in kept][:N_FINEST]]
        tried: dict[str, tuple[float, list[str]]] = {}
        for name in dict.fromkeys(likely):
            progress(
                "estimating the loss", len(removed) * total // MOST_REMOVED + len(tried), total
            )
            others = [column for column in kept if column != name]
            tried[name] = _measure(_select(rows, others), conditions)
        name = min(tried, key=lambda column: (tried[column][0], column))
        best, costly = tried[name]
        removed.append(name)
        kept.remove(name)
        if best <= loss - LEAST_GAIN * len(removed) and best < found[1]:
            found = (tuple(removed), best)
    return found


def _finest(rows: Rows) -> list[str]:
    """Return the columns by how much they tell about a row (entropy), the most first."""
    bits = {}
    for name, nodes in zip(rows.names, rows.nodes, strict=True):
        share = np.bincount(nodes) / rows.n_rows
        share = share[share > 0]
        bits[name] = -float((share * np.log2(share)).sum())
    return sorted(bits, key=lambda name: (-bits[name], name))


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
