"""A page as text: self-contained, escaped, the same every time, small, whatever is in it."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from figures.materials import KINDS, owner_page_of, public_page_of
from incrowd.figures.blocks import (
    Bars,
    Code,
    Facts,
    Heat,
    Lines,
    Listing,
    Node,
    Page,
    Section,
    Steps,
    Tree,
)
from incrowd.report.render import render
from tiers import examples

HOSTILE = "</script><b onclick='x()'>\"&amp;'{{ 7 * 7 }}</b><!-- ]]> \u2028"
MB = 1 << 20


class Reader(HTMLParser):
    """Collect elements, their attributes and their texts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "path", "line", "br", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def said(self):
        return "".join(text for tag, text in self.texts if tag not in ("script", "style"))

    def data(self):
        return json.loads("".join(text for tag, text in self.texts if tag == "script"))


def page_of(*blocks, **more):
    section = Section("one", "One section", ("Some words.",), blocks)
    return Page("A page", "What it is about.", (section,), **more)


@pytest.mark.slow
@pytest.mark.parametrize("make", [owner_page_of, public_page_of], ids=["owner", "public"])
@pytest.mark.parametrize("kind", KINDS)
def test_reports_need_nothing_else(kind, make):
    page = make(kind)
    text = render(page)
    assert len(text.encode()) < 3 * MB
    assert render(page) == text
    reader = Reader(text)
    assert not reader.open
    assert reader.data() == json.loads(json.dumps(page.data))
    requests = {"src", "srcset", "href", "xlink:href", "action", "data", "poster", "formaction"}
    for tag, attributes in reader.elements:
        for name in requests & set(attributes):
            assert tag == "a"
            assert attributes[name].startswith("#")
        assert tag not in ("link", "iframe", "img", "object", "embed", "form", "base", "use")
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "script":
            assert attributes == {"type": "application/json", "id": "figures"}
    without_data = text[: text.index('<script type="application/json"')]
    assert "http" not in without_data.replace("http-equiv", "")
    assert not re.search(r"url\(|@import|javascript:", without_data)
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_links_and_names_of_drawings(kind):
    reader = Reader(render(owner_page_of(kind)))
    anchors = {attributes["id"] for _, attributes in reader.elements if "id" in attributes}
    links = {attributes["href"] for tag, attributes in reader.elements if tag == "a"}
    assert links <= {f"#{anchor}" for anchor in anchors}
    charts = [a for _, a in reader.elements if a.get("role") == "img"]
    assert charts
    assert all(chart["aria-label"] for chart in charts)
    assert "#fe00" not in render(owner_page_of(kind))  # every colour is the style sheet's


def every_block(label):
    """Return one block of every kind with a label wherever there is one."""
    return (
        Facts(((label, label),), title=label, note=label),
        Listing((label, "b"), ((label, 0.5),), label, {"b": "share"}, ("b",), label),
        Bars(label, (label, "b"), {label: (1.0, 2.0), "other": (3.0, 4.0)}, note=label),
        Bars(label, (label,), {label: (1.0,)}, x_title=label, y_title=label),
        Steps(label, (0, 1, 2), {label: (1.0, 2.0)}, x_title=label, mark=(1, label), note=label),
        Lines(label, {label: ((1, 2), (3, 4))}, x_title=label, marked=(label, 0), note=label),
        Heat(label, (label, "b"), (label, "b"), ((0.0, 1.0), (None, 0.5)), note=label),
        Tree(label, (Node(label, -1, 1, True), Node(label, 0, 2, True)), note=label),
        Code(label, "toml", label),
    )


def test_hostile_labels_stay_texts():
    page = Page(
        HOSTILE,
        HOSTILE,
        (Section("one", HOSTILE, (HOSTILE,), every_block(HOSTILE)),),
        highlights=Facts(((HOSTILE, HOSTILE),)),
        data={HOSTILE: [HOSTILE, {"x": float("nan"), "y": float("inf")}]},
    )
    text = render(page)
    reader = Reader(text)
    assert not reader.open
    assert "b" not in {tag for tag, _ in reader.elements}
    assert not [name for _, a in reader.elements for name in a if name.startswith("on")]
    assert "{{ 7 * 7 }}" in reader.said()
    assert reader.said().count("</script><b onclick") >= 12
    assert reader.data() == {HOSTILE: [HOSTILE, {"x": None, "y": None}]}


