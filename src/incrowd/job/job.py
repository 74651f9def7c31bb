"""Job: the whole request as frozen data, written as TOML, checked before any data is read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from incrowd.encoding.coding import Coding
from incrowd.engines.choice import EngineChoice
from incrowd.errors import JobError, unknown
from incrowd.guarantees.table import GUARANTEES, Guarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.consistency import refuse_contradictions
from incrowd.job.documents import FILES, Documents
from incrowd.methods.shared.shown_columns import with_flat, with_means
from incrowd.methods.table import DEFAULT_METHOD, DEFAULT_OF_GUARANTEE, METHODS
from incrowd.options import option
from incrowd.tables.schema import Schema
from incrowd.tables.table import Location, is_address, located


@dataclass(frozen=True)
class InputOptions:
    """How the data file is written, where it should not be found out."""

    delimiter: str | None = option(None, help="What separates cells; found if not stated.")
    encoding: str | None = option(None, help="The text's encoding; UTF-8 or a BOM is found.")
    header: bool | None = option(
        None, help="Whether the first line names the columns; found if not stated."
    )
    missing_values: tuple[str, ...] = option(
        (), help="More tokens that mean missing, besides the empty cell: '?,NA'."
    )


@dataclass(frozen=True)
class ReleaseOptions(Documents):
    """What the release looks like, and what else is written."""

    keep_order: bool = option(
        False, help="Keep every row in its place; the audit then holds only if nobody knows it."
    )
    accept_insensitive: tuple[str, ...] = option(
        (), help="Insensitive columns released although they point at people."
    )
    key: str | None = option(
        None, help="Write the private table original row → released row to this file (mode 0600)."
    )
    suppression_limit: float = option(
        0.0,
        help="The share of rows, from 0 to 1, that a search may leave out of the release.",
        minimum=0,
        maximum=1,
    )
    save_policy: str | None = option(
        None,
        help="Save what was generalized how to this folder (mode 0700), for run --policy on "
        "another batch.",
    )
    keep_suppressed: bool = option(
        False,
        help="Write suppressed rows as '*' in every quasi-identifying column, where they are "
        "enough to keep the promise as a group of their own.",
    )

    def __post_init__(self) -> None:
        self.refuse_contradictions()
        limit = self.suppression_limit
        is_number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
        if not is_number or not 0 <= limit <= 1:
            raise JobError(
                "suppression_limit is not a share from 0 to 1",
                remedy="State --suppression-limit 0.02 for one row in fifty.",
            )
        if self.keep_order and limit > 0 and not self.keep_suppressed:
            raise JobError(
                "keep_order keeps every row in its place, and suppression_limit leaves rows out",
                remedy="Keep them as stars with --keep-suppressed, or drop one of the two.",
            )


@dataclass(frozen=True)
class Job:
    """Everything a user states: data, roles, hierarchies, the promise, the search, the engine.

    >>> import incrowd as ic
    >>> job = ic.Job(schema=ic.Schema(quasi=["age"], sensitive=["diagnosis"]),
    ...              guarantee=ic.KAnonymity(5))
    >>> job.method.name
    'cluster'
    """

    schema: Schema
    guarantee: Guarantee
    method: Any = None
    hierarchies: Mapping[str, HierarchySpec] = field(default_factory=dict)
    coding: Mapping[str, Coding] = field(default_factory=dict)
    bins: Mapping[str, int] = field(default_factory=dict)
    data: Location | None = None
    output: Location | None = None
    engine: EngineChoice = field(default_factory=EngineChoice)
    input: InputOptions = field(default_factory=InputOptions)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method is None:
            object.__setattr__(self, "method", METHODS[default_method(self.guarantee.name)]())
        specs = {
            column: HierarchySpec.parse(spec) if isinstance(spec, str) else spec
            for column, spec in self.hierarchies.items()
        }
        specs = with_means(self.method, self.schema, self.guarantee.k, specs, self.coding)
        specs = with_flat(self.method, self.schema, specs, self.coding)
        object.__setattr__(self, "hierarchies", specs)
        for name in ("data", "output"):
            stated = getattr(self, name)
            object.__setattr__(self, name, located(stated) if stated is not None else None)
        refuse_contradictions(self)

    # ── TOML ────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Read a job file; paths in it are relative to it."""
        path = Path(path)
        return cls.from_mapping(read_mapping(path), base=path.parent)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], base: Path | None = None) -> Job:
        """Build from the nested tables of a job file, checking every name and type."""
        base = base or Path()
        known = [*_TOP_LEVEL, *_SECTIONS]
        for name, value in mapping.items():
            if name not in known:
                raise unknown("field", name, known, where="job")
            if name in _SECTIONS and not isinstance(value, Mapping):
                raise JobError(
                    f"job: [{name}] is not a table", remedy=f"Write [{name}] key = value."
                )
        guarantee = dict(mapping.get("guarantee", {}))
        guarantee_name = str(guarantee.pop("name", KAnonymity.name))
        method = dict(mapping.get("method", {}))
        method_name = method.pop("name", default_method(guarantee_name))
        if method_name not in METHODS:
            raise unknown("method", str(method_name), METHODS)
        roles = mapping.get("roles", {})
        for column, role in roles.items():
            if not isinstance(role, str):
                raise JobError(f"[roles] {column}: not a text", remedy='Write age = "sensitive".')
        person = mapping.get("person")
        return cls(
            schema=Schema.from_roles(roles, person=_text(person, "person")),
            guarantee=build_guarantee(guarantee_name, guarantee),
            method=build(METHODS[method_name], _with_paths(method, base), "method"),
            hierarchies={
                column: value
                if isinstance(value, HierarchySpec)
                else HierarchySpec.from_toml(value, column, base)
                for column, value in mapping.get("hierarchies", {}).items()
            },
            coding={
                column: Coding.from_toml(value, column)
                for column, value in mapping.get("coding", {}).items()
            },
            bins=_typed_by_column(mapping.get("bins", {}), int, "[bins]"),
            data=path_of(mapping.get("data"), "data", base),
            output=path_of(mapping.get("output"), "output", base),
            engine=build(EngineChoice, mapping.get("engine", {}), "engine"),
            input=build(InputOptions, mapping.get("input", {}), "input"),
            release=build(
                ReleaseOptions,
                resolved(mapping.get("release", {}), base, ("key", "save_policy", *FILES)),
                "release",
            ),
            seed=mapping.get("seed", 0),
        )

    def to_mapping(self, base: Path | None = None) -> dict[str, Any]:
        """Return the nested tables of a job file; paths relative to ``base``, nothing defaulted."""
        mapping: dict[str, Any] = {}
        if self.data:
            mapping["data"] = relative(self.data, base)
        if self.output:
            mapping["output"] = relative(self.output, base)
        mapping["seed"] = self.seed
        if self.schema.person:
            mapping["person"] = self.schema.person
        mapping["roles"] = self.schema.roles
        if self.hierarchies:
            mapping["hierarchies"] = {
                column: spec.to_toml(base) for column, spec in self.hierarchies.items()
            }
        if self.coding:
            mapping["coding"] = {column: limits.to_toml() for column, limits in self.coding.items()}
        if self.bins:
            mapping["bins"] = dict(self.bins)
        mapping["guarantee"] = {"name": self.guarantee.name, **parameters(self.guarantee)}
        mapping["method"] = {"name": self.method.name, **parameters(self.method)}
        if mapping["method"].get("lines"):
            mapping["method"]["lines"] = relative(Path(mapping["method"]["lines"]), base)
        costs = mapping["method"].pop("costs", None)
        if costs:
            mapping["method"]["costs"] = {
                column: relative(Path(path), base) for column, path in costs.items()
            }
        mapping["engine"] = parameters(self.engine)
        for section in ("input", "release"):
            stated = changed(getattr(self, section))
            for file in ("key", "save_policy", *FILES):
                if file in stated:
                    stated[file] = relative(Path(stated[file]), base)
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
    "guarantee",
    "method",
    "engine",
    "input",
    "release",
)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a job file into nested tables."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise JobError(f"{path}: there is no such job file", remedy="Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise JobError(f"{path}: the job file cannot be read ({type(error).__name__})") from None
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path}: not TOML: {error}", remedy="Mend the line it names.") from None


