"""Memory of this process that nothing uses any more, given back to the system."""

from __future__ import annotations

import sys


def return_free_memory() -> None:
    """Give freed memory back, where the allocators of Arrow and of the C library keep it.

    Arrays of a few megabytes leave holes that later ones of another size do not fill; between the
    stages of a run that is most of what its peak would be made of. Takes milliseconds.
    """
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
        if trim is not None:
            trim(0)
