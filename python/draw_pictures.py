"""Draws the pictures of README and of the documentation from runs: `python python/draw_pictures.py [NAME...]`.

Without names it draws all, in about a minute. A picture is an SVG file in `docs/pictures`; its text stays text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

import weft
from weft.sweeps.cases import run_cases
from weft_papers import demo_permutation
from weft_papers.amp.settings import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes

    from weft._weft import Window

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
EXAMPLES = ROOT / "examples"
PEERS = ROOT / "docs" / "validation" / "peers.csv"
"""Times of the same work in Weft and in other simulators, as `make bench-peers` measured them."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""The colours of Okabe and Ito, which readers with colour blindness can distinguish."""
GREY = "#777777"
SEEDS = range(1, 6)
COUNT = "transports.sender.subflows"

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "weft",
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "legend.frameon": False,
}


def failed_link() -> Figure:
    """Draws the goodput of every flow of the demo's permutation with a failed link: one path, and four subflows."""
    algorithms = ("dctcp", "amp", "xmp", "dcm")
    cases = [case for case in demo_permutation.cases(algorithms) if case.labels["links"] == demo_permutation.FAILED]
    rows = run_cases(cases, demo_permutation.measure)
    figure = Figure(figsize=(4.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for algorithm in algorithms:
        values = rows.filter(pl.col("algorithm") == algorithm)["gbps"].sort().to_list()
        label = SHOWN[algorithm].label + (", one path" if algorithm == demo_permutation.SINGLE else ", four subflows")
        colour = GREY if algorithm == demo_permutation.SINGLE else SHOWN[algorithm].colour
        axes.plot(range(1, len(values) + 1), values, color=colour, label=label, linewidth=1.8)
    slowest = dict(rows.group_by("algorithm").agg(pl.col("gbps").min()).iter_rows())
    one = slowest.pop(demo_permutation.SINGLE)
    least, most = (pick(slowest.values()) / one for pick in (min, max))
    axes.annotate("", (1, max(slowest.values())), xytext=(1, one), arrowprops={"arrowstyle": "->"})
    axes.text(7, 0.5, f"slowest flow: {least:.1f} to {most:.1f} times as fast", weight="bold")
    axes.set(xlabel="48 flows of three seeds, slowest first", ylabel="goodput (Gbps)", ylim=(0, 10.2))
    axes.set_title("A permutation after a link has failed")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.1), fontsize=8)
    return figure


def cpu_seconds() -> Figure:
    """Draws the times of `peers.csv` as bars, one panel for each peer."""
    with PEERS.open(encoding="utf-8") as file:
        peers = list(csv.DictReader(file))
    figure = Figure(figsize=(3.9, 3.2), layout="constrained")
    panels = figure.subplots(len(peers), 1)
    for panel, row in zip(panels, peers, strict=True):
        times = {"Weft": float(row["weft_cpu_s"]), row["peer"]: float(row["peer_cpu_s"])}
        panel.barh(list(times), list(times.values()), color=[COLOURS[0], GREY], height=0.6)
        for name, time in times.items():
            panel.text(time, name, f" {time:.3g} s", va="center")
        panel.set(xlim=(0, 1.25 * max(times.values())), xticks=[])
        panel.spines["bottom"].set_visible(False)
        panel.invert_yaxis()
        panel.set_title(row["work"])
    figure.suptitle("CPU seconds for the same work", x=0.02, ha="left", fontsize=11)
    return figure


def permutation() -> Figure:
    """Draws the first experiment of README: the goodput of all flows over one path and over four."""
    flows = pl.concat(
        run_example("permutation", f"{COUNT}={count}", seed=seed).select("goodput_bps", subflows=pl.lit(count))
        for count in (1, 4)
        for seed in range(1, 11)
    )
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    axes = figure.subplots()
    for count, colour in ((1, GREY), (4, COLOURS[0])):
        values = flows.filter(subflows=count)["goodput_bps"].sort() / 1e9
        label = "one path" if count == 1 else f"{count} subflows"
        axes.plot(range(1, len(values) + 1), values, color=colour, linewidth=1.8, label=label)
    axes.set(xlabel="160 flows of ten seeds, slowest first", ylabel="goodput (Gbps)", ylim=(0, 10.2))
    axes.set_title("With four subflows, flows that meet on a link use the other links as well")
    axes.legend(loc="lower right")
    return figure


