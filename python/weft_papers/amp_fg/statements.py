"""The statements of Ye et al. (2019) that the claims of `amp-fg` judge."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from weft_papers import sums
from weft_papers.statement import Contradiction, Kind, NotStated, Open, Statement

FIXED = date(2026, 11, 22)
FIXED_AGAIN = date(2026, 11, 24)
FIXED_ABSTRACT = date(2026, 11, 28)
"""The day on which the readings of the abstract's sentence were fixed."""

SENDERS = Open(
    "neither the number of senders nor the round-trip time: with 1, 2 and 3 senders the frequency rises only with 1, "
    "where the queue hardly moves, and with links of 120 us no statement of the figure holds that fails here"
)
K_HALF = NotStated(
    "the marking threshold K, here 20 for a buffer of 100",
    "half the buffer: in the quick version with K = 50 the 99th percentiles are 61 and 60 packets, within 62.5; with "
    "20, 27, 30 and 40 they are 34, 41, 43 and 53 by XMP, above 1.25 K",
)
LIA_QUEUE = Open(
    '"fluctuates from 0": with 10 subflows for each of 8 senders, as here, the queue stays above 0, because not all '
    "windows are halved at once; with 10 in all, the other reading, it moves between 0 and 99"
)
LARGE = Contradiction(
    '"the reduction of FCT" of objects that share one link against fair sharing', sums.fair_sharing_large
)
ONE_JOB = Open(
    "of one job all objects share the client's link, and Weft's difference is within 3 %; with 16 jobs at a time "
    "AMP-FG has 8 to 10 % more than DCTCP with three seeds"
)
XMP_SMALL = NotStated(
    "the number of jobs at a time, here one",
    "16 jobs at a time, objects to 12.8 MB: 13.2, 16.7 and 8.2 % below XMP with seeds 1 to 3, so that the mean is "
    "within the tolerance",
)
SOCKETS = NotStated(
    "the transport of ns-3.21, here without its slow-start threshold and buffers in the stored run",
    "these two: in the quick version AMP-FG is 23.8 % below LIA and 40.3 % below MMPTCP with large objects, and 2.19 % "
    "above MMPTCP with 2 subflows",
)
RTOS = Open(
    "more than half of LIA's and MMPTCP's objects wait for RTOs of 200 ms here, so that AMP-FG is far more than the "
    "paper's percentage below them; no buffer was tried with which they do not"
)
XMP_CUT = (
    "the XMP of section V.B, here that of its own paper, which cuts by 1 / beta down to 2 packets. Figure 4 says that "
    '"for simplicity" XMP cuts "by the ratio of ACK packets with ECN-marked", and says it of that figure only'
)
UNCOUPLED = Open(
    "no reading of AMP-FG: growth at every acknowledgement, Algorithm 1's XOR, alpha as weight ratio, ns-3's rounds "
    "and "
    "its slow-start threshold leave it below XMP, whose increase is coupled. Only an XMP with figure 4's simplified "
    "cut "
    "is below AMP-FG"
)
ABOVE_XMP = (
    "with figure 4's cut, and a floor of 1 packet for both, AMP-FG is 10.3 to 11.7 % above XMP with 2 and 4 subflows, "
    "8 to "
    "8.6 % with 6 and 5.6 to 5.8 % with 8 (100 MB, seeds 1 to 3)"
)
S_CUTS = '"the weight ratio" of the text and figure 4 against equation (5)'


def _said(sentence: str, cause: Contradiction | NotStated | Open | None = None) -> Statement:
    return Statement(sentence=sentence, fixed=FIXED, cause=cause)


def _abstract(cause: NotStated | Open | None = None) -> Statement:
    sentence = "AMP achieves lower latency for small flows and higher throughput for large flows"
    return Statement(sentence=sentence, fixed=FIXED_ABSTRACT, cause=cause, fitted=("the figure as its place",))


