"""Transports after TCP, compared event by event with a plain simulator of small networks."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import weft
from tests.reference import hpcc, ndp, roce, swift, timely, uet, uet_control
from tests.reference.network import Limit, QueueRules, Trimming
from tests.reference.scenarios import limit_text, measured, random_limit, random_scenario, time

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.network import Host, Network
    from tests.reference.scenarios import Scenario

    Create = Callable[[Network, str], Host]

CASES = int(os.environ.get("CASES", "100"))
"""Number of random scenarios of each kind."""
Spec = dict[str, Any]
Pair = tuple[Spec, Spec]
"""The values of a flow in Weft's tables and in the reference."""

pytestmark = pytest.mark.filterwarnings("ignore::weft.ResultWarning")


def trimming_queues(rng: Random, mtu: int) -> tuple[QueueRules, Spec]:
    """A queue that trims, in the reference and in a spec."""
    limit = random_limit(rng, mtu, *rng.choice([(1, 8), (10, 60)]))
    headers = random_limit(rng, 64, *rng.choice([(1, 3), (1, 3), (20, 200)]))
    ratio = rng.choice([None, 1, 10])
    most = limit.value * mtu if limit.in_packets else limit.value
    low = rng.randint(0, most - 1)
    ramp = (low, rng.randint(low + 1, most)) if rng.random() < 0.6 else None
    trimming = Trimming(headers, ratio, rng.random() < 0.5, rng.random() < 0.7, ramp)
    kind: Spec = {
        "name": "trimming",
        "headers": limit_text(headers),
        "victim": "random" if trimming.has_random_victim else "arriving",
        "overflow": "return" if trimming.returns else "drop",
    }
    if ratio is not None:
        kind["ratio"] = ratio
    if ramp is not None:
        kind |= {"mark_min": f"{ramp[0]}B", "mark_max": f"{ramp[1]}B"}
    return QueueRules(limit, trimming=trimming), {"limit": limit_text(limit), "kind": kind}


def fifo_queues(rng: Random, mtu: int, *limits: tuple[int, int]) -> tuple[QueueRules, Spec]:
    """A queue that drops and marks, with a limit in one of these ranges of packets."""
    limit = random_limit(rng, mtu, *rng.choice(limits or ((1, 12), (50, 500))))
    mark = Limit(rng.randint(1, 8)) if limit.in_packets else Limit(rng.randint(1, 8 * mtu), in_packets=False)
    mark = min(mark, limit, key=lambda threshold: threshold.value)
    return QueueRules(limit, mark), {"limit": limit_text(limit), "mark": limit_text(mark)}


def round_trip(scenario: Scenario, mtu: int) -> int:
    """A round-trip time with short queues in picoseconds."""
    slowest = min(cable.rate for cable in scenario.cables)
    return 2 * sum(cable.delay for cable in scenario.cables) + 20 * 8 * 10**12 * mtu // slowest


COUNTS = {
    "packets_sent": "sent",
    "retransmitted": "retransmitted",
    "timeouts": "timeouts",
    "acks_received": "ack",
    "nacks_received": "nack",
}
"""Counters of a sender, by columns of the tables. Kinds have others in addition."""


def run_both(
    scenario: Scenario, kind: str, stated: Spec, queues: tuple[QueueRules, Spec], create: Create, **fields: object
) -> Run:
    """Runs a scenario in both simulators. The transport has `fields` next to its settings."""
    rules, spec = queues
    result = weft.run(scenario.spec(kind, stated, spec, fields), threads=1)
    network = scenario.network(rules, create, result)
    network.run(scenario.duration)
    return Run(scenario, result, network)