def incast() -> Figure:
    """Draws the mean FCT of incasts over one path and over four subflows, by the sender of profile `linux`."""
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    axes = figure.subplots()
    for (cc, subflows), colour in zip(
        (("dctcp", 1), ("amp", 4), ("xmp", 4), ("dcm", 4)), (GREY, *COLOURS[:3]), strict=True
    ):
        means = [_mean_fct_ms(cc, subflows, count) for count in INCASTS]
        paths = "one path" if subflows == 1 else "four subflows"
        axes.plot(INCASTS, means, color=colour, marker="o", markersize=4, label=f"{cc.upper()}, {paths}")
    axes.set(xlabel="senders", ylabel="mean FCT (ms)", yscale="log", xticks=INCASTS)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title("Incast of 128 KB per sender: from 20 senders on, one path is faster")
    axes.legend(fontsize=8)
    return figure


INCASTS = (5, 10, 20, 30, 40)
"""The numbers of senders in the picture of incasts."""


def _mean_fct_ms(cc: str, subflows: int, count: int) -> float:
    """Returns the mean FCT of the flows of an incast over all seeds, in milliseconds."""
    overrides = (
        f"transports.sender={{cc='{cc}', subflows={subflows}, profile='linux'}}",
        f"traffic[0].flows={count}",
        f"topology.senders={count}",
    )
    flows = pl.concat(run_example("incast-amp", *overrides, seed=seed).select("fct_s") for seed in SEEDS)
    return float(flows["fct_s"].to_numpy().mean()) * 1e3


def one_and_four() -> Figure:
    """Draws the goodput of the slowest flow with its interval, as the first tutorial does."""
    both = weft.sweep(EXAMPLES / "permutation.toml", {COUNT: [1, 4]}, seeds=len(SEEDS))
    return both.plot.compare("min goodput", title="Goodput of the slowest flow, by the number of subflows")


def subflows() -> Figure:
    """Draws the goodput of the slowest flow over the number of subflows, as the second tutorial does."""
    return weft.sweep(EXAMPLES / "permutation.toml", {COUNT: [1, 2, 4]}, seeds=len(SEEDS)).plot.lines("min goodput")


class Gentle(weft.CongestionControl):
    """The algorithm of README and of the third tutorial."""

    echo = "dctcp"

    def on_mark(self, w: tuple[Window, ...], s: int) -> None:
        """Cuts by a fifth."""
        w[s].cwnd = w[s].ssthresh = max(0.8 * w[s].cwnd, 2.0)


def gentle() -> Figure:
    """Draws by how much that algorithm exceeds AMP, with intervals over the seeds, by the marking threshold."""
    over = {"transports.sender.cc": ["amp", Gentle], "queues.mark": ["10 packets", "20 packets", "40 packets"]}
    gain = weft.sweep(EXAMPLES / "permutation.toml", over, seeds=len(SEEDS)).compare("Gentle", "amp", "mean goodput")
    figure = Figure(figsize=(4.6, 2.8), layout="constrained")
    axes = figure.subplots()
    spread = [gain["ratio"] - gain["low"], gain["high"] - gain["ratio"]]
    axes.errorbar(gain["mark"], gain["ratio"], spread, marker="o", capsize=4, linestyle="")
    axes.axhline(1, color="grey")
    axes.set(xlabel="marking threshold", ylabel="goodput over that of AMP")
    return figure


def run_example(name: str, *overrides: str, seed: int = 1, table: str = "flows") -> pl.DataFrame:
    """Returns a table of a spec in `examples`."""
    return weft.run(weft.load(EXAMPLES / f"{name}.toml", [*overrides, f"seed={seed}"]), threads=1).table(table)


VARIANTS: dict[str, tuple[str, str, dict[str, tuple[str, ...]]]] = {
    "all-reduce": (
        "finish_s",
        "end of the rank (ms)",
        {"halving-doubling": ("traffic[0].algorithm=halving-doubling",), "ring": ()},
    ),
    "failed-link": ("goodput_bps", "goodput (Gbps)", {"one path": ("transports.sender.subflows=1",), "4 subflows": ()}),
    "flow-level": ("goodput_bps", "goodput (Gbps)", {"one path": ("transports.sender.subflows=1",), "8 subflows": ()}),
    "flow-list": ("fct_s", "FCT (ms)", {"flows of the file": ()}),
    "incast-amp": ("fct_s", "FCT (ms)", {"AMP": (), "XMP": ("transports.sender.cc=xmp",)}),
    "jobs": ("fct_s", "FCT (ms)", {"requests and blocks": ()}),
    "own-topology": (
        "goodput_bps",
        "goodput (Gbps)",
        {"one path": ("transports.sender.subflows=1",), "2 subflows": ()},
    ),
    "permutation": ("goodput_bps", "goodput (Gbps)", {"one path": ("transports.sender.subflows=1",), "4 subflows": ()}),
    "spraying": ("goodput_bps", "goodput (Gbps)", {"ECMP": ("transports.sender.paths=ecmp",), "sprayed": ()}),
    "unresponsive": (
        "goodput_bps",
        "goodput (Gbps)",
        {"source at 4 Gbps": (), "11 Gbps": ("transports.source.rate=11Gbps",)},
    ),
    "web-search": ("slowdown", "slowdown", {"as in the file": ()}),
}
"""Column, label of the axis and variants of each example that its first comment compares."""
FACTORS = {"goodput_bps": 1e-9, "fct_s": 1e3, "slowdown": 1.0, "finish_s": 1e3}
OF_RANKS = "finish_s"
"""The column of `ranks` among them; the others are of `flows`."""


