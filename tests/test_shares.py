"""Shares of flows whose paths to one host have two, four and six links: a reviewed table of all algorithms and rates.

`WEFT_SNAPSHOTS=renew` writes the table, `tests/shares.csv`. A change is reviewed like a change of code.
"""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import weft
from tests import starved
from tests.papers.snapshots import RENEW

TABLE = Path(__file__).parent / "shares.csv"
ALGORITHMS = sorted(entry["name"] for entry in weft.registry()["algorithms"] if not entry["name"].startswith("bpf:"))
RATES = {"100Mbps": (0.1, 4_000), "1Gbps": (1.0, 8_000), "10Gbps": (10.0, 20_000), "100Gbps": (100.0, 40_000)}
"""Rates in Gbps, and the number of measured packets of all flows together, after as many that are not measured."""
COUNTS = (2, 4, 8)
TCP = {"initial_rto": "1ms", "min_rto": "1ms", "delayed_ack_timeout": "500us"}
SENDERS = ("h1", "h4", "h2", "h8", "h3", "h12", "h5", "h6")
"""Senders to h0: its own rack has h1, its own pod h2 and h3 as well."""
Cell = tuple[str, str, int]
"""Algorithm, rate and number of flows."""
MIN_OF_FAIR = 0.05
"""Minimum share of a flow without a timeout, as a part of an equal share."""
TOLERANCE = 0.005
"""Shares have three digits; the last one may round the other way on another machine."""


def experiment(
    algorithm: str,
    rate: str,
    flows: int,
    *,
    packets: int | None = None,
    delay_us: int = 5,
    mark: int | None = 20,
) -> dict[str, Any]:
    """Returns an experiment of flows with one subflow each that share the link to h0.

    `packets` are measured, by default those of `RATES`.
    """
    gbps, usual = RATES[rate]
    packets = usual if packets is None else packets
    half_s = packets * 1514 * 8 / (gbps * 1e9)
    return {
        "name": "shares",
        "duration": f"{2 * half_s:.9f}s",
        "measure": {"start": f"{half_s:.9f}s"},
        "topology": {"kind": "fat-tree", "k": 4, "rate": rate, "delay": f"{delay_us}us"},
        "queues": {"limit": "100 packets"} | ({} if mark is None else {"mark": f"{mark} packets"}),
        # With the default timeouts, a flow with a loss might wait until the end of the run.
        "transports": {"one": {"cc": algorithm, "tcp": TCP}},
        "traffic": [
            {"kind": "bulk", "transport": "one", "from": sender, "to": "h0", "jitter": "1ms"}
            for sender in SENDERS[:flows]
        ],
    }


def run(algorithm: str, rate: str, flows: int) -> pl.DataFrame:
    """Returns the share of each flow, in the order of `SENDERS`, and its number of timeouts."""
    result = weft.run(experiment(algorithm, rate, flows), seed=1, threads=1)
    measured = pl.col("measured_bytes")
    return result.flows.sort("flow").select(
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"), share=(measured / measured.sum()).round(3)
    )


def stored() -> dict[Cell, list[float]]:
    lines = csv.reader(io.StringIO(TABLE.read_text(encoding="utf-8")))
    next(lines)
    return {(line[0], line[1], int(line[2])): [float(cell) for cell in line[3:] if cell] for line in lines}


def store(changed: dict[Cell, list[float]]) -> None:
    known = stored() | changed
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["algorithm", "rate", "flows", *(f"from {sender}" for sender in SENDERS)])
    for cell in product(ALGORITHMS, RATES, COUNTS):
        writer.writerow([*cell, *(f"{share:.3f}" for share in known[cell])])
    TABLE.write_text(lines.getvalue(), encoding="utf-8")


@pytest.mark.filterwarnings("ignore::weft.ResultWarning")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_shares_are_those_of_the_table(algorithm: str) -> None:
    results = {cell: run(*cell) for cell in product([algorithm], RATES, COUNTS)}
    starved = [
        (cell, share)
        for cell, flows in results.items()
        for share, timeouts in flows.select("share", "timeouts").iter_rows()
        if timeouts == 0 and share < MIN_OF_FAIR / cell[2]
    ]
    assert starved == []
    found = {cell: flows["share"].to_list() for cell, flows in results.items()}
    if RENEW:
        store(found)
    known = {cell: values for cell, values in stored().items() if cell[0] == algorithm}
    assert known.keys() == found.keys()
    assert [
        (cell, values, found[cell])
        for cell, values in known.items()
        if values != pytest.approx(found[cell], abs=TOLERANCE)
    ] == []


