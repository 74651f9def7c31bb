"""Personal wishes: how large a crowd each row asks for, from a column, from rules or for all.

A rule is a line such as ``20 where diagnosis = "HIV" and age >= 65``; of several rules the first
that a row meets counts. ::

    rule       = [ "k" "=" ] whole-number "where" condition { "and" condition }
    condition  = column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | column "in" "(" value { "," value } ")"
    column     = bare word, or quoted where it holds blanks or signs: "marital status"
    value      = bare word, or quoted; a quote within quotes is written twice

A column whose values are all numbers is compared as numbers, any other as text, exactly but for
blanks around it. A missing cell equals ``""`` (and each token that means missing) and nothing else.
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
_TOKEN = re.compile(
    r"""\s*(?: (?P<sign><=|>=|!=|=|<|>|\(|\)|,)
             | "(?P<double>(?:[^"]|"")*)"
             | '(?P<single>(?:[^']|'')*)'
             | (?P<word>[^\s"'=!<>(),]+) )""",
    re.VERBOSE,
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_EQUAL: Callable[[Any, Any], Any] = eq


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
        """Read a rule; raises JobError at the first word that does not fit."""
        reader = _RuleParser(text, where)
        k = reader.wish()
        reader.expect("where")
        conditions = [reader.condition()]
        while reader.has_more:
            reader.expect("and")
            conditions.append(reader.condition())
        return cls(k, tuple(conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule looks at, each once."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))


def parse_rules(rules: Iterable[str]) -> list[Rule]:
    """Read rules in their order; an error names a rule by its place."""
    return [Rule.parse(text, f"k rule {place}") for place, text in enumerate(rules, 1)]


def columns_of_rules(rules: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that any of the rules looks at, each once."""
    return tuple(dict.fromkeys(name for rule in parse_rules(rules) for name in rule.columns))


def assign_k(
    table: Table, k: int, k_column: str | None = None, rules: tuple[str, ...] = ()
) -> NDArray[np.int32]:
    """Return how large a crowd each row asks for: its own column, else its first rule, else k.

    A stated column speaks for every row, so that rules beside it are refused as unheard.
    """
    import numpy as np

    if k_column is not None:
        if rules:
            raise JobError(
                "both a column of k and rules for k are stated",
                remedy="The column speaks for every row: leave one of the two out.",
            )
        table.require([k_column], f"{table.name}, column of k")
        return read_k_column(table, k_column)
    if not 1 <= k < 10**MOST_DIGITS:
        raise JobError(
            f"k is not a whole number of 1 or more and at most {MOST_DIGITS} digits",
            remedy="State --k 5, for example.",
        )
    k_of_rule = np.array([*(rule.k for rule in parse_rules(rules)), k], dtype=np.int32)
    return k_of_rule[first_rule_of_row(table, rules)]  # −1, no rule, is the last entry


def first_rule_of_row(table: Table, rules: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of the first rule that each row meets, from 0; −1 where it meets none."""
    import numpy as np

    found = np.full(table.n_rows, -1, dtype=np.int32)
    comparing: dict[str, _ComparedColumn] = {}
    for place, rule in enumerate(parse_rules(rules)):
        where = f"k rule {place + 1}"
        is_met = found < 0
        for condition in rule.conditions:
            if condition.column not in comparing:
                if condition.column not in table.columns:
                    raise unknown("column", condition.column, table.columns, where=where)
                comparing[condition.column] = _ComparedColumn.of(table, condition.column)
            is_met &= comparing[condition.column].rows(condition, where)
        found[is_met] = place
    return found


def read_k_column(table: Table, column: str) -> NDArray[np.int32]:
    """Return each row's own k: whole numbers of at least 1 and at most nine digits."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from incrowd.tables.column_types import labels_of

    texts = labels_of(table.frame.column(column))
    is_whole = pc.fill_null(pc.match_substring_regex(texts, f"^[0-9]{{1,{MOST_DIGITS}}}$"), False)
    wrong = np.flatnonzero(~np.asarray(is_whole.to_numpy(zero_copy_only=False), dtype=np.bool_))
    if len(wrong) == 0:
        own = pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(own < 1)
    if len(wrong):
        raise DataError(
            f"{table.name}, column {column!r}: {len(wrong)} rows hold no whole number of 1 or more "
            f"(first in row {wrong[0] + 1})",
            remedy=f"Every row needs its own k, of {MOST_DIGITS} digits at most; 1 means no wish.",
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
        from incrowd.tables.column_types import kind_of, parse_numbers

        column = table.frame.column(name)
        cells = encode_labels(column, table.missing_values)
        codes = np.where(cells.codes < 0, len(cells.labels), cells.codes).astype(np.int32)
        is_numeric = kind_of(column, table.missing_values).kind in ("integer", "decimal")
        numbers = np.append(parse_numbers(cells.texts), np.nan) if is_numeric else None
        texts = [label.strip() for label in cells.labels]
        return cls(codes, texts, numbers, table.missing_values)

    def rows(self, condition: Condition, where: str) -> NDArray[np.bool_]:
        """Return which rows meet the condition."""
        import numpy as np

        is_met = np.zeros(len(self.texts) + 1, dtype=np.bool_)
        for value in condition.values:
            is_met |= self._equal(condition, value, where)
        if condition.operator == "!=":
            is_met = ~is_met
        return np.asarray(is_met[self.codes], dtype=np.bool_)

    def _equal(self, condition: Condition, value: str, where: str) -> NDArray[np.bool_]:
        """Return which texts, and missing, meet the comparison with one value."""
        import numpy as np

        value, operator = value.strip(), condition.operator
        is_ordered = operator in _ORDERINGS
        if not is_ordered and (value == "" or value in self.missing_values):
            return np.append(np.zeros(len(self.texts), dtype=np.bool_), True)
        if self.numbers is None:
            if is_ordered:
                raise JobError(
                    f"{where}, column {condition.column!r}: {operator} compares numbers, and not "
                    "all of the column's values are numbers",
                    remedy='Compare it with = or with in ("a", "b").',
                )
            return np.array([text == value for text in self.texts] + [False], dtype=np.bool_)
        number = _number(value)
        if number is None:
            raise JobError(
                f"{where}, column {condition.column!r}: the column holds numbers, and it is "
                "compared with text, which no row can meet",
                remedy="Compare it with a number.",
                examples=[value],
            )
        compare = _ORDERINGS.get(operator, _EQUAL)
        return np.asarray(compare(self.numbers, number), dtype=np.bool_)  # NaN meets none of them


def _number(text: str) -> float | None:
    import math

    from incrowd.tables.column_types import parse_numbers

    number = float(parse_numbers([text])[0])
    return None if math.isnan(number) else number


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class _RuleParser:
    """The words of a rule, one after the other."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self._tokens: list[tuple[str, str, int]] = []  # what it is, its text, where it begins
        self._next = 0
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong("a quote is not closed, or a sign stands alone", place)
            kind = str(match.lastgroup)
            word = match[kind]
            if kind in ("double", "single"):
                quote = '"' if kind == "double" else "'"
                kind, word = "quoted", word.replace(2 * quote, quote)
            self._tokens.append((kind, word, match.start(match.lastgroup or 0)))
            place = match.end()

    @property
    def has_more(self) -> bool:
        """Whether words are left."""
        return self._next < len(self._tokens)

    def wish(self) -> int:
        """Read ``20`` or ``k = 20``."""
        if [token[:2] for token in self._tokens[:2]] == [("word", "k"), ("sign", "=")]:
            self._next = 2
        kind, word, place = self._take("its k")
        if kind != "word" or not re.fullmatch(f"[0-9]{{1,{MOST_DIGITS}}}", word) or int(word) < 1:
            raise self._wrong(
                f"k is not a whole number of 1 or more and at most {MOST_DIGITS} digits", place
            )
        return int(word)

    def expect(self, keyword: str) -> None:
        """Read a word that must stand here."""
        kind, word, place = self._take(f"'{keyword}'")
        if kind != "word" or word.lower() != keyword:
            raise self._wrong(f"'{keyword}' is expected", place)

    def condition(self) -> Condition:
        """Read a comparison."""
        column = self._word("a column")
        kind, operator, place = self._take("a comparison")
        if kind == "sign" and operator in _COMPARISONS:
            return Condition(column, operator, (self._word("a value"),))
        if kind != "word" or operator.lower() != "in":
            raise self._wrong(f"a comparison is expected: {', '.join(_COMPARISONS)} or in", place)
        self._sign("(")
        values = [self._word("a value")]
        while self._sign(",", ")") == ",":
            values.append(self._word("a value"))
        return Condition(column, "in", tuple(values))

    def _word(self, what: str) -> str:
        kind, word, place = self._take(what)
        is_keyword = kind == "word" and word.lower() in ("where", "and", "in")
        if kind == "sign" or is_keyword:
            raise self._wrong(f"{what} is expected (quoted where it is one of these words)", place)
        if what == "a column" and not word:
            raise self._wrong("the column has no name", place)
        return word

    def _sign(self, *signs: str) -> str:
        kind, sign, place = self._take(" or ".join(signs))
        if kind != "sign" or sign not in signs:
            raise self._wrong(f"{' or '.join(signs)} is expected", place)
        return sign

    def _take(self, what: str) -> tuple[str, str, int]:
        if not self.has_more:
            raise self._wrong(f"it ends before {what}", len(self._text))
        self._next += 1
        return self._tokens[self._next - 1]

    def _wrong(self, what: str, place: int) -> JobError:
        return JobError(
            f"{self._where}, at character {place + 1}: {what}",
            remedy=_EXAMPLE,
            examples=[self._text],
        )
