"""Everything that incrowd raises on purpose.

    IncrowdError                 exit 70   never raised itself
    ├── InputError               exit 2    the request or its input cannot be used
    │   ├── JobError                       the request is contradictory or names something unknown
    │   │   └── Problems                   several of them, told at once
    │   ├── DataError                      a data file or frame
    │   ├── HierarchyError                 a generalization hierarchy
    │   └── EngineError                    an engine that cannot start or finish its work
    ├── InfeasibleError          exit 3    no release can satisfy it; the remedy names one that can
    └── AuditError               exit 4    the audit refused a release; nothing was published

A message says where and what, ``remedy`` how to fix it. Both are written with flags; in Python
``str(error)`` speaks of keywords instead (``incrowd.wording``). Values of personal data never
appear in the message itself: they go into ``examples``, which are shown only to users who may see
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from incrowd.wording import phrase

if TYPE_CHECKING:
    from incrowd.audit import Audit


Built = TypeVar("Built")


class IncrowdError(Exception):
    """Base of all deliberate errors: what happened, how to fix it, and separate examples."""

    exit_status = 70

    def __init__(self, what: str, *, remedy: str = "", examples: Iterable[object] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.examples: Sequence[str] = [str(example) for example in examples]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__new__, (type(self), self.what), self.__dict__

    def text(self, show_values: bool) -> str:
        """Return the whole message; with ``show_values`` also up to three example values."""
        first_line, remedy = phrase(self.what).rstrip("."), phrase(self.remedy)
        if show_values and self.examples:
            shown = ", ".join(repr(example[:80]) for example in self.examples[:3])
            first_line += f", for example {shown}"
        return f"{first_line}.\n{remedy}" if remedy else f"{first_line}."

    def __str__(self) -> str:
        return self.text(show_values=False)

    def to_mapping(self) -> dict[str, Any]:
        """Return the kind of error, what happened and the remedy as plain data, without values."""
        kind = type(self).__name__.removesuffix("Error").lower()
        return {"kind": kind, "what": self.what, "remedy": self.remedy}


class InputError(IncrowdError):
    """The request or its input cannot be used; nothing was written."""

    exit_status = 2


class JobError(InputError):
    """The request is contradictory or names something unknown."""


class Problems(JobError):
    """Several independent problems of one request, so that all can be fixed at once."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems were found")

    def text(self, show_values: bool) -> str:
        """Return every problem with its remedy, numbered."""
        lines = [f"{self.what}:"]
        for number, problem in enumerate(self.problems, 1):
            lines.append(f"{number}. {problem.text(show_values)}".replace("\n", "\n   "))
        return "\n".join(lines)

    def to_mapping(self) -> dict[str, Any]:
        """Return the problems as plain data, each with its own kind and remedy."""
        problems = [problem.to_mapping() for problem in self.problems]
        return {**super().to_mapping(), "problems": problems}


class ProblemList:
    """Gathers the problems of independent parts of a request."""

    def __init__(self) -> None:
        self.found: list[InputError] = []

    def attempt(self, build: Callable[..., Built], *arguments: Any) -> Built | None:
        """Return what ``build`` makes; None where it raises InputError, which is kept."""
        try:
            return build(*arguments)
        except Problems as several:
            self.found += several.problems
        except InputError as problem:
            self.found.append(problem)
        return None

    def extend(self, problems: Iterable[InputError]) -> None:
        """Keep the problems of an iterable, and the one that it raises, if any."""
        self.attempt(self.found.extend, problems)

    def refuse(self) -> None:
        """Raise what was found: one problem as it is, several together, each once."""
        distinct = {problem.text(show_values=True): problem for problem in self.found}
        if len(distinct) == 1:
            raise next(iter(distinct.values()))
        if distinct:
            raise Problems(distinct.values())


class DataError(InputError):
    """A data file or frame cannot be read."""


class HierarchyError(InputError):
    """A hierarchy is not a tree, or does not cover the column's values."""


class EngineError(InputError):
    """An engine cannot start, or lacks something it needs."""


class InfeasibleError(IncrowdError):
    """No release of these data satisfies the guarantee; ``remedy`` names a feasible one."""

    exit_status = 3


class AuditError(IncrowdError):
    """The audit refused the release; it was not published."""

    exit_status = 4

    def __init__(self, what: str, *, audit: Audit, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)
        self.audit = audit

    def to_mapping(self) -> dict[str, Any]:
        """Return the error and the audit that refused as plain data."""
        return {**super().to_mapping(), "audit": self.audit.to_dict()}


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """Return up to three of the known names that a wrong one may stand for."""
    starting = [other for other in known if len(name) > 2 and other.startswith(name)]
    return starting[:3] or get_close_matches(name, known, n=3, cutoff=0.5)


def unknown(kind: str, name: str, known: Iterable[str], *, where: str = "") -> JobError:
    """Return the error for a name that is not in ``known``, with similar names as the remedy."""
    names = list(known)
    near = near_names(name, names)
    place = f"{where}: " if where else ""
    if near:
        remedy = f"Did you mean {' or '.join(repr(candidate) for candidate in near)}?"
    else:
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        remedy = f"Known: {listed}."
    return JobError(f"{place}unknown {kind} {name!r}", remedy=remedy)
