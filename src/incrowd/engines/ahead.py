"""Calls on threads, few at a time: results come in the order in which the work was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")

MOST_UNDER_WAY = 1024
"""How many calls may wait for a thread, however small they are."""


def ahead(
    call: Callable[[Given], Result],
    work: Iterable[Given],
    threads: int,
    size_of: Callable[[Given], int] = lambda _: 1,
    room: int = 0,
) -> Generator[Result, None, None]:
    """Call a function with each piece of work on threads, and yield what it returns, in order.

    As many pieces are under way as there are threads, or more while their sizes together are
    within ``room``. After an error, Ctrl-C or ``close`` no further one begins; those under way
    are waited for, since a compiled loop cannot be stopped half-way.
    """
    if threads == 1:
        yield from map(call, work)
        return
    under_way: deque[tuple[Future[Result], int]] = deque()
    total = 0
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in work:
                size = size_of(piece)
                while len(under_way) >= threads and (
                    total + size > room or len(under_way) >= MOST_UNDER_WAY
                ):
                    future, size_before = under_way.popleft()
                    total -= size_before
                    yield future.result()
                    del future
                under_way.append((pool.submit(call, piece), size))
                total += size
                del piece
            while under_way:
                yield under_way.popleft()[0].result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
