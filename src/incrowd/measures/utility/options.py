"""What is asked of a release's use."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.errors import JobError, unknown
from incrowd.options import documented, option

QUERIES, STATISTICS, LEARNING = KINDS = ("queries", "statistics", "learning")


@documented
@dataclass(frozen=True)
class UtilityOptions:
    """What is measured of a release's use, beside its original; each a flag of ``check``."""

    utility: tuple[str, ...] = option(
        (), help=f"What the release is still good for: {', '.join(KINDS)}. Needs the original."
    )
    predict: str | None = option(None, help="learning: released column to predict.")

    def __post_init__(self) -> None:
        for name in self.utility:
            if name not in KINDS:
                raise unknown("utility", name, KINDS)
        if (LEARNING in self.utility) != (self.predict is not None):
            raise JobError(
                "learning predicts a column",
                remedy="State both: --utility learning --predict COLUMN.",
            )
