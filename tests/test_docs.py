"""Every example of the docs is run, every link leads somewhere, every field is documented."""

import ast
import contextlib
import re
import shlex
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

import incrowd
from benchmarks.sets.data import user_lists
from benchmarks.workloads import WORKLOADS, charts_of, fill, load_results
from end_to_end.transcripts import PAGES as TRANSCRIPTS
from incrowd.cli import run_with_status
from incrowd.engines.choice import EngineChoice
from incrowd.guarantees.table import GUARANTEES
from incrowd.job.documents import ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.job.job import Job
from incrowd.measures.losses.tables import METRICS
from incrowd.methods.table import METHODS
from incrowd.samples import write_sample
from incrowd.sets.files import write_sets

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FAST = ("README.md", "docs/index.md", "docs/guide/anonymize-a-table.md")
"""Pages whose examples are run in the fast tier; those of all others are in the slow one."""

EXAMPLES = [
    pytest.param(page, marks=() if name in FAST else pytest.mark.slow, id=name)
    for page, name in zip(PAGES, NAMES, strict=True)
    if page not in TRANSCRIPTS  # held line by line by end_to_end/test_hospital.py
]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


@pytest.fixture(scope="session")
def other_tools_release(tmp_path_factory):
    """The release of another tool that pages check, made by the code that the docs show."""
    page = ROOT / "docs" / "coming-from" / "pycanon-and-anjana.md"
    folder = tmp_path_factory.mktemp("theirs")
    with contextlib.chdir(folder):
        exec(compile(blocks(page, "python")[0], str(page), "exec"), {"__name__": "__main__"})
    return folder / "theirs.csv"


@pytest.fixture
def folder(tmp_path, other_tools_release):
    write_sample(tmp_path, 1_200, 5)
    write_sets(user_lists(600, 120, seed=1), tmp_path / "lists.dat")
    visits = "b c e g h\na c d i j\na f l\nb e g h\nd f l\n"
    (tmp_path / "visits.dat").write_text(visits, encoding="utf-8")
    (tmp_path / "rules.txt").write_text("a c -> h\n", encoding="utf-8")
    shutil.copy(other_tools_release, tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", EXAMPLES)
def test_python_examples_run(page, folder):
    with contextlib.chdir(folder):
        for example in blocks(page, "python"):
            exec(compile(example, str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_import_public_names_alone(page):
    """What the docs show is what users may rely on: ``incrowd`` itself, and names that it lists."""
    for example in blocks(page, "python"):
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.Import):
                assert [name.name for name in node.names if "incrowd." in name.name] == []
            elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("incrowd"):
                assert node.module == "incrowd"
                assert {name.name for name in node.names} <= set(incrowd.__all__)
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ic":
                assert node.attr in incrowd.__all__


@pytest.mark.parametrize("page", EXAMPLES)
def test_console_examples_run(page, folder, capsys, monkeypatch):
    """A line ``$ incrowd …  # exit 1`` says its exit status; without, it must be 0.

    Lines below a command are lines of what it prints, in this order; ``…`` stands for anything.
    """
    monkeypatch.setenv("COLUMNS", "100")
    with contextlib.chdir(folder):
        for line, shown in commands_of(page):
            words = shlex.split(line, comments=True)
            stated = re.search(r"# exit (\d+)", line)
            if words[0] == "incrowd":
                status = run_with_status(words[1:])
            else:
                status = subprocess.run(words, check=False).returncode
            printed = capsys.readouterr()
            assert status == (int(stated[1]) if stated else 0), (line, printed)
            assert is_shown(shown, printed.out + printed.err), (shown, printed)


def commands_of(page):
    """Return each command of a page with the lines that the page shows of its output."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, *shown = part.splitlines()
            if not line.startswith("./dev"):
                found.append((line, [one for one in shown if one.strip(" …")]))
    return found


def is_shown(shown, printed):
    """Return whether lines of a page are printed one after the other; blanks may differ."""
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for expected in shown:
        parts = (re.escape(" ".join(part.split())) for part in expected.split("…"))
        pattern = re.compile(r"\s*.*\s*".join(parts))
        if not any(pattern.fullmatch(line) for line in lines):
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_job_examples_parse(page):
    import tomllib

    for block in blocks(page, "toml"):
        mapping = tomllib.loads(block)
        if "roles" in mapping:
            Job.from_mapping(mapping)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_page_is_linked_from_the_readme_or_start():
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            linked.add((page.parent / target).resolve())
    assert [
        name for page, name in zip(PAGES[1:], NAMES[1:], strict=True) if page not in linked
    ] == []


def test_every_field_of_a_job_is_documented():
    text = (ROOT / "docs" / "reference" / "job-file.md").read_text("utf-8")
    parts = [*GUARANTEES.values(), *METHODS.values(), EngineChoice]
    parts += [InputOptions, SetInput, RuleInput, ReleaseOptions]
    for part in parts:
        for item in fields(part):
            row = re.search(rf"^\| `{item.name}` \|.*$", text, re.M)
            assert row, f"{part.__name__}.{item.name}"
            assert item.metadata["help"] in text, f"{part.__name__}.{item.name}"


def test_every_loss_is_documented():
    text = (ROOT / "docs" / "reference" / "losses.md").read_text("utf-8")
    for name, metric in METRICS.items():
        assert re.search(rf"`{name}`", text), name
        assert metric.direction in text


def test_docstring_examples_of_the_public_names():
    import doctest

    import incrowd.encoding.coding
    import incrowd.engines.choice
    import incrowd.guarantees.adaptive.promise
    import incrowd.guarantees.tables.k_anonymity
    import incrowd.hierarchies.specs
    import incrowd.job.job
    import incrowd.tables.schema

    n_tried = 0
    for module in [
        incrowd,
        incrowd.job.job,
        incrowd.encoding.coding,
        incrowd.tables.schema,
        incrowd.hierarchies.specs,
        incrowd.engines.choice,
        incrowd.guarantees.adaptive.promise,
        incrowd.guarantees.tables.k_anonymity,
    ]:
        result = doctest.testmod(module)
        assert result.failed == 0, module.__name__
        n_tried += result.attempted
    assert n_tried > 8


def test_figures_come_from_results():
    """Tables of measurements are made from JSON that the benchmarks wrote."""
    results = load_results(ROOT / "benchmarks" / "results")
    marked = []
    for page in PAGES:
        text = page.read_text("utf-8")
        marked += re.findall(r"<!-- table ([\w-]+) -->", text)
        assert fill(text, results) == text, page
    assert set(marked) == {name for one in WORKLOADS.values() for name in one.tables}


def test_charts_come_from_results():
    """Charts are drawn from the same JSON; each says what it was drawn from."""
    charts = charts_of(load_results(ROOT / "benchmarks" / "results"))
    assert charts.keys() == {name for one in WORKLOADS.values() for name in one.charts}
    for name, chart in charts.items():
        drawing = (ROOT / "docs" / "images" / name).read_text("utf-8")
        assert chart.digest in drawing, name
        assert all(series.name in drawing for panel in chart.panels for series in panel.series)
