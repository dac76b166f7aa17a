"""Statistics of tables, on small ones made by hand and against their definitions."""

from __future__ import annotations

import doctest
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft import stats

SHARES = st.lists(st.floats(0, 1e12), min_size=1, max_size=30).filter(lambda shares: max(shares) > 1e-3)
WEIGHED = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30).filter(
    lambda rows: any(weight for _, weight in rows)
)


def test_documentation() -> None:
    assert doctest.testmod(stats).failed == 0


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([5.0, 5.0, 5.0], 1.0),
        ([1.0, 0.0, 0.0, 0.0], 0.25),
        ([1.0, 3.0], 0.8),
        ([4.0, None, 4.0], 1.0),
        ([0.0, 0.0], None),
        ([], None),
    ],
)
def test_jain(shares: list[float | None], index: float | None) -> None:
    frame = pl.DataFrame({"x": shares}, schema={"x": pl.Float64})
    assert frame.select(stats.jain("x")).item() == (index if index is None else pytest.approx(index))


def test_jain_of_whole_numbers_and_by_group() -> None:
    # The square of the sum is beyond 64 bits.
    frame = pl.DataFrame({"by": ["a", "a", "b"], "x": [10**10, 3 * 10**10, 7]}, schema_overrides={"x": pl.UInt64})
    by = frame.group_by("by", maintain_order=True).agg(jain=stats.jain("x"))
    assert by["jain"].to_list() == pytest.approx([0.8, 1.0])


@given(SHARES, st.floats(1e-3, 1e3))
def test_jain_lies_between_its_bounds_and_knows_no_unit(shares: list[float], unit: float) -> None:
    index, other = (pl.DataFrame({"x": shares}).select(stats.jain(pl.col("x") * u)).item() for u in (1, unit))
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert other == pytest.approx(index)


def test_percentiles() -> None:
    flows = pl.DataFrame({"cc": ["b", "a", "a", "a"], "fct_s": [None, 3.0, 1.0, 2.0]})
    everything = stats.percentiles(flows, "fct_s", [0, 25, 99.9, 100])
    assert everything.columns == ["p0", "p25", "p99.9", "p100"]
    assert everything.row(0) == pytest.approx((1.0, 1.5, 2.998, 3.0))
    by = stats.percentiles(flows, pl.col("fct_s") * 1e3, by="cc")
    assert by.columns == ["cc", "p50", "p90", "p99"]
    assert by.rows() == [("a", pytest.approx(2000), pytest.approx(2800), pytest.approx(2980)), ("b", None, None, None)]


def test_percentiles_by_weight() -> None:
    lengths = pl.DataFrame({"packets": [0, 1, 2, 3], "seconds": [0.7, 0.2, 0.1, 0.0]})
    row = stats.percentiles(lengths, "packets", [0, 50, 70, 71, 90, 100], weight="seconds").row(0)
    assert row == (0, 0, 0, 1, 1, 2)


def test_unfinished_flows_make_percentiles_lower_bounds() -> None:
    ended = [1.0, 2.0, 3.0, 4.0]
    flows = pl.DataFrame({"fct_s": [*ended, None, None], "unfinished_s": [*[None] * 4, 3.5, None]})
    row = stats.percentiles(flows, "fct_s", [25, 50, 90], at_least="unfinished_s").row(0, named=True)
    # Of 1, 2, 3, 3.5 or more and 4; the last row has neither and does not count.
    assert row == {
        "p25": 2.0,
        "p50": 3.0,
        "p90": pytest.approx(3.8),
        "p25_is_lower_bound": False,
        "p50_is_lower_bound": False,
        "p90_is_lower_bound": True,
        "unfinished": 1,
    }
    # A flow that ended at once would count equally up to there; leaving it out makes the tail too short.
    left_out = stats.percentiles(flows, "fct_s", [90]).item()
    assert left_out < 3.8


def test_one_that_ended_is_as_if_nothing_were_unfinished() -> None:
    flows = pl.DataFrame({"fct_s": [1.0, 2.0], "unfinished_s": pl.Series([None, None], dtype=pl.Float64)})
    plain, told = (stats.percentiles(flows, "fct_s", at_least=value) for value in (None, "unfinished_s"))
    assert told.select(plain.columns).equals(plain)
    assert told["unfinished"].to_list() == [0]
    assert not any(told[f"p{p}_is_lower_bound"].item() for p in (50, 90, 99))
    assert stats.cdf(flows, "fct_s", at_least="unfinished_s").equals(stats.cdf(flows, "fct_s"))


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.integers(0, 20)), min_size=1, max_size=30),
    st.integers(0, 100),
)
def test_percentile_is_a_lower_bound(runs: list[tuple[int, bool, int]], percent: int) -> None:
    """Percentiles hold whenever unfinished flows end, or are higher where they are marked as lower bounds."""
    flows = pl.DataFrame(
        {
            "fct_s": [None if cut else float(fct) for fct, cut, _ in runs],
            "floor": [float(fct) if cut else None for fct, cut, _ in runs],
            "true": [float(fct + more if cut else fct) for fct, cut, more in runs],
        },
        schema=dict.fromkeys(("fct_s", "floor", "true"), pl.Float64),
    )
    told = stats.percentiles(flows, "fct_s", [percent], at_least="floor", rel_tol=0).row(0, named=True)
    true = stats.percentiles(flows, "true", [percent]).item()
    low, may_be_higher = told[f"p{percent}"], told[f"p{percent}_is_lower_bound"]
    assert low <= true + 1e-9
    if not may_be_higher:
        assert true == pytest.approx(low)
    assert told["unfinished"] == sum(cut for _, cut, _ in runs)


