"""The incast of AMP's paper, compared with the simulator behind the paper."""

from __future__ import annotations

import polars as pl
import pytest

from weft.sweeps.cases import run_cases
from weft_papers.amp.incast import incast_cases, measure, summary
from weft_papers.figure import Scale

CALIBRATION_MS = {10: 0.61, 20: 1.25, 30: 1.87, 40: 2.49}
"""Mean FCT of 128 KB flows by DCTCP, by k, without a timeout, links of 2 us."""


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    algorithms = ("dctcp", "amp", "xmp", "dcm")
    return run_cases(incast_cases(algorithms, sizes_kb=(128,), delays_us=(2,), scale=Scale(seeds=1)), measure)


def test_every_flow_ends(rows: pl.DataFrame) -> None:
    assert summary(rows)["unfinished"].sum() == 0


def test_dctcp_is_within_a_tenth(rows: pl.DataFrame) -> None:
    cells = summary(rows.filter(algorithm="dctcp"))
    assert dict(cells.select("k", "mean_fct_ms").iter_rows()) == pytest.approx(CALIBRATION_MS, rel=0.10)
    assert cells["most_timeouts"].to_list() == [0] * 4


def test_thirty_flows(rows: pl.DataFrame) -> None:
    cells = {row["algorithm"]: row for row in summary(rows.filter(k=30)).iter_rows(named=True)}
    assert cells["amp"]["most_timeouts"] == 0
    for name in ("xmp", "dcm"):
        assert cells[name]["mean_fct_ms"] > 50 * cells["dctcp"]["mean_fct_ms"]
        assert cells[name]["flows_with_timeout_percent"] > 50
