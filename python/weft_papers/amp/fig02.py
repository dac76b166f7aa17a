"""Figure 2 (section 3.1): incast of 128 KB flows by DCTCP, DCM and XMP."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.amp.incast import (
    FCT_MEAN,
    LARGE_STD_MS,
    SLOW_MS,
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

ALGORITHMS = ("dctcp", "dcm", "xmp")
MULTIPATH = ("dcm", "xmp")
SHORT_RTO = ("dcm-rto-200ms", "xmp-rto-200ms")
"""Variants that are not in the paper; they show which part of the mean is the initial RTO of 1.5 s."""
STALLED = ("dcm-stall", "xmp-stall")
"""Variants that are not in the paper's text: with the fault of its simulator that stalls subflows after go-back-N."""
QUICK = "5 rounds of incast instead of 20, links of 5 us only"


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm, number of flows and link delay."""
    delays_us = (DELAY_US,) if scale.quick else (DELAY_US, STATED_DELAY_US)
    return [
        *incast_cases(ALGORITHMS, sizes_kb=(128,), delays_us=delays_us, scale=scale),
        *incast_cases((*SHORT_RTO, *STALLED), sizes_kb=(128,), delays_us=(DELAY_US,), flows=(30,), scale=scale),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """FCT over k on a log scale: mean, and the 5th to the 95th percentile of the flows; all seeds."""
    return plot_fct(rows.filter(delay_us=DELAY_US), ALGORITHMS, "Figure 2: incast of 128 KB flows")


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.1, sentence by sentence."""
    judged, stated = (rows.filter(delay_us=delay_us) for delay_us in (DELAY_US, STATED_DELAY_US))
    claims = _claims(judged)
    return [*claims, *with_stated_delay(claims, _claims(stated) if len(stated) else [])]


def _claims(here: pl.DataFrame) -> list[Claim]:
    at_30 = {name: here.filter(k=30, algorithm=name) for name in ALGORITHMS}
    mean = {name: over_seeds(flows, FCT_MEAN, "ms") for name, flows in at_30.items()}
    std = {name: over_seeds(flows, pl.col("fct_ms").std(), "ms") for name, flows in at_30.items()}
    ratios = mean_ratios(here, MULTIPATH, "dctcp")
    far = len(ratios.filter(pl.col("ratio") >= 10))
    stalled = {name: here.filter(k=30, algorithm=name) for name in STALLED if name in set(here["algorithm"])}
    stalled_std = listed((name, over_seeds(flows, pl.col("fct_ms").std(), "ms")) for name, flows in stalled.items())
    slow = here.filter(pl.col("algorithm").is_in(MULTIPATH), pl.col("fct_ms") > SLOW_MS)
    slow_by_timeout = slow.select(TIMED_OUT).item() if len(slow) else 0.0
    return [
        Claim(
            "k = 30: the mean FCT of DCTCP is about 2 ms",
            "about 2 ms",
            str(mean["dctcp"]),
            1.5 <= mean["dctcp"].mean < 2.5,
            f"holds from 1.5 to 2.5 ms; {BY_SENDER}",
        ),
        Claim(
            "k = 30: the mean FCT of DCM and XMP is over 800 ms",
            "above 800 ms",
            listed((name, mean[name]) for name in MULTIPATH),
            all(mean[name].mean > 800 for name in MULTIPATH),
            "holds above 800 ms for both. The mean is about the share of flows that time out times the profile's "
            f"initial RTO of 1.5 s: with one of 200 ms it is {means(here.filter(k=30), SHORT_RTO)}. By its source the "
            "simulator behind the paper has a fault: a subflow whose go-back-N resends what the connection already has "
            "waits for further timeouts. With that built in, on which no claim rests, it is "
            f"{means(here.filter(k=30), STALLED)}",
        ),
        Claim(
            "In many cases the mean FCT of DCTCP is 1 to 2 orders of magnitude shorter than that of DCM and XMP",
            "10 to 100 times",
            f"{extent(ratios)} times",
            2 * far >= len(ratios),
            f"holds when at least half of the cells are 10 times apart or more; {far} of {len(ratios)} are",
            table=table(ratios),
        ),
        Claim(
            "k = 30: the standard deviation of FCT is below 1 ms for DCTCP and above 1 s for DCM and XMP",
            "below 1 ms; above 1 s",
            listed(std.items()),
            std["dctcp"].mean < 1 and all(std[name].mean > LARGE_STD_MS for name in MULTIPATH),
            f"holds below 1 ms and above {LARGE_STD_MS} ms; over the flows of all rounds of a seed. A flow that waits "
            "once for the initial RTO takes 1.5 s; for more than 1 s of deviation many must wait several times. With "
            f"the stalls {stalled_std}",
        ),
        Claim(
            "Retransmission timeouts are what makes some flows of DCM and XMP much slower",
            "due to retransmission timeouts",
            f"{100 * slow_by_timeout:.1f} % of {len(slow)} flows above {SLOW_MS} ms had a timeout",
            len(slow) > 0 and slow_by_timeout >= 0.99,
            "holds when 99 % of the flows of DCM and XMP that took more than 100 ms had a timeout, and there are some",
        ),
    ]
