"""A real browser's opinion of a page. Where there is no browser, the test that asks is skipped, and says so."""

import shutil
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

USUAL_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
# The page under test needs no network, and neither does the browser.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TELEPHONE = {"width": 360, "height": 740}

_SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
_BROKEN_IMAGES = """
Array.from(document.images).filter(i => !i.complete || !i.naturalWidth).map(i => i.alt || i.src.slice(0, 80))
"""


class Opinion(NamedTuple):
    """What the browser says about a page."""

    complaints: list[str]  # console errors and warnings, errors in scripts, failed requests
    requests: list[str]  # every address outside the page itself that it asked for
    broken_images: list[str]
    scrolls_sideways: bool  # on a screen 360 pixels wide
    text: str  # what a reader sees


def open_page(path: Path, colours: str = "light", screenshot: Path | None = None) -> Opinion:
    """Open a file on a narrow screen and return the browser's opinion; skip the test where no browser can be had.

    `colours` is "light" or "dark"; `screenshot` names a .png file for the whole page.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_loudly("the Python package playwright is not installed")
    with sync_playwright() as playwright:
        browser = _launch(playwright.chromium)
        try:
            page = browser.new_page(viewport=TELEPHONE, color_scheme=colours)
            complaints, requests = _listen(page, path.resolve().as_uri())
            page.goto(path.resolve().as_uri(), wait_until="load")
            if screenshot is not None:
                page.screenshot(path=screenshot, full_page=True)
            return Opinion(
                complaints,
                requests,
                page.evaluate(_BROKEN_IMAGES),
                page.evaluate(_SIDEWAYS),
                page.inner_text("body"),
            )
        finally:
            browser.close()


def _listen(page, address):
    """Return two lists that fill with complaints and with requests to elsewhere while the page is open."""
    complaints, requests = [], []

    def note(request):
        if request.url != address and not request.url.startswith("data:"):
            requests.append(request.url)

    page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"{request.url[:80]}: {request.failure}"))
    page.on("request", note)
    return complaints, requests


def _launch(chromium):
    """Return a running browser: Playwright's own, or else the system's."""
    found = [path for name in USUAL_NAMES if (path := shutil.which(name))]
    own = Path(chromium.executable_path)
    candidates = [*([str(own)] if own.exists() else []), *found]
    reasons = []
    for path in candidates:
        try:
            return chromium.launch(executable_path=path, args=list(ARGUMENTS))
        except Exception as error:
            reasons.append(f"{path}: {str(error).splitlines()[0]}")
    skip_loudly("; ".join(reasons) or f"there is neither Playwright's browser nor any of {', '.join(USUAL_NAMES)}")


def skip_loudly(reason):
    """Skip the test, with a warning that pytest's summary shows even where it does not show skips."""
    warnings.warn(f"NOT CHECKED IN A BROWSER: {reason}", stacklevel=2)
    pytest.skip(f"no browser: {reason}")
