"""The topics of ``incrowd explain``: from the code's own words, and from ``texts.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from inspect import cleandoc, signature
from typing import Any, get_args

from incrowd.errors import JobError
from incrowd.guarantees.table import GUARANTEES
from incrowd.guarantees.table import PAPER_NAMES as PAPER_GUARANTEES
from incrowd.methods.table import METHODS
from incrowd.methods.table import PAPER_NAMES as PAPER_METHODS

KINDS = (
    "guarantee",
    "condition",
    "method",
    "role",
    "hierarchy",
    "flag",
    "finding",
    "loss",
    "file format",
    "paper",
    "word",
)
"""What topics are about, in the order in which they are listed."""

MOST_OPTIONS = 12
"""Options of a guarantee or method that are listed with it."""


@dataclass(frozen=True)
class Topic:
    """One topic: what it is about, in paragraphs, with an example and related topics."""

    kind: str
    name: str
    paragraphs: tuple[str, ...]
    example: str
    see: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def find_topics(name: str) -> list[Topic]:
    """Return every topic of a name: a word may be a guarantee, a flag and a paper at once.

    A topic that is called so comes before those that a paper's word leads to. Raises where there
    is none, with near names.
    """
    wanted = normalize(name)
    topics = all_topics()
    found = [topic for topic in topics if normalize(topic.name) == wanted]
    found += [topic for topic in topics if wanted in map(normalize, topic.aliases)]
    if found:
        return [topic for topic in found if topic.kind == "flag" or not _is_flag(name)] or found
    names = {normalize(word): word for topic in topics for word in (topic.name, *topic.aliases)}
    near = [names[word] for word in names if wanted and len(wanted) > 2 and wanted in word][:4]
    near = near or [names[word] for word in get_close_matches(wanted, names, n=4, cutoff=0.5)]
    raise JobError(
        f"no topic is called {name!r}",
        remedy=f"Did you mean {' or '.join(map(repr, near))}?"
        if near
        else "incrowd explain lists all topics.",
    )


def _is_flag(name: str) -> bool:
    return name.startswith("--")


def normalize(name: str) -> str:
    """Return a topic's name as it is looked up: without dashes, case and underscores."""
    return re.sub(r"[\s_-]+", " ", name.strip().lower().removeprefix("--")).strip()


@cache
def all_topics() -> tuple[Topic, ...]:
    """Return all topics, by kind and name."""
    topics = [
        *_guarantees(),
        *_methods(),
        *_written("conditions", "condition"),
        *_written("roles", "role"),
        *_written("hierarchies", "hierarchy"),
        *_flags(),
        *_findings(),
        *_losses(),
        *_written("formats", "file format"),
        *_papers(),
        *(Topic("word", name, (text,), "") for name, text in _texts()["words"].items()),
    ]
    return tuple(sorted(topics, key=lambda topic: (KINDS.index(topic.kind), topic.name)))


