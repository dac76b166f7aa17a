"""Random small specs at the packet level.

They are drawn over the registries of the experiment, apart from the flow list, which needs a file.
"""

from __future__ import annotations

from random import Random
from typing import Any

import weft
from tests.kinds import QUEUES

Spec = dict[str, Any]

RATES = ("100Mbps", "1Gbps", "10Gbps", "25Gbps", "100Gbps")
DELAYS = ("500ns", "1us", "2us", "5us", "20us", "50us")
BYTES_PER_MS = {"100Mbps": 12_500, "1Gbps": 125_000, "10Gbps": 1_250_000, "25Gbps": 3_125_000, "100Gbps": 12_500_000}
MAX_BYTES = 3_000_000
"""Bytes that a link carries during the longest run, so that a case takes milliseconds."""


def names(sort: str) -> list[str]:
    """The names of a registry."""
    return [entry["name"] for entry in weft.registry()[sort]]


def topology(rng: Random, kind: str) -> Spec:
    """A small network of this kind."""
    links = {"rate": rng.choice(RATES), "delay": rng.choice(DELAYS)}
    sizes: dict[str, Spec] = {
        "many-to-one": {"senders": rng.randint(1, 6)},
        "two-bottlenecks": {},
        "two-paths": {"racks": rng.randint(2, 3), "hosts_per_rack": rng.randint(1, 2)},
        "fat-tree": {"k": 4, "oversubscription": rng.choice([1, 2])},
        "multi-homed-fat-tree": {"k": 4, "homes": 2},
        "leaf-spine": {
            "leaves": rng.randint(1, 3),
            "spines": rng.randint(1, 3),
            "hosts_per_leaf": rng.randint(2, 3),
            "links": rng.randint(1, 2),
        },
        "vl2": {"aggregation_ports": 4, "intermediate_ports": 4, "hosts_per_tor": rng.randint(1, 2)},
        "bcube": {"n": rng.randint(2, 3), "k": rng.randint(0, 2)},
        "graph": graph(rng),
    }
    return {"kind": kind, **links, **sizes[kind]}


def graph(rng: Random) -> Spec:
    """Hosts h0, h1, … on a connected random network of switches, with parallel and unequal cables."""
    switches = [f"s{i}" for i in range(rng.randint(1, 4))]
    hosts = [f"h{i}" for i in range(rng.randint(2, 5))]
    cables = [{"a": a, "b": rng.choice(switches[:i])} for i, a in enumerate(switches) if i]
    cables += [{"a": host, "b": rng.choice(switches)} for host in hosts]
    for _ in range(rng.randint(0, 3)):
        a, b = rng.choice(switches), rng.choice(switches)
        if a != b:
            cables.append({"a": a, "b": b})
    for cable in cables:
        if rng.random() < 0.3:
            cable["rate"] = rng.choice(RATES)
        if rng.random() < 0.3:
            cable["delay"] = rng.choice(DELAYS)
    return {"hosts": hosts, "switches": switches, "links": cables}


def transport(rng: Random, cc: str, paths: str) -> Spec:
    """A transport with this congestion control and path policy."""
    tcp: Spec = {}
    choices: Spec = {
        "recovery": ["newreno", "sack", "rack"],
        "pacing": [True, False],
        "prr": [True, False],
        "limited_transmit": [True, False],
        "initial_cwnd": [1, 2, 10],
        "ack_every": [1, 2],
        "receive_buffer": ["64KB", "1MB"],
        "subflow_receive_buffer": ["16KB", "64KB"],
        "min_rto": ["1ms", "10ms"],
        "reinject": [True, False],
        "mss": ["1400B", "1460B", "9000B"],
        "send_buffer": ["64KB", "256KB"],
    }
    for field, values in choices.items():
        if rng.random() < 0.15:
            tcp[field] = rng.choice(values)
    return {
        "cc": cc,
        "paths": paths,
        "subflows": rng.choice([2, 4] if paths in ("mmptcp", "opn") else [1, 1, 2, 3, 4, 8]),
        "profile": rng.choice(names("profiles")),
        "scheduler": rng.choice(names("schedulers")),
        "join_after": rng.choice(["0B", "0B", "20KB"]),
        "tcp": tcp,
    }


