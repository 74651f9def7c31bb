"""Ctrl-C and its kin: what is asked of the work under way, and who may ask.

Signals belong to the whole process, and so do the wishes kept here. Loops that run in slices ask
``is_stop_requested`` between two of them, on any thread; a worker on another machine never hears.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 143

_stop = threading.Event()
_abort = threading.Event()


def is_stop_requested() -> bool:
    """Whether a search should end as soon as what it has is valid."""
    return _stop.is_set()


def is_abort_requested() -> bool:
    """Whether all work is in vain: what is under way on other threads should stop."""
    return _abort.is_set()


@contextmanager
def handle_interrupts(*, publishes: bool, tell: Callable[[], None]) -> Iterator[None]:
    """Turn Ctrl-C into wishes while work runs: abort at once or, if it publishes, end the search.

    Then the first Ctrl-C calls ``tell`` and lets searches end; the second aborts. Aborting is a
    KeyboardInterrupt, after other threads were told. SIGTERM always aborts, as an exit with
    status 143. Does nothing outside the main thread, or where Ctrl-C is not Python's to answer.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if publishes and not _stop.is_set():
            _stop.set()
            tell()
            return
        _abort.set()
        _stop.set()
        raise KeyboardInterrupt

    def terminated(_number: int, _frame: FrameType | None) -> None:
        _abort.set()
        _stop.set()
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, terminated)
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, before)
        _stop.clear()
        _abort.clear()
