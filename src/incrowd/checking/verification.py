"""A certificate held against what it is about: its bytes, its signature, its input."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incrowd.audit import Audit
from incrowd.checking.certificates import FORMAT, KIND, commit_to, read_public_key, verify_signature
from incrowd.checking.check import check_release
from incrowd.checking.material import Material, SetMaterial
from incrowd.checking.request import Request
from incrowd.checking.sets import load_sets
from incrowd.checking.tables import load_table
from incrowd.engines.folders import hash_location, hash_release
from incrowd.errors import InputError, JobError, unknown
from incrowd.guarantees.evidence import TABLES, Finding
from incrowd.guarantees.sets.differential_privacy import EdgeDp, NodeDp
from incrowd.guarantees.table import Guarantee
from incrowd.guarantees.transactions.promises import KmAnonymity
from incrowd.job.accept import build_guarantee
from incrowd.job.documents import EDITIONS, WORDS
from incrowd.job.inputs import InputOptions, SetInput
from incrowd.sets.sets import BIPARTITE
from incrowd.tables.locations import Location, is_folder, resolve_location
from incrowd.tables.schema import Schema
from incrowd.workspace import file_hash

_REMEDY = "Give the file that run --certificate wrote."

UNSIGNED = "unsigned: anyone could have written this certificate"
SIGNED = "signed; by whom was not checked (--public-key)"


@dataclass(frozen=True)
class Verified:
    """What a certificate came to, held against its release.

    ``could_not_check`` says why the release alone does not show the promise, where nothing else
    speaks against the certificate. ``is_vouched_for`` is true where the promise was found again,
    or the stated signer vouches for it.
    """

    certificate: dict[str, Any]
    promise: Guarantee
    audit: Audit
    is_vouched_for: bool
    could_not_check: InputError | None = None


def verify(
    released: str | Path,
    certificate: Path,
    original: str | Path | None = None,
    public_key: Path | None = None,
    commitment_key: Path | None = None,
) -> Verified:
    """Hold a certificate against its release: the bytes, the signature, the input, the promise.

    Raises InputError where the certificate or the release cannot be read.
    """
    stated = read_certificate(certificate)
    promise = read_guarantee(stated, certificate)
    location = resolve_location(released)
    signature = check_signature(certificate, public_key)
    findings = [check_bytes(stated, location), signature]
    if original is not None:
        findings.append(check_input(stated, resolve_location(original), commitment_key))
    elif commitment_key is not None:
        raise InputError("a commitment is to an original", remedy="Give --original too.")
    again: Audit | None = None
    why_not: InputError | None = None
    try:
        again = audit_again(stated, promise, location)
        findings.append(compare_with_audit(stated, again))
    except InputError as error:
        why_not = error
        findings.append(Finding("found again", None, f"was not checked: {error.what}"))
    findings.append(list_unchecked(stated, again, has_original=original is not None))
    holds = all(finding.holds is not False for finding in findings) and stated["holds"]
    if why_not is not None:
        why_not = _unchecked_error(certificate, promise, why_not, signature) if holds else None
    audit = again if again is not None else _stated_audit(stated)
    return Verified(
        stated,
        promise,
        replace(audit, holds=holds, findings=(*findings, *audit.findings)),
        again is not None or signature.holds is True,
        why_not,
    )


def _unchecked_error(
    path: Path, promise: Guarantee, why: InputError, signature: Finding
) -> InputError:
    """Return the answer where nothing speaks against a certificate and its promise is not shown."""
    what = why.what.removeprefix("could not check: ")
    remedy = why.remedy
    if promise.name not in ("edge-dp", "node-dp"):
        remedy = f"Check the promise with incrowd check, which takes what it needs. {remedy}"
    return InputError(
        f"{path}: could not check {promise.name} on the release alone: {what}. "
        f"The bytes match. The certificate is {signature.summary}",
        remedy=remedy,
    )


def _stated_audit(certificate: dict[str, Any]) -> Audit:
    """Return the certificate's own words as an audit."""
    return Audit(
        holds=bool(certificate["holds"]),
        guarantee=certificate["guarantee"],
        findings=(),
        quasi=tuple(certificate["quasi"]),
        n_rows=certificate["n_rows"],
        n_groups=certificate["n_groups"],
        smallest_group=certificate["smallest_group"],
    )


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
    lacking = [name for name, kind in _SHAPE.items() if not _is_stated(content, name, kind)]
    if content.get("edition") == "owner":
        lacking += [name for name in _OF_OWNER if not _is_stated(content, name, str)]
    if "report" in content and not _are_words(content["report"]):
        lacking.append("report")
    if lacking:
        raise InputError(
            f"{path}: the certificate lacks {', '.join(lacking)}, or has it in another form",
            remedy=_REMEDY,
        )
    if content["edition"] not in EDITIONS:
        raise unknown("edition", content["edition"], EDITIONS, where=str(path))
    return content


