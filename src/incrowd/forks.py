"""Forked processes: the thread pool of polars does not survive a fork, and its calls never return.

A process that forks copies memory but no threads. Where polars has started its pool before, a call
in the child waits for threads that are not there. What works on rows asks ``refuse_lost_threads``
first, so that a child fails with a remedy instead of hanging.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

from incrowd.errors import EngineError

PROBE_SECONDS = 10.0
"""How long a call of polars that takes a millisecond may take on a busy machine."""

_POOL_THREAD = re.compile(r"polars-\d+")
_TASKS = Path("/proc/self/task")

_had_pool = False  # in the parent, when it forked
_is_lost = False
_probed: int | None = None  # the process in which polars was seen to answer


def refuse_lost_threads() -> None:
    """Raise EngineError in a forked process whose polars would wait for threads forever."""
    global _is_lost, _probed
    if not _is_lost and _probed != os.getpid() and "polars" in sys.modules:
        _is_lost = not _answers()
        _probed = os.getpid()
    if _is_lost:
        raise EngineError(
            "this process was forked after polars had started its threads, which a fork does not "
            "copy: work on rows would never end here",
            remedy="Start processes afresh: "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")), or '
            '"forkserver"; or fork before anything is anonymized or checked.',
        )


def _answers() -> bool:
    """Whether polars answers: asked on a thread of its own, which may be left waiting."""
    answered = threading.Event()

    def ask() -> None:
        import polars as pl

        pl.DataFrame({"number": [1, 2, 3, 4]}).group_by("number").len()
        answered.set()

    threading.Thread(target=ask, name="incrowd-probe", daemon=True).start()
    return answered.wait(PROBE_SECONDS)


def _note_pool() -> None:
    """Look for the pool's threads before a fork; where they cannot be listed, the child asks."""
    global _had_pool
    try:
        names = [(task / "comm").read_text(encoding="ascii") for task in _TASKS.iterdir()]
    except (OSError, UnicodeDecodeError):
        names = []
    _had_pool = any(_POOL_THREAD.fullmatch(name.strip()) for name in names)


def _note_loss() -> None:
    global _is_lost
    _is_lost = _is_lost or _had_pool


os.register_at_fork(before=_note_pool, after_in_child=_note_loss)
