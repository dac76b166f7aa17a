"""The statements of Huang et al. (2021) that the claims of `opn` judge.

Claims about OPN run with two timers. Algorithm 1's "delta <- 200us", the paper's only number, is judged; the text's "2
times of the average round trip time", taken as two smoothed round-trip times, is shown.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from weft_papers import sums
from weft_papers.opn.settings import WITH
from weft_papers.statement import Contradiction, Differs, Kind, NotStated, Open, Origin, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft_papers.statement import Cause

FIXED = date(2026, 11, 22)
FIXED_ABSTRACT = date(2026, 11, 28)
"""The day on which the figures were chosen in which the abstract's sentence is judged."""

PAIRS = NotStated(
    'the pairs of "1000 flows with same size between each pair of hosts", here from one rack to one, whose 20 Gbps '
    "take "
    "120 ms for 2.4 Gbit whatever the scheme",
    "flows that do not fill the rack's links: with starts spread over 150 ms, ECMP has the longest mean FCT of the "
    "four "
    "other schemes, 10.7 ms, MPTCP 8.71, RPS 7.11 and MMPTCP 4.89",
)
NOT_LEAST = Open(
    "with starts within 1 ms, ECMP and RPS have 119 ms, the 120 ms that the rack's links take; with starts over 150 ms "
    "OPN has 115 ms with 200 us and 7.44 ms with two round-trip times, RPS 7.11 and MMPTCP 4.89 ms. With the former "
    "starts, two round-trip times and DCTCP's cuts it has 114 to 121 ms, RPS 118 to 120. One flow for each of 1,000 "
    "pairs of 2,000 hosts takes 4.4 ms by OPN with two round-trip times, and 3.38 ms by MPTCP"
)
ALL_AT_ONCE = Open(
    "not the queues of hosts: with 1,000 and 2,000 packets instead of 256, 96 % of MPTCP's flows time out as before "
    "(seed 1). A quarter of the flows gives 67 % less than MPTCP"
)
DELTA = Contradiction("Algorithm 1's timer of 200 us against 2 average round-trip times", sums.opn_delta)
CUTS = "the congestion control of MPTCP's and OPN's subflows, here LIA, which fills queues until they overflow"
THREE = Differs(
    CUTS,
    "with DCTCP's cuts OPN has the least under three of four workloads, and RPS under Web Server (figure 13: 0.325, "
    "0.330 and 0.322 ms against 0.351, 0.351 and 0.357, but 1.68 against 0.555)",
)


def _said(sentence: str, cause: Cause | None = None) -> Statement:
    return Statement(sentence=sentence, fixed=FIXED, cause=cause)


def _by_timer(claim: str, behind: Statement, joint: str = ", ") -> dict[str, Statement]:
    """Returns the statements of a claim by timer: the one that is judged and the one that is shown."""
    name = f"opn: {behind.sentence}: {claim}"
    judged, shown = (f"{claim}{joint}{words}" for words in WITH.values())
    return {
        judged: replace(behind, same_as=name),
        shown: replace(behind, same_as=name, kind=Kind.SHOWN, cause=None, fixed=None),
    }


def _abstract(subject: str) -> dict[str, Statement]:
    """Returns the statements of the abstract; figures of the same days were known when they were chosen."""
    found: dict[str, Statement] = {}
    for claim, sentence in (
        ("OPN reduces the probability of timeouts", "effectively reduces the timeout probability"),
        (f"{subject} is up to 50 % below that of MPTCP", "flow completion time by up to 50% compared with MPTCP"),
    ):
        said = Statement(sentence=sentence, fixed=FIXED_ABSTRACT, fitted=("figures 10 and 11 as its place",))
        found |= _by_timer(claim, said)
    return found


def _workloads(causes: Mapping[str, Cause], said: Mapping[str, str]) -> dict[str, Statement]:
    words = {
        "short": "OPN has the least mean FCT of short flows",
        "tail": "OPN has the least 99th percentile of short flows' FCT",
        "long": "OPN has the highest throughput of long flows",
        "similar": "OPN's throughput of long flows is similar to that of MPTCP and MMPTCP",
        "all": "OPN has the highest overall throughput",
    }
    found: dict[str, Statement] = {}
    for what, sentence in said.items():
        behind = _said(sentence, causes[what])
        found |= _by_timer(words[what], behind)
        if what in ("short", "tail", "long"):
            cuts = replace(behind, kind=Kind.SHOWN, cause=None, fixed=None)
            found |= {
                f"{words[what]}, {timer}, and DCTCP's cuts for all multipath schemes": cuts for timer in WITH.values()
            }
    return found


