"""Figure 8 (section 5.2): incast by AMP, XMP, DCM and DCTCP, 128 to 512 KB per flow; the text's 64 KB and 1 MB."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import (
    FCT_MEAN,
    LARGE_STD_MS,
    TIMED_OUT,
    extent,
    incast_cases,
    mean_ratios,
    means,
    measure,
    plot_fct,
    table,
)
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import BY_SENDER, DELAY_US, STATED_DELAY_US
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import listed, over_seeds

__all__ = ["QUICK", "cases", "claims", "measure", "plot"]

ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
OTHERS = ("xmp", "dcm")
WITHOUT = "amp-without-suppression"
"""A variant that is not in the paper; it shows the cost of suppression where suppression is not needed."""
EARLIER = ("amp-gamma-1", "amp-linux-rounds")
"""Variants that are not in the paper: AMP that suppresses earlier, which shows the delay of 40 flows."""
STALLED = ("xmp-stall", "dcm-stall")
"""Variants that are not in the paper's text: with the fault of its simulator that stalls subflows after go-back-N."""
AT_ONCE, DELAYED, LINUX_DCTCP = LINUX = ("amp-linux", "amp-linux-delayed", "dctcp-linux")
"""Variants that are not in the paper: profile `linux`, whose subflows join at once, or after 256 KB as weftd's do."""
PANELS_KB = (128, 256, 512)
SIZES_KB = (64, 128, 256, 512, 1024)
QUICK = "5 rounds of incast instead of 20, links of 5 us only, 64 to 256 KB"
MOST_TIMEOUTS = {"xmp": 10, "dcm": 16}
P90_TIMEOUTS = 7
ALIKE = 1.25
"""Ratio up to which mean FCTs count as equal."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm, size, number of flows and link delay."""
    delays_us = (DELAY_US,) if scale.quick else (DELAY_US, STATED_DELAY_US)
    sizes_kb = SIZES_KB[:3] if scale.quick else SIZES_KB
    panels_kb = [size for size in sizes_kb if size in PANELS_KB]
    return [
        *incast_cases(ALGORITHMS, sizes_kb=sizes_kb, delays_us=delays_us, scale=scale),
        *incast_cases([WITHOUT], sizes_kb=(64,), delays_us=(DELAY_US,), scale=scale),
        *incast_cases(STALLED, sizes_kb=(128,), delays_us=(DELAY_US,), scale=scale, flows=(30,)),
        *incast_cases(LINUX, sizes_kb=(128,), delays_us=(DELAY_US,), scale=scale),
        *incast_cases(EARLIER, sizes_kb=panels_kb, delays_us=(DELAY_US,), scale=scale, flows=(40,)),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """FCT over k on a log scale: mean, and the 5th to the 95th percentile of the flows; all seeds."""
    return plot_fct(rows.filter(delay_us=DELAY_US), ALGORITHMS, "Figure 8: incast")


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.2, "Robustness against the TCP incast", sentence by sentence."""
    judged, stated = (rows.filter(delay_us=delay_us) for delay_us in (DELAY_US, STATED_DELAY_US))
    claims = _claims(judged)
    return [
        *claims,
        _delayed_joins(judged.filter(size_kb=128)),
        *with_stated_delay(claims, _claims(stated) if len(stated) else []),
    ]


def _claims(here: pl.DataFrame) -> list[Claim]:
    panels = here.filter(pl.col("size_kb").is_in(PANELS_KB))
    return [
        *_like_dctcp(panels),
        _orders_apart(panels, "In most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM"),
        *_thirty_flows(here.filter(size_kb=128, k=30)),
        *_small_flows(here.filter(size_kb=64)),
        *_large_flows(here.filter(size_kb=1024)),
    ]


def _like_dctcp(panels: pl.DataFrame) -> list[Claim]:
    ratios = mean_ratios(panels, ["amp"], to="dctcp")
    earlier = mean_ratios(panels.filter(k=40), EARLIER, to="dctcp")
    sooner = (
        ". Suppressed a round sooner (gamma = 1), or with rounds an acknowledgement shorter, as on Linux, the ratios "
        f"are {extent(earlier)}"
        if len(earlier)
        else ""
    )
    timed_out = over_seeds(panels.filter(algorithm="amp", k=40), 100 * TIMED_OUT, "%")
    up_to_30, at_40 = ratios.filter(pl.col("k") <= 30), ratios.filter(k=40)
    return [
        Claim(
            "AMP is as good as DCTCP up to 30 flows",
            "as good",
            f"{extent(up_to_30)} times",
            (up_to_30["ratio"] <= ALIKE).all(),
            f"mean FCT of AMP over that of DCTCP; holds when it is at most {ALIKE} in every cell; {BY_SENDER}",
            table=table(up_to_30),
        ),
        Claim(
            "With 40 flows AMP performs slightly worse than DCTCP",
            "slightly worse",
            f"{extent(at_40)} times",
            at_40["ratio"].is_between(1, 2, closed="right").all(),
            "mean FCT of AMP over that of DCTCP; holds when it is above 1 and at most 2 in every cell. Up to 30 flows "
            f"it is {digits(min(up_to_30['ratio']))} to {digits(max(up_to_30['ratio']))}. Of AMP's flows {timed_out} "
            f"have a timeout{sooner}",
            table=table(at_40),
        ),
    ]


def _orders_apart(rows: pl.DataFrame, sentence: str) -> Claim:
    ratios = mean_ratios(rows, OTHERS, to="amp")
    far = len(ratios.filter(pl.col("ratio") >= 10))
    return Claim(
        sentence,
        "10 to 100 times",
        f"{extent(ratios)} times",
        2 * far > len(ratios),
        f"holds when more than half of the cells are 10 times apart or more; {far} of {len(ratios)} are",
        table=table(ratios),
    )


def _thirty_flows(case: pl.DataFrame) -> list[Claim]:
    """Returns the claim about 128 KB and k = 30, the paper's worked case."""
    flows = {name: case.filter(algorithm=name) for name in ALGORITHMS}
    mean = {name: over_seeds(flows[name], FCT_MEAN, "ms") for name in ALGORITHMS}
    std = {name: over_seeds(flows[name], pl.col("fct_ms").std(), "ms") for name in ALGORITHMS}
    most = {name: over_seeds(flows[name], pl.col("timeouts").max()) for name in ALGORITHMS}
    p90 = {name: over_seeds(flows[name], pl.col("timeouts").quantile(0.9)) for name in OTHERS}
    share = {name: over_seeds(flows[name], 100 * TIMED_OUT, "%") for name in ALGORITHMS}
    stalled = {name: case.filter(algorithm=name) for name in STALLED if name in set(case["algorithm"])}
    stalled_most = listed(
        (f"{name} most", over_seeds(value, pl.col("timeouts").max())) for name, value in stalled.items()
    )
    stalled_p90 = listed(
        (f"{name} 90th percentile", over_seeds(value, pl.col("timeouts").quantile(0.9)))
        for name, value in stalled.items()
    )
    return [
        Claim(
            "128 KB, k = 30: the mean FCT of AMP is about 2 ms",
            "about 2 ms",
            str(mean["amp"]),
            1.5 <= mean["amp"].mean < 2.5,
            "holds from 1.5 to 2.5 ms",
        ),
        Claim(
            "128 KB, k = 30: the mean FCT of XMP and DCM is over 800 ms",
            "above 800 ms",
            listed((name, mean[name]) for name in OTHERS),
            all(mean[name].mean > 800 for name in OTHERS),
            "holds above 800 ms for both. The claims of figure 2 say how much of it is the initial RTO of 1.5 s. With "
            "the fault by which the simulator behind the paper stalls subflows after go-back-N, on which no claim "
            f"rests, it is {means(case, STALLED)}",
        ),
        Claim(
            "128 KB, k = 30: the standard deviation of FCT is 1 to 2 ms for AMP and 1 s for XMP and DCM",
            "1 to 2 ms; 1 s",
            listed((name, std[name]) for name in ("amp", *OTHERS)),
            1 <= std["amp"].mean <= 2 and all(std[name].mean > LARGE_STD_MS for name in OTHERS),
            f"holds when AMP's is from 1 to 2 ms and the others' are above {LARGE_STD_MS} ms, the rule of figure 2, "
            "whose flows these are",
        ),
        Claim(
            "128 KB, k = 30: AMP has no timeout",
            "0",
            f"at most {most['amp']} a flow, {share['amp']} of the flows with one",
            most["amp"].mean == 0,
            "holds when no flow of any seed had a timeout",
        ),
        Claim(
            "128 KB, k = 30: XMP has up to 10 timeouts a flow, DCM up to 16",
            "10 and 16, 7 at the 90th percentile",
            listed((f"{name} most", most[name]) for name in OTHERS)
            + ", "
            + listed((f"{name} 90th percentile", p90[name]) for name in OTHERS),
            all(most[name].mean >= MOST_TIMEOUTS[name] and p90[name].mean >= P90_TIMEOUTS for name in OTHERS),
            "timeouts over all subflows of a flow; holds when XMP reaches 10, DCM 16 and both 7 at the 90th "
            "percentile. Shares of flows with a timeout: "
            + listed((name, share[name]) for name in OTHERS)
            + f". With the stalls of the paper's simulator after go-back-N: {stalled_most}, {stalled_p90}",
        ),
        Claim(
            "128 KB, k = 30: timeouts set XMP and DCM apart from AMP",
            "no timeout against several a flow",
            listed(share.items()),
            share["amp"].mean == 0 and all(share[name].mean > 50 for name in OTHERS),
            "holds when most flows of XMP and of DCM had a timeout and none of AMP",
        ),
    ]


def _small_flows(rows: pl.DataFrame) -> list[Claim]:
    ratios = mean_ratios(rows, ("amp", *OTHERS), to="dctcp")
    cost = mean_ratios(rows, ["amp"], to=WITHOUT) if WITHOUT in set(rows["algorithm"]) else ratios.clear()
    apart = ratios.group_by("k").agg(pl.col("ratio").max() / pl.col("ratio").min())["ratio"]
    dearer = f". Mean FCT over that with no suppression: {extent(cost)} times" if len(cost) else ""
    amp = rows.filter(algorithm="amp")
    share = amp.group_by("k").agg(percent=100 * (pl.col("suppressions") > 0).mean()).sort("k")
    shares = ", ".join(f"{percent:.0f} % for k = {k}" for k, percent in share.iter_rows())
    return [
        Claim(
            "64 KB: all multipath schemes work as well as DCTCP, with little difference among them",
            "little difference",
            f"{extent(ratios)} times",
            (ratios["ratio"] <= ALIKE).all() and (apart <= ALIKE).all(),
            f"mean FCT over that of DCTCP; holds when it is at most {ALIKE} in every cell, and the largest of the "
            f"three at most {ALIKE} times the least; that is up to {digits(max(apart))}",
            table=table(ratios),
        ),
        Claim(
            "64 KB: subflow suppression is not triggered at all",
            "0 episodes",
            f"{amp['suppressions'].sum()} episodes; of the flows {shares} were suppressed",
            amp["suppressions"].sum() == 0,
            "holds when no AMP flow was ever suppressed. 64 KB are 46 packets, some six rounds of four windows of two, "
            f"time for gamma = 2 rounds at the floor{dearer}",
        ),
    ]


def _large_flows(rows: pl.DataFrame) -> list[Claim]:
    if rows.is_empty():
        return []
    return [_orders_apart(rows, "1 MB: the trend is similar, AMP 1 to 2 orders faster than XMP and DCM")]


def _delayed_joins(rows: pl.DataFrame) -> Claim:
    delayed, at_once = (mean_ratios(rows, [name], to=LINUX_DCTCP) for name in (DELAYED, AT_ONCE))
    timed_out = {name: over_seeds(rows.filter(algorithm=name), 100 * TIMED_OUT, "%") for name in LINUX}
    return Claim(
        "128 KB, profile `linux`: with delayed joins AMP is as good as DCTCP (not the paper's claim)",
        "as good",
        f"{extent(delayed)} times; joins at once {extent(at_once)} times",
        (delayed["ratio"] <= ALIKE).all(),
        f"mean FCT of AMP over that of DCTCP; holds when it is at most {ALIKE} for every k with joins after 256 KB, "
        "weftd's default, so that no subflow joins. With joins at once a flow begins with four initial windows of ten "
        f"packets. Flows with a timeout: {listed(timed_out.items())}",
        table=table(pl.concat([delayed, at_once])),
    )