@cache
def _texts() -> dict[str, Any]:
    text = files("incrowd.cli.explain").joinpath("texts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _written(section: str, kind: str) -> Iterator[Topic]:
    for name, said in _texts()[section].items():
        yield Topic(kind, name, (said["text"],), said["example"], tuple(said.get("see", ())))


def _docstring(part: type[Any]) -> list[str]:
    """Return the paragraphs of a class's docstring before its examples and parameters."""
    text = cleandoc(part.__doc__ or "").partition("\nParameters\n----------")[0]
    paragraphs = [" ".join(block.split()) for block in text.split("\n\n")]
    return [plain(block) for block in paragraphs if block and not block.startswith(">>>")]


def plain(text: str) -> str:
    """Return a text of the code as a terminal shows it: without marks."""
    return re.sub(r"\[/?[a-z ]+\]", "", text.replace("``", ""))


def _options(part: type[Any]) -> str:
    """Return the flags of a guarantee's or method's own settings, each with a few words."""
    named = []
    for item in fields(part)[:MOST_OPTIONS]:
        flag = item.metadata.get("flag") or "--" + item.name.replace("_", "-")
        named.append(flag)
    further = len(fields(part)) - len(named)
    listed = ", ".join(named) + (f" and {further} more" if further > 0 else "")
    return f"Flags: {listed}. (incrowd explain {named[-1]})" if named else ""


def _guarantees() -> Iterator[Topic]:
    from incrowd.figures.record import describe_promise

    for name, kind in GUARANTEES.items():
        said = _texts()["guarantees"][name]
        promise = describe_promise({"name": name, "parameters": _example_parameters(kind)})
        paragraphs = [
            promise.plain,
            f"Protects against: {promise.attacker}",
            "Does not stop: " + " ".join(promise.not_stopped),
            f"Who can check it: {promise.who_can_check}",
            f"Of {kind.shape}. " + _options(kind),
        ]
        aliases = tuple(word for word, meant in PAPER_GUARANTEES.items() if meant == name)
        paragraphs += [f"In papers: {', '.join(aliases)}."] if aliases else []
        yield Topic(
            "guarantee", name, tuple(paragraphs), said["example"], tuple(said["see"]), aliases
        )


def _example_parameters(kind: type[Any]) -> dict[str, Any]:
    """Return the defaults of a guarantee, and letters or usual numbers for what must be stated."""
    usual = {"k": "k", "epsilon": "ε", "confidence": 0.5, "m": 2}
    stated = {item.name: item.default for item in fields(kind) if item.default is not MISSING}
    return {**stated, **{name: usual[name] for name in usual if name in _names(kind)}}


def _names(kind: type[Any]) -> set[str]:
    return {item.name for item in fields(kind)}


def _methods() -> Iterator[Topic]:
    for name, kind in METHODS.items():
        said = _texts()["methods"][name]
        kept = sorted(word for word in kind.keeps)
        paragraphs = [said["plain"], *_docstring(kind), f"Keeps: {', '.join(kept)}."]
        paragraphs += [_options(kind)] if fields(kind) else []
        named = {word: more for word, (meant, more) in PAPER_METHODS.items() if meant == name}
        if named:
            words = [_flags_of_paper_name(word, more) for word, more in named.items()]
            paragraphs.append(f"In papers: {', '.join(words)}.")
        aliases = tuple(named)
        yield Topic("method", name, tuple(paragraphs), said["example"], tuple(kept), aliases)


def _flags_of_paper_name(word: str, settings: Mapping[str, str]) -> str:
    flags = "".join(f" --{name} {value}" for name, value in settings.items())
    return f"{word} ({flags.strip()})" if flags else word


def paper_names() -> list[str]:
    """Return what papers call methods and guarantees here, as ``--method`` and such take it."""
    return sorted({*PAPER_METHODS, *PAPER_GUARANTEES})


def _findings() -> Iterator[Topic]:
    for name, text in _texts()["findings"].items():
        flags = _flag_that_asks(name)
        yield Topic(
            "finding",
            name,
            (text, "In an audit: holds, does not hold, or a note that only informs."),
            f"incrowd check patients.release.csv --job job.toml{flags} --verbose",
        )


_ASKED = {
    "risk": " --risk",
    "measured": " --measure",
    "key": " --original patients.csv --key key.csv",
}


def _flag_that_asks(finding: str) -> str:
    """Return the flags of check that ask for a finding that is not always there."""
    if finding.startswith("attack: composition"):
        return " --composition"
    if finding.startswith("attack: "):
        return f" --attack {finding.removeprefix('attack: ').replace(' ', '-')}"
    if finding.startswith("utility: "):
        return f" --utility {finding.removeprefix('utility: ')} --original patients.csv"
    return _ASKED.get(finding, "")


def _losses() -> Iterator[Topic]:
    from incrowd.measures.losses.tables import METRICS

    for name, text in _texts()["losses"].items():
        paragraphs = [text]
        metric = METRICS.get(name)
        if metric is not None:
            paragraphs.append(f"Formula: {metric.formula}. {metric.direction.capitalize()}.")
            if metric.source and metric.source != "–":
                paragraphs.append(f"Source: {metric.source}.")
        yield Topic(
            "loss",
            name,
            tuple(paragraphs),
            "incrowd run patients.csv --k 5 --quasi age,sex,zip --verbose",
        )


def _papers() -> Iterator[Topic]:
    for name, said in _texts()["papers"].items():
        yield Topic(
            "paper",
            name,
            (said["title"], said["text"]),
            said["example"],
            tuple(said["see"]),
            tuple(said["aliases"]),
        )


# Flags, of every command.


@dataclass(frozen=True)
class FlagUse:
    """A flag of a command, as Typer knows it."""

    command: str
    help: str
    is_switch: bool
    value: str


def _flags() -> Iterator[Topic]:
    uses = flag_uses()
    places = _places()
    for flag, used in uses.items():
        first = used[0]
        texts = list(dict.fromkeys(use.help for use in used if use.help))
        paragraphs = texts[:1]
        where = ", ".join(f"incrowd {use.command}" for use in used)
        paragraphs.append(f"A flag of {where}.")
        if flag in places:
            paragraphs.append(f"In a job file: {places[flag]}.")
        value = "" if first.is_switch else f" {_example_value(flag, first)}"
        yield Topic("flag", flag, tuple(paragraphs), f"{_example_start(first, flag)}{value}")


def flag_uses() -> dict[str, list[FlagUse]]:
    """Return every flag with the commands that have it."""
    from incrowd.cli.app import PLACES, command_function, load_command

    found: dict[str, list[FlagUse]] = {}
    for name in PLACES:
        stated = signature(command_function(name)).parameters
        for parameter in load_command(name).params:
            if parameter.param_type_name != "option":
                continue
            flag = next((word for word in parameter.opts if word.startswith("--")), "")
            if flag in ("", "--help"):
                continue
            text = plain(str(parameter.help or "")).strip()
            kind = str(get_args(stated[parameter.name].annotation)[0]).lower()
            use = FlagUse(name, text, bool(parameter.is_flag), kind)
            found.setdefault(flag, []).append(use)
    return found


def _places() -> dict[str, str]:
    """Return where a job file states what a flag states."""
    from incrowd.cli.job_flags import FLAGS, ROLE_FLAGS

    places = {
        "--" + name.replace("_", "-"): f"{flag.field} in [{flag.section}]"
        for name, flag in FLAGS.items()
    }
    places |= {f"--{name}": f'column = "{role}" in [roles]' for name, role in ROLE_FLAGS.items()}
    places |= {
        "--hierarchy": "column = … in [hierarchies]",
        "--bottom": "bottom in [coding.COLUMN]",
        "--top": "top in [coding.COLUMN]",
        "--bins": "column = number in [bins]",
        "--person": "person, at the top",
        "--output": "output, at the top",
        "--seed": "seed, at the top",
        "--guarantee": "name in [guarantee]",
        "--method": "name in [method]",
    }
    return places


_STARTS = {
    "run": "incrowd run job.toml",
    "check": "incrowd check patients.release.csv --job job.toml",
    "compare": "incrowd compare job.toml",
    "init": "incrowd init patients.csv",
    "hierarchy": "incrowd hierarchy patients.csv age",
    "verify-certificate": "incrowd verify-certificate patients.release.csv certificate.json",
    "demo": "incrowd demo",
}

_VALUES = {
    "--quasi": "age,sex,zip",
    "--sensitive": "diagnosis",
    "--insensitive": "ward",
    "--identifying": "name,id",
    "--person": "patient_id",
    "--hierarchy": "age=intervals:5,10,20",
    "--bottom": "age=20",
    "--top": "age=80",
    "--bins": "age=10",
    "--k": "5",
    "--l": "3",
    "--t": "0.3",
    "--m": "2",
    "--guarantee": "k-anonymity",
    "--method": "mondrian",
    "--metric": "ncp",
    "--effort": "30s",
    "--output": "release.csv",
    "--key": "private/key.csv",
    "--k-column": "wish",
    "--k-rule": "'20 where age >= 85'",
    "--set": "method.partitions=4",
    "--memory": "4GB",
    "--missing-values": "'?,NA'",
    "--delimiter": "';'",
    "--encoding": "latin-1",
    "--build": "intervals:5,10,20",
    "--sensitive-items": "HIV,cancer",
    "--accept-insensitive": "ward",
    "--original": "patients.csv",
    "--attack": "linkage",
    "--utility": "queries",
    "--predict": "diagnosis",
    "--by": "ncp",
    "--rows": "3000",
}
"""Values that examples of flags show; others are taken from a flag's choices, or are a letter."""


def _example_start(use: FlagUse, flag: str) -> str:
    start = _STARTS.get(use.command, f"incrowd {use.command}")
    return f"{start} {flag}"


def _example_value(flag: str, use: FlagUse) -> str:
    if flag in _VALUES:
        return _VALUES[flag]
    listed = re.search(r"One of: ([^.]+)\.", use.help)
    if listed:
        choices = [word.strip() for word in listed[1].split(",")]
        return choices[1] if len(choices) > 1 else choices[0]
    for kind, value in (("int", "10"), ("float", "0.1"), ("path", "FILE")):
        if kind in use.value:
            return value
    words = use.help.lower()
    return next((word.upper() for word in ("file", "folder", "column") if word in words), "VALUE")
