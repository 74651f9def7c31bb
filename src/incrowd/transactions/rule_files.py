"""Rules, weights and sensitive items in text files and flags, with all their problems at once."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.errors import DataError, JobError
from incrowd.sets.names import find_names
from incrowd.transactions.rules import Rules

_SHOWN_LINES = 5


class Problems:
    """Collects what is wrong with a file by kind, each with its lines and examples of values."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._lines: dict[str, list[int]] = {}
        self._examples: list[str] = []

    def add(self, kind: str, line: int, example: str = "") -> None:
        """Note a problem in a line, counted from 1; the example is a value of the data."""
        self._lines.setdefault(kind, []).append(line)
        if example:
            self._examples.append(example)

    def raise_any(self, remedies: Mapping[str, str]) -> None:
        """Raise one DataError that lists every kind, with the remedies of those that occur."""
        if not self._lines:
            return
        said = [
            f"{kind}: {len(lines):,} ({_format_lines(lines)})"
            for kind, lines in self._lines.items()
        ]
        told = dict.fromkeys(remedies[kind] for kind in self._lines if kind in remedies)
        raise DataError(
            f"{self._where}: " + "; ".join(said), remedy=" ".join(told), examples=self._examples
        )


def _format_lines(lines: list[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:_SHOWN_LINES])
    more = ", …" if len(lines) > _SHOWN_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"


def read_lines(path: str | Path, what: str) -> list[str]:
    """Return a text file's lines; a byte order mark is no part of the first."""
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: {what} cannot be read ({type(error).__name__})",
            remedy="Give a text file in UTF-8.",
        ) from None


def split_cells(text: str, delimiter: str = ",") -> list[str] | None:
    """Return the cells of one line, quoted as in CSV; None where a quote is left open."""
    try:
        found = list(csv.reader([text], delimiter=delimiter, strict=True, skipinitialspace=True))
    except csv.Error:
        return None
    return found[0] if found else []


def item_texts(names: pa.Array | Iterable[object]) -> pa.Array:
    """Return items' names as texts."""
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    if isinstance(names, pa.Array):
        return names.cast(pa.string())
    return pa.array([str(name) for name in names], pa.string())


def find_items(found: list[str], names: pa.Array) -> NDArray[np.int32]:
    """Return each text's item; −1 where none is called so."""
    return find_names(pa.array(found, pa.string()), names)


# Rules and weights of items as text: ``a b -> s t`` a line, and ``item,weight``.

