"""The comparison of a report: fields have roles, every group is reachable, and the page names the best."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page

import weft
from tests.browser import WIDTHS, Visit
from tests.command import INCAST
from tests.command import weft as command
from weft.errors import UsageError
from weft.plots import altair_plots
from weft.reports import comparison_figures, run_figures
from weft.reports.comparison import compare
from weft.reports.fabric import picture
from weft.reports.factors import MAX_LABEL, Wishes, arrange, factor
from weft.reports.inputs import read
from weft.reports.link_events import link_events

EVENT = '[{at="100us", links=["s0->r0"], rate="5Gbps"}]'
LARGE = """
[[traffic]]
kind = "incast"
transport = "dctcp"
flows = 2
size = "150KB"
gap = "50us"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three fields with five seeds, with flows of two classes of sizes."""
    folder = tmp_path_factory.mktemp("layout")
    (folder / "incast.toml").write_text(INCAST + LARGE)
    over = ["transports.dctcp.cc=dctcp,amp,xmp", "traffic[0].flows=3,4", f"events=[],{EVENT}"]
    chosen = [word for axis in over for word in ("--over", axis)]
    done = command("sweep", "incast.toml", *chosen, "--seeds", "5", "--out", "sweep", "--workers", "1", cwd=folder)
    assert done.code == 0, done
    assert command("report", "sweep", "-o", "sweep.html", cwd=folder).code == 0
    return folder


@pytest.fixture(autouse=True)
def closed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Closes the pages that a test has opened, so that the next test has the processor for itself."""
    yield
    if "browser" in request.fixturenames:
        for context in request.getfixturevalue("browser").contexts:
            context.close()


def visit(browser: Browser, file: Path, width: int = 1440) -> Page:
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
    visited = Visit(context, file.as_uri())
    visited.page.wait_for_selector("body[data-ready]", timeout=60_000)
    assert visited.complaints == []
    return visited.page


def answers(page: Page) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in page.locator("#answers tr").all()]


def test_the_answer_is_on_the_first_screen(browser: Browser, folder: Path) -> None:
    for width, height in zip(WIDTHS, (844, 1024, 900), strict=True):
        page = visit(browser, folder / "sweep.html", width)
        box = page.locator("#answers tr").first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < height


