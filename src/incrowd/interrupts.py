"""Ctrl-C and its kin: what is asked of the work under way, and who may ask.

Signals belong to the whole process, and so do the wishes kept here. Loops that run in slices ask
``is_end_wished`` between two of them, on any thread; a worker on another machine never hears.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 143

_end = threading.Event()
_abort = threading.Event()


def is_end_wished() -> bool:
    """Whether a search should end as soon as what it has is valid."""
    return _end.is_set()


def is_abort_wished() -> bool:
    """Whether all work is in vain: what is under way on other threads should stop."""
    return _abort.is_set()


@contextmanager
def heard(*, publishes: bool, tell: Callable[[], None]) -> Iterator[None]:
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
        if publishes and not _end.is_set():
            _end.set()
            tell()
            return
        _abort.set()
        _end.set()
        raise KeyboardInterrupt

    def terminated(_number: int, _frame: FrameType | None) -> None:
        _abort.set()
        _end.set()
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, terminated)
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, before)
        _end.clear()
        _abort.clear()
