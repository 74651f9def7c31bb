"""Threads of this process: independent pieces of work side by side, and spans that are shared out.

Kernels release the GIL, so that threads run in parallel. What is done never depends on how many
threads there are or on who takes which piece: pieces do not meet, and their results are combined in
the order of the pieces.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import Condition
from typing import TYPE_CHECKING, Protocol, TypeVar

from incrowd.progress import is_abort_requested

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Piece], Result], pieces: Sequence[Piece], n_threads: int
) -> Iterator[Result]:
    """Yield ``function(piece)`` for every piece, in their order, computed on so many threads.

    One piece, or one thread, needs no other thread than the caller's. After an error or Ctrl-C
    pieces that no thread has begun are left out, and the others are waited for: a compiled loop
    cannot be interrupted.
    """
    if n_threads < 2 or len(pieces) < 2:
        yield from map(function, pieces)
        return

    def run(piece: Piece) -> Result:
        if is_abort_requested():
            raise KeyboardInterrupt
        return function(piece)

    with ThreadPoolExecutor(min(n_threads, len(pieces))) as pool:
        yield from pool.map(run, pieces)


class Team:
    """Threads that stay for many short rounds of work; none is started before one is needed."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
        """Return ``function(piece)`` for every piece, the first on the caller's own thread."""
        if len(pieces) < 2:
            return [function(piece) for piece in pieces]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads - 1)
        others = [self._pool.submit(function, piece) for piece in pieces[1:]]
        try:
            first = function(pieces[0])
        finally:
            wait(others)  # they work on what the caller holds
        return [first, *(other.result() for other in others)]

    def ranges(self, n: int, least: int) -> list[tuple[int, int]]:
        """Return ranges that cover 0 to n, one for each thread, of multiples of ``least``."""
        return ranges_of(n, self.n_threads, least)


def ranges_of(n: int, most: int, least: int = 1) -> list[tuple[int, int]]:
    """Return at most so many ranges that cover 0 to n, of about equal multiples of ``least``."""
    n_steps = -(-n // least)
    n_ranges = max(1, min(most, n_steps))
    edges = [min(n, least * (n_steps * number // n_ranges)) for number in range(n_ranges + 1)]
    return [(first, end) for first, end in pairwise(edges) if first < end]


# ── the plain stages of a run: columns and blocks side by side ──────────────────────────────────

_threads: ContextVar[int] = ContextVar("threads", default=0)


def n_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_threads(n_threads: int, n_calls: int) -> int:
    """Return how many of so many threads each call has while they run side by side."""
    return n_threads // max(1, min(n_threads, n_calls))


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let ``iter_in_threads`` within use so many threads; 0 means one per processor."""
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


def n_threads() -> int:
    """Return how many threads ``use_threads`` allows."""
    return _threads.get() or n_processors()


def map_ranges(function: Callable[[int, int], Result], n: int, least: int) -> list[Result]:
    """Return the results of ``function(first, end)`` for ranges that cover 0 to n, in order.

    There is one for each thread that ``use_threads`` allows, of a multiple of ``least``; of few
    there is one range, for which no thread is started. The results must not depend on the cuts.
    """
    ranges = ranges_of(n, n_threads(), least)
    if len(ranges) < 2:
        return [function(first, end) for first, end in ranges]
    return list(iter_in_threads(lambda one: function(*one), ranges))


def iter_in_threads(
    function: Callable[[Piece], Result], pieces: Iterable[Piece]
) -> Iterator[Result]:
    """Yield the function's result of each piece, in their order, as ``use_threads`` says.

    No more pieces are taken ahead than there are threads.
    """
    threads = n_threads()
    if threads == 1:
        yield from map(function, pieces)
        return

    def alone(piece: Piece) -> Result:
        with use_threads(1):  # a thread of the pool starts none of its own
            return function(piece)

    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for piece in pieces:
            pending.append(pool.submit(alone, piece))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


# ── spans that are cut in two again and again ───────────────────────────────────────────────────


class Stack(Protocol):
    """One thread's spans that are still to be looked at: ``spans[:counters[0]]``, the last first.

    Cutting a span puts spans within it on the stack, and touches nothing outside of it.
    """

    @property
    def spans(self) -> NDArray[np.int64]:
        """Where spans begin and end."""

    @property
    def counters(self) -> NDArray[np.int64]:
        """The number of spans first; the others are the cutter's own."""


StackT = TypeVar("StackT", bound=Stack)


def cut_spans(
    stacks: Sequence[StackT],
    cut: Callable[[StackT], bool],
    report: Callable[[], None],
    n_kept: int = 0,
) -> None:
    """Cut what is on the stacks until nothing is left, one thread for each stack.

    ``cut`` cuts some of its stack, for some milliseconds, and returns whether nothing is left (all
    may have been given away). A thread that has nothing gets the oldest span, usually the largest,
    of another's stack; ``n_kept`` newest ones stay where they are. ``report`` is called by the
    caller's thread.
    """
    if len(stacks) == 1:
        is_done = False
        while not is_done:
            report()
            is_done = cut(stacks[0])
        return
    table = _Table(len(stacks))

    def work(number: int) -> None:
        stack = stacks[number]
        is_done = stack.counters[0] == 0
        try:
            while not table.is_over and (not is_done or table.take_for(stack)):
                if number == 0:
                    report()
                is_done = cut(stack)
                if not is_done and table.n_waiting:
                    table.give_from(stack, n_kept)
            if number == 0:
                for other in others:
                    other.result()
        except BaseException:
            table.end()
            raise

    with ThreadPoolExecutor(len(stacks) - 1) as pool:
        others = [pool.submit(work, number) for number in range(1, len(stacks))]
        work(0)


class _Table:
    """Where spans change hands: threads without any wait, the others give."""

    def __init__(self, n_threads: int) -> None:
        self.n_waiting = 0
        self._n_threads = n_threads
        self._given: list[tuple[int, int]] = []
        self.is_over = False
        self._changed = Condition()

    def take_for(self, stack: Stack) -> bool:
        """Wait for a span and put it on an empty stack; return False once there will be none."""
        with self._changed:
            self.n_waiting += 1
            if self.n_waiting == self._n_threads and not self._given:
                self.is_over = True
                self._changed.notify_all()
            while not self._given and not self.is_over:
                self._changed.wait()
            if self.is_over:
                return False
            self.n_waiting -= 1
            stack.spans[0] = self._given.pop(0)
            stack.counters[0] = 1
            return True

    def give_from(self, stack: Stack, n_kept: int) -> None:
        """Give the oldest spans of a stack to those that wait, but not the ``n_kept`` newest."""
        with self._changed:
            n_spans = int(stack.counters[0])
            n_given = min(self.n_waiting - len(self._given), n_spans - n_kept)
            if n_given < 1:
                return
            self._given += [(int(first), int(end)) for first, end in stack.spans[:n_given]]
            stack.spans[: n_spans - n_given] = stack.spans[n_given:n_spans].copy()
            stack.counters[0] = n_spans - n_given
            self._changed.notify(n_given)

    def end(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self.is_over = True
            self._changed.notify_all()
