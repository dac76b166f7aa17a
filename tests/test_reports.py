"""Public reports of users of simulators: each reproduction with the value that is right.

Where a report was about a file, a small file of the same form is in `tests/reports`.
"""

from __future__ import annotations

import random
import time
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import weft

FILES = Path(__file__).parent / "reports"


def spec(**changed: Any) -> dict[str, Any]:
    """Three senders and a receiver at 10 Gbps, for a millisecond."""
    return {
        "name": "report",
        "duration": "1ms",
        "topology": {"kind": "many-to-one", "senders": 3, "rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "100 packets"},
        "transports": {"t": {"cc": "reno"}},
        "traffic": [{"kind": "bulk", "transport": "t", "from": "h0", "to": "r0"}],
        **changed,
    }


def listed(name: str) -> dict[str, Any]:
    """The same with the flows of a file."""
    return spec(traffic=[{"kind": "flow-list", "transport": "t", "file": str(FILES / name)}])


def refusal(experiment: dict[str, Any]) -> str:
    with pytest.raises(weft.SpecError) as raised:
        weft.run(experiment)
    return str(raised.value)


@pytest.mark.parametrize(("cc", "sender"), [("reno", "h1"), ("reno", "h5"), ("lia", "h1")])
def test_neither_of_two_flows_starves(cc: str, sender: str) -> None:
    """Linux lets two Reno flows share a port; one had nothing for 30 s in half of the seeds."""
    experiment = tomllib.loads((FILES / "12-starved-flow.toml").read_text(encoding="utf-8"))
    experiment |= {"duration": "10s", "transports": {"t": {"cc": cc}}}
    experiment["traffic"][0]["from"] = sender
    for seed in range(21, 27):
        measured = weft.run(experiment, seed=seed, threads=1).flows["measured_bytes"]
        assert min(measured) / measured.sum() > 0.025, f"seed {seed}: {measured.to_list()}"


@pytest.mark.parametrize(("name", "size"), [("04-decimal.cm", 1000), ("04-endless.cm", None)])
def test_example_matrices_of_htsim(name: str, size: int | None) -> None:
    """Broadcom/csg-htsim: its examples have `start 0.000000 size 0`, which is a flow without end."""
    flows = weft.run(listed(name)).flows
    assert flows.select("from", "to", "size_bytes", "start_s").row(0) == ("h0", "r0", size, 0.0)
    assert (flows["fct_s"].null_count() == 0) == (size is not None)


def test_triggers_of_htsim_are_named() -> None:
    """Broadcom/csg-htsim, gen_allreduce.py: collectives start flows by triggers."""
    line = refusal(listed("04-trigger.cm"))
    assert "04-trigger.cm: line 6: trigger 1 opens the flow of line 5 at another host than that of the signal" in line


def test_speeds_of_the_topology_zoo() -> None:
    """Internet Topology Zoo and Shadow #778: links had the rate of the topology without a word."""
    topology = {"kind": "graph", "file": str(FILES / "05-zoo.graphml"), "rate": "40Gbps", "delay": "1us"}
    experiment = spec(topology=topology, duration="200ms", queues={"limit": "1000 packets"})
    experiment["traffic"] = [{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}]
    line = refusal(experiment)
    assert 'line 6: latency "50.0" is a bare number without a unit; allowed: a time with a unit' in line


def test_speeds_and_delays_of_the_topology_zoo(tmp_path: Path) -> None:
    """With the unit of the latency, the goodput is that of 1 Gbps."""
    file = tmp_path / "zoo.graphml"
    file.write_text((FILES / "05-zoo.graphml").read_text().replace("50.0", "50us"))
    topology = {"kind": "graph", "file": str(file), "rate": "40Gbps", "delay": "1us"}
    experiment = spec(topology=topology, duration="200ms", queues={"limit": "1000 packets"})
    experiment["traffic"] = [{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}]
    result = weft.run(experiment)
    assert set(result.links["rate_bps"]) == {10**9}
    assert result.links["delay_s"].to_list() == pytest.approx([50e-6] * 4)
    # 1448 of 1538 bytes on the wire are data.
    assert result.flows["goodput_bps"][0] == pytest.approx(0.956e9, rel=0.02)


def test_a_network_of_the_topology_zoo_says_how_it_gets_hosts(tmp_path: Path) -> None:
    """Abilene has no node with one edge."""
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in ("ab", "bc", "ca"))
    nodes = "".join(f'<node id="{name}"/>' for name in "abc")
    file = tmp_path / "ring.graphml"
    file.write_text(f'<graphml><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>')
    line = refusal(spec(topology={"kind": "graph", "file": str(file), "rate": "1Gbps", "delay": "1us"}))
    assert line.startswith("topology.hosts: 0 in ")
    assert 'whose nodes with the data type "host" are hosts, or otherwise those with a single edge; allowed:' in line


