"""How long work reports how far it is, and how Ctrl-C asks it to end."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

log = logging.getLogger("incrowd")
"""Stages, notes and verdicts, without values of people's data; silent unless somebody listens."""

log.addHandler(logging.NullHandler())


class Progress(Protocol):
    """Receives progress reports; a total of 0 means that the end is unknown.

    ``loss`` is the information loss so far, where a search knows it.
    """

    def __call__(self, stage: str, done: int, total: int, loss: float | None = None, /) -> None:
        """Receive one report."""


def silent(stage: str, done: int, total: int, loss: float | None = None, /) -> None:
    """Ignore every report."""


# Compiling kernels, which happens in the first run only.

COMPILING = "compiling kernels"
"""How the stage in which kernels are compiled begins; its name goes on with the time expected."""

FEW_KERNELS = 12
"""About how many kernels are compiled where nobody says."""


@dataclass(frozen=True)
class Compilation:
    """Who is told of kernels that are compiled, and how many there may be where none is cached."""

    progress: Progress
    n_expected: int


_compilations: list[Compilation] = []


@contextmanager
def report_compilation(progress: Progress, n_expected: int = FEW_KERNELS) -> Iterator[None]:
    """Tell ``progress`` of kernels that are compiled meanwhile, on any thread."""
    compilation = Compilation(progress, n_expected)
    _compilations.append(compilation)
    try:
        yield
    finally:
        _compilations.remove(compilation)


def current_compilation() -> Compilation:
    """Return who is to be told of a kernel that is compiled now."""
    return _compilations[-1] if _compilations else Compilation(silent, FEW_KERNELS)


# Handle Ctrl-C and SIGTERM while a job runs.

TERMINATED = 143

_stop = threading.Event()
_abort = threading.Event()


def is_stop_requested() -> bool:
    """Whether a search should stop as soon as its result is valid."""
    return _stop.is_set()


def is_abort_requested() -> bool:
    """Whether the job is aborted, so that work on other threads should stop."""
    return _abort.is_set()


@contextmanager
def handle_interrupts(*, publishes: bool, notify: Callable[[], None]) -> Iterator[None]:
    """Turn Ctrl-C into requests while work runs: abort or, if it publishes, stop the search first.

    If it publishes, the first Ctrl-C calls ``notify`` and lets searches stop; the second aborts.
    Aborting sets the request for other threads and raises KeyboardInterrupt. SIGTERM always
    aborts, with exit status 143. Does nothing outside the main thread, or where Python does not
    handle Ctrl-C.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if publishes and not _stop.is_set():
            _stop.set()
            notify()
            return
        _abort.set()
        _stop.set()
        raise KeyboardInterrupt

    def terminate(_number: int, _frame: FrameType | None) -> None:
        _abort.set()
        _stop.set()
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, before)
        _stop.clear()
        _abort.clear()
