"""What a command loads: nothing that it does not use.

Every module costs time and memory at each start. Packages are compared with those that bare
imports of the few libraries in use load in the same environment.
"""

import sys
from collections import Counter

import pytest

from command_line import python

LIBRARIES = (
    "import numpy, polars, pyarrow.compute, pyarrow.csv, rich.console, rich.table\n"
    "pyarrow.scalar(0)"
)
TYPER = (
    "import typer\n"
    "app = typer.Typer()\n"
    "@app.command()\n"
    "def command(word: str = '', number: int = 0, many: list[str] = []): pass\n"
    "app([], standalone_mode=False)"
)
NUMBA = "import numba\nnumba.njit(lambda numbers: numbers.sum())(__import__('numpy').ones(3))"
RUN = ["run", "census.csv", "--k", "5", "--quasi", "age,sex,zip", "--force"]

UNUSED = {
    *("pandas", "scipy", "duckdb", "narwhals", "pyspark", "jinja2", "vl_convert"),
    *("fastexcel", "xlsxwriter", "openpyxl", "pyreadstat", "cryptography", "sklearn"),
}
"""Packages for other files, engines, documents and frames."""

OTHER_JOBS = (
    *("incrowd.cli.check", "incrowd.cli.compare", "incrowd.cli.explain"),
    *("incrowd.measures.risk", "incrowd.measures.attacks", "incrowd.measures.utility"),
    *("incrowd.engines.disk", "incrowd.engines.spark", "incrowd.flow.out_of_core"),
    *("incrowd.flow.sets", "incrowd.flow.transactions", "incrowd.flow.policies"),
    *("incrowd.guarantees.sets.check", "incrowd.guarantees.adaptive.check"),
    *("incrowd.sets.files", "incrowd.sets.format", "incrowd.tables.files.excel"),
    *("incrowd.methods.adaptive.search", "incrowd.methods.greedy.search"),
)
"""Modules for other commands, shapes, engines, methods and documents."""

MOST_MODULES = 195


def loaded_by(program, folder="."):
    """Return the modules that a program has loaded at its end, and its exit status."""
    told = (
        "import atexit, sys\n"
        "out = sys.stdout\n"
        "atexit.register(lambda: print('loaded:', *sorted(sys.modules), file=out))\n"
    )
    finished = python("-c", told + program, folder=folder)
    *_, last = finished.out.splitlines()
    assert last.startswith("loaded: "), finished.err
    return last.split()[1:], finished.status


def loaded_by_command(*words, folder="."):
    program = f"sys.argv = ['incrowd', *{list(words)}]\nfrom incrowd.cli import main\nmain()"
    return loaded_by(program, folder)


def packages(modules):
    return {module.partition(".")[0] for module in modules} - sys.stdlib_module_names


def ours(modules):
    return [module for module in modules if module.partition(".")[0] == "incrowd"]


def test_importing_the_package_loads_nothing_else():
    modules, _ = loaded_by("import incrowd")
    bare, _ = loaded_by("pass")
    assert packages(modules) - packages(bare) == {"incrowd"}
    assert ours(modules) == ["incrowd", "incrowd.version"]


@pytest.mark.parametrize(
    ("words", "drawn_with"),
    [(["--help"], {"rich"}), (["--version"], set()), (["run", "--help"], {"rich"})],
)
def test_first_screens_load_no_command(words, drawn_with):
    modules, status = loaded_by_command(*words)
    bare, _ = loaded_by("pass")
    assert status == 0
    assert packages(modules) - packages(bare) == {"incrowd", *drawn_with}
    assert set(ours(modules)) == {"incrowd", "incrowd.version", "incrowd.cli", "incrowd.cli.help"}


def test_a_plain_run_loads_what_it_uses(desk):
    modules, status = loaded_by_command(*RUN, "-o", "own.csv", folder=desk.folder)
    assert status == 0
    assert not packages(modules) & (UNUSED - {"scipy"})  # Numba imports SciPy
    used = LIBRARIES + "\n" + TYPER
    if "numba" in modules:  # kernels that no library has
        used += "\n" + NUMBA
    bare, _ = loaded_by(used)
    assert packages(modules) - packages(bare) == {"incrowd"}
    assert not {"http.client", "multiprocessing", "unittest", "sqlite3"} & ({*modules} - {*bare})

    rooms = Counter(".".join(module.split(".")[:2]) for module in ours(modules))
    absent = ("figures", "report", "comparing", "proposing", "covers", "samples", "api")
    assert not {f"incrowd.{room}" for room in absent} & set(rooms)
    assert not {module for module in ours(modules) if module.startswith(OTHER_JOBS)}
    assert rooms.total() <= MOST_MODULES

    # leaving pandas out changes no byte
    assert desk.call(*RUN, "-o", "called.csv").status == 0
    assert (desk / "own.csv").read_bytes() == (desk / "called.csv").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["check", "census.csv", "--k", "2", "--quasi", "sex"],
        ["init", "census.csv", "--no-predict"],
    ],
    ids=lambda words: words[0],
)
def test_other_commands_load_what_they_use(desk, words):
    modules, status = loaded_by_command(*words, folder=desk.folder)
    assert status in (0, 1)
    assert not packages(modules) & {*UNUSED, "numba"}
    assert not {m for m in ours(modules) if m.startswith(("incrowd.figures", "incrowd.report"))}


def test_explain_reads_no_data():
    modules, status = loaded_by_command("explain", "k-anonymity")
    assert status == 0
    assert not packages(modules) & {*UNUSED, "numba", "polars"}


@pytest.mark.slow
def test_the_command_line_leaves_pandas_out_and_spark_brings_it_back(desk):
    """pyarrow takes frames of pandas again as soon as a session of Spark is to start."""
    pytest.importorskip("pandas")
    program = (
        f"sys.argv = ['incrowd', *{RUN}]\n"
        "from incrowd.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code\n"
        "import pyarrow as pa\n"
        "assert 'pandas' not in sys.modules\n"
        "assert pa.default_memory_pool().backend_name == 'system'\n"
        "from incrowd.engines.spark.session import _have_pandas_in_pyarrow\n"
        "_have_pandas_in_pyarrow()\n"
        "import pandas\n"
        "assert pa.array(pandas.Series([1.5, None])).null_count == 1\n"
        "assert not [f for f in sys.meta_path if 'Pandas' in getattr(f, '__name__', '')]\n"
    )
    modules, status = loaded_by(program, desk.folder)
    assert status == 0
    assert "pandas" in modules


@pytest.mark.slow
def test_a_run_on_disk_ends_in_silence(desk):
    """DuckDB reports what it finds undeleted when the process ends."""
    finished = desk.incrowd(*RUN, "--method", "mondrian", "--memory", "1MB", "--json")
    assert finished.status == 0
    assert finished.json["engine"]["rows"] == "on disk"
    assert all(
        line.startswith("note: ") or line.endswith("…") for line in finished.err.splitlines()
    )
