"""A release and everything written beside it get their names together, or none of them does.

If one file cannot get its name, those that were placed before it are taken back, and what they
overwrote (with ``--force``) is brought back.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from incrowd.checking.certificates import (
    Reading,
    commit_to,
    owner_certificate,
    public_certificate,
    read_private_key,
    sign,
    to_text,
)
from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding
from incrowd.job.documents import Documents
from incrowd.job.job import Job
from incrowd.tables.columns.types import labels_of
from incrowd.tables.locations import location_name
from incrowd.workspace import Workspace, output_exists_error, publish

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from incrowd.audit import Audit
    from incrowd.checking.material import Material


KEY_COLUMNS = ("released_row", "original_row")
"""The columns of a key file that number rows, from 1."""


class Publication:
    """Files that are given their names one after the other; a failure undoes all of them."""

    def __init__(self, *, force: bool) -> None:
        self.force = force
        self._workspaces: dict[Path, Workspace] = {}
        self._open = ExitStack()
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Publication:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._open:  # whatever happens, nothing temporary stays
            if kind is not None:
                for undo in reversed(self._undo):
                    undo()

    def write(self, path: Path, content: str | bytes, *, private: bool = False) -> None:
        """Write a small file; a private one is for the owner alone."""
        temporary = self._beside(path).file(f"new-{len(self._undo)}")
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        self.place(temporary, path, private=private)

    def place(self, temporary: Path, final: Path, *, private: bool = False) -> None:
        """Give a finished file its name, over an existing one only by force."""
        old = self._beside(final).folder / f"old-{len(self._undo)}"
        if self.force and final.exists():
            _link_or_copy(final, old)
        new = temporary.stat().st_ino

        def undo() -> None:
            if old.exists():
                old.replace(final)
            elif final.exists() and final.stat().st_ino == new:
                final.unlink()

        # before the file gets its name: Ctrl-C may come at any moment
        self._undo.append(undo)
        publish(temporary, final, force=self.force, private=private)

    def place_folder(
        self, make: Callable[[Path], object], final: Path, is_replaceable: Callable[[Path], bool]
    ) -> None:
        """Make a private folder and give it its name, over a replaceable one only by force."""
        beside = self._beside(final).folder
        new, old = beside / f"new-{len(self._undo)}", beside / f"old-{len(self._undo)}"
        new.mkdir(mode=0o700)
        make(new)
        if final.exists():
            if not self.force:
                raise output_exists_error(final)
            if not is_replaceable(final):
                raise InputError(
                    f"{final}: not a folder that incrowd wrote", remedy="Name another folder."
                )
            final.rename(old)
        new.rename(final)

        def undo() -> None:
            final.rename(new)
            if old.exists():
                old.rename(final)

        self._undo.append(undo)

    def _beside(self, path: Path) -> Workspace:
        """Return this publication's private folder beside a path."""
        parent = path.absolute().parent
        if parent not in self._workspaces:
            self._workspaces[parent] = self._open.enter_context(Workspace(parent))
        return self._workspaces[parent]


def _link_or_copy(path: Path, kept: Path) -> None:
    """Keep what a file holds under another name: by a link, or a copy where there are none."""
    try:
        kept.hardlink_to(path)
    except OSError:
        shutil.copy2(path, kept)
        kept.chmod(path.stat().st_mode & 0o7777)


@dataclass(frozen=True, eq=False)
class DocumentSource:
    """All that documents may tell of a release.

    ``findings_on_file`` finds again what anyone can find on the released file alone. ``job`` makes
    the release again. ``material`` gives what a report is computed from; None where rows are not
    in this process: no report then.
    """

    audit: Audit
    job: Job
    findings_on_file: Callable[[], Iterable[Finding]]
    reading: Reading
    material: Callable[[], Material] | None = None

    def appraised(self, stated: Documents) -> DocumentSource:
        """Return the source with the risk and the use of the release, where documents ask for it.

        The audit that is handed out has these findings too: what a page shows is in it.
        """
        if self.material is None or not (stated.report or stated.certificate):
            return self
        from incrowd.checking.material import appraise

        material = self.material()
        return replace(self, audit=appraise(self.audit, material), material=lambda: material)


def place_documents(publication: Publication, stated: Documents, source: DocumentSource) -> None:
    """Write the report, the certificate, its signature and the commitment's key, as stated."""
    wants_public = "public" in (
        stated.report_for if stated.report else "",
        stated.certificate_for if stated.certificate else "",
    )
    key = secrets.token_bytes(32)
    commitment = commit_to(source.audit.input_sha256, key) if stated.commitment_key else ""
    public = {}
    if wants_public:
        findings = source.findings_on_file()
        public = public_certificate(
            source.audit, source.reading, findings, commitment, stated.words
        )
    page = ""
    if stated.report:  # the likeliest to fail: before anything is written
        is_public = stated.report_for == "public"
        page = _public_page(public, source) if is_public else _owner_page(source, stated)
    if stated.certificate:
        is_public = stated.certificate_for == "public"
        text = to_text(
            public
            if is_public
            else owner_certificate(source.audit, source.reading, source.job.to_toml())
        )
        path = Path(stated.certificate)
        publication.write(path, text, private=not is_public)
        if stated.sign_key:
            signature = sign(text.encode(), read_private_key(Path(stated.sign_key)))
            beside = path.with_name(path.name + ".sig")
            publication.write(beside, signature, private=not is_public)
    if stated.commitment_key:
        publication.write(Path(stated.commitment_key), key.hex() + "\n", private=True)
    if stated.report:
        publication.write(Path(stated.report), page, private=stated.report_for != "public")


def place_key(
    publication: Publication,
    path: str | None,
    original_row: NDArray[np.int64] | None,
    columns: pa.Table | None = None,
) -> None:
    """Write the private key where it is asked for: who is which released row, both from 1.

    ``columns`` has what else the key tells of every released row.
    """
    if path is None or original_row is None:
        return
    if columns is None:
        lines = ["released_row,original_row"]
        lines += [f"{row + 1},{original + 1}" for row, original in enumerate(original_row.tolist())]
        publication.write(Path(path), "\n".join(lines) + "\n", private=True)
        return
    import csv
    import io

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*KEY_COLUMNS, *columns.column_names])
    numbers = [range(1, len(original_row) + 1), (original_row + 1).tolist()]
    cells = [labels_of(column).to_pylist() for column in columns.columns]
    table.writerows(zip(*numbers, *cells, strict=True))
    publication.write(Path(path), text.getvalue(), private=True)


def _owner_page(source: DocumentSource, stated: Documents) -> str:
    from incrowd.figures.pages import Heading, owner_page
    from incrowd.flow.outputs import default_output
    from incrowd.report.render import render

    job, words = source.job, stated.words
    released = ""
    if job.data is not None:
        released = location_name(job.output if job.output is not None else default_output(job.data))
    heading = Heading(
        words.get("title", ""),
        words.get("note", ""),
        words.get("date", date.today().isoformat()),
        location_name(job.data) if job.data is not None else "",
        released,
    )
    return render(owner_page(source.audit, job.to_toml(), _material(source), heading))


def _public_page(certificate: dict[str, Any], source: DocumentSource) -> str:
    from incrowd.figures.pages import public_page
    from incrowd.report.render import render

    as_written = json.loads(to_text(certificate))
    return render(public_page(as_written, replace(_material(source), own=None)))


def _material(source: DocumentSource) -> Material:
    if source.material is None:
        raise InputError(
            "a report looks at all rows of the release, and these stay where they lie",
            remedy="Leave --report out, and make one of a part: incrowd check FILE --report.",
        )
    return source.material()