def example(name: str) -> Figure:
    """Draws the distribution over flows or ranks of what the first comment of an example says to look for."""
    column, label, variants = VARIANTS[name]
    rows = "ranks" if column == OF_RANKS else "flows"
    figure = Figure(figsize=(3.2, 2.1), layout="constrained")
    axes = figure.subplots()
    for (variant, overrides), colour in zip(variants.items(), (GREY, COLOURS[0])[-len(variants) :], strict=True):
        values = (run_example(name, *overrides, table=rows)[column].drop_nulls() * FACTORS[column]).sort()
        if len(values) == 1:
            axes.bar(variant, values[0], color=colour, width=0.5)
            axes.set(ylabel=label)
            continue
        shares = [(index + 1) / len(values) for index in range(len(values))]
        step = max(1, len(values) // 200)
        axes.step(values[::step], shares[::step], where="post", color=colour, label=variant, linewidth=1.6)
    if axes.patches:
        return figure
    axes.set(xlabel=label, ylabel=f"share of {rows}", ylim=(0, 1.02))
    if column in ("goodput_bps", OF_RANKS):
        axes.set_xlim(left=0)
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=8)
    return figure


STEPS: dict[str, dict[str, tuple[str, ...]]] = {
    "training-step": {
        "as in the file": (),
        "no straggler": ("traffic[0].straggler_factor=1",),
        "gradients at the end": ("traffic[0].straggler_factor=1", "traffic[0].overlap=false"),
    },
    "chakra": {"ring": (), "halving-doubling": ("traffic[0].algorithm=halving-doubling",)},
    "layers": {"ring": (), "halving-doubling": ("traffic[0].algorithm=halving-doubling",)},
}
"""Variants of each example of a training step."""


def training_step(example: str) -> Figure:
    """Draws how long the first training step of an example takes, and how much of it computing does not hide."""
    figure = Figure(figsize=(3.2, 2.1), layout="constrained")
    axes = figure.subplots()
    for name, overrides in STEPS[example].items():
        job = run_example(example, *overrides, table="jobs").row(0, named=True)
        computed, exposed = ((job["jct_s"] - job["exposed_s"]) * 1e3, job["exposed_s"] * 1e3)
        first = not axes.patches
        axes.barh(name, computed, color=GREY, label="computing" if first else None)
        axes.barh(name, exposed, left=computed, color=COLOURS[0], label="communication" if first else None)
    axes.invert_yaxis()
    axes.set(xlabel="first step (ms)")
    figure.legend(fontsize=8, loc="outside upper center", ncols=2)
    return figure


def linux_level() -> Figure:
    """Draws the first windows of a connection of the example for a kernel, at level `packet`, which needs no root."""
    probe = 'probes=[{kind="flow", flows=[0], interval="1ms"}]'
    windows = run_example("linux-level", "level=packet", probe, table="traces").filter(pl.col("time_s") <= 0.1)
    figure = Figure(figsize=(3.2, 2.1), layout="constrained")
    axes = figure.subplots()
    for subflow, colour in enumerate(COLOURS[:2]):
        mine = windows.filter(subflow=subflow)
        axes.plot(
            mine["time_s"] * 1e3, mine["cwnd_packets"], color=colour, linewidth=1.4, label=f"subflow {subflow + 1}"
        )
    axes.set(xlabel="time (ms)", ylabel="window (packets)", ylim=(0, None))
    axes.legend(fontsize=8)
    return figure


def six_transports() -> Figure:
    """Draws one situation of the study: web search at 60 % load, with no failure."""
    names = ["dctcp", "sprayed", "lia", "xmp", "amp", "warp"]
    sweep = weft.sweep(EXAMPLES / "six-transports.toml", {"traffic[0].transport": names}, seeds=len(SEEDS))
    return sweep.plot.compare("p99 slowdown below 100KB", title="Web search, 60 % load: p99 slowdown below 100 KB")


