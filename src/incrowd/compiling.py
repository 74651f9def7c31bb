"""How kernels are compiled: cached on disk, without the GIL, with exact arithmetic."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

Whole: TypeAlias = Any
"""A whole number in a kernel: an int outside, an int64 within."""

Flag: TypeAlias = Any
"""Yes or no in a kernel: a bool outside, a one-bit number within."""


PAUSE, MOST_WAIT_SECONDS = 0.02, 120.0
"""How often a process asks whether it is its turn to compile, and how long it does."""


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls."""
    return _compile(function, no_cfunc_wrapper=True)


def compiled_inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call: no door from Python, so half the time."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def compiled_into_callers(function: Function) -> Function:
    """Compile a small kernel that becomes part of every kernel that calls it."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compile(function: Function, **options: bool) -> Function:
    compile_with = cast(Any, njit)  # Numba's stubs do not know all of its options
    try:
        kept = compile_with(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder that may be written to: compile anew in every process
        kept = compile_with(nogil=True, **options)(function)
        return cast(Function, kept)
    _compile_in_turn(kept, f"{function.__module__}.{function.__qualname__}")
    return cast(Function, kept)


def _compile_in_turn(kept: Any, name: str) -> None:
    """Have one process compile a kernel while others wait for it, and then load what it kept.

    Workers that start together would all compile the same kernels at the same time. Turns follow
    the calls of kernels, which have no cycles, so nobody waits for somebody who waits for them.
    """
    if not hasattr(kept, "compile"):  # Numba is told to compile nothing
        return
    compile_now = kept.compile

    def compile_in_turn(signature: Any) -> Any:
        with _turn(Path(kept.stats.cache_path) / f"{name}.turn"):
            return compile_now(signature)

    kept.compile = compile_in_turn


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold a file's lock, which ends with the process; after a while go on without it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield
        return
    try:
        for _ in range(round(MOST_WAIT_SECONDS / PAUSE)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)
