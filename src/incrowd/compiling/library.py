"""The library of kernels that was built ahead: found, verified and loaded.

It is a shared object beside this file, one per platform and version of Python, that holds one
extension module per group of kernels, with a manifest that lists for each group the sources it was
built from and the signatures it has. Machine code is used only if the sources are the same to the
byte and the processor has what the code was built for. Where one thing or the other does not fit,
there is no library, and Numba compiles.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

CHOICE = "INCROWD_KERNELS"
"""The environment variable that, if it is ``jit``, makes Numba compile everything."""

FOLDER = "built"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
MANIFEST = f"kernels{SUFFIX}.json"

NEEDS = {"x86-64-v2": ("SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT"), "generic": ()}
"""What a processor must have for machine code that was built for a name, in NumPy's words."""

log = logging.getLogger("incrowd.compiling")


@dataclass
class Library:
    """A built library; groups of kernels are verified and loaded when they are first needed."""

    manifest: dict[str, Any]
    folder: Traversable
    groups: dict[str, Any] = field(default_factory=dict)

    def find(self, kernel: str, signature: str) -> Callable[..., Any] | None:
        """Return the machine code of a kernel for a signature, if it is here and up to date."""
        group, symbols = self.manifest["kernels"].get(kernel, ("", {}))
        symbol = symbols.get(signature)
        if symbol is None:
            return None
        if group not in self.groups:
            self.groups[group] = self._load(group)
        module = self.groups[group]
        if module is None:
            return None
        run: Callable[..., Any] = getattr(module, symbol)
        return run

    def _load(self, group: str) -> Any:
        sources = self.manifest["groups"][group]
        changed = [name for name, digest in sources.items() if digest != digest_of(name)]
        if changed:
            log.info("kernels of %s are compiled anew: %s changed", group, ", ".join(changed))
            return None
        with as_file(self.folder / self.manifest["file"]) as path:
            loader = importlib.machinery.ExtensionFileLoader(f"{__package__}.{group}", str(path))
            spec = importlib.util.spec_from_loader(loader.name, loader)
            assert spec is not None
            try:
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
            except ImportError as error:
                log.info("the built kernels cannot be loaded: %s", error)
                return None
        return module


def digest_of(source: str) -> str:
    """Return the SHA-256 of a source file, named as below the package's folder."""
    try:
        return hashlib.sha256(files("incrowd").joinpath(source).read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def library() -> Library | None:
    """Return the library for this platform, version of Python and processor, if there is one."""
    if os.environ.get(CHOICE) == "jit" or sys.implementation.name != "cpython":
        return None
    folder = files(__package__) / FOLDER
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not set(NEEDS[manifest["processor"]]) <= _abilities():
        log.info("this processor is not one that the built kernels are made for")
        return None
    return Library(manifest, folder)


def _abilities() -> set[str]:
    """Return what this processor has, as NumPy found out."""
    core = importlib.import_module("numpy._core._multiarray_umath")
    features: dict[str, bool] = getattr(core, "__cpu_features__", {})
    return {name for name, is_there in features.items() if is_there}


def find(kernel: str, signature: str) -> Callable[..., Any] | None:
    """Return built machine code of a kernel for a signature, if there is some that fits."""
    found = library()
    return found.find(kernel, signature) if found else None


def library_files() -> list[Path]:
    """Return the files of the library, which is empty if there is none for this machine."""
    found = library()
    if found is None or not isinstance(found.folder, Path):
        return []
    return [found.folder / MANIFEST, found.folder / found.manifest["file"]]