STATEMENTS: dict[str, dict[str, Statement]] = {
    "opn/fig02": {
        "The average window falls as the number of subflows rises": _said(
            "When the number of subflows increases, the average congestion window of subflows is reduced"
        ),
        "With 20 subflows and 400 packets the average window is about 5": _said(
            "each subflow transmits only 20 packets on average, resulting in the average congestion window as small as "
            "about 5",
            NotStated(
                "how the window is averaged, here over the life of the flow, waits for RTOs included",
                "packets sent per round: 20 packets go out in 4 rounds of 2, 4, 8 and 6, which is 5",
            ),
        ),
        "Timeouts rise with the number of subflows": _said(
            "each subflow is more likely to lose packets within the entire congestion window, resulting in more "
            "timeout "
            "events"
        ),
        "The mean FCT falls with more subflows and then rises greatly": _said(
            "when the number of subflows is small, the flow completion time decreases ... exceeds a certain point ... "
            "greatly increases",
        ),
    },
    "opn/fig06": {
        "With few subflows, more of them improve the throughput": _said(
            "under the small number of subflows, more subflows are beneficial in improving throughput"
        ),
        "With many subflows the throughput falls": _said(
            "when the number of subflows is large, the small congestion window ... leads to ... throughput degradation",
            NotStated("the loss rates of figure 6, here 0.1 to 0.5", "0.3 or more; with 0.3, 0.4 and 0.5 it falls"),
        ),
        "The best number of subflows falls as the loss rate rises": _said(
            "Figure 7 shows the relationship between the packet loss rate and n*"
        ),
        "Equation (11) gives the number with the maximum throughput": _said(
            "we can obtain the optimal number of subflows n* to achieve the maximum throughput",
            Contradiction("equation (11) against equation (7)", sums.opn_best),
        ),
    },
    "opn/fig10": {
        **_by_timer(
            "MPTCP_OPN has the least mean FCT",
            _said("Compared with the other schemes ... effectively reducing the flow completion time", NOT_LEAST),
        ),
        "ECMP has the largest mean FCT": _said("ECMP experiences the largest flow completion time", PAIRS),
        "RPS, MPTCP and MMPTCP lie between ECMP and OPN": _said(
            "RPS ... suboptimal flow completion time. Both MPTCP and MMPTCP ... the overall transmission efficiency is "
            "reduced",
            NOT_LEAST,
        ),
        "The number of subflows follows losses: the table is below the number of paths": Statement(
            origin=Origin.WEFT, fixed=FIXED
        ),
        **_abstract("OPN's mean FCT"),
    },
    "opn/fig11": {
        **_by_timer(
            "OPN's mean FCT of short flows is 60 % below that of MPTCP",
            _said("Compared with the MPTCP protocol, MPTCP_OPN reduces AFCT by 60%", ALL_AT_ONCE),
        ),
        **_by_timer(
            "OPN has the best 99th percentile of short flows' FCT",
            _said("MPTCP_OPN achieves the best performance in reducing the tail latency", ALL_AT_ONCE),
        ),
        **_by_timer(
            "OPN's throughput of long flows is similar to that of MPTCP",
            _said("MPTCP_OPN achieves the similar performance of MPTCP", ALL_AT_ONCE),
        ),
        **_abstract("OPN's mean FCT of short flows"),
    },
    "opn/fig12": {
        "Jain's index of OPN and TCP is above 0.9, last hop": _said(
            "measure the throughputs of MPTCP_OPN and TCP flows on the last hop to the receiver ... higher than 0.9",
            NotStated("the numbers of OPN flows, here 1 to 16", "up to 8; the index is then 0.901 to 0.996"),
        ),
        "Jain's index of OPN and TCP is above 0.9, each path": Statement(
            sentence="the MPTCP_OPN flows and 100 background traditional TCP flows are transmitted on each path",
            kind=Kind.SHOWN,
        ),
    },
    "opn/fig13": {
        **_workloads(
            {
                "short": THREE,
                "tail": Open(
                    "with DCTCP's cuts OPN has 2.05 to 2.22 ms and RPS 1.52 to 1.71 ms, so that cuts are not the "
                    "whole cause"
                ),
                "similar": Open(
                    "with 200 us it is below MPTCP's and with two smoothed round-trip times above; no timer was run "
                    "with "
                    "which it is similar to both MPTCP's and MMPTCP's, which differ from each other"
                ),
                "all": Open(
                    '"overall throughput" is not defined; with all bytes over the sum of completion times RPS has the '
                    "highest, also if MPTCP and OPN have DCTCP's cuts"
                ),
            },
            {
                "short": "MPTCP_OPN effectively avoids timeout events and greatly reduces the average completion time",
                "tail": "MPTCP_OPN ... effectively reducing the 99th percentile FCT of short flows",
                "similar": "For long flows, MPTCP_OPN achieves the similar performance of MPTCP and MMPTCP",
                "all": "MPTCP_OPN ... obtain the highest overall throughput",
            },
        ),
        "Short flows' mean FCT is longest under Data Mining, with all schemes": _said(
            "Compared with other workloads, the five schemes perform the worst in Data Mining",
            Open(
                "the paper's reason, the largest share of short flows, holds here as well (83 % up to 100 KB); Web "
                "Server has more flows of 10 to 100 KB (18 %), which take longer"
            ),
        ),
    },
    "opn/fig15": _workloads(
        {
            "short": Differs(
                CUTS,
                "with DCTCP's cuts OPN has 0.478 ms under Data Mining and 0.484 under Web Search, RPS 1.04 and 0.96",
            ),
            "tail": Open(
                "with DCTCP's cuts OPN has 2.09, 2.12, 1.95 and 31.5 ms and RPS 7.51, 6.18, 6.39 and 68, but MPTCP, "
                "given "
                "the same cuts, 9.93 ms under Web Server. These runs are older than today's path rule"
            ),
            "long": DELTA,
            "all": DELTA,
        },
        {
            "short": "under four kinds of workloads, MPTCP_OPN achieves the minimum AFCT ... of short flows",
            "tail": "MPTCP_OPN achieves the minimum ... 99th percentile FCT of short flows",
            "long": "MPTCP_OPN also achieves the highest throughput of long flows",
            "all": "MPTCP_OPN obtains the maximum overall throughput",
        },
    ),
    "opn/fig16": {
        **_by_timer(
            "OPN's mean FCT of short flows is about 50 % below that of the other schemes",
            _said(
                "Compared with other schemes, MPTCP_OPN reduces AFCT of short flows by about 50%",
                NotStated(
                    f"the base and the bandwidth of the 50 %, here the best other scheme at each bandwidth, and {CUTS}",
                    "DCTCP's cuts and failed paths of 100 Mbps: OPN then has 0.354 ms under Data Mining and 0.362 ms "
                    "under Web Search, 44 and 46 % below RPS, the best; it is 27 and 26 % below at 200 Mbps and 8 and "
                    "11 % at 1 Gbps (five seeds; the other multipath schemes have LIA)",
                ),
            ),
        ),
        "As the failed paths' bandwidth rises, short flows' mean FCT falls": _said(
            "When the link bandwidth of failed paths increases, AFCT of short flows gradually decreases",
            Differs(
                "flows open for 20 ms, which gives 90 to 300 short flows per run, with RTOs of 200 ms",
                "one cell's mean lies between 0.60 and 8.95 ms for the five seeds (MPTCP, Web Search, 900 Mbps), more "
                "than the effect",
            ),
        ),
        **_by_timer(
            "OPN has the least mean FCT of short flows, however many paths fail",
            _said(
                "it obtains the lowest AFCT of short flows in both application scenarios",
                Differs(
                    CUTS,
                    "with DCTCP's cuts OPN has the least in 16 of 16 cases of figure 17, 29 to 46 % below the best "
                    "other "
                    "scheme: 0.257 to 0.362 ms instead of 0.374 to 0.665 (five seeds; the others have LIA)",
                ),
            ),
        ),
        "As more paths fail, short flows' mean FCT rises": _said(
            "As the number of failed paths increases, AFCT of short flows gradually increases",
            Differs(
                "flows open for 20 ms, which gives 90 to 300 short flows per run, with RTOs of 200 ms",
                "31 of 84 steps go the other way; one cell's mean lies between 0.81 and 11.2 ms for the five seeds",
            ),
        ),
    },
}
