"""Statements of sections 3.2, 4 and 6 that no figure of the paper shows.

Section 6 says that MPTCP and MMPTCP fail under incast and under the syndrome as well. Both are judged as their papers
have them, LIA without ECN, with the traffic of figures 2 and 8, of figure 4(a), and of figure 10(b). MMPTCP scatters
packets and so needs several paths. The senders are therefore in one rack, the receiver in another, and 8 spines
connect them; the receiver's link is the bottleneck. With the 2 us of section 5 a BDP is 18 packets there. Footnote 3
says that TCP without ECN does not coexist with DCTCP at all. So both are also shown with the ECN of section 4.1's
"MPTCP (beta = 4)".

Section 3.2 says that under the syndrome DCTCP flows have "higher queuing delay than they should". Here they should
have that of a bottleneck on which each multipath flow is a DCTCP flow. The delay is the mean length of the queue times
the time to send a full packet.

Section 4.2 says that AMP's increase needs no RTTs. AMP without SSR differs from "MPTCP (beta = 4)" and from XMP only
in the increase: theirs are equations (1) and (3). They are compared in the fat-tree of figure 13, where half of
the hosts send long flows to each other and each host opens 256 short DCTCP flows per second.

Section 4.1 also says that it "can take too long" to deactivate subflows one after the other. AMP deactivates all at
once and has no option for the other, so that Weft cannot compare the two.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp import incast
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.fat_tree import PORTS, fat_tree
from weft_papers.amp.fig13 import SHORT_FLOWS
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import (
    BY_SENDER,
    DELAY_US,
    LIMIT,
    PAPER_FCT_MS,
    RATE,
    RATE_BPS,
    SHOWN,
    STATED_DELAY_US,
    K,
    transport,
    unfinished_ms,
)
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

INCAST, RACKS, SYNDROME, FABRIC, FULL = "incast", "racks", "syndrome", "fabric", "full"
WITHOUT_ECN = ("mptcp-without-ecn", "mmptcp-without-ecn")
WITH_ECN = ("mptcp", "mmptcp")
INCAST_SCHEMES = ("dctcp", "amp", *WITHOUT_ECN, *WITH_ECN)
ECN_SCHEMES = ("xmp", "dcm")
WITHOUT_SSR = "amp-without-suppression"
BY_RTT = ("mptcp", "xmp")
"""Algorithms with AMP's cut whose increase depends on RTTs, by equations (1) and (3)."""
INCREASES = {WITHOUT_SSR: "1 / w_total", "mptcp": "equation (1)", "xmp": "equation (3)"}
SIZES_KB = (128, 1024)
CELLS = ((1, 8), (4, 4))
"""Multipath flows and DCTCP flows under the syndrome: those of figures 4(a) and 10(b)."""
SENDERS, SPINES = max(incast.FLOWS), 8
RECEIVER = f"h{SENDERS}"
CROWD = 20
"""DCTCP flows alone whose windows are all at their floor: more than (BDP + K) / cwnd_min, which is 14.5 here."""
SECONDS, FABRIC_SECONDS, FULL_SECONDS = 1.0, 0.05, 0.02
QUICK_SECONDS, QUICK_FABRIC_SECONDS, QUICK_FULL_SECONDS = 0.1, 0.03, 0.02
QUICK_PORTS = 4
QUICK = (
    f"5 rounds of incast instead of 20, {SIZES_KB[0]} KB only, links of 5 us only, {QUICK_SECONDS} s of the syndrome "
    f"instead of {SECONDS:.0f} s, a fat-tree of {QUICK_PORTS**3 // 4} hosts instead of {PORTS**3 // 4}"
)
FULL_PACKET = 1462
"""Bytes on the wire of a full packet."""
PACKET_US = 8e6 * FULL_PACKET / RATE_BPS
FAILS = 10
"""Ratio to DCTCP's mean FCT from which a scheme fails: figure 2's "1-2 orders of magnitude"."""
MOST = 0.75
"""Share of the cells from which AMP is better in most of them."""
UNFAIR = 2
"""Ratio to a DCTCP flow's goodput from which there is the syndrome: its "2-5 times"."""
HIGHER = 1.1
"""Ratio from which a delay counts as higher."""
FAIR = 0.95
"""Jain's index from which there is no unfairness."""
PENALTY = 0.05
"""Part by which goodput may be lower, or an FCT longer, without being a penalty."""
COST, COST_TOLERANCE = 10, 5
"""Percent of goodput that two subflows cost, and its tolerance in percentage points."""
DELAYS_US = (DELAY_US, STATED_DELAY_US)


