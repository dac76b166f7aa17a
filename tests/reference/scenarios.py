"""Random small networks and flows, as a spec of Weft and in the reference."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from tests.reference.network import Host, Limit, Network, QueueRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import weft

Spec = dict[str, Any]
PS_PER_US = 10**6


@dataclass(frozen=True)
class Flow:
    """A flow; its start is in picoseconds."""

    ends: tuple[str, str]
    size: int
    start: int


@dataclass(frozen=True)
class Cable:
    """A cable; its rate is in bits per second, its delay in picoseconds."""

    ends: tuple[str, str]
    rate: int
    delay: int


@dataclass(frozen=True)
class Scenario:
    """A tree of hosts and switches, and flows between hosts."""

    seed: int
    cables: list[Cable]
    hosts: list[str]
    flows: list[Flow]
    duration: int

    def spec(self, kind: str, settings: Spec, queues: Spec, fields: Spec) -> Spec:
        """The scenario as an experiment with one transport, which has these fields next to its settings."""
        names = {end for cable in self.cables for end in cable.ends}
        links = [
            {"a": cable.ends[0], "b": cable.ends[1], "rate": f"{cable.rate}bps", "delay": time(cable.delay)}
            for cable in self.cables
        ]
        traffic = [
            {
                "name": f"flow {number}",
                "kind": "bulk",
                "transport": "under-test",
                "from": flow.ends[0],
                "to": flow.ends[1],
                "size": f"{flow.size}B",
                "start": time(flow.start),
            }
            for number, flow in enumerate(self.flows)
        ]
        topology = {"hosts": self.hosts, "switches": sorted(names - set(self.hosts)), "links": links}
        return {
            "name": f"reference {self.seed}",
            "seed": self.seed,
            "duration": time(self.duration),
            "topology": {"kind": "graph", "rate": "1Gbps", "delay": "1us"} | topology,
            "queues": queues,
            "hosts": {"qdisc": "switch", "jitter": "0s", "clock_ppm": 0},
            "transports": {"under-test": {"kind": kind, kind: settings} | fields},
            "traffic": traffic,
        }

    def network(self, rules: QueueRules, host: Callable[[Network, str], Host], result: weft.Result) -> Network:
        """The scenario in the reference. The numbers of links, which order ties, are those of the result."""
        network = Network(self.seed, rules)
        cables = {ends: cable for cable in self.cables for ends in (cable.ends, cable.ends[::-1])}
        for row in result.links.iter_rows(named=True):
            ends = (row["from"], row["to"])
            network.add_port(row["link"], ends, cables[ends].rate, cables[ends].delay)
        network.hosts = {name: host(network, name) for name in self.hosts}
        for number, flow in enumerate(self.flows):
            network.open(number, flow.ends, flow.size, flow.start)
        return network


def time(picoseconds: int) -> str:
    """A time of a spec."""
    return f"{picoseconds // 1000}.{picoseconds % 1000:03}ns"


def measured(result: weft.Result, subflow: int, columns: Iterable[str]) -> Spec:
    """The values of a row of the table of subflows, and of its flow, in Weft's tables. Times are in picoseconds."""
    of_subflow = result.subflows.row(subflow, named=True)
    row = result.flows.row(of_subflow["flow"], named=True) | of_subflow
    if row["subflows"] == 0:
        return {}
    values = {column: row[column] for column in columns}
    times = {column for column in values if column.endswith("_s") and values[column] is not None}
    return values | {column: round(values[column] * 1e12) for column in times}


def limit_text(limit: Limit) -> str:
    """A limit of a spec."""
    return f"{limit.value} packets" if limit.in_packets else f"{limit.value}B"


def random_limit(rng: Random, mtu: int, least: int, most: int) -> Limit:
    """A limit of this many packets, in packets or in bytes."""
    packets = rng.randint(least, most)
    return Limit(packets) if rng.random() < 0.5 else Limit(packets * mtu + rng.randint(0, mtu), in_packets=False)


def random_scenario(seed: int, mtu: int, packets: tuple[int, ...]) -> Scenario:
    """One or two switches with a few hosts, and one to six flows of up to one of these numbers of packets.

    Rates and delays are odd numbers, so that events of different causes rarely happen at the same picosecond.
    In a fifth of the scenarios they are equal and flows start at once, so that packets reach switches together.
    """
    rng = Random(seed)  # noqa: S311 (a scenario, no secret)
    is_even = rng.random() < 0.2
    rate = rng.choice([1, 10, 25, 100]) * 10**9 + (0 if is_even else rng.randint(1, 10**6))
    scale = 10**9 / rate
    delay = round(rng.uniform(1, 20) * PS_PER_US * (0.1 + scale))

    def draw_delay() -> int:
        return delay if is_even else round(delay * rng.uniform(0.3, 2))

    hosts = [f"h{number}" for number in range(rng.randint(2, 5))]
    switches = [f"s{number}" for number in range(rng.randint(1, 2))]
    cables = [Cable((host, rng.choice(switches)), rate, draw_delay()) for host in hosts]
    if len(switches) == 2:
        trunk = round(rate * rng.choice([0.4, 1, 2.5])) + (0 if is_even else rng.randint(1, 10**6))
        cables.append(Cable(("s0", "s1"), trunk, draw_delay()))
    flows = []
    target = rng.choice(hosts)
    for _ in range(rng.randint(1, 6)):
        to = target if rng.random() < 0.8 else rng.choice(hosts)
        source = rng.choice([host for host in hosts if host != to])
        size = rng.randint(1, rng.choice(packets) * mtu)
        start = 0 if is_even else rng.randint(1, round(60 * PS_PER_US * scale))
        flows.append(Flow((source, to), size, start))
    duration = round(rng.choice([0.5, 5, 40]) * 1000 * PS_PER_US * (0.05 + scale))
    return Scenario(1 + seed % 500, cables, hosts, flows, duration)
