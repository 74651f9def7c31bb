"""What is asked of the measures of a release: risk, attacks, utility."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.errors import JobError, unknown
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


# What is asked of attacks.

LINKAGE, HOMOGENEITY, KNOWN_ITEMS, SUSTAINED = (
    "linkage",
    "homogeneity",
    "known-items",
    "sustained",
)
ATTACKS = (LINKAGE, HOMOGENEITY, KNOWN_ITEMS, SUSTAINED)
OF_TABLES, OF_SETS = (LINKAGE, HOMOGENEITY, SUSTAINED), (KNOWN_ITEMS,)


@documented
@dataclass(frozen=True)
class AttackOptions:
    """Which attacks are carried out, and what the attacker knows; each a flag of ``check``."""

    attack: tuple[str, ...] = option(
        (), help=f"Attacks to carry out, of tables: {', '.join(OF_TABLES)}; of sets: known-items."
    )
    known_share: float = option(
        1.0,
        help="linkage: share of the quasi-identifiers that the attacker knows, drawn for each "
        "person.",
        minimum=0.0,
        maximum=1.0,
    )
    known_columns: tuple[str, ...] = option(
        (), help="linkage: columns that the attacker knows, instead of a share."
    )
    confidence: float = option(
        0.8,
        help="homogeneity: confidence above which a sensitive value counts as disclosed.",
        flag="--attack-confidence",
        minimum=0.0,
        maximum=1.0,
    )
    known_items: tuple[str, ...] = option(
        ("1", "2", "3"), help="known-items: number of known items of a person, such as 1,2,3."
    )
    known_people: tuple[str, ...] = option(
        (),
        help="sustained: number of people whose rows are already known, such as 1,10,100; "
        "default: 1, 5 and 10 %.",
    )
    sample: int = option(
        10_000,
        help="Maximum number of people to attack.",
        flag="--attack-sample",
        minimum=1,
    )
    seed: int = option(0, help="Random seed of the attacks.", flag="--attack-seed")

    def __post_init__(self) -> None:
        for name in self.attack:
            if name not in ATTACKS:
                raise unknown("attack", name, ATTACKS)
        if not 0.0 < self.known_share <= 1.0:
            raise JobError(
                f"--known-share {self.known_share:g} is no share of the columns",
                remedy="State one above 0 and up to 1.",
            )
        if self.known_columns and self.known_share != 1.0:
            raise JobError(
                "--known-share and --known-columns are two attackers",
                remedy="State one of them.",
            )
        if not 0.0 < self.confidence <= 1.0:
            raise JobError(
                f"--attack-confidence {self.confidence:g} is no confidence",
                remedy="State one above 0 and up to 1.",
            )
        if self.sample < 1:
            raise JobError("--attack-sample must be at least 1", remedy="State how many people.")
        if self.seed < 0:
            raise JobError("--attack-seed must not be negative", remedy="State 0 or more.")
        _ = self.numbers_of_items, self.numbers_of_people

    @property
    def numbers_of_items(self) -> tuple[int, ...]:
        """How many items the attackers know, rising."""
        return _parse_integers(self.known_items, "--known-items", 1)

    @property
    def numbers_of_people(self) -> tuple[int, ...]:
        """How many people's rows are known already, rising; none where it is not stated."""
        return _parse_integers(self.known_people, "--known-people", 0)


@documented
@dataclass(frozen=True)
class CompositionOptions:
    """What is known of two releases together; each a flag of ``check``."""

    composition: bool = option(
        False, help="Composition attack: find people exposed by the intersection of two releases."
    )
    same_people: bool = option(
        False, help="composition: both releases cover exactly the same people."
    )
    key_of_other: str | None = option(
        None, help="composition: key of the second release.", flag="--other-key"
    )
    original_of_other: str | None = option(
        None,
        help="composition: original of the second release, if it is another.",
        flag="--other-original",
    )


def _parse_integers(texts: tuple[str, ...], flag: str, least: int) -> tuple[int, ...]:
    numbers = set()
    for text in texts:
        if not text.isdecimal() or int(text) < least:
            raise JobError(
                f"{flag} {','.join(texts)}: {text!r} is no whole number of {least} or more",
                remedy=f"Write {flag} 1,2,3.",
            )
        numbers.add(int(text))
    return tuple(sorted(numbers))


# What is asked of a release's use.

QUERIES, STATISTICS, LEARNING, BOUND = KINDS = ("queries", "statistics", "learning", "bound")


@documented
@dataclass(frozen=True)
class UtilityOptions:
    """What is measured of a release's use, beside its original; each a flag of ``check``."""

    utility: tuple[str, ...] = option(
        (),
        help=f"What the release is still good for: {', '.join(KINDS)} (sets: the most that any "
        "release could keep). Needs the original.",
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
