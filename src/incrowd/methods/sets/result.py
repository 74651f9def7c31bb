"""What a method of sets hands back."""

from __future__ import annotations

from dataclasses import dataclass, field

from incrowd.data.dataset import Trace
from incrowd.data.sets import Sets


@dataclass(frozen=True, eq=False)
class SetResult:
    """Sets as they are to be released, row by row as they came, and what the search says."""

    released: Sets
    trace: Trace = field(default_factory=Trace)
