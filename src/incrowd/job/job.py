"""Job: the whole request as frozen data, written as TOML, checked before any data is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incrowd.encoding.coding import Coding
from incrowd.engines.choice import EngineChoice
from incrowd.errors import JobError, ProblemList, unknown
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.guarantees.table import Guarantee, TableGuarantee, require_guarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.accept import accept_parts, build_guarantee, build_method
from incrowd.job.build import (
    build,
    parse_location,
    parse_text,
    read_mapping,
    relative_path,
    resolve_paths,
    typed_by_column,
)
from incrowd.job.consistency import refuse_contradictions
from incrowd.job.documents import FILES, ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.methods.base import Method, TableMethod
from incrowd.methods.shared.shown_columns import with_flat, with_means
from incrowd.methods.table import METHODS, default_method
from incrowd.options import changed_parameters, parameters, suggest_keywords
from incrowd.tables.locations import Location, resolve_location
from incrowd.tables.schema import Schema

SET_SUFFIXES = (".dat", ".npz", ".mtx")
"""Endings of files that hold sets and nothing else."""


@suggest_keywords
@dataclass(frozen=True)
class Job:
    """Everything a user states: data, roles, hierarchies, the promise, the search, the engine.

    The guarantee says which shape the data have: tables, sets or transactions. In place of objects
    it takes what a job file states: ``method="mondrian"``, ``guarantee={"name": "smooth",
    "k": 8}``, ``hierarchies={"age": {"intervals": [5, 10]}}``.

    >>> import incrowd as ic
    >>> job = ic.Job(schema=ic.Schema(quasi=["age"], sensitive=["diagnosis"]),
    ...              guarantee=ic.KAnonymity(5))
    >>> job.method.name
    'cluster'
    >>> ic.Job(guarantee=ic.Smooth(8)).shape
    'sets'

    Parameters
    ----------
    guarantee : Guarantee
        The promise: ``KAnonymity(5)``, ``Smooth(8)``, …
    schema : Schema
        The role of every column of a table; sets have none.
    method : Method
        The search that keeps the promise; by default the best that the guarantee has.
    hierarchies : mapping of str to str
        How columns are generalized, as the command line states it: ``{"age": "intervals:5,10",
        "zip": "prefix", "education": "education.csv"}``. Others are built from the data.
    coding : mapping of str to Coding
        Limits beyond which numbers are shown as one value, by column.
    bins : mapping of str to int
        How many bins numbers are cut into before the search, by column.
    sets : SetInput
        How sets are stored, and what their rows and items are.
    rules : RuleInput
        The sensitive items and the rules of transactions.
    data : str | Path | None, default None
        The file, folder or address that ``run`` reads.
    output : str | Path | None, default None
        Where ``run`` writes the release; by default beside the data.
    engine : EngineChoice
        Where the rows live: memory, disk or Spark.
    input : InputOptions
        How the data file is written, where it is not to be detected.
    release : ReleaseOptions
        What the release looks like, and which documents are written beside it.
    seed : int, default 0
        The random seed of the search.
    """

    guarantee: Guarantee
    schema: Schema = field(default_factory=Schema)
    method: Method = None  # type: ignore[assignment]  # the guarantee's default, once it is built
    hierarchies: Mapping[str, HierarchySpec | str | Path | Mapping[str, Any]] = field(
        default_factory=dict
    )
    coding: Mapping[str, Coding] = field(default_factory=dict)
    bins: Mapping[str, int] = field(default_factory=dict)
    sets: SetInput = field(default_factory=SetInput)
    rules: RuleInput = field(default_factory=RuleInput)
    data: Location | None = None
    output: Location | None = None
    engine: EngineChoice = field(default_factory=EngineChoice)
    input: InputOptions = field(default_factory=InputOptions)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    seed: int = 0

    def __post_init__(self) -> None:
        for name, part in accept_parts(self).items():
            object.__setattr__(self, name, part)
        if self.method is None:
            object.__setattr__(self, "method", METHODS[default_method(self.guarantee.name)]())
        problems = ProblemList()
        if self.shape == TABLES and isinstance(self.method, TableMethod):
            settled = problems.attempt(self._settled_hierarchies)
            object.__setattr__(self, "hierarchies", settled or self.hierarchies)
        for name in ("data", "output"):
            stated = getattr(self, name)
            object.__setattr__(self, name, resolve_location(stated) if stated is not None else None)
        problems.attempt(refuse_contradictions, self)
        problems.refuse()

    @property
    def shape(self) -> str:
        """The shape of the data: tables, sets or transactions."""
        return self.guarantee.shape

    @property
    def hierarchy_specs(self) -> Mapping[str, HierarchySpec]:
        """The stated hierarchies, and those that the method asks for, by column."""
        return cast("Mapping[str, HierarchySpec]", self.hierarchies)

    @property
    def method_parameters(self) -> dict[str, Any]:
        """The settings of the method that apply to data of this shape."""
        return parameters(self.method, TABLES if self.shape == TABLES else SETS)

    def _settled_hierarchies(self) -> dict[str, HierarchySpec]:
        """Return the hierarchies that are stated or that the method asks for."""
        specs = dict(self.hierarchy_specs)
        method, k = cast(TableMethod, self.method), cast(TableGuarantee, self.guarantee).k
        specs = with_means(method, self.schema, k, specs, self.coding)
        return with_flat(method, self.schema, specs, self.coding)

    if TYPE_CHECKING:

        def __init__(
            self,
            guarantee: Guarantee | Mapping[str, Any] | str | int,
            schema: Schema | Mapping[str, Any] = ...,
            method: Method | Mapping[str, Any] | str | None = None,
            hierarchies: Mapping[str, HierarchySpec | str | Path | Mapping[str, Any]] = ...,
            coding: Mapping[str, Coding | Mapping[str, Any]] = ...,
            bins: Mapping[str, int] = ...,
            sets: SetInput | Mapping[str, Any] = ...,
            rules: RuleInput | Mapping[str, Any] = ...,
            data: Location | None = None,
            output: Location | None = None,
            engine: EngineChoice | Mapping[str, Any] | str = ...,
            input: InputOptions | Mapping[str, Any] = ...,
            release: ReleaseOptions | Mapping[str, Any] = ...,
            seed: int = 0,
        ) -> None: ...

    # ── TOML ────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Read a job file; paths in it are relative to it."""
        path = Path(path)
        return cls.from_mapping(read_mapping(path), base=path.parent)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], base: Path | None = None) -> Job:
        """Build from the nested tables of a job file, checking every name and type.

        What is wrong with independent parts is told at once: see ``errors.Problems``.
        """
        base = base or Path()
        problems = ProblemList()
        problems.extend(_misplaced(mapping))
        parts = {
            name: dict(value) if isinstance(value, Mapping) else {}
            for name, value in ((section, mapping.get(section, {})) for section in _SECTIONS)
        }
        attempt = problems.attempt
        guarantee, method, rules = parts["guarantee"], parts["method"], parts["rules"]
        guarantee_name = str(guarantee.pop("name", implied_guarantee(mapping)))
        guarantee_name = attempt(require_guarantee, guarantee_name) or guarantee_name
        method_name = str(method.pop("name", default_method(guarantee_name)))
        hierarchies = {
            column: value
            if isinstance(value, HierarchySpec)
            else attempt(HierarchySpec.from_toml, value, column, base)
            for column, value in parts["hierarchies"].items()
        }
        coding = {
            column: attempt(Coding.from_toml, value, column)
            for column, value in parts["coding"].items()
        }
        release = resolve_paths(parts["release"], base, _RELEASE_FILES)
        built: dict[str, Any] = {
            "schema": attempt(_build_schema, parts["roles"], mapping.get("person")),
            "guarantee": attempt(build_guarantee, guarantee_name, guarantee),
            "method": attempt(build_method, method_name, _with_paths(method, base)),
            "hierarchies": hierarchies,
            "coding": coding,
            "bins": attempt(typed_by_column, parts["bins"], int, "[bins]"),
            "sets": attempt(
                build, SetInput, resolve_paths(parts["sets"], base, _SET_FILES), "sets"
            ),
            "rules": attempt(
                build, RuleInput, resolve_paths(rules, base, _rule_files(rules, base)), "rules"
            ),
            "data": attempt(parse_location, mapping.get("data"), "data", base),
            "output": attempt(parse_location, mapping.get("output"), "output", base),
            "engine": attempt(build, EngineChoice, parts["engine"], "engine"),
            "input": attempt(build, InputOptions, parts["input"], "input"),
            "release": attempt(build, ReleaseOptions, release, "release"),
            "seed": mapping.get("seed", 0),
        }
        problems.refuse()
        return cls(**built)

    def to_mapping(self, base: Path | None = None) -> dict[str, Any]:
        """Return the nested tables of a job file; paths relative to ``base``, nothing defaulted."""
        mapping: dict[str, Any] = {}
        for name in ("data", "output"):
            if getattr(self, name):
                mapping[name] = relative_path(getattr(self, name), base)
        mapping["seed"] = self.seed
        if self.schema.person:
            mapping["person"] = self.schema.person
        if self.schema.roles:
            mapping["roles"] = self.schema.roles
        if self.hierarchies:
            mapping["hierarchies"] = {
                column: spec.to_toml(base) for column, spec in self.hierarchy_specs.items()
            }
        if self.coding:
            mapping["coding"] = {column: limits.to_toml() for column, limits in self.coding.items()}
        if self.bins:
            mapping["bins"] = dict(self.bins)
        mapping["guarantee"] = {"name": self.guarantee.name, **parameters(self.guarantee)}
        mapping["method"] = {"name": self.method.name, **self.method_parameters}
        if mapping["method"].get("combinations"):
            path = Path(mapping["method"]["combinations"])
            mapping["method"]["combinations"] = relative_path(path, base)
        costs = mapping["method"].pop("costs", None)
        if costs:
            mapping["method"]["costs"] = {
                column: relative_path(Path(path), base) for column, path in costs.items()
            }
        mapping["engine"] = parameters(self.engine)
        for section in ("sets", "rules", "input", "release"):
            stated = changed_parameters(getattr(self, section))
            files = {
                "sets": _SET_FILES,
                "rules": _rule_files(stated, Path()),
                "release": _RELEASE_FILES,
            }
            for file in files.get(section, ()):
                if isinstance(stated.get(file), list):
                    stated[file] = [relative_path(Path(path), base) for path in stated[file]]
                elif file in stated:
                    stated[file] = relative_path(Path(stated[file]), base)
            if stated:
                mapping[section] = stated
        return mapping

    def to_toml(self, base: Path | None = None) -> str:
        """Return the job as the text of a job file that reproduces it."""
        import tomli_w

        return tomli_w.dumps(self.to_mapping(base))


