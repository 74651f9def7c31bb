"""Everything that incrowd raises on purpose.

    IncrowdError                 exit 70   never raised itself
    ├── InputError               exit 2    the request or its input cannot be used
    │   ├── JobError                       the request is contradictory or names something unknown
    │   ├── DataError                      a data file or frame
    │   ├── HierarchyError                 a generalization hierarchy
    │   └── EngineError                    an engine that cannot start or finish its work
    ├── InfeasibleError          exit 3    no release can satisfy it; the remedy names one that can
    └── AuditError               exit 4    the audit refused a release; nothing was published

A message says where and what, ``remedy`` how to fix it. Values of personal data never appear in
the message itself: they go into ``examples``, which are shown only to users who may see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.audit import Audit


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
        first_line = self.what.rstrip(".")
        if show_values and self.examples:
            shown = ", ".join(repr(example[:80]) for example in self.examples[:3])
            first_line += f", for example {shown}"
        return f"{first_line}.\n{self.remedy}" if self.remedy else f"{first_line}."

    def __str__(self) -> str:
        return self.text(show_values=False)


class InputError(IncrowdError):
    """The request or its input cannot be used; nothing was written."""

    exit_status = 2


class JobError(InputError):
    """The request is contradictory or names something unknown."""


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


def unknown(kind: str, name: str, known: Iterable[str], *, where: str = "") -> JobError:
    """Return the error for a name that is not in ``known``, with similar names as the remedy."""
    names = list(known)
    near = [other for other in names if len(name) > 2 and other.startswith(name)]
    near = near[:3] or get_close_matches(name, names, n=3, cutoff=0.5)
    place = f"{where}: " if where else ""
    if near:
        remedy = f"Did you mean {' or '.join(repr(candidate) for candidate in near)}?"
    else:
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        remedy = f"Known: {listed}."
    return JobError(f"{place}unknown {kind} {name!r}", remedy=remedy)
