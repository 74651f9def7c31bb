"""Reports in a real browser: quiet, alone, readable at any width, and true to their audit."""

import json
from contextlib import contextmanager

import pytest

from figures.materials import KINDS, owner_page_of, public_page_of, releases
from incrowd.figures.blocks import Bars, Heat, Lines, Node, Page, Section, Steps, Tree
from incrowd.report.render import render

pytestmark = pytest.mark.browser

WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")

OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg')) {
    if (!svg.getClientRects().length) continue;
    const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    const boxes = texts.map(t => [t.getBoundingClientRect(), t.textContent]);
    const outer = svg.getBoundingClientRect();
    for (const [a, said] of boxes) {
      if (a.left < outer.left - 2 || a.right > outer.right + 2) found.push('cut: ' + said);
      if (a.top < outer.top - 2 || a.bottom > outer.bottom + 2) found.push('cut: ' + said);
    }
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const [a, one] = boxes[i], [b, other] = boxes[j];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // a text's box is higher than its letters by about a quarter
      if (across > 1 && down > 0.3 * Math.min(a.height, b.height)) found.push(one + ' | ' + other);
    }
  }
  return found;
}"""

SMALLEST = """() => Math.min(...[...document.querySelectorAll('svg text')]
  .filter(t => t.getClientRects().length && t.textContent.trim())
  .map(t => {
    const svg = t.ownerSVGElement;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return parseFloat(getComputedStyle(t).fontSize) * scale;
  }))"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the owner's and the public report of every kind, as files."""
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for kind in KINDS:
        for edition, make in (("owner", owner_page_of), ("public", public_page_of)):
            written[kind, edition] = folder / f"{kind}-{edition}.html"
            written[kind, edition].write_text(render(make(kind)), encoding="utf-8")
    return written


