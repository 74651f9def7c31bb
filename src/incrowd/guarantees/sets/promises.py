"""Promises about lists, sparse matrices and graphs: equal sets, and what a set may show.

Smooth k-anonymity (Esfandiari et al. 2022, Definition 3.5), k-majority-anonymity (Esfandiari et
al., "Anonymizing List Data", Definition 1.2) and k-anonymity by suppression (Definition 3.4 of the
former). Definition 3.5 prints the released entries where the original ones are meant, as which it
says nothing: here holders are always counted in the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import InfeasibleError, JobError, unknown
from incrowd.guarantees.evidence import SETS
from incrowd.options import documented, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.guarantees.evidence import Finding
    from incrowd.sets.sets import Sets


AUTO, HALF, STRICT = "auto", "half", "strict"

VOTES = (AUTO, HALF, STRICT)

LEAST_K_BY_HALF = 4
"""Below this k the vote is strict unless stated: of two lists, half would show the union."""

VOTE_HELP = (
    "Share of a group that must hold an item for the group to show it: at least half, or "
    "strictly more (auto: strict for k below 4)."
)


@dataclass(frozen=True, eq=False)
class SetEvidence:
    """Released sets as a stranger reads them, and what the owner adds to them.

    The owner brings the ``original``, ``original_row[released row]``, the key, and each person's
    own k, ``k_of_row[original row]``. ``original_item[released item]`` is the key of items that
    were renamed; without it items are the same where their names are. ``keeps_order``: rows stand
    where the original's stood. ``columns_are_people``: items are people too, as in every graph
    that is not bipartite; ``has_item_keys``: then they bear keys independent of the rows'.
    """

    released: Sets
    original: Sets | None = None
    original_row: NDArray[np.int64] | None = None
    original_item: NDArray[np.int64] | None = None
    k_of_row: NDArray[np.int32] | None = None
    keeps_order: bool = False
    columns_are_people: bool = False
    has_item_keys: bool = False

    @property
    def shows_people_as_items(self) -> bool:
        """Whether an item of a set is a person."""
        return self.columns_are_people or self.released.graph != "bipartite"


@documented
@dataclass(frozen=True)
class Suppression:
    """Every released set occurs at least k times, and each row shows only items that it had.

    Anyone can check group sizes on the file; that nothing was added only the owner can.

    >>> Suppression(8).claim
    'every released set occurs at least 8 times, and nothing is added to any'
    """

    name: ClassVar[str] = "suppression"
    shape: ClassVar[str] = SETS
    needs_owner: ClassVar[bool] = True
    settled_vote: ClassVar[str] = HALF
    """Nothing is voted on here; a search takes one word for all promises."""

    k: int = option(help="Minimum number of rows with equal sets.", minimum=2)

    def __post_init__(self) -> None:
        _require_k(self.k)

    @property
    def claim(self) -> str:
        """The promise in words."""
        return f"every released set occurs at least {self.k} times, and nothing is added to any"

    @property
    def rule(self) -> str:
        """Which items a group may show, in words."""
        return "an item is shown only where everybody in the group had it"

    def check(self, evidence: SetEvidence) -> list[Finding]:
        """Recount the released sets, and hold them against the original where it is given."""
        from incrowd.guarantees.sets.check import check_sets

        return check_sets(self, evidence)

    def refuse_infeasible(self, n_rows: int, k_of_row: NDArray[np.int32] | None = None) -> None:
        """Raise InfeasibleError where no release of so many rows can keep the promise."""
        _refuse_infeasible(self.k, n_rows, k_of_row)


@documented
@dataclass(frozen=True)
class _Voted:
    """At least k equal sets, whose items are voted on by the rows that show them."""

    needs_owner: ClassVar[bool] = True
    whole: ClassVar[str]
    """What at least half of must have had an item."""

    k: int = option(help="Minimum number of rows with equal sets.", minimum=2)
    vote: str = option(AUTO, help=VOTE_HELP, choices=VOTES)

    def __post_init__(self) -> None:
        _require_k(self.k)
        _require_vote(self.vote)

    @property
    def settled_vote(self) -> str:
        """``half`` or ``strict``: what ``auto`` means for this k."""
        return _settle_vote(self.vote, self.k)

    @property
    def claim(self) -> str:
        """The promise in words."""
        return f"every released set occurs at least {self.k} times; {self.rule}"

    @property
    def rule(self) -> str:
        """Which items a group may show, in words."""
        share = "more than" if self.settled_vote == STRICT else "at least"
        return f"an item is in it only if {share} {self.whole} of the rows that show it had it"

    def check(self, evidence: SetEvidence) -> list[Finding]:
        """Recount the released sets, and their original holders where the original is given."""
        from incrowd.guarantees.sets.check import check_sets

        return check_sets(self, evidence)  # type: ignore[arg-type]

    def refuse_infeasible(self, n_rows: int, k_of_row: NDArray[np.int32] | None = None) -> None:
        """Raise InfeasibleError where no release of so many rows can keep the promise."""
        _refuse_infeasible(self.k, n_rows, k_of_row)


@documented
@dataclass(frozen=True)
class Smooth(_Voted):
    """At least k equal sets, and an item is in them only if half of their group had it.

    With a k per person a group has at least the largest k among its people. Anyone can check
    group sizes on the file; who had an item only the owner can.

    >>> Smooth(8).rule
    'an item is in it only if at least half of the rows that show it had it'
    """

    name: ClassVar[str] = "smooth"
    shape: ClassVar[str] = SETS
    whole: ClassVar[str] = "half"


@documented
@dataclass(frozen=True)
class Majority(_Voted):
    """At least k equal sets, and an item is in them only if k/2 of their group had it.

    With a k per person k/2 is half of the largest k in the group. In groups larger than k this
    asks for fewer holders than ``Smooth`` does.

    >>> Majority(8).rule
    'an item is in it only if at least k/2 of the rows that show it had it'
    """

    name: ClassVar[str] = "majority"
    shape: ClassVar[str] = SETS
    whole: ClassVar[str] = "k/2"


SetGuarantee = Smooth | Majority | Suppression


def _require_k(k: object) -> None:
    if not isinstance(k, int) or isinstance(k, bool):
        raise JobError("k is not a whole number", remedy="State a whole number, such as --k 8.")
    if k < 2:
        raise JobError(
            f"k = {k} protects nobody: a group of one is a person alone",
            remedy="State k of 2 or more, such as --k 8.",
        )


def _require_vote(vote: object) -> None:
    if vote not in VOTES:
        raise unknown("vote", str(vote), VOTES, where="vote")


def _settle_vote(vote: str, k: int) -> str:
    if vote != AUTO:
        return vote
    return STRICT if k < LEAST_K_BY_HALF else HALF


def _refuse_infeasible(k: int, n_rows: int, k_of_row: NDArray[np.int32] | None) -> None:
    """Raise InfeasibleError where all rows together are too few for k, or for somebody's own k.

    Whatever all rows together can be shown as, at worst the empty set, keeps every promise here.
    """
    largest = max(k, int(k_of_row.max())) if k_of_row is not None and len(k_of_row) else k
    if largest <= n_rows:
        return
    if k > n_rows:
        what = f"k = {k} is more than the {n_rows} rows there are to stand together"
    else:
        n_over = int((k_of_row > n_rows).sum()) if k_of_row is not None else 0
        what = f"{n_over} rows ask for a k of more than the {n_rows} rows there are"
    raise InfeasibleError(
        what,
        remedy=f"The largest k that can be kept is {n_rows}: --k {n_rows}."
        if n_rows >= 2
        else "Fewer than two cannot be a crowd: add data.",
    )
