"""Measured runs of adaptive anonymity: time, peak memory and what is shown, one process each.

A run leaves its masks in a file, and two more children look at them: one recounts the crowds of
some rows by brute force (a run in which somebody is short does not count), one asks the audit what
an attacker believes, where a case wants that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.data import WishedTable, few
from benchmarks.shared import processes
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.processes import Case, measure_forked, run_forked
from incrowd.engines.base import Engine
from incrowd.engines.choice import EngineChoice, make_engine
from incrowd.errors import InputError
from incrowd.guarantees.adaptive.check import LITERAL, MUTUAL, POSTERIOR
from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.guarantees.evidence import Evidence
from incrowd.hierarchies.tree import STAR
from incrowd.methods.adaptive import cover, partition, sweeps
from incrowd.methods.adaptive.search import Found, Problem
from incrowd.threads import use_threads

N_RECOUNTED = 60
"""How many rows' crowds are recounted after every run."""


def task_of(wished: WishedTable, cases: Sequence[Case]) -> Task:
    """Return the task that measures cases on one table, one after the other.

    ``steps`` of a case are searches with their settings, one after the other, such as
    ``[["cover", {"cover": "mce"}], ["sweeps", {"n_sweeps": 3}]]``; it may have ``threads`` and
    ``is_audited``.
    """
    return processes.task_of("benchmarks.adaptive.runs", wished, cases)


class Watch:
    """Keeps what a search tells of its progress, with the clock's and the cores' seconds."""

    def __init__(self) -> None:
        self._started = (time.perf_counter(), time.process_time())
        self.reports: list[tuple[str, float | None, float, float]] = []

    def __call__(self, stage: str, _: int, __: int, loss: float | None = None, /) -> None:
        """Take one report."""
        seconds = time.perf_counter() - self._started[0]
        cpu_seconds = time.process_time() - self._started[1]
        self.reports.append((stage, loss, seconds, cpu_seconds))


def iterations(watch: Watch) -> list[Measured]:
    """Return the cover's iterations: the best share shown so far, and how long each took."""
    found: list[dict[str, Any]] = []
    last = (0.0, 0.0)
    for stage, loss, seconds, cpu_seconds in watch.reports:
        if stage.startswith("cover, iteration") and loss is not None:
            found.append(
                {
                    "shown": round(1.0 - loss, 6),
                    "seconds": round(seconds - last[0], 3),
                    "cpu_seconds": round(cpu_seconds - last[1], 3),
                }
            )
            last = (seconds, cpu_seconds)
    return found


def search(problem: Problem, case: Case, progress: Any) -> Found:
    """Run a case's steps in this process."""
    threads = case.get("threads", 1)
    with (
        use_threads(threads),
        closing(make_engine(EngineChoice(case.get("engine", "local"), threads))) as engine,
    ):
        return _search(problem, case, engine, progress)


def _search(problem: Problem, case: Case, engine: Engine, progress: Any) -> Found:
    found = Found(np.zeros((problem.n_rows, problem.n_cells), dtype=np.bool_))
    for name, settings in case["steps"]:
        if name == "cover":
            found = cover.search(problem, engine=engine, progress=progress, **settings)
        elif name == "partition":
            found = partition.search(problem, seed=0, engine=engine, progress=progress, **settings)
        else:
            found = sweeps.improve(problem, found.is_masked, seed=0, progress=progress, **settings)
    return found


def measure(problem: Problem, case: Case, target: Path | None = None) -> Measured:
    """Measure one case in this process; its masks are written to ``target``."""
    watch = Watch()
    started = time.perf_counter()
    found = search(problem, case, watch)
    seconds = time.perf_counter() - started
    if target is not None:
        np.save(target, np.packbits(found.is_masked, axis=1))
    return {
        "n_rows": problem.n_rows,
        "n_cells": problem.n_cells,
        "shown": round(found.shown, 6),
        "seconds": round(seconds, 3),
        "load": round(os.getloadavg()[0], 1),
        "figures": {
            name: figure
            for name, figure in found.figures.items()
            if isinstance(figure, int | float | str)
        },
        "iterations": iterations(watch),
    }


# ── looking at what was found ───────────────────────────────────────────────────────────────────


