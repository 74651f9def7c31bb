"""The audit of a release: findings, losses, hashes and versions as plain data."""

from incrowd.audit.audit import Audit
from incrowd.audit.examine import Owner, examine
from incrowd.audit.key import prove_key

__all__ = ["Audit", "Owner", "examine", "prove_key"]