@dataclass
class Run:
    """A scenario after its run in both simulators."""

    scenario: Scenario
    result: weft.Result
    network: Network

    def pairs(self, events: Counter[str], columns: dict[str, str]) -> list[Pair]:
        """The values of all flows, with these counters of a kind. Adds what happened to `events`."""
        for host in self.network.hosts.values():
            for counted in (host, *host.senders.values()):
                events.update(counted.counts)
        ends = zip(self.result.subflows["flow"], self.result.subflows["subflow"], strict=True)
        return [self.pair(row, flow, subflow, COUNTS | columns) for row, (flow, subflow) in enumerate(ends)]

    def pair(self, row: int, number: int, subflow: int, columns: dict[str, str]) -> Pair:
        """The values of a subflow, and of its flow."""
        flow = self.scenario.flows[number]
        source, target = (self.network.hosts[end] for end in flow.ends)
        sender, receiver = source.senders.get(number), target.receivers.get(number)
        if sender is None:
            return {}, {}
        if isinstance(sender, swift.Flow):
            sender = sender.subflows[subflow]
        expected: Spec = self.network.counts(number, subflow) | {
            "delivered_bytes": receiver.bytes if receiver else 0,
            "finish_s": receiver.last_at if receiver and receiver.bytes == flow.size else None,
            "acked_s": sender.acked_at,
        }
        expected |= {column: sender.counts[name] for column, name in columns.items()}
        if isinstance(sender, uet.Sender):
            expected["cwnd_packets"] = sender.window.size / sender.settings.mtu if sender.window else None
        if isinstance(sender, swift.Sender):
            expected["cwnd_packets"] = sender.window
        return measured(self.result, row, expected), expected


def ndp_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of NDP in both simulators."""
    rng = Random(-seed)  # noqa: S311 (a scenario, no secret)
    mtu = rng.choice([1500, 4150, 9064])
    scenario = random_scenario(seed, mtu, (1, 5, 30, 120))
    queues = (trimming_queues if rng.random() < 0.8 else fifo_queues)(rng, mtu)
    rto = round(round_trip(scenario, mtu) * rng.uniform(0.3, 3))
    settings = ndp.Settings(mtu, rng.choice([1, 4, 23, 60, 60]), rng.choice([0.8317, 0.9731, 1.0]), rto)
    stated = {
        "mtu": f"{mtu}B",
        "initial_window": settings.initial_window,
        "pull_rate": settings.pull_rate,
        "rto": time(rto),
    }
    run = run_both(scenario, "ndp", stated, queues, lambda network, name: ndp.NdpHost(network, name, settings))
    return run.pairs(events, {"pulls_received": "pull"})


def roce_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of RDMA in both simulators."""
    rng = Random(-seed)  # noqa: S311
    mtu = rng.choice([1086, 1500, 4158])
    scenario = random_scenario(seed, mtu, (1, 10, 100, 400))
    queues = fifo_queues(rng, mtu)
    rtt = round_trip(scenario, mtu)
    rate = scenario.cables[0].rate
    dcqcn = roce.Dcqcn(
        cnp_interval=round(rtt * rng.uniform(0.5, 2)),
        alpha_interval=round(rtt * rng.uniform(0.5, 2)),
        gain=rng.choice([1 / 256, 0.1, 0.5]),
        increase_interval=round(rtt * rng.uniform(0.5, 2)),
        byte_counter=mtu * rng.randint(2, 60),
        fast_recovery=rng.choice([1, 2, 5]),
        increase=rate // rng.randint(20, 1000),
        hyper_increase=rate // rng.randint(5, 100),
        min_rate=rate // rng.randint(100, 1000),
    )
    settings = roce.Settings(
        mtu,
        is_selective=rng.random() < 0.5,
        ack_every=rng.choice([1, 3, 16]),
        window=rng.choice([None, rng.randint(1, 30) * mtu + rng.randint(0, mtu)]),
        rto=round(rtt * rng.uniform(0.5, 3)),
        dcqcn=dcqcn if rng.random() < 0.8 else None,
    )
    stated: Spec = {
        "mtu": f"{mtu}B",
        "retransmission": "selective-repeat" if settings.is_selective else "go-back-n",
        "ack_every": settings.ack_every,
        "rto": time(settings.rto),
        "control": "none",
    }
    if settings.window is not None:
        stated["window"] = f"{settings.window}B"
    if settings.dcqcn is not None:
        stated |= {
            "control": "dcqcn",
            "cnp_interval": time(dcqcn.cnp_interval),
            "alpha_interval": time(dcqcn.alpha_interval),
            "gain": dcqcn.gain,
            "increase_interval": time(dcqcn.increase_interval),
            "byte_counter": f"{dcqcn.byte_counter}B",
            "fast_recovery": dcqcn.fast_recovery,
            "increase": f"{dcqcn.increase}bps",
            "hyper_increase": f"{dcqcn.hyper_increase}bps",
            "min_rate": f"{dcqcn.min_rate}bps",
        }
    run = run_both(scenario, "roce", stated, queues, lambda network, name: roce.RoceHost(network, name, settings))
    return run.pairs(events, {"cnps_received": "cnp"})