def test_the_best_is_the_lowest_mean_and_is_sure_only_if_all_differences_are(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    assert page.locator("#answer-title").inner_text() == "Lowest p99 slowdown, flows below 100 KB"
    sweep = weft.Sweep(folder / "sweep")
    short = sweep.flows.filter(pl.col("size_bytes") < 100_000)
    by = ("events", "flows", "cc", "seed")
    values = weft.stats.percentiles(short, "slowdown", [99], by=by, at_least="slowdown_at_least")
    shown = answers(page)
    assert len(shown) == 4
    for (labels, rows), (where, best, mean, following, sure) in zip(
        sorted(values.group_by("flows", "events"), key=lambda group: (group[0][0], group[0][1] != "[]")),
        shown,
        strict=True,
    ):
        means = rows.group_by("cc").agg(pl.col("p99").median()).sort("p99")
        state = "none" if labels[1] == "[]" else "s0->r0 5Gbps"
        assert where == f"flows = {labels[0]}, events = {state}"
        assert best == means["cc"][0]
        assert float(mean.split()[0]) == pytest.approx(means["p99"][0], rel=5e-3)
        assert following.split()[0] == means["cc"][1]
        lowest = rows.filter(cc=best).sort("seed")["p99"]
        close = []
        for other in means["cc"][1:]:
            ratios = rows.filter(cc=other).sort("seed").select(ratio=pl.col("p99") / lowest)
            if weft.stats.median_ci(ratios, "ratio").item(0, "low") <= 1:
                close.append(other)
        expected = {
            0: "below every other (95 %)",
            1: f"not separable from {close[0]}" if close else "",
            2: "not separable from any other",
        }
        assert sure == expected[len(close)]


def test_nothing_is_best_while_a_group_has_no_value(browser: Browser, tmp_path: Path) -> None:
    """Level `flow` has no timeouts."""
    (tmp_path / "incast.toml").write_text(INCAST)
    over = ["--over", "level=packet,flow", "--over", "traffic[0].flows=2,3", "--seeds", "2"]
    assert command("sweep", "incast.toml", *over, "--out", "levels", "--workers", "1", cwd=tmp_path).code == 0
    assert command("report", "levels", "-o", "levels.html", "--colour", "level", cwd=tmp_path).code == 0
    page = visit(browser, tmp_path / "levels.html")
    page.locator("#metric").select_option("FCT, p99")
    assert all(row[1] in ("packet", "flow") for row in answers(page))
    page.locator("#metric").select_option("timeouts per flow")
    page.wait_for_timeout(300)
    shown = answers(page)
    assert [row[1:] for row in shown] == 2 * [["none", "", "", "not comparable: flow (no value)"]]
    assert "timeouts per flow: not of level = flow" in page.locator("#absent").inner_text()
    assert page.get_by_text("Distributions", exact=True).count() == 0


def test_every_group_is_reachable(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    marks = page.locator("#compared-chart .mark-symbol.role-mark path")
    assert marks.count() == 12
    page.locator("#where-1").select_option("4")
    page.locator("#where-2").select_option("none")
    page.wait_for_timeout(300)
    assert marks.count() == 3
    assert [row[0] for row in answers(page)] == ["flows = 4, events = none"]
    assert page.locator("#run option").count() == 12


def test_roles_are_chosen_on_the_page_and_by_the_command(browser: Browser, folder: Path) -> None:
    options = ["--rows", "cc", "--columns", "flows", "--colour", "events", "--where", "flows=4", "-o", "chosen.html"]
    assert command("report", "sweep", *options, cwd=folder).code == 0
    page = visit(browser, folder / "chosen.html")
    assert page.locator("#role-rows").input_value() == "cc"
    heads = page.locator("#compared-chart svg text").all_text_contents()
    panels = [f"cc = {cc}, flows = 4" for cc in ("dctcp", "amp", "xmp")]
    assert [head for head in heads if head in panels] == panels
    page.locator("summary", has_text="Rows, columns").click()
    page.locator("#role-x").select_option("flows")
    page.wait_for_timeout(300)
    assert page.locator("#role-columns").input_value() == ""
    assert page.locator("#where-1").input_value() == "-1"
    assert page.locator("#compared-chart .mark-symbol.role-mark path").count() == 12
    page.locator("#role-colour").select_option("")
    page.wait_for_timeout(300)
    # Without colours, the values along the x axis are compared.
    assert {row[1].split()[0] for row in answers(page)} == {"flows"}
    page.locator("#role-x").select_option("")
    page.wait_for_timeout(300)
    assert page.locator("#answer").is_hidden()


def test_nothing_sticks_out_whatever_the_layout(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html", 390)
    page.locator("summary", has_text="Rows, columns").click()
    for role in ("rows", "x", "line", "columns"):
        page.locator(f"#role-{role}").select_option("flows")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for chart in page.locator("#compared .chart svg:visible").all():
            box = chart.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= 391, role


def test_events_are_marked(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    document = json.loads(page.locator("#data").inner_text())
    for number, run in enumerate(document["runs"]):
        page.locator("#run").select_option(str(number))
        page.wait_for_timeout(150)
        changed = "s0->r0" in run["label"]
        assert [event["at"] for event in run["events"]] == (pytest.approx([1e-4]) if changed else [])
        assert [cross["text"] for cross in run["crosses"]] == (["100 us: s0->r0 rate 5Gbps"] if changed else [])
        crosses = page.locator("#fabric .mark-symbol.role-mark path[fill='#d1242f']")
        assert crosses.count() == len(run["crosses"])


def test_each_mark_of_an_event_is_on_one_cable() -> None:
    names = [(f"spine{spine}", f"leaf{leaf}") for spine in range(4) for leaf in range(4)]
    names += [(f"leaf{leaf}", f"h{4 * leaf + host}") for leaf in range(4) for host in range(4)]
    layers = ["spine-leaf" if name.startswith("spine") else "leaf-host" for name, _ in names]
    links = pl.DataFrame(
        {
            "link": range(32),
            "from": [one for one, _ in names],
            "to": [other for _, other in names],
            "layer": layers,
            "rate_bps": 10**9,
            "utilisation": 0.5,
        }
    )
    drawn = picture(links, [])
    events = link_events({"events": [{"at": "1ms", "nodes": ["spine0"], "state": "down"}]}, links)
    marks = run_figures.crosses(events, drawn)
    assert len(marks) == 4
    at = {node["name"]: (node["x"], node["y"]) for node in drawn["nodes"]}

    def distance(cross: dict[str, Any], ends: tuple[str, str]) -> float:
        (x1, y1), (x2, y2) = (at[end] for end in ends)
        along = (cross["y"] - y1) / (y2 - y1)
        return float(abs(x1 + along * (x2 - x1) - cross["x"]))

    for cross in marks:
        near = [ends for ends in names[:16] if distance(cross, ends) < 0.02]
        assert len(near) == 1, cross
        assert near[0][0] == "spine0"


def test_names_of_nodes_cover_the_links_behind_them(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    texts = page.locator("#fabric .mark-text.role-mark text")
    names = texts.all_text_contents()
    assert names[: len(names) // 2] == names[len(names) // 2 :]
    halo = texts.first.evaluate("it => getComputedStyle(it).stroke")
    assert halo == page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert texts.last.evaluate("it => getComputedStyle(it).stroke") == "none"


def test_rows_of_the_fabric_have_room_for_their_names(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    whole = page.locator("#fabric svg").bounding_box()
    assert whole is not None
    labels = page.locator("#fabric .role-axis-label text").all()
    boxes = [box for label in labels if (box := label.bounding_box()) is not None and box["width"] > 0]
    assert len(boxes) == 2
    assert all(box["x"] >= whole["x"] for box in boxes)
    # The plot has 320 pixels.
    assert whole["height"] < 420


def test_tables_have_short_labels_and_values_in_full(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html")
    page.locator("summary", has_text="All statistics").click()
    heads = page.locator("[aria-label=Statistics] tbody th")
    assert "s0->r0 5Gbps" in heads.all_inner_texts()
    changed = heads.filter(has_text="s0->r0 5Gbps").first
    assert changed.get_attribute("title") == EVENT
    assert page.locator("#answer thead").inner_text().count("(95 % interval)") == 1


def test_a_time_without_samples_says_so(browser: Browser, folder: Path) -> None:
    """The samples of this copy of the page begin in the middle of the run."""
    text = (folder / "sweep.html").read_text()
    data = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', text, re.DOTALL)
    assert data is not None
    document = json.loads(data[2])
    scene = document["runs"][0]["scenes"][0]
    rows = scene["counts"]["rows"]
    middle = (scene["low"] + max(rows["time_s"])) / 2
    rows["time_s"] = [max(time, middle) for time in rows["time_s"]]
    late = folder / "late.html"
    late.write_text(text[: data.start(2)] + json.dumps(document).replace("</", "<\\/") + text[data.end(2) :])
    page = visit(browser, late)
    readings = page.locator("#readings")
    assert readings.inner_text() == "no sample until this time"
    page.locator("#now").fill(str(scene["steps"]))
    assert "flows in progress" in readings.inner_text()


def test_parts_of_an_answer_stay_together_on_a_phone(browser: Browser, folder: Path) -> None:
    page = visit(browser, folder / "sweep.html", 390)
    for row in page.locator("#answers tr").all():
        cells = row.locator("td")
        box = cells.nth(2).bounding_box()
        assert box is not None
        assert box["height"] < 30, cells.nth(2).inner_text()
        words = [cells.nth(n).evaluate("it => getComputedStyle(it, '::before').content") for n in (2, 3)]
        assert words == ['"next: "', '"how sure: "']


def test_rows_of_a_legend_have_equal_lengths(browser: Browser, folder: Path) -> None:
    over = "transports.dctcp.cc=dctcp,amp,xmp,lia,reno,uncoupled"
    done = command("sweep", "incast.toml", "--over", over, "--out", "six", "--workers", "1", cwd=folder)
    assert done.code == 0, done
    assert command("report", "six", "-o", "six.html", cwd=folder).code == 0
    page = visit(browser, folder / "six.html")
    labels = page.locator("#by-size-p99 .role-legend-label text")
    boxes = [box for label in labels.all() if (box := label.bounding_box()) is not None]
    rows = Counter(round(box["y"]) for box in boxes)
    assert len(boxes) == 6
    assert len(rows) > 1
    assert set(rows.values()) == {6 // len(rows)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rows", "load"], "--rows 'load': not a field that varies; allowed: cc, flows, events"),
        (["--rows", "cc", "--columns", "cc"], "--rows cc: given twice"),
        (["--where", "cc=warp"], "--where 'cc=warp': no run has this value; allowed: dctcp, amp, xmp"),
        (["--where", "cc"], "--where 'cc': no run has this value"),
        (["--where", "load=1"], "--where 'load=1': not a field that varies"),
        (["--where", "cc=amp", "--where", "cc=xmp"], "--where cc: given twice"),
    ],
)
def test_layouts_that_do_not_exist(folder: Path, options: list[str], words: str) -> None:
    assert words in command("report", "sweep", *options, "-o", "never.html", cwd=folder).complaint()
    assert not (folder / "never.html").exists()


def test_default_roles() -> None:
    transport = factor("transport", ["dctcp", "amp", "lia"])
    load, cdf = factor("load", [0.6, 0.3]), factor("cdf", ["web-search", "data-mining"])
    events = factor("events", ["[]", "[{at='1ms', nodes=['spine0'], state='down'}]"])
    layout = arrange([transport, load, cdf, events], Wishes({}))
    assert layout.roles == {"colour": "transport", "line": "events", "columns": "load", "rows": "cdf"}
    assert layout.where == {}
    flows = factor("flows", list(range(10, 60, 10)))
    assert arrange([transport, flows], Wishes({})).roles == {"colour": "transport", "x": "flows"}
    assert arrange([flows], Wishes({})).roles == {"x": "flows"}
    six = [factor(name, [1, 2]) for name in "abcdef"]
    assert arrange(six, Wishes({})).where == {"c": 0, "d": 0, "e": 0, "f": 0}
    wished = arrange([transport, load, cdf, events], Wishes({"rows": "events"}, ["load=0.6"]))
    assert wished.roles == {"rows": "events", "colour": "transport", "line": "cdf"}
    assert wished.where == {"load": 1}


def test_labels_are_short_and_distinct() -> None:
    events = [
        "[]",
        "[{at='1ms', nodes=['spine0'], state='down'}]",
        "[{at='1ms', layer='agg-core', fraction=0.1, rate='1Gbps'}]",
    ]
    assert factor("events", events).labels == ("none", "spine0 down", "10% of agg…e 1Gbps")
    assert factor("cdf", ["/data/a/web.txt", "/data/b/mining.txt"]).labels == ("web.txt", "mining.txt")
    assert factor("file", ["/data/a/web.txt", "/data/b/web.txt"]).labels == ("/data/a/web.txt", "/data/b/web.txt")
    many = factor("transport", [f"dctcp-ecmp-with-long-name-{n}-and-end" for n in range(30)]).labels
    assert len(set(many)) == 30
    assert max(map(len, many)) <= MAX_LABEL
    assert factor("n", [10, 2]).labels == ("2", "10")


LMS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    "none": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
}
"""Matrices of Machado, Oliveira and Fernandes (2009), for linear RGB and full severity."""


def cielab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=-1)


@pytest.mark.parametrize("vision", LMS)
def test_colours_differ_for_colour_blind_readers(vision: str) -> None:
    rgb = np.array([[int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)] for colour in altair_plots.COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = cielab(np.clip(linear @ np.array(LMS[vision]).T, 0, 1))
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 20


def test_shares_of_the_distribution_are_those_of_the_flows(folder: Path) -> None:
    told = compare(read([folder / "sweep"]).groups)
    drawn = comparison_figures.drawings(told, Wishes({}))["cdf"]
    assert drawn["axis"] == "flow completion time (us)"
    sweep = weft.Sweep(folder / "sweep")
    flows = sweep.flows.filter(cc="dctcp", flows=3, events="[]")
    first = [row for row in drawn["rows"] if row[0] == 0]
    for _, time, median, low, high in first[:: len(first) // 5]:
        # Times have five digits, so a step may lie on either side of one.
        shares = [
            flows.group_by("seed").agg((pl.col("fct_s") <= time * 1e-6 * (1 + sign * 1e-5)).mean())["fct_s"].median()
            for sign in (-1, 1)
        ]
        assert shares[0] - 1e-4 <= median <= shares[1] + 1e-4  # type: ignore[operator]
        assert low <= median <= high
    assert first[-1][2] == 1.0


def test_links_of_events() -> None:
    links = pl.DataFrame(
        {
            "from": ["a", "s", "s", "b"],
            "to": ["s", "a", "b", "s"],
            "layer": ["host-tor", "tor-host", "tor-host", "host-tor"],
        }
    )

    def ends(**event: object) -> set[tuple[str, str]]:
        (found,) = link_events({"events": [{"at": "1.5ms", **event}]}, links)
        assert found.time_s == pytest.approx(1.5e-3)
        return set(found.links)

    assert ends(nodes=["a"], state="down") == {("a", "s"), ("s", "a")}
    assert ends(links=["a->s"], state="down", bidirectional=False) == {("a", "s")}
    assert ends(layer="tor-host", rate="1Gbps", bidirectional=True) == {("s", "a"), ("a", "s"), ("s", "b"), ("b", "s")}
    assert ends(layer="tor-host", fraction=0.5, state="down") == set()
    (event,) = link_events(
        {"events": [{"at": "1ms", "nodes": ["a"], "state": "down", "detection_delay": "2ms"}]}, links
    )
    assert event.detected_s == pytest.approx(3e-3)
    assert link_events({}, links) == []


def test_a_layout_is_refused_without_fields(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    weft.run(tmp_path / "incast.toml", out=tmp_path / "run")
    told = compare(read([tmp_path / "run"]).groups)
    with pytest.raises(UsageError, match="allowed: none, because all runs are of one group"):
        comparison_figures.drawings(told, Wishes({"rows": "cc"}))


def test_transports_with_queues_of_their_own_are_compared(tmp_path: Path) -> None:
    """NDP needs switches that trim, and thus a sweep of its own, in which no field may be varied."""
    (tmp_path / "tcp.toml").write_text(INCAST + '\n[transports.amp]\ncc = "amp"\n')
    trimming = INCAST.replace("[queues]", '[queues]\nkind = "trimming"').replace('mark = "10 packets"\n', "")
    (tmp_path / "ndp.toml").write_text(trimming.replace("dctcp", "ndp").replace("cc =", "kind ="))
    over = ["--over", "traffic[0].transport=dctcp,amp"]
    for name, words in (("tcp", over), ("ndp", [])):
        done = command("sweep", f"{name}.toml", *words, "--seeds", "2", "--out", name, "--workers", "1", cwd=tmp_path)
        assert done.code == 0, done
    groups = read([tmp_path / "tcp", tmp_path / "ndp"]).groups
    assert [group.labels for group in groups] == [{"transport": name} for name in ("dctcp", "amp", "ndp")]
    # Two sweeps with a transport in common remain apart.
    done = command("sweep", "tcp.toml", "--set", "duration=40ms", "--out", "again", "--workers", "1", cwd=tmp_path)
    assert done.code == 0, done
    apart = read([tmp_path / "tcp", tmp_path / "again"]).groups
    assert [group.labels["sweep"] for group in apart] == ["tcp", "tcp", "again"]
