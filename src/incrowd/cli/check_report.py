"""The page of a check, and what figures of a checked release are made of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import InputError
from incrowd.tables.locations import Location

if TYPE_CHECKING:
    from incrowd.checking.material import Material
    from incrowd.cli.check_sets import CheckedSets
    from incrowd.cli.check_tables import CheckedTable


def refuse_report(path: Path, force: bool, read: Iterable[Location | None]) -> None:
    """Raise before anything is read where a report cannot be written."""
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.workspace import output_exists_error

    refuse_overwriting([path], read)
    if path.suffix != ".html":
        raise InputError(f"{path}: does not end in .html", remedy="State --report report.html.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.parent}: no such folder", remedy="Make it first.")
    if path.exists() and not force:
        raise output_exists_error(path)


def files_of_job(path: Path | None) -> list[Location]:
    """Return the files that a job names for a run to read."""
    from incrowd.flow.outputs import files_read
    from incrowd.job.build import read_mapping
    from incrowd.job.job import Job

    return [] if path is None else files_read(Job.from_mapping(read_mapping(path), path.parent))


def write_report(path: Path, checked: CheckedTable | CheckedSets, force: bool) -> None:
    """Write the owner's page of a check, for the owner's eyes: it may show values."""
    from incrowd.figures.pages import owner_page
    from incrowd.report.render import render
    from incrowd.workspace import write_atomically

    page = owner_page(checked.audit, None, material_of(checked))
    write_atomically(path, render(page), force=force, private=True)


def material_of(checked: CheckedTable | CheckedSets) -> Material:
    """Return what figures are made of, with the original where its owner brought it and the key."""
    from incrowd.checking.material import OwnSets, SetMaterial
    from incrowd.cli.check_sets import CheckedSets

    if not isinstance(checked, CheckedSets):
        return _of_table(checked)
    evidence = checked.evidence
    own = None
    if evidence.original is not None and evidence.original_row is not None:
        own = OwnSets(
            evidence.original, evidence.original_row, evidence.original_item, evidence.k_of_row
        )
    return SetMaterial(evidence.released, own)


def _of_table(checked: CheckedTable) -> Material:
    from incrowd.checking.material import OwnTable, TableMaterial
    from incrowd.checking.tables import released_rows
    from incrowd.encoding.encode import encode

    owner, released, schema = checked.owner, checked.released, checked.schema
    if owner is None or owner.original_row is None or checked.has_broken_key:
        return TableMaterial(released, schema)
    before, _ = encode(owner.original, schema.quasi, checked.specs, checked.codings)
    after = released_rows(before, released, owner.original_row)
    own = OwnTable(owner.original, owner.original_row, before, after, owner.k_of_row)
    return TableMaterial(released, schema, own)
