"""Signatures of documents: Ed25519 by the package ``cryptography``, in files that openssl reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.errors import InputError

INSTALL = 'Install it:  pip install "incrowd[sign]"'


def signature_of(content: bytes, private_key: Any) -> bytes:
    """Return the signature of some bytes: 64 raw bytes."""
    return bytes(private_key.sign(content))


def is_signed(content: bytes, signature: bytes, public_key: Any) -> bool:
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
