"""Build the library of kernels: ``python -m incrowd.compiling.build``.

Each group of kernels (those of one folder) is compiled by a process of its own, for a processor
that every machine of the last fifteen years is, by Numba's ahead-of-time compiler; a C compiler
compiles Numba's small run-time support and links everything into one shared object. Only groups
whose sources changed are compiled again.

Needs Numba, setuptools, Python's headers, and a C compiler or the package ziglang.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from incrowd.bars import shown
from incrowd.compiling.kernel import KERNELS
from incrowd.compiling.library import CHOICE, FOLDER, MANIFEST, SUFFIX, digest_of
from incrowd.compiling.signatures import examples, listed
from incrowd.progress import COMPILING, Progress
from incrowd.threads import n_processors

PACKAGE = Path(__file__).parents[1]
NAME = "incrowd_kernels"
"""The name under which Numba's run-time support is compiled."""

NO_TOOLS = 3
"""The exit status if a C compiler or Python's headers are missing."""

OLDEST_GLIBC = "2.17"


class MissingTools(Exception):
    """What the build needs is not on this machine."""


def main(arguments: list[str] | None = None) -> int:
    """Build the library, or compile one group into an object file."""
    parser = argparse.ArgumentParser(prog="python -m incrowd.compiling.build", description=__doc__)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / FOLDER)
    parser.add_argument("--processes", type=int, default=n_processors())
    parser.add_argument("--group", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.group:
        compile_group(options.group, options.to)
        return 0
    try:
        with shown(True) as progress:
            build(options.to, options.processes, progress)
    except MissingTools as error:
        print(f"kernels are not built: {error}", file=sys.stderr)
        return NO_TOOLS
    return 0


def processor() -> str:
    """Return the name of the processor to build for."""
    return "x86-64-v2" if platform.machine() in ("x86_64", "AMD64") else "generic"


def groups() -> dict[str, dict[str, list[str]]]:
    """Return the listed kernels and their signatures, grouped by the folder they are in."""
    grouped: dict[str, dict[str, list[str]]] = {}
    for kernel, signatures in listed().items():
        folder = kernel.partition(":")[0].rpartition(".")[0]
        group = folder.removeprefix("incrowd.").replace(".", "_")
        grouped.setdefault(group, {})[kernel] = signatures
    return grouped


# The whole library.


def build(folder: Path, n_processes: int, progress: Progress) -> None:
    """Compile what changed and link everything; the library appears whole or not at all."""
    compiler = c_compiler()
    folder.mkdir(parents=True, exist_ok=True)
    objects = folder / "objects"
    objects.mkdir(exist_ok=True)
    wanted = groups()
    stale = [name for name in wanted if not is_current(objects / f"{name}.json", wanted[name])]
    if not stale and is_linked(compiler, _records(objects, wanted), folder):
        return
    # the longest first, so that no process is left with it at the end
    stale.sort(key=lambda name: -_size(next(iter(wanted[name]))))
    title, total = f"{COMPILING} (once, a few minutes)", len(stale) + 1
    support = objects / f"support-{_key(compiler)}"
    with ThreadPoolExecutor(max(1, n_processes)) as pool:
        jobs = [pool.submit(compile_support, compiler, support)]
        jobs += [pool.submit(_compile_apart, name, objects) for name in stale]
        progress(title, 0, total)
        for n_done, job in enumerate(as_completed(jobs), 1):
            job.result()
            progress(title, n_done, total)
    link(compiler, wanted, objects, support, folder)


def _size(kernel: str) -> int:
    """Return how many bytes the sources in a kernel's folder have."""
    module = PACKAGE.parent.joinpath(*kernel.partition(":")[0].split("."))
    return sum(path.stat().st_size for path in module.parent.glob("*.py"))


def is_linked(compiler: list[str], records: dict[str, dict[str, Any]], folder: Path) -> bool:
    """Whether the library in a folder was made of these groups by this compiler."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (
        bool(manifest == _manifest(manifest["file"], compiler, records))
        and (folder / manifest["file"]).exists()
    )


def _records(objects: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    return {
        name: json.loads((objects / f"{name}.json").read_text(encoding="utf-8")) for name in names
    }


def _manifest(file: str, compiler: list[str], records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "file": file,
        "linker": _key(compiler),
        "processor": processor(),
        "numba": _numba_version(),
        "groups": {group: record["sources"] for group, record in records.items()},
        "kernels": {
            kernel: [group, symbols]
            for group, record in records.items()
            for kernel, symbols in record["kernels"].items()
        },
    }


def is_current(record: Path, kernels: dict[str, list[str]]) -> bool:
    """Whether a group was compiled from the present sources, for the present signatures."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    signatures = {name: list(symbols) for name, symbols in kept["kernels"].items()}
    return (
        signatures == kernels
        and kept["numba"] == _numba_version()
        and record.with_suffix(".o").exists()
        and all(digest == digest_of(name) for name, digest in kept["sources"].items())
    )


def _compile_apart(group: str, objects: Path) -> None:
    # pip hides the folders of an editable installation, also where PYTHONPATH names them
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from incrowd.compiling.build import main; sys.exit(main(sys.argv[2:]))"
    )
    command = [sys.executable, "-c", program, str(PACKAGE.parent)]
    command += ["--group", group, "--to", str(objects)]
    settings = {
        "NUMBA_CPU_NAME": processor(),
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_JIT": "0",
        CHOICE: "jit",
    }
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"kernels of {group} were not compiled:\n{done.stderr}")


def _numba_version() -> str:
    from importlib.metadata import version

    return version("numba")


# One group, in a process of its own.


