"""A headless Chromium, driven by selenium; tests that need one are skipped where there is none."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1480,1000",
)
PATIENCE = 60.0  # seconds for what should come at once; a slow machine is no failure


def missing() -> str | None:
    """Why there is no browser, or None; RuntimeError where `TIRSCRIPT_BROWSER` says that there must be one."""
    reason = _missing()
    if reason is not None and os.environ.get("TIRSCRIPT_BROWSER") == "required":
        raise RuntimeError(reason)
    return reason


def _missing() -> str | None:
    if _program("chromium", "chromium-browser", "google-chrome") is None:
        return "there is no chromium on the path (Debian: apt-get install chromium chromium-driver)"
    if _program("chromedriver") is None:
        return "there is no chromedriver on the path (Debian: apt-get install chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (pip install tirscript[browser])"
    return None


def _program(*names: str) -> str | None:
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """A driver of a browser whose files are in `folder`, an empty one."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium", "chromium-browser", "google-chrome") or ""
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(_program("chromedriver")))
    try:
        driver.set_script_timeout(PATIENCE)
        yield driver
    finally:
        driver.quit()


def until(found: Callable[[], Any], what: str) -> Any:
    """What `found` gives once it gives something; AssertionError where it never does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


class Viewer:
    """A page that is open, by what a reader does with it."""

    def __init__(self, driver, path, anchor=""):
        self.driver = driver
        driver.get("about:blank")
        driver.get(f"{path.as_uri()}{anchor}")
        until(lambda: self.run("return document.body.dataset.ready"), "the page is ready")

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return until(lambda: self.all(selector), selector)[0]

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector)

    def lines(self, side, kind=""):
        """The lines of a pane that are in the page, with their numbers."""
        rows = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((one) =>"
            " [+one.dataset.line + 1, one.querySelector('.code').textContent])",
            f".pane.{side} .row[data-line]{kind}",
        )
        return dict(rows)

    def press(self, keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(keys).perform()

    def hover(self, element):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).move_to_element(element).perform()

    def open(self, name):
        """Click a stage at the side."""
        until(lambda: name in self.texts("#stages .stage .name"), name)
        self.run(
            "[...document.querySelectorAll('#stages .stage')].find((one) =>"
            " one.querySelector('.name').textContent === arguments[0]).click()",
            name,
        )
        self.settled(lambda: self.texts("#stages .stage[aria-current] .name") == [name], name)

    def settled(self, found, what):
        until(lambda: not self.run("return document.body.classList.contains('loading')") and found(), what)

    def name(self, side, text, at=0):
        """A name in the text of a pane."""
        found = until(lambda: [one for one in self.all(f".pane.{side} .symbol") if one.text == text], text)
        return found[at]

    def row(self, side, line):
        return self.one(f'.pane.{side} .row[data-line="{line - 1}"] .gutter')


def write(folder, name, text):
    """A page in a file."""
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path