def test_a_table_of_pandas() -> None:
    """SimAI #35: pandas writes whole numbers as 1000.0 if one of the column is missing."""
    flows = weft.run(listed("06-pandas.csv")).flows
    assert flows["size_bytes"].to_list() == [1000, None]


def test_the_flow_list_of_hpcc() -> None:
    """alibaba-edu/High-Precision-Congestion-Control: flow.txt announces 2 flows, and prose follows."""
    flows = weft.run(listed("07-hpcc.txt")).flows
    assert flows.select("from", "to", "size_bytes").rows() == [("h0", "r0", 1000), ("h1", "r0", 1000)]


def test_the_topology_of_hpcc(tmp_path: Path) -> None:
    """HPCC #48: the topology that belongs to the flow list, whose host numbers are its node numbers."""
    links = "0 1 25Gbps 0.001ms 0\n0 2 25Gbps 1us 0.0\n0 3 25Gbps 1us 0\n"
    (tmp_path / "topology.txt").write_text(f"4 1 3\n0\n{links}\nFirst line: total node #\n")
    (tmp_path / "flow.txt").write_text("2\n2 1 3 100 20000 0\n3 1 3 100 20000 0\n4 1 3 100 5 0\nsrc0 dst0\n")
    topology = {"kind": "graph", "file": str(tmp_path / "topology.txt"), "rate": "1Gbps", "delay": "1s"}
    experiment = spec(topology=topology, duration="20ms")
    experiment["traffic"] = [{"kind": "flow-list", "transport": "t", "file": str(tmp_path / "flow.txt")}]
    result = weft.run(experiment)
    assert result.flows.select("from", "to").rows() == [("2", "1"), ("3", "1")]
    assert set(result.links["rate_bps"]) == {25 * 10**9}
    assert result.flows["fct_s"].null_count() == 0


def test_hosts_do_not_forward() -> None:
    """astra-sim/astra-sim #299: nodes are connected by a host, which does not forward."""
    links = [{"a": "0", "b": "1"}, {"a": "1", "b": "2"}]
    topology = {"kind": "graph", "rate": "200Gbps", "delay": "5us", "hosts": ["0", "1", "2"], "links": links}
    experiment = spec(topology=topology)
    experiment["traffic"] = [{"kind": "bulk", "transport": "t", "from": "0", "to": "2"}]
    assert refusal(experiment) == (
        "traffic[0]: no path leads from 0 to 2 except through 1, and hosts do not forward; choose connected hosts, "
        "or make 1 a switch of a graph"
    )


def mixed_red(*, action: str = "mark", nodrop: bool = False, ecn: bool = True) -> dict[str, Any]:
    """Four flows of DCTCP, or of CUBIC, and four of CUBIC without ECN through one RED queue."""
    red = {"name": "red", "min": "50 packets", "max": "200 packets", "probability": 0.05, "action": action}
    flow = {"kind": "bulk", "to": "r0"}
    return {
        "name": "red-without-ecn",
        "duration": "500ms",
        "topology": {"kind": "many-to-one", "senders": 8, "rate": "10Gbps", "delay": "20us"},
        "queues": {"limit": "1000 packets", "kind": {**red, "nodrop": nodrop}},
        "transports": {"dctcp": {"cc": "dctcp"}, "cubic": {"cc": "cubic"}},
        "traffic": [
            {**flow, "name": "first", "transport": "dctcp" if ecn else "cubic", "from": "0..4"},
            {**flow, "name": "second", "transport": "cubic", "from": "4..8"},
        ],
        "measure": {"start": "150ms"},
        "probes": [{"kind": "queue", "at": ["s0->r0"]}],
    }


