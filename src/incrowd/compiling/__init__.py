"""Decorators for kernels: loops over arrays that run as machine code, without the GIL.

A kernel's machine code comes from the library that was built with the package (``library.py``,
``build.py``); where there is none, or it does not fit the machine, the sources or the arguments,
Numba compiles on first use (``jit.py``). Numba is imported only then. Both give the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from incrowd.compiling.kernel import KERNELS, Kernel

Function = TypeVar("Function", bound=Callable[..., Any])

Whole: TypeAlias = Any
"""A whole number in a kernel: an int outside, an int64 within."""

Flag: TypeAlias = Any
"""Yes or no in a kernel: a bool outside, a one-bit number within."""


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls."""
    return cast(Function, Kernel(function, {}))


def compiled_inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call: without a Python wrapper, in half the time."""
    return cast(Function, Kernel(function, {"no_cpython_wrapper": True}))


def compiled_into_callers(function: Function) -> Function:
    """Compile a small kernel that is inlined into every kernel that calls it."""
    return cast(Function, Kernel(function, {"no_cpython_wrapper": True, "forceinline": True}))


def kernels_used() -> str:
    """Return where the machine code of the kernels that ran so far in this process came from."""
    sources = {kernel.source for kernel in KERNELS.values()} - {""}
    return " and ".join(sorted(sources)) or "none"
