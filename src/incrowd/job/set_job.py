"""SetJob: a request about sets of items, as frozen data, written as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incrowd.engines.choice import EngineChoice
from incrowd.errors import JobError, unknown
from incrowd.guarantees.table import RULE_GUARANTEES, SET_GUARANTEES
from incrowd.job.consistency import require_seed
from incrowd.job.documents import FILES, Documents
from incrowd.job.job import (
    InputOptions,
    Job,
    build,
    changed,
    parameters,
    path_of,
    relative,
    resolved,
)
from incrowd.methods.table import DEFAULT_SET_METHOD, SET_METHODS
from incrowd.options import option
from incrowd.sets.sets import BIPARTITE, GRAPHS
from incrowd.tables.table import Location, located
from incrowd.transactions.rules import CLOSURES

SYMMETRIES = ("none", "either", "both")

OF_SETS = (".dat", ".npz", ".mtx")
"""Endings of files that hold sets and nothing else."""

SET_KINDS = ("baskets", "edges", "pairs", "lists", "npz", "mtx")


@dataclass(frozen=True)
class SetInput:
    """How a file of sets is written and what its rows and items are, where it must be stated."""

    graph: str = option(
        BIPARTITE,
        help="What rows and items are: two kinds of things, or the same nodes of a graph.",
        choices=GRAPHS,
    )
    kind: str | None = option(
        None,
        flag="--set-kind",
        help="How sets are stored, if not as the file's ending says.",
        choices=SET_KINDS,
    )
    row_column: str | None = option(
        None, help="The column that names rows, where a file has more than two."
    )
    item_column: str | None = option(
        None, help="The column that names items, or holds their lists."
    )
    values: str = option(
        "binary",
        help="What a matrix may hold: 0 and 1 alone, or any number, where all but 0 is an entry.",
        choices=("binary", "nonzero"),
    )
    items: str | None = option(
        None, help="A public list of all items, one a line: differential privacy needs it."
    )
    row_k: str | None = option(
        None, help="A file with the columns row and k: each person's own k; others have --k."
    )


@dataclass(frozen=True)
class RuleInput:
    """Which items are sensitive and which rules are to be protected."""

    file: str | None = option(
        None, flag="--rules", help="The rules to protect, one a line: a b -> s t."
    )
    mine: int | None = option(
        None,
        flag="--mine-rules",
        help="Protect the rules that the data as they are would break, with up to so many public "
        "items.",
        minimum=1,
        maximum=3,
    )
    generate: int | None = option(
        None,
        flag="--generate-rules",
        help="Protect so many rules drawn from the data by the seed, for experiments.",
        minimum=1,
    )
    closure: str = option(
        "none",
        help="Also protect each rule's public part against every sensitive item, or all its "
        "subsets too.",
        choices=CLOSURES,
    )
    sensitive_items: str | None = option(
        None,
        help="The items that are sensitive and stay as they are: a file with one a line, a list "
        "a,b,c, or share:0.1, a share drawn by the seed. All others are public.",
    )
    weights: str | None = option(
        None, help="A file with the columns item and weight: what generalizing an item costs."
    )
    save: str | None = option(
        None,
        flag="--save-rules",
        help="Write the rules that were protected to this file (mode 0600).",
    )

    def __post_init__(self) -> None:
        if self.closure not in CLOSURES:
            raise unknown("closure", self.closure, CLOSURES, where="[rules] closure")
        for name, value, least in (("mine", self.mine, 1), ("generate", self.generate, 1)):
            if value is not None and (type(value) is not int or value < least):
                raise JobError(
                    f"[rules] {name} is not a whole number of {least} or more",
                    remedy="State 2, for example.",
                )
        if self.mine is not None and self.mine > 3:
            raise JobError(
                "[rules] mine: rules are mined with up to 3 public items",
                remedy="State 1, 2 or 3.",
            )

    @property
    def sources(self) -> list[str]:
        """Where rules come from, as flags."""
        named = {"--rules": self.file, "--mine-rules": self.mine, "--generate-rules": self.generate}
        return [flag for flag, value in named.items() if value is not None]


@dataclass(frozen=True)
class SetReleaseOptions(Documents):
    """What a release of sets looks like, and what else is written."""

    keep_order: bool = option(
        False, help="Keep every row in its place; the audit then holds only if nobody knows it."
    )
    key: str | None = option(
        None, help="Write the private table original row → released row to this file (mode 0600)."
    )
    symmetrize: str = option(
        "none",
        help="Make an undirected graph's release symmetric, by edges that either end shows or that "
        "both show; it is audited as it then is, and often refused.",
        choices=SYMMETRIES,
    )

    def __post_init__(self) -> None:
        self.refuse_contradictions()
        if self.symmetrize not in SYMMETRIES:
            raise unknown("symmetry", self.symmetrize, SYMMETRIES, where="[release] symmetrize")


@dataclass(frozen=True)
class SetJob:
    """Everything a user states about sets: data, the promise, the search, the engine.

    >>> import incrowd as ic
    >>> ic.SetJob(guarantee=ic.Smooth(8)).method.name
    'cluster'
    """

    guarantee: Any
    method: Any = None
    data: Location | None = None
    output: Location | None = None
    sets: SetInput = field(default_factory=SetInput)
    rules: RuleInput = field(default_factory=RuleInput)
    input: InputOptions = field(default_factory=InputOptions)
    engine: EngineChoice = field(default_factory=EngineChoice)
    release: SetReleaseOptions = field(default_factory=SetReleaseOptions)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method is None:
            method = SET_METHODS[DEFAULT_SET_METHOD.get(self.guarantee.name, "cluster")]()
            object.__setattr__(self, "method", method)
        for name in ("data", "output"):
            stated = getattr(self, name)
            object.__setattr__(self, name, located(stated) if stated is not None else None)
        if self.guarantee.name not in self.method.keeps:
            able = [name for name, kind in SET_METHODS.items() if self.guarantee.name in kind.keeps]
            raise JobError(
                f"method {self.method.name!r} does not keep {self.guarantee.name} on sets",
                remedy=f"Use --method {' or '.join(able)}.",
            )
        if self.release.symmetrize != "none" and self.sets.graph != "undirected":
            raise JobError(
                "symmetrize is about undirected graphs",
                remedy="State --graph undirected, or leave --symmetrize out.",
            )
        if self.input.missing_values:
            raise JobError(
                "missing_values is about tables: a set has an item or has it not",
                remedy="Leave --missing-values out.",
            )
        if self.sets.row_k and "k-per-person" not in self.method.keeps:
            raise JobError(
                f"method {self.method.name!r} does not keep a k per person",
                remedy="Leave --row-k out, or use another method.",
            )
        _require_rules(self)
        require_seed(self.seed)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], base: Path | None = None) -> SetJob:
        """Build from the nested tables of a job file, checking every name and type."""
        base = base or Path()
        for name, value in mapping.items():
            if name not in (*_TOP_LEVEL, *_SECTIONS):
                raise unknown("field", name, (*_TOP_LEVEL, *_SECTIONS), where="job of sets")
            if name in _SECTIONS and not isinstance(value, Mapping):
                raise JobError(
                    f"job: [{name}] is not a table", remedy=f"Write [{name}] key = value."
                )
        guarantee = dict(mapping.get("guarantee", {}))
        name = str(guarantee.pop("name", ""))
        if name not in SET_GUARANTEES:
            raise unknown("guarantee of sets", name, SET_GUARANTEES)
        method = dict(mapping.get("method", {}))
        method_name = method.pop("name", DEFAULT_SET_METHOD.get(name, "cluster"))
        if method_name not in SET_METHODS:
            raise unknown("method of sets", str(method_name), SET_METHODS)
        files = ("row_k", "items")
        rules = dict(mapping.get("rules", {}))
        rules = resolved(rules, base, _files_of_rules(rules, base))
        return cls(
            guarantee=build(SET_GUARANTEES[name], guarantee, "guarantee"),
            method=build(SET_METHODS[method_name], method, "method"),
            data=path_of(mapping.get("data"), "data", base),
            output=path_of(mapping.get("output"), "output", base),
            input=build(InputOptions, mapping.get("input", {}), "input"),
            sets=build(SetInput, resolved(mapping.get("sets", {}), base, files), "sets"),
            rules=build(RuleInput, rules, "rules"),
            engine=build(EngineChoice, mapping.get("engine", {}), "engine"),
            release=build(
                SetReleaseOptions,
                resolved(mapping.get("release", {}), base, ("key", *FILES)),
                "release",
            ),
            seed=mapping.get("seed", 0),
        )

    def to_mapping(self, base: Path | None = None) -> dict[str, Any]:
        """Return the nested tables of a job file; paths relative to ``base``."""
        mapping: dict[str, Any] = {}
        for name in ("data", "output"):
            if getattr(self, name):
                mapping[name] = relative(getattr(self, name), base)
        mapping["seed"] = self.seed
        mapping["guarantee"] = {"name": self.guarantee.name, **parameters(self.guarantee)}
        mapping["method"] = {"name": self.method.name, **parameters(self.method)}
        mapping["engine"] = parameters(self.engine)
        for section in ("sets", "rules", "input", "release"):
            stated = changed(getattr(self, section))
            for file in ("row_k", "items", "key", *FILES, *_files_of_rules(stated, Path())):
                if file in stated:
                    stated[file] = relative(Path(stated[file]), base)
            if stated:
                mapping[section] = stated
        return mapping

    def to_toml(self, base: Path | None = None) -> str:
        """Return the job as the text of a job file that reproduces it."""
        import tomli_w

        return tomli_w.dumps(self.to_mapping(base))


_TOP_LEVEL = ("data", "output", "seed")
_SECTIONS = ("guarantee", "method", "sets", "rules", "input", "engine", "release")


def _files_of_rules(stated: Mapping[str, Any], base: Path) -> tuple[str, ...]:
    """Return the fields of [rules] that name files; sensitive items may be a file or a list."""
    named = stated.get("sensitive_items")
    is_file = isinstance(named, str) and "," not in named and (base / named).is_file()
    return ("file", "weights", "save", *(["sensitive_items"] if is_file else []))


def _require_rules(job: SetJob) -> None:
    """Refuse rules where none are protected, and none where they are."""
    stated = changed(job.rules)
    if job.guarantee.name == "rules":
        if len(job.rules.sources) != 1:
            raise JobError(
                "rules come from one place: a file, the data or a draw",
                remedy="State one of --rules FILE, --mine-rules 2, --generate-rules 4000.",
            )
        if not job.rules.sensitive_items:
            raise JobError(
                "no item is sensitive, so no rule can tell anything",
                remedy="State --sensitive-items: a file, a list a,b,c or share:0.1.",
            )
    elif job.guarantee.name == "km":
        allowed = {"sensitive_items", "weights"}
        if set(stated) - allowed:
            raise JobError(
                "km protects every few public items, not stated rules",
                remedy="Leave rules out, or use --guarantee rules.",
            )
        job.method.require_rounds_for(job.guarantee.name)
    elif stated:
        raise JobError(
            f"rules and sensitive items are not about {job.guarantee.name}",
            remedy="Use --guarantee rules or km, or leave them out.",
        )
    if job.guarantee.name in RULE_GUARANTEES and job.sets.graph != BIPARTITE:
        raise JobError(
            "rules are about transactions, not about graphs", remedy="Leave --graph out."
        )


def job_from_mapping(mapping: Mapping[str, Any], base: Path | None = None) -> Job | SetJob:
    """Build the job of a table, or of sets where the promise or the file is about sets."""
    guarantee = mapping.get("guarantee", {})
    name = guarantee.get("name") if isinstance(guarantee, Mapping) else None
    data = mapping.get("data")
    implied = implied_guarantee(mapping) if name is None else None
    if implied is not None:
        promise = {"name": implied, **guarantee}
        return SetJob.from_mapping({**mapping, "guarantee": promise}, base)
    if name is None and isinstance(data, str) and data.removesuffix(".gz").endswith(OF_SETS):
        return SetJob.from_mapping({**mapping, "guarantee": {"name": "smooth", **guarantee}}, base)
    if name in SET_GUARANTEES:
        return SetJob.from_mapping(mapping, base)
    return Job.from_mapping(mapping, base)


def implied_guarantee(mapping: Mapping[str, Any]) -> str | None:
    """Return the promise that stated rules or a stated m imply; None where neither is stated."""
    guarantee = mapping.get("guarantee", {})
    if isinstance(guarantee, Mapping) and "m" in guarantee:
        return "km"
    return "rules" if mapping.get("rules") else None
