"""The timeline of a job of ranks on the page of `weft report`: its drawing, its table, and its look in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser

import weft
from tests.browser import WIDTHS, Visit, contrast, style
from tests.collectives.test_ranks import spec
from tests.command import weft as command
from weft.reports import job_timeline
from weft.reports.job_timeline import LEFT, RIGHT, ROW

TRAINING = {
    "kind": "training",
    "name": "steps",
    "layers": 2,
    "forward": "50us",
    "backward": "100us",
    "gradient_size": "400KB",
    "stragglers": [3],
}
FIELDS: dict[str, Any] = {"probes": [{"kind": "steps"}], "queues": {"kind": "trimming", "limit": "100 packets"}}


def finished(**fields: Any) -> weft.Result:
    traffic = TRAINING | fields
    return weft.run(weft.Experiment.model_validate(spec(8, traffic, **FIELDS)), threads=1)


@pytest.fixture(scope="module")
def result() -> weft.Result:
    return finished()


def drawn(result: weft.Result) -> tuple[dict[str, Any], ET.Element]:
    """What the page has of a job, with its drawing."""
    found = job_timeline.job_timeline(result)
    assert found is not None
    return found, ET.fromstring(found["drawing"])  # noqa: S314 - made here


def percent(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].removesuffix("%"))


def test_each_step_stands_at_its_rank_and_its_time(result: weft.Result) -> None:
    _, drawing = drawn(result)
    job = result.jobs.row(0, named=True)
    rows = result.steps.to_dicts()
    shapes = drawing.findall("rect")
    assert len(shapes) == len(rows)

    def place(time: float) -> float:
        return float(LEFT + (RIGHT - LEFT) * (time - job["start_s"]) / job["jct_s"])

    def key(rank: int, kind: str, x: float, end: float) -> tuple[int, str, float, float]:
        return rank, kind, round(x, 2), round(end, 2)

    expected = [
        key(
            row["rank"],
            "computing" if row["to_rank"] is None else "message",
            place(row["start_s"]),
            place(row["end_s"]),
        )
        for row in rows
    ]
    found = [
        key(
            int(float(shape.attrib["y"])) // ROW,
            shape.attrib["class"].split()[0],
            percent(shape, "x"),
            percent(shape, "x") + percent(shape, "width"),
        )
        for shape in shapes
    ]
    for one, other in zip(sorted(expected), sorted(found), strict=True):
        assert one[:2] == other[:2]
        assert other[2:] == pytest.approx(one[2:], abs=0.06)


def test_the_critical_path_is_drawn_and_listed(result: weft.Result) -> None:
    found, drawing = drawn(result)
    path = result.steps.filter("critical").sort("start_s", maintain_order=True)
    critical = [shape for shape in drawing.findall("rect") if "critical" in shape.attrib["class"]]
    assert len(critical) == len(found["path"]) == len(path)
    lines = [line for line in drawing.findall("line") if line.attrib["class"] == "path"]
    messages = path.drop_nulls("to_rank")
    ends = {(row["rank"], row["to_rank"]) for row in messages.iter_rows(named=True)}
    assert {(int(float(line.attrib["y1"])) // ROW, int(float(line.attrib["y2"])) // ROW) for line in lines} == ends
    assert [row[1] for row in found["path"]] == [
        "computes" if rank is None else f"sends to {rank}" for rank in path["to_rank"]
    ]
    job = result.jobs.row(0, named=True)
    assert f"rank {job['last_rank']} was the last one" in found["about"]
    slow = result.flows.row(job["slowest_flow"], named=True)
    assert f"from {slow['from']} to {slow['to']}" in found["about"]
    link = result.links.row(job["slowest_link"], named=True)
    assert f"is {link['from']} to {link['to']}." in found["about"]


def test_the_job_that_took_longest_is_drawn() -> None:
    result = finished(steps=3, compute_deviation=0.5)
    longest = result.jobs.sort("jct_s").row(-1, named=True)
    found, _ = drawn(result)
    assert found["title"] == f"Ranks of steps, job {longest['job']}"
    assert "It took longest of 3 jobs." in found["about"]


def test_times_below_the_drawing_are_round() -> None:
    for width, step in [(4.7e-3, 1e-3), (1e-3, 2e-4), (5e-3, 1e-3), (0.99, 0.2), (3e-7, 1e-7), (1.2, 0.5)]:
        ticks = job_timeline._ticks(width)  # noqa: SLF001
        assert ticks == pytest.approx([step * number for number in range(len(ticks))]), width
        assert ticks[-1] <= width * (1 + 1e-9) < ticks[-1] + step * 1.001


def test_a_run_without_steps_has_no_drawing() -> None:
    plain = weft.run(weft.Experiment.model_validate(spec(4, TRAINING)), threads=1)
    assert job_timeline.job_timeline(plain) is None


def test_many_ranks_are_cut_to_those_of_the_path(monkeypatch: pytest.MonkeyPatch, result: weft.Result) -> None:
    monkeypatch.setattr(job_timeline, "MAX_RANKS", 3)
    monkeypatch.setattr(job_timeline, "MAX_STEPS", 10)
    found, drawing = drawn(result)
    assert found["notes"][0] == "3 of 8 ranks are drawn, those of the critical path first."
    assert len(drawing.findall("rect")) <= 10
    labels = {text.text for text in drawing.findall("text")}
    assert str(result.jobs["last_rank"][0]) in labels


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    for number, changes in enumerate([{}, {"stragglers": [5]}]):
        weft.run(
            weft.Experiment.model_validate(spec(8, TRAINING | changes, **FIELDS, name=f"run{number}")),
            threads=1,
            out=folder / f"run{number}",
        )
    done = command("report", "run0", "run1", "-o", "ranks.html", cwd=folder)
    assert (done.code, done.err) == (0, "")
    return folder / "ranks.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_and_colours_are_seen(browser: Browser, page: Path, scheme: Any) -> None:
    for width in WIDTHS:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
        visit = Visit(context, page.as_uri())
        visit.page.wait_for_selector("body[data-ready]")
        assert visit.complaints == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        drawing = visit.page.locator("svg.ranks:visible")
        assert drawing.count() == 1
        box = drawing.bounding_box()
        assert box is not None
        assert 0.8 * min(width, 1100) < box["width"] <= width
        labels = drawing.locator("text").all()
        boxes = [label.bounding_box() for label in labels]
        assert all(
            at is not None and at["x"] >= box["x"] and at["x"] + at["width"] <= box["x"] + box["width"] + 1
            for at in boxes
        )
        paper = style(visit.page.locator("body"), "backgroundColor")
        for kind in ("computing", "message", "critical"):
            shape = drawing.locator(f"rect.{kind}").first
            assert contrast(style(shape, "fill"), paper) >= 3, (kind, scheme)
        assert contrast(style(labels[0], "fill"), paper) >= 4.5
        context.close()


def test_the_drawing_is_that_of_the_chosen_run(browser: Browser, page: Path) -> None:
    context = browser.new_context(offline=True)
    visit = Visit(context, page.as_uri())
    visit.page.wait_for_selector("body[data-ready]")
    shown = visit.page.locator(".of-job:visible")
    assert shown.get_attribute("data-run") == "0"
    visit.page.locator("#run").select_option("1")
    visit.page.wait_for_selector('.of-job[data-run="1"]:visible')
    assert shown.count() == 1
    assert re.search(r"rank \d+ was the last one", shown.inner_text())
    context.close()
