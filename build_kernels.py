"""Compile the kernels when a wheel is built, so that an installation has nothing to compile.

Without a way to compile them here the wheel is a plain one, and Numba compiles on first use; so it
is with INCROWD_KERNELS=jit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    """Builds the library of kernels into the wheel, which then fits one platform and Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, unless the installation is an editable one."""
        if version == "editable" or os.environ.get("INCROWD_KERNELS") == "jit":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from incrowd.compiling.build import NO_TOOLS, main

        if main([]) == NO_TOOLS:
            self.app.display_warning("a plain wheel: Numba compiles the kernels on first use")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
