"""`weft report`: one page of runs or a sweep, in a real browser with the network off."""

from __future__ import annotations

import json
import re
import shutil
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert
from playwright.sync_api import Browser, Page

import weft
from tests.browser import WIDTHS, Visit, contrast, style
from tests.command import INCAST
from tests.command import weft as command
from weft.errors import UsageError
from weft.plots import altair_plots, data
from weft.plots.data import active_links
from weft.reports import (
    comparison,
    distribution_figures,
    fabric,
    inputs,
    page,
    run_figures,
    switch_counters,
    timeline,
)
from weft.reports.figures import Figures
from weft.reports.unrecorded import unrecorded

PROBES = 'probes=[{kind="flow"}, {kind="queue", at=["s0->r0"], interval="2us"}]'
AMP = ("transports.dctcp.cc=amp", "transports.dctcp.subflows=4", "topology.senders=20", "traffic[0].flows=20")


def leave(folder: Path, name: str, *changes: str, seed: int = 1) -> Path:
    """A run of the small incast, on disk."""
    file = folder / "incast.toml"
    file.write_text(INCAST)
    weft.run(weft.load(file, changes), seed=seed, out=folder / name)
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def one(folder: Path) -> Path:
    run = leave(folder, "probed", PROBES, *AMP)
    done = command("report", str(run), "-o", "one.html", cwd=folder)
    assert (done.code, done.err) == (0, "")
    return folder / "one.html"


@pytest.fixture(scope="module")
def several(folder: Path) -> Path:
    runs = [
        leave(folder, f"{cc}-{seed}", PROBES, *AMP, f"transports.dctcp.cc={cc}", seed=seed)
        for cc in ("amp", "xmp")
        for seed in (1, 2, 3)
    ]
    done = command("report", *map(str, runs), "--out", "several.html", "--json", cwd=folder)
    assert done.document["groups"] == ["cc = amp", "cc = xmp"]
    return folder / "several.html"


@pytest.fixture(scope="module")
def sweep(folder: Path) -> Path:
    (folder / "incast.toml").write_text(INCAST)
    over = ["--over", "transports.dctcp.cc=amp,xmp", "--over", "traffic[0].flows=2:4:2"]
    done = command("sweep", "incast.toml", *over, "--seeds", "2", "--out", "sweep", "--workers", "1", cwd=folder)
    assert done.code == 0, done
    assert command("report", "sweep", "-o", "sweep.html", cwd=folder).code == 0
    return folder / "sweep.html"


@pytest.fixture(scope="module")
def bare(folder: Path) -> Path:
    """Level flow: no packets, no probes."""
    run = leave(folder, "bare", "level=flow")
    assert command("report", str(run), "-o", "bare.html", cwd=folder).code == 0
    return folder / "bare.html"


def visit(browser: Browser, file: Path, **how: Any) -> Page:
    """Opens a page offline. A request for anything but the page fails the test, and so does any complaint."""
    context = browser.new_context(offline=True, **({"viewport": {"width": 1280, "height": 900}} | how))
    visited = Visit(context, file.as_uri())
    visited.page.wait_for_selector("body[data-ready]", timeout=20_000)
    assert visited.complaints == []
    assert visited.elsewhere() == [file.as_uri()]
    return visited.page


SHOWN_LABELS = """group => [...group.querySelectorAll("text")]
    .filter(label => label.getAttribute("opacity") !== "0" && label.getAttribute("transform").indexOf("rotate") < 0)
    .map(label => [label.textContent, label.getBoundingClientRect()])
    .map(([text, box]) => [text, box.x, box.right, box.y, box.bottom])"""
"""Labels of an axis, and where they are: left, right, top, bottom."""


def near(one: list[Any], two: list[Any]) -> str:
    """Names two labels that a reader would take for one."""
    together = max(one[1], two[1]) < min(one[2], two[2]) + 3 and max(one[3], two[3]) < min(one[4], two[4])
    return f"{one[0]} {two[0]}" if together else ""


