"""How far a search is whose parts run side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from incrowd.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class PartProgress:
    """Adds up what the parts of one search report, and passes it on as one.

    ``weights`` say how much of the work each part is, ``dearest`` how much of all that can be
    lost. The parts' work is the span from ``first`` to ``last`` of ``total``. The loss is told
    once every part has told its own. Sent to another machine it is silent.
    """

    progress: Progress
    stage: str
    first: int
    last: int
    total: int
    weights: NDArray[np.float64]
    dearest: NDArray[np.float64]
    _lock: Lock = field(default_factory=Lock)
    _shares: dict[int, float] = field(default_factory=dict)
    _losses: dict[int, float] = field(default_factory=dict)

    def of(self, part: int) -> Progress:
        """Return the function that one part reports to."""

        def report(_stage: str, done: int, total: int, loss: float | None = None, /) -> None:
            with self._lock:
                self._shares[part] = done / total if total else 0.0
                if loss is not None:
                    self._losses[part] = loss
                self.progress(self.stage, self._done(), self.total, self._loss())

        return report

    def ended(self) -> None:
        """Tell that all parts are searched, where they were searched out of hearing."""
        if not self._shares:
            self.progress(self.stage, self.last, self.total)

    def _done(self) -> int:
        done = sum(self.weights[part] * share for part, share in self._shares.items())
        share = done / max(float(self.weights.sum()), 1e-300)
        return self.first + round((self.last - self.first) * min(1.0, float(share)))

    def _loss(self) -> float | None:
        if len(self._losses) < len(self.weights):
            return None
        lost = sum(self.dearest[part] * loss for part, loss in self._losses.items())
        dearest = float(self.dearest.sum())
        return float(lost) / dearest if dearest > 0 else 0.0

    def __reduce__(self) -> tuple[type[SilentParts], tuple[()]]:
        """Travel as silence: nobody hears a report elsewhere."""
        return (SilentParts, ())


@dataclass(frozen=True)
class SilentParts:
    """What a search's progress becomes on another machine."""

    def of(self, part: int) -> Progress:  # noqa: ARG002
        """Return a function that shows nothing."""
        return silent
