"""Certificates: an audit as a document of its own, for the owner or for anyone, and its
signature.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from incrowd.audit import Audit
from incrowd.errors import InputError
from incrowd.guarantees.evidence import Finding

INSTALL = 'Install it:  pip install "incrowd[sign]"'


def sign(content: bytes, private_key: Any) -> bytes:
    """Return the signature of some bytes: 64 raw bytes."""
    return bytes(private_key.sign(content))


def verify_signature(content: bytes, signature: bytes, public_key: Any) -> bool:
    """Return whether a signature is of these bytes and by this key."""
    from cryptography.exceptions import InvalidSignature

    try:
        public_key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def read_private_key(path: Path) -> Any:
    """Read an unencrypted Ed25519 private key as ``openssl genpkey -algorithm ed25519`` writes."""
    made_by = "openssl genpkey -algorithm ed25519 -out sign.pem"

    def load(text: bytes) -> Any:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return load_pem_private_key(text, password=None)

    return _read(path, load, "Ed25519PrivateKey", f"Make one:  {made_by}")


def read_public_key(path: Path) -> Any:
    """Read an Ed25519 public key as ``openssl pkey -pubout`` writes it."""
    made_by = "openssl pkey -in sign.pem -pubout -out public.pem"

    def load(text: bytes) -> Any:
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        return load_pem_public_key(text)

    return _read(path, load, "Ed25519PublicKey", f"Make it:  {made_by}")


def _read(path: Path, load: Any, kind: str, remedy: str) -> Any:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the key cannot be read ({type(error).__name__})", remedy=remedy
        ) from None
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError("signing needs the package cryptography", remedy=INSTALL) from None
    try:
        key = load(text)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, getattr(ed25519, kind)):
        raise InputError(f"{path}: not an Ed25519 key without a password, in PEM", remedy=remedy)
    return key


# Certificates: an audit as a document of its own, for the owner or for anyone.

KIND, FORMAT = "incrowd certificate", 1

SCALARS = {
    "loss": "loss",
    "jaccard": "jaccard",
    "suppressed": "suppressed",
    "suppressed_rows": "suppressed",
    "created": "created",
    "are": "are",
    "are_subsets": "are",
}
"""The losses that may be published, each under its public name; nothing else about the original."""

PARAMETERS = (
    "k",
    "l",
    "l_kind",
    "c",
    "t",
    "t_kind",
    "stars",
    "joint",
    "vote",
    "m",
    "confidence",
    "absent",
    "epsilon",
    "posterior",
)
"""The parameters of a promise that say nothing about anybody."""

NOISE = ("edge-dp", "node-dp")
"""Promises under which no figure of the input may be published at all."""


@dataclass(frozen=True)
class Reading:
    """What must be known to check a released file again, besides its promise.

    ``quasi`` are the released columns: bits of them, where the job has bits. The formats are of
    columns that write dates and numbers in another way than the canonical one; ``pseudonyms`` is
    the column that has them.
    """

    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    graph: str = ""
    date_formats: Mapping[str, str] = field(default_factory=dict)
    number_formats: Mapping[str, str] = field(default_factory=dict)
    pseudonyms: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; formats and pseudonyms only where there are some."""
        content = asdict(self)
        for name in ("date_formats", "number_formats", "pseudonyms"):
            if not content[name]:
                del content[name]
        return content


def owner_certificate(audit: Audit, reading: Reading, job_text: str) -> dict[str, Any]:
    """Return everything that is known of a release, as plain data."""
    return {
        "kind": KIND,
        "format": FORMAT,
        **audit.to_dict(),
        "reading": reading.to_dict(),
        "job": job_text,
    }


def public_certificate(
    audit: Audit,
    reading: Reading,
    of_file: Iterable[Finding],
    commitment: str = "",
    words: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what anyone may know of a release; ``of_file`` was found on the file alone.

    ``words`` are the owner's for the public report: a title, a note, a date.
    """
    stated = audit.guarantee["parameters"]
    found = [finding for finding in of_file if finding.is_public]
    return {
        "kind": KIND,
        "format": FORMAT,
        "edition": "public",
        "holds": audit.holds,
        "guarantee": {
            "name": audit.guarantee["name"],
            "claim": audit.guarantee["claim"],
            "parameters": {name: stated[name] for name in PARAMETERS if name in stated},
        },
        "quasi": list(audit.quasi),
        "reading": reading.to_dict(),
        "findings": [
            {name: value for name, value in asdict(finding).items() if name in _OF_FINDING}
            for finding in found
        ],
        "scalars": public_scalars(audit.guarantee["name"], audit.losses),
        "n_rows": audit.n_rows,
        "n_groups": audit.n_groups,
        "smallest_group": audit.smallest_group,
        "method": audit.method.get("name", ""),
        "release_sha256": audit.release_sha256,
        "input_commitment": commitment,
        "incrowd_version": audit.incrowd_version,
        **({"report": dict(words)} if words else {}),
    }


_OF_FINDING = ("name", "holds", "summary", "figures")


def public_scalars(guarantee: str, losses: Mapping[str, float]) -> dict[str, float]:
    """Return the losses that may be published, rounded to two digits."""
    if guarantee in NOISE:
        return {}
    return {
        public: two_digits(losses[name])
        for name, public in SCALARS.items()
        if name in losses and math.isfinite(losses[name])
    }


def two_digits(value: float) -> float:
    """Return a number rounded to its first two digits."""
    return float(f"{value:.2g}")


def commit_to(input_sha256: str, key: bytes) -> str:
    """Return the commitment to an input: only who has the key can tell which input it is."""
    return hmac.new(key, input_sha256.encode(), hashlib.sha256).hexdigest()


def to_text(certificate: Mapping[str, Any]) -> str:
    """Return a certificate as it is written: the bytes that a signature is made of."""
    return json.dumps(certificate, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