@pytest.fixture(params=["one", "several", "sweep", "bare"])
def any_page(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(request.param))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_network_no_complaint_nothing_sticks_out(browser: Browser, any_page: Path, scheme: str) -> None:
    # Colours move nothing, so dark pages are opened at one width.
    for width in WIDTHS if scheme == "light" else WIDTHS[:1]:
        opened = visit(browser, any_page, color_scheme=scheme, viewport={"width": width, "height": 800})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        for chart in opened.locator(".chart:visible").all():
            assert chart.locator("svg").count() == 1, chart.get_attribute("id")
            box = chart.locator("svg").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width + 1
            assert box["height"] < 450, chart.get_attribute("id")
            for axis in chart.locator(".role-axis-label").all():
                boxes = axis.evaluate(SHOWN_LABELS)
                apart = [problem for one, two in combinations(boxes, 2) if (problem := near(one, two))]
                assert apart == [], f"{chart.get_attribute('id')} at {width} px"
            for legend in chart.locator(".role-legend").all():
                inner = legend.bounding_box()
                assert inner is not None
                assert inner["y"] >= box["y"] - 2, chart.get_attribute("id")
                assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1, chart.get_attribute("id")
        opened.context.close()


def test_colours_are_seen_light_and_dark(browser: Browser, one: Path) -> None:
    """Lines have three times the contrast of their ground (WCAG 2, 1.4.11), axes' text 4.5 times (1.4.3)."""
    for scheme in ("light", "dark"):
        opened = visit(browser, one, color_scheme=scheme)
        ground = style(opened.locator("body"), "backgroundColor")
        assert all(contrast(colour, ground) >= 3 for colour in (*altair_plots.COLOURS, *altair_plots.HEAT))
        assert contrast(style(opened.locator("#fct svg text").first, "fill"), ground) >= 4.5
        opened.context.close()


def test_scrubbing_changes_the_plots(browser: Browser, one: Path) -> None:
    opened = visit(browser, one)
    opened.locator("#scene").select_option(index=0)
    slider = opened.locator("#now")

    def shown() -> tuple[str, str, str]:
        opened.wait_for_timeout(100)
        svg = opened.locator("#windows svg").inner_html()
        return svg, opened.locator("#readings").inner_text(), str(slider.get_attribute("aria-valuetext"))

    before = shown()
    slider.focus()
    for _ in range(20):
        opened.keyboard.press("ArrowRight")
    moved = shown()
    assert all(was != now for was, now in zip(before, moved, strict=True))
    opened.keyboard.press("End")
    opened.locator("#zoom").select_option("16")
    assert shown()[0] != moved[0]
    discs = opened.locator("#fabric").inner_html()
    opened.locator("#heat").select_option("marked")
    opened.wait_for_timeout(100)
    assert opened.locator("#fabric").inner_html() != discs


