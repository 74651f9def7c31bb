"""Audit: what was promised, what was found, what was lost, by whom and on which bytes."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.guarantees.evidence import Finding
from incrowd.options import parameters
from incrowd.summaries import Summarized, verdict
from incrowd.version import __version__
from incrowd.wording import phrase

if TYPE_CHECKING:
    from incrowd.guarantees.table import Guarantee


class Losses(dict[str, float]):
    """What a release lost, by name; each loss is an attribute too: ``losses.loss``.

    Which of them there are depends on the shape of the data and the guarantee;
    ``docs/reference/losses.md`` defines each and says which direction is better.
    """

    # tables
    loss: float
    granularity: float
    ncp: float
    gcp: float
    distortion: float
    total: float
    llm: float
    nllm: float
    wllm: float
    nwllm: float
    weights: float
    non_uniform_entropy: float
    precision: float
    discernibility: float
    average_class_size: float
    suppressed_cells: float
    suppressed_rows: float
    are: float
    # sets
    jaccard: float
    suppressed: float
    created: float
    item_error: float
    count_error: float
    size_error: float
    # transactions
    log2_utility_loss: float
    log2_utility_loss_unscaled: float
    are_subsets: float
    are_share: float
    share_ungeneralized: float
    mean_part_size: float
    largest_part: float

    def __getattr__(self, name: str) -> float:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"this release has no loss {name!r}; it has {', '.join(self) or 'none'}"
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


MAIN_LOSSES = ("loss", "jaccard", "share_ungeneralized")
"""The loss that stands for all in a summary: of tables, sets and transactions."""


@dataclass(frozen=True, repr=False)
class Audit(Summarized):
    """The record of one check of one release.

    ``holds`` is true when no finding is broken. ``losses`` are shares unless their name says
    otherwise; ``incrowd.measures.losses`` knows each one's direction. ``warnings`` say where a
    release that holds is of little use. This is the owner's edition:
    it may carry row numbers and the input's hash, and is not for publication.
    """

    holds: bool
    guarantee: dict[str, Any]
    findings: tuple[Finding, ...]
    quasi: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)
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
    warnings: tuple[str, ...] = ()
    incrowd_version: str = __version__
    edition: str = "owner"

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", Losses(self.losses))

    @property
    def crowds(self) -> str:
        """How many rows there are, and how large the smallest crowd is, in words.

        Crowds are groups or, of adaptive anonymity, compatible rows; of transactions it says how
        many items were generalized.
        """
        told = f"{self.n_rows:,} rows"
        if self.n_groups:
            told += f" in {self.n_groups:,} groups, smallest {self.smallest_group}"
        for finding in self.findings:
            if finding.name == "mutual compatibility":
                smallest = finding.figures.get("smallest_crowd", 0)
                told = f"{self.n_rows:,} rows, smallest crowd {smallest}"
            if finding.name == "items":
                shown, several = finding.figures["n_items"], finding.figures["n_generalized"]
                told = f"{self.n_rows:,} transactions of {shown:,} items, {several:,} generalized"
        return told + (f", {self.n_suppressed:,} rows suppressed" if self.n_suppressed else "")

    def _title(self) -> str:
        return f"Audit: {self.guarantee['name']} {verdict(self.holds)}"

    def _verdict(self) -> bool | None:
        return self.holds

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("promise", self.guarantee["claim"]), ("rows", self.crowds)]
        if self.quasi:
            facts.append(("quasi-identifying", ", ".join(self.quasi)))
        facts += [(name, f"{self.losses[name]:.4g}") for name in MAIN_LOSSES if name in self.losses]
        facts += [("warning", warning) for warning in self.warnings]
        facts += [("warning", warning) for warning in self.warnings]
        return facts + [(f"broken: {finding.name}", finding.summary) for finding in self.broken]

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

    def to_frame(self, kind: str | None = None) -> Any:
        """Return findings and losses as a frame with a row each.

        Columns: ``kind`` (finding or loss), ``name``, ``holds`` (of a finding; missing where it
        only informs), ``value`` (of a loss) and ``summary`` (of a finding). ``kind`` is pandas,
        polars or pyarrow: pandas where it is installed, else polars.
        """
        import pyarrow as pa

        from incrowd.tables.frames import to_kind

        rows = [("finding", each.name, each.holds, None, each.summary) for each in self.findings]
        lost = [("loss", name, None, float(value), None) for name, value in self.losses.items()]
        columns = {
            "kind": pa.string(),
            "name": pa.string(),
            "holds": pa.bool_(),
            "value": pa.float64(),
            "summary": pa.string(),
        }
        records = [dict(zip(columns, row, strict=True)) for row in (*rows, *lost)]
        return to_kind(pa.Table.from_pylist(records, pa.schema(list(columns.items()))), kind)


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
    found = tuple(_phrased(finding) for finding in findings)
    for name in ("notes", "warnings"):
        about[name] = tuple(phrase(text) for text in about.get(name, ()))
    first = found[0].figures
    return Audit(
        holds=all(finding.holds is not False for finding in found),
        guarantee={
            "name": guarantee.name,
            "claim": guarantee.claim,
            "parameters": parameters(guarantee),
        },
        findings=found,
        losses=Losses(losses or {}),
        n_rows=n_rows,
        n_groups=int(first.get("n_groups", 0)),
        smallest_group=int(first.get("smallest_group", 0)),
        stages=dict(stages or {}),
        peak_memory_bytes=_peak_memory(),
        **{"seconds": round(sum((stages or {}).values()), 4), **about},
    )


def _phrased(finding: Finding) -> Finding:
    summary = phrase(finding.summary)
    return finding if summary == finding.summary else replace(finding, summary=summary)


def _peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
