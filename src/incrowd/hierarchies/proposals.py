"""Which hierarchy suits a column, from its name and its values: what ``auto`` means, and what a
proposed job states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.hierarchies.groupings import EXACT_INTEGERS
from incrowd.hierarchies.specs import DEFAULT_DATE_UNITS, HierarchySpec
from incrowd.hierarchies.templates.postcodes import PLACES, countries_fitting
from incrowd.hierarchies.templates.table import TEMPLATES
from incrowd.tables.columns.types import ColumnKind, parse_numbers, to_mask
from incrowd.tables.names import HEALTH, POSTAL_CODE, is_code_name, is_country_name, meaning_of

MOST_UNGROUPED = 4  # up to so many values are not grouped further
SHORT_CODE_LENGTH = 8  # characters up to which automatic prefixes have a level for each
MANY_VALUES = 20  # above so many categories that look like codes, prefixes group better

_SHORT_CODE = r"^[A-Za-z]{0,3}[0-9][0-9A-Za-z]{0,7}(\.[0-9A-Za-z]{1,4})?$"  # no dates, no ranges
_DIGITS = r"^[0-9]{3,10}$"

# by the word that a name says: the country whose postcodes are called so, and their length
_COUNTRY_OF_WORD = {
    "plz": ("DE", 5),
    "postleitzahl": ("DE", 5),
    "code postal": ("FR", 5),
    "cap": ("IT", 5),
    "cep": ("BR", 8),
}


def choose_hierarchy(
    column: str, labels: Sequence[str], kind: ColumnKind, missing: str = "refuse"
) -> HierarchySpec:
    """Return the hierarchy that suits a column's distinct values; ``auto`` is by frequency.

    It goes by what the column holds, and by its name where numbers may be codes: ZIP codes are
    grouped by leading characters, not by size.
    """
    what = kind.dominant_kind or kind.kind
    if len(labels) <= MOST_UNGROUPED or what == "boolean":
        return HierarchySpec("flat", missing=missing)
    if what == "date":
        return HierarchySpec("dates", units=DEFAULT_DATE_UNITS, missing=missing)
    named = _choose_by_name(column, labels, what)
    if named is not None:
        return replace(named, missing=missing)
    if what in ("integer", "decimal"):
        numbers = parse_numbers(labels)
        if np.nanmax(np.abs(numbers)) < EXACT_INTEGERS:
            is_constant = np.nanmin(numbers) == np.nanmax(numbers)
            return HierarchySpec("flat" if is_constant else "ranges", missing=missing)
    if what in ("code", "integer", "decimal") or _are_short_codes(labels):
        longest = max(len(label) for label in labels)
        step = math.ceil(longest / SHORT_CODE_LENGTH)
        drops = () if step == 1 else tuple(range(step, longest, step))
        return HierarchySpec("prefix", drops=drops, missing=missing)
    return HierarchySpec(missing=missing)


def is_code(column: str, labels: Sequence[str], kind: ColumnKind) -> bool:
    """Return whether a column's numbers are codes, such as ZIP codes, and not amounts."""
    return choose_hierarchy(column, labels, kind).kind in ("prefix", *TEMPLATES)


def _choose_by_name(column: str, labels: Sequence[str], what: str) -> HierarchySpec | None:
    """Return the hierarchy of codes that the name tells, if the values bear it out."""
    meaning = meaning_of(column)
    about, word = (meaning.about, meaning.word) if meaning else ("", "")
    if about == POSTAL_CODE and what in ("integer", "code", "category"):
        return _choose_for_postcodes(word, labels)
    if about == HEALTH and what == "category" and _fit("icd10", labels):
        return HierarchySpec("icd10")
    if word == "isco" and what in ("integer", "code") and _fit("isco", labels):
        return HierarchySpec("isco")
    if is_country_name(column) and what == "category" and _fit("country", labels):
        return HierarchySpec("country")
    if what == "integer" and is_code_name(column) and _have_one_length(labels):
        return HierarchySpec("prefix")
    return None


def _choose_for_postcodes(word: str, labels: Sequence[str]) -> HierarchySpec | None:
    """Return the postcodes of a country where it is clear, else leading characters."""
    country, length = _COUNTRY_OF_WORD.get(word, ("", 0))
    # some have all their digits: four alone may be Austria's or Switzerland's
    is_whole = max(len(label) for label in labels) >= length
    if country and is_whole and all(PLACES[country](label) is not None for label in labels):
        return HierarchySpec("postcode", variant=country)
    fitting = countries_fitting(labels)
    if len(fitting) == 1:
        return HierarchySpec("postcode", variant=fitting[0])
    if not to_mask(pc.match_substring_regex(_trimmed(labels), _DIGITS)).all():
        return None
    if _have_one_length(labels):
        return HierarchySpec("prefix")
    # numbers that lost a leading zero are not grouped by leading characters as they stand
    return HierarchySpec("postcode", variant="US") if "US" in fitting else None


def _fit(template: str, labels: Sequence[str]) -> bool:
    place = TEMPLATES[template].places[""]
    return all(place(label) is not None for label in labels)


def _have_one_length(labels: Sequence[str]) -> bool:
    lengths = {len(label.strip()) for label in labels}
    return len(lengths) == 1 and min(lengths) >= 3


def _are_short_codes(labels: Sequence[str]) -> bool:
    if len(labels) <= MANY_VALUES:
        return False
    return bool(to_mask(pc.match_substring_regex(_trimmed(labels), _SHORT_CODE)).all())


def _trimmed(labels: Sequence[str]) -> pa.Array:
    return pc.utf8_trim_whitespace(pa.array(labels, pa.string()))