FCT = "compared with other four algorithms, AMP has the least flow completion time for both small and large flows"
BELOW = "AMP achieves the reduction of FCT by {}%, {}%, {}% and {}% compared with DCTCP, MMPTCP, LIA-4, and XMP-4"
SMALL_SAID = BELOW.format(8.9, 26.2, 19.5, 16.3)
LARGE_SAID = BELOW.format(21.2, 38.3, 24.9, 12.8)
OSCILLATION = "the oscillations frequency of queue length is accelerated and the amplitude becomes larger"
LIA_SAID = "The buffer size of LIA fluctuates from 0 to 100"
K_SAID = "XMP and AMP can effectively control the buffer size changing from 0 to K"
LOWER_SAID = "AMP can ... control buffer size occupation to be lower"
SIMILAR = "The similar results of large buffer size"

STATEMENTS: dict[str, dict[str, Statement]] = {
    "amp-fg/fig02": {
        "With 8 subflows instead of 4 the queue oscillates faster": _said(OSCILLATION, SENDERS),
        "With 8 subflows instead of 4 the amplitude becomes larger": _said(OSCILLATION),
        "The oscillation of single path TCP is smaller than that of MPTCP": _said(
            "Compared with MPTCP, the queue length oscillation of the single path TCP is smaller", SENDERS
        ),
        "The oscillation becomes larger as subflows increase from 4 to 8": _said(
            "the magnitude of oscillation becomes larger as the number of subflows increases from 4 to 8"
        ),
    },
    "amp-fg/fig04": {
        "Scenario 1, the last packet is marked: AMP-FG's window of 4 becomes 2": _said(
            "AMP sender reduces the congestion window to 2 in the 3rd RTT",
            Contradiction(S_CUTS, sums.amp_fg_first_scenario),
        ),
        "Scenario 2, the first packet is marked: AMP-FG's window of 4 becomes 4": _said(
            "AMP sender does not reduce the congestion window due to the small weight of the first packet",
            Contradiction("figure 4(d) against every rule of the text", sums.amp_fg_second_scenario),
        ),
        "Scenario 3, two packets in a row are marked: AMP-FG's window of 4 becomes 1": _said(
            "AMP sender decreases the congestion window to 1", Contradiction(S_CUTS, sums.amp_fg_third_scenario)
        ),
        "Scenario 1, the last packet is marked: XMP's window of 4 becomes 3": _said(
            "XMP decreases its congestion window to 3 according to the ratio of marked packets"
        ),
        "Scenario 2, the first packet is marked: XMP's window of 4 becomes 3": _said(
            "XMP changes the congestion window to 3"
        ),
        "Scenario 3, two packets in a row are marked: XMP's window of 4 becomes 2": _said(
            "XMP decreases the congestion window by half according to the ratio of marked packets"
        ),
        "AMP-FG cuts more for a mark on the last packet than for one on the first": _said(
            "AMP can detect more accurate congestion conditions according to the different weight of packet"
        ),
        "With alpha as weight ratio the windows are those of the text": Statement(
            sentence="the weight ratio of ACK packets with ECN-marked in the current whole congestion window",
            kind=Kind.SHOWN,
        ),
        "AMP-FG cuts more than XMP when the last packets are marked, scenarios 1 and 3": _said(
            "AMP deals with the most recent marked packet in a more active manner compared with XMP",
            Contradiction("figure 4 against equation (5)", sums.amp_fg_cuts_less),
        ),
    },
    "amp-fg/fig05": {
        f"{figure}: {claim}": Statement(sentence=sentence, fixed=FIXED_AGAIN, cause=cause)
        for figure, lia, said in (
            (
                "Figure 5, buffer of 100",
                LIA_QUEUE,
                (LIA_SAID, K_SAID, LOWER_SAID),
            ),
            (
                "Figure 6, buffer of 500",
                LIA_QUEUE,
                (SIMILAR, SIMILAR, SIMILAR),
            ),
        )
        for claim, sentence, cause in (
            ("LIA's queue fluctuates between empty and full", said[0], lia),
            (
                "XMP and AMP-FG keep the queue between 0 and K",
                said[1],
                K_HALF,
            ),
            ("AMP-FG keeps the queue lower than XMP", said[2], None),
        )
    },
    "amp-fg/fig07": {
        "Between 10 KB and 1 MB, AMP-FG has the least FCT": _said(FCT, ONE_JOB),
        "Between 10 KB and 1 MB, AMP-FG's FCT is 8.9 % below that of DCTCP": _said(SMALL_SAID, ONE_JOB),
        "Between 10 KB and 1 MB, AMP-FG's FCT is 26.2 % below that of MMPTCP": _said(SMALL_SAID, RTOS),
        "Between 10 KB and 1 MB, AMP-FG's FCT is 19.5 % below that of LIA": _said(SMALL_SAID, RTOS),
        "Between 10 KB and 1 MB, AMP-FG's FCT is 16.3 % below that of XMP": _said(SMALL_SAID, XMP_SMALL),
        "Above 100 MB, AMP-FG has the least FCT": _said(FCT, LARGE),
        "Above 100 MB, AMP-FG's FCT is 21.2 % below that of DCTCP": _said(LARGE_SAID, LARGE),
        "Above 100 MB, AMP-FG's FCT is 38.3 % below that of MMPTCP": _said(LARGE_SAID, SOCKETS),
        "Above 100 MB, AMP-FG's FCT is 24.9 % below that of LIA": _said(LARGE_SAID, SOCKETS),
        "Above 100 MB, AMP-FG's FCT is 12.8 % below that of XMP": _said(LARGE_SAID, LARGE),
        "Between 10 KB and 1 MB, AMP-FG's FCT is below that of LIA and XMP": _abstract(XMP_SMALL),
        "Between 10 KB and 1 MB, AMP-FG's FCT is below that of LIA and XMP, 16 jobs at a time": replace(
            _abstract(), kind=Kind.SHOWN, fixed=None, fitted=()
        ),
    },
    "amp-fg/fig08": {
        "With more subflows all MPTCP protocols get a higher throughput": _said(
            "With increasing of the number of subflows, all MPTCP protocols get the higher network throughput",
            Open(
                "LIA with 8 subflows: 92 % of its flows time out, and its goodput falls from 0.613 with 4 subflows to "
                "0.48. ns-3.21's first slow-start threshold leaves 95 % (20 MB, seed 1)"
            ),
        ),
        "Beyond a certain number of subflows the throughput increases slowly": _said(
            "when the number of subflows exceeds a certain value, the network throughput increases slowly"
        ),
        "Under the same number of subflows AMP-FG has the highest throughput": _said(
            "Under the same number of subflows, AMP achieves the highest network throughput",
            NotStated(XMP_CUT, ABOVE_XMP),
        ),
        "With only 2 subflows AMP-FG is 1.4 % above MMPTCP": _said(
            "Even for only two subflows, AMP increases the network throughput by 1.4% compared to MMPTCP",
            SOCKETS,
        ),
        "AMP-FG's throughput is 10 % to 35 % above that of DCTCP, LIA and XMP": _said(
            "Compared with DCTCP, LIA and XMP, AMP achieves 10%-35% higher throughput",
            NotStated(
                XMP_CUT,
                f"{ABOVE_XMP}, within the 5 points that the claim allows. AMP-FG stays 45 % above LIA with 8 subflows, "
                "of whose flows 92 % have timeouts",
            ),
        ),
        "AMP-FG needs fewer subflows for a similar throughput": _said(
            "When achieving the similar throughput, AMP needs less subflows",
            NotStated(
                XMP_CUT,
                "with figure 4's cut, and a floor of 1 packet for both, 4 subflows of AMP-FG have 0.671 and 8 of XMP "
                "0.655 "
                "(100 MB, seeds 1 to 3)",
            ),
        ),
        "AMP-FG has a higher throughput than LIA and XMP": _abstract(UNCOUPLED),
    },
}
