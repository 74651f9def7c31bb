"""The losses by name: what each says, which way is better, where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from incrowd.data.dataset import Rows
from incrowd.metrics.entropy import non_uniform_entropy
from incrowd.metrics.groups import average_class_size, discernibility
from incrowd.metrics.heights import precision
from incrowd.metrics.priced import gcp, granularity, share_of_price
from incrowd.metrics.suppression import suppressed_cells, suppressed_rows
from incrowd.metrics.tally import Tally, tally

LOWER: Literal["lower is better"] = "lower is better"
HIGHER: Literal["higher is better"] = "higher is better"

SHARE = "0 to 1"
MAUGER = "Mauger, Le Mahec & Dequen 2020"


@dataclass(frozen=True)
class Metric:
    """A loss: a number for (before, after), with all a reader needs to understand it.

    ``is_reconstructed`` is True where the source does not print the formula and ours was fitted
    to its figures.
    """

    name: str
    direction: Literal["lower is better", "higher is better"]
    range: str
    formula: str
    function: Callable[[Tally], float]
    is_reconstructed: bool
    source: str

    def __call__(self, before: Rows, after: Rows, k: int = 1) -> float:
        """Return the loss of ``after`` with respect to ``before``."""
        return self.function(tally(before, after, k))


def measure(before: Rows, after: Rows, k: int) -> dict[str, float]:
    """Return every loss of ``METRICS`` by name; rows are read once for all of them."""
    return losses_of(tally(before, after, k))


def losses_of(counted: Tally) -> dict[str, float]:
    """Return every loss of ``METRICS`` by name, of tables that were counted already."""
    return {name: metric.function(counted) for name, metric in METRICS.items()}


def _share(name: str, price: str, source: str, *, is_reconstructed: bool = False) -> Metric:
    formula = f"Σ price / Σ price at the root; price of a cell: {price}"
    return Metric(name, LOWER, SHARE, formula, share_of_price(name), is_reconstructed, source)


_ALL = (
    _share("loss", "(L − 1) / (N − 1)", "Iyengar 2002; ARX's Loss"),
    Metric(
        "granularity",
        HIGHER,
        SHARE,
        "1 − loss",
        granularity,
        False,
        "ARX's Granularity (see below)",
    ),
    _share("ncp", "L / N, 0 at a leaf; numbers: range / domain", "Xu et al. 2006"),
    Metric(
        "gcp",
        LOWER,
        SHARE,
        "mean of NCP over all cells; equals ncp",
        gcp,
        False,
        "Ghinita et al. 2007",
    ),
    _share(
        "distortion",
        "Σ w over the levels climbed / Σ w over all levels, w = 1 / level from the top",
        "Li et al. 2006",
    ),
    _share("total", "height / h; numbers: range / domain", "Byun et al. 2007"),
    _share("llm", "Σ L(parent) over the steps climbed", MAUGER, is_reconstructed=True),
    _share("nllm", "LLM / the column's LLM to the root", MAUGER, is_reconstructed=True),
    _share("wllm", "Σ L(parent) · weight over the steps climbed", MAUGER, is_reconstructed=True),
    _share("nwllm", "WLLM / the column's WLLM to the root", MAUGER, is_reconstructed=True),
    _share("weights", "Σ weight over the steps climbed (1 where none is given)", "the user's own"),
    Metric(
        "non_uniform_entropy",
        LOWER,
        SHARE,
        "Σ −log₂(n(value) / n(node)) / Σ −log₂(n(value) / n), n(·) rows of the original",
        non_uniform_entropy,
        False,
        "de Waal & Willenborg 1999; Gionis & Tassa 2009",
    ),
    Metric(
        "precision",
        HIGHER,
        SHARE,
        "1 − mean of height / h over all cells",
        precision,
        False,
        "Sweeney 2002",
    ),
    Metric(
        "discernibility",
        LOWER,
        "n to n²",
        "Σ size² over groups + n · suppressed rows",
        discernibility,
        False,
        "Bayardo & Agrawal 2005",
    ),
    Metric(
        "average_class_size",
        LOWER,
        "1 to n / k where k is kept",
        "released rows / (groups · k)",
        average_class_size,
        False,
        "LeFevre et al. 2006",
    ),
    Metric(
        "suppressed_cells",
        LOWER,
        SHARE,
        "cells at the root / all cells",
        suppressed_cells,
        False,
        "–",
    ),
    Metric(
        "suppressed_rows",
        LOWER,
        SHARE,
        "rows left out / all rows",
        suppressed_rows,
        False,
        "–",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every loss that an audit reports, by name."""