def gbps(result: weft.Result, name: str) -> float:
    """The goodput of a traffic entry."""
    rates = result.flows.filter(pl.col("traffic") == name)["goodput_bps"]
    return float(rates.sum()) / 1e9


def test_red_drops_packets_without_ecn() -> None:
    """Linux's `red` with `ecn`, RED of ns-3 and WRED of switches; FujiZ/ns-3 #3, sonic-net/sonic-mgmt #17108."""
    alone, dropping = (weft.run(mixed_red(action=action, ecn=False)) for action in ("mark", "drop"))
    # No packet of CUBIC is ECN-capable, so that both actions do the same.
    assert alone.flows.equals(dropping.flows)
    mean = alone.queues["mean_packets"][0]
    assert 50 < mean < 100
    link = alone.links.filter((pl.col("from") == "s0") & (pl.col("to") == "r0"))
    # RED's own line: the probability rises from 0 at 50 packets to 0.05 at 200 (Floyd and Jacobson, 1993).
    assert link["loss"][0] == pytest.approx(0.05 * (mean - 50) / 150, rel=0.15)


def test_dctcp_takes_most_of_a_red_queue_from_tcp_without_ecn() -> None:
    """Judd (NSDI 2015): flows without ECN starve next to DCTCP where switches drop what they cannot mark."""
    result = weft.run(mixed_red())
    first, second = gbps(result, "first"), gbps(result, "second")
    assert first + second > 9
    assert first > 0.8 * (first + second)
    # The option of Linux that Weft had before: packets without ECN fill the queue up to its limit.
    result = weft.run(mixed_red(nodrop=True))
    assert gbps(result, "second") > 9
    # CUBIC's cut by 0.3 leaves 0.7 of 1000 queued packets and some 66 on the path (RFC 9438, section 4.6).
    assert result.queues["mean_packets"][0] > 0.7 * (1000 + 66) - 66


@pytest.mark.parametrize("senders", [8, 255])
def test_a_paused_sender_costs_nothing(senders: int) -> None:
    """HPCC #14: pauses of many senders. Their hosts have no timers while they are paused."""
    result = weft.run(
        {
            "name": "pauses",
            "duration": "300us",
            "topology": {"kind": "many-to-one", "senders": senders, "rate": "100Gbps", "delay": "1us"},
            "queues": {"limit": "200KB", "kind": "lossless"},
            "transports": {"roce": {"kind": "roce", "roce": {"control": "none"}}},
            "traffic": [{"kind": "bulk", "transport": "roce", "from": f"0..{senders}", "to": "r0"}],
        }
    )
    pauses = int(result.links["pauses"].sum())
    assert pauses >= senders
    # A timer per packet that a host sends, one per pause, and a few per flow.
    packets = int(result.flows["packets_sent"].sum())
    assert result.manifest["counters"]["timers"] <= packets + 2 * pauses + 4 * senders


