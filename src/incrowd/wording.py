"""Messages are written with flags; in Python they speak of keywords: one renderer for all of them.

``State --suppression-limit 0.05`` reads ``State ic.ReleaseOptions(suppression_limit=0.05)``, and
``--hierarchy age=flat`` reads ``hierarchies={"age": "flat"}``. What a flag is called in Python
comes from the options' own fields; the few flags that are no field are listed here. The command
line prints messages as they are written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

DOCUMENTED: list[type[Any]] = []
"""Every class of options that is loaded; ``options.documented`` adds them."""

ANY = "…"
"""What stands for a value that a message leaves open."""

COMMAND_LINE_ONLY = frozenset(
    {
        "--bits",
        "--debug",
        "--dry-run",
        "--help-all",
        "--job",
        "--json",
        "--log-file",
        "--on-interrupt",
        "--policy",
        "--quiet",
        "--repair",
        "--set",
        "--show-values",
        "--verbose",
    }
)
"""Flags without a counterpart in Python, besides those of options that are not public."""

_PROSE = """
a all an and are as at be both but by compares did do does each fewer fixes for from had has have
if in instead is it made makes must needs nor not of on only or out says so speak states takes than
that the then there they this to too twice was were where which with without wrote you
"""
PROSE = frozenset(_PROSE.split())
"""Words that follow a flag in a sentence, and are not its value."""


@dataclass(frozen=True)
class Setting:
    """What a flag is called in Python: a keyword, of which class, and what its values are.

    ``kind`` is flag, number, text, list, columns (a value per column) or promise.
    """

    keyword: str
    kind: str = "text"
    owner: str = ""
    choices: tuple[str, ...] = ()


_KEYWORDS = {
    "-o": Setting("output"),
    "--output": Setting("output"),
    "--force": Setting("force", "flag"),
    "--seed": Setting("seed", "number"),
    "--save-job": Setting("save_job"),
    "--quasi": Setting("quasi", "list"),
    "--sensitive": Setting("sensitive", "list"),
    "--insensitive": Setting("insensitive", "list"),
    "--identifying": Setting("identifying", "list"),
    "--person": Setting("person"),
    "--hierarchy": Setting("hierarchies", "columns"),
    "--bins": Setting("bins", "columns"),
    "--bottom": Setting("coding", "bottom"),
    "--top": Setting("coding", "top"),
    "--date-format": Setting("date_format", "columns"),
    "--k": Setting("k", "number"),
    "--l": Setting("l", "number"),
    "--t": Setting("t", "number"),
    "--method": Setting("method", "method"),
    "--guarantee": Setting("guarantee", "promise"),
    "--original": Setting("original"),
    "--key": Setting("key"),
    "--aligned": Setting("aligned", "flag"),
    "--measure": Setting("measure", "flag"),
    "--risk": Setting("risk", "flag"),
    "--attack": Setting("attacks", "list"),
    "--utility": Setting("utility", "list"),
    "--composition": Setting("other"),
    "--predict": Setting("predict"),
    "--public-key": Setting("public_key"),
    "--commitment-key": Setting("commitment_key"),
}
"""Arguments of functions and of ``Job``; what ``check`` and ``run`` both have is of ``check``."""

_COMMAND = re.compile(r"\bincrowd (?:[a-z-]+)(?: [^\s;,.]\S*)*")
_FLAG = re.compile(r"(?:\b(?P<of_run>run) )?(?<![\w-])(?P<flag>--[a-z][a-z-]*[a-z]|--[a-z]|-o)\b")
_VALUE = re.compile(r"\s+(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"]+)")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]+|…")
_OR = re.compile(r" or (?P<value>[a-z-]+)")

_speaks_flags = False


@contextmanager
def speak_flags() -> Iterator[None]:
    """Leave messages as they are written while the command line runs."""
    global _speaks_flags
    before, _speaks_flags = _speaks_flags, True
    try:
        yield
    finally:
        _speaks_flags = before


def phrase(text: str) -> str:
    """Return a message for who reads it: with keywords in Python, flags on the command line."""
    return text if _speaks_flags or "-" not in text else to_python(text)


def to_python(text: str) -> str:
    """Return a message with Python's keywords in place of flags; whole commands stay.

    >>> to_python("Leave --l out, or use --method cluster or greedy.")
    'Leave l=… out, or use method="cluster" or "greedy".'
    """
    commands = [(found.start(), found.end()) for found in _COMMAND.finditer(text)]
    parts: list[str] = []
    place = 0
    for found in _FLAG.finditer(text):
        inside = any(start <= found.start() < end for start, end in commands)
        setting = None if inside else setting_of(found["flag"], of_run=bool(found["of_run"]))
        if setting is None or found.start() < place:
            continue
        said, end = _render(setting, found["flag"], text, found.end())
        between = text[place : found.start()]
        parts += [", " if parts and between == " " else between, said]
        place = end
    return "".join([*parts, text[place:]])


def setting_of(flag: str, *, of_run: bool = False) -> Setting | None:
    """Return what a flag is in Python; None where it is the command line's alone, or unknown."""
    if flag in COMMAND_LINE_ONLY:
        return None
    if flag in _KEYWORDS and not of_run:
        return _KEYWORDS[flag]
    public = sys.modules["incrowd"].__all__
    having = [setting for setting in _field_settings(flag) if setting.owner in public]
    if not having:
        return _KEYWORDS.get(flag)
    setting = having[0]
    if len(having) == 1:
        return setting
    choices = tuple(choice for other in having for choice in other.choices)
    kinds = {other.kind for other in having}
    return Setting(setting.keyword, setting.kind if len(kinds) == 1 else "text", "", choices)


