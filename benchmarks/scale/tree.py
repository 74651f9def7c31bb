"""What a command and all that it starts take, by the operating system's account (Linux).

Spark's work is done by Java processes and by workers of Python below them, some of which belong to
a cluster that was there before. So the memory of every process below some roots is added up many
times a second, and the processor's time is each process's last account. Pages that processes share
are counted for each of them: a peak is never told too low by that.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAUSE_SECONDS = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Account:
    """One process: its name and parent, the processor's seconds so far, and the memory it holds."""

    name: str
    parent: int
    cpu_seconds: float
    memory_bytes: int


def accounts(proc: Path = Path("/proc")) -> dict[int, Account]:
    """Return every process there is now."""
    found = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                found[int(entry.name)] = account_of((entry / "stat").read_text("utf-8", "replace"))
    return found


def account_of(stat: str) -> Account:
    """Read a line of ``/proc/PID/stat``; the name in brackets may hold anything."""
    begin, _, rest = stat.rpartition(")")
    fields = rest.split()
    return Account(
        name=begin.partition("(")[2],
        parent=int(fields[1]),
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS,
        memory_bytes=int(fields[21]) * _PAGE,
    )


def below(roots: Iterable[int], known: dict[int, Account]) -> dict[int, Account]:
    """Return the roots that live and every process below them."""
    children: dict[int, list[int]] = {}
    for process, account in known.items():
        children.setdefault(account.parent, []).append(process)
    found, waiting = {}, [root for root in roots if root in known]
    while waiting:
        process = waiting.pop()
        if process not in found:
            found[process] = known[process]
            waiting += children.get(process, [])
    return found


def busy_seconds(stat: str) -> float:
    """Return the time that all processors have worked, of the text of ``/proc/stat``."""
    user, nice, system, _idle, _wait, *interrupts = map(int, stat.splitlines()[0].split()[1:8])
    return (user + nice + system + sum(interrupts)) / _TICKS


@dataclass
class Watch:
    """Follows processes below some roots; others' time before the watch does not count.

    The largest of Python below the first root is a worker that holds a partition.
    """

    roots: Sequence[int]
    proc: Path = Path("/proc")
    peak_memory_bytes: int = 0
    worker_memory_bytes: int = 0
    n_processes: int = 0
    _before: dict[int, float] = field(default_factory=dict)
    _last: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = below(self.roots, accounts(self.proc))
        self._before = {process: account.cpu_seconds for process, account in known.items()}

    def look(self) -> None:
        """Take all accounts once."""
        known = below(self.roots, accounts(self.proc))
        held = sum(account.memory_bytes for account in known.values())
        self.peak_memory_bytes = max(self.peak_memory_bytes, held)
        self.n_processes = max(self.n_processes, len(known))
        for process, account in known.items():
            self._last[process] = account.cpu_seconds
            if account.name.startswith("python") and process != self.roots[0]:
                self.worker_memory_bytes = max(self.worker_memory_bytes, account.memory_bytes)

    @property
    def cpu_seconds(self) -> float:
        """The time that all of them have taken since the watch began."""
        return sum(last - self._before.get(process, 0.0) for process, last in self._last.items())


def watched(
    words: Sequence[str],
    out: Path,
    errors: Path,
    others: Sequence[int] = (),
    variables: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Run a command to its end; return what it and everything below it, and below others, took.

    Its output goes to ``out`` and its messages to ``errors``. Raises RuntimeError with the last
    of them where it fails.
    """
    proc = Path("/proc/stat")
    started, busy = time.perf_counter(), busy_seconds(proc.read_text("utf-8"))
    with out.open("wb") as sink, errors.open("wb") as told:
        child = subprocess.Popen(
            list(words), stdout=sink, stderr=told, env={**os.environ, **(variables or {})}
        )
    watch, is_over = Watch([child.pid, *others]), threading.Event()
    follower = threading.Thread(target=_follow, args=(watch, is_over))
    follower.start()
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        child.kill()  # who interrupts the measurement has no use for the run
        raise
    finally:
        is_over.set()
        follower.join()
    seconds, busy = time.perf_counter() - started, busy_seconds(proc.read_text("utf-8")) - busy
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = errors.read_text("utf-8", "replace")[-1_500:]
        raise RuntimeError(f"a measured run ended with status {child.returncode}:\n{last}")
    # Of one process the kernel's own figures are exact; of many they miss those of other parents.
    own = max(watch.cpu_seconds, usage.ru_utime + usage.ru_stime)
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(own, 2),
        "others_cpu_seconds": round(max(0.0, busy - own), 2),
        "peak_memory_bytes": max(watch.peak_memory_bytes, usage.ru_maxrss * 1024),
        "worker_memory_bytes": watch.worker_memory_bytes,
        "n_processes": watch.n_processes,
    }


def _follow(watch: Watch, is_over: threading.Event) -> None:
    while not is_over.wait(PAUSE_SECONDS):
        watch.look()
