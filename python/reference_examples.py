"""The examples of the reference, and the levels that support each field.

Each example is a part of a spec. `whole` completes it, so that a test can parse all of them.
"""

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from weft import SpecError, _weft
from weft._weft import Experiment

BASE = """
name = "example"
duration = "1s"
topology = { kind = "fat-tree", k = 4, rate = "10Gbps", delay = "2us" }
queues = { limit = "100 packets", mark = "20 packets" }
transports.dctcp = { cc = "dctcp", subflows = 2 }
transports.reno = { cc = "reno" }
traffic = [{ kind = "bulk", transport = "dctcp", from = 0, to = 3 }]
"""

LINKS = 'rate = "10Gbps"\ndelay = "2us"'
FLOWS = '[[traffic]]\nkind = "poisson"\ntransport = "dctcp"\npairs = "random"\nload = 0.3'

EXAMPLES = {
    "Cable": f'[topology]\nkind = "graph"\n{LINKS}\nhosts = ["a", "b", "c", "d"]\nswitches = ["s"]\n'
    'links = [\n  { a = "a", b = "s", rate = "1Gbps" },\n  { a = "b", b = "s" },\n'
    '  { a = "c", b = "s" },\n  { a = "d", b = "s", delay = "10us" },\n]',
    "ManyToOneTopology": f'[topology]\nkind = "many-to-one"\nsenders = 8\n{LINKS}',
    "TwoBottlenecksTopology": f'[topology]\nkind = "two-bottlenecks"\n{LINKS}',
    "TwoPathsTopology": f'[topology]\nkind = "two-paths"\nracks = 3\nhosts_per_rack = 2\n{LINKS}',
    "FatTreeTopology": f'[topology]\nkind = "fat-tree"\nk = 8\noversubscription = 2\n{LINKS}',
    "MultiHomedFatTreeTopology": f'[topology]\nkind = "multi-homed-fat-tree"\nk = 8\n{LINKS}',
    "LeafSpineTopology": f'[topology]\nkind = "leaf-spine"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n{LINKS}\n'
    'spine_rate = "40Gbps"',
    "Vl2Topology": '[topology]\nkind = "vl2"\naggregation_ports = 4\nintermediate_ports = 4\nhosts_per_tor = 4\n'
    f"{LINKS}",
    "BcubeTopology": f'[topology]\nkind = "bcube"\nn = 4\nk = 1\n{LINKS}',
    "GraphTopology": f'[topology]\nkind = "graph"\n{LINKS}\nhosts = ["a", "b", "c", "d"]\nswitches = ["s", "t"]\n'
    'links = [\n  { a = "a", b = "s" },\n  { a = "b", b = "s" },\n  { a = "s", b = "t" },\n'
    '  { a = "t", b = "c" },\n  { a = "t", b = "d" },\n]',
    "BulkTraffic": '[[traffic]]\nkind = "bulk"\ntransport = "dctcp"\npairs = "permutation"\nstop = "500ms"',
    "IncastTraffic": '[[traffic]]\nkind = "incast"\ntransport = "dctcp"\nflows = 12\nsize = "128KB"\nrounds = 5\n'
    'interval = "100ms"\ngap = "50us"',
    "PoissonTraffic": f'{FLOWS}\nsize = "100KB"',
    "ClosedLoopTraffic": '[[traffic]]\nkind = "closed-loop"\ntransport = "dctcp"\npairs = "permutation"\n'
    'size = "1MB"\ncount = 2\nthink_time = "1ms"',
    "JobsTraffic": '[[traffic]]\nkind = "jobs"\ntransport = "dctcp"\nservers = 10\nrequest = "2KB"\nblock = "64KB"\n'
    "slots = 8",
    "AllToAllTraffic": '[[traffic]]\nkind = "all-to-all"\ntransport = "dctcp"\nhosts = "0..8"\nsize = "1MB"',
    "ShuffleTraffic": '[[traffic]]\nkind = "shuffle"\ntransport = "dctcp"\nsize = "1MB"',
    "OneToManyTraffic": '[[traffic]]\nkind = "one-to-many"\ntransport = "dctcp"\nreceivers = 3\nsize = "1MB"',
    "StrideTraffic": '[[traffic]]\nkind = "stride"\ntransport = "dctcp"\nstride = 4\nsize = "10MB"',
    "HotSpotTraffic": '[[traffic]]\nkind = "hot-spot"\ntransport = "dctcp"\nspots = [0, 1]\nshare = 0.5\nsize = "1MB"',
    "FlowListTraffic": '[[traffic]]\nkind = "flow-list"\ntransport = "dctcp"\nfile = "flows.csv"',
    "SizeClass": f'{FLOWS}\nsize = {{ kind = "exponential", mean = "1MB" }}\n'
    'classes = [{ name = "short", below = "100KB", transport = "reno" }]',
    "Staggered": '[[traffic]]\nkind = "bulk"\ntransport = "dctcp"\npairs = { tor = 0.5, pod = 0.3 }',
    "ConstantSize": f'{FLOWS}\nsize = {{ kind = "constant", size = "100KB" }}',
    "UniformSize": f'{FLOWS}\nsize = {{ kind = "uniform", min = "10KB", max = "1MB" }}',
    "ExponentialSize": f'{FLOWS}\nsize = {{ kind = "exponential", mean = "100KB" }}',
    "ParetoSize": f'{FLOWS}\nsize = {{ kind = "pareto", shape = 1.2, mean = "100KB", max = "100MB" }}',
    "EmpiricalSize": f'{FLOWS}\nsize = {{ kind = "empirical", cdf = "web-search" }}',
    "QueueProbe": '[[probes]]\nkind = "queue"\nat = ["tor-agg"]\ninterval = "1ms"',
    "BufferProbe": '[queues]\nlimit = "1MB"\nkind = { name = "shared", buffer = "2MB" }\n\n'
    '[[probes]]\nkind = "buffer"\ninterval = "10us"',
    "FlowProbe": '[[probes]]\nkind = "flow"\ntraffic = "bulk"\nflows = "0..1"\ninterval = "1ms"',
    "LatencyProbe": '[[probes]]\nkind = "latency"\ntraffic = "bulk"',
    "StepsProbe": '[[traffic]]\nkind = "collective"\nname = "gradients"\ntransport = "dctcp"\n'
    'operation = "all-reduce"\nsize = "10MB"\n\n[[probes]]\nkind = "steps"\ntraffic = "gradients"',
    "ThroughputProbe": '[[probes]]\nkind = "throughput"\ninterval = "1ms"',
    "PacketsProbe": '[[probes]]\nkind = "packets"\nat = ["h0"]',
    "FirstFitController": '[controller]\nkind = "first-fit"\ninterval = "100ms"',
    "LeastAllocatedController": '[controller]\nkind = "least-allocated"\ninterval = "100ms"',
    "Event": '[[events]]\nat = "100ms"\nlinks = ["tor0.0->agg0.0"]\nstate = "down"\ndetection_delay = "5ms"',
    "Hosts": '[hosts]\nqdisc = "fq"\nbql_limit = "16KB"\njitter = "packet"',
    "Layer": '[layers.agg-core]\nrate = "40Gbps"\nlimit = "200 packets"',
    "Measure": '[measure]\nstart = "100ms"\nstop = "900ms"',
    "Queues": '[queues]\nlimit = "100 packets"\nmark = "10 packets"',
    "HostQueues": '[queues]\nlimit = "100 packets"\nhost = { limit = "1000 packets" }',
    "CodelQueue": '[queues]\nlimit = "1MB"\nkind = { name = "codel", target = "100us", interval = "1ms", ecn = true }',
    "FifoQueue": '[queues]\nkind = "fifo"\nlimit = "100 packets"\nmark = "10 packets"',
    "PriorityQueue": '[queues]\nlimit = "200KB"\n'
    'kind = { name = "priority", classes = [{ limit = "50KB" }, { weight = 3, mark = "30KB" }, { weight = 1 }] }\n\n'
    '[transports.shuffle]\ncc = "dctcp"\nclass = 1\n\n[transports.backup]\ncc = "cubic"\nclass = 2\nack_class = 0',
    "QueueClass": '[queues]\nlimit = "200KB"\n'
    'kind = { name = "priority", classes = [{ limit = "50KB", mark = "30KB" }, { weight = 1 }] }\n\n'
    '[transports.shuffle]\ncc = "dctcp"\nclass = 1',
    "TrimmingQueue": '[queues]\nlimit = "42 packets"\n'
    'kind = { name = "trimming", mark_min = "9 packets", mark_max = "35 packets" }',
    "Uet": '[transports.ultra]\nkind = "uet"\nuet = { control = "both", load_balancing = "reps", entropies = 128 }',
    "Ndp": '[queues]\nlimit = "8 packets"\n'
    'kind = { name = "trimming", headers = "1125 packets", ratio = 10, overflow = "return" }\n\n'
    '[transports.pulled]\nkind = "ndp"\nndp = { initial_window = 23 }',
    "Roce": '[transports.rdma]\nkind = "roce"\nroce = { retransmission = "selective-repeat", rto = "320us" }',
    "Timely": '[transports.rdma]\nkind = "roce"\nroce = { control = "timely", timely = { low = "30us" } }',
    "Hpcc": '[transports.rdma]\nkind = "roce"\nroce = { control = "hpcc", hpcc = { utilisation = 0.98 } }',
    "Swift": '[transports.swift]\nkind = "swift"\nswift = { base_target = "25us", host_time = "100ns" }',
    "LosslessQueue": '[queues]\nlimit = "200KB"\nkind = { name = "lossless", reaction = "1us" }',
    "LossyQueue": '[queues]\nlimit = "100 packets"\nkind = { name = "lossy", loss = 0.001 }',
    "RedQueue": '[queues]\nlimit = "1MB"\nkind = { name = "red", min = "100KB", max = "400KB", probability = 0.2 }',
    "SharedQueue": '[queues]\nlimit = "1MB"\nmark = "100KB"\n'
    'kind = { name = "shared", buffer = "1MB", alpha = 1.0, reserve = "4KB" }',
    "Stop": '[stop]\nclass = "bulk"\nflows = 1',
    "Sweep": '[sweep]\nover = ["transports.dctcp.subflows=1,2,4"]\nseeds = 5',
    "Transport": '[transports.dctcp]\ncc = { name = "dctcp", g = 0.125 }\nsubflows = 4\npaths = "disjoint"\n'
    'profile = "linux"',
    "ProfilePatch": '[transports.dctcp]\ncc = "dctcp"\ntcp = { min_rto = "10ms", initial_cwnd = 20 }',
}
"""A part of a spec for each definition of the schema; `example` derives those of algorithms and policies."""

