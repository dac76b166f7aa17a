"""The conclusions that a reader of the four papers remembers, and the claims that decide them.

`python/generate_claims.py` makes the table of `weft reproduce --headlines` from the stored results. It is the file
`headlines.json`, so that an installed package can show it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from weft.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE = "headlines.json"
"""Name of the stored table in this package."""


@dataclass(frozen=True)
class Conclusion:
    """One conclusion of a paper."""

    paper: str
    """Name of the paper's package, with hyphens."""
    words: str
    """The conclusion in short."""
    number: str
    """The paper's value."""
    claims: tuple[tuple[str, str], ...]
    """The claims that decide it: figure and claim."""
    why: str
    """The reason of the verdict, in a sentence."""
    abstract: bool = False
    """Whether the abstract has the conclusion."""


CONCLUSIONS = (
    Conclusion(
        "amp",
        "Under incast DCM and XMP are 1 to 2 orders of magnitude slower than DCTCP",
        "over 800 ms against 2 ms, 30 flows",
        (
            (
                "amp/fig02",
                "In many cases the mean FCT of DCTCP is 1 to 2 orders of magnitude shorter than that of DCM and XMP",
            ),
            ("amp/fig02", "k = 30: the mean FCT of DCM and XMP is over 800 ms"),
        ),
        "The factor is there; the 800 ms take a fault of the authors' simulator, which stalls after go-back-N.",
    ),
    Conclusion(
        "amp",
        "Minimum window syndrome: a multipath flow takes 2 to 5 times a single-path flow's throughput",
        "2 to 5 times, from 3 subflows on",
        (
            ("amp/fig04", "(a) The syndrome begins as soon as XMP uses three subflows or more"),
            (
                "amp/fig04",
                "The syndrome gives multipath flows 2 to 5 times the throughput of single-path flows",
            ),
        ),
        "With 7 and 8 subflows all windows are at their floor, and it is 7 and 8 times.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP is as robust to incast as DCTCP",
        "as good; slightly worse with 40 flows",
        (
            ("amp/fig08", "AMP is as good as DCTCP up to 30 flows"),
            ("amp/fig08", "With 40 flows AMP performs slightly worse than DCTCP"),
        ),
        "Up to 30 flows; with 40, handshakes and the scheduler decide whether suppression comes in time.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP shares fairly with single-path flows",
        "the best in almost all cases",
        (("amp/fig09", "In almost all cases AMP is fairer than XMP and DCM"),),
        "Without suppression AMP is as unfair as XMP and DCM.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP does not inflate buffers",
        "12 packets against more than 20",
        (
            ("amp/fig10", "(b) The median queue with AMP is 12 packets, about 2 more than in (a)"),
            ("amp/fig10", "(b) 4 flows of XMP or DCM keep the queue above 20 packets at the median, twice that of (a)"),
        ),
        "With suppression few windows stay at their floor; XMP's and DCM's queue is longer, though not always.",
    ),
    Conclusion(
        "amp",
        "In a large fabric long AMP flows leave short flows the shortest times",
        "JCT 39 % below XMP's; FCT p90 0.18 ms",
        (
            ("amp/fig12", "8 subflows: AMP's JCT is 39 % below XMP's"),
            ("amp/fig14", "The 90th percentile of short flows' FCT with long flows by AMP"),
            ("amp/fig14", "90th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM"),
            ("amp/fig14", "The goodput of long flows is distributed almost identically across all schemes"),
        ),
        "Suppressed subflows leave the queues to short flows: without suppression the JCT is 1.79 instead of 1.11 ms.",
    ),
    Conclusion(
        "amp",
        "A constant cut shifts traffic faster than DCM's cut by alpha",
        "3 ms against 7 ms",
        (
            ("amp/fig06", "A constant cut shifts traffic faster than DCM's cut by alpha"),
            ("amp/fig06", "Figure 6(b): DCM finishes its traffic shifting after about 7 ms"),
        ),
        "The order and MPTCP's, AMP's and XMP's 3 ms; DCM's time depends on the order of packets at one instant.",
    ),
    Conclusion(
        "amp-fg",
        "With more subflows the queue oscillates faster and further",
        "faster and larger, 8 instead of 4",
        (
            ("amp-fg/fig02", "With 8 subflows instead of 4 the amplitude becomes larger"),
            ("amp-fg/fig02", "With 8 subflows instead of 4 the queue oscillates faster"),
        ),
        "With 8 subflows all windows are at their floor, and the queue hardly crosses its mean.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "AMP-FG keeps the queue lower than XMP",
        "lower, buffers of 100 and 500",
        (
            ("amp-fg/fig05", "Figure 5, buffer of 100: AMP-FG keeps the queue lower than XMP"),
            ("amp-fg/fig05", "Figure 6, buffer of 500: AMP-FG keeps the queue lower than XMP"),
        ),
        "It cuts by the marks of a round instead of by a constant part, and to one packet instead of two.",
    ),
    Conclusion(
        "amp-fg",
        "Small flows have a lower latency than by LIA and XMP",
        "19.5 and 16.3 % lower",
        (
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is below that of LIA and XMP"),
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is 19.5 % below that of LIA"),
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is 16.3 % below that of XMP"),
        ),
        "Far below LIA, whose objects wait for RTOs; level with XMP for one job at a time, 8 to 17 % below for 16.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "Large flows have a higher throughput than by LIA and XMP",
        "10 to 35 % higher",
        (("amp-fg/fig08", "AMP-FG has a higher throughput than LIA and XMP"),),
        "Above LIA, which times out with more subflows; above XMP only if XMP cuts as figure 4 simplifies it.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "Fewer subflows give the same throughput",
        "fewer",
        (("amp-fg/fig08", "AMP-FG needs fewer subflows for a similar throughput"),),
        "XMP's throughput is not reached; that of LIA with 8 is, with 2, but 92 % of LIA's flows time out there.",
    ),
    Conclusion(
        "opn",
        "With more subflows the FCT falls, and then rises with timeouts",
        "a minimum inside, 1 to 20 subflows",
        (
            ("opn/fig02", "The mean FCT falls with more subflows and then rises greatly"),
            ("opn/fig02", "Timeouts rise with the number of subflows"),
        ),
        "ns-2's default window of 20 packets lets one subflow end slow start without a loss.",
    ),
    Conclusion(
        "opn",
        "Fewer timeouts than by MPTCP",
        "reduces their probability",
        (
            ("opn/fig10", "OPN reduces the probability of timeouts, with a delta of 200 us"),
            ("opn/fig11", "OPN reduces the probability of timeouts, with a delta of 200 us"),
        ),
        "Data outstanding on slow paths is sent on fast ones before it waits for an RTO.",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "The FCT is up to 50 % below MPTCP's",
        "up to 50 %",
        (
            ("opn/fig10", "OPN's mean FCT is up to 50 % below that of MPTCP, with a delta of 200 us"),
            ("opn/fig11", "OPN's mean FCT of short flows is up to 50 % below that of MPTCP, with a delta of 200 us"),
            ("opn/fig11", "OPN's mean FCT of short flows is 60 % below that of MPTCP, with a delta of 200 us"),
        ),
        "Further below, as MPTCP waits for RTOs in nearly all flows; if flows start apart, OPN can be above.",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "Short flows end earlier than by all other schemes",
        "least mean FCT, four workloads",
        (("opn/fig13", "OPN has the least mean FCT of short flows, with a delta of 200 us"),),
        "LIA fills queues until SYNs are lost; with DCTCP's cuts for all multipath schemes OPN leads.",
    ),
    Conclusion(
        "opn",
        "Long flows have the highest throughput where paths are slow",
        "highest, 8 of 20 paths at 100 Mbps",
        (("opn/fig15", "OPN has the highest throughput of long flows, with a delta of 200 us"),),
        "The timer decides: 200 us are shorter than a full queue, two round-trip times are not.",
    ),
    Conclusion(
        "opn",
        "OPN is fair to TCP",
        "Jain's index above 0.9",
        (("opn/fig12", "Jain's index of OPN and TCP is above 0.9, last hop"),),
        "With up to 8 OPN flows; the paper does not give their number.",
    ),
    Conclusion(
        "mptcp-dc",
        "Multipath TCP has a significantly higher throughput than VLB in FatTree, VL2 and BCube",
        "figure 1; 77 % by VLB in VL2",
        (
            ("mptcp-dc/fig01", "VLB performs much worse in FatTree and BCube"),
            ("mptcp-dc/fig01", "As additional subflows are added, the overall throughput increases"),
        ),
        "Random single paths collide; VL2 has the least to gain, as VLB has 84 % there.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "Multipath TCP is fairer in all topologies",
        "always",
        (
            ("mptcp-dc/fig03", "Multipath always improves fairness, even for the VL2 topology"),
            ("mptcp-dc/fig03", "With Multipath TCP the slowest flow is faster"),
        ),
        "Subflows even out the collisions of paths.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "It outperforms or matches a central scheduler",
        "outperforms or matches",
        (("mptcp-dc/fig04", "Multipath TCP outperforms or matches the scheduler at any interval"),),
        "The scheduler loses paths to flows that wait for an RTO; in the paper it matches at 100 ms.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "Topologies that one path cannot fill are filled",
        "full bandwidth",
        (("mptcp-dc/fig01", "BCube, which one path cannot fill, gives full bandwidth to Multipath TCP"),),
        "Four paths of BCube do not fill it, and more paths change little.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "Eight subflows give 90 % in a FatTree, and hardly more are needed in larger ones",
        "8",
        (
            ("mptcp-dc/fig02", "FatTree needs eight subflows for 90 % utilisation"),
            (
                "mptcp-dc/fig02",
                "Beyond a certain size the number of subflows needed does not increase significantly",
            ),
        ),
        "10 with random paths that may repeat, 9 with paths that do not.",
    ),
    Conclusion(
        "mptcp-dc",
        "A testbed has 4.2 Gb/s by Multipath TCP and 2.7 by VLB",
        "1.56 times",
        (
            ("mptcp-dc/testbed", "Multipath TCP is a substantial improvement over VLB"),
            ("mptcp-dc/testbed", "TM1: all hosts' goodput by Multipath TCP"),
            ("mptcp-dc/testbed", "TM2: all hosts' goodput by Multipath TCP"),
        ),
        "The ratio; the rates depend on loss recovery, and the testbed's kernel is not stated.",
    ),
)
"""The conclusions, by paper, in the order of the papers."""

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not"
"""The verdicts on a conclusion."""


def verdict(holds: Sequence[bool]) -> str:
    """Returns the verdict on a conclusion from those on its claims."""
    return REPRODUCED if all(holds) else PARTLY if any(holds) else NOT


def stored_headlines(paper: str | None = None) -> list[dict[str, Any]]:
    """Returns the rows of the stored table, of one paper or of all.

    Raises:
        UsageError: No paper of that name has conclusions.
    """
    text = resources.files("weft_papers").joinpath(TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    names = list(dict.fromkeys(row["paper"] for row in rows))
    if paper is not None and paper not in names:
        raise UsageError(f"--headlines: {paper}: a paper without conclusions; allowed: {', '.join(names)}")
    return [row for row in rows if paper in (None, row["paper"])]
