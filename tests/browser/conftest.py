"""One headless browser for all pages."""

import os
import shutil

import pytest

PATHS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def _browser_path():
    stated = os.environ.get("INCROWD_CHROMIUM")
    return stated or next((path for path in PATHS if shutil.which(path)), None)


@pytest.fixture(scope="session")
def browser():
    """Skip, saying why, where there is no browser; fail where there must be one."""
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