_TOP_LEVEL = ("data", "output", "seed", "person")
_SECTIONS = (
    "roles",
    "hierarchies",
    "coding",
    "bins",
    "sets",
    "rules",
    "guarantee",
    "method",
    "engine",
    "input",
    "release",
)
_SET_FILES = ("row_k", "items")
_RELEASE_FILES = ("key", "save_policy", "former", *FILES)


def _misplaced(mapping: Mapping[str, Any]) -> Iterator[JobError]:
    """Yield the names that no job has, and the sections that are not tables."""
    known = [*_TOP_LEVEL, *_SECTIONS]
    for name, value in mapping.items():
        if name not in known:
            yield unknown("field", name, known, where="job")
        elif name in _SECTIONS and not isinstance(value, Mapping):
            yield JobError(f"job: [{name}] is not a table", remedy=f"Write [{name}] key = value.")


def _build_schema(roles: Mapping[str, Any], person: Any) -> Schema:
    for column, role in roles.items():
        if not isinstance(role, str):
            raise JobError(f"[roles] {column}: not a text", remedy='Write age = "sensitive".')
    return Schema.from_roles(roles, person=parse_text(person, "person"))


def implied_guarantee(mapping: Mapping[str, Any]) -> str:
    """Return the promise that a job implies where it names none.

    A stated m or rules are about transactions, a file of sets is smooth, all else k-anonymity.
    """
    guarantee = mapping.get("guarantee", {})
    if isinstance(guarantee, Mapping) and "m" in guarantee:
        return "km"
    if mapping.get("rules"):
        return "rules"
    data = mapping.get("data")
    is_of_sets = isinstance(data, str) and data.removesuffix(".gz").endswith(SET_SUFFIXES)
    return "smooth" if is_of_sets else KAnonymity.name


def _rule_files(stated: Mapping[str, Any], base: Path) -> tuple[str, ...]:
    """Return the fields of [rules] that name files; sensitive items may be a file or a list."""
    named = stated.get("sensitive_items")
    is_file = isinstance(named, str) and "," not in named and (base / named).is_file()
    return ("file", "weights", "save", *(["sensitive_items"] if is_file else []))


def _with_paths(method: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Return a method's settings with the files that they name found from the job's folder."""
    found = dict(method)
    if isinstance(found.get("combinations"), str):
        found["combinations"] = str(base / found["combinations"])
    costs = found.get("costs")
    if isinstance(costs, Mapping):
        found["costs"] = {
            column: str(base / path) if isinstance(path, str) else path
            for column, path in costs.items()
        }
    return found
