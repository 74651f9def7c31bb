"""Decorators that compile kernels: cached on disk, without the GIL, with exact arithmetic."""

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
"""Seconds between two attempts to take the compile lock, and seconds until a process gives up."""


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls."""
    return _compile(function, no_cfunc_wrapper=True)


def compiled_inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call: without a Python wrapper, in half the time."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def compiled_into_callers(function: Function) -> Function:
    """Compile a small kernel that is inlined into every kernel that calls it."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compile(function: Function, **options: bool) -> Function:
    compile_with = cast(Any, njit)  # Numba's stubs do not know all of its options
    try:
        kept = compile_with(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no writable cache folder: compile anew in every process
        kept = compile_with(nogil=True, **options)(function)
        return cast(Function, kept)
    _compile_in_turn(kept, f"{function.__module__}.{function.__qualname__}")
    return cast(Function, kept)


def _compile_in_turn(kept: Any, name: str) -> None:
    """Let one process compile a kernel while others wait, and then load it from the cache.

    Workers that start together would all compile the same kernels at the same time. Locks are
    taken in the order of kernel calls, which have no cycles, so there is no deadlock.
    """
    if not hasattr(kept, "compile"):  # NUMBA_DISABLE_JIT is set
        return
    compile_now = kept.compile

    def compile_in_turn(signature: Any) -> Any:
        with _turn(Path(kept.stats.cache_path) / f"{name}.turn"):
            return compile_now(signature)

    kept.compile = compile_in_turn


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold a file lock, which ends with the process; continue without it after a while."""
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