FULL_SIZE: dict[str, tuple[str, str, str, str | None, str]] = {
    "web-search": (
        "beyond-all-schemes",
        "slowdown up to 100 KB",
        "Web search, 50 % load: p99 slowdown of short flows",
        "web search, 50 %",
        "320 hosts at 1 Gbps, load of the links to the spines, 8 subflows",
    ),
    "permutation": (
        "beyond-all-schemes",
        "goodput",
        "Permutation: mean goodput (Mbps)",
        "permutation",
        "320 hosts at 1 Gbps, 8 subflows",
    ),
    "short-flows": (
        "beyond-sprayed",
        "p99 up to 100 KB, us",
        "Web search: 99th percentile of short flows' FCT (us)",
        None,
        "128 hosts at 100 Gbps, 60 % load, each transport in switches of its own kind",
    ),
    "exchange": (
        "beyond-sprayed",
        "last flow, us",
        "Permutation: completion of the last flow (us)",
        None,
        "128 hosts at 100 Gbps, each transport in switches of its own kind",
    ),
}
"""The stored claims, the column, the title, the load and the conditions of each picture of results at full size."""
VALUE = re.compile(r"([\d.]+)(?: Mbps)?(?: \(([\d.]+) to ([\d.]+)\))?$")


def full_size(name: str) -> Figure:
    """Draws a column of the stored results of a figure at full size: means and ranges over five seeds."""
    document, column, title, load, conditions = FULL_SIZE[name]
    claims = json.loads((ROOT / "docs" / "claims" / f"{document}.json").read_text(encoding="utf-8"))["claims"]
    tables = [claim["table"] for claim in claims if column in (claim.get("table") or {"columns": ()})["columns"]]
    table = tables[0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    shown = {}
    for row in rows:
        found = VALUE.match(row[column].split("; ")[-1])
        if found is not None and load in (None, row.get("load")):
            mean = float(found[1])
            shown[row.get("scheme") or row["transport"]] = [mean, float(found[2] or mean), float(found[3] or mean)]
    figure = Figure(figsize=(5.6, 0.85 + 0.24 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for at, (mean, low, high) in enumerate(shown.values()):
        axes.plot([low, high], [at, at], color=COLOURS[0], linewidth=1.5)
        axes.plot(mean, at, "o", color=COLOURS[0])
        label = f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"
        axes.annotate(label, (high, at), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
        axes.axhline(at, color="#eeeeee", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.invert_yaxis()
    axes.margins(x=0.15)
    ratio = max(high for _, _, high in shown.values()) / min(low for _, low, _ in shown.values())
    if ratio > 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ratio < 50 else (1.0,)))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(title)
    axes.set_xlabel(f"{conditions}\nmean and range of five seeds", fontsize=8)
    return figure


KINDS: dict[str, dict[str, Any]] = {
    "uet": {"kind": "uet"},
    "ndp": {"kind": "ndp", "ndp": {"mtu": "1564B"}},
    "roce": {"kind": "roce"},
    "timely": {"kind": "roce", "roce": {"control": "patched-timely"}},
    "hpcc": {"kind": "roce", "roce": {"control": "hpcc"}},
    "swift": {"kind": "swift", "swift": {"mtu": "1564B"}},
    "constant-rate": {"kind": "constant-rate", "rate": "6Gbps"},
}
QUEUES: dict[str, dict[str, Any]] = {
    "uet": {"limit": "42 packets", "kind": {"name": "trimming", "mark_min": "9 packets", "mark_max": "35 packets"}},
    "ndp": {"limit": "8 packets", "kind": {"name": "trimming", "ratio": 10, "overflow": "return"}},
    "roce": {
        "limit": "500KB",
        "kind": {"name": "lossless", "mark_min": "5KB", "mark_max": "200KB", "mark_probability": 0.01},
    },
    "timely": {"limit": "500KB", "kind": "lossless"},
    "hpcc": {"limit": "500KB", "kind": "lossless"},
}
SINGLE_PATH = {"reno", "cubic", "dctcp", *KINDS}
END_MS = {"uet": 1.2, "ndp": 1.2, "timely": 240}
"""The time of a picture, 24 ms if it is not here."""
RATE = {"uet": "100Gbps"}
"""The rate of the bottleneck, 10 Gbps if it is not here."""


def transport(name: str) -> Figure:
    """Draws windows and the queue of one bottleneck: a second connection sends in the middle third of the run."""
    settings = KINDS.get(name) or {"cc": name, "subflows": 1 if name in SINGLE_PATH else 2}
    end_us = int(1000 * END_MS.get(name, 24))
    times = {1: {"start": f"{end_us // 3}us", "stop": f"{2 * end_us // 3}us"}}
    topology = {"kind": "many-to-one", "senders": 2, "rate": RATE.get(name, "10Gbps")}
    # Transports of network cards have links of one rate and the delays of a rack.
    topology |= {"delay": "1us"} if name in KINDS else {"delay": "20us", "sender_rate": "40Gbps"}
    sampled: dict[str, Any] = {"kind": "throughput" if name in ("ndp", "constant-rate") else "flow"}
    result = weft.run(
        {
            "name": name,
            "duration": f"{end_us}us",
            "topology": topology,
            "queues": QUEUES.get(name, {"limit": "100 packets", "mark": "20 packets"}),
            "transports": {"one": settings},
            "traffic": [
                {"kind": "bulk", "transport": "one", "from": f"h{host}", "to": "r0", **times.get(host, {})}
                for host in range(2)
            ],
            "probes": [
                sampled | {"interval": f"{end_us // 240}us"},
                {"kind": "queue", "at": ["s0->r0"], "interval": f"{end_us // 480}us"},
            ],
        },
        threads=1,
    )
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_senders(upper, result, name)
    queue = result.traces.filter(pl.col("length_packets").is_not_null())
    lower.plot(queue["time_s"] * 1e3, queue["length_packets"], color="black", linewidth=0.8)
    lower.set(xlabel="time (ms)", ylabel="queue\n(packets)", ylim=(0, None), xlim=(0, end_us / 1000))
    figure.align_ylabels()
    return figure


def _draw_senders(axes: Axes, result: weft.Result, name: str) -> None:
    """Draws the windows of subflows, or the rates of transports without a window."""
    if name in ("ndp", "constant-rate"):
        rows, column, label, factor = result.throughput, "goodput_bps", "goodput\n(Gbps)", 1e-9
    elif name in ("roce", "timely", "hpcc"):
        rows, column, label, factor = result.traces, "rate_bps", "rate\n(Gbps)", 1e-9
    else:
        rows, column, label, factor = result.traces, "cwnd_packets", "window\n(packets)", 1.0
    rows = rows.filter(pl.col(column).is_not_null())
    for flow in range(2):
        mine = rows.filter(flow=flow)
        subflows = mine["subflow"].unique().sort().to_list() if "subflow" in mine.columns else [None]
        for subflow in subflows:
            line = mine if subflow is None else mine.filter(subflow=subflow)
            name_of_line = f"connection {flow + 1}" if subflow in (None, subflows[0]) else None
            axes.plot(
                line["time_s"] * 1e3,
                line[column] * factor,
                color=COLOURS[flow],
                linewidth=1.2,
                linestyle="--" if subflow else "-",
                label=name_of_line,
            )
    axes.set(ylabel=label, ylim=(0, None))
    axes.legend(fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 0.98), borderpad=0)


def names() -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields each picture's path below the folder, without its suffix, and the function that draws it."""
    yield from {
        "failed-link": failed_link,
        "cpu-seconds": cpu_seconds,
        "permutation": permutation,
        "one-and-four": one_and_four,
        "subflows": subflows,
        "gentle": gentle,
        "incast": incast,
    }.items()
    for name in VARIANTS:
        yield f"examples/{name}", partial(example, name)
    for name in STEPS:
        yield f"examples/{name}", partial(training_step, name)
    yield "examples/linux-level", linux_level
    yield "examples/six-transports", six_transports
    for name in FULL_SIZE:
        yield f"full-size/{name}", partial(full_size, name)
    for name in algorithms():
        yield f"transports/{name}", partial(transport, name)


def algorithms() -> list[str]:
    """Returns the names of the native algorithms, of the kinds of transport after TCP, and of their controls."""
    registry = weft.registry()
    native = [entry["name"] for entry in registry["algorithms"] if ":" not in entry["name"]]
    return [*native, *(entry["name"] for entry in registry["transports"] if entry["name"] != "tcp"), "timely", "hpcc"]


def svg(name: str) -> str:
    """Draws a picture, and returns it as SVG."""
    drawn = io.StringIO()
    with mpl.rc_context(STYLE):
        dict(names())[name]().savefig(drawn, format="svg", metadata={"Date": None}, facecolor="white")
    # Matplotlib leaves blanks at the ends of lines.
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + "\n"


def main(chosen: Sequence[str]) -> None:
    """Draws pictures, all if none is chosen."""
    warnings.simplefilter("ignore", weft.ResultWarning)
    for name, _ in names():
        if not chosen or name in chosen:
            path = PICTURES / f"{name}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg(name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