@pytest.mark.parametrize("algorithm", starved.ALGORITHMS)
@pytest.mark.parametrize("rate", ["100Mbps", "1Gbps"])
def test_no_flow_starves_with_the_defaults(algorithm: str, rate: str) -> None:
    """Every fortieth run of decision 19's table; `python -m tests.starved` runs all."""
    for case in starved.table(algorithm, rate, 200)[::40]:
        assert min(case.shares()) >= starved.STARVED, case


def test_a_window_that_the_host_does_not_fill_does_not_grow() -> None:
    """A flow alone on the links of its host: its NIC limits it, not the window (`tcp_is_cwnd_limited`)."""
    spec = {
        "name": "alone",
        "duration": "0.5s",
        "topology": {"kind": "fat-tree", "k": 4, "rate": "1Gbps", "delay": "4us"},
        "queues": {"limit": "120 packets"},
        "transports": {"t": {"cc": "reno", "tcp": {"initial_ssthresh": 12}}},
        "traffic": [{"kind": "bulk", "transport": "t", "from": "h1", "to": "h0"}],
        "probes": [{"kind": "flow", "flows": [0], "interval": "1ms"}],
        # With equal clocks no queue grows behind the host.
        "hosts": {"clock_ppm": 0},
    }
    result = weft.run(spec, seed=1, threads=1)
    # The NIC holds ten packets and the path a few.
    assert max(result.traces["cwnd_packets"].drop_nulls().to_list()) < 20
    assert max(result.links["utilisation"].to_list()) > 0.99


OUTCAST = {1: (0.8, 1.1), 3: (0.41, 0.86), 6: (0.03, 0.12)}
"""Band of the lone flow's part of an equal share, by the number of flows at the other port.

Linux 6.18 at 100 Mbit/s has 0.41 to 0.86 next to three flows and 0.056 to 0.091 next to six, in three runs each.
"""


@pytest.mark.parametrize("others", OUTCAST)
def test_a_lone_flow_loses_to_many_at_another_port(others: int) -> None:
    """The TCP Outcast problem (Prakash et al., NSDI 2012, on switches with drop-tail queues)."""
    far = [f"f{i}" for i in range(others)]
    cables = [
        {"a": "n", "b": "t"},
        {"a": "s", "b": "t"},
        {"a": "t", "b": "r"},
        *({"a": name, "b": "s"} for name in far),
    ]
    hosts = {"hosts": ["n", "r", *far], "switches": ["s", "t"], "links": cables}
    spec = {
        "name": "outcast",
        "duration": "20s",
        "measure": {"start": "2s"},
        "topology": {"kind": "graph", "rate": "100Mbps", "delay": "20us"} | hosts,
        "queues": {"limit": "100 packets"},
        "transports": {"t": {"cc": "reno"}},
        "traffic": [
            {"kind": "bulk", "transport": "t", "from": name, "to": "r", "jitter": "3ms"} for name in ("n", *far)
        ],
    }
    parts = []
    for seed in range(1, 9):
        measured = weft.run(spec, seed=seed, threads=1).flows.sort("flow")["measured_bytes"]
        parts.append(measured[0] / measured.sum() * (others + 1))
    low, high = OUTCAST[others]
    assert low < fmean(parts) < high, parts


def test_cubic_as_in_the_rfc_shares_a_fast_link() -> None:
    """Short round trips: Linux's growth by jiffies leaves the smaller flow less (decision 19)."""
    smaller = {}
    for rfc_growth in (0, 1):
        shares = []
        for case in starved.pairs("cubic", "10Gbps", 1)[::26]:
            spec = case.spec()
            spec["transports"] = {"cubic": {"cc": {"name": "cubic", "rfc_growth": rfc_growth}}}
            measured = weft.run(spec, seed=case.seed, threads=1).flows["measured_bytes"]
            shares.append(min(measured) / measured.sum())
        smaller[rfc_growth] = fmean(shares)
    assert smaller[1] > 0.4
    assert 0.15 < smaller[0] < smaller[1]
