"""Section 5.1's choice of gamma: AMP with gamma from 1 to 10 under incast, under the syndrome and without either."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp import incast
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.incast import GAP_US
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import (
    AMP,
    DELAY_US,
    PAPER_FCT_MS,
    RATE_BPS,
    STATED_DELAY_US,
    transport,
    two_bottlenecks,
    unfinished_ms,
)
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

GAMMAS = tuple(range(1, 11))
QUICK_GAMMAS = (1, 2, 3, 5, 10)
SIZE_KB = 128
DELAYS_US = (DELAY_US, STATED_DELAY_US)
SHORT_GAP_US = 40
"""Gap between flows that is not the paper's; it is shorter and shows where gamma = 3 is too slow."""
BUSY = 0.6
"""Load of each bottleneck with short flows, under which no window has to stay at its floor for long."""
BUSY_KB = 64
BUSY_SECONDS = 0.5
QUICK_BUSY_SECONDS = 0.1
SYNDROME = (4, 4)
"""AMP flows and DCTCP flows of figure 10(b), its "intensive syndrome"."""
SYNDROME_SECONDS = 1.0
QUICK_SYNDROME_SECONDS = 0.1
QUICK = (
    f"5 rounds of incast instead of 20, {QUICK_BUSY_SECONDS} s of short flows instead of {BUSY_SECONDS} s, links of "
    f"5 us only, {QUICK_SYNDROME_SECONDS} s of the syndrome, gamma {', '.join(map(str, QUICK_GAMMAS))}"
)
ORDER = 10
ALIKE = 1.1
"""Ratio up to which mean FCTs count as equally good."""