_SHAPE: dict[str, type[Any]] = {
    "edition": str,
    "holds": bool,
    "guarantee.name": str,
    "guarantee.claim": str,
    "guarantee.parameters": dict,
    "quasi": list,
    "reading.quasi": list,
    "reading.sensitive": list,
    "reading.missing_values": list,
    "reading.graph": str,
    "findings": list,
    "n_rows": int,
    "n_groups": int,
    "smallest_group": int,
    "release_sha256": str,
}
_OF_OWNER = ("input_sha256", "job")


def _is_stated(content: dict[str, Any], name: str, kind: type[Any]) -> bool:
    """Whether a certificate has a field (``a.b`` lies in ``a``) in the form it is written in."""
    value: Any = content
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if type(value) is not kind:
        return False
    if name == "findings":
        return all(
            isinstance(item, dict)
            and isinstance(item.get("name"), str)
            and item.get("holds") in (True, False, None)
            for item in value
        )
    return kind is not list or all(isinstance(item, str) for item in value)


def _are_words(report: Any) -> bool:
    """Whether a certificate's words for the public report are such."""
    return isinstance(report, dict) and all(
        name in WORDS and isinstance(words, str) for name, words in report.items()
    )


def why_owner_only(certificate: dict[str, Any]) -> str:
    """Return why the release alone cannot show a certificate's promise, or nothing.

    Personal k and the column that names people are not released. The owner's edition has the job
    that states them; the public one then has no finding. What noise promises, or rules that are
    not published, their own checks refuse.
    """
    if certificate["edition"] == "public":
        is_lacking = not certificate["findings"] and certificate["guarantee"]["name"] != "km"
        return "the certificate has nothing that was found on the file alone" if is_lacking else ""
    try:
        job = tomllib.loads(certificate["job"])
    except tomllib.TOMLDecodeError:
        raise InputError("the job in the certificate is not TOML", remedy=_REMEDY) from None
    if "person" in job:
        return "groups count people, and the column that names them is not released"
    sets = job.get("sets")
    if isinstance(sets, dict) and "row_k" in sets:
        return "each person's k is the owner's, not in the release"
    return ""


def check_bytes(certificate: dict[str, Any], release: Location) -> Finding:
    """Say whether a release is the very one that a certificate speaks of."""
    path = Path(release)
    if not path.exists():
        raise InputError(f"{path}: there is no such release on this machine", remedy="Fetch it.")
    found = hash_release(path) if is_folder(release) else file_hash(path)
    is_same = found == certificate["release_sha256"]
    summary = "the release is the very one" if is_same else "the certificate is of other bytes"
    return Finding("bytes", is_same, summary, {"release_sha256": found})


def check_signature(path: Path, public_key: Path | None) -> Finding:
    """Say whether a certificate is signed, and by whom where a public key is given."""
    signature = path.with_name(path.name + ".sig")
    if public_key is None:
        told = SIGNED if signature.exists() else UNSIGNED
        return Finding("signature", None, told)
    key = read_public_key(public_key)
    if not signature.exists():
        return Finding("signature", False, "there is no signature beside the certificate")
    holds = verify_signature(path.read_bytes(), signature.read_bytes(), key)
    told = "made by the holder of the key" if holds else "not of this certificate by this key"
    return Finding("signature", holds, told)


def check_input(
    certificate: dict[str, Any], original: Location, commitment_key: Path | None
) -> Finding:
    """Say whether an original is the one that a certificate was made from."""
    digest = hash_location(Path(original))
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
        holds = commit_to(digest, _key(commitment_key)) == certificate["input_commitment"]
    told = "the release was made from this original" if holds else "made from another original"
    return Finding("input", holds, told, is_public=False)