ALL = ("packet", "flow", "linux")
LEVELS = {
    "Experiment.controller": ("packet",),
    "Experiment.events": ("packet", "flow"),
    "Experiment.hosts": ("packet", "linux"),
    "Experiment.layers": ("packet", "flow"),
    "Experiment.links": ("packet", "flow"),
    "Experiment.probes": ("packet", "flow", "linux"),
    "Experiment.sharing": ("flow",),
    "Experiment.stop": ("packet", "flow"),
    "Event": ("packet", "flow"),
    "Event.delay": ("packet",),
    "Hosts": ("packet", "linux"),
    "Hosts.*": ("packet",),
    "Hosts.qdisc": ("packet", "linux"),
    "Cable": ("packet", "flow"),
    "Cable.limit": ("packet",),
    "Cable.queue": ("packet",),
    "Layer": ("packet", "flow"),
    "Layer.limit": ("packet",),
    "Layer.queue": ("packet",),
    "Queues.kind": ("packet",),
    "Queues.limit": ("packet", "linux"),
    "QueueClass": ("packet",),
    "Roce": ("packet",),
    "Swift": ("packet",),
    "Timely": ("packet",),
    "Hpcc": ("packet",),
    "Transport.roce": ("packet",),
    "Transport.swift": ("packet",),
    "Transport.uet": ("packet",),
    "Uet": ("packet",),
    "Transport.ndp": ("packet",),
    "Ndp": ("packet",),
    "HostQueues.limit": ("packet", "linux"),
    "Stop": ("packet", "flow"),
    "Transport.rate": ("packet",),
    "Transport.packet_size": ("packet",),
    "Transport.on": ("packet",),
    "Transport.off": ("packet",),
    "Transport.random": ("packet",),
    "BulkTraffic.rate": ("packet",),
    "ClosedLoopTraffic.rate": ("packet",),
    "ShuffleTraffic.rate": ("packet",),
    "Transport.class": ("packet",),
    "Transport.ack_class": ("packet",),
    "Transport.join_after": ("packet", "linux"),
    "Transport.scheduler": ("packet", "linux"),
    "ProfilePatch.*": ("packet",),
    "ProfilePatch.mss": ALL,
    "ProfilePatch.header": ("packet", "flow"),
    "ProfilePatch.initial_cwnd": ("packet", "linux"),
    "ProfilePatch.min_rto": ("packet", "linux"),
    "ProfilePatch.receive_buffer": ("packet", "linux"),
    "ProfilePatch.fct_from": ("packet", "linux"),
}
"""Levels of definitions and fields that some level refuses or ignores; `*` is any other field. Those of `KINDS` and of
algorithms are derived."""

