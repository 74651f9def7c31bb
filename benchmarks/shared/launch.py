"""Run a command and print what it took: ``launch.py USER OUT ERR COMMAND…``.

A script of the standard library that runs in an interpreter of its own. A process's peak memory
begins with what the process that started it held, so the starter must be small. ``USER`` is the
number of the user who runs the command, or ``-`` for whoever runs the script.
"""

import json
import os
import resource
import sys
import time


def main(user: str, out: str, errors: str, *words: str) -> None:
    """Run the command to its end; print its status, time and peak memory as JSON."""
    if user != "-":
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, errors, flags, 0o600),
    ]
    started = time.perf_counter()
    child = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
    usage: resource.struct_rusage  # imported before the user changes: wait4 needs it
    _, status, usage = os.wait4(child, 0)
    taken = {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
        "peak_memory_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    print(json.dumps(taken))


if __name__ == "__main__":
    main(*sys.argv[1:])