def is_command_line_only(flag: str) -> bool:
    """Whether a flag is one of the command line alone: listed as such, or of private options."""
    return flag in COMMAND_LINE_ONLY or (setting_of(flag) is None and bool(_field_settings(flag)))


def _field_settings(flag: str) -> list[Setting]:
    found = [_field_setting(part, flag) for part in DOCUMENTED]
    return [setting for setting in found if setting is not None]


def _field_setting(part: type[Any], flag: str) -> Setting | None:
    plain = flag.replace("--no-", "--", 1)
    for item in fields(part):
        own = item.metadata.get("flag") or "--" + item.name.replace("_", "-")
        if own in (flag, plain):
            kind = _kind_of(get_type_hints(part)[item.name])
            if own == flag or kind == "flag":
                return Setting(item.name, kind, part.__name__, item.metadata.get("choices") or ())
    return None


def _kind_of(hint: Any) -> str:
    origin = get_origin(hint)
    kinds = set(get_args(hint)) - {type(None)} if origin in (UnionType, Union) else {hint}
    if kinds == {bool}:
        return "flag"
    if kinds and kinds <= {int, float}:
        return "number"
    if origin is tuple:
        return "list"
    return "columns" if origin is not None and kinds == {hint} else "text"


def _render(setting: Setting, flag: str, text: str, place: int) -> tuple[str, int]:
    """Return how a flag and its value are stated, and where the text goes on."""
    if setting.kind == "flag":
        shown = "False" if flag.startswith("--no-") else "True"
        return _assign(setting, shown), place
    value, end = _value_at(setting, text, place)
    if not value:
        return _assign(setting, ANY), place
    said = _assign(setting, _literal(setting, value))
    if setting.kind == "number" and setting.keyword == "k" and "," in value:
        said = f"ks=[{', '.join(value.split(','))}]"
    while setting.kind in ("method", "promise") and (more := _OR.match(text, end)):
        if more["value"] not in _names():
            break
        said, end = f"{said} or {_literal(setting, more['value'])}", more.end()
    return said, end


def _value_at(setting: Setting, text: str, place: int) -> tuple[str, int]:
    """Return the value that follows a flag, and where it ends; nothing where prose follows."""
    found = _VALUE.match(text, place)
    if found is None:
        return "", place
    value: str = found["value"]
    if value[0] in "'\"":
        return value, found.end()
    value = value.rstrip(".,;:)")
    end = found.start("value") + len(value)
    if setting.kind == "number":
        is_value = bool(_NUMBER.fullmatch(value)) or bool(_PLACEHOLDER.fullmatch(value))
    elif setting.choices and value not in setting.choices:
        is_value = bool(_NUMBER.fullmatch(value))
    else:
        is_value = value not in PROSE and not value.startswith(("-", "("))
    return (value, end) if is_value and value else ("", place)


def _assign(setting: Setting, shown: str) -> str:
    stated = f"{setting.keyword}={shown}"
    return f"ic.{setting.owner}({stated})" if setting.owner else stated


def _literal(setting: Setting, value: str) -> str:
    if value[0] in "'\"":  # what is quoted in the message is meant as it is
        texts = value[1:-1].split(",") if setting.kind == "list" else [value[1:-1]]
        quoted = ", ".join(_as_text(text) for text in texts)
        return f"[{quoted}]" if setting.kind == "list" else quoted
    if setting.kind == "promise":
        return f"ic.{_names()[value]}({ANY})" if value in _names() else ANY
    if setting.kind == "list":
        return f"[{', '.join(_quote(part.strip()) for part in value.split(','))}]"
    if setting.kind in ("bottom", "top"):
        column, _, limit = value.rpartition("=")
        return f"{{{_quote(column)}: ic.Coding({setting.kind}={limit})}}"
    if setting.kind == "columns":
        column, equals, stated = value.partition("=")
        return f"{{{_quote(column)}: {_quote(stated)}}}" if equals else _quote(value)
    return _quote(value)


def _quote(value: str) -> str:
    """Return a value as Python's text; numbers and words for something (FILE) stay as they are."""
    if _PLACEHOLDER.fullmatch(value) or re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        return value
    return _as_text(value)


def _as_text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _names() -> dict[str, str]:
    """Return the class of every guarantee and method by its name."""
    return {
        part.name: part.__name__ for part in DOCUMENTED if isinstance(getattr(part, "name", 0), str)
    }
