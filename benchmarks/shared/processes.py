"""Measured processes: runs run_forked off a process that has the data and the compiled loops.

Data are loaded by one process and saved. A *stem* process reads them back and compiles the loops on
few rows; every run is run_forked off it. So a run's peak memory is its own, and neither loading nor
compiling is part of its time. Whole commands run as processes that are watched with all of their
descendants, since Spark works in processes of Java and Python below them.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import psutil

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable, "-m", "benchmarks.shared.processes")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PAUSE_SECONDS = 0.2

Case = dict[str, Any]
Result = dict[str, Any]


class Data(Protocol):
    """Frozen data that state what a measurement loads."""

    def record(self, folder: Path) -> dict[str, Any]:
        """Return what results say of the data, with a hash."""


class Measurement(Protocol):
    """What a module offers whose cases are measured by ``measure_cases``."""

    def load(self, stated: dict[str, Any], folder: Path) -> Any:
        """Read or generate the stated data; the result is pickled."""

    def brief(self, case: Case) -> Case | None:
        """Return a quick case that needs the same loops; None if the case runs nothing."""

    def compile_loops(self, data: Any, brief: Case, scratch: Path) -> None:
        """Run a brief case on few rows."""

    def measure_case(self, data: Any, case: Case, scratch: Path) -> list[Result]:
        """Measure a case; usually in children of this process."""


def measure_cases(
    module: str, stated: dict[str, Any], cases: Sequence[Case], folder: Path
) -> Iterator[list[Result]]:
    """Yield the results of each case on the stated data; ``module`` is a ``Measurement``.

    Raises RuntimeError where a case has no result.
    """
    with tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch) / "data.pickle"
        _python("load", module, json.dumps(stated), str(folder), str(saved))
        n_measured = 0
        with subprocess.Popen(
            [*PYTHON, "stem", module, str(saved)],
            env=_environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as stem:
            assert stem.stdin is not None
            assert stem.stdout is not None
            stem.stdin.write(json.dumps(list(cases)))
            stem.stdin.close()
            for line in stem.stdout:
                n_measured += 1
                yield json.loads(line)
    if stem.returncode or n_measured != len(cases):
        raise RuntimeError(f"a measured run failed: {cases[min(n_measured, len(cases) - 1)]}")


def task_of(module: str, data: Data, cases: Sequence[Case]) -> Callable[[Path], list[Result]]:
    """Return the task that measures cases on some data; results say what these were."""

    def task(folder: Path) -> list[Result]:
        record = data.record(folder)
        answers = measure_cases(module, vars(data), cases, folder)
        return [
            {"data": record, **case, **result}
            for case, results in zip(cases, answers, strict=True)
            for result in results
        ]

    return task


def call_apart(module: str, *words: str, **variables: str) -> Any:
    """Call a module's ``main`` with words in a process of its own; return its result."""
    return json.loads(_python("call", module, *words, **variables))


