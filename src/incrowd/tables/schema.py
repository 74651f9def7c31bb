"""The role of each column: identifying, quasi-identifying, sensitive or insensitive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from incrowd.errors import JobError, unknown
from incrowd.options import suggest_keywords

ROLES = ("identifying", "quasi-identifying", "sensitive", "insensitive")


@suggest_keywords
@dataclass(frozen=True, init=False)
class Schema:
    """Which columns play which role; a column with no stated role is not released.

    >>> Schema(quasi=["age", "zip"], sensitive=["diagnosis"]).published
    ('age', 'zip', 'diagnosis')

    Parameters
    ----------
    quasi : iterable of str, default ()
        Quasi-identifiers: what somebody may know of a person. They are generalized.
    sensitive : iterable of str, default ()
        Sensitive attributes: kept; l-diversity and t-closeness protect them.
    insensitive : iterable of str, default ()
        Kept as they are; refused where they point at people.
    identifying : iterable of str, default ()
        Removed: names, numbers, addresses.
    person : str | None, default None
        The column that identifies people where one person has several rows; groups then count
        people. It is never released.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    identifying: tuple[str, ...]
    person: str | None

    def __init__(
        self,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        identifying: Iterable[str] = (),
        person: str | None = None,
    ) -> None:
        groups = {"quasi": quasi, "sensitive": sensitive}
        groups |= {"insensitive": insensitive, "identifying": identifying}
        role_of: dict[str, str] = {}
        for attribute, names in groups.items():
            listed = _listed(names, attribute)
            for name in listed:
                if name in role_of:
                    role = _role_word(attribute)
                    both = role if role_of[name] == role else f"both {role_of[name]} and {role}"
                    raise JobError(
                        f"column {name!r} is stated {both}"
                        + (" twice" if role_of[name] == role else ""),
                        remedy="Give each column one role, once.",
                    )
                role_of[name] = _role_word(attribute)
            object.__setattr__(self, attribute, listed)
        object.__setattr__(self, "person", person or None)
        if person and role_of.get(person, "identifying") != "identifying":
            raise JobError(
                f"column {person!r} is the person column and {role_of[person]}",
                remedy="The person column is never released: remove its role.",
            )

    @classmethod
    def from_roles(cls, roles: Mapping[str, str], person: str | None = None) -> Schema:
        """Build from column → role, as a job file states it."""
        for column, role in roles.items():
            if role not in ROLES:
                raise unknown("role", role, ROLES, where=f"column {column!r}")
        names = {
            role: [column for column, stated in roles.items() if stated == role] for role in ROLES
        }
        return cls(
            names["quasi-identifying"],
            names["sensitive"],
            names["insensitive"],
            names["identifying"],
            person,
        )

    @property
    def roles(self) -> dict[str, str]:
        """Column → role, for every column that has one."""
        stated = dict.fromkeys(self.quasi, "quasi-identifying")
        stated |= dict.fromkeys(self.sensitive, "sensitive")
        stated |= dict.fromkeys(self.insensitive, "insensitive")
        return stated | dict.fromkeys(self.identifying, "identifying")

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that a release shows, in no particular order."""
        return (*self.quasi, *self.sensitive, *self.insensitive)


def _listed(names: object, attribute: str) -> tuple[str, ...]:
    """Return stated columns; a text is one column."""
    if isinstance(names, str):
        return (names,)
    listed = tuple(names) if isinstance(names, Iterable) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise JobError(
            f"{attribute}: not a list of column names but a {type(names).__name__}"
            + ("" if listed is None else " that holds others than texts"),
            remedy=f'State {attribute}=["age", "zip"].',
        )
    return listed


def _role_word(attribute: str) -> str:
    return "quasi-identifying" if attribute == "quasi" else attribute
