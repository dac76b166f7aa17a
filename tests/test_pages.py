"""The pages in a real browser, opened from the disk with the network off."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser

from tests.browser import WIDTHS, Visit, contrast, style
from tests.command import weft
from tests.papers import tiny
from weft.errors import WeftError
from weft_papers import demo_incast, demo_permutation
from weft_papers.amp.settings import SHOWN
from weft_papers.figure import Scale
from weft_papers.paper import reproduce_all


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    ended = weft("demo", "--out", "demo", cwd=folder)
    assert (ended.code, ended.err) == (0, "")
    assert all(name in ended.out for name in ("AMP", "XMP", "DCM", "DCTCP"))
    return folder / "demo"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as monkeypatch:
        tiny.install(monkeypatch, "good", "bad", "other", error=WeftError("needs <root>"))
        reproduce_all("tiny", Scale(seeds=2), folder).write(folder)
    return folder


@pytest.fixture(params=["demo", "paper"])
def visit(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visit]:
    folder = request.getfixturevalue(request.param)
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    visit = Visit(context, (folder / "index.html").as_uri())
    assert visit.asked[0] == (folder / "index.html").as_uri()
    assert visit.elsewhere(f"{folder.as_uri()}/") == []
    yield visit
    context.close()


def test_images_load_and_are_described(visit: Visit) -> None:
    images = visit.page.locator("img").all()
    assert len(images) > 0
    for image in images:
        assert image.evaluate("it => it.complete && it.naturalWidth") > 100
        assert len(image.get_attribute("alt") or "") > 10
    assert visit.complaints == []


def test_tables_have_headers(visit: Visit) -> None:
    tables = visit.page.locator("table").all()
    assert len(tables) > 0
    for table in tables:
        assert table.locator("thead th[scope=col]").count() == table.locator("thead th").count() > 1
        assert table.locator("tbody tr").count() > 0
    assert visit.page.locator("h1").count() == 1
    assert visit.page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_text_is_readable_light_dark_and_printed(visit: Visit) -> None:
    body = visit.page.locator("body")
    grounds = []
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        grounds.append(style(body, "backgroundColor"))
        assert contrast(style(body, "color"), grounds[-1]) >= 7
    assert grounds[0] == "rgb(255, 255, 255)"
    assert grounds[1] != grounds[0]
    visit.page.emulate_media(color_scheme="dark", media="print")
    assert style(body, "backgroundColor") == grounds[0]
    assert contrast(style(body, "color"), grounds[0]) >= 7


def test_plots_turn_dark_and_are_enlarged_by_a_click(visit: Visit) -> None:
    shown = visit.page.locator("figure .plot").first
    for scheme, turned in (("light", False), ("dark", True)):
        visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert (shown.evaluate("it => getComputedStyle(it).filter") != "none") == turned
    before = visit.page.locator("figure a").first
    large = visit.page.locator(str(before.get_attribute("href")))
    assert not large.is_visible()
    before.click()
    assert large.is_visible()
    width = visit.page.evaluate("window.innerWidth")
    assert large.locator("img").evaluate("it => it.getBoundingClientRect().width") >= width
    large.click()
    assert not large.is_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_verdicts_are_on_the_screen(browser: Browser, paper: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((paper / "index.html").as_uri())
    verdicts = page.locator(".verdict").all()
    assert len(verdicts) == 4
    for verdict in verdicts:
        box = verdict.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
    page.close()


def test_page_of_a_paper_has_the_outcome_of_each_figure(browser: Browser, paper: Path) -> None:
    page = browser.new_page()
    page.goto((paper / "index.html").as_uri())
    assert "4 of 4 claims hold" in page.inner_text("body > p")
    assert page.locator("[role=note]").inner_text().split() == (
        ["Failed.", "These", "figures", "have", "no", "results:", "tiny/bad:", "needs", "<root>"]
    )
    assert page.locator("section").count() == 2
    assert page.locator("section h2").first.inner_text() == f"tiny/good: {tiny.TITLES['good']}"
    for link in page.locator("a").all():
        target = str(link.get_attribute("href"))
        assert page.locator(target).count() == 1 if target.startswith("#") else (paper / target).exists()
    page.close()


def test_demo_has_its_tables_beside_it(demo: Path) -> None:
    tables = {f"{part}{kind}.parquet" for part in ("permutation", "incast") for kind in ("", "-flows")}
    pages = {"index.html", "report.html", "incast.png", "permutation.png", "runs"}
    assert {path.name for path in demo.iterdir()} == tables | pages
    assert (demo / "report.html").stat().st_size < 5e6
    rows = [len(pl.read_parquet(demo / f"{part}.parquet")) for part in ("permutation", "incast")]
    assert rows == [2 * 4, 4 * 4]
    assert (demo / "index.html").read_text().count("<tr>") == sum(1 + n for n in rows)


def test_demo_shows_where_multipath_wins_and_where_it_loses(demo: Path) -> None:
    text = (demo / "index.html").read_text()
    assert "<h2>A permutation: multipath wins</h2>" in text
    assert "<h2>Incast: multipath loses at k = 20, 30 and 40; AMP holds up to k = 30</h2>" in text
    assert "of about 200 ms is that of a flow that waited for the minimum RTO, and one of about 1500 ms " in text
    assert "profile linux</h3>" in text
    assert "128,000 bytes to one receiver over 10 Gbps; profile amp-2019</h3>" in text
    assert "KiB" not in text + "".join(path.name for path in (demo / "runs").iterdir())


def test_sentences_of_the_demo_are_those_of_its_tables(demo: Path) -> None:
    text = (demo / "index.html").read_text()
    for part, module in (("permutation", demo_permutation), ("incast", demo_incast)):
        labels = {shown.label: name for name, shown in SHOWN.items()}
        cells = pl.read_parquet(demo / f"{part}.parquet").with_columns(pl.col("algorithm").replace_strict(labels))
        found = re.findall(r"<li>(.*)</li>", text.partition(f"{part}-enlarged")[2].partition("</ul>")[0])
        assert [html.unescape(sentence) for sentence in found] == module.sentences(cells)


def test_pages_load_nothing_from_elsewhere(visit: Visit) -> None:
    policy = visit.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith("; base-uri 'none'; form-action 'none'")