def _python(*words: str, **variables: str) -> str:
    finished = subprocess.run(
        [*PYTHON, *words],
        env=_environment(variables),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return finished.stdout


def _environment(variables: dict[str, str]) -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


def measure_loaded(
    measurement: Measurement, data: Any, cases: Sequence[Case], scratch: Path
) -> Any:
    """Yield the results of each case in this process and its children, loops compiled first."""
    compiled: dict[str, float] = {}
    for case in cases:
        brief, compile_seconds = measurement.brief(case), {}
        if brief is not None:
            kind = json.dumps(brief)
            if kind not in compiled:
                started = time.perf_counter()
                measurement.compile_loops(data, brief, scratch)
                compiled[kind] = round(time.perf_counter() - started, 3)
            compile_seconds = {"compile_seconds": compiled[kind]}
        results = measurement.measure_case(data, case, scratch)
        yield [{**result, **compile_seconds} for result in results]


def _main(command: str, module: str, *words: str) -> None:
    if command == "call":
        print(json.dumps(import_module(module).main(*words)))
        return
    measurement = cast(Measurement, import_module(module))
    if command == "load":
        stated, folder, saved = words
        with Path(saved).open("wb") as file:
            pickle.dump(measurement.load(json.loads(stated), Path(folder)), file, protocol=5)
        return
    path = Path(words[0])
    with path.open("rb") as file:  # our own, of this run's private folder
        data = pickle.load(file)
    for results in measure_loaded(measurement, data, json.load(sys.stdin), path.parent):
        print(json.dumps(results), flush=True)


def least_cpu_time(task: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least CPU time of several runs of a task, and its result."""
    least = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        result = task()
        least = min(least, time.process_time() - started)
    return round(least, 4), result


# ── children of a process ───────────────────────────────────────────────────────────────────────


def run_forked(task: Callable[[], Result]) -> Result:
    """Run a task in a child of this process; return its result."""
    return _fork(task)[0]


def measure_forked(task: Callable[[], Result]) -> Result:
    """Run a task in a child; return its result with the child's peak memory and CPU time."""
    result, usage = _fork(task)
    return {
        **result,
        "peak_memory_bytes": _rss_bytes(usage),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
    }


def _rss_bytes(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _fork(task: Callable[[], Result]) -> tuple[Result, resource.struct_rusage]:
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(readable)
            with os.fdopen(writable, "w") as pipe:
                json.dump(task(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"the measured run ended with status {status}")
    return json.loads(text), usage


# ── whole commands ──────────────────────────────────────────────────────────────────────────────


class Watch(threading.Thread):
    """Follows processes and their descendants; CPU time from before the watch does not count.

    The memory of all of them is added up many times a second; pages that several share are counted
    for each, so a peak is never too low by that. ``worker_memory_bytes`` is of the largest Python
    below the first process: a Spark worker that holds a partition.
    """

    def __init__(self, roots: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self._roots = [psutil.Process(root) for root in roots]
        self._before = {process: seconds for process, seconds, _, _ in self._accounts()}
        self._last: dict[psutil.Process, float] = {}
        self._is_over = threading.Event()
        self.peak_memory_bytes = self.worker_memory_bytes = self.n_processes = 0

    def _accounts(self) -> list[tuple[psutil.Process, float, int, str]]:
        """Return each process with its CPU seconds, memory and name."""
        found: dict[psutil.Process, tuple[float, int, str]] = {}
        for root in self._roots:
            try:
                processes = [root, *root.children(recursive=True)]
            except psutil.Error:  # it has ended
                continue
            for process in processes:
                try:
                    with process.oneshot():
                        times, memory = process.cpu_times(), process.memory_info().rss
                        found[process] = (times.user + times.system, memory, process.name())
                except psutil.Error:
                    continue
        return [(process, *account) for process, account in found.items()]

    def look(self) -> None:
        """Take all accounts once."""
        accounts = self._accounts()
        held = sum(memory for _, _, memory, _ in accounts)
        self.peak_memory_bytes = max(self.peak_memory_bytes, held)
        self.n_processes = max(self.n_processes, len(accounts))
        for process, seconds, memory, name in accounts:
            self._last[process] = seconds
            if name.startswith("python") and process != self._roots[0]:
                self.worker_memory_bytes = max(self.worker_memory_bytes, memory)

    def run(self) -> None:
        """Look until the watch is ended."""
        while not self._is_over.wait(PAUSE_SECONDS):
            self.look()

    def end(self) -> None:
        """Stop looking."""
        self._is_over.set()
        self.join()

    @property
    def cpu_seconds(self) -> float:
        """The time that all of them have taken since the watch began."""
        return sum(last - self._before.get(process, 0.0) for process, last in self._last.items())


def run_watched(
    words: Sequence[str], out: Path, errors: Path, others: Sequence[int] = (), **variables: str
) -> Result:
    """Run a command to its end; return what it, its descendants and those of ``others`` took.

    Its output goes to ``out`` and its messages to ``errors``. Raises RuntimeError with the last
    of them where it fails.
    """
    started, busy = time.perf_counter(), _busy_seconds()
    with out.open("wb") as sink, errors.open("wb") as messages:
        child = subprocess.Popen(
            list(words), stdout=sink, stderr=messages, env={**os.environ, **variables}
        )
    watch = Watch([child.pid, *others])
    watch.start()
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        child.kill()  # whoever interrupts the measurement has no use for the run
        raise
    finally:
        watch.end()
    seconds, busy = time.perf_counter() - started, _busy_seconds() - busy
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = errors.read_text("utf-8", "replace")[-1_500:]
        raise RuntimeError(f"a measured run ended with status {child.returncode}:\n{last}")
    # Of one process the kernel's own figures are exact; of many they miss those of other parents.
    own = max(watch.cpu_seconds, usage.ru_utime + usage.ru_stime)
    # Its figure of memory begins with what this process held when it started the command.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = _rss_bytes(usage) if usage.ru_maxrss > before else 0
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(own, 2),
        "others_cpu_seconds": round(max(0.0, busy - own), 2),
        "peak_memory_bytes": max(watch.peak_memory_bytes, peak),
        "worker_memory_bytes": watch.worker_memory_bytes,
        "n_processes": watch.n_processes,
    }


def _busy_seconds() -> float:
    """Return the time that all processors have worked, without waiting."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.get(name, 0.0) for name in ("user", "nice", "system", "irq", "softirq")))


if __name__ == "__main__":
    _main(*sys.argv[1:])
