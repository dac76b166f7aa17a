"""The relations: each takes a spec and its result, and compares them with other runs or with sums."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

import weft
from tests.relations.random_specs import Spec

Relation = Callable[[Spec, weft.Result], bool]
"""Raises AssertionError if the relation does not hold; returns whether it applies to the spec."""

COUNTERS = (
    "packets_sent",
    "retransmitted",
    "packets_dropped",
    "packets_trimmed",
    "marked",
    "fast_retransmits",
    "timeouts",
    "syn_timeouts",
)
LINK_COUNTERS = ("packets", "bytes", "drops", "marks")
UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def run(spec: Spec, *, threads: int = 1) -> weft.Result:
    """A run with its trace hash."""
    return weft.run(spec, threads=threads, trace_hash=True)


def seconds(text: str) -> float:
    """A time of a spec in seconds."""
    number = text.rstrip("nums")
    return float(number) * UNITS_S[text.removeprefix(number)]


def changed(spec: Spec, **fields: Any) -> Spec:
    """A copy of the spec with these fields."""
    return deepcopy(spec) | fields


def assert_equal_tables(one: weft.Result, other: weft.Result, names: tuple[str, ...] | None = None) -> None:
    """All tables are equal, to the bit."""
    for name in one.tables if names is None else names:
        assert_frame_equal(one.tables[name], other.tables[name], check_exact=True)


def threads_change_nothing(spec: Spec, result: weft.Result) -> bool:
    """A run on three threads has the same trace and tables as on one."""
    other = run(spec, threads=3)
    assert other.manifest["trace_hash"] == result.manifest["trace_hash"]
    assert_equal_tables(result, other)
    return True


def resolved_spec_runs_alike(_: Spec, result: weft.Result) -> bool:
    """The resolved spec gives the same run."""
    other = run(result.manifest["spec"])
    assert other.manifest["trace_hash"] == result.manifest["trace_hash"]
    assert_equal_tables(result, other)
    return True


def probes_change_nothing(spec: Spec, result: weft.Result) -> bool:
    """Probes leave all other tables as they are."""
    layers = sorted(set(result.links["layer"]))
    probes = [
        {"kind": "queue", "at": layers, "interval": "70us"},
        {"kind": "throughput", "interval": "70us"},
        {"kind": "latency"},
        {"kind": "packets", "at": layers[:1]},
    ]
    # Other kinds of transport need an interval, or have neither window nor rate.
    if all(transport.get("kind", "tcp") == "tcp" for transport in spec["transports"].values()):
        probes.append({"kind": "flow"})
    other = run(changed(spec, probes=probes))
    assert_equal_tables(result, other, ("flows", "subflows", "links", "jobs", "suppressions"))
    return True


def longer_run_agrees(spec: Spec, _: weft.Result) -> bool:
    """Up to the end of a run, a run of twice its time does the same."""
    end = seconds(spec["duration"])
    entries = [
        entry if {"size", "stop", "steps"} & entry.keys() else entry | {"stop": spec["duration"]}
        for entry in spec["traffic"]
    ]
    short = run(changed(spec, traffic=entries))
    measure = {"stop": spec["duration"]}
    long = run(changed(spec, traffic=entries, duration=f"{round(2e6 * end)}us", measure=measure))
    # Receivers that have all data, apart from the senders' counters, which go on.
    columns = ["traffic", "from", "to", "size_bytes", "start_s", "finish_s", "fct_s", "delivered_bytes"]
    before = [table.flows.filter(pl.col("finish_s") < end).select(columns).sort(columns) for table in (short, long)]
    if "events" not in spec or all(seconds(event["at"]) < end for event in spec["events"]):
        assert_frame_equal(before[0], before[1], check_exact=True)
        for counter in LINK_COUNTERS:
            assert short.links[counter].to_list() == long.links[counter].to_list(), counter
    return True


DRAWN_BEFORE = ("bulk", "incast", "poisson", "all-to-all", "one-to-many", "stride", "hot-spot")
"""Traffic whose flows are drawn before the run."""


def order_of_entries_changes_no_flow(spec: Spec, result: weft.Result) -> bool:
    """The flows of a traffic entry do not depend on its position among the entries."""
    if len(spec["traffic"]) == 1:
        return False
    names = [entry["name"] for entry in spec["traffic"] if entry["kind"] in DRAWN_BEFORE]
    columns = ["traffic", "from", "to", "size_bytes", "start_s"]
    tables = [result.flows, run(changed(spec, traffic=spec["traffic"][::-1])).flows]
    drawn = [table.filter(pl.col("traffic").is_in(names)).select(columns).sort(columns) for table in tables]
    assert_frame_equal(drawn[0], drawn[1], check_exact=True)
    return True


def windows_add_up(spec: Spec, result: weft.Result) -> bool:
    """The counters of two adjacent windows add up to those of both."""
    half = f"{round(5e5 * seconds(spec['duration']))}us"
    parts = [run(changed(spec, measure=window)) for window in ({"stop": half}, {"start": half})]
    for counter in LINK_COUNTERS:
        sums = parts[0].links[counter] + parts[1].links[counter]
        assert sums.to_list() == result.links[counter].to_list(), counter
    first, second, whole = (one.flows.sort("flow")["measured_bytes"] for one in (*parts, result))
    assert (first + second).to_list() == whole.to_list()
    return True


def unused_limit_is_unused(spec: Spec, result: weft.Result) -> bool:
    """Queues that have dropped and trimmed nothing may be longer without any effect."""
    # Headers that are in flight at the end are in no flow's `packets_trimmed`.
    trims = result.manifest["counters"].get("trims", 0)
    if result.links["drops"].sum() or spec["queues"]["mark"] == "off" or trims:
        return False
    # Their timeout follows from the limit.
    if any(
        transport.get("kind") in ("uet", "ndp") and "rto" not in transport[transport["kind"]]
        for transport in spec["transports"].values()
    ):
        return False
    limit = int(spec["queues"]["limit"].split()[0])
    other = run(changed(spec, queues=spec["queues"] | {"limit": f"{limit + 50} packets"}))
    assert other.manifest["trace_hash"] == result.manifest["trace_hash"]
    assert_equal_tables(result, other)
    return True


def flows_are_sums_of_subflows(_: Spec, result: weft.Result) -> bool:
    """Counters of a flow are sums over its subflows, and packets are somewhere."""
    sums = result.subflows.group_by("flow").agg(pl.col(COUNTERS).sum()).sort("flow")
    flows = result.flows.filter(pl.col("flow").is_in(sums["flow"].implode())).sort("flow")
    for counter in COUNTERS:
        assert sums[counter].to_list() == flows[counter].to_list(), counter
    there = pl.sum_horizontal("packets_received", "packets_dropped", "packets_trimmed", "packets_in_flight")
    assert result.subflows.filter(there != pl.col("packets_sent")).is_empty()
    return True


def nothing_is_faster_than_light(spec: Spec, result: weft.Result) -> bool:
    """No flow takes less than the time of its bytes on all links of its sender, and one way of light."""
    drift = 1 + 2e-4
    capacity = result.links.group_by("from").agg(pl.col("rate_bps").sum(), pl.col("delay_s").min())
    if any("rate" in event or "delay" in event for event in spec.get("events", [])):
        return False
    flows = result.flows.filter(pl.col("finish_s").is_not_null()).join(capacity, on="from")
    least = pl.col("size_bytes").fill_null(pl.col("delivered_bytes")) * 8 / pl.col("rate_bps") / drift + pl.col(
        "delay_s"
    )
    assert flows.filter(pl.col("finish_s") - pl.col("start_s") < least).is_empty()
    assert flows.filter(pl.col("size_bytes") != pl.col("delivered_bytes")).is_empty()
    return True


def names_mean_nothing(spec: Spec, result: weft.Result) -> bool:
    """In a graph, other names of hosts and switches change names only."""
    if spec["topology"]["kind"] != "graph":
        return False
    network = spec["topology"]
    nodes = [*network["hosts"], *network["switches"]]
    fresh = [f"n{i}" for i in range(len(nodes))]
    Random(spec["seed"]).shuffle(fresh)  # noqa: S311 (names, no secrets)
    name = dict(zip(nodes, fresh, strict=True))
    renamed = network | {
        "hosts": [name[host] for host in network["hosts"]],
        "switches": [name[switch] for switch in network["switches"]],
        "links": [cable | {"a": name[cable["a"]], "b": name[cable["b"]]} for cable in network["links"]],
    }
    text = json.dumps(spec["traffic"]).replace('"h0"', json.dumps(name["h0"]))
    other = run(changed(spec, topology=renamed, traffic=json.loads(text)))
    assert_frame_equal(result.flows.drop("from", "to"), other.flows.drop("from", "to"), check_exact=True)
    assert_equal_tables(result, other, ("subflows",))
    return True


BACKLOGGED: tuple[Spec, ...] = (
    {"cc": "dctcp"},
    {"cc": "cubic", "subflows": 2},
    {"cc": "dctcp", "tcp": {"mss": "8934B"}},
    {"kind": "constant-rate", "rate": "100Gbps"},
    {"kind": "uet", "uet": {"ack_bytes": "4KB"}},
    {"kind": "ndp", "ndp": {"initial_window": 100}},
    {"kind": "ndp", "ndp": {"initial_window": 600, "mtu": "1500B"}},
    {"kind": "roce", "roce": {"control": "none"}},
    {"kind": "swift", "swift": {"base_target": "10ms", "initial_window": 300}},
    {"kind": "swift", "subflows": 3, "swift": {"base_target": "10ms", "initial_window": 300}},
)
"""Transports whose flows have more to send than their part of a host's link; for UET, unless its window is short."""