def test_readings_equal_the_traces(browser: Browser, one: Path, folder: Path) -> None:
    traces = pl.read_parquet(folder / "probed" / "traces.parquet")
    flow = int(traces["flow"].drop_nulls().min())  # type: ignore[arg-type]
    opened = visit(browser, one)
    opened.locator("#scene").select_option(index=0)
    scene = json.loads(opened.locator("#data").inner_text())["runs"][0]["scenes"][0]
    for step in (5, scene["steps"] // 3, scene["steps"] // 2, scene["steps"]):
        opened.locator("#now").fill(str(step))
        opened.wait_for_timeout(50)
        now = scene["low"] + (scene["high"] - scene["low"]) * step / scene["steps"]
        readings = [row.locator("th, td").all_inner_texts() for row in opened.locator("#readings tr").all()]
        rows = {texts[0]: texts[1] for texts in readings}
        until = traces.filter(pl.col("time_s") <= now + 1e-6 * (scene["high"] - scene["low"]))
        windows = until.filter(flow=flow).group_by("subflow").last()
        for row in windows.iter_rows(named=True):
            said = rows[f"subflow {row['subflow']}"]
            assert float(said.split()[0]) == pytest.approx(row["cwnd_packets"], abs=1e-3)
            assert ("suppressed" in said) == (not row["active"])
        sampled = until.drop_nulls("length_packets").tail(1)
        assert rows["queue s0 to r0"].split() == [str(sampled["length_packets"].item()), "packets"]
        before = traces.drop_nulls("length_packets").filter(pl.col("time_s") < scene["low"]).tail(1)
        marked = sampled["marks"].item() - (before["marks"].item() if before.height else 0)
        assert rows["s0 to r0: marked"] == str(marked)


def test_runs_and_metrics_can_be_chosen(browser: Browser, several: Path) -> None:
    opened = visit(browser, several)
    fabric_before = opened.locator("#fabric").inner_html()
    opened.locator("#run").select_option("1")
    opened.wait_for_timeout(200)
    assert opened.locator("#fabric").inner_html() != fabric_before
    before = opened.locator("#compared-chart").inner_html()
    opened.locator("#metric").select_option("FCT, median")
    opened.wait_for_timeout(200)
    assert opened.locator("#compared-chart").inner_html() != before
    assert opened.locator("#answer-title").inner_text() == "Lowest FCT, median"


def test_screen_readers_get_all(browser: Browser, several: Path) -> None:
    opened = visit(browser, several)
    assert opened.locator("html").get_attribute("lang") == "en"
    assert opened.locator("h1").count() == 1
    levels = [
        int(tag[1]) for tag in opened.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => e.tagName)")
    ]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for control in opened.locator("select, input").all():
        assert control.evaluate("control => control.labels.length") == 1
    for table in opened.locator("table").all():
        assert table.locator("thead th[scope=col]").count() == table.locator("thead th").count() > 1
    for svg in opened.locator(".chart:visible svg").all():
        assert (
            len(svg.get_attribute("aria-label") or svg.locator("[aria-label]").first.get_attribute("aria-label") or "")
            > 5
        )
    ids = opened.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))
    for link in opened.locator("nav a, .skip").all():
        assert opened.locator(str(link.get_attribute("href"))).count() == 1


def test_text_names_compared_and_absent_values(several: Path, sweep: Path, bare: Path, one: Path) -> None:
    words = several.read_text()
    assert "95 % confidence interval" in words
    assert "cc = xmp, seed 1" in words
    swept = sweep.read_text()
    assert (
        "weft sweep incast.toml --over transports.dctcp.cc=amp,xmp --over &#39;traffic[0].flows=2,4&#39; --seeds 2"
        in swept
    )
    lacking = bare.read_text()
    for line in (
        "the tables queues, traces, suppressions, latencies, packets, pause_frames, traffic_classes, drops: level flow",
        "drops, marks, timeouts: level flow",
    ):
        assert line in lacking
    assert "timeouts over time: no probe records them" in one.read_text()
    assert "windows, queues, marks and drops over time: no probe" in swept
    assert max(len(file.read_bytes()) for file in (one, several, sweep, bare)) < 5e6


def test_spec_in_the_page_makes_the_same_run(browser: Browser, one: Path, folder: Path) -> None:
    opened = visit(browser, one)
    with opened.expect_download() as download:
        opened.locator("a[download]").click()
    download.value.save_as(folder / "again.json")
    again = weft.run(folder / "again.json")
    assert again.tables["flows"].equals(pl.read_parquet(folder / "probed" / "flows.parquet").sort("flow"))


