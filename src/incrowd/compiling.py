"""How kernels are compiled: cached on disk, without the GIL, with exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

Whole: TypeAlias = Any
"""A whole number in a kernel: an int outside, an int64 within."""

Flag: TypeAlias = Any
"""Yes or no in a kernel: a bool outside, a one-bit number within."""


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls."""
    return _compiled(function, no_cfunc_wrapper=True)


def compiled_inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call: no door from Python, so half the time."""
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def compiled_into_callers(function: Function) -> Function:
    """Compile a small kernel that becomes part of every kernel that calls it."""
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compiled(function: Function, **options: bool) -> Function:
    compile_with = cast(Any, njit)  # Numba's stubs do not know all of its options
    try:
        kept = compile_with(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder that may be written to: compile anew in every process
        kept = compile_with(nogil=True, **options)(function)
    return cast(Function, kept)
