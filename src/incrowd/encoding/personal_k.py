"""Per-record k: each row's own k, from a column, from rules, or one k for all rows.

A rule is a line such as ``20 where diagnosis = "HIV" and age >= 65``; where several rules match a
row, the first one counts. ::

    rule       = [ "k" "=" ] whole-number "where" condition { "and" condition }
    condition  = column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | column "in" "(" value { "," value } ")"
    column     = bare word, or quoted where it contains blanks or signs: "marital status"
    value      = bare word, or quoted; a quote within quotes is doubled

A column whose values are all numbers is compared as numbers, any other as text, exactly except for
surrounding blanks. A missing cell equals ``""`` (and each missing-value token) and nothing else.

SQL would read these rules differently: there a double-quoted or bare value is a column's name, and
``!=`` does not match a missing cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from incrowd.errors import DataError, JobError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.tables.table import Table


MOST_DIGITS = 9
"""How many digits a k may have."""

_EXAMPLE = 'Write it as  20 where diagnosis = "HIV"  or  50 where age >= 90 and sex in (F, M).'

# Quantifiers are possessive (++): a word is read whole or not at all.
_LETTER = r"""[^\s"'=!<>(),]"""
_BARE_WORD = rf"(?!(?i:where|and|in)(?!{_LETTER})){_LETTER}++"
_WORD = rf"""(?:"(?:[^"]|"")*+"|'(?:[^']|'')*+'|{_BARE_WORD})"""
_START = re.compile(rf"\s*(?:k\s*=\s*)?([0-9]++)(?!{_LETTER})\s*(?i:where)(?!{_LETTER})")
_CONDITION = re.compile(
    rf"\s*({_WORD})\s*(?:(<=|>=|!=|=|<|>)\s*({_WORD})"
    rf"|(?i:(in))\s*\(\s*({_WORD}(?:\s*,\s*{_WORD})*+)\s*\))\s*"
)
_AND = re.compile(rf"(?i:and)(?!{_LETTER})")
_ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Condition:
    """One comparison of a column: with one value, or with several by ``in``."""

    column: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """The k of every row that meets all conditions.

    >>> Rule.parse('20 where diagnosis = "HIV"')
    Rule(k=20, conditions=(Condition(column='diagnosis', operator='=', values=('HIV',)),))
    """

    k: int
    conditions: tuple[Condition, ...]

    @classmethod
    def parse(cls, text: str, where: str = "k rule") -> Rule:
        """Read a rule; raises JobError with the position where it stops making sense."""

        def error(what: str, position: int) -> JobError:
            what = f"{where}, at character {position + 1}: {what}"
            return JobError(what, remedy=_EXAMPLE, examples=[text])

        start = _START.match(text)
        if start is None:
            raise error("expected a whole number and 'where'", 0)
        if len(start[1]) > MOST_DIGITS or int(start[1]) < 1:
            raise error(f"k is not a whole number from 1 to {'9' * MOST_DIGITS}", start.start(1))
        conditions, position = [], start.end()
        while True:
            match = _CONDITION.match(text, position)
            if match is None:
                what = "expected a condition: column = value, or column in (value, value)"
                raise error(f"{what}; quote names with blanks or signs", position)
            column, operator, value, is_in, values = match.groups()
            if not _unquote(column):
                raise error("the column has no name", match.start(1))
            listed = tuple(map(_unquote, re.findall(_WORD, values or value)))
            conditions.append(Condition(_unquote(column), "in" if is_in else operator, listed))
            position = match.end()
            if position == len(text):
                return cls(int(start[1]), tuple(conditions))
            joint = _AND.match(text, position)
            if joint is None:
                raise error("expected 'and' or the end of the rule", position)
            position = joint.end()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule refers to, each once."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))


def parse_rules(rules: Iterable[str]) -> list[Rule]:
    """Read rules in their order; an error names a rule by its place."""
    return [Rule.parse(text, f"k rule {place}") for place, text in enumerate(rules, 1)]


def columns_of_rules(rules: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that any of the rules refers to, each once."""
    return tuple(dict.fromkeys(name for rule in parse_rules(rules) for name in rule.columns))


def refuse_unknown_columns(rules: Sequence[str], columns: Sequence[str]) -> None:
    """Raise where a rule names a column that is not there."""
    for place, rule in enumerate(parse_rules(rules), 1):
        for name in rule.columns:
            if name not in columns:
                raise unknown("column", name, columns, where=f"k rule {place}")


def assign_k(
    table: Table,
    k: int,
    k_column: str | None = None,
    rules: tuple[str, ...] = (),
    n_of_row: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Return each row's k: that of the k column, else of the first matching rule, else ``k``.

    The k column covers every row, so rules beside it are refused: they would have no effect.
    Where rows stand for several each, there are ``n_of_row``.
    """
    import numpy as np

    if k_column is not None:
        if rules:
            raise JobError(
                "both a k column and k rules are stated",
                remedy="The k column covers every row: leave one of the two out.",
            )
        table.require([k_column], f"{table.name}, k column")
        return read_k_column(table, k_column, n_of_row)
    if not 1 <= k < 10**MOST_DIGITS:
        raise JobError(
            f"k is not a whole number from 1 to {'9' * MOST_DIGITS}",
            remedy="State --k 5, for example.",
        )
    k_of_rule = np.array([*(rule.k for rule in parse_rules(rules)), k], dtype=np.int32)
    return k_of_rule[first_rule_of_row(table, rules)]  # −1, no rule, is the last entry


def first_rule_of_row(table: Table, rules: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of the first rule that matches each row, from 0; −1 where none does."""
    import numpy as np

    refuse_unknown_columns(rules, table.columns)
    rule_of_row = np.full(table.n_rows, -1, dtype=np.int32)
    columns: dict[str, _ComparedColumn] = {}
    for place, rule in enumerate(parse_rules(rules)):
        where = f"k rule {place + 1}"
        is_match = rule_of_row < 0
        for condition in rule.conditions:
            if condition.column not in columns:
                columns[condition.column] = _ComparedColumn.of(table, condition.column)
            is_match &= columns[condition.column].matching_rows(condition, where)
        rule_of_row[is_match] = place
    return rule_of_row


def read_k_column(
    table: Table, column: str, n_of_row: NDArray[np.int64] | None = None
) -> NDArray[np.int32]:
    """Return each row's own k: whole numbers of at least 1 and at most nine digits."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from incrowd.tables.columns.types import labels_of

    texts = labels_of(table.frame.column(column))
    is_whole = pc.fill_null(pc.match_substring_regex(texts, f"^[0-9]{{1,{MOST_DIGITS}}}$"), False)
    wrong = np.flatnonzero(~np.asarray(is_whole.to_numpy(zero_copy_only=False), dtype=np.bool_))
    if len(wrong) == 0:
        own = pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(own < 1)
    if len(wrong):
        n_wrong, where = len(wrong), f" (first in row {wrong[0] + 1})"
        if n_of_row is not None:
            n_wrong, where = int(n_of_row[wrong].sum()), ""
        raise DataError(
            f"{table.name}, column {column!r}: {n_wrong} rows hold no whole number of 1 or "
            f"more{where}",
            remedy=f"Every row needs its own k, of at most {MOST_DIGITS} digits; 1 asks for "
            "nothing.",
        )
    return np.asarray(own, dtype=np.int32)


# ── comparing ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _ComparedColumn:
    """A column as codes of its distinct texts, and what each text is; the last code is missing."""

    codes: NDArray[np.int32]
    texts: list[str]
    numbers: NDArray[np.float64] | None
    missing_values: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, name: str) -> _ComparedColumn:
        import numpy as np

        from incrowd.encoding.encode import encode_labels
        from incrowd.tables.columns.types import kind_of, parse_numbers

        column = table.frame.column(name)
        cells = encode_labels(column, table.missing_values)
        codes = np.where(cells.codes < 0, len(cells.labels), cells.codes).astype(np.int32)
        is_numeric = kind_of(column, table.missing_values).kind in ("integer", "decimal")
        numbers = np.append(parse_numbers(cells.texts), np.nan) if is_numeric else None
        texts = [label.strip() for label in cells.labels]
        return cls(codes, texts, numbers, table.missing_values)

    def matching_rows(self, condition: Condition, where: str) -> NDArray[np.bool_]:
        """Return which rows meet the condition."""
        import numpy as np

        is_match = np.zeros(len(self.texts) + 1, dtype=np.bool_)
        for value in condition.values:
            is_match |= self._compare(condition, value.strip(), where)
        if condition.operator == "!=":
            is_match = ~is_match
        return np.asarray(is_match[self.codes], dtype=np.bool_)

    def _compare(self, condition: Condition, value: str, where: str) -> NDArray[np.bool_]:
        """Return which texts, and missing, stand in the relation to one value (``!=`` as ``=``)."""
        import numpy as np

        from incrowd.tables.columns.types import parse_numbers

        compare: Callable[[Any, Any], Any] = _ORDERINGS.get(condition.operator, eq)
        if compare is eq and (value == "" or value in self.missing_values):
            return np.append(np.zeros(len(self.texts), dtype=np.bool_), True)
        if self.numbers is None:
            if compare is not eq:
                raise JobError(
                    f"{where}, column {condition.column!r}: {condition.operator} compares numbers, "
                    "and not all of the column's values are numbers",
                    remedy='Compare it with = or with in ("a", "b").',
                )
            return np.array([text == value for text in self.texts] + [False], dtype=np.bool_)
        number = parse_numbers([value])[0]
        if np.isnan(number):
            raise JobError(
                f"{where}, column {condition.column!r}: a column of numbers is compared with text, "
                "which no row can match",
                remedy="Compare it with a number.",
                examples=[value],
            )
        return np.asarray(compare(self.numbers, number), dtype=np.bool_)  # NaN matches nothing


def _unquote(word: str) -> str:
    quote = word[0]
    return word[1:-1].replace(2 * quote, quote) if quote in "\"'" else word