@pytest.mark.parametrize(
    ("kind", "queue", "ideal_us"),
    [
        # 97 packets of 1086 B and one of 734 B over two links of 10 Gbps and 1 us, each after the one before it.
        ("roce", {"limit": "1MB", "kind": "lossless"}, 97 * 0.8688 + 0.5872 + 0.8688 + 2),
        # 24 packets of 4150 B and one of 2000 B.
        ("uet", {"limit": "42 packets", "kind": "trimming"}, 24 * 3.32 + 1.6 + 3.32 + 2),
        # 11 packets of 9064 B and one of 1064 B.
        ("ndp", {"limit": "42 packets", "kind": "trimming"}, 11 * 7.2512 + 0.8512 + 7.2512 + 2),
    ],
)
def test_slowdown_of_kinds_other_than_tcp(kind: str, queue: dict[str, Any], ideal_us: float) -> None:
    """High-Precision-Congestion-Control, issue 30: the slowdown of DCQCN by size."""
    result = weft.run(
        {
            "name": "slowdown",
            "duration": "2ms",
            "hosts": {"clock_ppm": 0},
            "topology": {"kind": "many-to-one", "senders": 4, "rate": "10Gbps", "delay": "1us"},
            "queues": queue,
            "transports": {"t": {"kind": kind}},
            "traffic": [{"kind": "incast", "transport": "t", "flows": 4, "size": "100KB"}],
            "probes": [{"kind": "throughput", "interval": "10us"}],
        }
    )
    flows = result.flows
    assert (1e6 * flows["ideal_s"]).to_list() == pytest.approx(4 * [ideal_us], rel=1e-6)
    assert flows["slowdown"].to_list() == pytest.approx((flows["fct_s"] / flows["ideal_s"]).to_list())
    assert flows["slowdown"].max() == pytest.approx(4, rel=0.15)
    if kind == "roce":
        assert flows["slowdown"].to_list() == pytest.approx(4 * [3.9], abs=0.05)
    assert weft.stats.by_size(flows, by="transport")["flows"].to_list() == [4]
    result.plot.slowdown()
    assert result.throughput["delivered_bytes"].sum() == 400_000
    result.plot.throughput()


def test_a_probe_of_windows_says_which_kinds_have_none() -> None:
    def probed(transport: dict[str, Any], **probe: object) -> weft.Result:
        return weft.run(
            {
                "name": "probe",
                "duration": "1ms",
                "topology": {"kind": "many-to-one", "senders": 4, "rate": "10Gbps", "delay": "1us"},
                "queues": {"limit": "42 packets", "kind": "trimming"},
                "transports": {"t": transport},
                "traffic": [{"kind": "incast", "transport": "t", "flows": 4, "size": "300KB"}],
                "probes": [{"kind": "flow", **probe}],
            }
        )

    uet = probed({"kind": "uet"}, interval="10us")
    assert uet.traces["cwnd_packets"].min() > 0  # type: ignore[operator]
    uet.plot.windows()
    with pytest.raises(weft.WeftError, match=r"plot\.rates: the recorded flows have windows; use plot\.windows"):
        uet.plot.rates()
    roce = probed({"kind": "roce"}, interval="10us")
    assert 0 < roce.traces["rate_bps"].min() <= roce.traces["rate_bps"].max() <= 10.1e9  # type: ignore[operator]
    roce.plot.rates()
    with pytest.raises(weft.WeftError, match=r"plot\.windows: the recorded flows have rates; use plot\.rates"):
        roce.plot.windows()
    with pytest.raises(weft.SpecError, match=r'probes\[0\].interval: not set, and transports.t \(kind "roce"\)'):
        probed({"kind": "roce"})
    for transport in ({"kind": "ndp"}, {"kind": "uet", "uet": {"control": "receiver"}}):
        with pytest.raises(weft.SpecError, match='has neither window nor rate; use "throughput"'):
            probed(transport, interval="10us")


def read(name: str) -> dict[str, Any]:
    """Returns the spec of a report."""
    return tomllib.loads((FILES / f"{name}.toml").read_text(encoding="utf-8"))


def long_paths(transport: str, **settings: str) -> dict[str, Any]:
    """Returns the paths of 281 ms with a transport, some of whose fields are set."""
    experiment = read("send-buffer")
    experiment["traffic"][0]["transport"] = transport
    experiment["transports"][transport]["tcp"] |= settings
    return experiment


def test_the_send_buffer_limits_tcp_and_each_subflow_alike() -> None:
    """A buffer of 4 MiB holds 2880 segments per round trip, with one path and with two.

    A Linux 6.18 sender with the same buffer had 2,850 to 2,922 segments outstanding over a path of 281 ms.
    """
    limit = 2880 * 1448 * 8 / 0.281
    with pytest.warns(weft.ResultWarning, match="send buffers: they were full for"):
        single = weft.run(long_paths("t"), threads=1)
    with pytest.warns(weft.ResultWarning, match=r"compare with a larger tcp\.send_buffer"):
        multipath = weft.run(long_paths("m"), threads=1)
    one, both = (result.flows["goodput_bps"].item() for result in (single, multipath))
    assert one == pytest.approx(limit, rel=0.02)
    # Linux's scheduler fills the second subflow slowly.
    assert 1.2 * limit < both <= 2 * limit * 1.02
    limited = single.subflows["send_buffer_limited_s"].item()
    assert 5 < limited < 10


