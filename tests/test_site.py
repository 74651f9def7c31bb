"""The docs as a site: built strictly, complete, and nothing in it asks the network for anything."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

import incrowd
from docs_build.execute import executed

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# attributes of a page that a browser fetches by itself
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}


class Fetches(HTMLParser):
    """The addresses that a browser fetches to show a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        address = dict(attrs).get(FETCHED.get(tag, ""))
        if address:
            self.addresses.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_on_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page


@pytest.mark.slow
def test_the_site_fetches_nothing(site):
    n_addresses = 0
    for page in site.rglob("*.html"):
        reader = Fetches()
        reader.feed(page.read_text("utf-8"))
        assert [one for one in reader.addresses if re.match(r"(\w+:)?//", one)] == [], page
        n_addresses += len(reader.addresses)
    assert n_addresses > 100
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:\w+:)?//", sheet.read_text("utf-8")) == [], sheet


@pytest.mark.slow
def test_the_search_needs_no_server(site):
    index = (site / "search" / "search_index.js").read_text("utf-8")
    assert index.startswith("var __index = {")
    assert "guide/anonymize-a-table.html" in index
    assert "iframe-worker.js" in (site / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_the_reference_has_parameters_and_defaults(site):
    page = (site / "reference" / "api.html").read_text("utf-8")
    text = re.sub(r"<[^>]+>|\s+", " ", page)
    assert "Information loss to minimize." in text
    for name in incrowd.__all__:
        assert name == "__version__" or f'id="incrowd.{name}"' in page, name


@pytest.mark.slow
def test_notebooks_are_pages(site):
    for notebook in NOTEBOOKS:
        page = site / "notebooks" / f"{notebook.stem}.html"
        text = page.read_text("utf-8")
        assert "<svg" in text
        assert f'href="{notebook.name}"' in text
        assert (site / "notebooks" / notebook.name).exists()


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_show_what_they_do(notebook):
    """A notebook that is out of date is made anew by ``python -m docs_build.execute``."""
    shown = texts_of(nbformat.read(notebook, as_version=4))
    assert shown
    assert texts_of(executed(notebook)) == shown


def texts_of(notebook):
    """Return the texts that a notebook shows, cell by cell."""
    return [
        (cell.source, output.get("text") or output.data["text/plain"])
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    ]


def test_every_public_name_is_in_the_reference():
    listed = re.findall(
        r"^::: incrowd\.(\w+)$", (ROOT / "docs/reference/api.md").read_text("utf-8"), re.M
    )
    assert sorted(listed) == sorted(set(incrowd.__all__) - {"__version__"})


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_pages_in_a_browser(site, browser, width, scheme):
    """Opened from the disk: quiet, nothing wider than the window, in the reader's colours."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))

    def note(request):
        # what a page is still loading when the next one is opened is no fault of the page
        if request.failure != "net::ERR_ABORTED":
            problems.append(request.url)

    page.on("requestfailed", note)
    for name in ("index", "reference/api", "walkthroughs/hospital", "notebooks/data-scientist"):
        page.goto((site / f"{name}.html").as_uri(), wait_until="networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    shown = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
    assert shown == {"light": "default", "dark": "slate"}[scheme]
    assert problems == []
    context.close()


@pytest.mark.slow
@pytest.mark.browser
def test_the_search_works_from_the_disk(site, browser):
    page = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True).new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("microaggregate")
    page.locator(".md-search-result__item").first.wait_for()
    assert "microaggregate" in page.locator(".md-search-result__item").first.inner_text()
