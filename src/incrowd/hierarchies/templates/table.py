"""The templates by name: what each groups by, and how it places a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incrowd.hierarchies.templates.ages import place_age
from incrowd.hierarchies.templates.countries import place_country
from incrowd.hierarchies.templates.icd10 import place_diagnosis
from incrowd.hierarchies.templates.isco import place_occupation
from incrowd.hierarchies.templates.postcodes import COUNTRIES, PLACES

Place = Callable[[str], tuple[str, ...] | None]
"""Returns a value's groups, fine to coarse, as many for every value; None where it has none."""


@dataclass(frozen=True)
class Template:
    """One template: a classification that gives every value of a kind its groups.

    ``places`` has what places a value, by variant (a country), or under "" where there are none.
    A group that repeats the label below it is the same node. ``is_numeric`` where values are
    numbers.
    """

    name: str
    levels: str
    places: dict[str, Place]
    noun: str
    is_numeric: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that can be stated after a colon."""
        return tuple(variant for variant in self.places if variant)


TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template(
            "icd10",
            "ICD-10 codes: three-character category, block, chapter",
            {"": place_diagnosis},
            "code of ICD-10",
        ),
        Template(
            "postcode",
            "postcodes: ever larger areas, as the country's codes are built",
            {country: PLACES[country] for country in COUNTRIES},
            "postcode",
        ),
        Template(
            "country",
            "countries (ISO codes or English names): subregion, region",
            {"": place_country},
            "country",
        ),
        Template(
            "ages",
            "ages in years: bands of five years, stages of life; 90 and over is one band",
            {"": place_age},
            "age",
            is_numeric=True,
        ),
        Template(
            "isco",
            "occupations by ISCO-08: minor, sub-major and major group",
            {"": place_occupation},
            "code of ISCO-08",
        ),
    )
}
"""Every template, by the name that a hierarchy is stated with."""
