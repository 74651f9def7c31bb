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

_compile = cast(Any, njit)  # Numba's stubs do not know all of its options


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls."""
    return cast(Function, _compile(cache=True, nogil=True, no_cfunc_wrapper=True)(function))


def compiled_inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call: no door from Python, so half the time."""
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return cast(Function, _compile(**options)(function))
