"""The text of section 3.1 about light load: VLB and Multipath TCP in VL2 and in BCube.

At very light load Multipath TCP "gives little benefit over VLB on FatTree or VL2 topologies. However on BCube,
Multipath TCP excels because a single flow can use all the host interfaces simultaneously". Figure 5's module has the
fat-tree. As there, one of 8 hosts sends one flow to another host. The sizes are not stated; here BCube has 125 hosts of
three interfaces, and VL2 180 hosts. BCube's paths are those of its own construction, and VLB draws one of them. One
flow that is alone in BCube shows the reason that the sentence gives.

The paper has this from its packet-level simulator. Here it is level "flow" with the settings of figures 1 to 3, because
at light load the paths that flows share decide, and not queues.
"""

from __future__ import annotations

import random

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.fat_tree import SHOWN
from weft_papers.mptcp_dc.fig05 import LITTLE, ONE_OF
from weft_papers.mptcp_dc.large_scale import PACKET, PAYLOAD, RATE_GBPS, VLB, bcube, long_flows, vl2
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds

SUBFLOWS = {"vlb": VLB, "multipath": 8}
BCUBE, VL2 = "BCube", "VL2"
LIGHT, ALONE = "light", "alone"
NETWORKS = {BCUBE: bcube(5, 2), VL2: vl2(6)}
QUICK_NETWORKS = {BCUBE: bcube(4, 1), VL2: vl2(4)}
QUICK = (
    f"networks of {' and '.join(str(network.hosts) for network in QUICK_NETWORKS.values())} hosts instead of "
    f"{' and '.join(str(network.hosts) for network in NETWORKS.values())}"
)
LINK_MBPS = 1e3 * RATE_GBPS * PAYLOAD / PACKET
"""Goodput of a link that is full of data."""
EXCELS = 1.5
"""Ratio to VLB's goodput from which Multipath TCP excels."""
ALL = 0.9
"""Share of all interfaces' goodput from which a flow uses all of them."""


def cases(scale: Scale) -> list[Case]:
    """Returns light load in both networks and one flow alone in BCube, by VLB and by Multipath TCP."""
    return [
        _case(network, load, name, seed, quick=scale.quick)
        for network, load in ((BCUBE, LIGHT), (VL2, LIGHT), (BCUBE, ALONE))
        for name in SUBFLOWS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its goodput in Mbps."""
    return result.flows.select(rate_mbps=pl.col("goodput_bps") * 1e-6)


def plot(rows: pl.DataFrame) -> Plot:
    """Mean goodput of a flow at light load, and the range of the seeds."""
    plot = Plot(figsize=(6, 3.6), layout="constrained")
    axes = plot.subplots()
    groups = {"VL2, light load": (VL2, LIGHT), "BCube, light load": (BCUBE, LIGHT), "BCube, one flow": (BCUBE, ALONE)}
    for index, name in enumerate(SUBFLOWS):
        means, reach = means_and_ranges(_mean(rows, network, load, name) for network, load in groups.values())
        at = [place + 0.36 * (index - 0.5) for place in range(len(groups))]
        shown = SHOWN[name]
        axes.bar(at, means, 0.36, yerr=reach, capsize=3, color=shown.colour, label=shown.label)
    axes.axhline(LINK_MBPS, color="#999999", linestyle=":", linewidth=1)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_ylabel("mean goodput of a flow (Mbps)")
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
    axes.set_title("Light load (dotted: one link)")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.1, the paragraph about load levels, about VL2 and BCube."""
    means = {
        (network, load): {name: _mean(rows, network, load, name) for name in SUBFLOWS}
        for network, load in ((BCUBE, LIGHT), (VL2, LIGHT), (BCUBE, ALONE))
    }
    ratio = {key: by["multipath"] / by["vlb"] for key, by in means.items()}
    interfaces = int(rows.filter(network=BCUBE)["interfaces"].item(0))
    alone = _percent(means[BCUBE, ALONE]["multipath"], interfaces * LINK_MBPS)
    return [
        Claim(
            "At very light load Multipath TCP excels on BCube",
            "excels",
            f"goodput {ratio[BCUBE, LIGHT]} times VLB's",
            ratio[BCUBE, LIGHT].mean >= EXCELS,
            f"one of {ONE_OF} hosts sends one flow; holds from {EXCELS} times on; per flow "
            f"{_both(means[BCUBE, LIGHT])}",
        ),
        Claim(
            "On BCube a single flow can use all the host's interfaces simultaneously",
            "all",
            f"{alone} of {interfaces} links",
            alone.mean >= 100 * ALL,
            f"one flow alone in the network, between hosts drawn at random; holds from {ALL:.0%} of the goodput of "
            f"{interfaces} links on; {_both(means[BCUBE, ALONE])}",
        ),
        Claim(
            "At very light load Multipath TCP gives little benefit over VLB in VL2",
            "little benefit",
            f"goodput {ratio[VL2, LIGHT]} times VLB's",
            ratio[VL2, LIGHT].mean <= LITTLE,
            f"one of {ONE_OF} hosts sends one flow; holds up to {LITTLE} times; per flow {_both(means[VL2, LIGHT])}",
        ),
    ]


def _case(network: str, load: str, name: str, seed: int, *, quick: bool) -> Case:
    of_size = (QUICK_NETWORKS if quick else NETWORKS)[network]
    senders = 1 if load == ALONE else of_size.hosts // ONE_OF
    drawn = random.Random(seed).sample(range(of_size.hosts), 2 * senders)  # noqa: S311 - an experiment, not a secret
    pairs = [(f"h{a}", f"h{b}") for a, b in zip(drawn[::2], drawn[1::2], strict=True)]
    labels: dict[str, str | int | float] = {
        "network": network,
        "load": load,
        "interfaces": of_size.topology["k"] + 1 if network == BCUBE else 1,
        "transport": name,
    }
    return Case(labels, long_flows(of_size, SUBFLOWS[name], pairs), seed)


def _mean(rows: pl.DataFrame, network: str, load: str, name: str) -> SeedSummary:
    here = rows.filter(network=network, load=load, transport=name)
    return over_seeds(here, pl.col("rate_mbps").mean(), "Mbps")


def _percent(rates: SeedSummary, of: float) -> SeedSummary:
    return SeedSummary(tuple(100 * rate / of for rate in rates.values), "%")


def _both(means: dict[str, SeedSummary]) -> str:
    return listed((SHOWN[name].label, means[name]) for name in SUBFLOWS)
