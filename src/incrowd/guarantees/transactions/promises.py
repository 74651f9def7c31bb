"""Promises about transactions whose public items are generalized to sets of items.

Protected rules (Memon and Shao 2015, Definitions 1 to 3; Loukides et al. 2010) and kᵐ-anonymity
(Terrovitis et al. 2008) of set-based generalization: ``(a,b,f)`` stands for at least one of a, b
and f, and an item is in at most one such part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.guarantees.evidence import TRANSACTIONS
from incrowd.guarantees.sets.promises import SetEvidence
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.guarantees.evidence import Finding
    from incrowd.transactions.rules import Rules


REFUSE, OK = "refuse", "ok"

ABSENT = (REFUSE, OK)
"""What a rule whose public part no released transaction shows is taken for."""

LARGEST_M = 3


@dataclass(frozen=True, eq=False)
class RuleEvidence(SetEvidence):
    """Released transactions as a stranger reads them, the rules, and what the owner adds.

    ``rules`` may be in the numbers of any names: items are told by their names. ``sensitive`` are
    the names of the items that are published intact; those that a rule infers are so in any case.
    """

    rules: Rules | None = None
    sensitive: frozenset[str] = frozenset()


@documented
@dataclass(frozen=True)
class RuleProtection:
    """Every rule's public part is shown by k transactions, and tells its sensitive part rarely.

    Support is counted in transactions that show all distinct parts of a rule's public items.
    Anyone who has the rules can check all of it on the file.

    >>> RuleProtection(5, 0.9).claim
    "every rule's public items are shown by at least 5 transactions, of which at most 0.9 hold its \
sensitive items"
    """

    name: ClassVar[str] = "rules"
    shape: ClassVar[str] = TRANSACTIONS
    needs_owner: ClassVar[bool] = False

    k: int = option(help="Minimum support of every rule's public part.", minimum=2)
    confidence: float = option(
        help="Maximum confidence of every rule, 0 to 1.",
        minimum=0,
        maximum=1,
    )
    absent: str = option(
        REFUSE,
        help="Rules whose public part has support 0: refuse the release, or ok.",
        choices=ABSENT,
    )

    def __post_init__(self) -> None:
        _require_k(self.k)
        _require_confidence(self.confidence)
        if self.absent not in ABSENT:
            raise unknown("way to take absent rules", str(self.absent), ABSENT, where="absent")

    @property
    def exact_confidence(self) -> Fraction:
        """The confidence as the decimal number that was stated: 0.6 is 3/5."""
        return Fraction(str(self.confidence))

    @property
    def claim(self) -> str:
        """The promise in words."""
        return (
            f"every rule's public items are shown by at least {self.k} transactions, of which at "
            f"most {self.confidence:g} hold its sensitive items"
        )

    def check(self, evidence: RuleEvidence) -> list[Finding]:
        """Count every rule in the release; hold rows against the original if it is given."""
        from incrowd.guarantees.transactions.rule_check import check_rules

        return check_rules(self, evidence)


@documented
@dataclass(frozen=True)
class KmAnonymity:
    """Every set of up to m public items that a transaction shows is shown by k of them.

    Somebody who knows up to m public items of a person finds no fewer than k transactions that
    may be theirs. Anyone can check all of it on the file.

    >>> KmAnonymity(5).claim
    'every set of up to 2 public items that a transaction shows is shown by at least 5'
    """

    name: ClassVar[str] = "km"
    shape: ClassVar[str] = TRANSACTIONS
    needs_owner: ClassVar[bool] = False

    k: int = option(help="Minimum support of every set of up to m public items.", minimum=2)
    m: int = option(
        2, help="Number of public items an attacker may know, 1 to 3.", minimum=1, maximum=LARGEST_M
    )

    def __post_init__(self) -> None:
        _require_k(self.k)
        if type(self.m) is not int or not 1 <= self.m <= LARGEST_M:
            raise JobError(
                f"m is not a whole number from 1 to {LARGEST_M}",
                remedy="State how many items somebody may know, such as --m 2.",
            )

    @property
    def claim(self) -> str:
        """The promise in words."""
        what = "public item" if self.m == 1 else f"set of up to {self.m} public items"
        return f"every {what} that a transaction shows is shown by at least {self.k}"

    def check(self, evidence: RuleEvidence) -> list[Finding]:
        """Count every shown set of up to m items; hold rows against the original if it is given."""
        from incrowd.guarantees.transactions.km_check import check_km

        return check_km(self, evidence)


def _require_k(k: object) -> None:
    if type(k) is not int:
        raise JobError("k is not a whole number", remedy="State a whole number, such as --k 5.")
    if k < 2:
        raise JobError(
            f"k = {k} protects nobody: one transaction alone may show what is known",
            remedy="State k of 2 or more, such as --k 5.",
        )


def _require_confidence(confidence: object) -> None:
    is_number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if not is_number or not 0 <= confidence <= 1:  # type: ignore[operator]
        raise JobError(
            "confidence is not a number from 0 to 1",
            remedy="State the highest share of a rule's transactions that may hold its sensitive "
            "items, such as --confidence 0.5; there is no default.",
        )