def test_unfinished_flow_that_hardly_moves_a_percentile_does_not_mark_it() -> None:
    """One of a thousand that had just begun: the median is known to a thousandth, the maximum not at all."""
    flows = pl.DataFrame({"fct_s": [*range(1000, 2000), None], "floor": [*[None] * 1000, 1]})
    told = stats.percentiles(flows, "fct_s", [50, 100], at_least="floor").row(0, named=True)
    assert (told["p50"], told["p50_is_lower_bound"], told["p100_is_lower_bound"]) == (1499.0, False, True)
    assert stats.percentiles(flows, "fct_s", [50], at_least="floor", rel_tol=0)["p50_is_lower_bound"].item()


def test_distribution_with_unfinished_flows_ends_below_one() -> None:
    flows = pl.DataFrame({"cc": ["a", "a", "a", "b"], "fct_s": [2.0, 1.0, None, None], "floor": [None, None, 1.5, 3.0]})
    assert stats.cdf(flows, "fct_s", by="cc", at_least="floor").rows() == [("a", 1.0, 1 / 3), ("a", 2.0, 2 / 3)]


def test_unfinished_rows_have_no_weight() -> None:
    with pytest.raises(ValueError, match="at_least: given together with weight"):
        stats.percentiles(pl.DataFrame({"x": [1]}), "x", weight="x", at_least="x")


@pytest.mark.parametrize("percent", [-1, 100.5, float("nan")])
def test_percentiles_outside_are_refused(percent: float) -> None:
    with pytest.raises(ValueError, match=r"percents: .*; allowed: 0 to 100"):
        stats.percentiles(pl.DataFrame({"x": [1]}), "x", [50, percent])