KINDS = ("Topology", "Queue", "Probe", "Controller")
"""Ends of the names of kinds that have an example each, from which their levels are derived."""
ON_LINUX = {
    *("many-to-one", "two-bottlenecks", "two-paths"),
    "fifo",
    *("queue", "flow", "latency"),
    *("consecutive", "by-interface"),
    *("cubic", "reno"),
    *(
        entry["name"].removeprefix("bpf:")
        for entry in json.loads(_weft.registry())["algorithms"]
        if ":" in entry["name"]
    ),
}
"""The topologies, queues, probes, path policies and algorithms of level `linux`."""


def levels(name: str, definition: Mapping[str, Any], field: str | None = None) -> tuple[str, ...]:
    """Returns the levels that support a definition of the schema, or one of its fields.

    A level supports a field if it accepts the field and the field has an effect.
    """
    supporting = LEVELS.get(name, ALL)
    choices = (definition["properties"].get(key, {}).get("const") for key in ("kind", "name"))
    choice = next((choice for choice in choices if choice is not None), None)
    if name.endswith((*KINDS, "Cc", "Paths")):
        supported = (True, _is_accepted(example(name, definition), "flow"), choice in ON_LINUX)
        supporting = tuple(level for level, has in zip(ALL, supported, strict=True) if has)
    return LEVELS.get(f"{name}.{field}", LEVELS.get(f"{name}.*", supporting)) if field else supporting


