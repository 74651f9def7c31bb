"""Audit: what was promised, what was found, what was lost, by whom and on which bytes."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.guarantees.evidence import Finding
from incrowd.options import parameters
from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd.guarantees.table import Guarantee


@dataclass(frozen=True)
class Audit:
    """The record of one check of one release.

    ``holds`` is true when no finding is broken. ``losses`` are shares unless their name says
    otherwise; ``incrowd.measures.losses`` knows each one's direction. This is the owner's edition:
    it may carry row numbers and the input's hash, and is not for publication.
    """

    holds: bool
    guarantee: dict[str, Any]
    findings: tuple[Finding, ...]
    quasi: tuple[str, ...] = ()
    losses: dict[str, float] = field(default_factory=dict)
    n_rows: int = 0
    n_suppressed: int = 0
    n_groups: int = 0
    smallest_group: int = 0
    method: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    peak_memory_bytes: int = 0
    release_sha256: str = ""
    input_sha256: str = ""
    notes: tuple[str, ...] = ()
    incrowd_version: str = __version__
    edition: str = "owner"

    @property
    def broken(self) -> list[Finding]:
        """The findings that make the audit fail."""
        return [finding for finding in self.findings if finding.holds is False]

    def finding(self, name: str) -> Finding:
        """Return the finding of that name."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        plain["findings"] = [asdict(finding) for finding in self.findings]
        return plain

    def to_json(self) -> str:
        """Return the audit as indented JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def assemble(
    guarantee: Guarantee,
    findings: Iterable[Finding],
    n_rows: int,
    *,
    losses: Mapping[str, float] | None = None,
    stages: Mapping[str, float] | None = None,
    **about: Any,
) -> Audit:
    """Return the audit that findings make; groups are told where the first finding counts them.

    ``about`` are further fields of the audit. The time is that of the stages, unless stated.
    """
    found = tuple(findings)
    first = found[0].figures
    return Audit(
        holds=all(finding.holds is not False for finding in found),
        guarantee={
            "name": guarantee.name,
            "claim": guarantee.claim,
            "parameters": parameters(guarantee),
        },
        findings=found,
        losses=dict(losses or {}),
        n_rows=n_rows,
        n_groups=int(first.get("n_groups", 0)),
        smallest_group=int(first.get("smallest_group", 0)),
        stages=dict(stages or {}),
        peak_memory_bytes=_peak_memory(),
        **{"seconds": round(sum((stages or {}).values()), 4), **about},
    )


def _peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
