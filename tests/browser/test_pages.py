"""Reports in a real browser: quiet, alone, readable at any width, and true to their audit."""

import json

import pytest

from browser.opening import OVERLAPS, assert_quiet_and_readable, opened
from figures.materials import KINDS, owner_page_of, public_page_of, releases
from incrowd.figures.blocks import Bars, Heat, Lines, Node, Page, Section, Steps, Tree
from incrowd.report.render import render

pytestmark = pytest.mark.browser

WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")


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


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_quiet_and_readable(browser, files, kind, width, scheme):
    assert_quiet_and_readable(browser, files[kind, "owner"], width, scheme)


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