def mutual_crowds(
    problem: Problem, is_masked: NDArray[np.bool_], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count each given row's mutual crowd, itself included, by comparing it with every row."""
    first = problem.first_cell[:-1].tolist()
    counts = np.empty(len(rows), dtype=np.int64)
    everybody = np.arange(problem.n_rows)
    for place, person in enumerate(rows.tolist()):
        is_mutual = np.ones(problem.n_rows, dtype=np.bool_)
        for attribute, begins in enumerate(first):
            codes = problem.codes[attribute]
            own = int(codes[person])
            is_unlike = codes != own
            cells = begins + codes if problem.is_bit else np.full_like(codes, begins)
            own_cell = begins + own if problem.is_bit else begins
            is_hidden = is_masked[everybody, cells] & is_masked[:, own_cell]  # in their rows
            is_hidden &= is_masked[person, cells] & is_masked[person, own_cell]  # in one's own
            is_mutual &= ~is_unlike | is_hidden
        counts[place] = is_mutual.sum()
    return counts


def recount(problem: Problem, is_masked: NDArray[np.bool_]) -> Measured:
    """Recount the crowds of some rows, drawn evenly; raise where somebody is short."""
    rows = np.unique(np.linspace(0, problem.n_rows - 1, N_RECOUNTED).astype(np.int64))
    n_short = int((mutual_crowds(problem, is_masked, rows) < problem.k[rows]).sum())
    if n_short:
        raise RuntimeError(f"{n_short} of {len(rows)} recounted rows lack their crowd")
    return {"n_recounted": len(rows)}


def audit_belief(problem: Problem, is_masked: NDArray[np.bool_]) -> Measured:
    """Return what the audit says of belief, with its promise as compatibility.

    Raises where it finds somebody without their crowd.
    """
    started = time.perf_counter()
    guarantee = AdaptiveAnonymity(k_column="k", posterior="report")
    try:
        found = {item.name: item for item in guarantee.check(evidence_of(problem, is_masked))}
    except InputError as error:
        return {"outcome": error.what, "seconds": round(time.perf_counter() - started, 2)}
    if any(found[name].figures["n_short"] for name in (LITERAL, MUTUAL)):
        raise RuntimeError("the audit found people without their crowd")
    posterior = found[POSTERIOR]
    beliefs = {name: posterior.figures[name] for name in BELIEFS if name in posterior.figures}
    return {**beliefs, "seconds": round(time.perf_counter() - started, 2)}


BELIEFS = (
    "n_over",
    "n_sampled",
    "n_over_at_least",
    "n_over_at_most",
    "worst_p_times_k",
    "sum_p",
    "sum_1_over_k",
    "n_certified",
    "n_exact",
    "n_estimated",
    "n_close_estimates",
)
"""Which figures of the audit are kept; ``n_sampled`` where pairs were too many to keep."""


def evidence_of(problem: Problem, is_masked: NDArray[np.bool_]) -> Evidence:
    """Return the release as the audit reads it, beside what it was made of."""
    import pyarrow as pa

    n_values = np.repeat(2, problem.n_cells) if problem.is_bit else problem.n_values
    names = tuple(str(cell) for cell in range(problem.n_cells))
    before, after = {}, {}
    for cell, name in enumerate(names):
        n_texts = int(n_values[cell])
        texts = [str(value) for value in range(n_texts)]
        codes = cells_of(problem, cell)
        shown = np.where(is_masked[:, cell], np.int32(n_texts), codes)
        before[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts))
        after[name] = pa.DictionaryArray.from_arrays(pa.array(shown), pa.array([*texts, STAR]))
    released = pa.table({**after, "k": pa.array(problem.k)})
    evidence = Evidence.from_table(released, names, k_column="k")
    return replace(evidence, original=pa.table(before))


def cells_of(problem: Problem, cell: int) -> NDArray[np.int32]:
    """Return a cell's codes, row by row: those of an attribute, or of a bit."""
    if not problem.is_bit:
        return np.asarray(problem.codes[cell], dtype=np.int32)
    attribute = int(np.searchsorted(problem.first_cell, cell, side="right")) - 1
    value = cell - int(problem.first_cell[attribute])
    return np.asarray(problem.codes[attribute] == value, dtype=np.int32)


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def load(stated: dict[str, Any], folder: Path) -> Problem:
    """Read or draw a table."""
    return WishedTable(**stated).problem(folder)


def brief(case: Case) -> Case:
    """Return a case that needs the same loops."""
    return {"steps": case["steps"], "threads": 1}


def compile_loops(problem: Problem, brief: Case, _: Path) -> None:
    """Search a few rows."""
    search(few(problem), brief, Watch())


def measure_case(problem: Problem, case: Case, scratch: Path) -> list[Measured]:
    """Measure one case in a child, and let others look at its masks."""
    base = measure_forked(dict)["peak_memory_bytes"]
    masks = scratch / "masks.npy"
    result = measure_forked(partial(measure, problem, case, masks))
    result["base_memory_bytes"] = base
    result |= run_forked(partial(look_at, recount, problem, masks))
    if case.get("is_audited"):
        result["posterior"] = run_forked(partial(look_at, audit_belief, problem, masks))
    return [result]


def look_at(
    look: Callable[[Problem, NDArray[np.bool_]], Measured], problem: Problem, masks: Path
) -> Measured:
    """Look at the masks that a run left in a file."""
    packed = np.load(masks)
    is_masked = np.unpackbits(packed, axis=1, count=problem.n_cells).astype(np.bool_)
    return look(problem, is_masked)
