"""What is asked of a risk measurement."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.errors import JobError
from incrowd.options import documented, option


@documented
@dataclass(frozen=True)
class RiskOptions:
    """How risk is measured; each field is a flag of ``incrowd check``."""

    threshold: float = option(
        0.2,
        help="Re-identification risk above which a record counts as at risk.",
        flag="--risk-threshold",
        minimum=0.0,
        maximum=1.0,
    )
    population: str | None = option(None, help="Population table, one row per person.")
    sampling_fraction: float | None = option(
        None,
        help="Sampling fraction of the data; estimates population uniqueness.",
        minimum=0.0,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise JobError(
                f"--risk-threshold {self.threshold:g} is no risk", remedy="State one from 0 to 1."
            )
        if self.sampling_fraction is not None and not 0.0 < self.sampling_fraction <= 1.0:
            raise JobError(
                f"--sampling-fraction {self.sampling_fraction:g} is no share",
                remedy="State one above 0 and up to 1.",
            )