def uet_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of Ultra Ethernet in both simulators."""
    rng = Random(-seed)  # noqa: S311
    mtu = rng.choice([1500, 4150, 9064])
    scenario = random_scenario(seed, mtu, (1, 5, 60, 200))
    queues = (trimming_queues if rng.random() < 0.8 else fifo_queues)(rng, mtu)
    rtt = 2 * sum(cable.delay for cable in scenario.cables[-3:]) + 3 * 8 * 10**12 * mtu // scenario.cables[0].rate
    settings = uet_control.Settings(
        control=rng.choice(["sender", "receiver", "both"]),
        mtu=mtu,
        ack_bytes=rng.choice([4000, 16384]),
        initial_window=rng.choice([None, mtu * rng.randint(1, 40)]),
        network_rtt=rtt,
        target_delay=round(rtt * rng.uniform(0.3, 1)),
        rto=round(rtt * rng.uniform(1, 8)),
        rate=scenario.cables[0].rate,
        has_quirks=rng.random() < 0.3,
    )
    stated: Spec = {
        "control": settings.control,
        "mtu": f"{mtu}B",
        "ack_bytes": f"{settings.ack_bytes}B",
        "network_rtt": time(settings.network_rtt),
        "target_delay": time(settings.target_delay),
        "rto": time(settings.rto),
        "oversubscription": 1,
        "simulator_quirks": settings.has_quirks,
    }
    if settings.initial_window is not None:
        stated["initial_window"] = f"{settings.initial_window}B"
    run = run_both(scenario, "uet", stated, queues, lambda network, name: uet.UetHost(network, name, settings))
    return run.pairs(
        events, {"pulls_received": "pull", "rts_sent": "rts", "rts_repeated": "repeated request", "marked": "marked"}
    )


def swift_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of Swift in both simulators."""
    rng = Random(-seed)  # noqa: S311
    mtu = rng.choice([1500, 4160, 9064])
    scenario = random_scenario(seed, mtu, (1, 10, 100, 400))
    queues = fifo_queues(rng, mtu, (1, 2), (1, 4), (50, 500))
    rtt = round_trip(scenario, mtu)
    least, low = rng.choice([0.01, 0.1, 0.5]), rng.choice([0.1, 0.7])
    settings = swift.Settings(
        mtu=mtu,
        initial_window=rng.choice([0.3, 1.0, 10.0, 64.5, 64.5]),
        min_window=least,
        max_window=rng.choice([2.0, 30.0, 1000.0]),
        base_target=round(rtt * rng.choice([rng.uniform(0.05, 0.3), rng.uniform(0.3, 1), 3, 10])),
        hop_target=round(rtt * rng.choice([0, rng.uniform(0.01, 0.2)])),
        flow_range=round(rtt * rng.uniform(0, 3)),
        flow_window_min=low,
        flow_window_max=low * rng.choice([2.0, 100.0, 1000.0]),
        increase=rng.choice([0.2, 1.0, 3.0]),
        beta=rng.choice([0.1, 0.8, 1.0]),
        max_decrease=rng.choice([0.1, 0.5, 0.9]),
        endpoint_target=round(rtt * rng.choice([rng.uniform(0.02, 0.3), 10])),
        endpoint_gain=rng.choice([0.125, 1.0]),
        host_time=rng.choice([0, round(8e12 * mtu / scenario.cables[0].rate * rng.uniform(0.1, 2))]),
        min_rto=round(rtt * rng.uniform(0.02, 0.5)),
        initial_rto=round(rtt * rng.uniform(0.2, 3)),
        reset_after=rng.choice([1, 2, 5]),
        subflows=rng.choice([1, 1, 2, 4]),
        timestamp_step=rng.choice([0, 0, 8000, round(rtt * rng.uniform(0.01, 0.2))]),
        timestamp_noise=rng.choice([0, 0, round(rtt * rng.uniform(0.001, 0.1))]),
        clock_error=rng.choice([0, 0, 100, 1000]),
    )
    times = ["base_target", "hop_target", "flow_range", "endpoint_target", "host_time", "min_rto", "initial_rto"]
    times += ["timestamp_step", "timestamp_noise"]
    stated: Spec = asdict(settings) | {field: time(getattr(settings, field)) for field in times}
    stated["mtu"] = f"{mtu}B"
    subflows = stated.pop("subflows")
    events["subflows"] += subflows * len(scenario.flows) if subflows > 1 else 0
    run = run_both(
        scenario,
        "swift",
        stated,
        queues,
        lambda network, name: swift.SwiftHost(network, name, settings),
        subflows=subflows,
    )
    return run.pairs(events, {"fast_retransmits": "recovery"})


