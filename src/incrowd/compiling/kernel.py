"""A kernel: which machine code runs for which arguments."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable
from functools import cached_property, update_wrapper
from operator import is_
from typing import Any

import numpy as np

from incrowd.compiling import library
from incrowd.compiling.signatures import describe, record

_LAYOUT = 0x503
"""NumPy's flags that matter to machine code: contiguous (two orders), aligned, writeable."""

BUILT, COMPILED = "built ahead", "compiled by Numba"

KERNELS: dict[str, Kernel] = {}
"""The kernels of the modules that were imported so far, by ``module:name``."""


class Kernel:
    """A function over arrays that runs as machine code, chosen by the types of its arguments.

    Machine code is looked up once for each combination of types, in the library first. A kernel
    writes only to arrays that may be written to: of others it gets copies.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.options = options
        self.n_parameters = function.__code__.co_argcount
        self.source = ""
        """Where the machine code came from that was found last."""
        self._runs: dict[tuple[Hashable, ...], Callable[..., Any]] = {}
        KERNELS[self.name] = self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the machine code for these arguments."""
        if named or len(arguments) != self.n_parameters:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        kinds = tuple(map(_kind, arguments))
        run = self._runs.get(kinds) or self._find(kinds, arguments)
        return run(*arguments)

    def _find(self, kinds: tuple[Hashable, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
        if _writable(arguments) is not arguments:
            # one machine code for both; what somebody else may not change is never changed
            run: Callable[..., Any] = self._run_on_copies
        else:
            signature = describe(arguments)
            record(self.name, signature)
            built = library.find(self.name, signature)
            self.source = COMPILED if built is None else BUILT
            run = self.dispatcher if built is None else built
        self._runs[kinds] = run
        return run

    def _run_on_copies(self, *arguments: Any) -> Any:
        return self(*_writable(arguments))

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's function, which compiles for the types that it is called with."""
        with _MAKING:  # threads may get here together
            made = self.__dict__.get("dispatcher")
            if made is None:
                from incrowd.compiling.jit import make_dispatcher

                made = self.__dict__["dispatcher"] = make_dispatcher(self.py_func, self.options)
            return made

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this for where another kernel calls it."""
        return self.dispatcher._numba_type_

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _kernel_at, (self.py_func.__module__, self.py_func.__qualname__)


_MAKING = threading.RLock()


def _kind(value: Any) -> Any:
    """Return what tells values apart that need different machine code, and little more."""
    kind = type(value)
    if kind is np.ndarray:
        return (value.dtype, value.ndim, value.flags.num & _LAYOUT)
    if isinstance(value, tuple):
        return (kind, *map(_kind, value))
    return kind


def _writable(value: Any) -> Any:
    """Return a value with copies of its arrays that are read-only; the value itself if none is."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, tuple):
        parts = tuple(map(_writable, value))
        if all(map(is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return value


def _kernel_at(module: str, name: str) -> Kernel:
    import importlib

    kernel: Kernel = getattr(importlib.import_module(module), name)
    return kernel