@contextmanager
def opened(browser, path, width=1400, scheme="light"):
    """Open a file; yield the page, what its console said and what it asked for."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))

    def pass_files_only(route):
        asked.append(route.request.url)
        if route.request.url.startswith("file://"):
            route.continue_()
        else:
            route.abort()

    page.route("**/*", pass_files_only)
    page.goto(path.as_uri())
    yield page, said, asked
    context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_quiet_and_readable(browser, files, kind, width, scheme):
    path = files[kind, "owner"]
    with opened(browser, path, width, scheme) as (page, said, asked):
        assert said == []
        assert [url for url in asked if url != path.as_uri()] == []
        across = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
        assert across[0] <= across[1]
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate(SMALLEST) >= 9
        shown = page.evaluate(
            "[...document.querySelectorAll('.chart')].map(chart => "
            "[...chart.querySelectorAll('svg')].filter(s => s.getClientRects().length).length)"
        )
        assert shown
        assert set(shown) == {1}  # of each chart one drawing, the one for this width


@pytest.mark.parametrize("kind", KINDS)
def test_public_reports_are_quiet_and_readable(browser, files, kind):
    path = files[kind, "public"]
    with opened(browser, path, 400, "dark") as (page, said, asked):
        assert (said, [url for url in asked if url != path.as_uri()]) == ([], [])
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_figures_are_the_audits(browser, files, kind):
    audit, _, _ = releases()[kind]
    with opened(browser, files[kind, "owner"]) as (page, _, _):
        told = page.evaluate("JSON.parse(document.getElementById('figures').textContent)")
        assert told == {"audit": json.loads(audit.to_json())}
        assert page.inner_text(".answer").lower() == "holds"
        facts = dict(
            page.evaluate(
                "[...document.querySelectorAll('.highlights div')].map("
                "d => [d.querySelector('dt').innerText, d.querySelector('dd').innerText])"
            )
        )
        assert facts["rows released"] == f"{audit.n_rows:,}"
        if audit.n_suppressed:
            assert facts["rows left out"] == f"{audit.n_suppressed:,}"
        if "smallest group" in facts:
            assert facts["smallest group"] == f"{audit.smallest_group:,}"
        if "loss" in facts:
            assert facts["loss"] == f"{100 * audit.losses['loss']:.1f} %"
        if "Jaccard similarity" in facts:
            assert float(facts["Jaccard similarity"]) == pytest.approx(
                audit.losses["jaccard"], abs=1e-3
            )
        findings = page.evaluate(
            "[...document.querySelectorAll('#findings tbody tr')].map(r => "
            "[...r.children].map(c => c.innerText))"
        )
        assert sorted(row[0] for row in findings) == sorted(f.name for f in audit.findings)


def shapes():
    """Return drawings that are hard to label."""
    letters, words = tuple("abcdefg"), tuple(f"a rather long name {n}" for n in range(14))
    pairs = tuple(tuple((row * column % 10) / 10 for column in range(7)) for row in range(7))
    many = tuple(tuple((row * column % 10) / 10 for column in range(14)) for row in range(14))
    deep = tuple(Node(f"node {n}", n - 1, 1.0, True) for n in range(12))
    broad = (Node("*", -1), *(Node(words[n % 14], 0, 1.0 + n % 3, True) for n in range(90)))
    curve = tuple((float(2**n), 1 / (n + 1)) for n in range(12))
    blocks = (
        Heat("Letters", letters, letters, pairs),
        Heat("Words", words, words, many),
        Bars("Bars", words, {"rows": tuple(10.0**n for n in range(14))}),
        Bars("Pairs", words, {side: tuple(map(float, range(14))) for side in ("before", "after")}),
        Steps("Steps", tuple(10.0**n for n in range(9)), {"x": (1e6,) * 8}, is_log_x=True),
        Steps("Marked", tuple(map(float, range(41))), {"x": (5.0,) * 40}, mark=(39.0, "promised")),
        Lines("Lines", {"a": curve}, is_log_x=True, is_log_y=True, x_title="k"),
        Lines("Close", {"a": ((0.147, 0.5), (0.17, 0.5), (0.24, 0.1))}, is_log_x=True),
        Tree("Deep", deep),
        Tree("Broad", broad),
    )
    return Page("Shapes", "Hard to label.", (Section("one", "One", (), blocks),))


@pytest.mark.parametrize("width", [320, *WIDTHS])
def test_labels_of_any_shape_are_apart(browser, tmp_path, width):
    path = tmp_path / "shapes.html"
    path.write_text(render(shapes()), encoding="utf-8")
    with opened(browser, path, width) as (page, said, _):
        assert said == []
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_dark_and_light_differ_and_print_is_light(browser, files):
    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with opened(browser, files["table", "owner"], scheme="light") as (page, _, _):
        light = ground(page)
        mark = page.evaluate("getComputedStyle(document.querySelector('svg path[fill]')).fill")
        assert mark.startswith("rgb")
    with opened(browser, files["table", "owner"], scheme="dark") as (page, _, _):
        assert ground(page) != light
        page.emulate_media(media="print", color_scheme="dark")
        assert ground(page) == "rgb(255, 255, 255)"
        hidden = "getComputedStyle(document.querySelector('nav')).display"
        assert page.evaluate(hidden) == "none"
        table = "document.querySelector('details .scroll').getBoundingClientRect().height"
        assert page.evaluate(table) > 0  # the numbers are printed, though nobody opened them


def test_nothing_that_is_fetched_would_get_through(browser, tmp_path):
    """The guard is guarded: a page that asks for something is noticed, and its policy refuses."""
    plain = render(Page("A page", "About nothing.", (Section("one", "One"),)))
    path = tmp_path / "leaky.html"
    path.write_text(
        plain.replace("</main>", '<img src="https://example.org/x.png"></main>'), encoding="utf-8"
    )
    with opened(browser, path) as (_, said, asked):
        assert said
        assert "Content Security Policy" in said[0]
        assert asked == [path.as_uri()]