def parameters(part: Any) -> dict[str, Any]:
    """Return a part's fields that are set, as plain values for TOML and JSON."""
    values = {item.name: getattr(part, item.name) for item in fields(part)}
    return {name: _plain(value) for name, value in values.items() if value not in (None, {}, ())}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def default_method(guarantee: str) -> str:
    """Return the name of the method that searches for a guarantee where none is stated."""
    return DEFAULT_OF_GUARANTEE.get(guarantee, DEFAULT_METHOD)


def build_guarantee(name: str, mapping: Mapping[str, Any]) -> Guarantee:
    """Build a promise by name; where people state their own k, k-anonymity has at least 2."""
    if name not in GUARANTEES:
        raise unknown("guarantee", name, GUARANTEES)
    stated = dict(mapping)
    if name == KAnonymity.name and (stated.get("k_column") or stated.get("k_rules")):
        stated.setdefault("k", 2)
    promise: Guarantee = build(GUARANTEES[name], stated, "guarantee")
    return promise


def build(kind: type[Any], mapping: Mapping[str, Any], where: str) -> Any:
    """Build a frozen part from a mapping, refusing unknown names and wrong types."""
    hints = get_type_hints(kind)
    known = [item.name for item in fields(kind)]
    arguments: dict[str, Any] = {}
    for name, value in mapping.items():
        if name not in known:
            raise unknown("field", name, known, where=f"[{where}]")
        repeats = kind.__dataclass_fields__[name].metadata.get("repeats")
        stated = [value] if repeats and isinstance(value, str) else value
        arguments[name] = _typed(stated, hints[name], f"[{where}] {name}")
    for item in fields(kind):
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        if item.name not in arguments and not has_default:
            flag = item.metadata.get("flag") or "--" + item.name.replace("_", "-")
            raise JobError(
                f"[{where}] {item.name} is not stated",
                remedy=f"State it with {flag}. {item.metadata['help']}",
            )
    return kind(**arguments)


