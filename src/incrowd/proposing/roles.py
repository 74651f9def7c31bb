"""Propose roles and hierarchies from a column's name and values, with reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.hierarchies.proposals import choose_hierarchy
from incrowd.tables.columns.types import ColumnKind, kind_of, parse_numbers
from incrowd.tables.identifiers import DistinctValues, is_repeating_key
from incrowd.tables.names import (
    Meaning,
    is_about_people,
    is_free_text_name,
    is_k_name,
    meaning_of,
    words_of,
)
from incrowd.tables.table import Table

K_COLUMN = "k column"
PERSON_COLUMN = "person column"

ENOUGH_ROWS = 20
"""In fewer rows than this, that all values differ says nothing."""

MISSING_TOKENS = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-", ".", "#N/A")
"""Cells that often mean missing without being empty."""

_PATTERNS = {  # of values that point at one person; tested on distinct values
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "web addresses": r"^(https?://|www\.)\S+$",
    "network addresses": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    "bank account numbers (IBAN)": r"^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?$",
    "payment card numbers": r"^[0-9]{4}([ -][0-9]{4}){3}$",
    "social security numbers": r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "random identifiers (UUID)": r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    "telephone numbers": r"^(\+|00|\()[0-9(][0-9 ()./-]{5,}[0-9]$",
}
_PATTERN_SHARE = {"e-mail addresses": 0.05, "web addresses": 0.5}
"""The share of distinct values that must match; 0.8 unless stated here."""

_WHY = {
    "identifying": "points at one person",
    "sensitive": "people may not want known",
    "quasi-identifying": "others may know about a person",
}

MOST_ANSWERS = 11
"""A scale of a survey has at most so many answers: 0 to 10."""

FEWEST_ITEMS = 5
"""So many columns with numbered names and one scale are items of a survey."""

FEWEST_LIKE_ITEMS = 8
"""So many columns with the very same answers, three or more, are items whatever their names."""

FEWEST_NUMBERED = 3
"""So many columns with numbered names and one role are asked about together."""

_FULL_NAME = r"^\p{Lu}[\p{Ll}'’-]+( \p{Lu}\.?)? \p{Lu}[\p{L}'’-]+$"


@dataclass(frozen=True)
class Proposal:
    """What one column seems to be.

    ``role`` is one of the four roles, or "k column" or "person column" (both never released).
    ``hierarchy_spec_text`` is what ``--hierarchy column=…`` takes, empty where none is needed.
    ``confidence`` is high, medium or low; ``kind`` is that of the values. ``group`` names the
    similar columns that it is one of and that can be decided together, if any.
    """

    column: str
    role: str
    hierarchy_spec_text: str
    reasons: tuple[str, ...]
    confidence: str
    kind: str
    group: str = ""


@dataclass(frozen=True)
class TableSummary:
    """What concerns the whole table: the person and k columns if any, and warnings in words."""

    person: str | None
    k_column: str | None
    warnings: tuple[str, ...]


def propose_roles(table: Table) -> list[Proposal]:
    """Return a proposal per column, in the table's order; the same for any order of rows."""
    profiles = [_profile(table, name) for name in table.columns]
    person = _choose_person_column(profile for profile in profiles if profile.is_repeating_key)
    items = _find_survey_items(profiles)
    proposals = [
        _propose(
            profile, is_person=profile.name == person, n_items=len(items.get(profile.name, ()))
        )
        for profile in profiles
    ]
    group_of = {name: _name_group(names) for name, names in items.items()}
    for names in _find_numbered(proposals):
        group_of |= {name: _name_group(names) for name in names if name not in items}
    return [replace(part, group=group_of.get(part.column, "")) for part in proposals]


def propose_hierarchy(table: Table, column: str) -> str:
    """Return the hierarchy that suits a column, as ``--hierarchy column=…`` takes it."""
    return _propose_hierarchy(_profile(table, column))


def summarize_proposals(table: Table, proposals: list[Proposal]) -> TableSummary:
    """Return what concerns the table as a whole: its person and k columns, and warnings."""
    having = {
        role: [part.column for part in proposals if part.role == role]
        for role in ("quasi-identifying", "sensitive", PERSON_COLUMN, K_COLUMN)
    }
    person = next(iter(having[PERSON_COLUMN]), None)
    k_column = next(iter(having[K_COLUMN]), None)
    warnings = list(table.notes)
    if person:
        warnings.append(
            f"column {person!r} repeats: one person may have several rows, so groups should count "
            f"people, not rows (--person {person})"
        )
    if k_column:
        warnings.append(
            f"column {k_column!r} looks like the group size that each person asks for "
            f"(--k-column {k_column})"
        )
    if not having["quasi-identifying"]:
        warnings.append("no column looks quasi-identifying: name those that others may know")
    if not having["sensitive"]:
        warnings.append("no column looks sensitive: l and t have nothing to protect")
    for token, columns in _missing_tokens(table).items():
        warnings.append(
            f"{token!r} occurs in {', '.join(columns)} and may mean missing "
            f"(--missing-values '{token}')"
        )
    return TableSummary(person, k_column, tuple(warnings))