def test_a_larger_send_buffer_fills_the_path() -> None:
    result = weft.run(long_paths("t", send_buffer="512MB"), threads=1)
    assert result.flows["goodput_bps"].item() > 10 * 2880 * 1448 * 8 / 0.281
    assert result.subflows["send_buffer_limited_s"].item() == 0
    assert not [line for line in result.manifest["warnings"] if line.startswith("send buffers")]


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("cable", ["a->x", "x->b"])
def test_a_subflow_stays_on_its_interface(level: str, cable: str) -> None:
    """A subflow whose cable is down carries nothing, and goes on when the cable is up again."""
    experiment = read("interface-down") | {"level": level}
    for event in experiment["events"]:
        event["links"] = [cable]
    early, late, end = (_acked(experiment | {"duration": duration}) for duration in ("2500ms", "7s", "20s"))
    path = 10e6 / 8 * 1448 / 1514
    # Packets in the queue when the cable goes down arrive, or are lost with it.
    assert early[0] == pytest.approx(2 * path, rel=0.15)
    assert late[0] == pytest.approx(early[0], abs=1)
    # The other subflow waits for the lost data, which it sends again after a timeout.
    assert 2.5 * path < late[1] - early[1] <= 4.6 * path
    # A retransmission, whose interval doubles each time, finds the cable up again.
    assert (5 if level == "packet" else 12.5) * path < end[0] - late[0] <= 13.1 * path


def _acked(experiment: dict[str, Any]) -> list[int]:
    """Returns the acknowledged bytes of both subflows at the end."""
    if experiment["duration"] != "20s":
        experiment = experiment | {"events": experiment["events"][:1]}
    result = weft.run(experiment, threads=1)
    if experiment["level"] == "packet" and experiment["duration"] == "7s":
        assert result.subflows["timeouts"].to_list()[0] >= 3
        assert result.flows["reinjected"].item() > 5
    return [int(acked) for acked in result.subflows["acked_bytes"]]


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_join_waits_for_its_cable(level: str) -> None:
    """A subflow that opens while the cable of its interface is down does not take the other interface."""
    experiment = read("interface-down") | {"level": level, "duration": "5s"}
    experiment["events"] = [experiment["events"][0] | {"at": "0s", "links": ["a->y"]}]
    subflows = weft.run(experiment, threads=1).subflows
    assert subflows["acked_bytes"].to_list()[0] == pytest.approx(5 * 10e6 / 8 * 1448 / 1514, rel=0.05)
    assert subflows["acked_bytes"].to_list()[1] == 0


def test_a_shuffle_at_the_flow_level(tmp_path: Path) -> None:
    """coflow/coflow-benchmark: a shuffle of 11,990 flows took 46 s of CPU time, more than with packets.

    It takes about a second, so that the bound leaves room for a busy machine.
    """
    hosts = 110
    sizes = random.Random(1)  # noqa: S311 (an experiment, no secret)
    pairs = [(a, b) for a in range(hosts) for b in range(hosts) if a != b]
    lines = [f"{a},{b},{sizes.randint(100_000, 2_000_000)},0" for a, b in pairs]
    file = tmp_path / "shuffle.csv"
    file.write_text("\n".join(["from,to,size_bytes,start_s", *lines]))
    names = [f"r{i}" for i in range(hosts)]
    cables = [{"a": name, "b": "s"} for name in names]
    ends = {"hosts": names, "switches": ["s"], "links": cables}
    began = time.process_time()
    result = weft.run(
        spec(
            level="flow",
            duration="60s",
            topology={"kind": "graph", "rate": "1Gbps", "delay": "1us", **ends},
            traffic=[{"kind": "flow-list", "file": str(file), "transport": "t"}],
        ),
        threads=1,
    )
    assert time.process_time() - began < 8.0
    # A host that sends all the time needs the time of its bytes on the wire, and the last one a little more.
    sent = result.flows.group_by("from").agg(pl.col("size_bytes").sum())["size_bytes"]
    least = 8.0 * float(sent.max()) * 1514 / 1448 / 1e9  # type: ignore[arg-type]
    assert least <= float(result.flows["finish_s"].max()) < 1.1 * least  # type: ignore[arg-type]


