"""Max-min fair rates and what they take, in Weft and by SimGrid's solver, side by side on the same networks.

`make bench` compiles `driver.cc` against Debian's SimGrid and runs this. Solving is timed from a network that knows who
crosses which link until all rates are known; building that network is timed by itself. A rate further than 1e-9 from
SimGrid's, or solving at less than five times its speed, makes it exit with 1.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from weft import _weft

TOLERANCE = 1e-9
FASTER = 5.0
TIMES = 15
"""Both solve each network this often. The fastest counts: whatever else the machine does only adds."""
PORTS = {1024: 16, 8192: 32}
"""Hosts of a fat-tree, and its switches' ports."""


@dataclass(frozen=True)
class Row:
    """One network by both."""

    hosts: int
    links: str
    weft_s: float
    simgrid_s: float
    weft_building_s: float
    simgrid_building_s: float
    difference: float
    """The largest difference of a rate, relative to SimGrid's."""

    @property
    def holds(self) -> bool:
        """Whether rates are equal and Weft is `FASTER` times as fast."""
        return self.difference <= TOLERANCE and self.weft_s * FASTER <= self.simgrid_s


def permutation(ports: int, seed: int) -> tuple[int, list[list[int]]]:
    """Each host of a fat-tree sends to another one over a random shortest path.

    Returns how many links there are, and the paths. Links are numbered by layer: from hosts, to hosts, then up and down
    between edge and aggregation, and between aggregation and core.
    """
    draw = random.Random(seed)  # noqa: S311 (an experiment's, no secret)
    half = ports // 2
    hosts = ports * half * half
    receivers = list(range(hosts))
    draw.shuffle(receivers)
    up_from_host, down_to_host, up, down, up_to_core, down_from_core = (layer * hosts for layer in range(6))
    paths = []
    for sender, receiver in zip(receivers, receivers[1:] + receivers[:1], strict=True):
        edges = sender // half, receiver // half
        pods = edges[0] // half, edges[1] // half
        aggregation, core = draw.randrange(half), draw.randrange(half)
        path = [up_from_host + sender, down_to_host + receiver]
        if edges[0] != edges[1]:
            path += [up + edges[0] * half + aggregation, down + edges[1] * half + aggregation]
        if pods[0] != pods[1]:
            ends = [(pod * half + aggregation) * half + core for pod in pods]
            path += [up_to_core + ends[0], down_from_core + ends[1]]
        paths.append(path)
    return 6 * hosts, paths


def in_weft(capacities: list[float], paths: list[list[int]]) -> tuple[list[float], float, float]:
    """Rates, and seconds of building and of solving."""
    found = [_weft.max_min(capacities, [[path] for path in paths]) for _ in range(TIMES)]
    return found[0][0], min(building for _, building, _ in found), min(solving for _, _, solving in found)


def in_simgrid(driver: Path, capacities: list[float], paths: list[list[int]]) -> tuple[list[float], float, float]:
    """Rates, and seconds of building and of solving."""
    lines = [
        f"{len(capacities)} {len(paths)} {TIMES}",
        " ".join(map(repr, capacities)),
        *(" ".join(map(str, [len(path), *path])) for path in paths),
    ]
    # Its rates are exact only to a part of the capacities, by default 1e-5.
    command = [str(driver), "--log=root.thres:critical", "--cfg=maxmin/precision:1e-14"]
    done = subprocess.run(command, input="\n".join(lines), check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["rates"], min(found["building"]), min(found["solving"])


def compare(driver: Path, hosts: list[int]) -> list[Row]:
    """Fat-trees with so many hosts, with equal links and with others."""
    rows = []
    for size in hosts:
        links, paths = permutation(PORTS[size], seed=1)
        draw = random.Random(size)  # noqa: S311 (an experiment's, no secret)
        for name, capacities in (("equal", [1.0] * links), ("unequal", [draw.uniform(0.5, 1.5) for _ in range(links)])):
            ours, weft_building_s, weft_s = in_weft(capacities, paths)
            theirs, simgrid_building_s, simgrid_s = in_simgrid(driver, capacities, paths)
            difference = max(abs(a - b) / b for a, b in zip(ours, theirs, strict=True))
            rows.append(Row(size, name, weft_s, simgrid_s, weft_building_s, simgrid_building_s, difference))
    return rows


def main() -> int:
    """Compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("driver", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = compare(given.driver, list(PORTS))
    if given.json:
        print(json.dumps([{**asdict(row), "holds": row.holds} for row in rows], indent=1))
    else:
        print("                        solving [ms]            building [ms]")
        print("hosts  links      Weft  SimGrid  times     Weft  SimGrid  largest difference")
        for row in rows:
            times = row.simgrid_s / row.weft_s
            print(
                f"{row.hosts:5}  {row.links:7}  {1e3 * row.weft_s:6.3f}  {1e3 * row.simgrid_s:7.3f}  {times:5.1f}"
                f"  {1e3 * row.weft_building_s:7.3f}  {1e3 * row.simgrid_building_s:7.3f}"
                f"  {row.difference:.1e}{'' if row.holds else '  !'}"
            )
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
