"""The same small experiments in Weft and in ns-3, side by side.

`make validate` compiles `driver.cc` against Debian's ns-3 and runs this. A measure outside its band makes it exit with
1. Bands are ratios of Weft's mean over seeds to ns-3's. Where ns-3 does otherwise than Linux, a scene says so and shows
it by an option of either side.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import weft
from weft import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterable

MSS = 1448
HEADER = 42
"""Bytes of a packet without its payload: TCP's and IP's 20 each, PPP's 2. There are no timestamps on either side: ns-3
counts them in milliseconds, too coarse for a data centre's round trips."""
TENTH = (0.9, 1.1)


@dataclass(frozen=True)
class Scene:
    """Senders, a switch and a receiver, a flow from each sender."""

    name: str
    cc: str
    senders: int
    duration_s: float
    bands: dict[str, tuple[float, float]]
    """Measures, with the least and the most of Weft's over ns-3's."""
    rate: str = "1Gbps"
    sender_rate: str = "10Gbps"
    delay: str = "10us"
    limit: int = 200
    mark: int = 0
    size: int = 0
    """Bytes of a flow; 0 is until the end."""
    span_s: float = 1e-3
    """Flows open at random times within this."""
    seeds: int = 3
    why: str = ""
    """The reason for an option, or for a band wider than a tenth."""
    parameters: dict[str, float] = field(default_factory=dict)
    """Parameters of the congestion control in Weft."""
    weft: dict[str, Any] = field(default_factory=dict)
    """Changes of Weft's profile."""
    ns3: dict[str, Any] = field(default_factory=dict)
    """Changes of the driver's options."""

    def starts(self, seed: int) -> list[int]:
        """When the flows open, in nanoseconds, the same on both sides."""
        draw = random.Random(f"{self.name.partition(',')[0]} {seed}")  # noqa: S311 (an experiment's, no secret)
        return [draw.randrange(round(1e9 * self.span_s)) for _ in range(self.senders)]


LONG = {"goodput": TENTH, "mean queue": TENTH, "median queue": TENTH}
DCTCP = {**LONG, "10 % queue": TENTH, "90 % queue": TENTH, "marked": TENTH}
LOSSY = {"goodput": TENTH, "mean queue": TENTH, "retransmitted": TENTH}
REPAIRED = {"median FCT": (0.85, 1.2), "retransmitted": TENTH}
FCT = {"mean FCT": TENTH}

OVERSHOT = {**LOSSY, "retransmitted": (0.8, 1.25)}

FLOOR = (
    "ns-3's DCTCP cuts a window down to one packet, Linux's and Weft's to two: Weft's is put to one. When the mark of "
    "arriving packets changes, ns-3's receiver acknowledges those before, Linux's and Weft's at once the new one as "
    "well, which tells of more marks where windows are so small. Neither matters where every packet is acknowledged."
)
CHANCE = "Who of eight flows has to wait for a timeout is chance, and moves the median of the others by that much."
OVERSHOOT = "What CUBIC sends again is nearly all the overshoot of one slow start."
HYSTART = (
    "ns-3's HyStart leaves slow start earlier here than Linux's and Weft's does. Where Weft's slow start ends at 20 "
    "packets, both agree."
)
NO_HYSTART: dict[str, Any] = {"parameters": {"hystart": 0}, "ns3": {"hystart": 0}}
EVERY: dict[str, Any] = {"weft": {"ack_every": 1}, "ns3": {"ackEvery": 1}}
ALONE: dict[str, Any] = {"delay": "250us", "limit": 2000, "seeds": 1}

