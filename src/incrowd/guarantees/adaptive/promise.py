"""Adaptive anonymity: every person is lost in a crowd of the size they asked for.

Khan, Choromanski, Pothen, Ferdous, Halappanavar and Tumeo (2018), Definition III.1, which is the
first of three levels here: it can be kept without protecting anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import InfeasibleError, JobError, unknown
from incrowd.guarantees.evidence import TABLES
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.guarantees.evidence import Evidence, Finding
    from incrowd.guarantees.tables.feasibility import Counts


POSTERIORS = ("refuse", "report")


@documented
@dataclass(frozen=True)
class AdaptiveAnonymity:
    """Person v's row is compatible with at least k(v) released rows, mutually, and an attacker's
    belief in the right pair is at most 1/k(v) for everyone.

    k(v) comes from ``k_column``, else from the first of ``k_rules`` that v's row meets, else it is
    ``k``; 1 is no wish. Only the owner can check it: it compares people with their rows.

    >>> AdaptiveAnonymity(5).claim
    'everybody has a crowd of at least 5, and nobody is believed to be a row with more than 1/5'
    """

    name: ClassVar[str] = "adaptive"
    shape: ClassVar[str] = TABLES

    k: int = option(1, help="k of records without their own; 1 means no requirement.", minimum=1)
    k_column: str | None = option(None, help="Column with a per-record k.")
    k_rules: tuple[str, ...] = option(
        (),
        flag="--k-rule",
        help="Per-record k by condition: '20 where diagnosis = \"HIV\"'. Repeatable; the first "
        "matching rule applies.",
        repeats=True,
    )
    k_from_sensitive: bool = option(
        False,
        help="Allow k rules on sensitive columns, although suppression and group sizes then "
        "reveal something about them.",
    )
    posterior: str = option(
        "refuse",
        help="If an attacker's belief exceeds 1/k for somebody: refuse the release, or publish "
        "it as 'compatibility' and report the figures.",
        choices=POSTERIORS,
    )
    revealed: int = option(
        0,
        help="Also measure the attacker's belief after this many people's rows are known.",
        minimum=0,
    )

    stars: ClassVar[str] = "as-wildcard"
    joint: ClassVar[bool] = False
    l: ClassVar[None] = None  # noqa: E741
    t: ClassVar[None] = None

    def __post_init__(self) -> None:
        for field_name, least in (("k", 1), ("revealed", 0)):
            value = getattr(self, field_name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise JobError(
                    f"{field_name} is not a whole number of {least} or more",
                    remedy=f"State --{field_name} {max(least, 1)}, for example.",
                )
        if self.posterior not in POSTERIORS:
            raise unknown("way to treat the posterior", self.posterior, POSTERIORS)

    @property
    def needs_owner(self) -> bool:
        """Every level compares people's original rows with released ones."""
        return True

    @property
    def claim(self) -> str:
        """The promise in words."""
        own = "their own k" if self.k_column or self.k_rules else str(self.k)
        share = "1/k" if self.k_column or self.k_rules else f"1/{self.k}"
        if self.posterior == "report":
            return (
                f"compatibility: everybody could be as many rows as {own}, and they could be theirs"
            )
        return (
            f"everybody has a crowd of at least {own}, "
            f"and nobody is believed to be a row with more than {share}"
        )

    def check(self, evidence: Evidence) -> list[Finding]:
        """Hold every person's original row against all released rows."""
        from incrowd.guarantees.adaptive.check import check_people

        return check_people(self, evidence)

    def refuse_infeasible(self, n_rows: int, *, k_of_row: Counts | None = None) -> None:
        """Raise InfeasibleError where somebody asks for a larger crowd than there are rows.

        Any crowd up to all rows can be had: mask every cell of everybody.
        """
        import numpy as np

        wishes = np.asarray([self.k] if k_of_row is None else k_of_row, dtype=np.int64)
        n_over = int(np.count_nonzero(wishes > n_rows))
        if not n_rows or not n_over:
            return
        who = f"{n_over} of {n_rows} rows ask" if k_of_row is not None else "everybody asks"
        raise InfeasibleError(
            f"{who} for a crowd of up to {int(wishes.max())}, more than the {n_rows} rows there "
            "are",
            remedy=f"The largest k that can be kept is {n_rows}: lower theirs, or add data.",
        )
