"""Pages of ten different sweeps: no section without content, no text over text, no chart without marks."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

import weft
from tests.browser import Visit
from tests.command import INCAST
from tests.command import weft as command
from weft.sweeps import summary
from weft_papers import demo

EXAMPLES = Path(__file__).parents[2] / "examples"
PROBES = [{"kind": "flow", "flows": "0..2"}, {"kind": "queue", "at": ["s0->r0"], "interval": "20us"}]


def example(name: str, **changes: Any) -> dict[str, Any]:
    """A spec of the examples; its files have absolute paths."""
    return tomllib.loads((EXAMPLES / f"{name}.toml").read_text()) | changes


def incast(**changes: Any) -> dict[str, Any]:
    return tomllib.loads(INCAST) | changes


SCHEMES = {
    "DCTCP": {"transports.t.cc": "dctcp"},
    "NDP": {"transports.t": {"kind": "ndp"}, "queues": {"kind": "trimming", "limit": "8 packets"}},
}
WEB = {
    "name": "web",
    "duration": "12ms",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "rate": "10Gbps", "delay": "1us"},
    "queues": {"limit": "100 packets", "mark": "20 packets"},
    "transports": {"t": {"cc": "dctcp"}},
    "traffic": [
        {
            "kind": "poisson",
            "transport": "t",
            "pairs": "random",
            "load": 0.5,
            "stop": "8ms",
            "size": {"kind": "empirical", "cdf": "web-search"},
        }
    ],
}
FAILURE = [{"at": "100us", "links": ["s0->r0"], "rate": "5Gbps"}]
UET = {"t": {"kind": "uet"}}

SWEEPS: dict[str, Callable[[], weft.Sweep]] = {
    "goodputs": lambda: weft.sweep(
        example("permutation", duration="12ms"), {"transports.sender.subflows": [1, 4]}, seeds=5, of="min goodput"
    ),
    "timeouts": lambda: weft.sweep(example("incast-amp"), {"transports.sender.cc": ["amp", "xmp", "dcm"]}, seeds=3),
    "two fields of numbers": lambda: weft.sweep(
        incast(),
        {"traffic[0].flows": list(range(2, 10)), "queues.mark": [f"{n} packets" for n in (5, 10, 20, 40)]},
        seeds=3,
    ),
    "failures": lambda: weft.sweep(
        incast(), {"events": [[], FAILURE], "transports.dctcp.cc": ["dctcp", "reno"]}, seeds=5
    ),
    "uet": lambda: weft.sweep(
        WEB | {"transports": UET, "queues": {"limit": "42 packets", "kind": "trimming"}},
        {"traffic[0].load": [0.3, 0.6]},
        seeds=2,
    ),
    "collective": lambda: weft.sweep(
        example("all-reduce"), {"traffic[0].algorithm": ["ring", "halving-doubling"]}, overrides=["traffic[0].size=2MB"]
    ),
    "jobs": lambda: weft.sweep(EXAMPLES / "jobs.toml", {}, seeds=2),
    "rates": lambda: weft.sweep(incast(level="flow"), {"traffic[0].flows": [2, 4]}, seeds=2),
    "one group with probes": lambda: weft.sweep(incast(probes=PROBES), {}, seeds=2),
    "many series by size": lambda: weft.sweep(
        WEB,
        {
            "transports.t.cc": ["dctcp", "reno", "cubic", "lia"],
            "queues.mark": ["5 packets", "20 packets"],
            "traffic[0].load": [0.3, 0.7],
        },
        seeds=2,
    ),
    "schemes": lambda: weft.sweep(WEB, {"scheme": SCHEMES}, seeds=5),
}

VIEWS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1440, "light"), (390, "dark"))

FAULTS = """() => {
  const faults = [];
  const shown = (it) => it.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  for (const section of document.querySelectorAll("section")) {
    const inner = [...section.querySelectorAll("table, pre, li, p, svg, select, summary")].filter(shown);
    if (!inner.length) faults.push(`section ${section.id} has no content`);
  }
  for (const heading of document.querySelectorAll("section h3, section h4")) {
    if (!shown(heading)) continue;
    let next = heading.nextElementSibling;
    while (next && !shown(next)) next = next.nextElementSibling;
    const beside = [...heading.parentElement.querySelectorAll("svg, table, p")];
    if (!next && !beside.some(shown)) faults.push(`nothing below ${heading.textContent}`);
  }
  const lasting = (text) => getComputedStyle(text).opacity !== "0" && text.getAttribute("opacity") !== "0";
  function textsOf(chart) {
    return [...chart.querySelectorAll("svg text")]
      .filter((text) => shown(text) && text.textContent.trim() && lasting(text))
      .map((text) => {
        const { a, b, e, f } = text.getScreenCTM();
        return { text: text.textContent, box: text.getBoundingClientRect(), angle: Math.atan2(b, a), e, f };
      })
      .filter(({ box }) => box.width > 0);
  }
  function overlap(one, other) {
    // A text with a halo is drawn twice.
    const twice = one.text === other.text && Math.abs(one.e - other.e) < 1 && Math.abs(one.f - other.f) < 1;
    if (twice) return false;
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const up = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (across <= 1 || up <= 3) return false;
    if (Math.abs(one.angle) < 0.05 || Math.abs(one.angle - other.angle) > 0.05) return true;
    // Parallel slanted texts: the distance of their lines counts.
    const [dx, dy] = [one.e - other.e, one.f - other.f];
    return Math.abs(dx * Math.sin(one.angle) - dy * Math.cos(one.angle)) < 10;
  }
  for (const chart of document.querySelectorAll(".chart")) {
    if (!shown(chart)) continue;
    const marks = [...chart.querySelectorAll("[class*='mark-'] :is(path, line, rect, text)")];
    const sizes = marks.map((mark) => mark.getBoundingClientRect()).filter((box) => box.width + box.height > 1);
    if (sizes.length < 2) faults.push(`${chart.id} has no marks`);
    const texts = textsOf(chart);
    texts.forEach((one, n) => texts.slice(0, n).forEach((other) => {
      if (overlap(one, other)) faults.push(`${chart.id}: "${one.text}" over "${other.text}"`);
    }));
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push("the page scrolls sideways");
  return faults;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(autouse=True)
def closed(browser: Browser) -> Iterator[None]:
    """Closes the pages that a test has opened."""
    yield
    for context in browser.contexts:
        context.close()


def opened(
    browser: Browser, file: Path, width: int, fragment: str = "", colours: Literal["light", "dark"] = "light"
) -> Page:
    size: ViewportSize = {"width": width, "height": 900}
    context = browser.new_context(offline=True, viewport=size, color_scheme=colours, accept_downloads=True)
    visit = Visit(context, file.as_uri() + fragment)
    visit.page.wait_for_selector("body[data-ready]", timeout=60_000)
    assert visit.complaints == []
    return visit.page


@pytest.mark.filterwarnings("ignore::weft.errors.ResultWarning")
@pytest.mark.parametrize("name", SWEEPS)
def test_page_has_no_faults(browser: Browser, pages: Path, name: str) -> None:
    file = SWEEPS[name]().report(pages / f"{name.replace(' ', '-')}.html")
    for width, colours in VIEWS:
        assert opened(browser, file, width, colours=colours).evaluate(FAULTS) == []


NEAREST = """() => {
  const middle = (it) => { const box = it.getBoundingClientRect(); return (box.left + box.right) / 2; };
  const chart = document.getElementById("compared-chart");
  const ticks = [...chart.querySelectorAll(".role-axis-label text")]
    .filter((it) => /^[0-9]+$/.test(it.textContent))
    .map((it) => [it.textContent, middle(it)]);
  return [...chart.querySelectorAll(".mark-symbol.role-mark path")].map((mark) => {
    const apart = ticks.map(([text, x]) => [Math.abs(middle(mark) - x), text]).sort((a, b) => a[0] - b[0]);
    return [apart[0][1], apart[0][0] / apart[1][0]];
  });
}"""


@pytest.mark.filterwarnings("ignore::weft.errors.ResultWarning")
def test_marks_beside_each_other_are_near_their_value(browser: Browser, pages: Path) -> None:
    """Marks of several lines at one value stand apart, yet a reader sees to which value they belong."""
    flows, marks = range(2, 10), (5, 10, 20, 40)
    over = {"traffic[0].flows": list(flows), "queues.mark": [f"{n} packets" for n in marks]}
    file = weft.sweep(incast(), over, seeds=1).report(pages / "near.html")
    for width in (1440, 390):
        found = opened(browser, file, width).evaluate(NEAREST)
        assert sorted(value for value, _ in found) == sorted(str(n) for n in flows for _ in marks)
        assert max(ratio for _, ratio in found) < 0.5


@pytest.mark.filterwarnings("ignore::weft.errors.ResultWarning")
def test_many_lines_have_no_intervals(browser: Browser, pages: Path) -> None:
    """They would hide each other, and the scale is that of the lines."""
    names = ["dctcp", "reno", "cubic", "lia", "olia", "balia", "amp", "xmp", "dcm", "amp-fg", "warp", "wvegas"]
    for count, shown in ((12, False), (3, True)):
        sweep = weft.sweep(WEB, {"transports.t.cc": names[:count]}, seeds=5)
        page = opened(browser, sweep.report(pages / f"{count}-algorithms.html"), 1440)
        assert page.evaluate(FAULTS) == []
        assert ("bars their 95 %" in page.locator("#by-size-p99-caption").inner_text()) is shown
        assert (page.locator("#by-size-p99 .mark-rule.role-mark line").count() > 0) is shown
        assert (page.locator("#cdf .mark-area.role-mark path").count() > 0) is shown


def test_the_page_of_the_demo_has_no_faults(browser: Browser, pages: Path) -> None:
    demo.run().write(pages)
    for width, colours in VIEWS:
        assert opened(browser, pages / "report.html", width, colours=colours).evaluate(FAULTS) == []


def test_the_check_finds_faults(browser: Browser, pages: Path) -> None:
    file = pages / "faulty.html"
    file.write_text(
        "<body data-ready=yes><section id=a><h2>Empty</h2></section><section><h3>x</h3><div class=chart id=c>"
        "<svg width=200 height=50><text x=0 y=20>one</text><text x=5 y=20>two</text></svg></div></section>"
    )
    faults = opened(browser, file, 390).evaluate(FAULTS)
    assert faults[0] == "section a has no content"
    assert set(faults[1:]) == {"c has no marks", 'c: "two" over "one"'}


def test_timeline_opens_on_activity_and_the_named_measure(browser: Browser, pages: Path) -> None:
    """The runs last 50 ms, and all flows are over after one."""
    sweep = weft.sweep(incast(), {"traffic[0].flows": [2, 4]}, seeds=2, of="max fct", workers=1)
    page = opened(browser, sweep.report(pages / "active.html"), 1440)
    assert page.locator("#scene option").first.inner_text() == "while flows were open"
    assert page.locator("#metric option:checked").inner_text() == "max FCT"
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    scene = data["runs"][0]["scenes"][-1]
    assert scene["high"] < 0.002
    hottest = max(link["utilisation"] for link in data["runs"][0]["fabric"]["links"])
    assert hottest > 0.2


def test_a_collective_is_compared_by_its_time(browser: Browser, pages: Path) -> None:
    sweep = SWEEPS["collective"]()
    assert summary.default_measures(sweep) == ["mean jct", "mean busbw"]
    page = opened(browser, sweep.report(pages / "jct.html"), 1440)
    assert page.locator("#metric option:checked").inner_text() == "mean JCT"
    best = sweep.summary("mean jct").sort("median").row(0, named=True)
    cells = page.locator("#answers tr").locator("td").all_inner_texts()
    assert cells[0] == best["algorithm"]
    assert float(cells[1].split()[0]) == pytest.approx(best["median"] * 1e6, rel=5e-3)


def test_the_page_has_the_spec_of_a_sweep_that_was_no_file(browser: Browser, pages: Path, tmp_path: Path) -> None:
    sweep = weft.sweep(incast(), {"traffic[0].flows": [2, 4]}, seeds=2, workers=1)
    page = opened(browser, sweep.report(pages / "rerun.html"), 1440)
    again = page.locator("#again")
    with page.expect_download() as download:
        again.locator("a[download]").first.click()
    name = download.value.suggested_filename
    download.value.save_as(tmp_path / name)
    words = shlex.split(again.locator("pre").first.inner_text())
    assert words[:3] == ["weft", "sweep", name]
    assert command(*words[1:], "--out", "again", cwd=tmp_path).code == 0
    assert weft.Sweep(tmp_path / "again").flows.equals(sweep.flows)


def test_the_layout_is_in_the_address(browser: Browser, pages: Path) -> None:
    over = {"traffic[0].flows": [2, 3, 4], "transports.dctcp.cc": ["dctcp", "reno"]}
    file = weft.sweep(incast(), over, seeds=2, workers=1).report(pages / "address.html")
    page = opened(browser, file, 1440)
    page.locator("#metric").select_option(label="FCT, p99")
    page.locator("summary", has_text="Rows, columns").click()
    page.locator("#role-rows").select_option("flows")
    address = page.evaluate("location.hash")
    assert "metric=FCT" in address
    again = opened(browser, file, 1440, address)
    assert again.locator("#metric option:checked").inner_text() == "FCT, p99"
    assert again.locator("#role-rows").input_value() == "flows"


def test_charts_can_be_saved(browser: Browser, pages: Path) -> None:
    file = weft.sweep(incast(probes=PROBES), {"traffic[0].flows": [2, 4]}, seeds=2, workers=1).report(
        pages / "save.html"
    )
    page = opened(browser, file, 1440)
    for chart in ("compared-chart", "fabric", "queues"):
        figure = page.locator(f"figure:has(#{chart})")
        for kind, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"")):
            with page.expect_download() as download:
                figure.get_by_role("button", name=kind).click()
            assert download.value.suggested_filename == f"{chart}.{kind.lower()}"
            content = Path(download.value.path()).read_bytes()
            assert content.startswith(begin)
            assert b"currentColor" not in content
            assert len(content.splitlines()) > 1 or kind != "CSV"