SCENES = [
    Scene("DCTCP, 2 flows, K = 20", "dctcp", 2, 0.3, DCTCP, mark=20),
    Scene("DCTCP, 2 flows, K = 40, links of 100 us", "dctcp", 2, 0.5, DCTCP, delay="100us", mark=40),
    Scene(
        "DCTCP, 8 flows, K = 20, floor of 1",
        "dctcp",
        8,
        0.3,
        {**DCTCP, "marked": (0.9, 1.35)},
        mark=20,
        parameters={"cwnd_min": 1},
        why=FLOOR,
    ),
    Scene("DCTCP, 8 flows, K = 20, every packet acknowledged", "dctcp", 8, 0.3, DCTCP, mark=20, **EVERY),
    Scene(
        "DCTCP, incast of 16 x 128 KB, K = 20, every packet acknowledged",
        "dctcp",
        16,
        1.0,
        FCT,
        mark=20,
        size=128_000,
        limit=400,
        **EVERY,
    ),
    *(
        Scene(f"{cc}, {size // 1000} KB alone", cc, 1, 4.0, FCT, size=size, **ALONE, **more)
        for cc, more in (("reno", {}), ("cubic", NO_HYSTART))
        for size in (15_000, 150_000, 1_500_000)
    ),
    *(
        scene
        for size in (150_000, 1_500_000)
        for scene in (
            Scene(
                f"cubic, {size // 1000} KB alone, HyStart",
                "cubic",
                1,
                4.0,
                {"mean FCT": (0.8, 1.1)},
                size=size,
                why=HYSTART,
                **ALONE,
            ),
            Scene(
                f"cubic, {size // 1000} KB alone, HyStart of ns-3",
                "cubic",
                1,
                4.0,
                FCT,
                size=size,
                parameters={"hystart": 0},
                weft={"initial_ssthresh": 20},
                why=HYSTART,
                **ALONE,
            ),
        )
    ),
    Scene("reno, 4 flows into 40 packets", "reno", 4, 20.0, LOSSY, rate="50Mbps", delay="1250us", limit=40),
    Scene(
        "cubic, a flow into 100 packets",
        "cubic",
        1,
        60.0,
        OVERSHOT,
        why=OVERSHOOT,
        rate="50Mbps",
        delay="10ms",
        limit=100,
        seeds=1,
        **NO_HYSTART,
    ),
    *(
        Scene(
            f"{cc}, incast of 8 x 256 KB into 100 packets",
            cc,
            8,
            4.0,
            REPAIRED,
            limit=100,
            size=256_000,
            seeds=15,
            why=CHANCE,
            **more,
        )
        for cc, more in (("reno", {}), ("cubic", NO_HYSTART))
    ),
]


def in_weft(scene: Scene, seed: int) -> dict[str, float | None]:
    """Runs a scene at the packet level."""
    flow: dict[str, Any] = {"kind": "bulk", "transport": "it", "to": "r0"}
    if scene.size:
        flow["size"] = f"{scene.size}B"
    tcp = {
        "mss": f"{MSS}B",
        "header": f"{HEADER}B",
        "ack_size": f"{HEADER}B",
        "receive_buffer": "64MiB",
        "send_buffer": "64MiB",
        "quick_acks": 0,
        "timestamps": False,
        **scene.weft,
    }
    experiment = Experiment.model_validate(
        {
            "name": "beside-ns3",
            "seed": seed,
            "duration": f"{scene.duration_s}s",
            "topology": {
                "kind": "many-to-one",
                "senders": scene.senders,
                "rate": scene.rate,
                "sender_rate": scene.sender_rate,
                "delay": scene.delay,
            },
            "queues": {
                "limit": f"{scene.limit} packets",
                "mark": f"{scene.mark} packets" if scene.mark else "off",
                "host": {"limit": "1000000 packets", "mark": "off"},
            },
            # ns-3's hosts have equal clocks and no processing time; 500 ns is what the bands were set with.
            "hosts": {"jitter": "500ns", "clock_ppm": 0},
            "transports": {"it": {"cc": {"name": scene.cc, **scene.parameters}, "profile": "linux", "tcp": tcp}},
            "traffic": [
                {**flow, "from": f"h{i}", "name": f"flow-{i}", "start": f"{start}ns"}
                for i, start in enumerate(scene.starts(seed))
            ],
            "probes": [{"kind": "queue", "at": ["s0->r0"]}],
        }
    )
    result = weft.run(experiment)
    queue = result.queues.row(0, named=True)
    flows = result.flows
    return measures(
        scene,
        seconds=queue["time_at_length_s"],
        marked=queue["marks"] / queue["packets"],
        octets=int(flows["delivered_bytes"].sum()),
        fct_s=flows["fct_s"].to_list(),
        sent=int(flows["packets_sent"].sum()),
        retransmitted=int(flows["retransmitted"].sum()),
    )


def in_ns3(driver: Path, scene: Scene, seed: int) -> dict[str, float | None]:
    """Runs the same scene by the driver."""
    options = {
        "cc": scene.cc,
        "senders": scene.senders,
        "rate": scene.rate,
        "senderRate": scene.sender_rate,
        "delay": scene.delay,
        "limit": scene.limit,
        "mark": scene.mark,
        "size": scene.size,
        "starts": ",".join(f"{1e-9 * start:.9f}" for start in scene.starts(seed)),
        "duration": scene.duration_s,
        "segment": MSS,
        "seed": seed,
        **scene.ns3,
    }
    command = [str(driver), *(f"--{name}={value}" for name, value in options.items())]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    flows = found["flows"]
    return measures(
        scene,
        seconds=found["time_at_length_s"],
        marked=found["marks"] / found["packets"],
        octets=sum(flow["bytes"] for flow in flows),
        fct_s=[flow["fct_s"] for flow in flows],
        sent=sum(flow["sent"] for flow in flows),
        retransmitted=sum(flow["retransmitted"] for flow in flows),
    )


