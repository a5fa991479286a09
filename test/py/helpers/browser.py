"""Headless Chromium, driven by Playwright: what a person sees of a page and does with it."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> "Iterator[Browser]":
    """A browser.  Skips the test where there is none."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("no Chromium with Playwright: ./run browser, and the extra 'dev'")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: "Browser", path: Path, *, scheme: str = "light", width: int = 1280) -> "Iterator[Page]":
    """A report, shown.  In the end nothing may have been written to the console, and nothing loaded but the
    file.  scheme: "light" or "dark".  width: of the window, in pixels.
    """
    said, loaded = list[str](), set[str]()
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(10_000)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: loaded.add(request.url.partition("#")[0]))
    page.goto(path.as_uri())
    page.wait_for_selector("main[data-ready]")
    yield page
    assert said == [] and {url for url in loaded if not url.startswith("blob:")} == {path.as_uri()}
    page.close()
