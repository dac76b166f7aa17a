"""An all-to-all by shifts over NDP is unstable, and is not if receivers give credit to earlier rounds first.

The experiment is "fattree-all-to-all" of Broadcom/csg-htsim (commit 841d9e7): a host starts its next message when the
last one is acknowledged, whatever it receives. `WEFT_SHIFTS=512` has its size, and takes minutes.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import polars as pl

import weft

RANKS = int(os.environ.get("WEFT_SHIFTS", "128"))
HOSTS = {128: 128, 512: 1024}[RANKS]
PORTS = {128: 8, 1024: 16}[HOSTS]
BYTES = 1_000_000


def shifts(file: Path) -> None:
    """Writes the messages: rank i sends to i + 1, i + 2, and so on."""
    hosts = list(range(HOSTS))
    random.Random(13).shuffle(hosts)  # noqa: S311
    lines = ["id,from,to,size_bytes,start_s,after"]
    for rank in range(RANKS):
        for shift in range(1, RANKS):
            to = (rank + shift) % RANKS
            begin = "0," if shift == 1 else f",{len(lines) - 1}"
            lines.append(f"{len(lines)},h{hosts[rank]},h{hosts[to]},{BYTES},{begin}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def all_to_all(file: Path, pull_order: str) -> pl.DataFrame:
    spec = {
        "name": "shifts",
        "duration": "1s",
        "topology": {"kind": "fat-tree", "k": PORTS, "rate": "100Gbps", "delay": "1us"},
        "queues": {"kind": "trimming", "limit": "35 packets"},
        "transports": {"ndp": {"kind": "ndp", "ndp": {"initial_window": 50, "mtu": "4000B", "pull_order": pull_order}}},
        "traffic": [{"kind": "flow-list", "transport": "ndp", "file": str(file)}],
    }
    flows = weft.run(spec, seed=13).flows
    assert flows["acked_s"].null_count() == 0
    return flows


def most_senders(flows: pl.DataFrame) -> int:
    """The most messages to one host that are under way at once."""
    begin = flows.select("to", at="start_s", change=pl.lit(1))
    end = flows.select("to", at="acked_s", change=pl.lit(-1))
    events = pl.concat([begin, end]).sort("at", "change")
    most = events.select(pl.col("change").cum_sum().over("to").max()).item()
    return int(most)


def test_credit_for_earlier_rounds_keeps_an_all_to_all_stable(tmp_path: Path) -> None:
    file = tmp_path / "shifts.csv"
    shifts(file)
    in_turn, damped = (all_to_all(file, order) for order in ("in-turn", "earlier-rounds"))
    assert sorted(in_turn["round"].unique()) == list(range(RANKS - 1))
    assert most_senders(in_turn) >= {128: 6, 512: 40}[RANKS]
    assert most_senders(damped) <= 4
    ends = [flows["finish_s"].to_numpy().max() for flows in (in_turn, damped)]
    assert ends[0] / ends[1] > {128: 1.1, 512: 2.5}[RANKS]


def test_a_flow_without_rounds_goes_before_later_rounds(tmp_path: Path) -> None:
    """A bulk flow has round 0, as has the first message of a chain to the same receiver."""
    file = tmp_path / "chain.csv"
    file.write_text("id,from,to,size_bytes,start_s,after\n1,h1,h0,1000000,0,\n2,h1,h0,1000000,,1\n", encoding="utf-8")
    ends = dict[str, tuple[float, ...]]()
    for order in ("in-turn", "earlier-rounds"):
        spec = {
            "name": "chain",
            "duration": "20ms",
            "topology": {"kind": "fat-tree", "k": 4, "rate": "100Gbps", "delay": "1us"},
            "queues": {"kind": "trimming", "limit": "35 packets"},
            "transports": {"ndp": {"kind": "ndp", "ndp": {"initial_window": 50, "mtu": "4000B", "pull_order": order}}},
            "traffic": [
                {"kind": "flow-list", "transport": "ndp", "file": str(file)},
                {"kind": "bulk", "transport": "ndp", "pairs": [["h2", "h0"]], "size": "20MB"},
            ],
        }
        flows = weft.run(spec).flows.sort("size_bytes", "round")
        assert flows["round"].to_list() == [0, 1, 0]
        ends[order] = tuple(flows["finish_s"])
    # The bulk flow does not stop the message: where none of its own packets arrives, it has no pull to send.
    assert ends["in-turn"][1] < ends["earlier-rounds"][1] < ends["earlier-rounds"][2]
    assert ends["earlier-rounds"][0] == ends["in-turn"][0]
