"""What is to be checked: a release, what it promises, and what its owner adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from incrowd.encoding.coding import Coding
from incrowd.engines.choice import EngineChoice
from incrowd.errors import JobError
from incrowd.guarantees.evidence import TABLES
from incrowd.guarantees.table import Guarantee
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job
from incrowd.measures.options import AttackOptions, CompositionOptions, RiskOptions, UtilityOptions
from incrowd.methods.base import TableMethod
from incrowd.tables.schema import Schema


@dataclass(frozen=True)
class Measurements:
    """What is measured besides the promise; ``risk`` is None where it is not asked for.

    ``other`` is a second release (a path or a frame), which composition compares with the first.
    """

    risk: RiskOptions | None = None
    attacks: AttackOptions = field(default_factory=AttackOptions)
    composition: CompositionOptions = field(default_factory=CompositionOptions)
    utility: UtilityOptions = field(default_factory=UtilityOptions)
    other: Any = None

    def __post_init__(self) -> None:
        if self.composition.composition != (self.other is not None):
            raise JobError(
                "--composition compares two releases"
                if self.other is None
                else "a second release is stated, and nothing is asked of both",
                remedy="incrowd check FIRST SECOND --composition --quasi …",
            )

    @property
    def flags(self) -> list[str]:
        """The flags that ask for something."""
        return [
            *(["--risk"] if self.risk is not None else []),
            *(["--attack"] if self.attacks.attack else []),
            *(["--composition"] if self.composition.composition else []),
            *(["--utility"] if self.utility.utility else []),
        ]


@dataclass(frozen=True, eq=False)
class Request:
    """A release, the guarantee to check it for, and what else is known of it.

    ``released`` and ``original`` are paths, or data in Python: frames and tables, matrices and
    Sets. The owner's ``original`` with ``key`` (a file, or ``original_row[released row]`` counted
    from 0) or ``aligned`` rows allows what compares a row with its original. Columns without a
    role are looked at as insensitive, but for the column of ``pseudonyms``. Unless
    ``detects_formats``, only columns whose format is stated are read as dates or numbers that are
    written in another way.
    """

    released: Any
    guarantee: Guarantee
    schema: Schema = field(default_factory=Schema)
    hierarchies: Mapping[str, HierarchySpec] = field(default_factory=dict)
    coding: Mapping[str, Coding] = field(default_factory=dict)
    bins: Mapping[str, int] = field(default_factory=dict)
    has_bits: bool = False
    pseudonyms: str | None = None
    sets: SetInput = field(default_factory=SetInput)
    rules: RuleInput = field(default_factory=RuleInput)
    input: InputOptions = field(default_factory=InputOptions)
    engine: EngineChoice = field(default_factory=EngineChoice)
    seed: int = 0
    original: Any = None
    key: Any = None
    aligned: bool = False
    accepted: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    measures: bool = False
    measurements: Measurements = field(default_factory=Measurements)
    detects_formats: bool = True

    def __post_init__(self) -> None:
        if self.original is None and (self.key is not None or self.aligned or self.sets.row_k):
            raise JobError(
                "--key, --aligned and --row-k speak of an original", remedy="Name it: --original."
            )

    @classmethod
    def of_job(cls, job: Job, released: Any, **stated: Any) -> Request:
        """Return the check of a release that a job made; ``stated`` goes beyond the job."""
        own: dict[str, Any] = {
            "schema": job.schema,
            "hierarchies": job.hierarchy_specs,
            "coding": job.coding,
            "bins": job.bins,
            "sets": job.sets,
            "rules": job.rules,
            "input": job.input,
            "seed": job.seed,
            "accepted": job.release.accept_insensitive,
        }
        if job.shape == TABLES:
            own["pseudonyms"] = job.release.pseudonyms
            own["has_bits"] = cast(TableMethod, job.method).releases_bits
        return cls(released, **{"guarantee": job.guarantee, **own, **stated})

    def refuse_flags(self, where: str, remedy: str, *kept: str) -> None:
        """Raise where something is asked that cannot be checked on such a release."""
        asked: dict[str, Any] = {
            "--original": self.original is not None,
            "--key": self.key is not None,
            "--aligned": self.aligned,
            "--measure": self.measures,
            "--bits": self.has_bits,
            "--pseudonyms": self.pseudonyms,
            "--person": self.schema.person,
            "limits": self.coding,
            **dict.fromkeys(self.measurements.flags, True),
            **{f"--{name.replace('_', '-')}": True for name in self.thresholds},
        }
        refused = [name for name, is_asked in asked.items() if is_asked and name not in kept]
        if refused:
            raise JobError(f"{where} is not checked with {', '.join(refused)}", remedy=remedy)
