"""The scripts of `examples/questions` run as they are, and answer what their first lines ask."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "questions"


@pytest.fixture
def answer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a script after it has run; it has written a picture."""
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(FOLDER / f"{request.param}.py"), run_name="__main__")
    assert (tmp_path / f"{request.param.replace('_', '-')}.svg").stat().st_size > 10_000
    return found


@pytest.mark.parametrize("answer", ["web_search"], indirect=True)
def test_short_flows_are_faster_with_trimming_switches(answer: dict[str, Any]) -> None:
    sweep = answer["sweep"]
    assert sweep.compare("NDP", "DCTCP", "p99 slowdown below 100KB").item(0, "high") < 1
    assert sweep.summary("p99 slowdown below 100KB")["median"].null_count() == 0


@pytest.mark.parametrize("answer", ["gamma_and_buffer"], indirect=True)
def test_a_larger_gamma_needs_more_buffer(answer: dict[str, Any]) -> None:
    """The smallest buffer in which no flow waits for a timeout rises with gamma."""
    rows = answer["sweep"].summary("mean fct").filter(pl.col("median") < 5e-3)
    rows = rows.with_columns(packets=pl.col("limit").str.extract(r"(\d+)").cast(pl.Int64))
    enough = rows.group_by("gamma").agg(pl.col("packets").min()).sort("gamma")
    assert enough["gamma"].to_list() == list(range(1, 9))
    assert enough["packets"].is_sorted()
    assert enough["packets"][0] < enough["packets"][-1]


@pytest.mark.parametrize("answer", ["dctcp_queue"], indirect=True)
def test_queues_are_those_of_the_paper(answer: dict[str, Any]) -> None:
    """Flows that are not in phase, as many are, keep the queue below the paper's maximum."""
    sweep = answer["sweep"]
    low, high = (dict(sweep.summary(f"{name} queue").select("flows", "median").iter_rows()) for name in ("p1", "p99"))
    for flows in (2, 10):
        least, most = answer["theory"](flows)
        assert high[flows] == pytest.approx(most, abs=2)
        assert low[flows] == pytest.approx(least, abs=7)
    assert 0.9 * 80 < high[40] <= 80
    assert sweep.summary("sum goodput")["low"].min() > 0.99 * 10e9 * 1448 / 1514
