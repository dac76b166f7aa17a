"""RED with an average in Weft and in ns-3, side by side, with open-loop traffic.

Bursts of packets arrive at exactly the rate of the bottleneck, or at a little more, after packets that keep the queue
from becoming empty. All arrivals are known, and both sides draw random numbers of their own.

`make validate` compiles `red.cc` against Debian's ns-3 and runs this. A measure outside its band makes it exit with 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import weft
from tests.ns3.compare import HEADER, Row, table
from weft import Experiment

MIN, MAX, WEIGHT, INVERSE = 5, 15, 0.002, 50
"""The defaults of ns-3: thresholds in packets, weight of the average, reciprocal of the greatest probability."""
PACKET, BURST = 1250, 8
"""Bytes of a packet on the wire, and packets of a burst. A packet takes 100 us at the bottleneck."""
SOURCE_HEADER = 66
"""Bytes of the header of packets of constant rate in Weft."""
SLOT_US = 100
LEAD_US = 55
"""Time between the first packets and the first burst, so that no packet arrives when another one leaves."""
IN_DEVICE = 1
"""Packets that wait in the device of ns-3, outside RED's queue."""
BURSTS = 10_000
SEEDS = range(1, 9)


@dataclass(frozen=True)
class Scene:
    """A load of the bottleneck."""

    name: str
    first: int
    """Packets that arrive before the bursts."""
    bands: dict[str, tuple[float, float]]
    """Measures, with the least and the most of Weft's over ns-3's."""
    period_us: int = BURST * SLOT_US
    mark: bool = True
    plain: int = 0
    """Packets of a burst without ECN, the last ones."""

    def marks_by_formula(self) -> float:
        """The expected number of marks where nothing is dropped.

        Distances between marks are uniform from 1 to the reciprocal of the ramp's probability (Floyd and Jacobson,
        section 7). A burst finds the first packets, without the one being sent, and its own earlier packets. One packet
        leaves after 45 us, when five packets of the burst have arrived.
        """
        lengths = [self.first - 1 + n - (n > (SLOT_US - LEAD_US) // 10) for n in range(BURST)]
        average = fmean(lengths) - IN_DEVICE
        probability = (average - MIN) / (MAX - MIN) / INVERSE
        return BURSTS * BURST / ((1 / probability + 1) / 2)


TWENTIETH = (0.95, 1.05)
MARKS = {"marks": TWENTIETH, "queue": (0.995, 1.005)}
DROPS = {"drops": (0.99, 1.01), "queue": (0.9, 1.1)}
MIXED = {**DROPS, "marks": TWENTIETH}
SCENES = [
    *(Scene(f"marks, {first} packets before", first, MARKS) for first in (7, 10, 13)),
    Scene("drops, load 1.013", 10, DROPS, period_us=790, mark=False),
    Scene("half without ECN, load 1.013", 10, MIXED, period_us=790, plain=BURST // 2),
]
"""The load fixes the number of drops, and the ramp the length of the queue with which RED drops as many. If half of the
packets have no ECN, RED drops as many of them as it marks of the others."""


def in_weft(scene: Scene, seed: int) -> dict[str, float]:
    """Runs a scene at the packet level. The windows of TCP are never full, so that its rate is the application's."""
    mss = PACKET - HEADER
    rate = BURST * mss * 8 * 1_000_000 // scene.period_us
    tcp = {"mss": f"{mss}B", "header": f"{HEADER}B", "initial_cwnd": 100, "pacing": False, "timestamps": False}
    red = {
        "name": "red",
        "min": f"{MIN + IN_DEVICE} packets",
        "max": f"{MAX + IN_DEVICE} packets",
        "probability": 1 / INVERSE,
        "weight": WEIGHT,
        "action": "mark" if scene.mark else "drop",
    }
    # A source of constant rate has packets without ECN. The average is below the ramp when the first ones arrive.
    source: dict[str, Any] = {"kind": "constant-rate", "rate": "1Gbps", "packet_size": f"{PACKET}B"}
    dropped = {**source, "on": f"{BURST * 10}us", "off": f"{scene.period_us - BURST * 10}us"}
    marked = {"cc": {"name": "dctcp", "cwnd_min": 100}, "tcp": tcp}
    flow: dict[str, Any] = {"kind": "bulk", "from": "h0", "to": "r0"}
    start = {"start": f"{scene.period_us}us"}
    capable = BURST - scene.plain
    bursts = {"count": capable, "rate": f"{rate // BURST}bps"} if scene.mark else start
    transports, others = {"bursts": marked if scene.mark else dropped, "first": source}, []
    if scene.plain:
        on = scene.plain * 10
        transports["plain"] = {**source, "on": f"{on}us", "off": f"{scene.period_us - on}us"}
        others.append({**flow, **start, "name": "plain", "transport": "plain"})
    experiment = Experiment.model_validate(
        {
            "name": "red-in-ns3",
            "seed": seed,
            "duration": f"{(BURSTS + 1) * scene.period_us}us",
            "topology": {
                "kind": "many-to-one",
                "senders": 1,
                "rate": "100Mbps",
                "sender_rate": "1Gbps",
                "delay": "10us",
            },
            "queues": {
                "limit": "1000 packets",
                "mark": "off",
                "kind": red,
                "host": {"limit": "1000000 packets", "mark": "off"},
            },
            "hosts": {"jitter": "0s", "clock_ppm": 0},
            "transports": transports,
            "traffic": [
                {**flow, "name": "bursts", "transport": "bursts", **bursts},
                *others,
                {
                    **flow,
                    "name": "first",
                    "transport": "first",
                    "size": f"{scene.first * (PACKET - SOURCE_HEADER)}B",
                    "start": f"{scene.period_us - LEAD_US}us",
                },
            ],
            "probes": [{"kind": "queue", "at": ["s0->r0"]}],
        }
    )
    queue = weft.run(experiment).queues.row(0, named=True)
    return {"marks": queue["marks"], "drops": queue["drops"], "queue": queue["mean_packets"]}


def in_ns3(driver: Path, scene: Scene, seed: int) -> dict[str, float]:
    """Runs a scene by the driver."""
    options = {
        "minTh": MIN,
        "maxTh": MAX,
        "weight": WEIGHT,
        "lInterm": INVERSE,
        "mark": int(scene.mark),
        "packet": PACKET,
        "burst": BURST,
        "plain": scene.plain,
        "first": scene.first,
        "lead": LEAD_US * 1e-6,
        "period": scene.period_us * 1e-6,
        "bursts": BURSTS,
        "seed": seed,
    }
    command = [str(driver), *(f"--{name}={value}" for name, value in options.items())]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"marks": found["marks"], "drops": found["drops"], "queue": found["mean_queue"] + IN_DEVICE}


def compare(driver: Path, scenes: list[Scene]) -> list[Row]:
    """Runs every scene with each seed on both sides, and compares the means, and those of marks with the formula."""
    rows = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for scene in scenes:
            theirs = list(pool.map(lambda seed, scene=scene: in_ns3(driver, scene, seed), SEEDS))
            ours = [in_weft(scene, seed) for seed in SEEDS]
            for measure, band in scene.bands.items():
                least, most = band
                here, there = (fmean(found[measure] for found in side) for side in (ours, theirs))
                rows.append(Row(scene.name, measure, here, there, here / there, least, most, ""))
                if scene.plain and measure == "marks":
                    for side, found in (("Weft", ours), ("ns-3", theirs)):
                        name = f"{scene.name}: {side}, marks over drops"
                        marks, drops = (fmean(values[one] for values in found) for one in ("marks", "drops"))
                        rows.append(Row(name, measure, marks, drops, marks / drops, least, most, ""))
                elif measure == "marks":
                    formula = scene.marks_by_formula()
                    least, most = TWENTIETH
                    for side, value in (("Weft", here), ("ns-3", there)):
                        name = f"{scene.name}: {side} over the formula"
                        rows.append(Row(name, measure, value, formula, value / formula, least, most, ""))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("driver", type=Path, help="the compiled red.cc")
    rows = compare(parser.parse_args().driver, SCENES)
    print(table(rows))
    broken = [row for row in rows if not row.holds]
    if broken:
        print(f"{len(broken)} of {len(rows)} measures are outside their bands", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
