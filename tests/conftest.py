"""The engines that tests run on, as fixtures, and how hypothesis runs."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import tiers
from incrowd.compiling.signatures import RECORD, listed, recorded, write_list
from incrowd.engines.disk.engine import DiskEngine
from incrowd.engines.local.engine import LocalEngine

# Many short sessions: Java's slower, better compiler never earns back what it costs, and its
# threads take the processors from the tests.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A deadline per example would measure the machine's load, not the code.
for tier, number in tiers.EXAMPLES.items():
    settings.register_profile(tier, deadline=None, max_examples=number)
settings.load_profile("full")


def pytest_configure(config):
    # PySpark leaves sockets of this machine to the garbage collector, whenever that comes by.
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.*127.0.0.1:ResourceWarning")


# Every kernel is called with types that the library of kernels is built for.


def pytest_addoption(parser):
    parser.addoption(
        "--list-kernels",
        action="store_true",
        help="add the types that kernels are called with in these tests to signatures.json",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):  # processes that tests start inherit it
        os.environ[RECORD] = tempfile.mkdtemp(prefix="incrowd-signatures-")


def pytest_sessionfinish(session):
    """Fail if a kernel was called with types that Numba would have to compile it for."""
    if hasattr(session.config, "workerinput"):
        return
    folder = Path(os.environ.pop(RECORD))
    met, known = recorded(folder), listed()
    shutil.rmtree(folder)
    missing = {
        name: found
        for name, signatures in met.items()
        if (found := {one for one in signatures - set(known.get(name, ())) if "?" not in one})
        and name.startswith("incrowd.")
    }
    if missing and session.config.getoption("--list-kernels"):
        names = known.keys() | missing.keys()
        write_list({name: {*known.get(name, ()), *missing.get(name, ())} for name in names})
    elif missing:
        session.config.unlisted = missing
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    missing = getattr(config, "unlisted", {})
    if missing:
        terminalreporter.section("kernels called with types that no library is built for")
        terminalreporter.line("./dev test --list-kernels adds them to signatures.json")
        for name, signatures in sorted(missing.items()):
            terminalreporter.line(f"{name}: {sorted(signatures)}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave Spark and browsers to ``./dev test --all``, but for one smoke test of each."""
    for item in items:
        needs_more = item.get_closest_marker("spark") or item.get_closest_marker("browser")
        if needs_more and not item.get_closest_marker("smoke"):
            item.add_marker("slow")
        if needs_more:  # browsers and clusters have accidents of their own: the summary tells
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def spark_is_available():
    """Skip, saying why, where Spark cannot start; fail where it must."""
    from incrowd.engines.spark.session import why_unavailable

    missing = why_unavailable()
    if missing and os.environ.get("INCROWD_REQUIRE_SPARK") == "1":
        pytest.fail(f"INCROWD_REQUIRE_SPARK is 1, and {missing}")
    if missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def spark_engine(spark_is_available):  # noqa: ARG001
    """One Spark session on this machine for the whole run of the tests."""
    from incrowd.engines.spark.engine import SparkEngine

    engine = SparkEngine("local[2]", memory=1 << 30)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def standalone_cluster(spark_is_available, tmp_path_factory):  # noqa: ARG001
    """The address of a standalone cluster on loopback: two workers of one core and 1 GB each.

    A process has one master: use it in another one (``engines.clusters.spark_in_child``).
    """
    from benchmarks.scale.spark import standalone

    with standalone(tmp_path_factory.mktemp("standalone"), 2, 1_024) as cluster:
        yield cluster.address


@pytest.fixture(scope="session")
def connect_server(spark_is_available, tmp_path_factory):  # noqa: ARG001
    """The address of a Spark Connect server on loopback, with two threads for tasks."""
    from engines.clusters import connect
    from incrowd.engines.spark.links import missing_connect

    missing = missing_connect()
    if missing:
        pytest.skip(str(missing))
    with connect(tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture
def disk_engine(tmp_path):
    """Rows in files, one block a few rows."""
    engine = DiskEngine(tmp_path, threads=2, memory=256 << 20, block_rows=3)
    yield engine
    engine.close()


@pytest.fixture(
    params=["local-small-blocks", "local", "disk", pytest.param("spark", marks=pytest.mark.spark)]
)
def engine(request):
    """Every engine in turn; ``-m "not spark"`` leaves Spark out."""
    if request.param in ("spark", "disk"):
        return request.getfixturevalue(f"{request.param}_engine")
    if request.param == "local-small-blocks":
        return LocalEngine(threads=1, block_rows=3)
    return LocalEngine()


SPREAD_ENGINES = ["disk", "spark"]


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.spark if name == "spark" else ())
        for name in SPREAD_ENGINES
    ]
)
def spread_engine(request):
    """Every engine on which whole files lie, in turn."""
    return request.getfixturevalue(f"{request.param}_engine")


CHROMIUM_PATHS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def _browser_path():
    stated = os.environ.get("INCROWD_CHROMIUM")
    return stated or next((path for path in CHROMIUM_PATHS if shutil.which(path)), None)


@pytest.fixture(scope="session")
def browser():
    """One headless browser for all pages: skip, saying why, where there is none, or fail."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    path = _browser_path()
    missing = "playwright is not installed" if sync_playwright is None else ""
    if not missing and path is None:
        missing = "no Chromium was found (INCROWD_CHROMIUM names one)"
    if missing and os.environ.get("INCROWD_REQUIRE_BROWSER") == "1":
        pytest.fail(f"INCROWD_REQUIRE_BROWSER is 1, and {missing}")
    if missing:
        pytest.skip(missing)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()
