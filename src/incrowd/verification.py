"""A certificate held against what it is about: its bytes, its signature, its input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from incrowd.audit.certificate import FORMAT, KIND, committed
from incrowd.data.locations import Location, is_folder
from incrowd.documents import EDITIONS
from incrowd.engines.folders import hash_of_location, hash_of_release
from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding
from incrowd.outputs import file_hash
from incrowd.signatures import is_signed, read_public_key

_REMEDY = "Give the file that run --certificate wrote."


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate, refusing what is none or of a later kind."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"{path}: the certificate cannot be read ({type(error).__name__})", remedy=_REMEDY
        ) from None
    except ValueError:
        raise InputError(f"{path}: not JSON", remedy=_REMEDY) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"{path}: not a certificate of incrowd", remedy=_REMEDY)
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path}: a certificate of another format", remedy="Use the version that wrote it."
        )
    lacking = [name for name in _NEEDED if name not in content]
    if lacking or content["edition"] not in EDITIONS:
        named = ", ".join(lacking) or "an edition that is known"
        raise InputError(f"{path}: the certificate lacks {named}", remedy=_REMEDY)
    return content


_NEEDED = ("edition", "holds", "guarantee", "quasi", "findings", "n_rows", "release_sha256")


def check_bytes(certificate: dict[str, Any], release: Location) -> Finding:
    """Say whether a release is the very one that a certificate speaks of."""
    path = Path(release)
    if not path.exists():
        raise InputError(f"{path}: there is no such release on this machine", remedy="Fetch it.")
    found = hash_of_release(path) if is_folder(release) else file_hash(path)
    is_same = found == certificate["release_sha256"]
    summary = "the release is the very one" if is_same else "the certificate is of other bytes"
    return Finding("bytes", is_same, summary, {"release_sha256": found})


def check_signature(path: Path, public_key: Path | None) -> Finding:
    """Say whether a certificate is signed, and by whom where a public key is given."""
    signature = path.with_name(path.name + ".sig")
    if public_key is None:
        told = "signed; by whom was not checked" if signature.exists() else "not signed"
        return Finding("signature", None, told)
    key = read_public_key(public_key)
    if not signature.exists():
        return Finding("signature", False, "there is no signature beside the certificate")
    holds = is_signed(path.read_bytes(), signature.read_bytes(), key)
    told = "made by the holder of the key" if holds else "not of this certificate by this key"
    return Finding("signature", holds, told)


def check_input(
    certificate: dict[str, Any], original: Location, commitment_key: Path | None
) -> Finding:
    """Say whether an original is the one that a certificate was made from."""
    digest = hash_of_location(Path(original))
    if certificate["edition"] == "owner":
        holds = digest == certificate["input_sha256"]
    elif not certificate.get("input_commitment"):
        raise InputError(
            "the certificate commits to no input",
            remedy="Leave --original out; run --commitment-key makes certificates that do.",
        )
    elif commitment_key is None:
        raise InputError(
            "what the certificate commits to is told by its owner's key",
            remedy="Give --commitment-key FILE.",
        )
    else:
        holds = committed(digest, _key(commitment_key)) == certificate["input_commitment"]
    told = "the release was made from this original" if holds else "made from another original"
    return Finding("input", holds, told, is_public=False)


def _key(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise InputError(
            f"{path}: not a key of a commitment", remedy="Give what run --commitment-key wrote."
        ) from None


def check_found_again(certificate: dict[str, Any], again: Any) -> Finding:
    """Say whether an audit of the release finds what a certificate says."""
    said = {name: certificate[name] for name in ("holds", "n_rows", "n_groups", "smallest_group")}
    found = {name: getattr(again, name) for name in said}
    differing = [name for name in said if said[name] != found[name]]
    verdicts = {finding.name: finding.holds for finding in again.findings}
    differing += [
        finding["name"]
        for finding in certificate["findings"]
        if {finding["holds"], verdicts.get(finding["name"])} == {True, False}
    ]
    if differing:
        told = f"the release tells otherwise of {', '.join(differing)}"
        return Finding("found again", False, told, found)
    return Finding("found again", True, "an audit of the release finds what it says", found)
