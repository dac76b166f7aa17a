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
    claims: tuple[tuple[str, str, str], ...]
    """The claims that decide it: figure, claim, and a label of the value, if it needs one."""
    why: str
    """The reason of the verdict, in a sentence."""
    abstract: bool = False
    """Whether the abstract has the conclusion."""


CONCLUSIONS = (
    Conclusion(
        "amp",
        "Under incast DCM and XMP are 1 to 2 orders of magnitude slower than DCTCP",
        "10 to 100 times; over 800 ms with 30 flows",
        (
            (
                "amp/fig02",
                "In many cases the mean FCT of DCTCP is 1 to 2 orders of magnitude shorter than that of DCM and XMP",
                "over DCTCP's FCT",
            ),
            ("amp/fig02", "k = 30: the mean FCT of DCM and XMP is over 800 ms", "with 30 flows"),
        ),
        "The factor is there; 800 ms take an initial RTO of 3 s, which the paper does not give and is 1.5 s here.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "Minimum window syndrome: a multipath flow takes 2 to 5 times a single-path flow's throughput",
        "2 to 5 times, from 3 subflows on",
        (
            ("amp/fig04", "(a) The syndrome begins as soon as XMP uses three subflows or more", ""),
            (
                "amp/fig04",
                "The syndrome gives multipath flows 2 to 5 times the throughput of single-path flows",
                "",
            ),
        ),
        "About 2 to 5 times with 3 to 6 subflows; with 7 and 8 all windows are at their floor, and it is 7 and 8.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP is as robust to incast as DCTCP, and 1 to 2 orders of magnitude faster than XMP and DCM",
        "as good as DCTCP, slightly worse with 40 flows; 10 to 100 times",
        (
            ("amp/fig08", "AMP is as good as DCTCP up to 30 flows", "over DCTCP's FCT up to 30 flows"),
            ("amp/fig08", "With 40 flows AMP performs slightly worse than DCTCP", "with 40"),
            (
                "amp/fig08",
                "In most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM",
                "over AMP's FCT",
            ),
        ),
        "With 40 flows, rules of handshakes and of the packet scheduler decide whether suppression comes in time.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP is fairer to single-path flows than XMP and DCM",
        "the best in almost all cases",
        (("amp/fig09", "In almost all cases AMP is fairer than XMP and DCM", "Jain's index"),),
        "Without suppression AMP is as unfair as XMP and DCM.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "AMP mitigates buffer inflation",
        "12 packets against more than 20",
        (
            ("amp/fig10", "(b) The median queue with AMP is 12 packets, about 2 more than in (a)", "AMP"),
            (
                "amp/fig10",
                "(b) 4 flows of XMP or DCM keep the queue above 20 packets at the median, twice that of (a)",
                "",
            ),
        ),
        "With suppression few windows stay at their floor. XMP's and DCM's queue is above 20 packets 84 % of the time, "
        "in the paper all the time.",
    ),
    Conclusion(
        "amp",
        "In a large fabric long AMP flows leave short flows the shortest times",
        "JCT 39 % below XMP's; FCT p90 0.18 ms",
        (
            ("amp/fig12", "8 subflows: AMP's JCT is 39 % below XMP's", "JCT below XMP's"),
            (
                "amp/fig12",
                "AMP's long flows do not harm the jobs: 4, 6 and 8 subflows give slightly better JCTs than long flows "
                "by DCTCP",
                "over DCTCP's",
            ),
            ("amp/fig14", "The 90th percentile of short flows' FCT with long flows by AMP", "FCT p90"),
            ("amp/fig14", "90th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM", ""),
        ),
        "Suppressed subflows leave the queues to short flows: without suppression the JCT is 1.79 instead of 1.11 ms.",
    ),
    Conclusion(
        "amp",
        "Long AMP flows lose little throughput",
        "almost the same goodput by all schemes",
        (("amp/fig14", "The goodput of long flows is distributed almost identically across all schemes", ""),),
        "The largest is 1.12 times the smallest at most, at the three percentiles.",
        abstract=True,
    ),
    Conclusion(
        "amp",
        "A constant cut shifts traffic faster than DCM's cut by alpha",
        "3 ms against 7 ms",
        (
            ("amp/fig06", "A constant cut shifts traffic faster than DCM's cut by alpha", ""),
            ("amp/fig06", "Figure 6(b): DCM finishes its traffic shifting after about 7 ms", "DCM"),
        ),
        "The order and the 3 ms of MPTCP, AMP and XMP hold; DCM's time depends on the order of packets at one instant.",
    ),
    Conclusion(
        "amp-fg",
        "With more subflows the queue oscillates faster and with a larger amplitude",
        "faster and larger, 8 instead of 4",
        (
            ("amp-fg/fig02", "With 8 subflows instead of 4 the amplitude becomes larger", "amplitude"),
            (
                "amp-fg/fig02",
                "With 8 subflows instead of 4 the queue oscillates faster",
                "crossings of the mean per ms",
            ),
        ),
        "With 4 subflows all windows are at their floor and the queue stands still; with 8 they do not fit into the "
        "buffer of 100 packets, and the queue moves far but slowly.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "AMP-FG keeps the queue lower than XMP",
        "lower, buffers of 100 and 500",
        (
            ("amp-fg/fig05", "Figure 5, buffer of 100: AMP-FG keeps the queue lower than XMP", "buffer of 100"),
            ("amp-fg/fig05", "Figure 6, buffer of 500: AMP-FG keeps the queue lower than XMP", "of 500"),
        ),
        "It cuts by the marks of a round instead of by a constant part, and to one packet instead of two. With 10 "
        "subflows of each sender instead of 10 in all, its queue in a buffer of 100 is 2.11 times XMP's.",
    ),
    Conclusion(
        "amp-fg",
        "Small flows have a lower latency than by LIA and XMP",
        "19.5 and 16.3 % lower",
        (
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is below that of LIA and XMP", ""),
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is 19.5 % below that of LIA", "below LIA"),
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG's FCT is 16.3 % below that of XMP", "below XMP"),
        ),
        "Far below LIA, whose objects wait for RTOs; level with XMP for one job at a time, 2 to 17 % below for 16.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "Objects of all sizes end earliest, also compared with DCTCP and MMPTCP",
        "least; 8.9 and 21.2 % below DCTCP",
        (
            ("amp-fg/fig07", "Between 10 KB and 1 MB, AMP-FG has the least FCT", "up to 1 MB"),
            ("amp-fg/fig07", "Above 100 MB, AMP-FG has the least FCT", "above 100 MB"),
        ),
        "All objects of a job share the client's link, which DCTCP, XMP and AMP-FG fill alike.",
    ),
    Conclusion(
        "amp-fg",
        "Large flows have a higher throughput than by LIA and XMP",
        "10 to 35 % above DCTCP, LIA and XMP",
        (
            ("amp-fg/fig08", "AMP-FG has a higher throughput than LIA and XMP", ""),
            ("amp-fg/fig08", "AMP-FG's throughput is 10 % to 35 % above that of DCTCP, LIA and XMP", "above the three"),
        ),
        "Above LIA with 6 and 8 subflows, where nearly all of its flows time out; above XMP only if XMP cuts as "
        "figure 4 simplifies it, and both have a floor of one packet.",
        abstract=True,
    ),
    Conclusion(
        "amp-fg",
        "Fewer subflows give the same throughput",
        "fewer",
        (("amp-fg/fig08", "AMP-FG needs fewer subflows for a similar throughput", "that of"),),
        "XMP's throughput is not reached. 2 subflows reach that of LIA with 8, of whose flows nearly all time out; "
        "LIA's best, with 4, takes 6.",
    ),
    Conclusion(
        "opn",
        "With more subflows the FCT falls, and then rises with timeouts",
        "a minimum inside, 1 to 20 subflows",
        (
            ("opn/fig02", "The mean FCT falls with more subflows and then rises greatly", ""),
            ("opn/fig02", "Timeouts rise with the number of subflows", "timeouts"),
        ),
        "More subflows use more paths; with many, lost windows wait for RTOs. Each flow has its receiver here; with "
        "one for all, the FCT does not fall.",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "In the model, too, throughput rises with subflows and then falls, and the best number falls with losses",
        "figures 6 and 7, equation (11)",
        (
            ("opn/fig06", "With few subflows, more of them improve the throughput", "second subflow"),
            ("opn/fig06", "With many subflows the throughput falls", "32nd"),
            ("opn/fig06", "The best number of subflows falls as the loss rate rises", "best"),
            ("opn/fig06", "Equation (11) gives the number with the maximum throughput", "(11)"),
        ),
        "Up to a loss rate of 0.2 it rises to 32 subflows; equation (11) has lost an exponent of (9).",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "Fewer timeouts than by MPTCP",
        "reduces their probability",
        (
            ("opn/fig10", "OPN reduces the probability of timeouts, with a delta of 200 us", "figure 10"),
            ("opn/fig11", "OPN reduces the probability of timeouts, with a delta of 200 us", "figure 11"),
        ),
        "Data outstanding on slow paths is sent on fast ones before it waits for an RTO.",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "The FCT is up to 50 % below MPTCP's",
        "up to 50 %; short flows 60 % (figure 11)",
        (
            ("opn/fig10", "OPN's mean FCT is up to 50 % below that of MPTCP, with a delta of 200 us", "figure 10"),
            (
                "opn/fig11",
                "OPN's mean FCT of short flows is up to 50 % below that of MPTCP, with a delta of 200 us",
                "figure 11",
            ),
            (
                "opn/fig11",
                "OPN's mean FCT of short flows is 60 % below that of MPTCP, with a delta of 200 us",
                "figure 11",
            ),
        ),
        "Further below, as MPTCP waits for RTOs in nearly all flows. If the flows of figure 10 start apart, OPN is far "
        "above MPTCP.",
        abstract=True,
    ),
    Conclusion(
        "opn",
        "Of many flows between two racks OPN's end earliest",
        "least mean FCT of five schemes",
        (("opn/fig10", "MPTCP_OPN has the least mean FCT, with a delta of 200 us", ""),),
        "ECMP and RPS fill the racks' links, which take 120 ms; a delta of two round-trip times has less.",
    ),
    Conclusion(
        "opn",
        "Short flows end earlier than by all other schemes",
        "least mean FCT, four workloads",
        (("opn/fig13", "OPN has the least mean FCT of short flows, with a delta of 200 us", ""),),
        "MPTCP, MMPTCP and OPN grow by LIA until queues overflow; with DCTCP's cuts for all multipath schemes OPN "
        "leads under three workloads of four.",
    ),
    Conclusion(
        "opn",
        "Long flows have the highest throughput where paths are slow",
        "highest, 8 of 20 paths at 100 Mbps",
        (("opn/fig15", "OPN has the highest throughput of long flows, with a delta of 200 us", ""),),
        "With 200 us it is the highest under three workloads of four, with two round-trip times under all.",
    ),
    Conclusion(
        "opn",
        "OPN is fair to TCP",
        "Jain's index above 0.9",
        (("opn/fig12", "Jain's index of OPN and TCP is above 0.9, last hop", "1 to 16 OPN flows"),),
        "Above 0.9 with 1 and 2 OPN flows, below with more, whose number the paper does not give. With the TCP flows "
        "on each path it is above 0.99.",
    ),
    Conclusion(
        "mptcp-dc",
        "Multipath TCP has a significantly higher throughput than VLB in FatTree, VL2 and BCube",
        "significantly higher",
        (
            ("mptcp-dc/fig01", "VLB performs much worse in FatTree and BCube", "VLB"),
            ("mptcp-dc/fig01", "As additional subflows are added, the overall throughput increases", "Multipath TCP"),
        ),
        "Random single paths collide; VL2 has the least to gain, as VLB has 84 % there.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "Multipath TCP is fairer in all topologies",
        "always",
        (
            ("mptcp-dc/fig03", "Multipath always improves fairness, even for the VL2 topology", "Jain's index"),
            ("mptcp-dc/fig03", "With Multipath TCP the slowest flow is faster", "slowest flow"),
        ),
        "Subflows even out the collisions of paths.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "It outperforms or matches a central scheduler",
        "outperforms or matches",
        (("mptcp-dc/fig04", "Multipath TCP outperforms or matches the scheduler at any interval", ""),),
        "A flow that waits for an RTO loses the path that the scheduler gave it; in the paper the scheduler comes near "
        "at 100 ms.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "There are topologies that one path cannot fill, and Multipath TCP can",
        "full bandwidth",
        (
            (
                "mptcp-dc/bcube-light-load",
                "On BCube a single flow can use all the host's interfaces simultaneously",
                "one flow",
            ),
            (
                "mptcp-dc/fig01",
                "BCube, which one path cannot fill, gives full bandwidth to Multipath TCP",
                "permutation",
            ),
        ),
        "One flow alone fills all interfaces of BCube; a permutation of all hosts does not fill it, with more paths "
        "either.",
        abstract=True,
    ),
    Conclusion(
        "mptcp-dc",
        "Eight subflows give 90 % in a FatTree, and hardly more are needed in larger ones",
        "8",
        (
            ("mptcp-dc/fig02", "FatTree needs eight subflows for 90 % utilisation", "for 90 %"),
            (
                "mptcp-dc/fig02",
                "Beyond a certain size the number of subflows needed does not increase significantly",
                "",
            ),
        ),
        "10 with random paths that may repeat, of which 9 have 89.98 %; 9 with paths that do not.",
    ),
    Conclusion(
        "mptcp-dc",
        "A testbed has 4.2 Gb/s by Multipath TCP and 2.7 by VLB",
        "4.2 and 2.7 Gbit/s, 1.56 times",
        (
            ("mptcp-dc/testbed", "Multipath TCP is a substantial improvement over VLB", ""),
            ("mptcp-dc/testbed", "TM1: all hosts' goodput by Multipath TCP", "TM1"),
            ("mptcp-dc/testbed", "TM1: all hosts' goodput by VLB", "TM1 by VLB"),
            ("mptcp-dc/testbed", "TM2: all hosts' goodput by Multipath TCP", "TM2"),
            ("mptcp-dc/testbed", "TM2: all hosts' goodput by VLB", "TM2 by VLB"),
        ),
        "The ratio holds; the rates depend on loss recovery, and the testbed's kernel is not stated.",
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