FROM_FILES = ("flow-list", "trace")
"""Kinds of traffic that read a file."""
OPERATIONS = ("all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all")


def traffic(rng: Random, kind: str, name: str, transport: str, most: int, fixed: list[list[str]] | None) -> Spec:
    """Traffic of this kind, between these pairs if they are given; flows have about `most` bytes at most."""
    size = rng.randint(1, rng.choice([3_000, 30_000, max(most, 30_000)]))
    distribution = rng.choice(
        [
            f"{size}B",
            {"kind": "constant", "size": f"{size}B"},
            {"kind": "uniform", "min": "1B", "max": f"{size}B"},
            {"kind": "exponential", "mean": f"{size}B"},
            {"kind": "pareto", "mean": f"{size}B", "shape": 1.5},
            {"kind": "empirical", "points": [[1, 0.0], [max(size // 2, 2), 0.5], [max(size, 3), 1.0]]},
        ]
    )
    pairs = rng.choice(["permutation", "random", [[0, 1]], [[1, 0], [0, 1]]]) if fixed is None else fixed
    start = f"{rng.choice([0, 0, 10, 300])}us"
    jitter = f"{rng.choice([0, 5, 100])}us"
    fields: dict[str, Spec] = {
        "bulk": {"pairs": pairs, "count": rng.randint(1, 2), "jitter": jitter}
        | ({"size": f"{size}B"} if rng.random() < 0.7 else {"stop": "2ms"}),
        "incast": {"flows": rng.randint(1, 8), "size": f"{size}B", "rounds": 2, "interval": "900us", "gap": "3us"},
        "poisson": {"pairs": pairs, "size": distribution, "interval": f"{rng.randint(200, 2000)}us", "stop": "3ms"},
        "closed-loop": {"pairs": pairs, "size": distribution, "think_time": "50us", "count": 2, "stop": "3ms"},
        "jobs": {"block": distribution, "request": "200B", "servers": 1, "slots": 2, "stop": "3ms"},
        "all-to-all": {"size": f"{size}B", "jitter": jitter},
        "one-to-many": {"size": f"{size}B", "receivers": 1, "jitter": jitter},
        "stride": {"size": f"{size}B", "stride": 1, "jitter": jitter},
        "shuffle": {"size": f"{size}B", "jitter": jitter},
        "hot-spot": {"size": f"{size}B", "share": 0.5, "spots": "h0", "count": 1, "jitter": jitter},
        "collective": {
            "operation": rng.choice(OPERATIONS),
            "size": f"{size}B",
            "compute": jitter,
            "repeats": rng.randint(1, 2),
            "placement": rng.choice(["in-order", "random"]),
            "send_done": rng.choice(["acknowledged", "started"]),
        },
        "training": {
            "steps": 1,
            "layers": 2,
            "forward": jitter,
            "backward": jitter,
            "gradient_size": f"{size + 1000}B",
        },
    }
    return {"kind": kind, "name": name, "transport": transport, "start": start, **fields[kind]}


MULTIPATH = ("rps", "flowlet", "plb", "mmptcp", "opn")
"""Path policies that need several paths."""

LAYERS = {
    "two-paths": "tor-agg",
    "fat-tree": "agg-core",
    "multi-homed-fat-tree": "agg-core",
    "leaf-spine": "leaf-spine",
    "vl2": "agg-int",
    "bcube": "level0-host",
    "graph": "switch-host",
}
"""A layer of the topologies in which links fail."""


def failure(rng: Random, layer: str) -> list[Spec]:
    """Links that go down and come back, or that get another delay."""
    where = {"layer": layer, "fraction": 0.5}
    detection = rng.choice(["0s", "200us"])
    return rng.choice(
        [
            [
                {"at": "300us", "state": "down", "detection_delay": detection, **where},
                {"at": "900us", "state": "up", **where},
            ],
            [{"at": "500us", "delay": "30us", **where}],
        ]
    )


DELAYS_OF_CODEL: tuple[Spec, ...] = (
    {},
    {"target": "20us", "interval": "100us"},
    {"target": "200us", "interval": "200us"},
)


def queue(rng: Random, kind: str, limit: int) -> Spec:
    """Changes to `queues` for this kind: random ones, or those of the reference for a kind without any here."""
    low = rng.randint(1, limit)
    ramp = {"min": f"{low} packets", "max": f"{rng.randint(low, 2 * limit)} packets", "probability": rng.random()}
    average = {"at": "dequeue"} if rng.random() < 0.5 else {"weight": rng.choice([0.002, 0.1, 1.0])}
    sizes = {"buffer": f"{rng.randint(20, 300)}KB", "alpha": rng.choice([0.25, 1.0, 8.0])}
    drops = {"drop_not_ect": low % 2 == 0}
    xoff = f"{rng.randint(5, 60)}KB"
    fields: dict[str, Spec] = {
        "fifo": {},
        "red": {"mark": "off", "kind": {"name": kind, **ramp, "action": rng.choice(["mark", "drop"])}},
        "shared": {"kind": {"name": kind, **sizes, **drops, "reserve": rng.choice(["0B", "1500B"])}},
        "priority": {"kind": {"name": kind, "classes": [drops, rng.choice([{}, {"weight": 1}])]}},
        "lossless": {"limit": "700 packets", "kind": {"name": kind, "xoff": xoff, "watchdog": "1ms"}},
        "codel": {"kind": {"name": kind, **rng.choice(DELAYS_OF_CODEL), "ecn": low % 2 == 0}},
        "lossy": {"kind": {"name": kind, **rng.choice([{"loss": 0.01}, {"every": 50}])}},
    }
    if kind == "trimming":
        fields[kind] = {
            "kind": {
                "name": kind,
                "victim": rng.choice(["random", "arriving"]),
                "overflow": rng.choice(["drop", "return"]),
            }
        }
        if rng.random() < 0.5:
            marks = {"mark_min": ramp["min"], "mark_max": ramp["max"]}
            fields[kind] = {"mark": "off", "kind": fields[kind]["kind"] | marks}
    if kind == "lossless" and rng.random() < 0.5:
        marks = {"mark_min": ramp["min"], "mark_max": ramp["max"], "mark_probability": ramp["probability"]}
        fields[kind] |= {"mark": "off", "kind": fields[kind]["kind"] | marks}
    if kind == "red" and fields[kind]["kind"]["action"] == "mark":
        fields[kind]["kind"]["nodrop"] = low % 2 == 0
    if kind == "red" and rng.random() < 0.7:
        fields[kind]["kind"] |= average
    return {"kind": kind} | fields.get(kind, QUEUES[kind])


def roce(rng: Random) -> Spec:
    """Settings of RDMA over converged Ethernet."""
    settings = {
        "retransmission": rng.choice(["go-back-n", "selective-repeat"]),
        "control": rng.choice(["dcqcn", "dcqcn", "none", "timely", "patched-timely", "hpcc", "hpcc"]),
        "ack_every": rng.choice([1, 1, 8]),
        "rto": rng.choice(["300us", "1ms"]),
    }
    return settings | ({"window": "20KB"} if rng.random() < 0.3 else {})


def swift(rng: Random) -> Spec:
    """Settings of Swift."""
    return {
        "initial_window": rng.choice([0.5, 10, 100]),
        "base_target": rng.choice(["5us", "20us", "200us"]),
        "host_time": rng.choice(["0s", "0s", "300ns"]),
        "min_rto": rng.choice(["100us", "1ms"]),
    }


def with_kind(rng: Random, tcp: Spec, kind: str | None = None, *, priority: bool) -> Spec:
    """The transport `tcp`, or sometimes one of another kind; with `priority`, ACKs have a class of their own."""
    if kind is None:
        kind = "tcp" if rng.random() < 0.8 else rng.choice(names("transports"))
    fields = {
        "tcp": tcp,
        "constant-rate": {"rate": rng.choice(["10Mbps", "100Mbps"])},
        "uet": {"uet": {"control": rng.choice(["sender", "receiver", "both"])}},
        "ndp": {
            "ndp": {"initial_window": rng.choice([1, 8, 30]), "mtu": rng.choice(["1500B", "9064B"])}
            | rng.choice([{}, {"rto": "2ms"}])
        },
        "roce": {"roce": roce(rng)},
        "swift": {"swift": swift(rng)},
    }[kind]
    if kind == "swift":
        fields["subflows"] = rng.choice([1, 1, 2, 4])
        if rng.random() < 0.5:
            errors = {
                "timestamp_step": rng.choice(["8ns", "1us"]),
                "timestamp_noise": rng.choice(["0s", "30ns", "2us"]),
            }
            fields["swift"] |= errors | {"clock_error": rng.choice([0, 100])}
    return {"kind": kind} | fields | ({"ack_class": 1} if priority else {})


MIXES = 0.3
"""Part of the specs with several traffic entries whose hosts send flows of two kinds."""


def mix(rng: Random, spec: Spec) -> None:
    """Lets two transports send between the same hosts."""
    tcp = next(iter(spec["transports"].values()))
    spec["transports"] = {"a": tcp, "b": tcp}
    first, second = spec["traffic"][:2]
    copied = {field: value for field, value in first.items() if field not in ("name", "transport", "start")}
    spec["traffic"][1] = copied | {field: second[field] for field in ("name", "start")}
    for entry, name in zip(spec["traffic"], ("a", "b", rng.choice("ab")), strict=False):
        entry["transport"] = name


def random_spec(seed: int) -> Spec:
    """The spec of this number. It may be refused: not all parts go together."""
    rng = Random(seed)  # noqa: S311 (a spec, no secret)
    kind = rng.choice(names("topologies"))
    network = topology(rng, kind)
    per_ms = BYTES_PER_MS[network["rate"]]
    policies = [policy for policy in names("paths") if kind in LAYERS or policy not in MULTIPATH]
    transports = {
        name: transport(rng, rng.choice(names("algorithms")), rng.choice(policies))
        for name in ("a", "b")[: rng.randint(1, 2)]
    }
    pairs = [["S1", "D1"], ["S2", "D2"], ["S3", "D3"]] if kind == "two-bottlenecks" else None
    kinds = ["bulk"] if pairs else [name for name in names("traffic") if name not in FROM_FILES]
    entries = [
        traffic(rng, rng.choice(kinds), f"t{i}", rng.choice(list(transports)), min(3 * per_ms, MAX_BYTES), pairs)
        for i in range(rng.randint(1, 3))
    ]
    limit = rng.choice([10, 30, 100, 300])
    spec: Spec = {
        "name": f"relation {seed}",
        "seed": rng.randint(1, 1000),
        "duration": "4ms" if per_ms < MAX_BYTES else "1ms",
        "topology": network,
        "queues": {"limit": f"{limit} packets", "mark": rng.choice(["off", f"{rng.randint(1, limit)} packets"])},
        "transports": transports,
        "traffic": entries,
    }
    if kind in LAYERS and rng.random() < 0.4:
        spec["events"] = failure(rng, LAYERS[kind])
    if rng.random() < 0.3:
        spec["hosts"] = {
            "jitter": rng.choice(["0s", "500ns", "packet"]),
            "clock_ppm": rng.choice([0, 100]),
            "tso": rng.random() < 0.3,
            "qdisc": rng.choice(["switch", "fq", "fifo"]),
        }
    kind = rng.choice(names("queues"))
    spec["queues"] |= queue(rng, kind, limit)
    is_mix = len(entries) > 1 and rng.random() < MIXES
    if is_mix:
        mix(rng, spec)
    # The transports of a mix are of different kinds.
    of_mix: list[str | None] = [*rng.sample(names("transports"), 2)] if is_mix else [None, None]
    spec["transports"] = {
        name: with_kind(rng, value, own, priority=kind == "priority")
        for (name, value), own in zip(spec["transports"].items(), of_mix, strict=False)
    }
    return spec
