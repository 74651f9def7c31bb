"""Flags made from the fields of a job's parts, so that help, TOML and flags cannot drift apart."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from incrowd.cli.completion import (
    complete_column,
    complete_columns,
    complete_guarantee,
    complete_hierarchy,
    complete_number_of_column,
    completing,
)
from incrowd.errors import JobError, ProblemList
from incrowd.guarantees.evidence import SETS, TABLES, TRANSACTIONS
from incrowd.guarantees.table import GUARANTEES, SET_GUARANTEES, TABLE_GUARANTEES
from incrowd.hierarchies.specs import HierarchySpec

Quasi = Annotated[
    str | None,
    typer.Option(
        "--quasi",
        help="Quasi-identifiers, comma-separated.",
        rich_help_panel="Columns",
        autocompletion=complete_columns,
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(
        "--sensitive",
        help="Sensitive attributes, comma-separated.",
        rich_help_panel="Columns",
        autocompletion=complete_columns,
    ),
]
Insensitive = Annotated[
    str | None,
    typer.Option(
        help="Insensitive columns, released unchanged.",
        rich_help_panel="Columns",
        autocompletion=complete_columns,
    ),
]
Identifying = Annotated[
    str | None,
    typer.Option(
        help="Direct identifiers, removed.",
        rich_help_panel="Columns",
        autocompletion=complete_columns,
    ),
]
GuaranteeName = Annotated[
    str | None,
    typer.Option(
        help=f"Guarantee of tables: {', '.join(TABLE_GUARANTEES)}; of sets and transactions: "
        f"{', '.join(SET_GUARANTEES)}.",
        rich_help_panel="Guarantee",
        autocompletion=complete_guarantee,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Random seed; default 0.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any field of the job: method.partitions=4. Repeatable."),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        help="Column that identifies a person, if people have several rows; groups then count "
        "people.",
        rich_help_panel="Columns",
        autocompletion=complete_column,
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        help="Generalization hierarchy, COLUMN=FILE | ranges | mean | intervals:5,10,20 | "
        "prefix | dates:month,year | age:DATE_OR_COLUMN | days-since:DATE_OR_COLUMN | icd10 | "
        "postcode:DE | country | ages | isco | flat | auto. Repeatable; default: auto.",
        rich_help_panel="Columns",
        autocompletion=complete_hierarchy,
    ),
]
Bottoms = Annotated[
    list[str] | None,
    typer.Option(
        "--bottom",
        help="Bottom coding, COLUMN=NUMBER: smaller numbers are released as one value. Repeatable.",
        rich_help_panel="Columns",
        autocompletion=complete_number_of_column,
    ),
]
Tops = Annotated[
    list[str] | None,
    typer.Option(
        "--top",
        help="Top coding, COLUMN=NUMBER: larger numbers are released as one value. Repeatable.",
        rich_help_panel="Columns",
        autocompletion=complete_number_of_column,
    ),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="COLUMN=NUMBER: cut a column of numbers into so many bins of equal counts, each shown "
        "as its median; 0 keeps it as it is. Several times.",
        rich_help_panel="Columns",
        autocompletion=complete_number_of_column,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ShowValues = Annotated[
    bool, typer.Option("--show-values", help="Allow examples of values in messages.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there already.")]


@dataclass(frozen=True)
class Flag:
    """One flag: where its value goes in a job, and how Typer shows it."""

    section: str
    field: str
    parameter: inspect.Parameter
    is_mixed: bool = False
    """Whether it is a number for one method and may be a word for another."""
    is_by_column: bool = False
    """Whether each of its values is a setting of one column, COLUMN=TEXT."""


PANEL_OF_SHAPE = {TABLES: "Columns", SETS: "Sets", TRANSACTIONS: "Rules"}


def flags_of(
    section: str,
    kinds: Collection[type[Any]],
    panel: str,
    panel_of_field: Mapping[str, str] | None = None,
) -> dict[str, Flag]:
    """Return a flag per field of the given dataclasses, by parameter name; None means not given.

    Several methods may have a field in common: then it is one flag. A flag that is about data of
    one shape alone stands in that shape's panel of the help, whatever part of a job it is in.
    """
    found: dict[str, Flag] = {}
    hints_of = {kind: get_type_hints(kind) for kind in kinds}
    for kind, hints in hints_of.items():
        for item in fields(kind):
            flag = item.metadata.get("flag") or "--" + item.name.replace("_", "-")
            name = flag.removeprefix("--").replace("-", "_")
            if name not in found:
                having = [part for part in kinds if item.name in {f.name for f in fields(part)}]
                help_text = _help(item, having)
                hint = list[str] if item.metadata.get("repeats") else hints[item.name]
                others = {_plain_type(hints_of[part][item.name]) for part in having}
                is_mixed = str in others and len(others) > 1
                place = (panel_of_field or {}).get(item.name) or _panel(item, having, panel)
                value = str if is_mixed else hint
                parameter = _parameter(name, flag, value, help_text, place, _completion(item))
                is_by_column = get_origin(hints[item.name]) is Mapping
                found[name] = Flag(section, item.name, parameter, is_mixed, is_by_column)
    return found


def _panel(item: Field[Any], having: list[type[Any]], otherwise: str) -> str:
    """Return the panel of the one shape of data that a field is about, if it is one."""
    shapes = {shape for part in having for shape in _shapes(part)}
    about = item.metadata.get("about")
    if about:
        shapes = {about}
    return PANEL_OF_SHAPE[shapes.pop()] if len(shapes) == 1 else otherwise


def _shapes(part: type[Any]) -> set[str]:
    """Return the shapes of data that a guarantee, or a method by what it keeps, is about."""
    if hasattr(part, "shape"):
        return {part.shape}
    kept = getattr(part, "keeps", ())
    return {GUARANTEES[name].shape for name in kept if name in GUARANTEES}


def _help(item: Field[Any], having: list[type[Any]]) -> str:
    text = item.metadata["help"].rstrip(".") + "."
    text = text[0].upper() + text[1:]
    if item.metadata.get("choices"):
        text += f" One of: {', '.join(item.metadata['choices'])}."
    defaults = [
        (part, other.default)
        for part in having
        for other in fields(part)
        if other.name == item.name and other.default not in (None, (), "", False, MISSING)
    ]
    if len(defaults) == len(having) and len({default for _, default in defaults}) == 1:
        shown = f"default: {defaults[0][1]}"
    else:
        shown = ", ".join(f"{part.name}: {default}" for part, default in defaults)
    return f"{text} [dim]({shown})[/dim]" if shown else text


def _completion(item: Field[Any]) -> Callable[..., list[str]] | None:
    """Return what completes a field's values: its choices, or columns where it names some."""
    if item.metadata.get("choices"):
        return completing(item.metadata["choices"])
    if item.name == "k_column":
        return complete_column
    return complete_columns if item.name == "accept_insensitive" else None