PIPES = {2: ("2Mbps", "3 packets", "5ms"), 8: ("8Mbps", "14 packets", "5ms"), 32: ("50Mbps", "68 packets", "2ms")}
"""Rate, queue and delay by the windows that two flows have there."""


def pair(packets: int, old: str, newcomer: str, *, tso: bool) -> float:
    """Returns the newcomer's part of the older flow's goodput, the mean over five seeds."""
    rate, queue, delay = PIPES[packets]
    experiment = tomllib.loads((FILES / "cubic-beside-reno.toml").read_text(encoding="utf-8"))
    experiment["topology"]["links"][2] |= {"rate": rate, "delay": delay}
    experiment["queues"]["limit"] = queue
    experiment["hosts"] = {"tso": tso}
    for entry, transport in zip(experiment["traffic"], (old, newcomer), strict=True):
        entry["transport"] = transport
    parts = []
    for seed in range(1, 6):
        goodput = weft.run(experiment, seed=seed, threads=1).flows.sort("flow")["goodput_bps"]
        parts.append(goodput[1] / goodput[0])
    return fmean(parts)


IN_PHASE = pytest.mark.xfail(strict=True, reason="0.89 and 1.38 of the older flow, in Linux 6.18 1.11 and 1.14")
IN_PHASE_WITH_OFFLOAD = pytest.mark.xfail(strict=True, reason="1.15 of the older flow, in Linux 6.18 0.93")
TWO_WITH_OFFLOAD = pytest.mark.xfail(strict=True, reason="CUBIC has 0.84 of Reno's goodput, in Linux 6.18 0.90")


@pytest.mark.parametrize(
    ("packets", "old", "newcomer", "tso"),
    [
        (32, "reno", "cubic", False),
        (32, "cubic", "reno", False),
        pytest.param(8, "reno", "cubic", False, marks=IN_PHASE),
        pytest.param(8, "cubic", "reno", False, marks=IN_PHASE),
        (2, "reno", "cubic", False),
        (2, "cubic", "reno", False),
        (32, "reno", "cubic", True),
        (32, "cubic", "reno", True),
        (8, "reno", "cubic", True),
        pytest.param(8, "cubic", "reno", True, marks=IN_PHASE_WITH_OFFLOAD),
        pytest.param(2, "reno", "cubic", True, marks=TWO_WITH_OFFLOAD),
        pytest.param(2, "cubic", "reno", True, marks=TWO_WITH_OFFLOAD),
    ],
)
def test_cubic_and_reno_share_equally(packets: int, old: str, newcomer: str, tso: bool) -> None:  # noqa: FBT001
    """h2o/quicly #678: RFC 9438, section 4.3. The kernel itself is outside these bounds in some rows.

    The newcomer's part in Linux 6.18 is, Reno first and CUBIC first, with offload 0.90 and 1.12 at 2 packets, and 1.14
    and 0.93 at 8. Without offload it is 0.83 and 1.38 at 2 packets, and 1.11 and 1.14 at 8.
    """
    assert pair(packets, old, newcomer, tso=tso) == pytest.approx(1, abs=0.1)


def test_flows_with_two_packets_have_no_timeouts() -> None:
    """A burst whose first and last packets are lost waited for a timeout: 18 to 23 per minute and Reno flow.

    The kernel has at most 5 in 50 s without offload.
    """
    rate, queue, delay = PIPES[2]
    experiment = tomllib.loads((FILES / "cubic-beside-reno.toml").read_text(encoding="utf-8"))
    experiment["topology"]["links"][2] |= {"rate": rate, "delay": delay}
    experiment["queues"]["limit"] = queue
    experiment["hosts"] = {"tso": False}
    flows = weft.run(experiment, seed=1, threads=1).flows
    assert int(flows["fast_retransmits"].sum()) > 600
    assert int(flows["timeouts"].sum()) <= 5


