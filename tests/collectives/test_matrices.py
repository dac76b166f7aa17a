"""Lists of flows that start others, also those of the UEC's simulator, whose times are known."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.collectives.test_ranks import KINDS, run, spec
from weft_papers.uet.scenario import BYTE_PS, DELAY_PS, HEADER, Flow, Scenario, fat_tree

# The first two do not meet, as sources at a constant rate lose what a queue drops.
LIST = """id,from,to,size_bytes,start_s,after,compute_s
g1,h1,h0,1000000,0,,
g2,h2,h0,500000,0.003,,
p1,h0,h1,1000000,,g1 g2,0.00002
p2,h0,h2,1000000,,p1,
"""


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", KINDS)
def test_flows_open_after_those_they_name(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "flows.csv"
    file.write_text(LIST, encoding="utf-8")
    traffic = {"kind": "flow-list", "file": str(file)}
    experiment = spec(4, traffic, transport=KINDS[kind], duration="60ms")
    results = [run(experiment, threads=threads, trace_hash=True) for threads in (1, 2, 4)]
    assert len({result.manifest["trace_hash"] for result in results}) == 1
    flows = {(flow["from"], flow["to"]): flow for flow in results[0].flows.iter_rows(named=True)}
    ends = max(flows["h1", "h0"]["finish_s"], flows["h2", "h0"]["finish_s"])
    assert flows["h0", "h1"]["start_s"] == pytest.approx(ends + 20e-6, abs=1e-12)
    assert flows["h0", "h2"]["start_s"] == pytest.approx(flows["h0", "h1"]["acked_s"], abs=1e-12)
    assert results[0].jobs["finish_s"].item() == pytest.approx(flows["h0", "h2"]["finish_s"], abs=1e-12)


def test_level_flow_has_the_order(tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    file.write_text(LIST, encoding="utf-8")
    result = run(spec(4, {"kind": "flow-list", "file": str(file)}, transport=KINDS["tcp"], level="flow"))
    flows = result.flows.to_dicts()
    assert flows[2]["start_s"] == pytest.approx(max(flow["finish_s"] for flow in flows[:2]) + 20e-6)
    assert flows[3]["start_s"] == pytest.approx(flows[2]["finish_s"])


def matrix(chains: list[list[tuple[int, int]]], size: int, *, signal: str = "send_done_trigger") -> str:
    """Returns a connection matrix in which each flow of a chain starts the next one."""
    lines = list[str]()
    triggers = 0
    for chain in chains:
        for number, (sender, receiver) in enumerate(chain):
            begin = f"trigger {triggers}" if number else "start 0"
            triggers += number + 1 < len(chain)
            end = f" {signal} {triggers}" if number + 1 < len(chain) else ""
            lines.append(f"{sender}->{receiver} id {len(lines) + 1} {begin} size {size}{end}")
    declared = [f"trigger id {number} oneshot" for number in range(1, triggers + 1)]
    head = ["Nodes 16", f"Connections {len(lines)}", f"Triggers {triggers}"]
    return "\n".join([*head, *lines, *declared, ""])


def all_reduce(order: list[int]) -> list[list[tuple[int, int]]]:
    """Returns the chains of 2n - 1 messages round a ring, one from each position."""
    n = len(order)
    return [[(order[(s + d) % n], order[(s + d + 1) % n]) for d in range(2 * n - 1)] for s in range(n)]


def all_to_all(order: list[int]) -> list[list[tuple[int, int]]]:
    """Returns the messages of each position to the following ones, one after another."""
    n = len(order)
    return [[(order[s], order[(s + d) % n]) for d in range(1, n)] for s in range(n)]


def butterfly(n: int) -> list[list[tuple[int, int]]]:
    """Returns chains in which the receiver of a step sends in the next one, to the partner at twice the distance."""
    steps = range(n.bit_length() - 1)

    def chain(begin: int) -> list[tuple[int, int]]:
        messages, sender = [], begin
        for step in steps:
            messages.append((sender, sender ^ (1 << step)))
            sender ^= 1 << step
        return messages

    return [chain(begin) for begin in range(n)]


# Positions of the hosts in the published matrix.
DRAWN = [0, 14, 6, 5, 3, 8, 7, 11, 15, 1, 12, 13, 9, 4, 2, 10]
IN_ORDER = list(range(16))


@pytest.mark.parametrize(
    ("name", "chains", "size", "control", "load_balancing", "median_us"),
    [
        ("all-to-all", all_to_all(DRAWN), 262_144, "sender", "mixed", 563.446),
        ("all-to-all", all_to_all(DRAWN), 262_144, "receiver", "mixed", 566.542),
        ("all-to-all", all_to_all(DRAWN), 262_144, "sender", "reps", 575.373),
        ("all-reduce", all_reduce(IN_ORDER), 262_144, "sender", "mixed", 916.610),
        ("all-reduce", all_reduce(IN_ORDER), 262_144, "receiver", "mixed", 1_080.000),
        ("all-reduce", all_reduce(IN_ORDER), 262_144, "sender", "oblivious", 916.987),
        ("all-reduce of packets", all_reduce(IN_ORDER), 4_086, "sender", "mixed", 257.415),
        ("butterfly", butterfly(16), 262_144, "sender", "mixed", 138.227),
        ("butterfly", butterfly(16), 262_144, "receiver", "mixed", 147.786),
    ],
)
def test_matrices_of_the_uecs_simulator(
    tmp_path: Path,
    name: str,
    chains: list[list[tuple[int, int]]],
    size: int,
    control: str,
    load_balancing: str,
    median_us: float,
) -> None:
    """Medians over five seeds; the simulator's own spread is up to 9 % for an all-to-all."""
    file = tmp_path / "job.cm"
    file.write_text(matrix(chains, size), encoding="utf-8")
    scenario = Scenario((Flow(0, 1, 1),), fat_tree(4), control=control, load_balancing=load_balancing)
    experiment: dict[str, Any] = scenario.spec()
    # An acknowledgement of the size of a header, without a queue.
    signal_delay = f"{DELAY_PS + HEADER * BYTE_PS}ps"
    traffic = {"kind": "flow-list", "transport": "uet", "file": str(file), "signal_delay": signal_delay}
    experiment["traffic"] = [traffic]
    ends = []
    for seed in (13, 1, 2, 3, 4):
        result = weft.run(experiment, seed=seed, threads=1)
        assert result.flows["acked_s"].null_count() == 0
        ends.append(1e6 * max(result.flows["acked_s"].to_list()))
    found = statistics.median(ends)
    assert found == pytest.approx(median_us, rel=0.05), f"{name}: {found} us"