def _key(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise InputError(
            f"{path}: not a key of a commitment", remedy="Give what run --commitment-key wrote."
        ) from None


def compare_with_audit(certificate: dict[str, Any], again: Audit) -> Finding:
    """Say whether an audit of the release finds what a certificate says."""
    names = ("holds", "n_rows", "n_groups", "smallest_group", "quasi")
    said = {name: certificate[name] for name in names}
    found = {name: getattr(again, name) for name in names} | {"quasi": list(again.quasi)}
    differing = [name for name in said if said[name] != found[name]]
    if certificate["guarantee"]["claim"] != again.guarantee["claim"]:
        differing.append("claim")
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


def list_unchecked(
    certificate: dict[str, Any], again: Audit | None, *, has_original: bool
) -> Finding:
    """Name what a certificate says that nothing here was held against."""
    checked = (
        [finding.name for finding in again.findings if finding.holds is not None] if again else []
    )
    findings = [item["name"] for item in certificate["findings"] if item["name"] not in checked]
    held = (*_CHECKED, *(("input_sha256", "input_commitment") if has_original else ()))
    fields = [name for name in certificate if name not in held]
    told = f"the issuer's word alone: {', '.join(fields)}, figures of findings"
    if findings:
        told += f"; the findings {', '.join(findings)}"
    return Finding("not checked", None, told, {"fields": fields, "findings": findings})


_CHECKED = (
    *("kind", "format", "edition", "holds", "guarantee", "quasi", "reading", "findings"),
    *("n_rows", "n_groups", "smallest_group", "release_sha256"),
)


def read_guarantee(certificate: dict[str, Any], path: Path) -> Guarantee:
    """Return the guarantee that a certificate states, refusing one that is none."""
    name, parameters = certificate["guarantee"]["name"], certificate["guarantee"]["parameters"]
    try:
        return build_guarantee(name, parameters)
    except JobError as error:
        raise InputError(
            f"{path}: could not check, since the certificate states no guarantee: {error.what}",
            remedy="Ask its issuer for the file that run --certificate wrote.",
        ) from None


def make_request(certificate: dict[str, Any], promise: Guarantee, location: Location) -> Request:
    """Return the check of a release for what its certificate promises, as anyone can make it."""
    reading = certificate["reading"]
    return Request(
        location,
        promise,
        Schema(reading["quasi"], reading["sensitive"]),
        sets=SetInput(graph=reading["graph"] or BIPARTITE),
        input=InputOptions(
            missing_values=tuple(reading["missing_values"]),
            date_formats=_formats(reading, "date_formats"),
            number_formats=_formats(reading, "number_formats"),
        ),
        detects_formats=False,
        pseudonyms=str(reading.get("pseudonyms", "")) or None,
    )


def _formats(reading: dict[str, Any], name: str) -> dict[str, str]:
    """Return the formats of columns that a certificate states; older ones state none."""
    stated = reading.get(name, {})
    if not isinstance(stated, dict) or not all(isinstance(text, str) for text in stated.values()):
        raise InputError(f"the certificate's {name} are not texts by column", remedy=_REMEDY)
    return dict(stated)


def audit_again(certificate: dict[str, Any], promise: Guarantee, location: Location) -> Audit:
    """Audit the release for what the certificate promises, as anyone can, or raise why not."""
    if isinstance(promise, EdgeDp | NodeDp):
        promise.check(None)  # raises: no file shows what noise promises
    owner_only = why_owner_only(certificate)
    if owner_only:
        raise InputError(owner_only, remedy=_AS_OWNER)
    request = make_request(certificate, promise, location)
    if promise.shape != TABLES:
        audit = check_release(request).audit
        is_km = promise.name == KmAnonymity.name
        if is_km and [finding.name for finding in audit.broken] == [promise.name]:
            raise InputError(
                "it holds for public items, and which items are sensitive is not in the release",
                remedy="Name them there with --sensitive-items.",
            )
        return audit
    if not certificate["reading"]["quasi"]:
        raise InputError("the certificate names no quasi-identifying column", remedy=_AS_OWNER)
    if not is_folder(location):
        loaded = load_table(request)
        request = replace(request, accepted=loaded.schema.insensitive)
    return check_release(request).audit


def public_material(
    certificate: dict[str, Any], promise: Guarantee, location: Location
) -> Material:
    """Return what the public report of a release is computed from."""
    request = make_request(certificate, promise, location)
    if promise.shape == TABLES:
        return load_table(request).material()
    with load_sets(request, with_rules=False) as evidence:
        return SetMaterial(evidence.released)


_AS_OWNER = "As the owner, give it --job, --original and --key."