def measures(
    scene: Scene,
    *,
    seconds: list[float],
    marked: float,
    octets: int,
    fct_s: list[float | None],
    sent: int,
    retransmitted: int,
) -> dict[str, float | None]:
    """The compared measures in Mbit/s, packets, shares and milliseconds; no FCT where a flow did not end."""
    ended = [1e3 * fct for fct in fct_s if fct is not None]
    return {
        "goodput": 8e-6 * octets / scene.duration_s,
        "mean queue": sum(n * time for n, time in enumerate(seconds)) / sum(seconds),
        **{f"{name} queue": quantile(seconds, q) for name, q in (("10 %", 0.1), ("median", 0.5), ("90 %", 0.9))},
        "marked": marked,
        "mean FCT": fmean(ended) if len(ended) == len(fct_s) else None,
        "median FCT": median(ended) if len(ended) == len(fct_s) else None,
        "retransmitted": retransmitted / sent,
    }


def quantile(seconds: list[float], q: float) -> float:
    """The length not exceeded for the share `q` of the time, as if each length were spread over a packet."""
    left = q * sum(seconds)
    for length, time in enumerate(seconds):
        if time >= left:
            return length + (left / time if time else 0.0)
        left -= time
    return len(seconds)


@dataclass(frozen=True)
class Row:
    """A measure of a scene on both sides."""

    scene: str
    measure: str
    weft: float
    ns3: float
    ratio: float
    least: float
    most: float
    why: str

    @property
    def holds(self) -> bool:
        """Whether the ratio is within its band."""
        return self.least <= self.ratio <= self.most


def compare(driver: Path, scenes: Iterable[Scene]) -> list[Row]:
    """Runs every scene with each of its seeds on both sides."""
    rows = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for scene in scenes:
            each = range(1, scene.seeds + 1)
            theirs = pool.map(lambda seed, scene=scene: in_ns3(driver, scene, seed), each)
            ours = [in_weft(scene, seed) for seed in each]
            rows += judge(scene, ours, list(theirs))
    return rows


def judge(scene: Scene, ours: list[dict[str, float | None]], theirs: list[dict[str, float | None]]) -> list[Row]:
    """A row for each measure of a scene."""
    rows = []
    for measure, (least, most) in scene.bands.items():
        weft, ns3 = (middle(measure, [found[measure] for found in side]) for side in (ours, theirs))
        ratio = weft / ns3 if ns3 else 1.0 if weft == ns3 else float("inf")
        rows.append(Row(scene.name, measure, weft, ns3, ratio, least, most, scene.why))
    return rows


def middle(measure: str, values: list[float | None]) -> float:
    """Of a measure over seeds, or infinite where one is missing: a flow did not end.

    The mean; of medians the median, or a seed in which half of the flows wait for a timeout would decide alone.
    """
    of = median if measure == "median FCT" else fmean
    return of([float("inf") if value is None else value for value in values])


def table(rows: list[Row]) -> str:
    """The rows as a table in Markdown."""
    head = ["| experiment | measure | Weft | ns-3 | Weft / ns-3 | band |", "|---|---|---|---|---|---|"]
    body = (
        f"| {row.scene} | {row.measure} | {row.weft:.4g} | {row.ns3:.4g} "
        f"| {row.ratio:.3f}{'' if row.holds else ' (outside)'} | {row.least:g} to {row.most:g} |"
        for row in rows
    )
    return "\n".join([*head, *body])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("driver", type=Path, help="the compiled driver.cc")
    parser.add_argument("--only", default="", help="experiments whose names contain this")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--tcp", default="{}", help="fields of Weft's profile that differ, as JSON, to find a reason")
    parser.add_argument("--ns3", default="{}", help="options of the driver that differ, as JSON, to find a reason")
    given = parser.parse_args()
    differing = {"weft": json.loads(given.tcp), "ns3": json.loads(given.ns3)}
    scenes = [
        replace(scene, **{side: getattr(scene, side) | more for side, more in differing.items()})
        for scene in SCENES
        if given.only in scene.name
    ]
    rows = compare(given.driver, scenes)
    broken = [row for row in rows if not row.holds]
    if given.json:
        print(json.dumps([{**asdict(row), "holds": row.holds} for row in rows], indent=1))
    else:
        print(table(rows))
        for why in dict.fromkeys(row.why for row in rows if row.why):
            print(f"\n{why}")
    if broken:
        print(f"{len(broken)} of {len(rows)} measures are outside their bands", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