def test_the_scheduler_of_linux_wastes_paths_that_differ() -> None:
    """multipath-tcp/mptcp #278: 30 Mbps with 20 ms and 1 % loss, and with 200 ms, queues of 27 packets, uncoupled Reno.

    Linux 6.18 has 8.1, 14.1, 10.3 and 9.6 Mbps in four runs.
    """
    links = [
        {"a": "a", "b": "s"},
        {"a": "s", "b": "b", "rate": "30Mbps", "delay": "10ms"},
        {"a": "a", "b": "t"},
        {"a": "t", "b": "b", "rate": "30Mbps", "delay": "100ms"},
    ]
    goodputs = {}
    for scheduler in ("linux", "round-robin"):
        experiment = spec(
            duration="50s",
            measure={"start": "10s"},
            topology={"kind": "graph", "rate": "1Gbps", "delay": "0s", "hosts": ["a", "b"], "switches": ["s", "t"]}
            | {"links": links},
            queues={"limit": "27 packets"},
            links={"s->b": {"queue": {"name": "lossy", "loss": 0.01}}},
            transports={"t": {"cc": "uncoupled", "subflows": 2, "paths": "by-interface", "scheduler": scheduler}},
            traffic=[{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}],
        )
        flows = [weft.run(experiment, seed=seed, threads=1).flows for seed in range(1, 5)]
        goodputs[scheduler] = [float(flow["goodput_bps"][0]) / 1e6 for flow in flows]
    assert all(17 < goodput < 19 for goodput in goodputs["round-robin"])
    assert all(7 < goodput < 19 for goodput in goodputs["linux"])
    assert fmean(goodputs["linux"]) < 15


def test_a_cubic_flow_behind_a_short_queue_loses_as_many_packets_as_in_linux() -> None:
    """Decision 13: Linux 6.18 on the testbed lost 2.51 %; 15 % of it are more than runs differ."""
    links = [{"a": "a", "b": "s"}, {"a": "s", "b": "t", "rate": "200Mbps", "delay": "200us"}, {"a": "t", "b": "b"}]
    topology = {"kind": "graph", "rate": "1Gbps", "delay": "0s", "hosts": ["a", "b"], "switches": ["s", "t"]}
    experiment = spec(
        duration="6s",
        measure={"start": "2s"},
        topology=topology | {"links": links},
        queues={"limit": "20 packets"},
        transports={"t": {"cc": "cubic"}},
        traffic=[{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}],
    )
    link = weft.run(experiment, seed=1, threads=1).links.sort("drops").row(-1, named=True)
    assert 100 * link["drops"] / (link["packets"] + link["drops"]) == pytest.approx(2.51, rel=0.15)


@pytest.mark.parametrize("recovery", ["newreno", "sack"])
@pytest.mark.parametrize("delay", ["90ms", "100ms"])
def test_round_trips_of_the_minimum_rto_cause_no_timeouts(recovery: str, delay: str) -> None:
    """A textbook's link of 800 kbps: in Linux the RTO exceeds SRTT by the minimum (`__tcp_set_rto`)."""
    links = [{"a": "a", "b": "s"}, {"a": "s", "b": "t", "rate": "800kbps", "delay": delay}, {"a": "t", "b": "b"}]
    topology = {"kind": "graph", "rate": "10Mbps", "delay": "0s", "hosts": ["a", "b"], "switches": ["s", "t"]}
    experiment = spec(
        duration="100s",
        topology=topology | {"links": links},
        queues={"limit": "6 packets"},
        transports={"t": {"cc": "reno", "tcp": {"recovery": recovery, "ack_every": 1}}},
        traffic=[{"kind": "bulk", "transport": "t", "from": "a", "to": "b"}],
    )
    flow = weft.run(experiment, seed=1, threads=1).flows.row(0, named=True)
    assert flow["fast_retransmits"] > 10
    assert flow["timeouts"] == 0
