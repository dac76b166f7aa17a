"""The same work in Weft and in other packet simulators, by turns: processor time of one thread each.

`make bench-peers` compiles `permutation.cc` against Debian's ns-3 and runs this. `HTSIM=FILE` adds the UEC's simulator:
the file is its program `htsim_uec`, which the user has built.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import weft
from weft_papers.uet.scenario_files import PUBLISHED, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft_papers.uet.scenario import Scenario

LEAVES = 8
HOSTS_PER_LEAF = 16
DURATION = "1ms"
REPEATS = 10
"""Weft runs the permutation of ns-3 this often for one measurement, as one run is short."""
UEC_PLAN, UEC_NUMBER = "uec_sender", 11
"""The published scenario of the comparison with the UEC's simulator: its permutation of 1,024 hosts."""


@dataclass(frozen=True)
class Work:
    """Processor time and packet-hops of one run."""

    cpu_s: float
    packet_hops: int | None
    """One packet, data or ACK, over one link; None if the simulator does not count them."""


@dataclass(frozen=True)
class Row:
    """One work in Weft and in a peer."""

    peer: str
    work: str
    weft: list[Work]
    other: list[Work]

    @property
    def times(self) -> list[float]:
        """How many times less processor time Weft took in each round, for a packet-hop if both count them."""
        return [other_s / weft_s for weft_s, other_s in map(_comparable, self.weft, self.other)]


def _comparable(ours: Work, theirs: Work) -> tuple[float, float]:
    if ours.packet_hops is None or theirs.packet_hops is None:
        return ours.cpu_s, theirs.cpu_s
    return ours.cpu_s / ours.packet_hops, theirs.cpu_s / theirs.packet_hops


def in_weft(spec: dict[str, Any], repeats: int = 1) -> Work:
    """Runs a spec with one thread and returns the mean of some runs in a row."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(repeats):
        hops = weft.run(spec, threads=1).manifest["counters"]["packet_hops"]
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Work(_cpu_s(before, after) / repeats, hops)


def _cpu_s(before: resource.struct_rusage, after: resource.struct_rusage) -> float:
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def permutation() -> dict[str, Any]:
    """Returns a permutation of DCTCP flows in a leaf-spine with one spine, which has one path for each flow."""
    return {
        "name": "peers",
        "duration": DURATION,
        "topology": {
            "kind": "leaf-spine",
            "leaves": LEAVES,
            "spines": 1,
            "hosts_per_leaf": HOSTS_PER_LEAF,
            "rate": "10Gbps",
            "delay": "1us",
        },
        "layers": {layer: {"rate": "80Gbps"} for layer in ("leaf-spine", "spine-leaf")},
        "queues": {"limit": "100 packets", "mark": "20 packets"},
        "transports": {"all": {"cc": "dctcp"}},
        "traffic": [{"kind": "bulk", "transport": "all", "pairs": "permutation"}],
    }


def in_ns3(driver: Path) -> Callable[[], Work]:
    """Returns a function that runs the permutation of `permutation` in ns-3."""
    flows = weft.run({**permutation(), "duration": "1us"}, threads=1).flows
    receiver_of = dict(flows.select("from", "to").iter_rows())
    receivers = [receiver_of[f"h{host}"].removeprefix("h") for host in range(LEAVES * HOSTS_PER_LEAF)]

    def run() -> Work:
        command = [str(driver), f"--receivers={','.join(receivers)}", f"--duration={DURATION}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        return Work(**json.loads(done.stdout))

    return run


def uec_scenario() -> Scenario:
    """Returns the published scenario that the UEC's simulator runs."""
    found = (row for row in load(PUBLISHED) if (row.plan, row.number) == (UEC_PLAN, UEC_NUMBER))
    return next(found).scenario


def in_htsim(program: Path, scenario: Scenario, folder: Path) -> Callable[[], Work]:
    """Returns a function that runs a scenario in the UEC's simulator."""
    lines = [f"Nodes {max(flow.sender for flow in scenario.flows) + 1}", f"Connections {len(scenario.flows)}"]
    lines += [f"{flow.sender}->{flow.receiver} start 0 size {flow.size_bytes}" for flow in scenario.flows]
    matrix = folder / "permutation.cm"
    matrix.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["-end", str(scenario.duration_us), "-paths", str(scenario.paths), "-sender_cc_only", "-tm", str(matrix)]

    def run() -> Work:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program.resolve(), *options], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Work(_cpu_s(before, after), None)

    return run


def by_turns(ours: Callable[[], Work], theirs: Callable[[], Work], rounds: int) -> tuple[list[Work], list[Work]]:
    """Runs both by turns."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def compare(ns3: Path | None, htsim: Path | None, rounds: int) -> list[Row]:
    """Returns a row for each peer."""
    rows = []
    if ns3 is not None:
        work = f"permutation of {LEAVES * HOSTS_PER_LEAF} hosts, DCTCP, {DURATION}"
        rows.append(Row("ns-3", work, *by_turns(lambda: in_weft(permutation(), REPEATS), in_ns3(ns3), rounds)))
    if htsim is not None:
        scenario = uec_scenario()
        work = f"permutation of {len(scenario.flows):,} hosts, UET, {scenario.flows[0].size_bytes:,} B each"
        with tempfile.TemporaryDirectory() as folder:
            theirs = in_htsim(htsim, scenario, Path(folder))
            rows.append(Row("htsim", work, *by_turns(lambda: in_weft(scenario.spec()), theirs, rounds)))
    return rows


def machine() -> str:
    """Returns the processor's name and the load of the last minute."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    load_average = Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]
    return f"{names[0] if names else platform.machine()}, {len(names)} processors, load {load_average}"


def main() -> int:
    """Compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ns3", type=Path, help="program compiled from permutation.cc")
    parser.add_argument("--htsim", type=Path, help="htsim_uec")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each simulator, by turns")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = compare(given.ns3, given.htsim, given.rounds)
    if given.json:
        found = [{**asdict(row), "times": row.times} for row in rows]
        print(json.dumps({"weft": weft.__version__, "machine": machine(), "rows": found}, indent=1))
        return 0
    print(f"Weft {weft.__version__} on {machine()}")
    for row in rows:
        ours, theirs = (median(work.cpu_s for work in works) for works in (row.weft, row.other))
        unit = "time of a packet-hop" if row.other[0].packet_hops else "time"
        print(f"{row.peer}: {row.work}")
        ratios = ", ".join(f"{ratio:.1f}" for ratio in row.times)
        print(f"  Weft {ours:.3f} s, {row.peer} {theirs:.2f} s; ratio of the {unit} in each round {ratios}")
        if row.other[0].packet_hops:
            print(f"  packet-hops: Weft {row.weft[0].packet_hops:,}, {row.peer} {row.other[0].packet_hops:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
