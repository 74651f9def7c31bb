"""Parts of a job from the tables of a job file: names and types checked, paths resolved."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from incrowd.errors import JobError, unknown
from incrowd.tables.locations import Location, is_address, resolve_location


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
        return typed_by_column(value, get_args(hint)[1], where)
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


def typed_by_column(value: Any, kind: type[Any], where: str) -> dict[str, Any]:
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


def parse_text(value: Any, where: str) -> str | None:
    """Return a stated text; None where it is empty or not stated."""
    if value is not None and not isinstance(value, str):
        raise JobError(f"{where}: not a text", remedy=f'Write {where} = "…".')
    return value or None


def parse_location(value: Any, where: str, base: Path) -> Location | None:
    """Return a stated location as it is seen from the job's folder."""
    text = parse_text(value, where)
    return resolve_location(text, base) if text else None


def resolve_paths(section: Mapping[str, Any], base: Path, files: tuple[str, ...]) -> dict[str, Any]:
    """Return a section with the files it names found from the job's folder."""
    found = dict(section)
    for name in files:
        stated = found.get(name)
        if isinstance(stated, str):
            found[name] = str(base / stated)
        elif isinstance(stated, list) and all(isinstance(path, str) for path in stated):
            found[name] = [str(base / path) for path in stated]
    return found


def relative_path(path: Location, base: Path | None) -> str:
    """Return a location as a job in folder ``base`` states it."""
    if base is None or is_address(path):
        return str(path)
    return os.path.relpath(path, base) + ("/" if str(path).endswith("/") else "")
