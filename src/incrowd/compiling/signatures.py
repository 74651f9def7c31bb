"""Types of arguments as text, and the list of those that the library has machine code for.

A signature reads like Python: ``int64[::1], float64[:, ::1], int64``. An array shows its type, and
a ``1`` where neighbours lie side by side. Tuples stand in parentheses, named ones after their
``module.Class``.

``signatures.json`` holds the list. A process appends each kernel and signature that it meets to a
file in the folder named by INCROWD_RECORD_KERNELS, which is how the tests find what is missing.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

LIST = Path(__file__).with_name("signatures.json")
RECORD = "INCROWD_RECORD_KERNELS"


def describe(arguments: Iterable[Any]) -> str:
    """Return the types of arguments as text; what no library can take has a ``?`` in it."""
    return ", ".join(map(_describe, arguments))


def _describe(value: Any) -> str:
    kind = type(value)
    if kind is np.ndarray:
        return _describe_array(value)
    if kind is bool or kind is np.bool_:
        return "bool"
    if kind is int:
        return "int64" if -(2**63) <= value < 2**63 else "?"
    if kind is float:
        return "float64"
    if value is None:
        return "none"
    if isinstance(value, np.number):
        return str(value.dtype)
    if kind is tuple:
        return f"({', '.join(map(_describe, value))},)"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{kind.__module__}.{kind.__qualname__}({', '.join(map(_describe, value))})"
    return "?"


def _describe_array(array: np.ndarray[Any, Any]) -> str:
    flags, dtype = array.flags, array.dtype
    if not (dtype.isnative and flags.aligned and dtype.kind in "biuf"):
        return "?"
    strides = [":"] * array.ndim
    if array.ndim and flags.c_contiguous:
        strides[-1] = "::1"
    elif array.ndim and flags.f_contiguous:
        strides[0] = "::1"
    return f"{dtype.name}[{', '.join(strides)}]"


def examples(signature: str) -> tuple[Any, ...]:
    """Return arguments that have a signature: the inverse of :func:`describe`."""
    return tuple(map(_example, ast.parse(f"[{signature}]", mode="eval").body.elts))  # type: ignore[attr-defined]


def _example(node: ast.expr) -> Any:
    match node:
        case ast.Name(id="none"):
            return None
        case ast.Name(id="bool"):
            return False
        case ast.Name(id=name):
            return np.dtype(name).type(0)
        case ast.Tuple(elts=parts):
            return tuple(map(_example, parts))
        case ast.Subscript():
            return _example_array(node)
        case ast.Call(func=ast.Attribute() as path, args=parts):
            module, _, name = ast.unparse(path).rpartition(".")
            return getattr(importlib.import_module(module), name)(*map(_example, parts))
        case _:
            raise ValueError(f"no signature: {ast.unparse(node)}")


def _example_array(node: ast.Subscript) -> np.ndarray[Any, Any]:
    dtype = np.dtype(ast.unparse(node.value))
    strides = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    sizes = (2,) * len(strides)
    if ast.unparse(strides[-1]) == "::1":
        return np.zeros(sizes, dtype)
    if ast.unparse(strides[0]) == "::1":
        return np.zeros(sizes, dtype, order="F")
    return np.zeros((4,) * len(strides), dtype)[(slice(None, None, 2),) * len(strides)]


def listed() -> dict[str, list[str]]:
    """Return the signatures that the library is built for, by kernel."""
    signatures: dict[str, list[str]] = json.loads(LIST.read_text(encoding="utf-8"))
    return signatures


def write_list(signatures: dict[str, set[str]]) -> None:
    """Write the list, in order."""
    ordered = {name: sorted(signatures[name]) for name in sorted(signatures)}
    LIST.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def record(kernel: str, signature: str) -> None:
    """Append a kernel and a signature to this process's record, if one is kept."""
    folder = os.environ.get(RECORD)
    if folder:
        with Path(folder, f"{os.getpid()}.tsv").open("a", encoding="utf-8") as file:
            file.write(f"{kernel}\t{signature}\n")


def recorded(folder: Path) -> dict[str, set[str]]:
    """Return what all processes recorded, by kernel."""
    met: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kernel, signature = line.split("\t")
            met.setdefault(kernel, set()).add(signature)
    return met
