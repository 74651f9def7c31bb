"""Differential privacy of one entry or of one row: a promise of the mechanism, not of a file.

Definitions 3.1 to 3.3 of Esfandiari et al. 2022. No file can be checked for it: what is kept is
the record of the mechanism, and a word on what it is worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

from incrowd.errors import InputError, JobError
from incrowd.guarantees.evidence import SETS
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.guarantees.evidence import Finding
    from incrowd.guarantees.sets.promises import SetEvidence


LARGEST_EPSILON = 50.0
"""Beyond it an entry is flipped less than once in 10²¹: that is publishing the data."""

LABEL_NOT_DP = "not DP: the item list comes from the data"

SYSTEM_NOISE, SEEDED_NOISE = "operating system", "insecure seed"


@dataclass(frozen=True)
class NoiseRecord:
    """What must be known of a run of randomized response to believe its promise.

    ``level`` is ``edge`` or ``node``; ``cell_epsilon`` the budget of one cell. ``source`` says
    where the noise came from. Everything here is public: n, m, and who is in the data are.
    """

    level: str
    epsilon: float
    cell_epsilon: float
    flip_probability: float
    n_rows: int
    n_items: int
    graph: str
    has_self_loops: bool
    has_public_items: bool
    source: str

    @property
    def neighbours(self) -> str:
        """Which two inputs the promise compares."""
        if self.level == "edge":
            return "inputs that differ in one entry"
        return "inputs that differ in the items of one row"


@documented
@dataclass(frozen=True)
class EdgeDp:
    """Whether one entry is in the data changes no outcome's probability by more than e^ε.

    >>> EdgeDp(2.0).claim
    'any outcome is at most e^2 times as likely with an entry as without it'
    """

    name: ClassVar[str] = "edge-dp"
    shape: ClassVar[str] = SETS
    level: ClassVar[str] = "edge"
    needs_owner: ClassVar[bool] = True

    epsilon: float = option(help="Privacy budget ε.", minimum=0)

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon)

    @property
    def claim(self) -> str:
        """The promise in words."""
        return (
            f"any outcome is at most e^{self.epsilon:g} times as likely with an entry as without it"
        )

    def check(self, evidence: SetEvidence | None) -> list[Finding]:
        """Refuse: no file can be checked for it."""
        _cannot_check(evidence)

    def attest(self, record: NoiseRecord) -> list[Finding]:
        """Say what the record of a run is worth."""
        return _attest(self.name, self.level, self.epsilon, self.claim, record)


@documented
@dataclass(frozen=True)
class NodeDp:
    """What a whole row holds changes no outcome's probability by more than e^ε.

    >>> NodeDp(10.0).claim
    'any outcome is at most e^10 times as likely with one row as with any other in its place'
    """

    name: ClassVar[str] = "node-dp"
    shape: ClassVar[str] = SETS
    level: ClassVar[str] = "node"
    needs_owner: ClassVar[bool] = True

    epsilon: float = option(help="Privacy budget ε.", minimum=0)

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon, largest=math.inf)

    @property
    def claim(self) -> str:
        """The promise in words."""
        return (
            f"any outcome is at most e^{self.epsilon:g} times as likely with one row as with any "
            "other in its place"
        )

    def check(self, evidence: SetEvidence | None) -> list[Finding]:
        """Refuse: no file can be checked for it."""
        _cannot_check(evidence)

    def attest(self, record: NoiseRecord) -> list[Finding]:
        """Say what the record of a run is worth."""
        return _attest(self.name, self.level, self.epsilon, self.claim, record)


def _require_epsilon(epsilon: object, largest: float = LARGEST_EPSILON) -> None:
    is_number = isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool)
    if not is_number or not 0 < epsilon < math.inf:  # type: ignore[operator]
        raise JobError("epsilon is not a number above 0", remedy="State --epsilon 2, for example.")
    if epsilon > largest:  # type: ignore[operator]
        raise JobError(
            f"epsilon = {epsilon:g} would publish the data as they are",
            remedy=f"State --epsilon {largest:g} or less.",
        )


def _cannot_check(_evidence: SetEvidence | None) -> NoReturn:
    raise InputError(
        "could not check: differential privacy is a property of the mechanism, not of a file",
        remedy="Ask the owner for the record of the run: epsilon, n, m, where the noise came from "
        "and which inputs are neighbours.",
    )


def _attest(
    name: str, level: str, epsilon: float, claim: str, record: NoiseRecord
) -> list[Finding]:
    from incrowd.guarantees.evidence import Finding

    figures: dict[str, object] = {
        "epsilon": record.epsilon,
        "cell_epsilon": record.cell_epsilon,
        "flip_probability": record.flip_probability,
        "n_rows": record.n_rows,
        "n_items": record.n_items,
        "neighbours": record.neighbours,
        "noise": record.source,
        "public_items": record.has_public_items,
        "one_draw_per_pair": record.graph == "undirected",
    }
    holds: bool | None = True
    summary = f"{claim}; not checked on the file but by the record of the mechanism"
    if record.level != level or record.epsilon > epsilon:
        holds = False
        summary = f"the run spent epsilon = {record.epsilon:g} per {record.level}"
    elif record.source != SYSTEM_NOISE:
        holds = False
        summary = "the noise came from a seed, and whoever knows it can take the noise away"
    elif not record.has_public_items:
        holds = None
        summary = LABEL_NOT_DP
    return [
        Finding(name, holds, summary, figures),
        Finding(
            "rerun",
            None,
            "each further release of the same data adds its epsilon to this one's",
            {"epsilon": record.epsilon},
        ),
    ]
