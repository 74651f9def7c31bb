"""Where a job's files go: guarded before anything is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.data.write import format_of_path
from incrowd.errors import InputError, JobError
from incrowd.job import Job
from incrowd.set_job import SetJob
from incrowd.workspace import exists, write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def guarded_paths(job: Job, force: bool) -> tuple[Path, Path]:
    """Return a table job's input and output, refused before anything is read."""
    data, output = guarded_outputs(
        job, [spec.path for spec in job.hierarchies.values() if spec.path], force
    )
    format_of_path(output)
    return data, output


def guarded_outputs(
    job: Job | SetJob, further: list[Path], force: bool, *, also_written: str | None = None
) -> tuple[Path, Path]:
    """Return a job's input and output; nothing that it writes may overwrite what it reads.

    Besides the release that is the key, and a file that is ``also_written``.
    """
    if job.data is None:
        raise JobError("the job names no data", remedy='Write data = "file.csv" in it.')
    data = job.data
    output = job.output or default_output(data)
    if not output.parent.is_dir():
        raise InputError(f"{output.parent}: no such folder", remedy="Make it, or change -o.")
    if output.is_dir():
        raise InputError(f"{output}: is a folder", remedy="Name a file with -o.")
    written = [output, *(Path(path) for path in (job.release.key, also_written) if path)]
    inputs = [data, *further]
    for path in written:
        for source in inputs:
            if path.exists() and source.exists() and path.samefile(source):
                raise InputError(
                    f"{path}: the output is an input of the job",
                    remedy="Inputs are never modified: name another file with -o.",
                )
        if path.exists() and not force:
            raise exists(path)
    if job.release.key and not force:
        key = Path(job.release.key)
        if key.resolve().parent == output.resolve().parent:
            raise InputError(
                f"{key}: the key would lie in the release's folder",
                remedy="The key undoes the release: write it elsewhere, or say --force.",
            )
    return data, output


def default_output(data: Path) -> Path:
    """Return ``census.release.csv.gz`` for ``census.csv.gz``."""
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