def compile_group(group: str, folder: Path) -> None:
    """Compile a group's kernels into an object file; its record says from what."""
    kernels = groups()[group]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead: Any = importlib.import_module("numba.pycc.compiler")
    typing: Any = importlib.import_module("numba.core.typing")
    from numba import typeof

    apart = set(sys.modules)
    for name in kernels:
        importlib.import_module(name.partition(":")[0])
    sources = _sources(set(sys.modules) - apart)
    entries: list[Any] = []
    symbols: dict[str, dict[str, str]] = {}
    for name, signatures in kernels.items():
        function = KERNELS[name].py_func
        symbols[name] = {}
        for text in signatures:
            symbol = f"{name.partition(':')[2]}_{len(entries)}"
            types = typing.signature(None, *map(typeof, examples(text)))
            entries.append(ahead.ExportEntry(symbol, types, function))
            symbols[name][text] = symbol
    module = _without_gil(ahead)(entries, group, use_nrt=True, cpu_name=processor())
    module.external_init_function = f"pycc_init_{NAME}"
    module.write_native_object(str(folder / f"{group}.o"), wrap=True)
    record = {"numba": _numba_version(), "sources": sources, "kernels": symbols}
    (folder / f"{group}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


def _sources(modules: set[str]) -> dict[str, str]:
    """Return the digests of our modules that a group's machine code may depend on."""
    ours = sorted(name for name in modules if name.startswith("incrowd."))
    paths = [Path(str(sys.modules[name].__file__)).relative_to(PACKAGE) for name in ours]
    return {path.as_posix(): digest_of(path.as_posix()) for path in paths}


def _without_gil(ahead: Any) -> Any:
    """Return Numba's module compiler, made to release the GIL and to keep its symbols private."""
    plain = ahead.Flags

    def flags() -> Any:
        made = plain()
        made.release_gil = True
        return made

    class Module(ahead.ModuleCompiler):  # type: ignore[misc]
        def _cull_exports(self) -> Any:
            ahead.Flags = flags
            try:
                library = super()._cull_exports()
            finally:
                ahead.Flags = plain
            # groups share kernels: equal names in two object files must not meet
            final = library._final_module
            for one in [*final.functions, *final.global_variables]:
                if not one.is_declaration and one.name not in self.dll_exports:
                    one.linkage = "internal"
                    one.visibility = "default"
            return library

    return Module


# Numba's run-time support, and the linking.


def c_compiler() -> list[str]:
    """Return the command that compiles C and links: this machine's, or that of ziglang."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if not headers.exists():
        raise MissingTools(f"Python's headers are missing ({headers})")
    if importlib.util.find_spec("setuptools") is None:
        raise MissingTools("the package setuptools is missing")
    if importlib.util.find_spec("ziglang") is not None:
        command = [sys.executable, "-m", "ziglang", "cc"]
        if sys.platform == "linux":
            command += ["-target", f"{platform.machine()}-linux-gnu.{OLDEST_GLIBC}"]
        return command
    found = shutil.which(os.environ.get("CC", "cc"))
    if found is None or shutil.which("c++") is None:
        raise MissingTools("there is no C and C++ compiler; the package ziglang has them")
    return [found]


def _for_cplusplus(compiler: list[str]) -> list[str]:
    return ["c++" if word == "cc" else word for word in compiler]


def _key(compiler: list[str]) -> str:
    text = json.dumps([compiler, sys.version, _numba_version()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compile_support(compiler: list[str], folder: Path) -> None:
    """Compile what machine code by Numba calls: memory that is counted, conversions, exceptions."""
    if folder.is_dir():
        return
    import numba
    import numpy as np

    extensions: Any = importlib.import_module("numba.cext")
    root = Path(numba.__file__).parent
    sources = [
        root / "pycc/modulemixin.c",
        root / "core/runtime/nrt.cpp",
        *extensions.get_extension_libs(),
    ]
    flags = [
        *("-c", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
        *("-DNDEBUG", f"-DPYCC_MODULE_NAME={NAME}", "-DPYCC_USE_NRT=1"),
        "-DNUMBA_LAPACK_BUILD_ILP64=0",
        *(f"-I{path}" for path in (sysconfig.get_path("include"), np.get_include())),
    ]
    with _appearing(folder) as private:
        for source in map(Path, sources):
            target = private / f"{source.stem}.o"
            command = _for_cplusplus(compiler) if source.suffix == ".cpp" else compiler
            _call([*command, *flags, str(source), "-o", str(target)])


def link(
    compiler: list[str],
    wanted: dict[str, dict[str, list[str]]],
    objects: Path,
    support: Path,
    folder: Path,
) -> None:
    """Link the object files and write the manifest."""
    records = _records(objects, wanted)
    parts = [*(objects / f"{name}.o" for name in wanted), *sorted(support.glob("*.o"))]
    flags = ["-shared", "-s", "-Wl,--gc-sections", "-pthread", "-lm"]
    if sys.platform == "darwin":
        flags = ["-bundle", "-undefined", "dynamic_lookup"]
    with tempfile.TemporaryDirectory(dir=folder) as private:
        made = Path(private, "library")
        _call([*compiler, *map(str, parts), *flags, "-o", str(made)])
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        name = f"kernels-{digest[:16]}{SUFFIX}"
        made.rename(folder / name)
        manifest = _manifest(name, compiler, records)
        written = Path(private, "manifest")
        written.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        written.rename(folder / MANIFEST)
    for old in set(folder.glob(f"kernels-*{SUFFIX}")) - {folder / name}:
        old.unlink()


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Yield a private folder that gets its name when everything in it was written."""
    private = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        yield private
        private.rename(folder)
    except BaseException:
        shutil.rmtree(private, ignore_errors=True)
        raise


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
