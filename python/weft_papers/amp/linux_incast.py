"""Figure 8's incast (section 5.2) on this machine's kernel: k flows of 128 KB, 200 Mbit/s instead of 10 Gbps.

Multipath flows open their additional subflows at once, as the paper's do, or after 256 KB (`join_after`), which is
weftd's default. In the second case flows of 128 KB keep to one subflow. The packet level runs the same specs.

A flow's bytes take 50 times as long as at 10 Gbps, so the 50 us between two flows become 2.5 ms. With 50 us, all k
flows would open within a hundredth of the time that their bytes take. The result would then mostly show which SYNs
find the queue full, and the process that sends the traffic would be later than the gap. Delayed joins are tested with
both gaps.

`dctcp_cut` is not the paper's. With it, DCTCP's alpha / 2 instead of 1 / beta cuts AMP's only subflow.

Min RTO (200 ms), initial RTO (1 s) and initial window (10 packets per subflow) are the kernel's. Rounds start 0.3 to
0.6 s apart, at least three times the duration of their bytes. The run is long enough for a lost SYN to be sent again.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import FCT_MEAN, FCT_SO_FAR
from weft_papers.amp.linux_settings import LEVELS, TRANSPORTS, experiment
from weft_papers.amp.settings import SHOWN
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, over_seeds

FLOWS = (5, 10, 20, 30, 40)
"""Values of k, the number of flows per round."""
MULTIPATH = ("amp", "xmp", "dcm")
WITH_DCTCP_CUT = "amp-dctcp-cut"
JOINS = {"at once": "0B", "delayed": "256KB"}
"""Bytes after which additional subflows join."""
SIZE = "128KB"
GAP_US = 2500
"""The gap between flows: the paper's 50 us, scaled by the rates."""
PAPER_GAP_US = 50
ROUNDS_MS = 1500
"""Time within which all rounds start."""
MIN_MS, MS_PER_FLOW = 300, 15
"""Interval between two rounds: the longer of the first and k times the second.

This product is three times the duration of the round's bytes.
"""
AFTER_MS = 1200
"""Time after the last round, enough for one lost SYN and a timeout."""
QUICK_FLOWS = (5, 40)
QUICK_ROUNDS_MS = 600
QUICK = f"AMP and DCTCP on Linux only, k = {QUICK_FLOWS[0]} and {QUICK_FLOWS[1]}, {QUICK_ROUNDS_MS} ms of rounds"
INITIAL_RTO_MS = 1000
NO_WORSE = 1.05
"""Ratio of mean FCT to DCTCP's up to which delayed joins cost nothing."""
LEVELS_ALIKE = 0.03
"""Relative distance up to which DCTCP's mean FCTs at the two levels count as equal."""
ALIKE = 1.25
"""Ratio up to which mean FCTs count as equal, as for figure 8."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm and number of flows, with joins at once and, where joins exist, delayed."""
    if scale.quick:
        cells = [("linux", GAP_US, "amp", joins) for joins in JOINS] + [("linux", GAP_US, "dctcp", "at once")]
    else:
        cells = [(level, GAP_US, name, "at once") for level in LEVELS for name in (*MULTIPATH, "dctcp")]
        cells += [(level, GAP_US, name, "delayed") for level in LEVELS for name in (*MULTIPATH, WITH_DCTCP_CUT)]
        cells += [("linux", PAPER_GAP_US, name, "delayed") for name in MULTIPATH]
        cells += [("linux", PAPER_GAP_US, "dctcp", "at once")]
    return [
        Case(
            {"level": level, "gap_us": gap_us, "algorithm": algorithm, "joins": joins, "k": k},
            _incast(level, gap_us, algorithm, joins, k, QUICK_ROUNDS_MS if scale.quick else ROUNDS_MS),
            seed,
        )
        for level, gap_us, algorithm, joins in cells
        for k in (QUICK_FLOWS if scale.quick else FLOWS)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its round, FCT in ms at its receiver, timeouts and suppression episodes.

    The FCT of a flow that did not end is null, and `unfinished_ms` is the time that it had taken.
    """
    return result.flows.select(
        "round",
        fct_ms=1e3 * pl.col("fct_s"),
        unfinished_ms=1e3 * pl.col("unfinished_s"),
        timeouts=pl.col("timeouts"),
        suppressions=pl.col("suppressions"),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT over k, with joins at once, delayed, and delayed with the paper's gap; packet level dashed."""
    shown = [(joins, gap_us) for gap_us in (GAP_US, PAPER_GAP_US) for joins in JOINS]
    shown = [
        entry
        for entry in shown
        if not rows.filter(joins=entry[0], gap_us=entry[1]).filter(pl.col("algorithm") != "dctcp").is_empty()
    ]
    plot = Plot(figsize=(3.8 * len(shown), 3.8), layout="constrained")
    panels = plot.subplots(1, len(shown), sharey=True)
    for panel, (joins, gap_us) in zip(panels, shown, strict=True):
        runs = rows.filter(gap_us=gap_us)
        _plot_panel(panel, runs.filter((pl.col("joins") == joins) | (pl.col("algorithm") == "dctcp")))
        panel.set(title=f"joins {joins}, {gap_us / 1000:g} ms apart", xlabel="flows in a round, k")
    panels[0].set_ylabel("flow completion time (ms)")
    panels[0].legend(frameon=False)
    plot.suptitle("Figure 8 on Linux, 200 Mbit/s, 128 KB (dashed: packet level)")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.2, "Robustness against the TCP incast", and those about delayed joins."""
    scaled, unscaled = rows.filter(gap_us=GAP_US), rows.filter(gap_us=PAPER_GAP_US)
    linux, packet = scaled.filter(level="linux"), scaled.filter(level="packet")
    others = [name for name in MULTIPATH[1:] if name in linux["algorithm"]]
    claims = [_delayed(linux, ["amp"])]
    if WITH_DCTCP_CUT in linux["algorithm"]:
        claims += [_delayed(linux, [WITH_DCTCP_CUT])]
    if others:
        claims += [_delayed(linux, others)]
    if not unscaled.is_empty():
        claims += [_delayed(unscaled, list(MULTIPATH), f", flows {PAPER_GAP_US} us apart")]
    claims += [_like_dctcp(linux, packet)]
    if others:
        claims += [_slower(linux, packet, others)]
    if not packet.is_empty():
        claims += [_levels(linux, packet)]
    return claims


def _incast(level: str, gap_us: int, algorithm: str, joins: str, k: int, rounds_ms: int) -> Experiment:
    every_ms = max(MIN_MS, MS_PER_FLOW * k)
    return experiment(
        f"incast-{algorithm}-{k}",
        level=level,
        duration=f"{rounds_ms + AFTER_MS}ms",
        topology={"kind": "many-to-one", "senders": k},
        transports={algorithm: TRANSPORTS[algorithm] | {"join_after": JOINS[joins]}},
        traffic=[
            {
                "kind": "incast",
                "transport": algorithm,
                "flows": k,
                "size": SIZE,
                "gap": f"{gap_us}us",
                "rounds": rounds_ms // every_ms + 1,
                "interval": f"{every_ms}ms",
            }
        ],
    )


def _delayed(linux: pl.DataFrame, names: list[str], when: str = "") -> Claim:
    ratios = {name: _ratios(linux, name, "delayed") for name in names}
    worst = max(ratio.mean for by_k in ratios.values() for ratio in by_k.values())
    return Claim(
        f"Delayed joins{when}: incast costs {_shown(names)} no more than DCTCP (not the paper's claim)",
        f"at most {NO_WORSE} times",
        _table(ratios),
        worst <= NO_WORSE,
        f"mean FCT over DCTCP's, mean of the seeds; holds when it is at most {NO_WORSE} at every k. "
        f"{_waited(linux, names, 'delayed')}",
    )


def _like_dctcp(linux: pl.DataFrame, packet: pl.DataFrame) -> Claim:
    ratios = {k: ratio for k, ratio in _ratios(linux, "amp", "at once").items() if k <= 30}
    return Claim(
        "Joins at once: AMP is as good as DCTCP up to 30 flows",
        "as good",
        _table({"amp": ratios}),
        all(ratio.mean <= ALIKE for ratio in ratios.values()),
        f"mean FCT over DCTCP's; holds when it is at most {ALIKE} at every k. {_waited(linux, ['amp'], 'at once')}"
        f"{_compared(packet, ['amp'])}",
    )


def _slower(linux: pl.DataFrame, packet: pl.DataFrame, names: list[str]) -> Claim:
    ratios = {name: _ratios(linux, name, "at once", to="amp") for name in names}
    values = [ratio.mean for by_k in ratios.values() for ratio in by_k.values()]
    far = sum(value >= 10 for value in values)
    return Claim(
        "Joins at once: in most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM",
        "10 to 100 times",
        _table(ratios),
        2 * far > len(values),
        f"mean FCT over AMP's; holds when more than half of the cells are 10 times apart or more; {far} of "
        f"{len(values)} are. At 200 Mbit/s a round's bytes take 5 k ms, so that a min RTO of 200 ms is not an order of "
        "magnitude but with few flows. Over DCTCP's: "
        f"{_table({name: _ratios(linux, name, 'at once') for name in names})}. "
        f"{_waited(linux, names, 'at once')}{_compared(packet, names)}",
    )


def _levels(linux: pl.DataFrame, packet: pl.DataFrame) -> Claim:
    def ratios(algorithm: str, joins: str) -> dict[int, SeedSummary]:
        here, there = (rows.filter(algorithm=algorithm, joins=joins) for rows in (linux, packet))
        return {
            k: over_seeds(here.filter(k=k), FCT_MEAN) / over_seeds(there.filter(k=k), FCT_MEAN)
            for k in here["k"].unique().sort()
        }

    dctcp = ratios("dctcp", "at once")
    others = "; ".join(f"joins {joins}: {_table({name: ratios(name, joins) for name in MULTIPATH})}" for joins in JOINS)
    return Claim(
        "The packet level says the same as the kernel of DCTCP (not the paper's claim)",
        "the same",
        _table({"dctcp": dctcp}),
        all(ratio.near(1, LEVELS_ALIKE) for ratio in dctcp.values()),
        f"mean FCT on Linux over that at the packet level; holds within {LEVELS_ALIKE:.0%} of 1 at every k. {others}",
    )


def _ratios(rows: pl.DataFrame, algorithm: str, joins: str, to: str = "dctcp") -> dict[int, SeedSummary]:
    """Returns the mean FCT over that of `to`, which opens its subflows at once, by k."""
    ours, theirs = rows.filter(algorithm=algorithm, joins=joins), rows.filter(algorithm=to, joins="at once")
    return {
        k: over_seeds(ours.filter(k=k), FCT_MEAN) / over_seeds(theirs.filter(k=k), FCT_MEAN)
        for k in ours["k"].unique().sort()
    }


def _table(ratios: dict[str, dict[int, SeedSummary]]) -> str:
    """Formats ratios, as in "AMP k = 5: 0.98 (0.95 to 1.01), k = 10: 1.02 (0.99 to 1.04)"."""
    return "; ".join(
        f"{SHOWN[name].label} {', '.join(f'k = {k}: {ratio}' for k, ratio in by_k.items())}"
        for name, by_k in ratios.items()
    )


def _waited(rows: pl.DataFrame, names: list[str], joins: str) -> str:
    """Formats the shares of flows with a timeout, with an initial RTO as after a lost SYN, and with suppression."""
    here = {name: rows.filter(algorithm=name, joins=joins) for name in names}
    here["dctcp"] = rows.filter(algorithm="dctcp")
    return "Of the flows of all k " + ", ".join(
        f"of {SHOWN[name].label} {digits(_percent(flows, pl.col('timeouts') > 0))} % had a timeout, "
        f"{digits(_percent(flows, FCT_SO_FAR >= INITIAL_RTO_MS))} % took the initial RTO of a second or longer, "
        f"{digits(_percent(flows, pl.col('fct_ms').is_null()))} % had not ended when the run did, "
        f"{digits(_percent(flows, pl.col('suppressions') > 0))} % were suppressed"
        for name, flows in here.items()
    )


def _compared(packet: pl.DataFrame, names: list[str]) -> str:
    if packet.is_empty():
        return ""
    ratios = {name: _ratios(packet, name, "at once") for name in names}
    return f"; packet level, over DCTCP's: {_table(ratios)}. {_waited(packet, names, 'at once')}"


def _percent(rows: pl.DataFrame, those: pl.Expr) -> float:
    return 100 * float(rows.select(those.mean()).item())


def _shown(names: list[str]) -> str:
    return " and ".join(SHOWN[name].label for name in names)


def _plot_panel(panel: Axes, rows: pl.DataFrame) -> None:
    for (level, algorithm), cells in rows.group_by("level", "algorithm", maintain_order=True):
        shown = SHOWN[str(algorithm)]
        means = cells.group_by("k").agg(FCT_MEAN).sort("k")
        line, label, marker = ("-", shown.label, shown.marker) if level == "linux" else ("--", None, None)
        k, fct_ms = means["k"], means["fct_ms"]
        panel.plot(k, fct_ms, line, label=label, color=shown.colour, marker=marker, linewidth=1)
    panel.set_yscale("log")
    panel.grid(visible=True, which="major", alpha=0.3)
