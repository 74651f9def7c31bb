"""Kernels compiled by Numba on first use: cached on disk, without the GIL, with exact arithmetic.

A first run compiles, which takes up to a minute: it is announced, and its progress is reported.
Where neither the installation nor the user's home is writable, what was compiled is kept in a
private folder of the temporary files.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

from numba import config, njit
from numba.core import event

from incrowd.compiling.kernel import KERNELS
from incrowd.compiling.library import library
from incrowd.progress import COMPILING, FEW_KERNELS, current_compilation

PAUSE, MOST_WAIT_SECONDS = 0.02, 120.0
"""Seconds between two attempts to take the compile lock, and seconds until a process gives up."""


SECONDS_PER_KERNEL = 0.5
"""About how long one kernel takes to compile on one core."""

log = logging.getLogger("incrowd.compiling")


def make_dispatcher(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    """Return Numba's function that compiles a kernel on its first call and keeps it on disk."""
    compile_with = cast(Any, njit)  # Numba's stubs do not know all of its options
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    try:
        kept = compile_with(cache=True, **options)(function)
    except RuntimeError:  # neither the installation nor the user's home is writable
        is_in_file = Path(function.__code__.co_filename).exists()
        folder = _temporary_cache() if is_in_file else None
        if folder is None:  # compile anew in every process
            return compile_with(**options)(function)
        with _cached_in(folder):
            kept = compile_with(cache=True, **options)(function)
    _compile_in_turn(kept, f"{function.__module__}.{function.__qualname__}")
    return kept


# Where compiled code is kept if nothing else is writable.


@cache
def _temporary_cache() -> Path | None:
    """Return a folder of the temporary files that only this user can read and write; say so once.

    Code is run from it: a folder that somebody else made or may write to is never used, and then
    there is none.
    """
    user = os.getuid()
    folder = Path(tempfile.gettempdir()) / f"incrowd-kernels-{user}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        is_private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        is_usable = is_private and found.st_uid == user and os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        is_usable = False
    if not is_usable:
        log.warning(
            "no folder for compiled kernels is writable, so that every process compiles anew; "
            "set NUMBA_CACHE_DIR to a folder of your own"
        )
        return None
    log.warning(
        "compiled kernels are kept in %s, since neither the installation nor the home folder is "
        "writable; set NUMBA_CACHE_DIR to keep them elsewhere",
        folder,
    )
    return folder


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Let kernels that are decorated meanwhile be cached in a folder, and nobody else's."""
    settings = cast(Any, config)
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


# Telling that kernels are compiled.


class _Announcer(event.Listener):
    """Tells of kernels of ours that are compiled, and not of those that are loaded from a cache."""

    def __init__(self) -> None:
        self.n_done, self.n_expected, self.title = 0, 0, ""
        self.lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        """A kernel is not in the cache: announce it if it is the first."""
        if not _is_ours(event):
            return
        target = current_compilation()
        with self.lock:
            is_first = not self.title
            if is_first:
                self.n_expected = _expected(target.n_expected)
                seconds = max(1, round(SECONDS_PER_KERNEL * self.n_expected))
                self.title = f"{COMPILING} (first run only, about {seconds} s)"
        if is_first:
            log.info("%s", self.title)
        target.progress(self.title, self.n_done, max(self.n_expected, self.n_done + 1))

    def on_end(self, event: Any) -> None:
        """A kernel was compiled."""
        if not _is_ours(event):
            return
        with self.lock:
            self.n_done += 1
        total = max(self.n_expected, self.n_done)
        current_compilation().progress(self.title, self.n_done, total)


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("incrowd.")


def _expected(n_kernels: int) -> int:
    """Return how many of a method's kernels are to be compiled, going by what is there already."""
    if library() is not None:  # it lacks one signature, and what that calls
        return min(n_kernels, FEW_KERNELS)
    missing = sum(not _is_cached(kernel.dispatcher) for kernel in list(KERNELS.values()))
    return max(1, round(n_kernels * missing / len(KERNELS)))


def _is_cached(dispatcher: Any) -> bool:
    """Whether an earlier run compiled a kernel, as Numba's index of its cache says."""
    try:
        return bool(dispatcher._cache._cache_file._load_index())
    except (AttributeError, OSError):  # not cached at all, or kept by another version of Numba
        return False


cast(Any, event).register("numba:compile", _Announcer())


# One process compiles, the others wait.


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
