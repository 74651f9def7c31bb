"""k-anonymity: nobody's released quasi-identifying values stand alone.

Samarati and Sweeney (1998). The other conditions that a table can be held to, l-diversity and
t-closeness of each sensitive column, are parameters of the same promise, since they are about the
same groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import InfeasibleError, InputError, JobError, unknown
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, STARS, TABLES, Evidence, Finding
from incrowd.options import documented, option

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.guarantees.tables.crowds import Crowds
    from incrowd.guarantees.tables.feasibility import Counts


L_KINDS = ("distinct", "entropy", "recursive")
T_KINDS = ("equal", "ordered", "hierarchical")


@documented
@dataclass(frozen=True)
class KAnonymity:
    """Every row's group, the rows with the same quasi-identifying values, has at least k rows.

    With a column of people (of the evidence) groups count distinct people. With ``k_column`` a
    group also has at least as many as the largest personal k among its rows. With ``l`` and ``t``
    every group's values of each sensitive column are diverse and close to the whole file's.

    Anyone can check it on the file alone, except personal k, which only the owner has.

    >>> KAnonymity(5, l=3).claim
    'every row shares its quasi-identifying values with at least 4 others; distinct l = 3'
    """

    name: ClassVar[str] = "k-anonymity"
    shape: ClassVar[str] = TABLES

    k: int = option(
        help="Minimum size of every group of rows with equal quasi-identifiers.", minimum=2
    )
    k_column: str | None = option(
        None, help="Column with a per-record k; a group meets the largest k among its rows."
    )
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
    l: float | None = option(  # noqa: E741
        None,
        help="l-diversity: minimum diversity of each sensitive attribute in a group.",
        minimum=1,
    )
    l_kind: str = option("distinct", help="Kind of l-diversity.", choices=L_KINDS)
    c: float = option(
        1.0,
        help="Recursive (c, l)-diversity: the most frequent value stays below c times the "
        "rarer ones.",
        minimum=0,
    )
    t: float | None = option(
        None,
        help="t-closeness: maximum distance between a group's distribution of a sensitive "
        "attribute and that of the whole table.",
        minimum=0,
        maximum=1,
    )
    t_kind: str = option(
        "equal",
        help="Ground distance between values: equal, ordered (numeric) or hierarchical.",
        choices=T_KINDS,
    )
    stars: str = option(
        "as-value",
        help="How '*' and missing cells are treated when groups are counted.",
        choices=STARS,
    )
    joint: bool = option(
        False,
        help="Require l and t for each sensitive attribute also against an attacker who knows "
        "the others.",
    )

    def __post_init__(self) -> None:
        if not _is_whole(self.k):
            raise JobError("k is not a whole number", remedy="State a whole number, such as --k 5.")
        if self.k < 2:
            raise JobError(
                f"k = {self.k} protects nobody: a group of one is a person alone",
                remedy="State k of 2 or more, such as --k 5.",
            )
        if self.l_kind not in L_KINDS:
            raise unknown("kind of l", str(self.l_kind), L_KINDS, where="l_kind")
        if self.t_kind not in T_KINDS:
            raise unknown("kind of t", str(self.t_kind), T_KINDS, where="t_kind")
        if self.stars not in STARS:
            raise unknown("meaning of stars", str(self.stars), STARS, where="stars")
        if self.l is not None:
            if not _is_number(self.l) or self.l < 1:
                raise JobError("l is not a number of 1 or more", remedy="State --l 2 or more.")
            if self.l_kind != "entropy" and self.l != int(self.l):
                raise JobError(
                    f"{self.l_kind} l = {self.l:g} is not a whole number",
                    remedy="Count values in whole numbers, or use --l-kind entropy.",
                )
        if not _is_number(self.c) or self.c <= 0:
            raise JobError("c is not a number above 0", remedy="State --c 1 (or 2, 3, …).")
        if self.t is not None and not (_is_number(self.t) and 0 <= self.t <= 1):
            raise JobError("t is not a number from 0 to 1", remedy="State --t 0.2, for example.")

    @property
    def needs_owner(self) -> bool:
        """Whether a check needs more than the released file: personal k are never released."""
        return bool(self.k_column or self.k_rules)

    @property
    def claim(self) -> str:
        """The promise in words."""
        parts = [f"every row shares its quasi-identifying values with at least {self.k - 1} others"]
        if self.needs_owner:
            parts.append("and each group is at least as large as its rows' own k")
        if self.l is not None:
            of_c = f", c = {self.c:g}" if self.l_kind == "recursive" else ""
            parts.append(f"{self.l_kind} l = {self.l:g}{of_c}")
        if self.t is not None:
            parts.append(f"{self.t_kind} t = {self.t:g}")
        return "; ".join(parts)

    def check(self, evidence: Evidence) -> list[Finding]:
        """Recount the released file: the crowd of every row, then l and t of every column."""
        from incrowd.guarantees.tables import l_diversity, t_closeness
        from incrowd.guarantees.tables.crowds import require_columns

        require_columns(evidence)
        if self.needs_owner and not evidence.k_column:
            raise InputError(
                "could not check: each person's k is the owner's, not in the release",
                remedy="Give --original and --key (or --aligned), as the owner.",
            )
        if (self.l is not None or self.t is not None) and not evidence.sensitive:
            raise InputError(
                "l and t are about sensitive columns, and none is named",
                remedy="Name them with --sensitive, or leave --l and --t out.",
            )
        findings = [self._check_crowds(evidence)]
        for column in evidence.sensitive:
            if self.l is not None:
                findings += l_diversity.check(evidence, self, column)
            if self.t is not None:
                findings.append(t_closeness.check(evidence, self, column))
        return findings

    def infeasible(
        self,
        n_crowd: int,
        sensitive: Mapping[str, Counts] | None = None,
        *,
        k_of_row: Counts | None = None,
        n_suppressible: int = 0,
    ) -> InfeasibleError | None:
        """Return why no release of such data can keep the promise, with the nearest that can.

        ``n_crowd`` counts the data's rows, or distinct people; ``sensitive`` has the count of each
        value (not of missing cells) per sensitive column. None proves nothing.
        """
        from incrowd.guarantees.tables.feasibility import infeasible

        return infeasible(self, n_crowd, sensitive or {}, k_of_row, n_suppressible)

    def refuse_infeasible(
        self,
        n_rows: int,
        *,
        k_of_row: Counts | None = None,
        person_of_row: NDArray[np.int32] | None = None,
        sensitive: Mapping[str, Counts] | None = None,
        n_suppressible: int = 0,
    ) -> None:
        """Raise InfeasibleError where no release of such data can keep the promise."""
        n_crowd = n_rows if person_of_row is None else len(set(person_of_row.tolist()))
        error = self.infeasible(
            n_crowd, sensitive, k_of_row=k_of_row, n_suppressible=n_suppressible
        )
        if error is not None:
            raise error

    def _check_crowds(self, evidence: Evidence) -> Finding:
        from incrowd.guarantees.tables.crowds import count_crowds, count_unchecked, row_numbers

        crowds = count_crowds(evidence, self.stars, self.k)
        is_exposed = crowds.size < crowds.asked
        n_exposed = int(crowds.n_rows[is_exposed].sum())
        counted = "people" if evidence.person else "rows"
        figures: dict[str, object] = {
            "k": self.k,
            "stars": self.stars,
            "counts": counted,
            "n_rows": evidence.n_rows,
            "n_groups": len(crowds.n_rows),
            "smallest_group": int(crowds.size.min()) if len(crowds.size) else 0,
            "n_exposed": n_exposed,
            "n_exposed_groups": int(is_exposed.sum()),
        }
        if evidence.k_column:
            figures["largest_k"] = int(crowds.asked.max(initial=self.k))
        rows = row_numbers(evidence, evidence.quasi, self.stars, _chosen(crowds, is_exposed))
        summary = self._summary(figures, bool(evidence.k_column))
        if self.stars == "as-wildcard":
            summary += _possible(crowds, figures)
        n_showing = 0
        if self.stars == "excluded":
            n_unchecked, n_showing, showing = count_unchecked(evidence)
            figures |= {"unchecked_rows": n_unchecked, "n_unchecked_showing": n_showing}
            rows = tuple(sorted({*rows, *showing}))[:MOST_ROWS_NAMED]
            summary += f"; {n_unchecked} rows with '*' or missing cells were not checked"
            if n_showing:
                figures["n_exposed"] = n_exposed + n_showing
                summary += f", {n_showing} of which still show a value"
        return Finding(
            "compatibility" if self.stars == "as-wildcard" else self.name,
            n_exposed == 0 and n_showing == 0,
            summary,
            figures,
            rows,
            is_public=not (evidence.person or evidence.k_column),
        )

    def _summary(self, figures: Mapping[str, object], has_personal_k: bool) -> str:
        if figures["n_groups"] == 0:
            return "there is no row to check"
        counted, n_exposed = figures["counts"], figures["n_exposed"]
        asked = f"k = {self.k}" + (" and their own k" if has_personal_k else "")
        if self.stars == "as-wildcard":
            says = (
                f"are covered by fewer {counted} than" if n_exposed else "are covered by at least"
            )
            least = "the least covered by"
        else:
            says = "stand in groups below" if n_exposed else "stand in groups of at least"
            least = "the smallest group has"
        who = f"{n_exposed} rows" if n_exposed else "all rows"
        return f"{who} {says} {asked}; {least} {figures['smallest_group']} (counts {counted})"


def _chosen(crowds: Crowds, is_chosen: NDArray[np.bool_]) -> pl.DataFrame:
    import polars as pl

    return crowds.keys.filter(pl.Series(is_chosen))


def _possible(crowds: Crowds, figures: dict[str, object]) -> str:
    """Say how many rows might stand with each where stars are filled in; they never suffice."""
    if crowds.possible is None:
        figures["smallest_possible"] = None
        return "; possible crowds were not counted"
    figures["smallest_possible"] = int(crowds.possible.min()) if len(crowds.possible) else 0
    is_short = crowds.possible < crowds.asked
    figures["n_exposed_possible"] = int(crowds.n_rows[is_short].sum())
    return f"; the smallest possible crowd has {figures['smallest_possible']}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
