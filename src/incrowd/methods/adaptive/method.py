"""The adaptive method: its settings, and the way from rows to released rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError, unknown
from incrowd.methods.base import TableMethod
from incrowd.methods.shared.options import parse_effort
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows
    from incrowd.engines.base import Engine
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.progress import Progress


SEARCHES = ("auto", "cover", "partition")
MASKS = ("attribute", "bit")
COVERS = ("mce", "lse", "nearest")
MISSING = ("value", "suppress")
BIT_COLUMNS = ("all", "shown", "decoded")

AUTO = "auto"


@documented
@dataclass(frozen=True)
class Adaptive(TableMethod):
    """Mask as few cells as possible while everybody is lost in a crowd of the size they ask for.

    Follows adaptive anonymity by b-edge cover (Khan et al. 2018, Algorithm 1). Deviations: the
    cover is found from nearest-neighbour lists, the same edges as the paper's b-matching; masks
    per attribute are by default found by a partition into rows that are shown equal, whose
    promise holds without an estimate. The cover costs O(rows² · attributes) an iteration, the
    partition about O(rows · attributes · masks).
    """

    name: ClassVar[str] = "adaptive"
    n_kernels: ClassVar[int] = 105
    keeps: ClassVar[frozenset[str]] = frozenset({"adaptive", "k-per-person"})
    masks_cells: ClassVar[bool] = True

    search: str = option(
        AUTO,
        help="Search strategy: the paper's b-edge cover, or a partition; auto: partition if "
        "belief is bounded by 1/k or columns are few.",
        choices=SEARCHES,
    )
    mask: str = option(
        "attribute",
        help="What is masked: whole cells, or single bits of their one-hot codes.",
        choices=MASKS,
    )
    bit_columns: str = option(
        "all",
        help="Columns of a release by bits: one for every value; only for values that some row "
        "shows; or decoded: one for every attribute, with its value or '*'.",
        choices=BIT_COLUMNS,
    )
    cover: str = option(
        "mce",
        help="Cover algorithm: the complement of a b-matching (mce), locally subdominant edges "
        "(lse), or nearest neighbours.",
        choices=COVERS,
    )
    epsilon_weight: float = option(
        3.0,
        help="Weight of an already masked cell in the next cover: epsilon / (1 + epsilon).",
    )
    rounds: int = option(20, help="Maximum number of cover rounds.", minimum=1)
    effort: str | int = option(
        AUTO,
        help="Effort spent on improving a partition; see cluster's effort.",
    )
    sweeps: str | int = option(
        AUTO,
        help="Passes of the local search afterwards; auto: 3 after a cover, 0 after a "
        "partition (whose guarantee then needs no estimate).",
    )
    partitions: int = option(
        0,
        help="Number of partitions searched independently; 0: one up to about a million rows, "
        "then as many as needed. A partition is at least as large as the largest k in it.",
        minimum=0,
    )
    missing: str = option(
        "value",
        help="Treatment of missing cells: a value of their own, or suppressed.",
        choices=MISSING,
    )
    as_value: bool = option(
        False,
        help="Mask as much as k-anonymity with stars as values requires, and report the "
        "difference.",
    )

    def __post_init__(self) -> None:
        for field_name, choices in (
            ("search", SEARCHES),
            ("mask", MASKS),
            ("bit_columns", BIT_COLUMNS),
            ("cover", COVERS),
            ("missing", MISSING),
        ):
            if getattr(self, field_name) not in choices:
                raise unknown(field_name, str(getattr(self, field_name)), choices, where="[method]")
        epsilon = self.epsilon_weight
        if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not epsilon > 0:
            raise JobError(
                "epsilon_weight is not a number above 0", remedy="State --epsilon-weight 3."
            )
        if type(self.rounds) is not int or self.rounds < 1:
            raise JobError("rounds is not a whole number of 1 or more", remedy="State --rounds 20.")
        if type(self.partitions) is not int or self.partitions < 0:
            raise JobError(
                "partitions is not a whole number of 0 or more", remedy="State --partitions 4."
            )
        object.__setattr__(self, "effort", parse_effort(self.effort))
        object.__setattr__(self, "sweeps", _stated_sweeps(self.sweeps))
        if self.mask == "bit" and self.search == "partition":
            raise JobError(
                "bits are masked by a cover, not by a partition",
                remedy="Use --search cover, or --mask attribute.",
            )
        if self.mask == "bit" and self.missing == "suppress":
            raise JobError(
                "missing = 'suppress' masks cells, and mask = 'bit' shows bits",
                remedy="Use --missing value, or --mask attribute.",
            )
        if self.mask != "bit" and self.bit_columns != "all":
            raise JobError(
                "bit_columns is about a release by bits, and mask = 'attribute' shows cells",
                remedy="Use --mask bit, or leave --bit-columns out.",
            )
        if self.as_value and (self.mask == "bit" or self.search == "cover"):
            raise JobError(
                "as_value needs rows that are shown equal, which a partition makes",
                remedy="Use --search partition with --mask attribute, or leave --as-value out.",
            )

    @property
    def masks_bits(self) -> bool:
        """Whether columns are cut into one-hot bits, each masked by itself."""
        return self.mask == "bit"

    @property
    def decodes_bits(self) -> bool:
        """Whether masked bits are released as values: a column is then an attribute again."""
        return self.bit_columns == "decoded"

    @property
    def drops_unshown_bits(self) -> bool:
        """Whether the bits of values that no row shows are left out of the release."""
        return self.bit_columns == "shown"

    @property
    def suppresses_missing(self) -> bool:
        """Whether a missing value is shown as ``*``."""
        return self.missing == "suppress"

    def run(
        self,
        rows: Rows,
        conditions: Conditions,
        engine: Engine,
        seed: int,
        progress: Progress,
    ) -> Rows:
        """Return the rows with cells at their leaves or roots, everybody's crowd large enough."""
        from incrowd.methods.adaptive.search import searched

        return searched(self, rows, conditions, engine, seed, progress)


def _stated_sweeps(sweeps: object) -> int | str:
    if isinstance(sweeps, str) and sweeps.strip().isdecimal():
        sweeps = int(sweeps)
    if sweeps == AUTO or (type(sweeps) is int and sweeps >= 0):
        return sweeps
    raise JobError("sweeps is neither auto nor a whole number of 0 or more", remedy="State 3.")
