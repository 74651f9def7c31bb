"""The method of randomized response: its settings, and the way to noisy sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import JobError
from incrowd.methods.base import NoiseMethod
from incrowd.options import documented, option

if TYPE_CHECKING:
    from incrowd.engines.base import Engine
    from incrowd.methods.randomized_response.search import Noisy, Outlook
    from incrowd.progress import Progress
    from incrowd.sets.sets import Sets


@documented
@dataclass(frozen=True)
class RandomizedResponse(NoiseMethod):
    """Show every cell of rows × items as it is not, with a small probability that ε decides.

    Esfandiari et al. 2022, Algorithm 1, the papers' baseline. Deviation: cells without an entry are
    never visited; only those that are flipped are drawn. Noise comes from the operating system.
    """

    name: ClassVar[str] = "randomized-response"
    n_kernels: ClassVar[int] = 0
    keeps: ClassVar[frozenset[str]] = frozenset({"edge-dp", "node-dp"})

    self_loops: bool = option(
        False, help="Graphs: whether a node may list itself (public knowledge)."
    )
    most_entries: int = option(
        50_000_000,
        help="Refuse to start if more noise entries than this are expected.",
        minimum=1,
    )
    insecure_noise_seed: int | None = option(
        None,
        help="For tests only: random seed of the noise; the audit of such a release does not hold.",
        minimum=0,
    )

    def __post_init__(self) -> None:
        if type(self.self_loops) is not bool:
            raise JobError("self_loops is neither true nor false", remedy="State one of the two.")
        if not _is_whole(self.most_entries) or self.most_entries < 1:
            raise JobError(
                "most_entries is not a whole number of 1 or more",
                remedy="State 50000000, for example.",
            )
        seed = self.insecure_noise_seed
        if seed is not None and (not _is_whole(seed) or seed < 0):
            raise JobError(
                "insecure_noise_seed is not a whole number of 0 or more",
                remedy="Leave it out: noise then comes from the operating system.",
            )

    @property
    def may_have_loops(self) -> bool:
        """Whether a node of a graph may list itself, which is public knowledge."""
        return self.self_loops

    @property
    def is_seeded(self) -> bool:
        """Whether the noise can be drawn again: then it protects nobody."""
        return self.insecure_noise_seed is not None

    def foresee(self, sets: Sets, level: str, epsilon: float) -> Outlook:
        """Say what a run would do, and refuse one that would not fit."""
        from incrowd.methods.randomized_response.search import foresee

        return foresee(
            sets,
            level=level,
            epsilon=epsilon,
            self_loops=self.self_loops,
            most_entries=self.most_entries,
        )

    def respond(
        self,
        sets: Sets,
        level: str,
        epsilon: float,
        progress: Progress,
        engine: Engine | None = None,
    ) -> Noisy:
        """Return the sets with noise; ``level`` is ``edge`` or ``node``.

        On Spark every block of rows draws its noise on a worker, otherwise this process draws it.
        """
        from incrowd.methods.randomized_response.search import respond

        return respond(
            sets,
            level=level,
            epsilon=epsilon,
            self_loops=self.self_loops,
            most_entries=self.most_entries,
            insecure_noise_seed=self.insecure_noise_seed,
            engine=engine if engine is not None and engine.name == "spark" else None,
            progress=progress,
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