def cases(scale: Scale) -> list[Case]:
    """Returns incasts by DCTCP (as gamma 0) and by AMP with each gamma, and two busy paths with each gamma."""
    rounds = incast.QUICK_ROUNDS if scale.quick else incast.ROUNDS
    gammas = QUICK_GAMMAS if scale.quick else GAMMAS
    flows = [(delay_us, GAP_US, k) for delay_us in ((DELAY_US,) if scale.quick else DELAYS_US) for k in incast.FLOWS]
    return [
        *(
            Case(
                {"setting": "incast", "delay_us": delay_us, "gap_us": gap_us, "k": k, "gamma": gamma},
                _incast(gamma, k, delay_us, gap_us, rounds),
                seed,
            )
            for delay_us, gap_us, k in (*flows, (DELAY_US, SHORT_GAP_US, 40))
            for gamma in (0, *gammas)
            for seed in range(1, scale.seeds + 1)
        ),
        *(
            Case(
                {"setting": "busy", "delay_us": DELAY_US, "gap_us": 0, "k": 0, "gamma": gamma},
                _busy(gamma, QUICK_BUSY_SECONDS if scale.quick else BUSY_SECONDS),
                seed,
            )
            for gamma in gammas
            for seed in range(1, scale.seeds + 1)
        ),
        *(
            Case(
                {"setting": "syndrome", "delay_us": DELAY_US, "gap_us": 0, "k": 0, "gamma": gamma},
                _syndrome(gamma, QUICK_SYNDROME_SECONDS if scale.quick else SYNDROME_SECONDS),
                seed,
            )
            for gamma in gammas
            for seed in range(1, scale.seeds + 1)
        ),
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow of the incast or the syndrome, or one for the AMP flow over the busy paths."""
    seconds = pl.lit(result.manifest["end_s"], pl.Float64)
    flows = result.flows.filter(pl.col("traffic") != "poisson")
    return flows.select(
        fct_ms=PAPER_FCT_MS,
        unfinished_ms=unfinished_ms(result.manifest["end_s"]),
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
        suppressions="suppressions",
        suppressed_percent=100 * pl.col("suppressed_s") / seconds,
        episodes_per_s=pl.col("suppressions") / seconds,
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        jain=pl.lit(flows.select(stats.jain(pl.col("goodput_bps"))).item(), pl.Float64),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT of the incast over gamma, compared with DCTCP's; and false alarms."""
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    here = _flows(rows, DELAY_US, GAP_US)
    for k, colour in zip(incast.FLOWS, ("#0072b2", "#009e73", "#e69f00", "#d55e00"), strict=True):
        mean = here.filter(k=k).group_by("gamma").agg(incast.FCT_MEAN).sort("gamma")
        amp, dctcp = mean.filter(pl.col("gamma") > 0), mean.filter(gamma=0)["fct_ms"].item()
        left.plot(amp["gamma"], amp["fct_ms"], marker="o", linewidth=1, color=colour, label=f"k = {k}")
        left.axhline(dctcp, color=colour, linestyle=":", linewidth=1)
    left.set(yscale="log", ylabel="mean FCT (ms); dotted: DCTCP", title=f"incast of {SIZE_KB} KB flows")
    left.legend(frameon=False)
    alarms = rows.filter(setting="busy").group_by("gamma").agg(pl.col("episodes_per_s").mean()).sort("gamma")
    right.plot(alarms["gamma"], alarms["episodes_per_s"], marker="o", linewidth=1, color="#0072b2")
    right.set(ylim=(0, None), ylabel="suppression episodes a second", title="two busy paths, no incast")
    for axes in (left, right):
        axes.set_xlabel("gamma (rounds)")
        axes.grid(visible=True, which="major", alpha=0.3)
    plot.suptitle(f"The choice of gamma, links of {DELAY_US} us")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.1, "setting gamma", sentence by sentence."""
    claims = _claims(rows, DELAY_US)
    stated = _claims(rows, STATED_DELAY_US) if len(_flows(rows, STATED_DELAY_US, GAP_US)) else []
    return [*claims, _under_syndrome(rows), *with_stated_delay(claims[1:], stated[1:])]


def _claims(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    here = _flows(rows, delay_us, GAP_US)
    gammas = rows.filter(pl.col("gamma") > 0)["gamma"].unique().sort().to_list()
    alarms = {gamma: _alarms(rows, gamma) for gamma in gammas}
    third = {k: _to_dctcp(here, k, 3) for k in incast.FLOWS}
    to_best = {k: _fct(here, k, 2).mean / min(_fct(here, k, gamma).mean for gamma in gammas) for k in incast.FLOWS}
    second = {k: _to_dctcp(here, k, 2) for k in incast.FLOWS}
    apart = [k for k in incast.FLOWS if third[k].mean >= ORDER > second[k].mean]
    close = _flows(rows, DELAY_US, SHORT_GAP_US)
    short = listed((f"gamma {gamma}", _to_dctcp(close, 40, gamma)) for gamma in (1, 2, 3))
    return [
        Claim(
            "gamma = 1: there is a chance of false alarms",
            "a chance",
            listed((f"gamma {gamma}", alarms[gamma]) for gamma in (1, 2, 3)),
            alarms[1].mean > ALIKE * alarms[2].mean,
            f"suppression episodes of an AMP flow over two bottlenecks, each of which short DCTCP flows load to "
            f"{100 * BUSY:.0f} %: no incast, no syndrome; holds when gamma = 1 has more than gamma = 2 by a tenth. The "
            f"flow is suppressed {_suppressed(rows, 1)} and {_suppressed(rows, 2)} of the time",
        ),
        Claim(
            "gamma >= 3 reacts slowly: with gamma = 3 the mean FCT is an order of magnitude above DCTCP's",
            "10 times",
            listed((f"k = {k}", ratio) for k, ratio in third.items()),
            len(apart) > 0,
            f"mean FCT over that of DCTCP; holds when for some k it is {ORDER} or more, and less with gamma = 2: "
            f"{listed((f'k = {k}', ratio) for k, ratio in second.items())}; it does for "
            f"{', '.join(f'k = {k}' for k in apart) or 'none'}. The "
            f"smallest gamma of an order is {_slow(rows)}. It depends on how fast the flows come: with "
            f"{SHORT_GAP_US} us between them instead of {GAP_US} us and k = 40 it is {short}",
        ),
        Claim(
            "gamma = 2 performs best",
            "best",
            ", ".join(f"k = {k} {digits(ratio)}" for k, ratio in to_best.items()),
            all(ratio <= ALIKE for ratio in to_best.values()) and alarms[2].mean < alarms[1].mean,
            "mean FCT with gamma = 2 over the best of all gamma; holds when it is at most "
            f"{ALIKE} for every k and there are fewer false alarms than with gamma = 1: "
            f"{alarms[2]} against {alarms[1]}. Gamma = 1 suppresses a round sooner, which counts where the queue is "
            f"about to overflow: mean FCT over that of DCTCP for k = 40 {_to_dctcp(here, 40, 1)} with gamma = 1, "
            f"{_to_dctcp(here, 40, 2)} with gamma = 2",
        ),
    ]


def _under_syndrome(rows: pl.DataFrame) -> Claim:
    here = rows.filter(setting="syndrome")
    gammas = here["gamma"].unique().sort().to_list()
    index = {gamma: over_seeds(here.filter(gamma=gamma), pl.col("jain").first()) for gamma in gammas}
    return Claim(
        "gamma under the minimum window syndrome: Jain's index",
        "gamma >= 3 reacts slowly",
        listed((f"gamma {gamma}", value) for gamma, value in index.items()),
        None,
        f"{SYNDROME[0]} AMP flows with {SYNDROME[1]} DCTCP flows, for {SYNDROME_SECONDS:.0f} s at full size. The "
        "paper gives no number: how slowly suppression begins is a matter of the first milliseconds",
    )


def _incast(gamma: int, k: int, delay_us: int, gap_us: int, rounds: int) -> Experiment:
    name = "amp" if gamma else "dctcp"
    changes = {"cc": AMP | {"gamma": gamma}} if gamma else {}
    return incast.incast(name, k, SIZE_KB, delay_us, rounds, gap_us=gap_us, **changes)


def _busy(gamma: int, seconds: float) -> Experiment:
    """Returns one AMP flow with a subflow over each bottleneck, which short DCTCP flows load."""
    rate = BUSY * RATE_BPS / (8 * 1024 * BUSY_KB)
    return two_bottlenecks(
        f"busy-paths-gamma-{gamma}",
        delay_us=DELAY_US,
        duration=f"{seconds}s",
        transports={"amp": transport("amp", cc=AMP | {"gamma": gamma}, subflows=2), "dctcp": transport("dctcp")},
        traffic=[
            {"kind": "bulk", "transport": "amp", "from": "S2", "to": "D2"},
            {
                "kind": "poisson",
                "transport": "dctcp",
                "pairs": [["S1", "D1"], ["S3", "D3"]],
                "rate": rate,
                "size": f"{BUSY_KB}KiB",
            },
        ],
    )


def _syndrome(gamma: int, seconds: float) -> Experiment:
    """Returns AMP flows that share one bottleneck with DCTCP flows, as in figure 10(b)."""
    flows, dctcp_flows = SYNDROME
    amp = transport("amp", cc=AMP | {"gamma": gamma})
    return coexistence("amp", flows, dctcp_flows, delay_us=DELAY_US, seconds=seconds, multipath=amp)


def _flows(rows: pl.DataFrame, delay_us: int, gap_us: int) -> pl.DataFrame:
    return rows.filter(setting="incast", delay_us=delay_us, gap_us=gap_us)


def _fct(rows: pl.DataFrame, k: int, gamma: int) -> SeedSummary:
    return over_seeds(rows.filter(k=k, gamma=gamma), incast.FCT_MEAN, "ms")


def _to_dctcp(rows: pl.DataFrame, k: int, gamma: int) -> SeedSummary:
    return _fct(rows, k, gamma) / _fct(rows, k, 0)


def _alarms(rows: pl.DataFrame, gamma: int) -> SeedSummary:
    return over_seeds(rows.filter(setting="busy", gamma=gamma), pl.col("episodes_per_s").mean(), "a second")


def _suppressed(rows: pl.DataFrame, gamma: int) -> SeedSummary:
    return over_seeds(rows.filter(setting="busy", gamma=gamma), pl.col("suppressed_percent").mean(), "%")


def _slow(rows: pl.DataFrame) -> str:
    """Formats the smallest gamma with which the mean FCT is an order above DCTCP's, by link delay and k."""
    words = []
    for delay_us in DELAYS_US:
        here = _flows(rows, delay_us, GAP_US)
        for k in incast.FLOWS if len(here) else ():
            gammas = here.filter(pl.col("gamma") > 0, k=k)["gamma"].unique().sort()
            slow = [gamma for gamma in gammas if _to_dctcp(here, k, gamma).mean >= ORDER]
            if slow:
                words.append(f"{slow[0]} for k = {k} with {delay_us} us")
    return ", ".join(words) or "none"