# ── profiling a column ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _ColumnProfile:
    """Everything that a proposal is based on."""

    name: str
    kind: ColumnKind
    values: DistinctValues
    meaning: Meaning | None

    @property
    def is_unique(self) -> bool:
        return self.values.n_cells >= ENOUGH_ROWS and self.kind.n_values == self.values.n_cells

    @property
    def is_nearly_unique(self) -> bool:
        return (
            self.values.n_cells >= ENOUGH_ROWS and self.kind.n_values >= 0.9 * self.values.n_cells
        )

    @property
    def is_repeating_key(self) -> bool:
        return (
            self.meaning is not None
            and self.meaning.is_person_key
            and is_repeating_key(self.name, self.kind.n_values, self.values.n_cells)
        )

    @property
    def may_be_item(self) -> bool:
        """Whether it may be an item of a survey: few answers, and a name that tells nothing."""
        is_scale = 1 <= self.kind.n_values <= MOST_ANSWERS and self.values.n_cells >= ENOUGH_ROWS
        is_answer = self.kind.kind in ("integer", "boolean", "category")
        return self.meaning is None and is_scale and is_answer and not is_k_name(self.name)

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(sorted(self.values.labels.to_pylist()))

    @property
    def is_free_text(self) -> bool:
        if self.kind.kind != "category" or self.kind.n_values < ENOUGH_ROWS:
            return False
        if self.kind.n_values < 0.3 * self.values.n_cells and not is_free_text_name(self.name):
            return False
        return float(pc.mean(pc.utf8_length(self.values.labels)).as_py()) >= 25


def _profile(table: Table, name: str) -> _ColumnProfile:
    kind = kind_of(table.frame.column(name), table.missing_values)
    return _ColumnProfile(name, kind, DistinctValues.of(table, name), meaning_of(name))


def _choose_person_column(candidates: Iterable[_ColumnProfile]) -> str | None:
    """Return the one column to count people by: a name about people first, then most values."""
    ranked = sorted(
        candidates, key=lambda profile: (not is_about_people(profile.name), -profile.kind.n_values)
    )
    return ranked[0].name if ranked else None


# ── columns that are alike ──────────────────────────────────────────────────────────────────


def _find_survey_items(profiles: list[_ColumnProfile]) -> dict[str, list[str]]:
    """Return, per item of a survey, all items on its scale; names that say something are none.

    Items are columns with few answers: numbered ones (q1, q2 …) whose answers together are few
    too, or many columns with the very same answers.
    """
    by_stem: dict[str, list[_ColumnProfile]] = defaultdict(list)
    by_answers: dict[tuple[str, ...], list[_ColumnProfile]] = defaultdict(list)
    for profile in profiles:
        if profile.may_be_item:
            by_stem[_stem(profile.name)].append(profile)
            if profile.kind.n_values > 2:
                by_answers[profile.answers].append(profile)
    found: dict[str, list[str]] = {}
    for alike in by_answers.values():
        if len(alike) >= FEWEST_LIKE_ITEMS:
            names = [profile.name for profile in alike]
            found |= dict.fromkeys(names, names)
    for stem, alike in by_stem.items():
        answers = {answer for profile in alike for answer in profile.answers}
        if stem and len(alike) >= FEWEST_ITEMS and len(answers) <= MOST_ANSWERS:
            names = [profile.name for profile in alike]
            found |= {name: names for name in names if name not in found}
    return found


