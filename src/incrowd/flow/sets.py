"""Sets (lists, sparse matrices, graphs): their steps in the flow, and where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.audit import Audit
from incrowd.checking.certificates import Reading
from incrowd.checking.material import Material, OwnSets, SetMaterial
from incrowd.engines.base import Engine
from incrowd.engines.folders import hash_location
from incrowd.errors import InputError
from incrowd.flow.adapter import Candidate, Checked
from incrowd.flow.outputs import Target
from incrowd.flow.overview import overview_of_sets
from incrowd.flow.publication import Publication
from incrowd.guarantees.evidence import Finding
from incrowd.guarantees.sets.differential_privacy import (
    SEEDED_NOISE,
    SYSTEM_NOISE,
    EdgeDp,
    NodeDp,
    NoiseRecord,
)
from incrowd.guarantees.sets.promises import Majority, SetEvidence, Smooth, Suppression
from incrowd.job.job import Job
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.base import NoiseMethod, SetMethod
from incrowd.methods.shared.set_groups.vote import SetConditions, show_by_groups
from incrowd.progress import Progress
from incrowd.sets.files import read_set_file, read_sets, write_sets
from incrowd.sets.format import (
    PAIRS,
    SetFormat,
    SetOptions,
    format_of_path,
    released_graph,
    storage_in,
)
from incrowd.sets.format import SetFile as ReadSets
from incrowd.sets.order import (
    apply_universe,
    canonical_order,
    draw_node_order,
    drop_row_names,
    read_row_k,
    reorder_nodes,
    symmetrize,
)
from incrowd.sets.sets import BIPARTITE, IN_MEMORY, UNDIRECTED, EntryStorage, Sets
from incrowd.tables.locations import Location, is_address
from incrowd.workspace import Workspace, file_hash


@dataclass(frozen=True, eq=False)
class EncodedSets:
    """Sets as a method searches them, each row's own k where it is stated, and notes."""

    original: Sets
    k_of_row: NDArray[np.int32] | None
    notes: list[str]


@dataclass(frozen=True, eq=False)
class FoundSets:
    """Sets as a method made them: row r of the input shows row ``row_of[r]`` of ``shown``.

    Without ``row_of`` rows are as they came. ``noise`` says how they were drawn, if they were.
    """

    shown: Sets
    row_of: NDArray[np.int32] | None
    figures: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]
    noise: NoiseRecord | None = None


@dataclass(frozen=True, eq=False)
class OwnersSets:
    """What the audit of released sets holds them against."""

    original: Sets
    original_item: NDArray[np.int64] | None
    k_of_row: NDArray[np.int32] | None
    noise: NoiseRecord | None