def _parameter(
    name: str,
    flag: str,
    hint: Any,
    help_text: str,
    panel: str,
    completion: Callable[..., list[str]] | None,
) -> inspect.Parameter:
    kind = _plain_type(hint)
    declared = [f"{flag}/--no-{flag[2:]}"] if kind is bool else [flag]
    option = typer.Option(
        *declared,
        help=help_text,
        rich_help_panel=panel,
        show_default=False,
        autocompletion=completion,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _plain_type(hint: Any) -> Any:
    if get_origin(hint) is Mapping:
        return list[str] if get_args(hint)[1] is str else str
    if get_origin(hint) is tuple:
        return str
    if get_origin(hint) is list:
        return hint
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    return float if float in kinds else kinds[0]


def with_flags(flags: Mapping[str, Flag]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command taking ``**stated`` the flags as options that Typer sees."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        every = [*own, *(flag.parameter for flag in flags.values())]
        command.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return command

    return decorate


def apply_flags(
    mapping: dict[str, Any], flags: Mapping[str, Flag], stated: Mapping[str, Any]
) -> None:
    """Write the flags that were given over the sections of a job."""
    for name, value in stated.items():
        if value is not None:
            flag = flags[name]
            stated_value = _number_or_word(value) if flag.is_mixed else value
            section = mapping.setdefault(flag.section, {})
            if flag.is_by_column and isinstance(stated_value, list):
                where = "--" + name.replace("_", "-")
                by_column = dict(_split_setting(text, where) for text in stated_value)
                stated_value = {**section.get(flag.field, {}), **by_column}
            section[flag.field] = stated_value


def _split_setting(text: str, where: str) -> tuple[str, str]:
    """Return the column and the setting of a flag: COLUMN=TEXT."""
    column, equals, setting = text.partition("=")
    if not equals or not column.strip() or not setting.strip():
        raise JobError(
            f"{where}: {text!r} is not of the form COLUMN=TEXT",
            remedy="Write the column's name, an equals sign and its setting.",
        )
    return column.strip(), setting.strip()


def _number_or_word(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def apply_settings(mapping: dict[str, Any], settings: list[str]) -> None:
    """Write ``section.field=value`` settings over a job; values are TOML, or else plain text."""
    for setting in settings:
        place, equals, text = setting.partition("=")
        if not equals or not place.strip():
            raise JobError(f"--set {setting}: not of the form section.field=value")
        *sections, name = [part.strip() for part in place.split(".")]
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        target = mapping
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                raise JobError(f"--set {setting}: {section!r} is not a section of a job")
        target[name] = value


def stated_files(texts: list[str] | None, flag: str, base: Path) -> dict[str, str] | None:
    """Return the files that ``FLAG COLUMN=FILE`` states, by column; None where there are none.

    A path is relative to where the command is run, also where a job in another folder is.
    """
    files = {}
    for text in texts or []:
        column, equals, path = text.partition("=")
        if not equals or not column or not path:
            raise JobError(f"{flag} {text}: not of the form COLUMN=FILE")
        files[column] = path if base == Path() else str(Path(path).absolute())
    return files or None


def split_names(text: str | None) -> list[str]:
    """Return the names in a comma-separated flag."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def stated_hierarchies(texts: list[str] | None) -> dict[str, HierarchySpec]:
    """Return the hierarchies that ``--hierarchy COLUMN=SPEC`` states, by column."""
    problems = ProblemList()
    specs = dict(filter(None, (problems.attempt(_hierarchy, text) for text in texts or [])))
    problems.refuse()
    return specs


def _hierarchy(text: str) -> tuple[str, HierarchySpec]:
    column, equals, spec = text.partition("=")
    if not equals or not column:
        raise JobError(
            f"--hierarchy {text}: not of the form COLUMN=FILE or COLUMN=intervals:5",
            remedy="Write --hierarchy age=intervals:5,10.",
        )
    try:
        return column, HierarchySpec.parse(spec)
    except JobError as error:
        raise JobError(f"--hierarchy {text}: {error.what}", remedy=error.remedy) from None


def stated_bins(texts: list[str] | None) -> dict[str, int]:
    """Return the numbers of bins that ``--bins COLUMN=NUMBER`` states, by column."""
    bins = {}
    for text in texts or []:
        column, _, number = text.rpartition("=")
        if not column or not number.isdecimal():
            raise JobError(
                f"--bins {text}: not of the form COLUMN=NUMBER", remedy="Write --bins age=10."
            )
        bins[column] = int(number)
    return bins


def apply_limits(coding: dict[str, Any], bottoms: list[str] | None, tops: list[str] | None) -> None:
    """Write ``--bottom COLUMN=NUMBER`` and ``--top COLUMN=NUMBER`` over a job's codings."""
    for name, texts in (("bottom", bottoms), ("top", tops)):
        for text in texts or []:
            column, _, number = text.rpartition("=")
            try:
                limit = float(number) if not number.lstrip("+-").isdecimal() else int(number)
            except ValueError:
                column = ""
            if not column:
                raise JobError(
                    f"--{name} {text}: not of the form COLUMN=NUMBER",
                    remedy=f"Write --{name} age=20.",
                )
            stated = coding.get(column, {})
            if isinstance(stated, Mapping):
                coding[column] = {**stated, name: limit}