def timely_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of RDMA with TIMELY in both simulators."""
    rng = Random(-seed)  # noqa: S311
    mtu = rng.choice([1086, 1500, 4158])
    scenario = random_scenario(seed, mtu, (1, 10, 100, 400))
    queues = fifo_queues(rng, mtu, (1, 4), (4, 12), (50, 500))
    rtt, rate = round_trip(scenario, mtu), scenario.cables[0].rate
    is_patched, low = rng.random() < 0.5, round(rtt * rng.choice([0.02, 0.1, 0.3]) * rng.uniform(0.5, 1))
    segment = rng.choice([1, mtu, 5 * mtu - 3])
    control = timely.Timely(
        is_patched=is_patched,
        per_round=rng.random() < 0.4,
        segment=-(-segment // mtu),
        gain=rng.choice([0.1, 0.5, 0.875, 1.0]),
        beta=rng.choice([0.008, 0.1, 0.8, 1.0]),
        low=low,
        high=low + round(rtt * rng.choice([rng.uniform(0, 0.3), 10])),
        min_rtt=round(rtt * rng.uniform(0.1, 2)),
        increase=rate // rng.randint(5, 1000),
        hyper_after=rng.choice([0, 1, 5]),
        hyper_steps=rng.choice([1, 2, 5]),
        min_rate=rate // rng.randint(20, 1000),
        initial_rate=rate // rng.choice([1, 1, 3, 10]),
    )
    settings = roce.Settings(
        mtu,
        is_selective=rng.random() < 0.5,
        ack_every=rng.choice([1, 1, 3]),
        window=rng.choice([None, rng.randint(1, 30) * mtu]),
        rto=round(rtt * rng.uniform(0.3, 3)),
        dcqcn=None,
        timely=control,
    )
    stated: Spec = {
        "mtu": f"{mtu}B",
        "control": "patched-timely" if is_patched else "timely",
        "retransmission": "selective-repeat" if settings.is_selective else "go-back-n",
        "ack_every": settings.ack_every,
        "rto": time(settings.rto),
        "min_rate": f"{control.min_rate}bps",
        "initial_rate": f"{control.initial_rate}bps",
        "timely": {
            "updates": "round-trip" if control.per_round else "segment",
            "segment": f"{segment}B",
            "gain": control.gain,
            "beta": control.beta,
            "low": time(control.low),
            "high": time(control.high),
            "min_rtt": time(control.min_rtt),
            "increase": f"{control.increase}bps",
            "hyper_after": control.hyper_after,
            "hyper_steps": control.hyper_steps,
        },
    }
    if settings.window is not None:
        stated["window"] = f"{settings.window}B"
    run = run_both(scenario, "roce", stated, queues, lambda network, name: roce.RoceHost(network, name, settings))
    return run.pairs(events, {})


def hpcc_pairs(seed: int, events: Counter[str]) -> list[Pair]:
    """Runs a scenario of RDMA with HPCC in both simulators."""
    rng = Random(-seed)  # noqa: S311
    mtu = rng.choice([1090, 1500, 4200])
    scenario = random_scenario(seed, mtu, (1, 10, 100, 400))
    queues = fifo_queues(rng, mtu, (1, 4), (4, 12), (50, 500))
    rtt, rate = round_trip(scenario, mtu), scenario.cables[0].rate
    control = hpcc.Hpcc(
        rtt=round(rtt * rng.uniform(0.1, 1.2)),
        utilisation=rng.choice([0.5, 0.8, 0.95, 1.0]),
        max_stage=rng.choice([0, 1, 5]),
        increase=rate // rng.randint(20, 10_000),
        min_rate=rate // rng.randint(20, 1000),
        initial_rate=rate // rng.choice([1, 1, 3, 10]),
        is_quantised=rng.random() < 0.3,
    )
    settings = roce.Settings(
        mtu,
        is_selective=rng.random() < 0.5,
        ack_every=rng.choice([1, 1, 3]),
        window=rng.choice([None, None, rng.randint(1, 30) * mtu]),
        rto=round(rtt * rng.uniform(0.3, 3)),
        dcqcn=None,
        hpcc=control,
    )
    stated: Spec = {
        "mtu": f"{mtu}B",
        "control": "hpcc",
        "retransmission": "selective-repeat" if settings.is_selective else "go-back-n",
        "ack_every": settings.ack_every,
        "rto": time(settings.rto),
        "min_rate": f"{control.min_rate}bps",
        "initial_rate": f"{control.initial_rate}bps",
        "hpcc": {
            "rtt": time(control.rtt),
            "utilisation": control.utilisation,
            "max_stage": control.max_stage,
            "increase": f"{control.increase}bps",
            "quantised": control.is_quantised,
        },
    }
    if settings.window is not None:
        stated["window"] = f"{settings.window}B"
    run = run_both(scenario, "roce", stated, queues, lambda network, name: roce.RoceHost(network, name, settings))
    return run.pairs(events, {})


KINDS: dict[str, Callable[[int, Counter[str]], list[Pair]]] = {
    "hpcc": hpcc_pairs,
    "ndp": ndp_pairs,
    "roce": roce_pairs,
    "swift": swift_pairs,
    "timely": timely_pairs,
    "uet": uet_pairs,
}
MIN_EVENTS = {
    "hpcc": {
        "nack": 100,
        "timeouts": 20,
        "decrease": 500,
        "additive": 500,
        "round": 300,
        "queue": 500,
        "second port": 100,
    },
    "ndp": {"nack": 200, "timeouts": 30, "pull": 1000, "return": 10, "return at once": 2},
    "roce": {"nack": 300, "timeouts": 50, "cnp": 100, "increase": 100, "hyper increase": 50},
    "swift": {
        "recovery": 80,
        "loss": 80,
        "timeouts": 30,
        "reset": 5,
        "paced": 200,
        "end of pace": 50,
        "fabric decrease": 200,
        "fabric increase below one": 80,
        "endpoint decrease": 5,
        "processed late": 500,
        "earlier timeout": 50,
        "subflows": 200,
        "wrong time": 1000,
    },
    "timely": {"nack": 100, "timeouts": 20, "patched": 500, "rising": 300, "beyond high": 100, "hyper": 100},
    "uet": {
        "nack": 100,
        "timeouts": 50,
        "rts": 30,
        "repeated request": 1,
        "marked": 300,
        "pull": 1000,
        "quick adaptation": 10,
        "decrease": 10,
        "fast increase": 300,
        "fair increase": 100,
        "lower base": 5,
    },
}
"""Least number of events in 100 scenarios, without which the comparison would show little."""


@pytest.mark.parametrize("kind", KINDS)
def test_random_scenarios_equal_the_reference(kind: str) -> None:
    events: Counter[str] = Counter()
    for seed in range(1, CASES + 1):
        for number, (found, expected) in enumerate(KINDS[kind](seed, events)):
            assert found == expected, f"seed {seed}, flow {number}"
    rare = {event: events[event] for event, least in MIN_EVENTS[kind].items() if events[event] < least * CASES / 100}
    assert not rare, events
