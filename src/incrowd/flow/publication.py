"""A release and the documents about it get their names together, or none of them does."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.checking.certificates import (
    Reading,
    as_text,
    committed,
    owner_certificate,
    public_certificate,
    read_private_key,
    signature_of,
)
from incrowd.checking.material import appraised
from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding
from incrowd.job.documents import Documents
from incrowd.workspace import write_whole

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.checking.material import Material


@dataclass(frozen=True, eq=False)
class Told:
    """All that documents may tell of a release.

    ``of_file`` finds again what anyone can find on the released file alone. ``job_text`` is the
    job that makes the release again. ``material`` gives what a report is made of; None where rows
    stay away: no report then.
    """

    audit: Audit
    job_text: str
    of_file: Callable[[], Iterable[Finding]]
    reading: Reading = field(default_factory=Reading)
    material: Callable[[], Material] | None = None


@dataclass(frozen=True)
class _Document:
    """A document that is not written yet."""

    path: Path
    content: str | bytes
    is_private: bool


def with_appraisal(stated: Documents, told: Told) -> Told:
    """Return what documents tell with the risk and the use of the release, where they ask for it.

    The audit that is handed out has these findings too: what a page shows is in it.
    """
    if told.material is None or not (stated.report or stated.certificate):
        return told
    material = told.material()
    return replace(told, audit=appraised(told.audit, material), material=lambda: material)


@contextmanager
def documents_written(stated: Documents, told: Told, *, force: bool) -> Iterator[None]:
    """Have the documents in their places before the release is; take them back if that fails."""
    made = _made(stated, told)
    placed: list[Path] = []
    try:
        for document in made:
            write_whole(document.path, document.content, force=force, private=document.is_private)
            placed.append(document.path)
        yield
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        raise


def _made(stated: Documents, told: Told) -> list[_Document]:
    wants_public = "public" in (
        stated.report_for if stated.report else "",
        stated.certificate_for if stated.certificate else "",
    )
    key = secrets.token_bytes(32)
    commitment = committed(told.audit.input_sha256, key) if stated.commitment_key else ""
    public = {}
    if wants_public:
        public = public_certificate(told.audit, told.reading, told.of_file(), commitment)
    made: list[_Document] = []
    if stated.certificate:
        is_public = stated.certificate_for == "public"
        certificate = (
            public if is_public else owner_certificate(told.audit, told.reading, told.job_text)
        )
        text = as_text(certificate)
        path = Path(stated.certificate)
        made.append(_Document(path, text, not is_public))
        if stated.sign_key:
            signature = signature_of(text.encode(), read_private_key(Path(stated.sign_key)))
            made.append(_Document(path.with_name(path.name + ".sig"), signature, not is_public))
    if stated.commitment_key:
        made.append(_Document(Path(stated.commitment_key), key.hex() + "\n", True))
    if stated.report:
        is_public = stated.report_for == "public"
        page = _public_page(public, told) if is_public else _owner_page(told)
        made.append(_Document(Path(stated.report), page, not is_public))
    return made


def _owner_page(told: Told) -> str:
    from incrowd.figures.pages import owner_page
    from incrowd.report.render import render

    return render(owner_page(told.audit, told.job_text, _material(told)))


def _public_page(certificate: dict[str, Any], told: Told) -> str:
    from incrowd.figures.pages import public_page
    from incrowd.report.render import render

    as_written = json.loads(as_text(certificate))
    return render(public_page(as_written, replace(_material(told), own=None)))


def _material(told: Told) -> Material:
    if told.material is None:
        raise InputError(
            "a report looks at all rows of the release, and these stay where they lie",
            remedy="Leave --report out, and make one of a part: incrowd check FILE --report.",
        )
    return told.material()
