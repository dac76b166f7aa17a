"""Steps of jobs: the critical path against times known by hand, and results that a probe does not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft
from tests.collectives.test_ranks import KINDS, run, spec

PROBE: dict[str, Any] = {"transport": KINDS["tcp"], "probes": [{"kind": "steps"}]}
RING = {"kind": "collective", "operation": "all-reduce", "size": "800KB", "repeats": 2, "compute": "20us"}
JOBS: dict[str, dict[str, Any]] = {
    "ring": RING,
    "tree": {"kind": "collective", "operation": "broadcast", "size": "200KB"},
    "training": {
        "kind": "training",
        "layers": 4,
        "forward": "20us",
        "backward": "40us",
        "gradient_size": "200KB",
        "micro_batches": 2,
        "stages": 2,
        "activation_size": "50KB",
        "stragglers": [1],
        "straggler_factor": 2.0,
    },
}


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("name", JOBS)
def test_the_critical_path_has_no_gap(name: str, level: str) -> None:
    result = run(spec(8, JOBS[name], level=level, **PROBE))
    for job in result.jobs.iter_rows(named=True):
        path = result.steps.filter(pl.col("critical"), job=job["job"]).sort("start_s", "end_s")
        assert path["start_s"][0] in result.ranks.filter(job=job["job"])["start_s"].to_list()
        # Each step begins when the one before has ended. A wait for an acknowledgement takes less than 20 us.
        gaps = [*(path["start_s"][1:] - path["end_s"][:-1]).to_list(), job["finish_s"] - path["end_s"][-1]]
        waits = 20e-6 if level == "packet" and name != "ring" else 1e-12
        assert all(-1e-12 <= gap < waits for gap in gaps), gaps
        last = path.row(-1, named=True)
        assert job["last_rank"] in (last["rank"], last["to_rank"])


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_straggler_is_on_the_critical_path(level: str) -> None:
    traffic = JOBS["training"] | {"straggler_factor": 10.0, "stages": 1, "activation_size": "0B", "overlap": False}
    del traffic["activation_size"]
    result = run(spec(8, traffic, level=level, **PROBE))
    computing = result.steps.filter("critical", pl.col("flow").is_null())
    of_straggler: float = computing.filter(rank=1).select((pl.col("end_s") - pl.col("start_s")).sum()).item()
    assert of_straggler == pytest.approx(10 * 2 * 4 * 60e-6)
    assert set(computing["rank"]) == {1}


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_times_of_ranks_add_up(level: str) -> None:
    result = run(spec(8, JOBS["training"], level=level, **PROBE))
    (job,) = result.jobs.iter_rows(named=True)
    computing = result.steps.filter(pl.col("flow").is_null())
    busy = computing.group_by("rank").agg(busy=(pl.col("end_s") - pl.col("start_s")).sum())
    rows = result.ranks.join(busy, on="rank")
    assert len(rows) == 8
    # One processor computes one task at a time.
    total = rows.select(total=pl.col("busy") + pl.col("exposed_s") + pl.col("idle_s"))["total"].to_list()
    assert total == pytest.approx([job["jct_s"]] * 8)
    assert rows["busy"].to_list() == pytest.approx(rows["computed_s"].to_list())
    assert rows["exposed_s"].min() > 0  # type: ignore[operator]  # a number
    assert rows["idle_s"].min() == pytest.approx(0, abs=1e-12)
    assert job["exposed_s"] == pytest.approx(job["jct_s"] - rows["busy"].max())


def test_a_slow_link_makes_a_flow_slow() -> None:
    experiment = spec(8, RING | {"repeats": 1}, **PROBE)
    experiment["links"] = {"h3->leaf0": {"rate": "2Gbps"}}
    result = run(experiment)
    slow = result.flows.row(result.jobs["slowest_flow"].item(), named=True)
    assert slow["flow"] == result.jobs["slowest_flow"].item()
    assert "h3" in (slow["from"], slow["to"])
    link = result.links.row(result.jobs["slowest_link"].item(), named=True)
    assert (link["from"], link["to"]) == ("h3", "leaf0")


def test_steps_change_no_other_result() -> None:
    for threads in (1, 2, 4):
        plain = run(spec(8, JOBS["training"], transport=KINDS["tcp"]), threads=threads, trace_hash=True)
        probed = run(spec(8, JOBS["training"], **PROBE), threads=threads, trace_hash=True)
        assert plain.manifest["trace_hash"] == probed.manifest["trace_hash"]
        assert plain.flows.equals(probed.flows)
        assert plain.ranks.equals(probed.ranks)
        assert plain.steps.is_empty()
        for column in ("slowest_flow", "slowest_link"):
            assert plain.jobs[column].null_count() == len(plain.jobs)
        if threads == 1:
            first = probed.steps
        assert probed.steps.equals(first)


def test_messages_have_the_times_of_flows(tmp_path: Path) -> None:
    result = run(spec(8, RING, **PROBE))
    messages = result.steps.drop_nulls("flow").join(result.flows, on="flow", suffix="_flow")
    assert len(messages) == len(result.flows) == 2 * 8 * 14
    assert messages["end_s"].equals(messages["finish_s"], check_names=False)
    assert messages["start_s"].equals(messages["start_s_flow"], check_names=False)
    assert messages["ideal_s"].equals(messages["ideal_s_flow"], check_names=False)
    result.write(tmp_path / "out")
    assert weft.Result.read(tmp_path / "out").steps.equals(result.steps)


@pytest.mark.parametrize("probe", [{"traffic": "other"}, {}])
def test_traffic_without_ranks_is_one_line(probe: dict[str, str]) -> None:
    traffic = {"kind": "bulk", "name": "other", "pairs": [[0, 1]]}
    with pytest.raises(weft.SpecError, match=r"^probes\[0\]\.traffic: "):
        weft.run(spec(8, traffic, **PROBE | {"probes": [{"kind": "steps", **probe}]}))
