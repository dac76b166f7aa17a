"""Each spec of `examples` runs, and its tables have what its first comment says to look for."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import weft
from tests.collectives.chakra_files import backward_pass, write
from weft.errors import RequirementError
from weft.slowdown import with_slowdown
from weft.sweeps.plan import plan

EXAMPLES = Path(__file__).parent.parent / "examples"
CHECKED = {
    "all-reduce",
    "chakra",
    "failed-link",
    "flow-level",
    "flow-list",
    "incast-amp",
    "jobs",
    "layers",
    "linux-level",
    "own-topology",
    "permutation",
    "six-transports",
    "spraying",
    "training-step",
    "unresponsive",
    "web-search",
}


def run(name: str, *overrides: str) -> weft.Result:
    return weft.run(weft.load(EXAMPLES / f"{name}.toml", list(overrides)), threads=1)


def value(frame: pl.DataFrame, expression: pl.Expr) -> float:
    return float(frame.select(expression).item())


def goodput(result: weft.Result) -> tuple[float, float]:
    """The mean and the smallest goodput of the flows, in bit/s."""
    column = pl.col("goodput_bps")
    return value(result.flows, column.mean()), value(result.flows, column.min())


def test_every_example_is_checked_and_has_a_hint() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == CHECKED
    for name in CHECKED:
        text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
        comment = re.match(r"(?:# .*\n)+", text)
        assert comment is not None, name
        assert "Look for" in comment[0], name
        assert weft.load(EXAMPLES / f"{name}.toml").name == name


def test_chakra(tmp_path: Path) -> None:
    write(tmp_path / "backward", backward_pass(4))
    for rank in range(4):
        stored = (EXAMPLES / "chakra" / f"backward.{rank}.et").read_bytes()
        assert stored == (tmp_path / f"backward.{rank}.et").read_bytes()
    result = run("chakra")
    assert result.ranks["computed_s"].to_list() == pytest.approx([320e-6] * 4)
    # A ring moves 3/4 of 2 MB twice, 240 us; three of them hide behind 200 us of computing, and the update follows.
    assert 3 * 240e-6 < result.jobs["jct_s"].item() - 120e-6 < 3 * 260e-6
    assert result.ranks["exposed_s"].min() == pytest.approx(result.jobs["jct_s"].item() - 320e-6, rel=0.02)


def test_layers() -> None:
    result = run("layers")
    assert result.jobs["last_rank"].item() in range(8)
    # Forwards, twice backwards, and the updates.
    computed = (300_001 + 2 * 250_002 + 15_000) * 1e-9
    assert result.ranks["computed_s"].to_list() == pytest.approx([computed] * 8)
    exposed = result.ranks["exposed_s"].to_list()
    assert min(exposed) > 100e-6
    assert result.jobs["jct_s"].item() >= computed + min(exposed) - 1e-9


def test_training_step() -> None:
    result = run("training-step")
    assert result.jobs["finish_s"].null_count() == 0
    assert len(result.jobs) == 2
    computed = dict(result.ranks.filter(job=1).select("rank", "computed_s").iter_rows())
    # 4 layers of a stage, and 4 micro-batches forwards and backwards.
    alone = 4 * 4 * 150e-6
    assert {rank: round(time / alone, 3) for rank, time in computed.items()} == {
        rank: 1.2 if rank == 5 else 1.0 for rank in range(16)
    }
    assert min(result.jobs["jct_s"].to_list()) > 1.2 * alone


def test_unresponsive() -> None:
    flows = run("unresponsive").flows
    source, left = (value(flows.filter(traffic=name), pl.col("goodput_bps").sum()) for name in ("source", "flows"))
    assert source == pytest.approx(1.6e9 * 1448 / 1514, rel=0.01)
    assert 0.9 < left / (8.4e9 * 1448 / 1514) < 1.01
    crowded = run("unresponsive", "transports.source.rate=11Gbps").flows
    assert value(crowded.filter(traffic="flows"), pl.col("goodput_bps").sum()) < left


def test_incast_amp() -> None:
    flows = run("incast-amp").flows
    assert value(flows, (pl.col("suppressions") > 0).mean()) > 0.8
    assert value(flows, pl.col("timeouts").sum()) == 0
    for cc in ("xmp", "dcm"):
        flows = run("incast-amp", f"transports.sender.cc={cc}").flows
        assert value(flows, pl.col("suppressions").sum()) == 0
        assert value(flows, (pl.col("timeouts") > 0).mean()) > 0.5


@pytest.mark.parametrize("name", ["permutation", "failed-link", "flow-level"])
def test_several_subflows_are_faster_than_one(name: str) -> None:
    many, one = run(name), run(name, "transports.sender.subflows=1")
    assert goodput(many)[0] > 1.1 * goodput(one)[0]
    assert goodput(many)[1] > 1.5 * goodput(one)[1]


def test_failed_link() -> None:
    flows = run("failed-link").flows
    assert value(flows, pl.col("timeouts").sum()) > 0
    assert value(flows, pl.col("measured_bytes").min()) > 0


def test_web_search() -> None:
    def flows(subflows: int) -> pl.DataFrame:
        overrides = [[f"transports.sender.subflows={subflows}", f"seed={seed}"] for seed in (1, 2, 3)]
        return pl.concat(with_slowdown(run("web-search", *changes)) for changes in overrides)

    def mean_slowdown(table: pl.DataFrame, sizes: pl.Expr) -> float:
        assert len(table.filter(sizes)) > 60
        return value(table.filter(sizes), pl.col("slowdown").mean())

    several, one = flows(4), flows(1)
    large, short = pl.col("size_bytes") > 1_000_000, pl.col("size_bytes") <= 100_000
    assert mean_slowdown(several, large) < 0.95 * mean_slowdown(one, large)
    assert mean_slowdown(several, short) > mean_slowdown(one, short)


def test_six_transports() -> None:
    planned = plan(EXAMPLES / "six-transports.toml", [], force=False)
    assert len(planned.runs) == 480
    assert {axis.field: len(axis.values) for axis in planned.axes} == {
        "traffic[0].transport": 6,
        "traffic[0].load": 2,
        "traffic[0].size.cdf": 2,
        "events": 2,
    }
    short = ["duration=20ms", "traffic[0].stop=10ms"]
    without = run("six-transports", *short, "events=[{at='0s', nodes=['spine0'], state='down'}]")
    used = pl.col("packets").filter(pl.any_horizontal(pl.col("from", "to") == "spine0")).sum()
    assert value(without.links, used) == 0
    assert without.flows.filter(pl.col("size_bytes") < 100_000)["slowdown"].count() > 10


def test_jobs() -> None:
    result = run("jobs")
    done = result.jobs.filter(pl.col("jct_s").is_not_null())
    assert len(done) > 20
    last = result.flows.group_by("job").agg(last=pl.col("finish_s").max())
    for job, end_s, finish_s in done.join(last, on="job").select("job", "end_s", "last").iter_rows():
        assert end_s == pytest.approx(finish_s, rel=0.01), job


def test_flow_list() -> None:
    listed = pl.read_csv(EXAMPLES / "flow-list.csv")
    flows = run("flow-list").flows
    for column in ("from", "to", "size_bytes", "start_s"):
        assert flows[column].to_list() == listed[column].to_list()
    assert flows["fct_s"].null_count() == 0


def test_own_topology() -> None:
    both, one = run("own-topology"), run("own-topology", "transports.sender.subflows=1")
    assert 1.2e9 < goodput(both)[0] < 1.5e9
    assert goodput(one)[0] < 1e9
    ways = (pl.col("from") == "left") & pl.col("to").is_in(["upper", "lower"])
    least = pl.col("utilisation").filter(ways).min()
    assert value(both.links, least) > 0.9
    assert value(one.links, least) == 0


def test_spraying() -> None:
    sprayed, hashed = run("spraying"), run("spraying", "transports.sender.paths=ecmp")
    assert goodput(sprayed)[0] > 1.1 * goodput(hashed)[0]
    assert goodput(sprayed)[1] > 1.5 * goodput(hashed)[1]
    assert 0 < value(sprayed.flows, pl.col("retransmitted").sum() / pl.col("packets_sent").sum()) < 0.01


@pytest.mark.kernel
def test_linux_level() -> None:
    try:
        result = run("linux-level")
    except RequirementError as error:
        pytest.skip(str(error))
    assert goodput(result)[1] > 0


def test_the_example_for_linux_also_runs_in_the_simulator() -> None:
    assert goodput(run("linux-level", "level=packet"))[1] > 0


def test_all_reduce() -> None:
    ring, halving = run("all-reduce"), run("all-reduce", "traffic[0].algorithm=halving-doubling")
    job = ring.jobs.row(0, named=True)
    assert 15 / 8 * 16e6 * 8 / 100e9 < job["finish_s"] < 1.1 * 15 / 8 * 16e6 * 8 / 100e9
    assert job["bus_bps"] == pytest.approx(15 / 8 * 16e6 * 8 / job["jct_s"])
    last = ring.ranks.filter(pl.col("rank") == job["last_rank"])
    assert last["finish_s"].to_list() == [job["finish_s"]] == [ring.ranks["finish_s"].max()]
    assert (len(ring.flows), len(ring.ranks)) == (16 * 30, 16)
    assert value(halving.jobs, pl.col("finish_s")) > job["finish_s"]
