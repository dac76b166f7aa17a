"""Figure 7 (section 5.1): suppression episodes of 3, 4 and 5 AMP flows on one bottleneck, over tau."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import AMP, DELAY_US, STATED_DELAY_US, K, transport
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SECONDS = 1.0
QUICK_SECONDS = 0.1
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s, links of 5 us only, K = 10 only, no random starts"
FLOWS = (3, 4, 5)
TAUS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
STABLE = 6
"""The paper's smallest stable tau."""
PAPER = (DELAY_US, K, "0s")
STATED = (STATED_DELAY_US, K, "0s")
OTHERS = (STATED, (1, K, "0s"), (DELAY_US, 8, "0s"), (DELAY_US, K, "1ms"))
"""Other settings than the paper's: link delay in us, K in packets, random starts.

They show what the smallest stable tau depends on.
"""
ONE = 1.05
"""Mean number of episodes per flow, over flows and seeds, up to which it counts as one."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each tau for each number of flows, in the paper's setting and in others."""
    return [
        Case(
            {"delay_us": delay_us, "mark": mark, "jitter": jitter, "flows": m, "tau": tau},
            coexistence(
                "amp",
                m,
                0,
                delay_us=delay_us,
                seconds=QUICK_SECONDS if scale.quick else SECONDS,
                mark=mark,
                jitter=jitter,
                multipath=transport("amp", cc=AMP | {"tau": tau}),
            ),
            seed,
        )
        for delay_us, mark, jitter in ((PAPER,) if scale.quick else (PAPER, *OTHERS))
        for m in FLOWS
        for tau in TAUS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its episodes, its time in suppression, and the bottleneck's median queue in packets."""
    lengths = stats.queue_lengths(result.queues)
    median = stats.percentiles(lengths, "packets", (50,), weight="seconds")["p50"].item()
    return result.flows.select(
        episodes="suppressions",
        suppressed_s="suppressed_s",
        median_queue=pl.lit(median, pl.Float64),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Suppression episodes per flow, by tau."""
    plot = Plot(figsize=(5.2, 3.6), layout="constrained")
    axes = plot.subplots()
    for m, marker in zip(FLOWS, "os^", strict=True):
        by_tau = _setting(rows, PAPER).filter(flows=m).group_by("tau").agg(pl.col("episodes").mean()).sort("tau")
        axes.plot(by_tau["tau"], by_tau["episodes"], marker=marker, linewidth=1, label=f"{m} flows")
    axes.set(yscale="log", xticks=TAUS, xlabel="tau (rounds)", ylabel="suppression episodes a flow")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    plot.suptitle(f"Figure 7: suppression episodes, links of {DELAY_US} us")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.1, "setting tau", sentence by sentence."""
    claims = _claims(rows, PAPER)
    return [*claims, *with_stated_delay(claims, _claims(rows, STATED) if len(_setting(rows, STATED)) else [])]


def _claims(rows: pl.DataFrame, setting: tuple[int, int, str]) -> list[Claim]:
    here = _setting(rows, setting)
    small = {tau: {m: _episodes(here, m, tau) for m in FLOWS} for tau in TAUS if tau < STABLE}
    large = {tau: {m: _episodes(here, m, tau) for m in FLOWS} for tau in TAUS if tau >= STABLE}
    queue = {m: _queue(here.filter(flows=m, tau=8)) for m in FLOWS}
    queues = [_queue(here.filter(flows=m, tau=tau)).mean for m in FLOWS for tau in large]
    varied = [tau for tau, counts in small.items() if _most(counts) >= 2 * _least(counts)]
    return [
        Claim(
            "tau < 6: there is more than one suppression episode",
            "more than 1",
            "; ".join(f"tau = {tau}: {_counts(counts)}" for tau, counts in small.items()),
            all(_least(counts) > ONE for counts in small.values()),
            f"episodes a flow in {SECONDS:.0f} s, for 3, 4 and 5 flows; holds when every mean is above {ONE}",
        ),
        Claim(
            "tau < 6: the number of episodes varies a lot with the number of flows",
            "varies a lot",
            f"by a factor of {digits(min(_factor(c) for c in small.values()))} to "
            f"{digits(max(_factor(c) for c in small.values()))}",
            2 * len(varied) > len(small),
            "most over least of the means for 3, 4 and 5 flows; holds when it is at least 2 for most tau; it is for "
            f"{', '.join(map(str, varied)) or 'none'}",
        ),
        Claim(
            "tau >= 6: there is only one episode",
            "1",
            "; ".join(f"tau = {tau}: {_counts(counts)}" for tau, counts in large.items()),
            all(_least(counts) > 0 and _most(counts) <= ONE for counts in large.values()),
            f"episodes a flow for 3, 4 and 5 flows; holds when every mean is 1, up to {ONE}. The smallest tau from "
            f"which on it is: {_smallest(rows)}. Suppressed flows grow from 2 packets, one per round, until "
            "together they fill BDP + K and are marked; tau has to be longer than that, and so much longer as BDP, K "
            "and the share of each flow are larger",
        ),
        Claim(
            "tau >= 6: the median queue is about 10 packets",
            "about 10",
            listed((f"{m} flows", queue[m]) for m in FLOWS),
            all(abs(median - 10) <= 2 for median in queues),
            f"measured at tau = 8; holds when it is within 2 packets of 10 for every tau from 6 on; it is "
            f"{digits(min(queues))} to {digits(max(queues))}",
        ),
    ]


def _setting(rows: pl.DataFrame, setting: tuple[int, int, str]) -> pl.DataFrame:
    delay_us, mark, jitter = setting
    return rows.filter(delay_us=delay_us, mark=mark, jitter=jitter)


def _episodes(rows: pl.DataFrame, m: int, tau: int) -> SeedSummary:
    return over_seeds(rows.filter(flows=m, tau=tau), pl.col("episodes").mean())


def _queue(rows: pl.DataFrame) -> SeedSummary:
    return over_seeds(rows, pl.col("median_queue").first())


def _counts(counts: dict[int, SeedSummary]) -> str:
    return ", ".join(map(str, counts.values()))


def _least(counts: dict[int, SeedSummary]) -> float:
    return min(count.mean for count in counts.values())


def _most(counts: dict[int, SeedSummary]) -> float:
    return max(count.mean for count in counts.values())


def _factor(counts: dict[int, SeedSummary]) -> float:
    return _most(counts) / max(_least(counts), 1e-3)


def _smallest(rows: pl.DataFrame) -> str:
    """Formats the smallest stable tau for each number of flows, in each setting."""
    words = []
    for delay_us, mark, jitter in (PAPER, *OTHERS):
        here = _setting(rows, (delay_us, mark, jitter))
        if here.is_empty():
            continue
        spread = "" if jitter == "0s" else f", starts spread over {jitter}"
        words.append(f"{_stable(here)} with links of {delay_us} us, K = {mark}{spread}")
    return "; ".join(words)


def _stable(rows: pl.DataFrame) -> str:
    found = []
    for m in FLOWS:
        more = [tau for tau in TAUS if _episodes(rows, m, tau).mean > ONE]
        stable = [tau for tau in TAUS if tau > max(more, default=0)]
        found.append(str(stable[0]) if stable else f"above {TAUS[-1]}")
    return ", ".join(found)