def _is_accepted(text: str, level: str) -> bool:
    try:
        Experiment.parse(json.dumps(whole(text) | {"level": level}))
    except SpecError:
        return False
    return True


def profile_values() -> dict[str, dict[str, Any]]:
    """Returns the value of each field of each profile."""
    names = [listing["name"] for listing in json.loads(_weft.registry())["profiles"]]
    specs = {name: whole(f'[transports.dctcp]\ncc = "dctcp"\nprofile = "{name}"') for name in names}
    resolved = {name: json.loads(Experiment.parse(json.dumps(spec)).spec()) for name, spec in specs.items()}
    return {name: spec["transports"]["dctcp"]["tcp"] for name, spec in resolved.items()}


def example(name: str, definition: Mapping[str, Any]) -> str:
    """Returns the example of a definition, a part of a spec; empty if there is none.

    Raises:
        SystemExit: a kind of `KINDS` has no example.
    """
    if name.endswith(("Cc", "Paths")):
        given = {"name": definition["properties"]["name"]["const"]}
        needed = definition.get("required", [])
        for field, schema in definition["properties"].items():
            if field != "name" and (schema.get("default") is not None or field in needed):
                given[field] = schema.get("default", 0)
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in given.items())
        if name.endswith("Cc"):
            return f"[transports.{given['name'].replace(':', '-')}]\ncc = {{ {table} }}\nsubflows = 2"
        return f'[transports.dctcp]\ncc = "dctcp"\nsubflows = 2\npaths = {{ {table} }}'
    if name.endswith(KINDS) and name not in EXAMPLES:
        raise SystemExit(f"{name}: missing in EXAMPLES of python/reference_examples.py; add a part of a spec")
    return EXAMPLES.get(name, "")


def whole(text: str) -> dict[str, Any]:
    """Returns a whole spec with an example in place of its parts; its traffic uses the transport of the example."""
    base, part = tomllib.loads(BASE), tomllib.loads(text)
    transports = base["transports"] | part.get("transports", {})
    used = next(iter(part.get("transports", base["transports"])))
    traffic = [flows | {"transport": used} for flows in base["traffic"]]
    return base | {"traffic": traffic} | part | {"transports": transports}
