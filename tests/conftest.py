"""Fixtures and hooks of several tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.command import INCAST

if TYPE_CHECKING:
    from playwright.sync_api import Browser


KERNEL_TESTS = "WEFT_KERNEL_TESTS"
"""The variable that crates/weft-test-support reads as well."""

# Hypothesis fails an example that takes more than 200 ms by the clock, also if the machine is busy with other tests.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


# Before pytest-xdist reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests of a file in one process (`--dist loadgroup`), because they share fixtures."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a skipped test on this machine's kernel fail if `WEFT_KERNEL_TESTS` is "required", as in `.ci/run`."""
    report = yield
    required = os.environ.get(KERNEL_TESTS) == "required" and item.get_closest_marker("kernel") is not None
    if report.skipped and required:
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr}: set {KERNEL_TESTS} to the reason why it may be skipped"
    return report


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C and a hang-up work in processes that are started here, even if the tests run where they are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small incast, in a folder of its own."""
    path = tmp_path / "incast.toml"
    path.write_text(INCAST)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of a file."""
    from tests.browser import chromium

    with chromium() as started:
        yield started