class SetAdapter:
    """The steps of the flow for sets: groups are found, and each shows what its rows vote for."""

    def __init__(self, job: Job, engine: Engine, store: SetFile | SetFrame) -> None:
        self.job, self.engine, self.store = job, engine, store
        self.storage = store.storage

    def encode(self, original: ReadSets, progress: Progress) -> EncodedSets:
        """Add the stated items and personal k; refuse what no release could satisfy."""
        del progress
        job, sets = self.job, original.sets
        if job.sets.items:
            sets = apply_universe(sets, job.sets.items, self.storage)
        k_of_row = read_row_k(job.sets.row_k, sets) if job.sets.row_k else None
        guarantee = job.guarantee
        if isinstance(guarantee, Smooth | Majority | Suppression):
            guarantee.refuse_infeasible(sets.n_rows, k_of_row)
        self._require_room(sets)
        return EncodedSets(sets, k_of_row, list(original.notes))

    def _require_room(self, sets: Sets) -> None:
        """Refuse a search that would take more memory than it may."""
        method = self.job.method
        if not isinstance(method, SetMethod) or not method.works_in_chunks:
            others = ", or use --method cluster" if isinstance(method, SetMethod) else ""
            self.storage.require_memory(method.name, others)
        elif self.engine.name == "local":
            chunk_rows = int(self.job.method_parameters["chunk_rows"])
            share = min(1.0, 1.5 * chunk_rows / max(1, sets.n_rows))
            n_searched = round(share * sets.n_entries)
            n_workers = self.engine.n_workers
            self.storage.require_search(sets.n_rows, sets.n_items, n_searched, n_workers)

    def search(self, encoded: EncodedSets, progress: Progress) -> FoundSets:
        """Group rows and let each group vote, or answer for every cell with noise."""
        guarantee = self.job.guarantee
        if isinstance(guarantee, EdgeDp | NodeDp):
            return self._with_noise(guarantee, encoded.original, progress)
        promised = cast("Smooth | Majority | Suppression", guarantee)
        conditions = SetConditions(
            promised.name, promised.k, promised.settled_vote, encoded.k_of_row
        )
        method = cast(SetMethod, self.job.method)
        found = method.search(
            encoded.original, conditions, self.engine, self.job.seed, progress, self.storage
        )
        shown = show_by_groups(encoded.original, found.group_of_row, conditions, self.storage)
        return FoundSets(shown, found.group_of_row, dict(found.figures), dict(found.settings), [])

    def _with_noise(
        self, guarantee: EdgeDp | NodeDp, original: Sets, progress: Progress
    ) -> FoundSets:
        """Answer for every cell with noise; what to expect of it is told before it starts."""
        method = cast(NoiseMethod, self.job.method)
        outlook = method.foresee(original, guarantee.level, guarantee.epsilon)
        expected = f"expected Jaccard similarity {outlook.expected_jaccard:.4f}"
        progress(f"drawing noise, {expected}", 0, 0)
        noisy = method.respond(original, guarantee.level, guarantee.epsilon, progress, self.engine)
        record = NoiseRecord(
            level=guarantee.level,
            epsilon=guarantee.epsilon,
            cell_epsilon=outlook.cell_epsilon,
            flip_probability=outlook.flip_probability,
            n_rows=original.n_rows,
            n_items=original.n_items,
            graph=original.graph,
            has_self_loops=method.may_have_loops,
            has_public_items=bool(self.job.sets.items) or original.graph != BIPARTITE,
            source=SEEDED_NOISE if method.is_seeded else SYSTEM_NOISE,
        )
        notes = [expected, *([outlook.warning] if outlook.warning else [])]
        return FoundSets(noisy.released, None, dict(noisy.figures), {}, notes, record)

    def decode(self, encoded: EncodedSets, found: FoundSets) -> Candidate[Sets, OwnersSets]:
        """Put rows in the order of their content, and name them by it."""
        job, original = self.job, encoded.original
        released, original_row, original_item = self._in_order(found, original)
        notes = [*encoded.notes, *found.notes]
        is_grouped = found.noise is None
        if original.graph == UNDIRECTED and job.release.symmetrize == "none" and is_grouped:
            notes.append(
                "a node's released list is its group's: u may be in v's list and v not in u's"
            )
        return Candidate(
            released,
            replace(job, method=replace(job.method, **found.settings)),
            OwnersSets(original, original_item, encoded.k_of_row, found.noise),
            original_row,
            found.figures,
            tuple(notes),
        )

    def _in_order(
        self, found: FoundSets, original: Sets
    ) -> tuple[Sets, NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the sets as written, each row's original row and, if renamed, item's item."""
        options, storage = self.job.release, self.storage
        if original.graph == BIPARTITE and not options.keep_order:
            order = canonical_order(found.shown, found.row_of)
            rows: NDArray[Any] = order if found.row_of is None else found.row_of[order]
            return drop_row_names(found.shown).take(rows, storage), order, None
        released = found.shown
        if found.row_of is not None:
            of_row = found.shown.take(found.row_of, storage)
            released = original.with_entries(of_row.starts, of_row.items)
            if options.symmetrize != "none":
                either = options.symmetrize == "either"
                released = symmetrize(released, either=either, storage=storage)
        if options.keep_order:
            order = np.arange(released.n_rows, dtype=np.int64)
            return (
                drop_row_names(released) if released.graph == BIPARTITE else released,
                order,
                None,
            )
        order = draw_node_order(released, original)
        renamed, original_item = reorder_nodes(released, order, storage)
        return renamed, order, original_item

    def audit(self, candidate: Candidate[Sets, OwnersSets], reread: Sets) -> Checked:
        """Check the sets as they were read back, with the owner's original."""
        own, guarantee = candidate.evidence, self.job.guarantee
        evidence = SetEvidence(
            released=reread,
            original=own.original,
            original_row=candidate.original_row,
            original_item=own.original_item,
            k_of_row=own.k_of_row,
            keeps_order=self.job.release.keep_order,
            columns_are_people=self.job.sets.graph != BIPARTITE,
        )
        if own.noise is not None:  # no file can be checked for differential privacy
            findings = cast("EdgeDp | NodeDp", guarantee).attest(own.noise)
        else:
            findings = cast("Smooth | Majority | Suppression", guarantee).check(evidence)
        assert candidate.original_row is not None
        losses = measure_set_losses(
            own.original,
            reread,
            original_row=candidate.original_row,
            original_item=own.original_item,
        )
        known = losses.as_dict()
        overview = overview_of_sets(reread, known)
        return Checked(findings, reread.n_rows, known, overview=overview)

    def reading(self, candidate: Candidate[Sets, OwnersSets]) -> Reading:
        """Return how a stranger reads the release, for its certificate."""
        del candidate
        return Reading(graph=released_graph(self.job.sets.graph))

    def findings_on_file(
        self, candidate: Candidate[Sets, OwnersSets], reread: Sets, audit: Audit
    ) -> list[Finding]:
        """Return what anyone finds on the file; noise and a personal k are the owner's."""
        del audit
        own, guarantee = candidate.evidence, self.job.guarantee
        if own.noise is not None or own.k_of_row is not None:
            return []
        evidence = SetEvidence(reread, columns_are_people=self.job.sets.graph != BIPARTITE)
        return cast("Smooth | Majority | Suppression", guarantee).check(evidence)

    def material(
        self, candidate: Candidate[Sets, OwnersSets], reread: Sets
    ) -> Callable[[], Material]:
        """Return what a report is computed from: the sets as reread, beside their original."""
        own, original_row = candidate.evidence, candidate.original_row
        assert original_row is not None
        owned = OwnSets(own.original, original_row, own.original_item, own.k_of_row)
        return lambda: SetMaterial(reread, owned)

    def private_files(
        self,
        candidate: Candidate[Sets, OwnersSets],
        reread: Sets,
        publication: Publication,
        audit: Audit,
    ) -> None:
        """Nothing is kept for the owner besides the key."""
        del candidate, reread, publication, audit


@dataclass(frozen=True, eq=False)
class WrittenSets:
    """The files of a release that only this run sees, the release itself first."""

    files: list[Path]
    stored: SetFormat


class SetFile:
    """Sets in a file or a folder of part files, released to a file of this machine."""

    def __init__(self, job: Job, target: Target, workspace: Workspace) -> None:
        data, output = target.data, target.output
        if is_address(data):
            raise InputError(
                f"{data}: sets are read from files and folders of this machine",
                remedy="Fetch it, and name the file or the folder.",
            )
        if target.is_folder:
            raise InputError(
                f"{output}: a release of sets is one file of this machine",
                remedy="Name a file with -o, such as -o release.dat.",
            )
        self.job, self.data, self.output = job, Path(data), Path(output)
        self.workspace = workspace
        format_of_path(self.output)
        memory = job.engine.memory_bytes
        self.storage = storage_in(workspace.folder, memory)
        self.options = job.sets.reading(job.input, memory)
        self.format = SetFormat()

    def read(self) -> ReadSets:
        """Read the sets; entries that memory has no room for lie on disk."""
        read = read_set_file(self.data, self.options, self.storage)
        self.format = read.format
        return read

    def write(self, data: Sets) -> WrittenSets:
        """Write the release and what stands beside it to files that only this run sees."""
        stored = format_of_path(self.output, self.format)
        path = self.workspace.file("release" + "".join(self.output.suffixes[-2:]))
        return WrittenSets(self._write(data, path, stored), stored)

    def _write(self, data: Sets, path: Path, stored: SetFormat) -> list[Path]:
        return write_sets(data, path, stored)

    def reread(self, written: WrittenSets) -> Sets:
        """Read the release as a stranger would, in the memory that its input had."""
        as_written = written.stored.options(released_graph(self.job.sets.graph))
        as_written = replace(as_written, memory=self.options.memory)
        return read_sets(written.files[0], as_written, self.storage)

    def hashes(self, written: WrittenSets, reread: Sets, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of both."""
        del reread, n_rows
        return file_hash(written.files[0]), hash_location(self.data)

    def publish(self, written: WrittenSets, publication: Publication) -> tuple[None, Location]:
        """Give the files their names; what stands beside a release is there before it."""
        for path in reversed(written.files):
            ending = path.name.removeprefix(written.files[0].name)
            publication.place(path, self.output.with_name(self.output.name + ending))
        return None, self.output


class SetFrame:
    """A SciPy matrix, or a frame of pairs, lists or one-hot columns, handed back as the same."""

    storage: EntryStorage = IN_MEMORY

    def __init__(self, job: Job, data: Any) -> None:
        self.job, self.data = job, data
        self.format = SetFormat()
        self.input_hash, self.n_rows = "", 0

    def read(self) -> ReadSets:
        """Take the data in."""
        from incrowd.sets.frames import sets_from_frame

        read = sets_from_frame(self.data, self.job.sets.reading(self.job.input))
        self.format, self.n_rows = read.format, read.sets.n_rows
        self.input_hash = _hash(read.sets)
        return read

    def write(self, data: Sets) -> Any:
        """Make the kind of data that came in."""
        from incrowd.sets.frames import sets_to_frame

        return sets_to_frame(data, self.format)

    def reread(self, written: Any) -> Sets:
        """Take in what will be handed out."""
        from incrowd.sets.frames import sets_from_frame

        stored = self.format
        has_all_rows = stored.kind == "scipy" or stored.layout != PAIRS
        rows = None if has_all_rows else range(self.n_rows)
        columns = stored.row_column or None, stored.item_column or None
        layout = None if stored.kind == "scipy" else stored.layout
        reading = SetOptions(released_graph(self.job.sets.graph), layout, *columns)
        return sets_from_frame(written, reading, rows=rows).sets

    def hashes(self, written: Any, reread: Sets, n_rows: int) -> tuple[str, str]:
        """Return the SHA-256 of the entries of both."""
        del written, n_rows
        return _hash(reread), self.input_hash

    def publish(self, written: Any, publication: Publication) -> tuple[Any, None]:
        """Hand the data out."""
        del publication
        return written, None


def _hash(sets: Sets) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(sets.starts).data)
    digest.update(np.ascontiguousarray(sets.items).data)
    return digest.hexdigest()