@given(WEIGHED, st.integers(0, 100))
def test_weight_is_repetition(rows: list[tuple[int, int]], percent: int) -> None:
    frame = pl.DataFrame(rows, schema=["x", "n"], orient="row")
    values = sorted(x for x, n in rows for _ in range(n))
    repeated = pl.DataFrame({"x": values})
    by_weight, by_rows = stats.cdf(frame, "x", weight="n"), stats.cdf(repeated, "x")
    assert by_weight["value"].to_list() == by_rows["value"].to_list() == sorted(set(values))
    assert by_weight["fraction"].to_list() == pytest.approx(by_rows["fraction"].to_list())
    below = [sum(y <= x for y in values) for x in by_rows["value"]]
    assert by_rows["fraction"].to_list() == pytest.approx([n / len(values) for n in below])
    at = -(-percent * len(values) // 100)
    expected = values[max(at, 1) - 1]
    assert stats.percentiles(frame, "x", [percent], weight="n").item() == expected


def test_cdf_by_group() -> None:
    jobs = pl.DataFrame({"cc": ["b", "a", "a", "a"], "seed": [1, 1, 1, 1], "jct_s": [5.0, 2.0, None, 1.0]})
    assert stats.cdf(jobs, "jct_s", by=("cc", "seed")).rows() == [
        ("a", 1, 1.0, 0.5),
        ("a", 1, 2.0, 1.0),
        ("b", 1, 5.0, 1.0),
    ]
    assert stats.cdf(jobs.clear(), "jct_s").columns == ["value", "fraction"]


def test_queue_lengths_are_weighted_by_time() -> None:
    seconds = [[3.0, 1.0], [0.0, 0.0, 4.0]]
    queues = pl.DataFrame({"link": [7, 8], "layer": ["tor-host"] * 2, "time_at_length_s": seconds})
    assert stats.queue_lengths(queues, by="link").rows() == [
        (7, 0, 3.0),
        (7, 1, 1.0),
        (8, 0, 0.0),
        (8, 1, 0.0),
        (8, 2, 4.0),
    ]
    together = stats.queue_lengths(queues, by="layer")
    assert together.rows() == [("tor-host", 0, 3.0), ("tor-host", 1, 1.0), ("tor-host", 2, 4.0)]
    steps = stats.cdf(together, "packets", weight="seconds")
    assert steps.rows() == [(0, 0.375), (1, 0.5), (2, 1.0)]


def test_utilisation() -> None:
    links = pl.DataFrame(
        {
            "layer": ["host-tor", "tor-host", "host-tor", "switch-switch", "odd"],
            "rate_bps": [1, 1, 3, 1, 1],
            "utilisation": [0.2, 0.5, 0.6, None, 0.1],
        },
        schema_overrides={"rate_bps": pl.UInt64},
    )
    rows = {(row["stage"], row["direction"]): row for row in stats.utilisation(links).iter_rows(named=True)}
    assert set(rows) == {("host-tor", "up"), ("host-tor", "down"), ("switch-switch", None), ("odd", None)}
    up = rows["host-tor", "up"]
    assert (up["links"], up["min"], up["max"]) == (2, 0.2, 0.6)
    assert up["mean"] == pytest.approx(0.5)  # (1 * 0.2 + 3 * 0.6) / 4
    assert (rows["host-tor", "down"]["mean"], rows["host-tor", "down"]["std"]) == (0.5, None)
    assert rows["switch-switch", None]["mean"] is None


def test_utilisation_of_bcube() -> None:
    spec = {
        "name": "bcube",
        "duration": "1ms",
        "topology": {"kind": "bcube", "n": 2, "k": 2, "rate": "1Gbps", "delay": "1us"},
        "queues": {"limit": "100 packets"},
        "transports": {"reno": {"cc": "reno"}},
        "traffic": [{"kind": "stride", "transport": "reno", "stride": 3}],
    }
    use = stats.utilisation(weft.run(spec).links)
    stages = [(f"host-level{n}", direction) for n in range(3) for direction in ("down", "up")]
    assert use.select("stage", "direction").rows() == stages


def test_reached() -> None:
    rows = [
        (0.0, 0, 0, 10.0),
        (1.0, 0, 0, 2.0),
        (2.0, 0, 0, 5.0),
        (0.0, 0, 1, 2.0),
        (3.0, 0, 0, 2.5),
        (3.0, 0, 0, 1.5),
        (4.0, 0, 0, 1.0),
        (0.0, 7, 0, 9.0),
        (0.5, None, None, None),
    ]
    schema = {"time_s": pl.Float64, "flow": pl.UInt32, "subflow": pl.UInt32, "cwnd_packets": pl.Float64}
    traces = pl.DataFrame(rows, schema=schema, orient="row").sort("time_s", maintain_order=True)
    assert stats.time_to_floor(traces, 2).rows() == [(0, 0, 1.0), (0, 1, 0.0), (7, 0, None)]
    assert stats.time_to_floor(traces, 2, after_s=1.5).rows() == [(0, 0, 1.5), (0, 1, 1.5), (7, 0, None)]
    assert stats.time_to_floor(traces, 2, after_s=2.0).rows() == [(0, 0, 3.0), (0, 1, 2.0), (7, 0, None)]
    assert stats.time_to_floor(traces, 2, after_s=9.0, by="flow").rows() == [(0, 9.0), (7, None)]


def test_tables_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "permutation.toml"
    path.write_text("""
        name = "permutation"
        duration = "1ms"
        topology = { kind = "fat-tree", k = 4, rate = "1Gbps", delay = "2us" }
        queues = { limit = "100 packets", mark = "10 packets" }
        transports.xmp = { cc = "xmp", subflows = 2 }
        traffic = [{ kind = "bulk", transport = "xmp", pairs = "permutation" }]
        probes = [{ kind = "queue", at = ["tor-agg", "agg-core"] }]
    """)
    result = weft.run(weft.load(path), seed=3)
    use = stats.utilisation(result.links)
    stages = [(stage, direction) for stage in ("agg-core", "host-tor", "tor-agg") for direction in ("down", "up")]
    assert use.select("stage", "direction").rows() == stages
    assert use["links"].to_list() == [16] * 6
    carried = result.links.select((pl.col("utilisation") * pl.col("rate_bps")).sum()).item()
    assert use.select(pl.col("mean").dot("links")).item() * 1e9 == pytest.approx(carried)
    lengths = stats.queue_lengths(result.queues, by=("link", "layer"))
    by_link = lengths.group_by("link").agg(pl.col("seconds").sum())
    assert by_link["seconds"].to_list() == pytest.approx([1e-3] * 32)
    mean = (pl.col("packets") * pl.col("seconds")).sum() / pl.col("seconds").sum()
    means = lengths.group_by("link").agg(mean_packets=mean).sort("link")
    assert means["mean_packets"].to_list() == pytest.approx(result.queues.sort("link")["mean_packets"].to_list())
    assert 0 < result.flows.select(stats.jain("goodput_bps")).item() <= 1


def test_loss_of_links_and_of_subflows() -> None:
    links = pl.DataFrame({"layer": ["up", "down", "down"], "packets": [90, 0, 0], "drops": [10, 0, 0]})
    assert stats.loss(links, by="layer").rows() == [("down", 0, 0, None), ("up", 100, 10, 0.1)]
    lost = links.with_columns(losses=pl.Series([15, 0, 0]))
    assert stats.loss(lost, by="layer").rows() == [("down", 0, 0, None), ("up", 100, 25, 0.25)]
    subflows = pl.DataFrame({"flow": [0, 0], "subflow": [0, 1], "packets_sent": [10, 30], "packets_dropped": [0, 3]})
    assert stats.loss(subflows).rows() == [(40, 3, 0.075)]
    assert stats.loss(subflows, by=("flow", "subflow"))["loss"].to_list() == [0.0, 0.1]
