"""Where a job's files go: guarded before anything is read."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.data.locations import Location, is_address, is_folder, name_of
from incrowd.data.table import SUFFIXES, Format
from incrowd.data.write import format_of_path
from incrowd.errors import InputError, JobError
from incrowd.job import Job
from incrowd.set_job import SetJob
from incrowd.workspace import exists, write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Target:
    """What a job reads and writes: files or folders of this machine, or addresses."""

    data: Location
    output: Location

    @property
    def is_folder(self) -> bool:
        """Whether the release is a folder of part files."""
        return isinstance(self.output, str)

    @property
    def beside(self) -> Path:
        """The folder in which what is private to the run lies meanwhile."""
        if is_address(self.output):
            return Path(tempfile.gettempdir())
        return Path(self.output).absolute().parent

    def format_like(self, like: Format) -> Format:
        """Return the format of part files: what the folder's name ends in, or as the data's."""
        path = Path(name_of(self.output))
        plain = replace(like, encoding="utf-8", compression="")
        return format_of_path(path, plain) if path.suffix.lower() in SUFFIXES else plain


def target_of(job: Job, force: bool) -> Target:
    """Return a table job's input and output, refused before anything is read."""
    read = [spec.path for spec in job.hierarchies.values() if spec.path]
    data, output = _guarded(job, read, force, None)
    if isinstance(output, Path):
        format_of_path(output)
    return Target(data, output)


def guarded_outputs(
    job: SetJob, further: list[Path], force: bool, *, also_written: str | None = None
) -> tuple[Path, Path]:
    """Return a job's input, a file or a folder of part files, and its output, a file; nothing that
    it writes may overwrite what it reads.

    Besides the release that is the key, and a file that is ``also_written``.
    """
    data, output = _guarded(job, further, force, also_written)
    if is_address(data):
        raise InputError(
            f"{data}: sets are read from files and folders of this machine",
            remedy="Fetch it, and name the file or the folder.",
        )
    if isinstance(output, str):
        raise InputError(
            f"{output}: a release of sets is one file of this machine",
            remedy="Name a file with -o, such as -o release.dat.",
        )
    return Path(data), output


def _guarded(
    job: Job | SetJob, further: list[Path], force: bool, also_written: str | None
) -> tuple[Location, Location]:
    if job.data is None:
        raise JobError("the job names no data", remedy='Write data = "file.csv" in it.')
    data = job.data
    output = job.output if job.output is not None else default_output(data)
    written = [Path(path) for path in (job.release.key, also_written) if path]
    written += job.release.written_files
    if isinstance(job, Job) and job.release.save_policy:
        written.append(Path(job.release.save_policy))
    if not is_address(output):
        path = Path(output)
        if not path.absolute().parent.is_dir():
            raise InputError(f"{path.parent}: no such folder", remedy="Make it, or change -o.")
        if isinstance(output, Path) and path.is_dir():
            raise InputError(
                f"{output}: is a folder",
                remedy="Name a file with -o, or end the name in / for a folder of part files.",
            )
        written.insert(0, path)
    inputs = [Path(source) for source in (data, *further) if not is_address(source)]
    for path in written:
        for source in inputs:
            if path.exists() and source.exists() and path.samefile(source):
                raise InputError(
                    f"{path}: the output is an input of the job",
                    remedy="Inputs are never modified: name another file with -o.",
                )
            if source.is_dir() and source.resolve() in path.resolve().parents:
                raise InputError(
                    f"{path}: the output would lie among the data",
                    remedy="Inputs are never modified: name another folder with -o.",
                )
        if path.exists() and not force:
            raise exists(path)
    if job.release.key and not force and written:
        key = Path(job.release.key)
        if key.resolve().parent == written[0].resolve().parent:
            raise InputError(
                f"{key}: the key would lie in the release's folder",
                remedy="The key undoes the release: write it elsewhere, or say --force.",
            )
    return data, output


def default_output(data: Location) -> Location:
    """Return ``census.release.csv.gz`` for ``census.csv.gz``, and ``people.release/`` for a
    folder ``people``."""
    if is_folder(data):
        return str(data).rstrip("/") + ".release" + ("" if is_address(data) else "/")
    data = Path(data)
    suffixes = data.suffixes[-2:] if data.suffix in (".gz", ".zst") else data.suffixes[-1:]
    ending = "".join(suffixes)
    return data.with_name(data.name.removesuffix(ending) + ".release" + ending)


@contextmanager
def key_written(
    path: str | None, original_row: NDArray[np.int64], *, force: bool
) -> Iterator[None]:
    """Have the private key in its place before the release is; take it back if that fails.

    Its lines say who is which released row, both numbered from 1.
    """
    if path is None:
        yield
        return
    lines = ["released_row,original_row"]
    lines += [f"{row + 1},{original + 1}" for row, original in enumerate(original_row.tolist())]
    write_whole(Path(path), "\n".join(lines) + "\n", force=force, private=True)
    try:
        yield
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
