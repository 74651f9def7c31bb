"""``incrowd demo``: the whole product in one command, on made-up people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.flags import Debug, Force
from incrowd.cli.terminal import progress_bar, results
from incrowd.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.flow.release import Release
    from incrowd.job.job import Job


ROLES = {
    "id": "identifying",
    "name": "identifying",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "zip": "quasi-identifying",
    "education": "quasi-identifying",
    "marital_status": "quasi-identifying",
    "diagnosis": "sensitive",
}
K, L = 5, 3
METHOD = "greedy"
"""Its loops are compiled in a few seconds, those of the default in a minute or more."""


def demo_command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder for the demo's files.")
    ] = Path("incrowd-demo"),
    rows: Annotated[int, typer.Option(min=100, help="Number of synthetic people.")] = 30_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    hospital: Annotated[
        bool,
        typer.Option(
            "--hospital",
            help="Only write sample data: three months of admissions to a German hospital.",
        ),
    ] = False,
    force: Force = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Make sample data, anonymize them, audit the release: the whole product in one command.

    [bold]Example[/bold]

        incrowd demo my-first-release
    """
    from incrowd.cli.audits import show_release
    from incrowd.flow.run import run

    console = results()
    if hospital:
        return _write_hospital(console, folder, rows, seed, force)
    job = _prepare(folder, rows, seed, force)
    assert job.data is not None
    console.rule("1. The data")
    console.print(
        f"{rows:,} made-up people in {job.data}: name, age, sex, zip, education, marital status, "
        "occupation and a diagnosis."
    )
    _show_exposure(console, job)
    console.rule("2. The promise")
    console.print(
        f"k = {K}: everybody shares age, sex, zip, education and marital status with at least "
        f"{K - 1} others.\n"
        f"l = {L}: among those, at least {L} different diagnoses, so that finding somebody's "
        "group does not tell the diagnosis.\n"
        "Name and id are removed; so is every column that has no role."
    )
    console.rule("3. The search, and the audit of the file that it wrote")
    with progress_bar() as progress:
        release = run(job, force=force, progress=progress)
    show_release(release)
    console.print(
        "A range, a shortened zip or a broader word stands for the value; * is nothing at all. "
        "Rows are sorted by their content, so that their order tells nothing.\n"
        f"All of it as a page, with what became of each column: [bold]{folder / 'report.html'}[/]"
    )
    console.rule("4. Can the audit say no?")
    _tamper(console, job, release)
    console.rule("Next")
    console.print(
        f"  incrowd check {release.path} --job {folder / 'job.toml'}\n"
        f"  incrowd run {folder / 'job.toml'} --k 10 -o {folder / 'k10.csv'}\n"
        f"  incrowd run {folder / 'job.toml'} --method cluster -o {folder / 'less.csv'}\n"
        "                                  the default search: less loss\n"
        "  incrowd init YOUR.csv           look at your own file and propose a job",
        markup=False,
    )
    return 0


def _write_hospital(console: Console, folder: Path, rows: int, seed: int, force: bool) -> int:
    from incrowd.samples import write_hospital, write_workbook

    for path in write_hospital(folder, rows, seed, force=force):
        console.print(f"{path}: {rows:,} made-up admissions")
    workbook = write_workbook(folder, rows, seed, force=force)
    console.print(f"{workbook}: the same as an Excel workbook, a sheet per month")
    return 0


def _prepare(folder: Path, rows: int, seed: int, force: bool) -> Job:
    """Write the sample, its hierarchies and the job file; return the job."""
    from incrowd.guarantees.tables.k_anonymity import KAnonymity
    from incrowd.job.job import Job
    from incrowd.samples import write_sample
    from incrowd.workspace import write_atomically

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is not a folder", remedy="Name another one.")
    job_file = folder / "job.toml"
    if job_file.exists() and not force:
        raise InputError(
            f"{folder}: an earlier demo is there", remedy="Name another folder, or say --force."
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_sample(folder, rows, seed, force=force)
    mapping = {
        "data": "census.csv",
        "output": "census.release.csv",
        "roles": ROLES,
        "hierarchies": {
            "age": {"intervals": [5, 10, 20]},
            "zip": {"prefix": True},
            "education": "hierarchies/education.csv",
            "marital_status": "hierarchies/marital_status.csv",
        },
        "guarantee": {"name": KAnonymity.name, "k": K, "l": L},
        "method": {"name": METHOD, "metric": "loss"},
    }
    job = Job.from_mapping(mapping, folder)
    write_atomically(job_file, job.to_toml(folder), force=force)
    shown = replace(job.release, report=str(folder / "report.html"))
    return replace(job, release=shown)


def _show_exposure(console: Console, job: Job) -> None:
    from incrowd.engines.base import N_ROWS
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.tables.files.read import read_table

    assert job.data is not None
    table = read_table(job.data)
    engine = LocalEngine()
    sizes = engine.count(engine.load(table.frame), job.schema.quasi).column(N_ROWS).to_numpy()
    alone = int((sizes == 1).sum())
    console.print(
        f"[bold]{alone:,} of them ({100 * alone / table.n_rows:.0f}%) stand alone[/bold]: nobody "
        "else has the same age, sex, zip, education and marital status. Whoever knows these five "
        "things of a person can read the diagnosis."
    )


def _tamper(console: Console, job: Job, release: Release[None]) -> None:
    """Give one released row its original's age back and check again."""
    import pyarrow as pa

    from incrowd.api import check
    from incrowd.tables.files.read import read_table

    assert release.path is not None
    table = read_table(release.path)
    ages = table.frame.column("age").to_pylist()
    ages[0] = "1 year and a day"
    frame = table.frame.set_column(
        table.frame.column_names.index("age"), "age", pa.array(ages, pa.string())
    )
    audit = check(frame, job.guarantee, job.schema)
    verdict = "holds" if audit.holds else "does not hold"
    console.print(
        f"One cell of one row changed, and the check answers: [bold red]{verdict}[/bold red] "
        f"({audit.broken[0].summary})."
        if audit.broken
        else "One cell was changed and the check still holds: please report this."
    )