def _find_numbered(proposals: list[Proposal]) -> list[list[str]]:
    """Return columns whose names differ by numbers only, and that are proposed alike."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for part in proposals:
        if any(word.isdecimal() for word in words_of(part.column)):
            alike[_stem(part.column), part.role].append(part.column)
    return [names for (stem, _), names in alike.items() if stem and len(names) >= FEWEST_NUMBERED]


def _stem(name: str) -> str:
    """Return a name without its numbers."""
    return " ".join(word for word in words_of(name) if not word.isdecimal())


def _name_group(names: list[str]) -> str:
    return f"{names[0]} … {names[-1]} ({len(names)} columns)"


# ── deciding ─────────────────────────────────────────────────────────────────────────────────


def _propose(profile: _ColumnProfile, is_person: bool, n_items: int) -> Proposal:
    role, confidence, reasons = _decide_role(profile, is_person, n_items)
    reasons += _remarks(profile, role)
    hierarchy = _propose_hierarchy(profile) if role == "quasi-identifying" else ""
    return Proposal(profile.name, role, hierarchy, tuple(reasons), confidence, profile.kind.kind)


def _propose_hierarchy(profile: _ColumnProfile) -> str:
    missing = "suppress" if profile.kind.dominant_kind else "refuse"
    labels = sorted(profile.values.labels.to_pylist())
    return choose_hierarchy(profile.name, labels, profile.kind, missing).text()


def _decide_role(
    profile: _ColumnProfile, is_person: bool, n_items: int
) -> tuple[str, str, list[str]]:
    """Return role, confidence and the deciding reason; the first rule that applies decides."""
    meaning, kind = profile.meaning, profile.kind.kind
    if kind == "empty":
        return "identifying", "high", ["every cell is missing: removing it loses nothing"]
    if is_k_name(profile.name) and _may_be_k(profile):
        return K_COLUMN, "high", ["its name and its small whole numbers suggest a per-record k"]
    for what, pattern in _PATTERNS.items():
        if profile.values.share_matching(pattern) >= _PATTERN_SHARE.get(what, 0.8):
            return "identifying", "high", [f"its values look like {what}"]
    if is_person:
        reason = "it looks like an identifier and repeats, so it may identify people"
        return PERSON_COLUMN, "medium", [reason]
    if profile.is_free_text:
        reason = "long texts, mostly different: sentences can hold names, so it is removed"
        return "identifying", "high", [reason]
    if meaning and _is_supported_by_values(profile, meaning):
        if meaning.role == "sensitive" and kind == "date":
            return "quasi-identifying", "medium", ["a date is something that others may know"]
        about = "" if meaning.about == meaning.word else f" ({meaning.about})"
        reason = f"its name says {meaning.word!r}{about}, which {_WHY[meaning.role]}"
        return meaning.role, "medium" if meaning.is_compound else "high", [reason]
    if n_items:
        reason = (
            f"one of {n_items} answers on the same scale: others seldom know what somebody "
            "answered, so it is kept as sensitive; make those that others may know "
            "quasi-identifying, and leave out those that nobody needs"
        )
        return "sensitive", "medium", [reason]
    if _may_number_rows(profile) or (profile.is_nearly_unique and kind == "category"):
        differs = "every row has" if profile.is_unique else "nearly every row has"
        return "identifying", "medium", [f"{differs} its own value"]
    if profile.kind.n_values >= 50 and profile.values.share_matching(_FULL_NAME) >= 0.9:
        return "identifying", "medium", ["its values look like first and last names"]
    if kind == "date":
        return "quasi-identifying", "medium", ["a date is something that others may know"]
    reason = "in doubt: neither its name nor its values tell what it is, so it is protected"
    return "quasi-identifying", "low", [reason]


def _is_supported_by_values(profile: _ColumnProfile, meaning: Meaning) -> bool:
    """Return whether the values can be what the name says."""
    kind, n_values = profile.kind.kind, profile.kind.n_values
    if meaning.role == "identifying":
        if meaning.is_person_key:  # few values are kinds of something, not people
            return kind != "boolean" and (n_values > 10 or profile.values.n_cells <= ENOUGH_ROWS)
        return meaning.about != "a person's name" or kind in ("category", "code")
    if meaning.role == "sensitive":  # 'blood sample id' is a number of the sample
        is_numbered = bool(set(words_of(profile.name)) & {"id", "nr", "no", "number", "code"})
        return not (is_numbered and _may_number_rows(profile))
    return True


def _may_number_rows(profile: _ColumnProfile) -> bool:
    return profile.is_unique and profile.kind.kind in ("integer", "code", "category")


def _may_be_k(profile: _ColumnProfile) -> bool:
    numbers = parse_numbers(profile.values.labels)
    return profile.kind.kind == "integer" and numbers.min() >= 1 and numbers.max() <= 1000


def _remarks(profile: _ColumnProfile, role: str) -> list[str]:
    """Return what else a person should know of the column."""
    remarks = []
    if (
        profile.meaning
        and profile.meaning.is_person_key
        and role == "identifying"
        and profile.is_repeating_key
    ):
        remarks.append("it repeats: if it identifies people, groups should count people")
    if profile.kind.dominant_kind:
        remarks.append(
            f"{profile.kind.n_odd} cells are not {profile.kind.dominant_kind}: if they mean "
            "missing, name them with --missing-values"
        )
    if role == "quasi-identifying" and profile.is_unique:
        remarks.append("every row has its own value")
    if role == "quasi-identifying" and profile.meaning and profile.meaning.about == "origin":
        remarks.append("it may be sensitive as well: consider it when you choose sensitive columns")
    is_number = profile.kind.kind in ("integer", "decimal")
    if role == "sensitive" and is_number and profile.kind.n_values > 50:
        remarks.append("many different numbers: distinct values in a group say little about it")
    if profile.kind.n_values == 1:
        remarks.append("the same in every row")
    return remarks


def _missing_tokens(table: Table) -> dict[str, list[str]]:
    """Return the known tokens that stand in columns without being named as missing."""
    found: dict[str, list[str]] = {}
    for name in table.columns:
        labels = DistinctValues.of(table, name).labels
        is_token = pc.is_in(labels, pa.array(MISSING_TOKENS, labels.type))
        for token in labels.filter(is_token).to_pylist():
            found.setdefault(token, []).append(name)
    return {token: found[token] for token in MISSING_TOKENS if token in found}
