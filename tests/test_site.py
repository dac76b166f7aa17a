"""The documentation site: links lead somewhere, pages load nothing from outside, and a browser shows them well."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import Browser

import draw_pictures
import site_notebooks
from tests.browser import WIDTHS, Visit, style
from weft_papers import FIGURES

ROOT = Path(__file__).parent.parent
MKDOCS = str(Path(sys.executable).parent / "mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [MKDOCS, "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


class References(HTMLParser):
    """Links of a page, the files that it loads, and the names in it to which others may refer."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {str(given[name]) for name in ("id", "name") if given.get(name)}
        target = given.get("href") or given.get("src")
        if target is None:
            return
        self.links.append(target)
        if tag != "a" and given.get("rel") not in ("canonical", "next", "prev", "alternate"):
            self.loaded.append(target)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, References]:
    return {page: References(page) for page in site.rglob("*.html")}


def test_links_lead_somewhere(site: Path, pages: dict[Path, References]) -> None:
    missing = []
    for page, found in pages.items():
        if page.name == "404.html":
            continue  # It may be shown at any address, so its links begin at the root.
        for link in found.links:
            target, anchor = urldefrag(unquote(link))
            if "://" in target or target.startswith(("mailto:", "data:")):
                continue
            target_page = (page.parent / target).resolve() if target else page
            target_page = target_page / "index.html" if target_page.is_dir() else target_page
            names = pages[target_page].names if target_page in pages else set()
            if not target_page.exists() or (anchor and target_page in pages and anchor not in {*names, "__top"}):
                missing.append(f"{page.relative_to(site)}: {link}")
    assert missing == []


def test_nothing_is_loaded_from_outside(pages: dict[Path, References]) -> None:
    outside = [link for found in pages.values() for link in found.loaded if "//" in link]
    assert outside == []


def test_all_figures_and_documents_are_there(site: Path, pages: dict[Path, References]) -> None:
    gallery = (site / "validation" / "plots.html").read_text()
    assert [figure.name for figure in FIGURES if f"weft reproduce {figure.name}" not in gallery] == []
    assert gallery.count("claims hold") == len(list((ROOT / "docs" / "claims").glob("*.json")))
    documents = (file for kind in ("*.md", "*.ipynb") for file in (ROOT / "docs").rglob(kind))
    written = {file.relative_to(ROOT / "docs").with_suffix(".html") for file in documents}
    assert written <= {page.relative_to(site) for page in pages}
    reference = (site / "reference" / "python.html").read_text()
    for name in ("weft.api.run", "weft.stats.median_ci", "weft.congestion_control.CongestionControl.on_mark"):
        assert f'id="{name}"' in reference
    assert "weft sweep" in (site / "command.html").read_text()


def test_the_front_page_shows_results_at_full_size(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert [name for name in draw_pictures.FULL_SIZE if f"pictures/full-size/{name}.svg" not in front] == []


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base names it
        """Says nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


SHOWN = [
    "index",
    "tutorials/first-experiment",
    "tutorials/sweep",
    "how-to/rust-algorithm",
    "reference",
    "reference/congestion-control",
    "reference/python",
    "explanation/which-transport",
    "gallery",
    "validation/plots",
    "claims/amp",
]


BROKEN_NAMES = "them => them.filter(it => it.getClientRects().length > 1).map(it => it.textContent)"


@pytest.mark.parametrize("file", sorted(site_notebooks.NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem)
def test_notebooks_show_tables_and_plots(site: Path, file: Path) -> None:
    page = (site / "tutorials" / f"{file.stem}.html").read_text(encoding="utf-8")
    code = [cell.source for cell in site_notebooks.read(file).cells if cell.cell_type == "code"]
    plots = [source for source in code if "plot." in source or "subplots" in source]
    assert page.count('alt="What the code above draws"') >= len(plots) > 0
    assert page.count("<table") > 2


@pytest.mark.parametrize("name", SHOWN)
def test_pages_in_a_browser(browser: Browser, address: str, name: str) -> None:
    for scheme in ("light", "dark"):
        # A context each: the site remembers the palette that it chose first.
        context = browser.new_context(color_scheme=scheme)
        visit = Visit(context, f"{address}/{name}.html")
        ground = style(visit.page.locator("body"), "backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        for width in WIDTHS if scheme == "light" else WIDTHS[-1:]:
            visit.page.set_viewport_size({"width": width, "height": 900})
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            assert visit.page.locator("td:first-child code").evaluate_all(BROKEN_NAMES) == []
        for plot in visit.page.locator(".md-typeset img").all():
            assert (style(plot, "filter") != "none") == (scheme == "dark")
            assert plot.evaluate("it => it.complete && it.naturalWidth") > 100
        assert visit.elsewhere(address) == []
        assert visit.complaints == []
        context.close()


FOUND = """() => {
    document.querySelector("input[name=query]").dispatchEvent(new Event("keyup"));
    return document.querySelector(".md-search-result__item");
}"""
"""Text that was typed before the page's scripts listened is lost, so the event is repeated until they react."""


def test_search_finds(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/index.html")
    page.locator("input[name=query]").fill("suppression")
    page.wait_for_function(FOUND, polling=200, timeout=20_000)
    assert page.locator(".md-search-result__item").count() > 2
    page.close()


def test_equations_are_drawn(site: Path) -> None:
    page = (site / "explanation" / "which-transport.html").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "explanation" / "which-transport.md").read_text(encoding="utf-8")
    assert page.count('<svg class="math"') == guide.count("```math") > 30
    assert page.count("Do not use it") == len(draw_pictures.algorithms())
