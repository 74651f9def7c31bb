"""Block functions that kill the process they run in, to see whether the work survives it.

A kill is real: SIGKILL to the Python worker itself, or to the Java executor above it. It happens
once, while the function runs: whoever makes the marker file first does it.
"""

import functools


def killing_once(function, marker, what="worker"):
    """Return the block function; of all its calls, on all workers, one kills worker or executor."""
    marker = str(marker)

    def run(block):
        import os
        import signal
        import time
        from pathlib import Path

        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(block)
        victim = os.getpid()
        while what == "executor":
            status = Path(f"/proc/{victim}/stat").read_text(encoding="utf-8")
            victim = int(status.rpartition(")")[2].split()[1])
            command = Path(f"/proc/{victim}/cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command:
                break
            if victim <= 1:
                raise RuntimeError("no executor is above this worker")
        os.kill(victim, signal.SIGKILL)
        time.sleep(100)
        raise RuntimeError("the killed process lives")

    return run


def dying(block):  # noqa: ARG001
    """Die, whenever and wherever it is called."""
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


class KillingEngine:
    """An engine of which the first mapped block or group loses its worker or executor.

    Everything else is the engine's own. ``marker`` exists once it has happened.
    """

    def __init__(self, engine, marker, what="worker"):
        self._engine = engine
        self._wrap = functools.partial(killing_once, marker=marker, what=what)

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def map_blocks(self, blocks, function, schema):
        return self._engine.map_blocks(blocks, self._wrap(function), schema)

    def map_groups(self, blocks, key, function, schema):
        return self._engine.map_groups(blocks, key, self._wrap(function), schema)