def test_hundred_thousand_flows(folder: Path, browser: Browser) -> None:
    run = leave(
        folder,
        "many",
        "level=flow",
        "duration=20s",
        "traffic=[{kind='poisson', transport='dctcp', from='0..4', to='r0', pairs='random', rate=5200, "
        "size={kind='exponential', mean='20KB'}}]",
    )
    assert pl.read_parquet(run / "flows.parquet").height > 100_000
    assert command("report", str(run), "-o", "many.html", cwd=folder).code == 0
    assert (folder / "many.html").stat().st_size < 5e6
    opened = visit(browser, folder / "many.html")
    took = opened.evaluate(
        """async () => {
            const slider = document.getElementById("now");
            const times = [];
            for (let step = 0; step < 21; step++) {
                const begun = performance.now();
                slider.value = step;
                slider.dispatchEvent(new Event("input"));
                await new Promise(requestAnimationFrame);
                times.push(performance.now() - begun);
            }
            return times.sort((one, other) => one - other)[10];
        }"""
    )
    assert took < 200, f"{took:.0f} ms a step"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["nowhere", "no manifest.json", "pass a folder that `weft run` wrote"]),
        (["incast.toml"], ["incast.toml", "not a run folder"]),
        (["empty"], ["empty", "no manifest.json"]),
        (["strange"], ["strange", "not a valid Weft manifest: no 'name'"]),
        (["garbled"], ["garbled", "not a valid Weft manifest"]),
        (["run", "run"], ["is the same run as"]),
        (["run", "copy"], ["copy", "is the same run as"]),
        (["run", "lacking"], ["lacking", "no traces.parquet"]),
        (["damaged"], ["damaged", "flows.parquet", "cannot read"]),
        (["run", "-o", "there.html"], ["there.html", "exists already"]),
        (["run", "-o", "nowhere/a.html"], ["nowhere", "cannot create"]),
        (["run", "-o", "incast.toml/a.html"], ["cannot create"]),
        (["run", "-o", "."], ["exists already"]),
        (["sweepless"], ["sweep.json", "not written by weft"]),
        (["elsewhere"], ["sweep.json", "not written by weft"]),
        ([], ["RUN_OR_SWEEP"]),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    leave(tmp_path, "run")
    for name in ("copy", "lacking", "damaged"):
        shutil.copytree(tmp_path / "run", tmp_path / name)
    (tmp_path / "lacking" / "traces.parquet").unlink()
    (tmp_path / "damaged" / "flows.parquet").write_bytes(b"PAR1 or so")
    for name, text in (("empty", None), ("strange", '{"a": 1}'), ("garbled", "{")):
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "manifest.json").write_text(text)
    (tmp_path / "sweepless").mkdir()
    (tmp_path / "sweepless" / "sweep.json").write_text('{"runs": 3}')
    (tmp_path / "elsewhere").mkdir()
    path = {"over": {}, "runs": [{"run": "../../run", "seed": 1, "set": []}], "spec": "a", "set": [], "seeds": 1}
    (tmp_path / "elsewhere" / "sweep.json").write_text(json.dumps(path))
    (tmp_path / "there.html").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    line = command("report", *arguments, cwd=tmp_path).complaint()
    for word in words:
        assert word in line
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "there.html").read_text() == "mine"


def test_partial_runs_say_so(tmp_path: Path) -> None:
    (tmp_path / "incast.toml").write_text(INCAST)
    experiment = weft.load(tmp_path / "incast.toml", ["duration=50s", "traffic[0].size=1GB", PROBES])
    stopped = weft.run(experiment, progress=lambda now: now.fraction < 1e-6, out=tmp_path / "part")
    assert stopped.partial
    text = page.write(inputs.read([tmp_path / "part"]))
    assert "<strong>Partial.</strong>" in text
    assert "the run was stopped before its end, 50s" in text