def kinds_share_a_host(spec: Spec, _: weft.Result) -> bool:
    """A host's link is not idle while a flow of any kind may send, whatever the discipline of the host.

    `fq` gives all flows and subflows equal parts, whatever their traffic classes.
    """
    rng = Random(json.dumps(spec))  # noqa: S311 (a spec, no secret)
    if rng.random() < 0.6:
        return False
    transports = {f"t{i}": kind for i, kind in enumerate(rng.sample(BACKLOGGED, rng.randint(3, 4)))}
    names = list(transports) + rng.choices(list(transports), k=rng.randint(0, 2))
    rate_bps, delay = rng.choice([1e9, 10e9, 25e9]), rng.choice(["500ns", "1us", "2us"])
    qdisc = rng.choice(["fq", "fq", "fifo", "switch"])
    # Slow start, and then some hundred turns.
    duration = 4e-3 + 6e7 / rate_bps
    mix: Spec = {
        "name": "mix",
        "seed": rng.randint(1, 1000),
        "duration": f"{duration * 1e6:.0f}us",
        "measure": {"start": f"{duration / 3 * 1e6:.0f}us"},
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": 7,
            "rate": f"{rate_bps / 1e9:.0f}Gbps",
            "delay": delay,
        },
        "queues": {"limit": "1000 packets", "mark": "off"},
        "hosts": {
            "jitter": rng.choice(["0s", "500ns", "packet"]),
            "clock_ppm": rng.choice([0, 100]),
            "qdisc": qdisc,
            "bql_limit": rng.choice(["4KB", "16KB", "64KB"]),
        },
        "transports": transports,
        "traffic": [
            {"kind": "bulk", "name": f"f{i}", "transport": name, "from": 0, "to": i + 1} for i, name in enumerate(names)
        ],
    }
    if rng.random() < 0.3:
        mix["queues"] |= {"kind": {"name": "priority", "classes": [{}, {"weight": 1}]}}
        mix["transports"] = {
            name: transports[name] | {"class": i % 2}
            for i, name in enumerate(rng.sample(list(transports), len(transports)))
        }
    result = run(mix)
    parts = dict.fromkeys(range(len(names)), 0.0)
    for row in result.links.iter_rows(named=True):
        if row["to"].startswith("h") and row["to"] != "h0":
            parts[int(row["to"][1:]) - 1] = row["bytes"] * 8 / (duration * 2 / 3) / rate_bps
    # A packet counts whole if its last bit leaves within the window.
    slack = len(names) * 9064 * 8 / (duration * 2 / 3) / rate_bps
    used = sum(parts.values())
    assert 0.985 < used < 1 + slack, f"work conservation: {used} of {mix}"
    if qdisc != "fq":
        return True
    units = [parts[i] / transports[name].get("subflows", 1) for i, name in enumerate(names)]
    backlogged = [unit for unit, name in zip(units, names, strict=True) if transports[name].get("kind") != "uet"]
    assert max(backlogged) < 1.05 * min(backlogged) + slack, f"equal parts: {units} of {mix}"
    # The window of UET may be shorter than a turn.
    assert max(units) < 1.05 * max(backlogged) + slack, f"no part above the others: {units} of {mix}"
    return True


RELATIONS: tuple[Relation, ...] = (
    threads_change_nothing,
    resolved_spec_runs_alike,
    probes_change_nothing,
    longer_run_agrees,
    order_of_entries_changes_no_flow,
    windows_add_up,
    unused_limit_is_unused,
    flows_are_sums_of_subflows,
    nothing_is_faster_than_light,
    names_mean_nothing,
    kinds_share_a_host,
)
"""All relations."""
