"""Transactions whose rows stay on an engine, larger than memory or on Spark: steps in the flow.

Items are numbered while the file streams to the engine; rules are counted there in rounds, every
block is generalized where it is, and the rows come back in the order of their content, a block at a
time, to be written. What was written streams to the engine once more and is audited by sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.transactions import OwnersRows, examine_transactions
from incrowd.engines.base import N_ROWS, Blocks, OutOfCoreEngine
from incrowd.engines.items import ItemRows
from incrowd.errors import DataError
from incrowd.flow.adapter import Candidate, Checked
from incrowd.flow.outputs import Target
from incrowd.flow.overview import overview_of_transactions
from incrowd.flow.publication import Publication
from incrowd.flow.sets import SetFile, WrittenSets
from incrowd.flow.transactions import read_roles, read_stated_rules, save_rules, write_mapping
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.transactions.promises import RuleProtection
from incrowd.job.job import Job
from incrowd.methods.base import TransactionMethod
from incrowd.methods.shared.item_parts import FoundParts, RuleConditions
from incrowd.progress import Progress
from incrowd.sets.build import sort_in_rows
from incrowd.sets.format import SetOptions, format_of_path, released_graph
from incrowd.sets.order import content_keys
from incrowd.sets.packed import packed, unpack
from incrowd.sets.sets import Sets
from incrowd.sets.stream import ROW_NAMES, Rows, RowStream, write_stream
from incrowd.transactions.generalized import label_parts
from incrowd.transactions.rules import Rules
from incrowd.workspace import Workspace

# what rows are sorted by (``sets.order.content_keys``), then the rows themselves
_RELEASED = pa.schema(
    [
        *((f"first{place}", pa.int32()) for place in range(4)),
        *((f"hash{place}", pa.int64()) for place in range(2)),
        ("items", pa.binary()),
    ]
)

_AGAIN = pa.schema([("n", pa.int64())])

ROWS_AT_ONCE = 1 << 16
"""So many sorted rows are here at once on their way to a file."""

N_SAMPLED = 1000
"""The first rows of a release, for what a terminal shows of it."""


@dataclass(frozen=True, eq=False)
class OriginalRows:
    """Transactions on an engine, and what was found on reading them."""

    rows: ItemRows
    notes: list[str]


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Transactions on an engine, the rules to protect, and which items are sensitive."""

    rows: ItemRows
    rules: Rules
    is_sensitive: NDArray[np.bool_]
    weight: NDArray[np.float64]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Generalized rows on an engine; ``labels`` are their items, in order."""

    engine: OutOfCoreEngine
    blocks: Blocks
    labels: pa.Array

    def in_order(self) -> Iterator[Rows]:
        """Yield rows in the order of their content."""
        for table in self.engine.iter_sorted(self.blocks, ROWS_AT_ONCE):
            yield unpack(table.column("items"))


@dataclass(frozen=True, eq=False)
class RereadRows:
    """A written release on the engine, whether its file is in order, and the first of its rows."""

    rows: ItemRows
    is_in_order: bool
    sample: Sets


class OutOfCoreTransactionAdapter:
    """The steps of the flow for transactions whose rows stay on an engine."""

    def __init__(self, job: Job, engine: OutOfCoreEngine, store: OutOfCoreTransactions) -> None:
        self.job, self.engine, self.store = job, engine, store
        self.guarantee = cast(RuleProtection, job.guarantee)

    def encode(self, original: OriginalRows, progress: Progress) -> EncodedRows:
        """Find which items are sensitive, what each weighs, and the rules to protect."""
        del progress
        rows = original.rows
        is_sensitive, weight, notes = read_roles(self.job, rows.names, needs_rules=True)
        rules, more = read_stated_rules(self.job, rows.names, is_sensitive)
        return EncodedRows(rows, rules, is_sensitive, weight, [*original.notes, *notes, *more])

    def search(self, encoded: EncodedRows, progress: Progress) -> FoundParts:
        """Split the public items into parts while rules hold, counted in rounds."""
        guarantee = self.guarantee
        conditions = RuleConditions(
            guarantee.k, guarantee.confidence, encoded.rules, encoded.is_sensitive, encoded.weight
        )
        method = cast(TransactionMethod, self.job.method)
        return method.search_rows(encoded.rows, conditions, progress)

    def decode(
        self, encoded: EncodedRows, found: FoundParts
    ) -> Candidate[ReleasedRows, OwnersRows]:
        """Put parts in the places of items, block by block where rows are."""
        rows, is_sensitive = encoded.rows, encoded.is_sensitive
        labels, new_of_item = label_parts(
            rows.names, rows.support > 0, found.part_of_item, is_sensitive
        )
        released = rows.map_rows(_Generalize(new_of_item, len(labels)), _RELEASED)
        names = rows.names.to_pylist()
        sensitive = frozenset(str(names[item]) for item in np.flatnonzero(is_sensitive).tolist())
        return Candidate(
            ReleasedRows(self.engine, released, labels),
            replace(self.job, method=replace(self.job.method, **found.settings)),
            OwnersRows(rows, encoded.rules, sensitive, is_sensitive, encoded.weight),
            figures={"split_skewness": found.tree.skewness, **found.figures},
            notes=tuple(encoded.notes),
        )

    def audit(self, candidate: Candidate[ReleasedRows, OwnersRows], reread: RereadRows) -> Checked:
        """Check the transactions as they were read back, by sums where they lie."""
        findings, losses = examine_transactions(
            self.guarantee, reread.rows, candidate.evidence, is_in_order=reread.is_in_order
        )
        overview = overview_of_transactions(reread.sample, losses)
        return Checked(findings, reread.rows.n_rows, losses, overview=overview)

    def reading(self, candidate: Candidate[ReleasedRows, OwnersRows]) -> Reading:
        """Return how a stranger reads the release, for its certificate."""
        del candidate
        return Reading(graph=released_graph(self.job.sets.graph))

    def findings_on_file(
        self, candidate: Candidate[ReleasedRows, OwnersRows], reread: RereadRows, audit: Audit
    ) -> list[Finding]:
        """Rules are the owner's: of those nothing is found on a file alone."""
        del candidate, reread, audit
        return []

    def material(self, candidate: Candidate[ReleasedRows, OwnersRows], reread: RereadRows) -> None:
        """A report looks at all rows together: there is none."""
        del candidate, reread

    def private_files(
        self,
        candidate: Candidate[ReleasedRows, OwnersRows],
        reread: RereadRows,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """Write the protected rules where the job asks for it."""
        del reread, audit
        save_rules(self.job, candidate.evidence.rules, publication)


@dataclass(frozen=True, eq=False)
class _Generalize:
    """Turn rows of items into rows of released items, with what they are sorted by."""

    new_of_item: NDArray[np.int32]
    n_new: int

    def __call__(self, starts: NDArray[np.int64], items: NDArray[np.int32]) -> pa.Table:
        from incrowd.transactions.kernels import replace_items

        starts, items = replace_items(starts, items, self.new_of_item, self.n_new)
        keys = content_keys(Sets(starts, items, self.n_new))
        columns = [_signed(key) if key.dtype == np.uint64 else key for key in keys]
        return pa.table([*map(pa.array, columns), packed(starts, items)], schema=_RELEASED)


def _signed(key: NDArray[Any]) -> NDArray[np.int64]:
    """Return 64-bit numbers without a sign as ones with a sign, in the same order."""
    signed: NDArray[np.int64] = (key ^ np.uint64(1 << 63)).view(np.int64)
    return signed


class OutOfCoreTransactions(SetFile):
    """A file or folder of lists that streams to an engine, released to a file of this machine."""

    def __init__(
        self,
        job: Job,
        target: Target,
        engine: OutOfCoreEngine,
        workspace: Workspace,
    ) -> None:
        super().__init__(job, target, workspace)
        self.engine = engine
        self.labels = pa.array([], pa.string())

    def read(self) -> OriginalRows:  # type: ignore[override]
        """Send the rows to the engine as they are read."""
        stream = RowStream(self.data, self.options)
        rows = ItemRows.of_stream(self.engine, stream)
        self.format = stream.format
        if stream.format.row_column:
            self._refuse_equal_names(stream)
        return OriginalRows(rows, stream.notes)

    def _refuse_equal_names(self, stream: RowStream) -> None:
        """Raise where two rows have one name; names are counted on the engine."""
        engine = self.engine
        names = engine.load_tables(stream.row_names(), ROW_NAMES)
        counted = engine.count_in_place(names, ["row"])
        again = engine.collect(engine.map_blocks(counted, _count_again, _AGAIN))
        n_again = sum(again.column("n").to_pylist())
        if n_again:
            raise DataError(
                f"{self.data}, column {stream.format.row_column!r}: {n_again:,} rows have the name "
                "of another row",
                remedy="Give every row a name of its own, or join their lists.",
            )

    def write(self, data: ReleasedRows) -> WrittenSets:  # type: ignore[override]
        """Write rows in the order of their content to a file that only this run sees."""
        stored = format_of_path(self.output, self.format)
        path = self.workspace.file("release" + "".join(self.output.suffixes[-2:]))
        self.labels = data.labels
        write_stream(data.labels, data.in_order, path, stored)
        return WrittenSets([path, write_mapping(data.labels, path)], stored)

    def reread(self, written: WrittenSets) -> RereadRows:  # type: ignore[override]
        """Send the release to the engine as a stranger would read it."""
        options = written.stored.options(released_graph(self.job.sets.graph))
        stream = _ReadBack(written.files[0], options, self.labels)
        rows = ItemRows.of_stream(self.engine, stream)
        return RereadRows(rows, stream.is_in_order, stream.sample)

    def hashes(self, written: WrittenSets, reread: Any, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of both."""
        return super().hashes(written, cast(Sets, reread), n_rows)


def _count_again(counts: pa.Table) -> pa.Table:
    """Return how many rows have the name of another one, by how often names occur."""
    n_again = counts.column(N_ROWS).to_numpy().sum() - counts.num_rows
    return pa.table({"n": [int(n_again)]}, schema=_AGAIN)


class _ReadBack(RowStream):
    """A written release as it is read: whether its rows stand in the order of their content."""

    def __init__(self, path: Path, options: SetOptions, labels: pa.Array) -> None:
        super().__init__(path, options)
        names = [str(name) for name in labels.to_pylist()]
        self._place_of_label = {name: place for place, name in enumerate(names)}
        self._shown_names = pa.array([*names, "?"])  # the last is of labels that nobody wrote
        self._last: Sets | None = None
        self.is_in_order = True
        self.sample = Sets(np.zeros(1, np.int64), np.empty(0, np.int32), 0)

    def blocks(self) -> Iterator[Rows]:
        """Yield rows, and compare each with the one before it."""
        n_labels = len(self._place_of_label)
        for starts, items in super().blocks():
            place_of_code = np.array(
                [self._place_of_label.get(str(name), n_labels) for name in self.names_so_far],
                dtype=np.int32,
            )
            places = place_of_code[items]
            sort_in_rows(starts, places)
            placed = Sets(starts, places, n_labels + 1, item_names=self._shown_names)
            if self._last is None:
                self.sample = placed.take(np.arange(min(N_SAMPLED, placed.n_rows)))
            self._compare(placed)
            yield starts, items

    def _compare(self, rows: Sets) -> None:
        if self._last is not None:
            last = self._last
            starts = np.concatenate([last.starts, last.starts[-1] + rows.starts[1:]])
            rows = Sets(starts, np.concatenate([last.items, rows.items]), rows.n_items)
        self._last = rows.take(np.array([rows.n_rows - 1]))
        is_equal = np.ones(max(0, rows.n_rows - 1), dtype=np.bool_)
        for key in content_keys(rows):
            self.is_in_order &= not bool((is_equal & (key[1:] < key[:-1])).any())
            is_equal &= key[1:] == key[:-1]
