"""The picture of a report for the README: ``python -m benchmarks.picture docs/images/report.png``.

It is an excerpt of a real page, of the embedded sample: the verdict, the released data and the
hierarchy of a column, in light colours. It needs playwright and Chromium (``INCROWD_CHROMIUM``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from incrowd.flow.run import run
from incrowd.job.job import Job
from incrowd.samples import write_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH = 1_180
N_ROWS, SEED = 3_000, 5
SHOWN = ("data", "column-4")
"""The sections of the page that are in the picture."""

EXCERPT = """shown => {
  for (const part of document.querySelectorAll('main section, nav, .appendix'))
    if (!shown.includes(part.id)) part.remove();
  for (const part of document.querySelectorAll('.frame')) part.style.display = 'block';
  for (const part of document.querySelectorAll('section, .prose')) part.style.marginTop = '1.2rem';
  for (const part of document.querySelectorAll('details, .card.bars')) part.remove();
  document.body.style.paddingBottom = '1.5rem';
}"""


def make_report(folder: Path) -> Path:
    """Anonymize the sample with all that a hospital would state, and return its report."""
    write_sample(folder, N_ROWS, SEED)
    hierarchies = folder / "hierarchies"
    job = Job.from_mapping(
        {
            "data": str(folder / "census.csv"),
            "roles": {
                **dict.fromkeys(("age", "sex", "zip", "education"), "quasi-identifying"),
                "marital_status": "quasi-identifying",
                "diagnosis": "sensitive",
                "name": "identifying",
            },
            "hierarchies": {
                "education": str(hierarchies / "education.csv"),
                "marital_status": str(hierarchies / "marital_status.csv"),
            },
            "guarantee": {"k": 5, "l": 3},
            "release": {
                "report": str(folder / "report.html"),
                "report_title": "Census sample for teaching",
            },
        }
    )
    run(job)
    return folder / "report.html"


def take_picture(browser: Browser, report: Path, picture: Path) -> None:
    """Open a report and save what is to be seen of it."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
    page.goto(report.as_uri())
    page.evaluate(EXCERPT, list(SHOWN))
    page.screenshot(path=str(picture), full_page=True)
    page.close()


def main() -> None:
    """Make the picture where it is asked for."""
    from playwright.sync_api import sync_playwright

    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/report.png")
    path = os.environ.get("INCROWD_CHROMIUM", "/usr/bin/chromium")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take_picture(browser, make_report(Path(folder)), picture)
        browser.close()
    print(f"{picture}: {picture.stat().st_size / 1024:,.0f} KB")


if __name__ == "__main__":
    main()
