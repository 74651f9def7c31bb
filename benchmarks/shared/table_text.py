"""What tables of cases have in common: their frame, and times and sizes as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

NOT_MEASURED = "(not measured yet)"

Result = dict[str, Any]


def of_cases(
    part: str, is_wanted: Callable[[str], bool], make: Callable[[dict[str, list[Result]]], str]
) -> Callable[[Result], str]:
    """Return how a table is made of the runs of a part's cases."""

    def table(measured: Result) -> str:
        found = measured["parts"].get(part, {"results": {}})["results"]
        found = {name: case for name, case in found.items() if is_wanted(name)}
        if not found:
            return NOT_MEASURED
        made = make({name: case["runs"] for name, case in found.items()})
        commits = dict.fromkeys(case["commit"] or "unknown" for case in found.values())
        cores = dict.fromkeys(str(case["machine"]["cores"]) for case in found.values())
        trial = "a small trial, " if any(case["is_small"] for case in found.values()) else ""
        word = "commit" if len(commits) == 1 else "commits"
        return f"{made}\n\n({trial}{' or '.join(cores)} cores, {word} {', '.join(commits)})"

    return table


def any_case(_: str) -> bool:
    """Take every case of a part."""
    return True


def table_of(head: str, rows: Iterable[str]) -> str:
    """Return a table with its line under the head."""
    rule = "| " + " | ".join("---" for _ in head.strip("|").split("|")) + " |"
    return "\n".join([head, rule, *rows])


def percent(share: float) -> str:
    """Return a share in percent, to a hundredth."""
    return f"{100 * share:.2f}"


def short_time(seconds: float) -> str:
    """Return seconds, or minutes from ten of them on."""
    if seconds < 9.95:
        return f"{seconds:.2f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def peak_memory(result: Result) -> str:
    """Return a run's peak memory."""
    return f"{result['peak_memory_bytes'] / 2**20:.0f} MB"