def _typed(value: Any, hint: Any, where: str) -> Any:
    if get_origin(hint) is Mapping:
        return _typed_by_column(value, get_args(hint)[1], where)
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    if get_origin(hint) is tuple:
        if isinstance(value, str):
            value = [item.strip() for item in value.split(",") if item.strip()]
        if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise JobError(f"{where}: not a list of texts", remedy='Write ["a", "b"].')
    if value is None or any(type(value) is kind for kind in kinds):
        return value
    if float in kinds and type(value) is int:
        return float(value) if int not in kinds else value
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    wanted = " or ".join(names.get(kind, str(kind)) for kind in kinds)
    raise JobError(f"{where}: {value!r} is not {wanted}", remedy=f"State {wanted}.")


def _typed_by_column(value: Any, kind: type[Any], where: str) -> dict[str, Any]:
    """Return a setting per column from a table, or from the text of a flag: age=1,zip=2."""
    if isinstance(value, str):
        stated = {}
        for part in filter(None, (item.strip() for item in value.split(","))):
            column, _, number = part.partition("=")
            try:
                stated[column.strip()] = kind(number)
            except ValueError:
                raise JobError(
                    f"{where}: {part!r} is not of the form COLUMN=NUMBER",
                    remedy="Write age=1,zip=2, or a table in the job file.",
                ) from None
        return stated
    if not isinstance(value, Mapping):
        raise JobError(f"{where}: not a table", remedy=f"Write {where.split()[-1]}.age = 1.")
    return {name: _typed(item, kind, f"{where} of {name!r}") for name, item in value.items()}


def changed(part: Any) -> dict[str, Any]:
    """Return the fields of a part that are not as they are by default."""
    default = type(part)()
    return {
        name: value
        for name, value in parameters(part).items()
        if getattr(part, name) != getattr(default, name)
    }


def _text(value: Any, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise JobError(f"{where}: not a text", remedy=f'Write {where} = "…".')
    return value or None


def path_of(value: Any, where: str, base: Path) -> Location | None:
    """Return a stated location as it is seen from the job's folder."""
    text = _text(value, where)
    return located(text, base) if text else None


def resolved(section: Mapping[str, Any], base: Path, files: tuple[str, ...]) -> dict[str, Any]:
    """Return a section with the files it names found from the job's folder."""
    found = dict(section)
    for name in files:
        if isinstance(found.get(name), str):
            found[name] = str(base / found[name])
    return found


def _with_paths(method: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Return a method's settings with its files of costs found from the job's folder."""
    resolved = dict(method)
    if isinstance(resolved.get("lines"), str):
        resolved["lines"] = str(base / resolved["lines"])
    costs = resolved.get("costs")
    if isinstance(costs, Mapping):
        resolved["costs"] = {
            column: str(base / path) if isinstance(path, str) else path
            for column, path in costs.items()
        }
    return resolved


def relative(path: Location, base: Path | None) -> str:
    """Return a location as a job in folder ``base`` states it."""
    if base is None or is_address(path):
        return str(path)
    return os.path.relpath(path, base) + ("/" if str(path).endswith("/") else "")
