"""A page opened in a browser, and what makes it readable."""

from contextlib import contextmanager

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

CARDS = """() => {
  const right = document.querySelector('main').getBoundingClientRect().right;
  const rows = [], cards = [];
  for (const box of document.querySelectorAll('.cards')) {
    const ends = new Map();
    for (const card of box.children) {
      const outer = card.getBoundingClientRect();
      const ended = ends.get(Math.round(outer.top)) || 0;
      ends.set(Math.round(outer.top), Math.max(ended, outer.right));
      const inner = Math.max(...[...card.children].map(c => c.getBoundingClientRect().bottom));
      const empty = (outer.bottom - inner) / outer.height;
      cards.push({said: card.innerText.slice(0, 40), empty});
    }
    for (const [top, end] of ends) rows.push({top, right: end});
  }
  return {right, rows, cards};
}"""


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


def assert_quiet_and_readable(browser, path, width, scheme="light"):
    """Assert that a page says nothing, asks for nothing, and can be read at a width."""
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