def test_columns_that_a_level_lacks_are_absent_by_name(tmp_path: Path) -> None:
    """As at level linux, whose kernel does not count everything."""
    run = leave(tmp_path, "run", PROBES)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["level"] = "linux"
    del manifest["counters"]["packet_hops"], manifest["counters"]["marks"], manifest["rows"]["latencies"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    flows = pl.read_parquet(run / "flows.parquet").drop("syn_timeouts", "marked", "acked_s")
    flows.write_parquet(run / "flows.parquet")
    text = page.write(inputs.read([run]))
    for line in (
        "timeouts per flow; packets marked: no run has them",
        "the tables latencies: level linux",
        "marks: level linux does not count them",
    ):
        assert line in text


def test_windows_hold_until_the_flow_ends(folder: Path, one: Path) -> None:
    assert one.exists()
    scenes, _ = timeline.scenes(weft.Result.read(folder / "probed"), 10_000)
    windows = scenes[0]["windows"]["rows"]
    last = {windows["subflow"][n]: windows["time_s"][n] for n in range(len(windows["time_s"]))}
    assert len(set(last.values())) == 1


def test_suppression_lasts_until_release_or_the_end() -> None:
    rows = pl.DataFrame(
        {
            "time_s": [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            "subflow": ["a", "b", "b", "b", "b", "b", "a"],
            "cwnd_packets": [9.0, 2.0, 2.0, 3.0, 4.0, 4.0, 9.0],
            "active": [True, True, False, False, True, False, True],
        }
    )
    # Of b there is no change after 4 s, when it is suppressed for good; the flow is recorded until 5 s.
    assert data.suppressed(rows).rows() == [("b", 1.0, 3.0), ("b", 4.0, 5.0)]
    assert data.suppressed(rows.filter(active=True)).is_empty()


def test_suppressed_subflows_have_strips_of_at_most_a_quarter_of_the_plot() -> None:
    """As the browser draws them: one above the other, each a subflow's."""
    for subflows in (2, 40):
        names = [f"subflow {n}" for n in range(subflows)]
        rows = pl.DataFrame({"time_s": [0.0, 1.0] * subflows, "subflow": sorted(names * 2), "cwnd_packets": 9.0})
        spans = pl.DataFrame({"subflow": names, "from_s": 0.25, "to_s": 0.75})
        chart = altair_plots.windows(altair_plots.inline(rows), altair_plots.inline(spans)).properties(height=200)
        svg = vl_convert.vegalite_to_svg(chart.to_json())
        paths = re.findall(r'<path aria-label="from_s[^>]* d="M[-0-9.]+,([-0-9.]+)h[-0-9.]+v([0-9.]+)h', svg)
        strips = sorted((float(top), float(height)) for top, height in paths)
        assert len(strips) == subflows
        assert strips[0][0] >= 150
        assert all(top + height <= after for (top, height), (after, _) in pairwise(strips))
        assert sum(strips[-1]) == pytest.approx(200)


def test_runs_of_a_sweep_without_results_are_named(folder: Path, sweep: Path, tmp_path: Path) -> None:
    assert sweep.exists()
    shutil.copytree(folder / "sweep", tmp_path / "sweep")
    planned = json.loads((tmp_path / "sweep" / "sweep.json").read_text())["runs"]
    gone = next(run for run in planned if run["seed"] == 2)
    shutil.rmtree(tmp_path / "sweep" / "runs" / gone["run"][:2] / gone["run"][2:])
    read = inputs.read([tmp_path / "sweep"])
    assert len(read.runs) == len(planned) - 1
    assert f"{' '.join(gone['set'])} seed=2: has no results" in page.write(read)


def test_text_of_others_is_no_markup(tmp_path: Path) -> None:
    run = leave(tmp_path, "evil", 'name="</script><script>alert(1)</script>"')
    text = page.write(inputs.read([run]))
    assert "<script>alert(1)" not in text


def test_thinning_keeps_measured_rows_and_extremes() -> None:
    rows = pl.DataFrame({"time_s": [n / 1000 for n in range(1001)], "v": [(n * 7919) % 1000 for n in range(1001)]})
    kept = data.thinned(rows, "v", (0.0, 1.0), 10)
    assert kept.height <= 4 * 11
    assert kept.join(rows, on=["time_s", "v"], how="anti").is_empty()
    assert (kept["v"].min(), kept["v"].max()) == (rows["v"].min(), rows["v"].max())
    for step in range(11):
        until = pl.col("time_s") <= step / 10 + 1e-12
        assert kept.filter(until)["v"].last() == rows.filter(until)["v"].last()


def test_large_networks_are_drawn_in_bundles(tmp_path: Path) -> None:
    topology = 'topology={kind="fat-tree", k=8, rate="10Gbps", delay="1us"}'
    traffic = "traffic=[{kind='bulk', transport='dctcp', pairs='permutation'}]"
    (tmp_path / "fat.toml").write_text(INCAST)
    result = weft.run(weft.load(tmp_path / "fat.toml", [topology, traffic, "duration=1ms"]))
    hosts = set(result.flows["from"])
    drawn_ = fabric.picture(result.links, hosts)
    assert drawn_["tiers"] == ["hosts (128)", "tor (32)", "agg (32)", "core (16)"]
    assert sum(link["count"] for link in drawn_["links"]) == result.links.height == 768
    assert sum(node["x"] > 0 for node in drawn_["nodes"]) == 64 + 32 + 32 + 16
    assert "stands for 2 of them" in drawn_["note"]
    assert sum(len(node["members"]) for node in drawn_["nodes"]) == 128 + 80


def test_comparison_counts_each_seed_once(folder: Path, several: Path) -> None:
    assert several.exists()
    runs = [folder / f"{cc}-{seed}" for cc in ("amp", "xmp") for seed in (1, 2, 3)]
    groups = inputs.read(runs).groups
    told = comparison.compare(groups)
    medians = [
        weft.Result.read(folder / f"amp-{seed}").flows.select(pl.col("fct_s").median()).item() for seed in (1, 2, 3)
    ]
    (row,) = told.rows.filter(group=0, metric="FCT, median").iter_rows(named=True)
    assert row["n"] == 3
    assert row["median"] == pytest.approx(sorted(medians)[1])


def test_queues_of_a_scene_begin_with_their_last_sample(folder: Path, one: Path) -> None:
    assert one.exists()
    scenes, _ = timeline.scenes(weft.Result.read(folder / "probed"), 10_000)
    assert scenes[-1]["about"] == "while flows were open"
    for scene in scenes[:-1]:
        assert scene["low"] < scene["high"]
        assert scene["queues"]["rows"]["time_s"][0] <= scene["low"] or scene["low"] == 0.0


def test_a_folder_that_is_read_is_the_run(tmp_path: Path) -> None:
    run = leave(tmp_path, "run", PROBES)
    read = weft.Result.read(run)
    assert read.flows.height == read.manifest["rows"]["flows"] == 4
    assert set(read.tables) == set(read.manifest["rows"])
    with pytest.raises(UsageError, match="not a run folder"):
        weft.Result.read(tmp_path)


def test_queues_that_lost_nothing_have_no_series_of_losses() -> None:
    links = pl.DataFrame({"link": [0, 1], "from": ["a", "b"], "to": ["c", "c"]})
    traces = pl.DataFrame(
        {
            "time_s": [1.0, 1.0, 2.0, 2.0],
            "link": [0, 1, 0, 1],
            "length_packets": [4, 0, 5, 1],
            "marks": [1, 0, 3, 0],
            "drops": [0, 0, 0, 2],
        }
    )
    rows = data.losses(traces, links)
    assert rows.rows() == [
        (1.0, "a to c: marked", 1),
        (1.0, "b to c: dropped", 0),
        (2.0, "a to c: marked", 3),
        (2.0, "b to c: dropped", 2),
    ]
    assert data.losses(traces.filter(link=2), links).is_empty()


def test_percentiles_of_the_page_are_those_of_the_summary(tmp_path: Path) -> None:
    run = leave(tmp_path, "run", *AMP)
    figures = Figures()
    distribution_figures.add(figures, inputs.read([run]).groups[0])
    headings, (row,) = figures.by_name["fct"]["table"]
    shown = dict(zip(headings, row, strict=True))
    fct = weft.Result.read(run).flows["fct_s"].drop_nulls()
    for percent in (5, 50, 99):
        value, unit = shown[f"p{percent}"].split()
        expected = fct.quantile(percent / 100, "linear")
        assert expected is not None
        assert float(value) * {"ms": 1e-3, "us": 1e-6, "s": 1}[unit] == pytest.approx(expected, rel=5e-3)


def test_tables_have_utilisation_in_percent(tmp_path: Path) -> None:
    run = leave(tmp_path, "run", *AMP)
    group = inputs.read([run]).groups[0]
    figures = Figures()
    distribution_figures.add(figures, group)
    headings, stages = figures.by_name["utilisation"]["table"]
    assert headings[2:] == ["mean (%)", "least (%)", "most (%)"]
    busiest = run_figures.detail(group, "run", group.runs[0], 1000)["busiest"]
    assert busiest["heads"][:2] == ["link", "utilisation (%)"]
    result = weft.Result.read(run)
    largest = active_links(result)["utilisation"].max()
    # The flows are over long before the end of the run.
    assert largest > 5 * result.links["utilisation"].max()  # type: ignore[operator]
    assert isinstance(largest, float)
    for shown in (max(float(row[4]) for row in stages), float(busiest["rows"][0][1])):
        assert shown == pytest.approx(100 * largest, rel=5e-3)


def test_losses_of_links_are_shown_if_there_are_some(tmp_path: Path) -> None:
    lossy = leave(tmp_path, "lossy", 'queues.kind={name="lossy", every=10}')
    for run, shown in ((lossy, True), (leave(tmp_path, "run"), False)):
        read = inputs.read([run])
        group, result = read.groups[0], weft.Result.read(run)
        busiest = run_figures.detail(group, "run", group.runs[0], 1000)["busiest"]
        assert ("losses" in busiest["heads"]) == shown
        assert ("lost" in fabric.picture(result.links, {"s0", "r0"})["heats"]) == shown
        (listed,) = page.listed(read, ["run"])
        assert listed.get("losses") == (f"{result.links['losses'].sum():,}" if shown else None)


LOSSLESS = ('queues={limit="20KB", kind="lossless"}', 'probes=[{kind="buffer", interval="2us"}]')


def test_pauses_trims_and_buffers_are_shown_if_there_are_some(tmp_path: Path) -> None:
    lossless = leave(tmp_path, "lossless", *LOSSLESS)
    trimming = leave(tmp_path, "trimming", 'queues={kind="trimming", limit="20 packets"}', *AMP)
    plain = leave(tmp_path, "plain")
    for run, kind in ((lossless, "lossless"), (trimming, "trimming"), (plain, "")):
        read = inputs.read([run])
        group, result = read.groups[0], weft.Result.read(run)
        shown = run_figures.detail(group, "run", group.runs[0], 1000)
        heads, heats = shown["busiest"]["heads"], shown["drawn"]["fabric"]["heats"]
        assert ("pauses" in heads, "paused" in heats) == (kind == "lossless", kind == "lossless")
        assert ("trims" in heads, "trimmed" in heats) == (kind == "trimming", kind == "trimming")
        (listed,) = page.listed(read, ["run"])
        pauses, trims = int(result.links["pauses"].sum()), int(result.traffic_classes["trims"].sum())
        assert (pauses > 0, trims > 0) == (kind == "lossless", kind == "trimming")
        assert listed.get("pauses") == (f"{pauses:,}" if pauses else None)
        assert listed.get("trims") == (f"{trims:,}" if trims else None)
        sampled = [scene["buffers"] for scene in shown["drawn"]["scenes"] if scene["buffers"]]
        if kind == "lossless":
            (of_run,) = sampled
            assert of_run["names"] == ["s0"]
            assert max(of_run["rows"]["buffer_bytes"]) == result.traces["buffer_bytes"].max()
            used = result.links.drop_nulls("utilisation").sort("utilisation", descending=True, maintain_order=True)
            share = 100 * (used.head(10)["paused_s"] / result.manifest["measured_s"][1]).to_numpy().max()
            column = heads.index("paused (% of time)")
            assert max(float(row[column]) for row in shown["busiest"]["rows"]) == pytest.approx(share, rel=5e-3)
        else:
            assert sampled == []


def test_a_buffer_without_a_probe_is_named(tmp_path: Path) -> None:
    for name, changes, absent in (("probed", LOSSLESS, False), ("bare", LOSSLESS[:1], True), ("fifo", (), False)):
        runs = inputs.read([leave(tmp_path, name, *changes)]).runs
        assert any('"buffer"' in line for line in unrecorded(runs)) == absent, name


def test_buffers_of_any_topology_are_found(tmp_path: Path) -> None:
    kind = {"name": "shared", "buffer": "60KB"}
    graph = {"kind": "graph", "hosts": ["a", "b"], "switches": ["s"], "rate": "1Gbps", "delay": "5us"}
    cables = [{"a": "a", "b": "s", "queue": kind}, {"a": "s", "b": "b"}]
    leaves = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1, "rate": "1Gbps", "delay": "5us"}
    for name, topology, queues, absent in (
        ("graph", graph | {"links": cables}, {}, True),
        ("leaves", leaves, {"kind": kind}, True),
        ("plain", leaves, {}, False),
    ):
        spec = {
            "name": name,
            "duration": "1ms",
            "topology": topology,
            "queues": {"limit": "30 packets", **queues},
            "transports": {"t": {"cc": "dctcp"}},
            "traffic": [{"kind": "bulk", "transport": "t", "from": 0, "to": 1}],
        }
        weft.run(spec, out=tmp_path / name)
        lines = unrecorded(inputs.read([tmp_path / name]).runs)
        assert any('"buffer"' in line for line in lines) == absent, name


def test_victims_of_pauses_are_stated() -> None:
    none = pl.DataFrame({"packets_blocked": [0, 0], "blocked_s": [0.0, 0.0]})
    assert switch_counters.victims(none) == []
    some = pl.DataFrame({"packets_blocked": [0, 1200, 34], "blocked_s": [0.0, 0.002, 0.0005]})
    (line,) = switch_counters.victims(some)
    assert "1,234 data packets of 2 flows" in line
    assert "2.5 ms in all" in line


def test_reasons_of_drops_are_stated(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "name": "drops",
        "duration": "20ms",
        "topology": {"kind": "many-to-one", "senders": 2, "rate": "1Gbps", "delay": "10us"},
        "queues": {"limit": "10 packets"},
        "transports": {"t": {"kind": "constant-rate", "rate": "1Gbps"}},
        "traffic": [{"kind": "bulk", "transport": "t", "pairs": [["h0", "r0"], ["h1", "r0"]]}],
    }
    result = weft.run(spec, out=tmp_path / "drops")
    (line,) = switch_counters.drops(result)
    dropped = int(result.links["drops"].sum())
    assert f"by reason: limit {dropped:,}; the most, {dropped:,}, on the way from s0 to r0." in line
    spec["transports"]["t"]["rate"] = "400Mbps"
    assert switch_counters.drops(weft.run(spec, out=tmp_path / "none")) == []


def test_pauses_and_buffers_in_a_browser(browser: Browser, folder: Path) -> None:
    run = leave(folder, "paused", *LOSSLESS)
    assert command("report", str(run), "-o", "paused.html", cwd=folder).code == 0
    shown = visit(browser, folder / "paused.html")
    assert shown.locator("#buffers svg").is_visible()
    assert not shown.locator("#queues-part").is_visible()
    shown.locator("#heat").select_option("paused")
    assert "share of time paused" in shown.locator("#heat").inner_text()
