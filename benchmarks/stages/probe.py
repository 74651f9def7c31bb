"""Run incrowd and write down what each stage took: ``probe.py OUT.json COMMAND…``.

It works with any checkout on ``PYTHONPATH`` whose flow has stages. The file is written anew at the
end of every stage, since a command may leave without the interpreter's clean-up.
"""

import json
import resource
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()


class Record:
    """CPU seconds, seconds and peak memory of stages, in the order in which they begin."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stages: dict[str, dict[str, float]] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what happens within; what came before the first stage is the start."""
        cpu, clock = cpu_seconds(), time.perf_counter()
        if not self.stages:
            self.keep("start", cpu, clock - STARTED)
        self.stages[name] = {}
        yield
        self.keep(name, cpu_seconds() - cpu, time.perf_counter() - clock)

    def keep(self, name: str, cpu: float, seconds: float) -> None:
        """Write a stage down."""
        self.stages[name] = {"cpu_seconds": cpu, "seconds": seconds}
        self.path.write_text(json.dumps(self.stages), encoding="utf-8")

    def measured(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as a stage."""

        def call(*given: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*given, **named)

        return call


def cpu_seconds() -> float:
    """Return the CPU time of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def watch_run(record: Record) -> None:
    """Measure the stages of a run; the audit's first step, reading the release back, apart."""
    from incrowd.flow import adapter, tables

    stage = adapter.Stages.__call__

    @contextmanager
    def measured(self: Any, name: str) -> Iterator[None]:
        with record.stage(name), stage(self, name):
            yield

    adapter.Stages.__call__ = measured  # type: ignore[method-assign]
    reread = record.measured("re-read", tables.TableFile.reread)
    tables.TableFile.reread = reread  # type: ignore[method-assign]


def watch_check(record: Record) -> None:
    """Measure the two stages of a check."""
    from incrowd.checking import tables

    for stage, name in (("read", "load_table"), ("audit", "examine")):
        setattr(tables, name, record.measured(stage, getattr(tables, name)))


if __name__ == "__main__":
    out, command = Path(sys.argv[1]), sys.argv[2]
    from incrowd import cli

    if hasattr(cli, "_prepare_packages"):  # before anything is imported, as a command does
        cli._prepare_packages(sys.argv[2:])
    watch = {"run": watch_run, "check": watch_check}
    watch[command](Record(out))
    sys.argv = ["incrowd", *sys.argv[2:]]
    runpy.run_module("incrowd", run_name="__main__")
