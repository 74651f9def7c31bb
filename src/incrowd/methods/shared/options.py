"""What several methods let a user choose: the metric, and how much work a search is given."""

from __future__ import annotations

import re
from typing import Any

from incrowd.errors import JobError
from incrowd.guarantees.evidence import SETS
from incrowd.options import option

METRICS = (
    "distortion",
    "ncp",
    "total",
    "loss",
    "llm",
    "nllm",
    "wllm",
    "nwllm",
    "weights",
)
"""The names in ``hierarchies.costs.COSTS_OF_METRIC``."""

BETA = "distortion:BETA sets the exponent of its level weights (1 if omitted)."
"""What the help of a metric adds."""

KEEPS = frozenset({"k-anonymity", "l-diversity", "t-closeness", "k-per-person", "person"})
"""What a method keeps that tests every group with ``kernels.validity``."""


def require_metric(metric: str) -> None:
    """Raise unless a metric of this name has prices; β of distortion may follow it."""
    if metric not in METRICS:
        from incrowd.hierarchies.costs import parse_metric

        parse_metric(str(metric))


# ── how much work a search is given: a number of changes to try, a word, or a wish in seconds ─────

AUTO, QUICK, FULL = "auto", "quick", "full"

NONE = "none"
"""No second search at all."""

MOST_ITERATIONS = 10**15
MOST_SECONDS = 30 * 24 * 3600.0

_SECONDS = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|h)")
_IN_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_effort(effort: object) -> int | str:
    """Return an effort as it is kept in a job: a whole number above 0, a word, or ``10s``.

    0 is ``auto``, and a number in a text is a number. Raises JobError on anything else.
    """
    if isinstance(effort, str):
        text = effort.strip().lower()
        if text in (AUTO, QUICK, FULL) or seconds_of(text):
            return text
        if re.fullmatch(r"[0-9][0-9_]*", text) and int(text) <= MOST_ITERATIONS:
            return int(text) or AUTO
    elif type(effort) is int and 0 <= effort <= MOST_ITERATIONS:
        return effort or AUTO
    raise JobError(
        "effort is neither a whole number of 0 or more, nor auto, quick, full or a time",
        remedy="State how many changes to try (200000), how long to search (10s, 2m), "
        "or auto to leave it to the table's size.",
    )


def parse_polish(polish: object) -> int | str:
    """Return the effort of a second search, or ``none``. Raises JobError on anything else."""
    return NONE if polish == NONE else parse_effort(polish)


def seconds_of(effort: int | str) -> float:
    """Return the seconds that are wished for; 0 where the effort is no wish in seconds."""
    found = _SECONDS.fullmatch(effort) if isinstance(effort, str) else None
    if found is None:
        return 0.0
    seconds = float(found[1]) * _IN_SECONDS[found[2]]
    return seconds if seconds <= MOST_SECONDS else 0.0


# ── how many rows of sets are searched at once ────────────────────────────────────────────────────

LEAST_CHUNK = 1_000


def chunk_rows_option() -> Any:
    """Return the field of a method that searches sets in chunks."""
    return option(
        100_000,
        help="Approximate number of rows searched at once; larger data are split into chunks "
        "of similar rows.",
        minimum=LEAST_CHUNK,
        about=SETS,
    )


def require_chunk_rows(chunk_rows: object) -> None:
    """Raise unless chunks of this size can be made."""
    if type(chunk_rows) is not int or chunk_rows < LEAST_CHUNK:
        raise JobError(
            f"chunk_rows is not a whole number of {LEAST_CHUNK} or more",
            remedy="State --chunk-rows 100000, for example.",
        )
