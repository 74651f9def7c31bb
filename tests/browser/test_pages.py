"""Reports in a real browser: quiet, alone, readable at any width, and true to their audit."""

import functools
import json
from dataclasses import asdict
from itertools import product

import pytest

from benchmarks.picture import make_report, take_picture
from browser.opening import CARDS, OVERLAPS, assert_quiet_and_readable, opened
from figures.materials import KINDS, owner_page_of, public_page_of, releases
from incrowd.comparing.comparison import Comparison
from incrowd.comparing.grid import Point
from incrowd.figures.blocks import Bars, Heat, Lines, Node, Page, Section, Steps, Tree
from incrowd.report.render import render

pytestmark = pytest.mark.browser

WIDTHS = (400, 1400)


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    """Return the owner's or the public report of a kind, as a file that is made once."""
    folder = tmp_path_factory.mktemp("pages")

    @functools.cache
    def written(kind, edition):
        path = folder / f"{kind}-{edition}.html"
        page = owner_page_of(kind) if edition == "owner" else public_page_of(kind)
        path.write_text(render(page), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_quiet_and_readable(browser, file_of, kind, width, scheme):
    assert_quiet_and_readable(browser, file_of(kind, "owner"), width, scheme)


@pytest.mark.parametrize("kind", KINDS)
def test_public_reports_are_quiet_and_readable(browser, file_of, kind):
    path = file_of(kind, "public")
    with opened(browser, path, 400, "dark") as (page, said, asked):
        assert (said, [url for url in asked if url != path.as_uri()]) == ([], [])
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.smoke if kind == "table" else ()) for kind in KINDS],
)
def test_the_figures_are_the_audits(browser, file_of, kind):
    audit, _, _ = releases()[kind]
    with opened(browser, file_of(kind, "owner")) as (page, _, _):
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
            assert facts["loss"] == f"{100 * audit.losses['loss']:.1f}%"
        if "Jaccard similarity" in facts:
            assert float(facts["Jaccard similarity"]) == pytest.approx(
                audit.losses["jaccard"], abs=1e-3
            )
        findings = page.evaluate(
            "[...document.querySelectorAll('#findings tbody tr, #technical tbody tr')].map(r => "
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


@pytest.mark.parametrize("width", [700, 1400])
@pytest.mark.parametrize("kind", KINDS)
def test_cards_fill_their_rows(browser, file_of, kind, width):
    """No card is mostly empty, and no row of cards ends before the page does."""
    with opened(browser, file_of(kind, "owner"), width) as (page, _, _):
        shown = page.evaluate(CARDS)
        assert shown["rows"]
        assert [row for row in shown["rows"] if row["right"] < shown["right"] - 3] == []
        assert [card for card in shown["cards"] if card["empty"] > 0.45] == []


def test_verdicts_have_a_sign_besides_their_colour(browser, file_of):
    with opened(browser, file_of("table", "owner")) as (page, _, _):
        cells = page.locator("#findings .verdict-cell")
        assert cells.count() > 0
        for place in range(cells.count()):
            assert cells.nth(place).locator("svg.sign.good").count() == 1
            assert cells.nth(place).inner_text() == "holds"
        assert page.locator(".answer svg.sign.good").count() == 1


def comparison(n_points=8):
    """Return a comparison of made-up points."""
    methods, ks = ("cluster", "mondrian"), (2, 5, 10, 50)
    points = [
        {
            "key": f"k={k} method={method}",
            "point": asdict(Point(k, method, "loss", None, 0.0)),
            "status": "released",
            "reason": "",
            "losses": {"loss": 0.02 * (place + 1)},
            "seconds": 0.5 + 0.4 * (place % 3),
            "peak_memory_bytes": 300 << 20,
            "n_rows": 30_000,
            "n_suppressed": 0,
            "smallest_group": k,
            "utility": {"queries": {"are": 0.01 * (place + 2)}},
        }
        for place, (k, method) in enumerate(product(ks, methods))
    ]
    words = ("incrowd", "run", "a census.csv", "--quasi", "age,sex,zip")
    promise = {"name": "k-anonymity"}
    return Comparison("a census.csv", promise, "loss", points[:n_points], {}, words=words)


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
@pytest.mark.parametrize("n_points", [1, 8])
def test_comparisons_are_readable_and_fill_the_page(browser, tmp_path, width, scheme, n_points):
    path = tmp_path / "compare.html"
    comparison(n_points).report(path)
    assert_quiet_and_readable(browser, path, width, scheme)
    with opened(browser, path, width) as (page, _, _):
        shown = page.evaluate(CARDS)
        assert [row for row in shown["rows"] if row["right"] < shown["right"] - 3] == []
        assert "incrowd run 'a census.csv' --quasi" in page.inner_text("pre.console")
        charts, line = page.locator(".chart"), "svg path[stroke^='var(--mark']"
        assert charts.nth(0).locator(line).count() > 0
        assert charts.nth(1).locator(line).count() == 0  # loss against time has points only


def test_the_picture_of_the_readme_can_be_taken(browser, tmp_path):
    picture = tmp_path / "report.png"
    take_picture(browser, make_report(tmp_path), picture)
    assert 20_000 < picture.stat().st_size <= 250 << 10


def test_dark_and_light_differ_and_print_is_light(browser, file_of):
    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with opened(browser, file_of("table", "owner"), scheme="light") as (page, _, _):
        light = ground(page)
        mark = page.evaluate("getComputedStyle(document.querySelector('svg path[fill]')).fill")
        assert mark.startswith("rgb")
    with opened(browser, file_of("table", "owner"), scheme="dark") as (page, _, _):
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
