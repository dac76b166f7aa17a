"""The Ultra Ethernet transport, compared with published scenarios of the UEC's simulator."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft_papers.uet.scenario import PAYLOAD, Flow, Network, Scenario, fat_tree, outcome

MESSAGE = 2_000_000
SEED = 13


def run(scenario: Scenario, *, threads: int = 1) -> weft.Result:
    return weft.run(scenario.spec(), seed=SEED, threads=threads, trace_hash=True)


def measured(result: weft.Result) -> dict[str, Any]:
    row = outcome(result).row(0, named=True)
    assert row["complete"] == row["flows"]
    return row


ONE = (Flow(0, 1, MESSAGE),)
TWO = (Flow(0, 1, MESSAGE), Flow(1, 0, MESSAGE))
TEN = (Flow(0, 1, 10 * PAYLOAD),)
HUNDRED = (Flow(0, 1, 100 * PAYLOAD),)


@pytest.mark.parametrize(
    ("flows", "control", "last_us", "acks", "pulls"),
    [
        (TEN, "sender", 17.0107, 4, 0),
        (HUNDRED, "sender", 46.8907, 26, 0),
        (ONE, "sender", 176.2, 124, 0),
        (TWO, "sender", 176.804, 248, 0),
        (TEN, "receiver", 17.0107, 4, 18),
        (HUNDRED, "receiver", 46.8907, 26, 97),
        (ONE, "receiver", 177.368, 126, 206),
        (ONE, "both", 177.368, 126, 206),
    ],
)
def test_scenarios_without_random_numbers_are_exact(
    flows: tuple[Flow, ...], control: str, last_us: float, acks: int, pulls: int
) -> None:
    found = measured(run(Scenario(flows, fat_tree(2), control=control)))
    assert float(f"{found['fct_max_us']:.6g}") == last_us
    assert (found["acks"], found["pulls"]) == (acks, pulls)
    assert found["new"] == sum(flow.packets for flow in flows)
    assert (found["rtx"], found["rts"], found["nacks"]) == (0, 0, 0)


INCAST = tuple(Flow(sender, 15, MESSAGE) for sender in range(15))


@pytest.mark.parametrize(
    ("control", "last_us", "retransmitted", "tolerance"),
    [("sender", 2478.53, 811, 0.01), ("receiver", 2464.44, 762, 0.005), ("both", 2462.92, 758, 0.005)],
)
def test_an_incast_is_bound_by_the_last_link(
    control: str, last_us: float, retransmitted: int, tolerance: float
) -> None:
    result = run(Scenario(INCAST, fat_tree(4), control=control))
    found = measured(result)
    assert found["fct_max_us"] == pytest.approx(last_us, rel=tolerance)
    assert found["rtx"] == pytest.approx(retransmitted, rel=0.1)
    trimmed = result.subflows["packets_trimmed"].sum()
    assert trimmed == found["nacks"] > 0
    other = run(Scenario(INCAST, fat_tree(4), control=control), threads=3)
    assert other.manifest["trace_hash"] == result.manifest["trace_hash"]


@pytest.mark.parametrize("load_balancing", ["oblivious", "bitmap", "reps", "mixed"])
def test_a_permutation_uses_all_paths(load_balancing: str) -> None:
    flows = tuple(Flow(host, (host + 5) % 16, MESSAGE) for host in range(16))
    last_us = [
        measured(run(Scenario(flows, fat_tree(4), load_balancing=load_balancing, paths=paths)))["fct_max_us"]
        for paths in (128, 1)
    ]
    assert 176.2 <= last_us[0] < 220
    assert last_us[1] > 1.2 * last_us[0]


@pytest.mark.parametrize("control", ["sender", "receiver", "both"])
def test_dropped_packets_are_resent(control: str) -> None:
    dropping = Scenario(INCAST, fat_tree(4), control=control, duration_us=100_000).spec()
    dropping.pop("layers", None)
    dropping["queues"] = {"limit": "42 packets"}
    result = weft.run(dropping, threads=1)
    assert result.flows["acked_s"].null_count() == 0
    assert result.flows["packets_dropped"].sum() > 100
    assert result.flows["timeouts"].sum() > 100
    assert result.flows["packets_trimmed"].sum() == 0


def oversubscribed(control: str, **settings: Any) -> weft.Result:
    """Returns a permutation of 32 hosts between four leaves, each with two uplinks for its eight hosts."""
    network = Network(
        {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 8, "spines": 2, "rate": "100Gbps", "delay": "1us"},
        32,
        4,
        "leaf-host",
    )
    flows = tuple(Flow(host, (host + 8) % 32, MESSAGE) for host in range(32))
    spec = Scenario(flows, network, control=control).spec()
    spec["transports"]["uet"]["uet"].update(settings)
    return weft.run(spec, seed=SEED, threads=1)


def test_receivers_of_an_oversubscribed_network_slow_their_pulls() -> None:
    adaptive, constant = oversubscribed("receiver"), oversubscribed("receiver", oversubscription=1)
    assert adaptive.flows.equals(oversubscribed("receiver", oversubscription=4).flows)
    trims = [result.flows["packets_trimmed"].sum() for result in (adaptive, constant)]
    assert trims[0] < trims[1] / 5
    # Four flows share each uplink: the data alone takes 8 * 2 MB * 1.016 / 200 Gbps.
    optimum_us = 4 * MESSAGE * 8 / 100e3 * 4150 / 4086
    for result in (adaptive, constant):
        assert optimum_us < measured(result)["fct_max_us"] < 1.25 * optimum_us
    # A window of the sender replaces the control.
    both = oversubscribed("both"), oversubscribed("both", oversubscription=1)
    assert both[0].flows.equals(both[1].flows)


@pytest.mark.parametrize("control", ["sender", "receiver", "both"])
def test_flows_survive_a_failed_link_and_end_when_stopped(control: str) -> None:
    result = weft.run(
        {
            "name": "failure",
            "duration": "5ms",
            "topology": {"kind": "fat-tree", "k": 4, "rate": "100Gbps", "delay": "1us"},
            "queues": {"limit": "42 packets", "kind": "trimming"},
            "transports": {"uet": {"kind": "uet", "uet": {"control": control}}},
            "traffic": [{"kind": "bulk", "transport": "uet", "from": [0, 1], "to": [13, 14], "stop": "2ms"}],
            "events": [{"at": "500us", "links": ["tor0.0->agg0.0"], "state": "down", "detection_delay": "200us"}],
        },
        threads=1,
    )
    flows = result.flows
    assert flows["acked_s"].null_count() == 0
    assert flows["timeouts"].sum() > 0
    # One uplink of 100 Gbps is left for two flows.
    assert flows["delivered_bytes"].sum() * 8 > 100e9 * 1.2e-3