def cases(scale: Scale) -> list[Case]:
    """Returns incasts, coexistence with DCTCP flows, and long flows in a fat-tree."""
    seeds = range(1, scale.seeds + 1)
    delays_us = DELAYS_US[:1] if scale.quick else DELAYS_US
    return [
        *_incasts(scale),
        *(
            _case(RACKS, STATED_DELAY_US, 0, m, n, name, _racks_syndrome(name, m, n, quick=scale.quick), seed)
            for m, n in CELLS
            for name in ("amp", *WITHOUT_ECN, *WITH_ECN)
            for seed in seeds
        ),
        *(
            _case(SYNDROME, delay_us, 0, m, n, name, _syndrome(name, m, n, delay_us, quick=scale.quick), seed)
            for delay_us in delays_us
            for m, n in CELLS
            for name in ("dctcp", *ECN_SCHEMES)
            for seed in seeds
        ),
        *(
            _case(
                SYNDROME, delay_us, 0, 0, CROWD, "dctcp", _syndrome("dctcp", 0, CROWD, delay_us, quick=scale.quick), s
            )
            for delay_us in delays_us
            for s in seeds
        ),
        *(
            _case(FABRIC, STATED_DELAY_US, 0, 4, 0, name, _fabric(name, seed, quick=scale.quick), seed)
            for name in ("amp", WITHOUT_SSR, *BY_RTT)
            for seed in seeds
        ),
        *(
            _case(FULL, STATED_DELAY_US, 0, r, 0, "xmp", _full(r, quick=scale.quick), seed)
            for r in (2, 4)
            for seed in seeds
        ),
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow with its transport, and the mean and the 5th percentile of a probed queue's length."""
    mean, low = None, None
    if len(result.queues):
        lengths = stats.queue_lengths(result.queues)
        mean = lengths.select((pl.col("packets") * pl.col("seconds")).sum() / pl.col("seconds").sum()).item()
        steps = stats.cdf(lengths, "packets", weight="seconds")
        low = float(steps.filter(pl.col("fraction") >= 0.05)["value"].min())  # type: ignore[arg-type]
    rows = result.flows.select(
        of="transport",
        fct_ms=PAPER_FCT_MS,
        unfinished_ms=unfinished_ms(result.manifest["end_s"]),
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        queue=pl.lit(mean, pl.Float64),
        low=pl.lit(low, pl.Float64),
    )
    # A short flow that was to open after the end of the run has neither FCT nor goodput.
    return rows.filter(pl.any_horizontal(pl.col("fct_ms", "unfinished_ms", "goodput_gbps").is_not_null()))


def plot(rows: pl.DataFrame) -> Plot:
    """Incast of 128 KB flows: mean FCT over k; and the queueing delay of DCTCP flows under the syndrome."""
    plot = Plot(figsize=(9, 3.8), layout="constrained")
    left, right = plot.subplots(1, 2)
    for name in INCAST_SCHEMES:
        shown, line = SHOWN[name], "--" if name in WITHOUT_ECN else "-"
        means = [_fct(rows, SIZES_KB[0], k, name).mean for k in incast.FLOWS]
        left.plot(incast.FLOWS, means, line, marker=shown.marker, color=shown.colour, label=shown.label, linewidth=1)
    left.set(yscale="log", xticks=incast.FLOWS, xlabel="flows in a round, k", ylabel="mean FCT (ms)")
    left.set_title(f"incast of {SIZES_KB[0]} KB flows between racks")
    left.legend(frameon=False, fontsize="small")
    names = ("dctcp", *ECN_SCHEMES)
    for index, name in enumerate(names):
        delays = [_queue_us(rows, DELAY_US, m, n, name).mean for m, n in CELLS]
        at = [cell + 0.25 * (index - 1) for cell in range(len(CELLS))]
        right.bar(
            at, delays, 0.25, color=SHOWN[name].colour, label="DCTCP instead" if name == "dctcp" else SHOWN[name].label
        )
    right.set_xticks(range(len(CELLS)), [f"{n} DCTCP flows,\n{m} multipath" for m, n in CELLS])
    right.set(ylabel="queueing delay (us)", title=f"one bottleneck, links of {DELAY_US} us")
    right.legend(frameon=False, fontsize="small")
    for axes in (left, right):
        axes.grid(visible=True, axis="y", alpha=0.3)
    plot.suptitle("Statements of AMP's text without a figure")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of sections 6, 3.2 and 4.2, in that order."""
    judged = _delays(rows, DELAY_US)
    stated = _delays(rows, STATED_DELAY_US) if STATED_DELAY_US in set(_of(rows, SYNDROME)["delay_us"]) else []
    return [
        *_related(rows),
        _with_ecn(rows),
        *judged,
        *with_stated_delay(judged, stated),
        _agnostic(rows),
        _two_subflows(rows),
    ]


def _related(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 6 about MPTCP and MMPTCP."""
    cells = _incast_cells(rows)
    ratios = {name: _ratios(rows, name) for name in ("amp", *WITHOUT_ECN)}
    failed = {name: sum(ratio >= FAILS for ratio in ratios[name]) for name in WITHOUT_ECN}
    better = {name: sum(a < b for a, b in zip(ratios["amp"], ratios[name], strict=True)) for name in WITHOUT_ECN}
    unfair = {name: _unfairness(rows, name) for name in ("amp", *WITHOUT_ECN)}
    return [
        Claim(
            "MPTCP and MMPTCP fail to handle TCP incast",
            "fail",
            "; ".join(f"{SHOWN[name].label} {_extent(ratios[name])} times DCTCP's mean FCT" for name in WITHOUT_ECN),
            all(2 * count >= len(cells) for count in failed.values()),
            f"holds when the mean FCT of each is {FAILS} times DCTCP's or more in at least half of the {len(cells)} "
            f"cells; it is in {', '.join(f'{count} ({SHOWN[name].label})' for name, count in failed.items())}; "
            f"{BY_SENDER}. MMPTCP is one window of LIA up to 100 kB",
            table=_table(rows),
        ),
        Claim(
            "AMP handles TCP incast better than MPTCP and MMPTCP",
            "better",
            ", ".join(f"{n} of {len(cells)} cells ({SHOWN[name].label})" for name, n in better.items()),
            all(count >= MOST * len(cells) for count in better.values()),
            f"cells in which AMP's mean FCT is lower; holds from {MOST:.0%} of them on for both; AMP's is "
            f"{_extent(ratios['amp'])} times DCTCP's",
        ),
        Claim(
            "MPTCP and MMPTCP fail to handle the minimum window syndrome",
            "fail",
            _by_cell(unfair, WITHOUT_ECN),
            all(ratio.mean >= UNFAIR for name in WITHOUT_ECN for ratio in unfair[name]),
            f"goodput of a multipath flow over that of a DCTCP flow, {_cell_words()}; holds when it is at least "
            f"{UNFAIR} for both in both. They do not react to marks, which alone is unfair (footnote 3)",
        ),
        Claim(
            "AMP handles the minimum window syndrome better than MPTCP and MMPTCP",
            "better",
            _by_cell(unfair, unfair),
            all(
                abs(amp.mean - 1) < abs(other.mean - 1)
                for name in WITHOUT_ECN
                for amp, other in zip(unfair["amp"], unfair[name], strict=True)
            ),
            f"goodput of a multipath flow over that of a DCTCP flow, {_cell_words()}; holds when AMP's is nearer to 1 "
            "than those of both in both",
        ),
    ]


def _delays(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    """Returns the claims of section 3.2 about queues."""
    delays = {
        (m, n): {name: _queue_us(rows, delay_us, m, n, name) for name in ("dctcp", *ECN_SCHEMES)} for m, n in CELLS
    }
    crowd = _of(rows, SYNDROME).filter(delay_us=delay_us, k=0)
    low = over_seeds(crowd, pl.col("low").first(), "packets")
    index = over_seeds(crowd, stats.jain("goodput_gbps"))
    return [
        Claim(
            "Under the syndrome DCTCP flows have a higher queuing delay than they should",
            "higher",
            "; ".join(
                f"{n} DCTCP flows, {m} multipath: {listed((SHOWN[name].label, delay) for name, delay in by.items())}"
                for (m, n), by in delays.items()
            ),
            all(by[name].mean >= HIGHER * by["dctcp"].mean for by in delays.values() for name in ECN_SCHEMES),
            "mean delay in the bottleneck's queue; for DCTCP each multipath flow is replaced by a DCTCP flow; holds "
            f"when with XMP and with DCM it is at least {HIGHER} times that in both cells. A queue of K = {K} packets "
            f"delays by {digits(K * PACKET_US)} us",
        ),
        Claim(
            "Many single-path flows alone inflate the queue persistently, without unfairness across flows",
            "inflation, no unfairness",
            f"queue of {low} or more for 95 % of the time, Jain's index {index}",
            low.mean > K and index.mean >= FAIR,
            f"{CROWD} DCTCP flows, more than (BDP + K) / cwnd_min; holds when the 5th percentile of the queue's length "
            f"is above K = {K} and Jain's index at least {FAIR}",
        ),
    ]


def _with_ecn(rows: pl.DataFrame) -> Claim:
    """Returns the claims of section 6 with the ECN of section 4.1, without a verdict."""
    ratios = {name: _extent(_ratios(rows, name)) for name in WITH_ECN}
    unfair = {name: _unfairness(rows, name) for name in WITH_ECN}
    return Claim(
        "MPTCP and MMPTCP with a constant cut at marks: incast and minimum window syndrome",
        "fail",
        "; ".join(f"{SHOWN[name].label} {ratios[name]} times DCTCP's mean FCT" for name in WITH_ECN)
        + f"; goodput {_by_cell(unfair, WITH_ECN)} times a DCTCP flow's",
        None,
        f"marks cut a quarter, as in section 4.1; {_cell_words()}",
    )


def _agnostic(rows: pl.DataFrame) -> Claim:
    compared = (WITHOUT_SSR, *BY_RTT)
    names = (*compared, "amp")
    long = {name: over_seeds(_long(rows, name), pl.col("goodput_gbps").mean(), "Gbps") for name in names}
    short = {name: over_seeds(_short(rows, name), incast.FCT_MEAN, "ms") for name in names}
    least = {name: over_seeds(_long(rows, name), pl.col("goodput_gbps").quantile(0.1), "Gbps") for name in names}
    return Claim(
        "AMP's RTT-agnostic increase comes without any performance penalty",
        "none",
        f"long flows {listed((INCREASES[name], long[name]) for name in compared)}; short flows "
        f"{listed((INCREASES[name], short[name]) for name in compared)}",
        all(
            long[WITHOUT_SSR].mean >= (1 - PENALTY) * long[name].mean
            and short[WITHOUT_SSR].mean <= (1 + PENALTY) * short[name].mean
            for name in BY_RTT
        ),
        f"mean goodput of long flows and mean FCT of short DCTCP flows; holds when with AMP's increase goodput is at "
        f"most {PENALTY:.0%} below and FCT at most {PENALTY:.0%} above those with each of the others, all with AMP's "
        "cut and without SSR; 10th percentile of goodput "
        f"{listed((INCREASES[name], least[name]) for name in compared)}; "
        f"AMP with SSR has {long['amp']} and {short['amp']}",
    )


def _two_subflows(rows: pl.DataFrame) -> Claim:
    goodput = {r: over_seeds(_of(rows, FULL).filter(k=r), pl.col("goodput_gbps").mean(), "Gbps") for r in (2, 4)}
    cost = SeedSummary(tuple(100 * (1 - ratio) for ratio in (goodput[2] / goodput[4]).values), "%")
    return Claim(
        "2 subflows cost about 10 % of the goodput of 4",
        f"about {COST} %",
        str(cost),
        abs(cost.mean - COST) <= COST_TOLERANCE,
        f"XMP along a permutation of all hosts of the fat-tree; holds within {COST_TOLERANCE} percentage points; 2 "
        f"subflows {goodput[2]}, 4 subflows {goodput[4]}",
    )


def _incasts(scale: Scale) -> list[Case]:
    rounds = incast.QUICK_ROUNDS if scale.quick else incast.ROUNDS
    return [
        _case(INCAST, STATED_DELAY_US, size_kb, k, 0, name, _incast(name, k, size_kb, rounds), seed)
        for size_kb in (SIZES_KB[:1] if scale.quick else SIZES_KB)
        for name in INCAST_SCHEMES
        for k in incast.FLOWS
        for seed in range(1, scale.seeds + 1)
    ]


def _case(
    setting: str, delay_us: int, size_kb: int, k: int, dctcp_flows: int, name: str, experiment: Experiment, seed: int
) -> Case:
    labels: dict[str, str | int | float] = {
        "setting": setting,
        "delay_us": delay_us,
        "size_kb": size_kb,
        "k": k,
        "dctcp_flows": dctcp_flows,
        "algorithm": name,
    }
    return Case(labels, experiment, seed)


def _racks(name: str, duration: str, traffic: Sequence[Mapping[str, Any]], *names: str) -> Experiment:
    """Returns a rack of senders, whose spines lead to the rack of the receiver."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": SPINES, "hosts_per_leaf": SENDERS}
    return Experiment.model_validate(
        {
            "name": name,
            "duration": duration,
            "topology": {**topology, "rate": RATE, "delay": f"{STATED_DELAY_US}us"},
            "queues": {"limit": LIMIT, "mark": f"{K} packets"},
            "transports": {name: transport(name) for name in names},
            "traffic": traffic,
        }
    )


def _incast(name: str, k: int, size_kb: int, rounds: int) -> Experiment:
    """Returns the rounds of `incast` between two racks."""
    traffic = {
        "kind": "incast",
        "transport": name,
        "flows": k,
        "from": f"0..{k}",
        "to": RECEIVER,
        "size": f"{size_kb}KiB",
        "gap": f"{incast.GAP_US}us",
        "rounds": rounds,
        "interval": f"{incast.INTERVAL_S}s",
    }
    duration = f"{(rounds - 1) * incast.INTERVAL_S + incast.SILENCE_S}s"
    return _racks(f"racks-{name}-{k}x{size_kb}KiB", duration, [traffic], name)


def _racks_syndrome(name: str, m: int, n: int, *, quick: bool) -> Experiment:
    """Returns m flows of the algorithm with n DCTCP flows between two racks."""
    traffic = [
        {"kind": "bulk", "transport": name, "from": f"0..{m}", "to": RECEIVER},
        {"kind": "bulk", "transport": "dctcp", "from": f"{m}..{m + n}", "to": RECEIVER},
    ]
    return _racks(f"racks-{m}-{name}-{n}-dctcp", f"{QUICK_SECONDS if quick else SECONDS}s", traffic, name, "dctcp")


def _syndrome(name: str, m: int, n: int, delay_us: int, *, quick: bool) -> Experiment:
    """Returns m flows of the algorithm with n DCTCP flows, or as many DCTCP flows alone."""
    m, n = (m + n, 0) if name == "dctcp" else (m, n)
    return coexistence(name, m, n, delay_us=delay_us, seconds=QUICK_SECONDS if quick else SECONDS)


def _fabric(name: str, seed: int, *, quick: bool) -> Experiment:
    """Returns long flows of half of the hosts, and short DCTCP flows of all to hosts drawn for each."""
    ports = QUICK_PORTS if quick else PORTS
    hosts = ports**3 // 4
    drawn = random.Random(seed).sample(range(hosts), hosts // 2)  # noqa: S311 - an experiment, not a secret
    # Each drawn host sends to the next one that was drawn, so that each also receives from one.
    pairs = list(zip(drawn, (*drawn[1:], drawn[0]), strict=True))
    return fat_tree(
        f"increase-{name}",
        duration=f"{QUICK_FABRIC_SECONDS if quick else FABRIC_SECONDS}s",
        ports=ports,
        transports={"long": transport(name), "short": transport("dctcp")},
        traffic=[
            {"kind": "bulk", "transport": "long", "pairs": pairs},
            {
                "kind": "poisson",
                "transport": "short",
                "pairs": "random",
                "rate": SHORT_FLOWS,
                "size": {"kind": "uniform", "min": "1KiB", "max": "1MiB"},
            },
        ],
    )


def _full(subflows: int, *, quick: bool) -> Experiment:
    """Returns long XMP flows along a permutation of all hosts."""
    return fat_tree(
        f"permutation-{subflows}-subflows",
        duration=f"{QUICK_FULL_SECONDS if quick else FULL_SECONDS}s",
        ports=QUICK_PORTS if quick else PORTS,
        transports={"long": transport("xmp", subflows=subflows)},
        traffic=[{"kind": "bulk", "transport": "long", "pairs": "permutation"}],
    )


def _of(rows: pl.DataFrame, setting: str) -> pl.DataFrame:
    return rows.filter(setting=setting)


def _incast_cells(rows: pl.DataFrame) -> list[tuple[int, int]]:
    """Returns the sizes in KB and numbers of flows of the incast."""
    sizes = _of(rows, INCAST)["size_kb"].unique().sort()
    return [(size_kb, k) for size_kb in sizes for k in incast.FLOWS]


def _fct(rows: pl.DataFrame, size_kb: int, k: int, name: str) -> SeedSummary:
    here = _of(rows, INCAST).filter(size_kb=size_kb, k=k, algorithm=name)
    return over_seeds(here, incast.FCT_MEAN, "ms")


def _ratios(rows: pl.DataFrame, name: str) -> list[float]:
    """Returns the mean FCT over DCTCP's in each cell of the incast."""
    return [(_fct(rows, *cell, name) / _fct(rows, *cell, "dctcp")).mean for cell in _incast_cells(rows)]


def _extent(ratios: Sequence[float]) -> str:
    return f"{digits(min(ratios))} to {digits(max(ratios))}"


def _unfairness(rows: pl.DataFrame, name: str) -> list[SeedSummary]:
    """Returns the goodput of a multipath flow over that of a DCTCP flow for each of `CELLS`."""
    found = []
    for m, n in CELLS:
        here = _of(rows, RACKS).filter(k=m, dctcp_flows=n, algorithm=name)
        goodput = pl.col("goodput_gbps").mean()
        found.append(over_seeds(here.filter(of=name), goodput) / over_seeds(here.filter(of="dctcp"), goodput))
    return found


def _queue_us(rows: pl.DataFrame, delay_us: int, m: int, n: int, name: str) -> SeedSummary:
    here = _of(rows, SYNDROME).filter(delay_us=delay_us, k=m, dctcp_flows=n, algorithm=name)
    return over_seeds(here, pl.col("queue").first() * PACKET_US, "us")


def _long(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return _of(rows, FABRIC).filter(of="long", algorithm=name)


def _short(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return _of(rows, FABRIC).filter(of="short", algorithm=name)


def _cell_words() -> str:
    return " and ".join(f"{m} multipath with {n} DCTCP flows" for m, n in CELLS)


def _by_cell(unfair: Mapping[str, Sequence[SeedSummary]], names: Iterable[str]) -> str:
    """Formats the ratios of both cells, as in "AMP 1.2 and 1.1"."""
    return ", ".join(f"{SHOWN[name].label} {' and '.join(map(str, unfair[name]))}" for name in names)


def _table(rows: pl.DataFrame) -> Table:
    """Formats the mean FCT of each scheme in each cell of the incast."""
    cells = (
        (f"{size_kb} KB, k = {k}", *(str(_fct(rows, size_kb, k, name)) for name in INCAST_SCHEMES))
        for size_kb, k in _incast_cells(rows)
    )
    return Table(("mean FCT", *(SHOWN[name].label for name in INCAST_SCHEMES)), tuple(cells))