def test_very_long_labels_are_cut():
    long = "wort " * 40_000
    text = render(page_of(*every_block(long)))
    assert "…" in text
    assert len(text.encode()) < 3 * MB


odd_blocks = [
    Facts(()),
    Listing(("a",), ()),
    Bars("none", (), {"rows": ()}),
    Bars("nothing", ("a",), {}),
    Bars("zeros", ("a", "b"), {"rows": (0.0, 0.0)}),
    Bars("one", ("a",), {"rows": (5.0,)}),
    Bars("below zero", ("a", "b"), {"rows": (-5.0, 3.0)}),
    Bars("alike", ("a", "a", ""), {"rows": (1.0, 2.0, 3.0)}),
    Bars("three", ("a",), {"x": (1.0,), "y": (2.0,), "z": (3.0,)}),
    Steps("none", (), {"rows": ()}),
    Steps("one", (0.0, 1.0), {"rows": (3.0,)}),
    Steps("zeros", (0.0, 1.0, 2.0), {"before": (0.0, 0.0), "after": (0.0, 0.0)}),
    Steps("log", (1.0, 10.0, 1e9), {"rows": (1.0, 2.0)}, is_log_x=True, mark=(5.0, "here")),
    Lines("none", {}),
    Lines("empty", {"a": ()}),
    Lines("point", {"a": ((1.0, 1.0),)}, is_log_x=True, is_log_y=True),
    Lines("not above zero", {"a": ((0.0, 0.0), (1.0, 1.0))}, is_log_x=True, is_log_y=True),
    Heat("none", (), (), ()),
    Heat("one", ("a",), ("a",), ((None,),)),
    Heat("flat", ("a",), ("b",), ((1.0,),), low=1.0, high=1.0),
    Tree("none", ()),
    Tree("root", (Node("a", -1, 1.0, True),)),
    Tree("weightless", (Node("a", -1), Node("b", 0))),
    Tree("two roots", (Node("a", -1, 1.0), Node("b", -1, 2.0, True))),
    Tree("deep", tuple(Node(str(n), n - 1, 1.0, True) for n in range(40))),
    Tree("broad", (Node("a", -1), *(Node(str(n), 0, 1.0, True) for n in range(500)))),
]


@pytest.mark.parametrize(
    "block", odd_blocks, ids=lambda block: f"{type(block).__name__} {block.title}"
)
def test_odd_sizes_are_drawn(block):
    text = render(page_of(block))
    reader = Reader(text)
    assert not reader.open
    assert "NaN" not in text
    assert "undefined" not in text
    for drawing in re.findall(r"<svg[^>]*>", text):
        width, height = (
            float(n) for n in re.search(r'width="(\S+)" height="(\S+)"', drawing).groups()
        )
        assert 50 <= width <= 1_100
        assert 5 < height <= 9_500


def test_long_tables_say_what_is_left():
    listing = Listing(("a", "b"), tuple((str(n), n) for n in range(1_000)))
    assert "700 further rows are not shown" in render(page_of(listing))


@examples(15)
@given(st.lists(st.tuples(st.text(max_size=12), st.integers(0, 10**9)), min_size=1, max_size=6))
def test_numbers_of_bars_stand_beside_them(pairs):
    block = Bars(
        "Bars", tuple(name for name, _ in pairs), {"rows": tuple(float(n) for _, n in pairs)}
    )
    text = render(page_of(block))
    cells = re.findall(r'<span class="figure">([^<]*)</span>', text)
    assert cells == [f"{number:,}" for _, number in pairs]


def test_verdicts_are_told_apart():
    told = {verdict: render(page_of(verdict=verdict)) for verdict in (True, False, None)}
    assert "<span>holds</span>" in told[True]
    assert "<span>does not hold</span>" in told[False]
    assert '<p class="answer">' not in told[None]


def test_editions_are_told_apart():
    assert "not for publication" in render(page_of(edition="owner"))
    assert "not for publication" not in render(page_of(edition="public"))
