"""Pages in Debian's Chromium."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, sync_playwright

CHROMIUM = shutil.which("chromium")
WIDTHS = (390, 768, 1440)
"""Of a phone, a tablet and a desk, in pixels."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser. The test is skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH; `make test` installs Debian's where it may")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Visit:
    """A page that a browser has loaded, what it has asked for, and what it complains of."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address, wait_until="load")

    def elsewhere(self, *homes: str) -> list[str]:
        """URLs that the page requested from other addresses than these and its own."""
        return [url for url in self.asked if not url.startswith((*homes, "data:"))]


def contrast(one: str, other: str) -> float:
    """Of two colours, such as `rgb(0, 0, 0)` or `#000000` (WCAG 2, 1.4.3)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    hexadecimal = [str(int(colour[n : n + 2], 16)) for n in (1, 3, 5)] if colour.startswith("#") else None
    numbers = hexadecimal or re.findall(r"[0-9.]+", colour)
    parts = [float(number) / 255 for number in numbers[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def style(element: Locator, name: str) -> str:
    """A property of an element, as it is shown, such as `backgroundColor`."""
    return str(element.evaluate("(it, name) => getComputedStyle(it)[name]", name))