_TOKEN = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(->|→)(?=\s|$)|([^\s"]\S*)')
_ARROWS = ("->", "→")
_PLAIN = re.compile(r'[^\s"#]\S*')

_NO_ARROW = "no arrow, or several"
_OPEN_QUOTE = "a quote that does not close"
_NO_PUBLIC = "no public item before the arrow"
_NO_SENSITIVE = "no sensitive item behind the arrow"
_UNKNOWN = "items that are none of the data's"
_BOTH_SIDES = "the same item on both sides"
_BOTH_ROLES = "items before the arrow that stand behind it in another line"
_IS_SENSITIVE = "sensitive items before the arrow"
_IS_PUBLIC = "public items behind the arrow"
_COMMENT = "a comment that begins with the name of an item"
_WRITE = "Write a rule a line:  a b -> s t ."
_REMEDIES = {
    _NO_ARROW: _WRITE,
    _OPEN_QUOTE: 'Quote items as in CSV: "two words" -> "5"" nails" .',
    _NO_PUBLIC: _WRITE,
    _NO_SENSITIVE: _WRITE,
    _UNKNOWN: "Name items as the data file does.",
    _BOTH_SIDES: "An item is public or sensitive, not both.",
    _BOTH_ROLES: "An item is public or sensitive, not both.",
    _IS_SENSITIVE: "Only public items stand before the arrow.",
    _IS_PUBLIC: "Only sensitive items stand behind the arrow.",
    _COMMENT: "Quote an item that begins with #.",
}


def read_rules(
    path: str | Path,
    names: pa.Array | Iterable[object] | None = None,
    is_sensitive: NDArray[np.bool_] | None = None,
) -> tuple[Rules, list[str]]:
    """Read rules, one a line, and notes on what was done to them.

    ``a b -> s t`` (or ``→``): public items, an arrow, sensitive items, separated by blanks; an
    item with blanks or quotes, or one that begins with ``#`` or is an arrow, is quoted as in CSV.
    Empty lines and lines that begin with ``#`` are skipped. Without ``is_sensitive`` the items
    behind arrows are the sensitive ones. A rule that stands there again is kept once. Without
    ``names`` the rules may be of any items.

    Raises one DataError that lists all problems by kind, each with its lines.
    """
    texts = item_texts([] if names is None else names)
    problems = Problems(str(path))
    stated: list[tuple[int, list[str], list[str]]] = []
    for line, text in enumerate(read_lines(path, "the rules"), start=1):
        sides = _parse_rule(text, line, texts, problems)
        if sides is not None:
            stated.append((line, *sides))
    known = sorted({item for _, *sides in stated for side in sides for item in side})
    if names is None:
        texts = item_texts(known)
    number_of = dict(zip(known, find_items(known, texts).tolist(), strict=True))
    if is_sensitive is None:
        is_sensitive = _behind_arrows(stated, number_of, len(texts))
        in_front = _BOTH_ROLES
    else:
        in_front = _IS_SENSITIVE
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for line, public, sensitive in stated:
        for item in dict.fromkeys(public + sensitive):
            if number_of[item] < 0:
                problems.add(_UNKNOWN, line, item)
        for item in dict.fromkeys(public):
            if item in sensitive:
                problems.add(_BOTH_SIDES, line, item)
            elif number_of[item] >= 0 and is_sensitive[number_of[item]]:
                problems.add(in_front, line, item)
        for item in dict.fromkeys(sensitive):
            if number_of[item] >= 0 and not is_sensitive[number_of[item]] and item not in public:
                problems.add(_IS_PUBLIC, line, item)
        found[_numbers(public, number_of), _numbers(sensitive, number_of)] = None
    problems.raise_any(_REMEDIES)
    if not found:
        raise DataError(f"{path}: there is no rule", remedy=_WRITE)
    n_again = len(stated) - len(found)
    notes = [f"{path}: {n_again:,} rules stood there before and are kept once"] * (n_again > 0)
    return Rules.of(list(found), texts), notes


def _numbers(items: list[str], number_of: dict[str, int]) -> tuple[int, ...]:
    return tuple(sorted({number_of[item] for item in items}))


def _behind_arrows(
    stated: list[tuple[int, list[str], list[str]]], number_of: dict[str, int], n_items: int
) -> NDArray[np.bool_]:
    is_sensitive = np.zeros(n_items, dtype=np.bool_)
    for _, _, sensitive in stated:
        for item in sensitive:
            if number_of[item] >= 0:
                is_sensitive[number_of[item]] = True
    return is_sensitive


def _parse_rule(
    text: str, line: int, texts: pa.Array, problems: Problems
) -> tuple[list[str], list[str]] | None:
    """Return the items of a line before and behind its arrow; None where there is no rule."""
    text = text.strip()
    if not text:
        return None
    if text.startswith("#"):
        first = text.split()[0]
        if find_items([first], texts)[0] >= 0:
            problems.add(_COMMENT, line, first)
        return None
    sides: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        token = _TOKEN.match(text, place)
        if token is None or '"' in (token[3] or ""):
            problems.add(_OPEN_QUOTE, line)
            return None
        if token[2]:
            sides.append([])
        else:
            sides[-1].append(token[3] if token[1] is None else token[1].replace('""', '"'))
        place = token.end()
    if len(sides) != 2:
        problems.add(_NO_ARROW, line)
        return None
    if not sides[0]:
        problems.add(_NO_PUBLIC, line)
    if not sides[1]:
        problems.add(_NO_SENSITIVE, line)
    return sides[0], sides[1]


def write_rules(rules: Rules, path: str | Path) -> None:
    """Write rules as ``read_rules`` reads them, in their order."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(format_rules(rules))


def format_rules(rules: Rules) -> Iterator[str]:
    """Yield the lines of a file of rules; all of their items must have names."""
    if min(rules.public.min(initial=0), rules.sensitive.min(initial=0)) < 0:
        raise ValueError("a rule names an item that is none of the names")
    names = [_format_items(name) for name in rules.names.to_pylist()]
    for rule in range(rules.n_rules):
        public = rules.public[rules.public_starts[rule] : rules.public_starts[rule + 1]]
        sensitive = rules.sensitive[rules.sensitive_starts[rule] : rules.sensitive_starts[rule + 1]]
        before = " ".join(names[item] for item in public.tolist())
        behind = " ".join(names[item] for item in sensitive.tolist())
        yield f"{before} -> {behind}\n"


def _format_items(name: str) -> str:
    if _PLAIN.fullmatch(name) and '"' not in name and name not in _ARROWS:
        return name
    return '"' + name.replace('"', '""') + '"'


_NO_WEIGHT = "lines that are not  item,weight"
_NAMED_AGAIN = "items named again"
_NO_NUMBER = "weights that are no numbers above 0"


def read_weights(path: str | Path, names: pa.Array | Iterable[object]) -> NDArray[np.float64]:
    """Read what generalizing an item costs, from a CSV file with the columns item and weight.

    Every weight is a number above 0; an item that the file leaves out has 1. Raises one DataError
    that lists all problems by kind, each with its lines.
    """
    texts = item_texts(names)
    problems = Problems(str(path))
    lines = read_lines(path, "the weights")
    header = [cell.strip() for cell in split_cells(lines[0]) or []] if lines else []
    if header != ["item", "weight"]:
        raise DataError(
            f"{path}: the first line is not  item,weight", remedy="Begin the file with this header."
        )
    stated: dict[str, float] = {}
    line_of: dict[str, int] = {}
    for line, text in enumerate(lines[1:], start=2):
        if not text.strip():
            continue
        cells = split_cells(text)
        if cells is None or len(cells) != 2 or not cells[0].strip():
            problems.add(_NO_WEIGHT, line)
            continue
        item = cells[0].strip()
        weight = _parse_number(cells[1])
        if item in stated:
            problems.add(_NAMED_AGAIN, line, item)
        if not (math.isfinite(weight) and weight > 0):
            problems.add(_NO_NUMBER, line, cells[1])
        stated[item] = weight
        line_of.setdefault(item, line)
    weights = np.ones(len(texts), dtype=np.float64)
    for item, place in zip(stated, find_items(list(stated), texts).tolist(), strict=True):
        if place < 0:
            problems.add(_UNKNOWN, line_of[item], item)
        else:
            weights[place] = stated[item]
    problems.raise_any(
        {
            _NO_WEIGHT: "Write an item and its weight a line.",
            _NAMED_AGAIN: "Give each item one weight.",
            _NO_NUMBER: "State weights such as 0.5 or 3.",
            _UNKNOWN: "Name items as the data file does.",
        }
    )
    return weights


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# Which items are sensitive: published as they are, and not to be inferred. The rest is public.

SHARE = "share:"


def find_sensitive_items(
    stated: str | Path | Sequence[str],
    names: pa.Array | Iterable[object],
    seed: int = 0,
    *,
    needs_both: bool = True,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return of every item whether it is sensitive, and notes on how that came about.

    ``stated`` is a file with an item a line, a list ``a,b,c`` (quoted as in CSV; ``a,`` is a list
    of one), a sequence of items, or ``share:0.1``: a tenth of the items, drawn by ``seed``, which
    is for experiments only. Raises where items are unknown (all are counted), where a text is
    neither a file nor an item or is both, and, with ``needs_both``, where no item or every item
    would be sensitive: rules need both.
    """
    texts = item_texts(names)
    notes: list[str] = []
    if isinstance(stated, str) and stated.startswith(SHARE):
        is_sensitive, note = _draw_items(stated, len(texts), seed)
        notes.append(note)
    else:
        where, found = _stated_items(stated, texts)
        places = find_items(found, texts)
        unknown = list(dict.fromkeys(np.array(found, dtype=object)[places < 0].tolist()))
        if unknown:
            raise DataError(
                f"{where}: {len(unknown):,} of {len(set(found)):,} items are none of the data's",
                remedy="Name items as the data file does.",
                examples=unknown,
            )
        is_sensitive = np.zeros(len(texts), dtype=np.bool_)
        is_sensitive[places] = True
    n_sensitive = int(is_sensitive.sum())
    if needs_both and n_sensitive in (0, len(texts)):
        raise DataError(
            "every item would be sensitive" if n_sensitive else "no item would be sensitive",
            remedy="Rules go from public items to sensitive ones: state some items, not all.",
        )
    return is_sensitive, notes


def _draw_items(stated: str, n_items: int, seed: int) -> tuple[NDArray[np.bool_], str]:
    try:
        share = float(stated.removeprefix(SHARE))
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise JobError(
            f"sensitive items: {stated!r} states no share", remedy="Write  share:0.1  for a tenth."
        )
    n_drawn = min(max(1, round(share * n_items)), n_items)
    is_sensitive = np.zeros(n_items, dtype=np.bool_)
    is_sensitive[np.random.default_rng([seed, 4]).permutation(n_items)[:n_drawn]] = True
    note = (
        f"{n_drawn:,} of {n_items:,} items were drawn at random as sensitive ones: this is for "
        "experiments and protects nobody"
    )
    return is_sensitive, note


def _stated_items(stated: str | Path | Sequence[str], texts: pa.Array) -> tuple[str, list[str]]:
    """Return where items are stated, for errors, and them."""
    if isinstance(stated, Path):
        return str(stated), _read_item_list(stated)
    if not isinstance(stated, str):
        return "sensitive items", [str(item) for item in stated]
    is_file = _is_file(stated)
    is_item = bool(find_items([stated], texts)[0] >= 0)
    if is_file and is_item:
        raise JobError(
            "sensitive items: what is stated is both a file and an item",
            remedy="Write  ./FILE  for the file, or a comma behind the item.",
            examples=[stated],
        )
    if is_file:
        return stated, _read_item_list(Path(stated))
    if "," not in stated and not is_item:
        raise JobError(
            "sensitive items: what is stated is neither a file nor an item",
            remedy="Give a file with an item a line, a list  a,b,c,  or  share:0.1.",
            examples=[stated],
        )
    cells = split_cells(stated)
    if cells is None:
        raise JobError(
            "sensitive items: a quote in the list is left open",
            remedy='Quote items as in CSV: "a, b",c.',
        )
    return "sensitive items", [cell.strip() for cell in cells if cell.strip()]


def _is_file(stated: str) -> bool:
    try:
        return Path(stated).is_file()
    except (OSError, ValueError):
        return False


def _read_item_list(path: Path) -> list[str]:
    """Return the items that a file lists, one a line; a line in quotes is quoted as in CSV."""
    found = []
    for line in read_lines(path, "the list of sensitive items"):
        text = line.strip()
        if len(text) > 1 and text.startswith('"') and text.endswith('"'):
            text = text[1:-1].replace('""', '"')
        if text:
            found.append(text)
    return found
