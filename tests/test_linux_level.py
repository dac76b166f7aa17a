"""Experiments of level "linux": the same spec on this machine's kernel, through `weftd testbed`."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.command import WEFT
from weft import Experiment, api
from weft.errors import RequirementError, SpecError

pytestmark = pytest.mark.kernel

SPEC: dict[str, Any] = {
    "name": "coexistence",
    "level": "linux",
    "duration": "2s",
    "topology": {"kind": "many-to-one", "senders": 3, "rate": "100Mbps", "delay": "20us"},
    "queues": {"limit": "100 packets", "mark": "10 packets"},
    "transports": {"dctcp": {"cc": "dctcp"}, "amp": {"cc": "amp", "subflows": 4}},
    "traffic": [
        {"kind": "bulk", "transport": "amp", "from": "0..1", "to": "r0"},
        {"kind": "bulk", "transport": "dctcp", "from": "1..3", "to": "r0"},
    ],
    "probes": [{"kind": "queue", "at": ["s0->r0"]}],
}


def run(**changes: Any) -> api.Result:
    """Skips where this machine lacks something, with what it lacks."""
    try:
        return api.run(Experiment.model_validate(SPEC | changes))
    except RequirementError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def result() -> api.Result:
    return run()


def test_tables_have_the_columns_of_the_packet_level(result: api.Result) -> None:
    packet = api.run(Experiment.model_validate(SPEC | {"level": "packet", "duration": "20ms"}))
    assert {name: table.schema for name, table in result.tables.items()} == {
        name: table.schema for name, table in packet.tables.items()
    }
    assert result.manifest["level"] == "linux"
    assert not result.partial


def test_flows_share_the_link(result: api.Result) -> None:
    goodput = result.flows["goodput_bps"]
    assert 0.5e8 < goodput.sum() < 1e8
    assert min(goodput) > 0
    assert result.flows["subflows"].to_list() == [4, 1, 1]


def test_the_switch_marks_and_keeps_the_queue_short(result: api.Result) -> None:
    queue = result.queues.row(0, named=True)
    assert queue["marks"] > 0
    assert queue["mean_packets"] < 50
    assert sum(queue["time_at_length_s"]) == pytest.approx(2, rel=0.05)


def test_a_connection_over_two_bottlenecks_has_a_subflow_over_each_the_first_over_the_upper() -> None:
    for seed in (1, 2, 3):
        result = run(
            seed=seed,
            duration="500ms",
            topology={"kind": "two-bottlenecks", "rate": "100Mbps", "delay": "20us"},
            transports={"amp": {"cc": "amp", "subflows": 2}},
            traffic=[{"kind": "bulk", "transport": "amp", "from": "S2", "to": "D2"}],
            probes=[],
        )
        sent = {row["to"]: row["packets"] for row in result.links.filter(pl.col("from") == "S2").to_dicts()}
        by_subflow = result.subflows.sort("subflow")["packets_sent"].to_list()
        assert min(by_subflow) > 100
        # Packets of handshakes and of the end carry no data.
        assert [sent["upper-in"], sent["lower-in"]] == pytest.approx(by_subflow, abs=20)


@pytest.mark.parametrize("dctcp_cut", [0, 1])
def test_amp_takes_its_parameters(dctcp_cut: int) -> None:
    cc = {"name": "amp", "dctcp_cut": dctcp_cut}
    result = run(transports=SPEC["transports"] | {"amp": {"cc": cc, "subflows": 4}}, duration="500ms")
    assert result.manifest["spec"]["transports"]["amp"]["cc"]["dctcp_cut"] == dctcp_cut
    assert result.suppressions.height > 0


def test_incast_ends() -> None:
    traffic = [{"kind": "incast", "transport": "dctcp", "flows": 3, "size": "64KB", "interval": "300ms", "rounds": 3}]
    flows = run(traffic=traffic, transports={"dctcp": {"cc": "dctcp"}}).flows
    assert flows["delivered_bytes"].to_list() == [64_000] * 9
    assert flows["fct_s"].null_count() == 0


def test_poisson_flows_open_when_they_do_at_the_packet_level() -> None:
    traffic = [
        {"kind": "poisson", "transport": "amp", "pairs": [["h0", "r0"], ["h1", "r0"]], "size": "20KB", "rate": 50}
    ]
    changes: dict[str, Any] = {"traffic": traffic, "transports": {"amp": SPEC["transports"]["amp"]}, "probes": []}
    flows = run(**changes).flows
    packet = api.run(Experiment.model_validate(SPEC | changes | {"level": "packet"})).flows
    known = ["flow", "from", "to", "size_bytes"]
    assert len(flows) > 100
    assert flows.select(known).equals(packet.select(known))
    assert (flows["start_s"] - packet["start_s"]).abs().max() < 0.2  # type: ignore[operator]
    assert flows["fct_s"].null_count() < 5


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_leaves_tables_and_nothing_else(tmp_path: Path) -> None:
    run(duration="100ms")
    (tmp_path / "spec.json").write_text(json.dumps(SPEC | {"duration": "100s"}))
    process = subprocess.Popen(
        [WEFT, "run", "spec.json", "--json", "--out", "results"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(5)
    assert _registered() != []
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["partial"] is True
    assert pl.read_parquet(tmp_path / "results" / "flows.parquet")["delivered_bytes"].min() > 0  # type: ignore[operator]
    assert _registered() == []


def _registered() -> list[str]:
    """Congestion controls of a testbed, whose process also holds all that it made of the network."""
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return [name for name in names if name.startswith("weft_")]


LOOP: dict[str, Any] = {
    "duration": "2s",
    "topology": {"kind": "two-paths", "rate": "100Mbps", "delay": "20us"},
    "queues": {"limit": "100 packets", "mark": "off"},
    "transports": {"mptcp": {"cc": "lia", "subflows": 2}},
    "probes": [],
    "traffic": [
        {
            "kind": "closed-loop",
            "transport": "mptcp",
            "pairs": [["h0", "h2"], ["h0", "h4"]],
            "size": {"kind": "pareto", "shape": 1.5, "mean": "1MB"},
        }
    ],
}


def test_closed_loops_have_the_flows_of_the_packet_level_one_after_the_other() -> None:
    flows = run(**LOOP).flows
    packet = api.run(Experiment.model_validate(SPEC | LOOP | {"level": "packet"})).flows
    known = ["flow", "from", "to", "round", "size_bytes"]
    both = flows.select(known).join(packet.select(known), on="flow")
    assert len(both) > 10
    for name in known[1:]:
        assert both[name].to_list() == both[f"{name}_right"].to_list()
    for _, loop in flows.sort("flow").group_by("to"):
        assert loop["finish_s"][:-1].null_count() == 0
        assert (loop["start_s"][1:] >= loop["finish_s"][:-1]).all()
        assert max((loop["start_s"][1:] - loop["finish_s"][:-1]).to_list()) < 0.5
        assert (loop["delivered_bytes"][:-1] == loop["size_bytes"][:-1]).all()


def test_multipath_has_a_subflow_on_each_of_two_paths() -> None:
    topology = LOOP["topology"] | {"host_rate": "200Mbps"}
    traffic = [{"kind": "bulk", "transport": "mptcp", "from": "h0", "to": "h2"}]
    result = run(**LOOP | {"topology": topology, "traffic": traffic})
    up = result.links.filter((pl.col("from") == "tor0") & (pl.col("layer") == "tor-agg"))["bytes"].to_list()
    assert len(up) == 2
    assert min(up) > 0.3 * max(up)


def test_jobs_answer_and_follow_each_other() -> None:
    traffic = [{"kind": "jobs", "transport": "dctcp", "servers": 2, "request": "2KB", "block": "64KB", "slots": 2}]
    result = run(traffic=traffic, transports={"dctcp": {"cc": "dctcp"}}, probes=[])
    assert len(result.jobs) > 10
    assert result.jobs["end_s"].null_count() <= 2
    ended = result.jobs.drop_nulls("end_s")
    assert (ended["jct_s"] > 0).all()
    assert result.flows["job"].null_count() == 0


@pytest.mark.parametrize(("cc", "subflows"), [("reno", 1), ("lia", 3)])
def test_latencies_are_those_of_a_short_queue(cc: str, subflows: int) -> None:
    topology = {"kind": "many-to-one", "senders": 1, "rate": "50Mbps", "sender_rate": "500Mbps", "delay": "20us"}
    result = run(
        topology=topology,
        queues={"limit": "10 packets", "host": {"limit": "100 packets"}},
        transports={"one": {"cc": cc, "subflows": subflows}},
        traffic=[{"kind": "bulk", "transport": "one", "from": "h0", "to": "r0"}],
        probes=[{"kind": "latency"}],
    )
    rows, flow = result.latencies, result.flows.row(0, named=True)
    assert flow["goodput_bps"] > 0.3 * 50e6
    # Records of what a packet carries: all that was delivered is in one, and all were seen to be sent.
    records = len(rows) + result.manifest["latencies_unseen"]
    assert records * 1420 <= flow["delivered_bytes"] < (records + 1) * 1448
    assert result.manifest["latencies_unseen"] < 0.01 * records
    assert rows["chunk"].is_sorted()
    assert rows["chunk"].is_unique().all()
    # Most wait for the queue.
    assert rows.select(pl.col("latency_s").median()).item() > 1448 * 8 / 50e6


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"topology": SPEC["topology"] | {"rate": "10Gbps"}}, "topology.rate"),
        ({"topology": SPEC["topology"] | {"delay": "2us"}}, "topology.delay"),
        ({"topology": {"kind": "fat-tree", "k": 4, "rate": "100Mbps", "delay": "20us"}, "probes": []}, "topology.kind"),
        ({"queues": {"limit": "100KB"}}, "queues.limit"),
        (
            {"transports": SPEC["transports"] | {"dctcp": {"cc": "dctcp", "profile": "amp-2019"}}},
            "transports.dctcp.tcp",
        ),
        (
            {"transports": SPEC["transports"] | {"amp": {"cc": "amp", "subflows": 4, "scheduler": "round-robin"}}},
            "transports.amp.scheduler",
        ),
    ],
)
def test_fields_that_the_kernel_lacks_are_refused_by_name(changes: dict[str, Any], field: str) -> None:
    if "fat-tree" in str(changes):
        traffic = [{"kind": "bulk", "transport": "dctcp", "pairs": "permutation"}]
        changes = changes | {"traffic": traffic, "transports": {"dctcp": {"cc": "dctcp"}}}
    with pytest.raises(SpecError, match=rf"^{field}.*level \"linux\""):
        run(**changes)


def test_a_part_of_a_run_is_measured() -> None:
    result = run(measure={"start": "500ms", "stop": "1500ms"})
    assert result.manifest["measured_s"] == [0.5, 1.5]
    queue, flows = result.queues.row(0, named=True), result.flows
    assert sum(queue["time_at_length_s"]) == pytest.approx(1, rel=0.02)
    assert queue["mean_packets"] < 50
    bottleneck = result.links.filter(pl.col("from") == "s0", pl.col("to") == "r0").row(0, named=True)
    # A second's worth of packets of 1514 bytes; what was delivered before and after counts no more.
    assert bottleneck["packets"] == pytest.approx(1e8 / (8 * 1514), rel=0.1)
    assert flows["goodput_bps"].sum() == pytest.approx(0.94e8, rel=0.1)
    assert flows["delivered_bytes"].sum() > 0.94e8 / 8 * 1.5


@pytest.mark.parametrize(("cc", "subflows"), [("reno", 1), ("cubic", 1), ("lia", 2)])
def test_algorithms_without_ecn_get_no_marks_and_fill_the_queue(cc: str, subflows: int) -> None:
    traffic = [{"kind": "bulk", "transport": "own", "from": "0..3", "to": "r0"}]
    result = run(transports={"own": {"cc": cc, "subflows": subflows}}, traffic=traffic)
    assert result.flows["goodput_bps"].sum() > 0.75e8
    queue = result.queues.row(0, named=True)
    assert queue["marks"] == 0
    assert queue["max_packets"] > 90


@pytest.mark.parametrize(("cc", "subflows"), [({"name": "lia", "beta": 2}, 2), ({"name": "cubic", "ecn": 1}, 1)])
def test_ecn_as_in_rfc_3168_where_it_is_asked_for(cc: dict[str, Any], subflows: int) -> None:
    traffic = [{"kind": "bulk", "transport": "own", "from": "0..3", "to": "r0"}]
    result = run(transports={"own": {"cc": cc, "subflows": subflows}}, traffic=traffic)
    queue = result.queues.row(0, named=True)
    # All subflows have it: no sender has to fill the queue to learn of it.
    assert queue["marks"] > 20 * queue["drops"]
    assert result.flows["goodput_bps"].sum() > 0.8e8


LIA_ECN = {"cc": {"name": "lia", "beta": 2}}


@pytest.mark.parametrize(
    ("transports", "complaint"),
    [
        (
            {"amp": {"cc": {"name": "lia", "beta": 4}}},
            "transports.amp.cc.beta: 4; allowed: 0, or 2 for ECN as in RFC 3168",
        ),
        ({"amp": LIA_ECN, "dctcp": {"cc": "reno"}}, 'transports.dctcp.cc: "reno" without ECN, transports.amp with it'),
        (
            {"amp": {"cc": "lia"}, "dctcp": {"cc": {"name": "cubic", "ecn": 1}}},
            'transports.dctcp.cc: "cubic" with ECN, transports.amp without it',
        ),
        ({"amp": {"cc": {"name": "cubic", "beta": 0.5}}}, "transports.amp.cc.beta: 0.5; allowed: 0.7, as the kernel"),
    ],
)
def test_parameters_that_kernel_algorithms_lack_are_refused(transports: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecError, match=f"^{complaint}"):
        run(transports=SPEC["transports"] | transports)


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_the_kernels_own_algorithms_have_one_subflow(cc: str) -> None:
    with pytest.raises(SpecError, match=f'1 with cc = "{cc}"'):
        run(transports={"dctcp": {"cc": "dctcp"}, "amp": {"cc": cc, "subflows": 2}})
