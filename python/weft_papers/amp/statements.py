"""The statements of Kheirkhah and Lee (2020) that the claims of `amp` judge.

The paper contradicts itself about the link delay of the topologies of figures 1 and 5. The delay was fixed for all
figures at once on 24 November 2026, before their runs of that day. `settings` has the sentences that support it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from weft_papers import sums
from weft_papers.amp import linux_statements
from weft_papers.statement import Contradiction, Differs, Kind, NotStated, Open, Origin, Statement

if TYPE_CHECKING:
    from weft_papers.statement import Cause

FIXED = date(2026, 11, 24)
"""The day on which the readings of figure 14, and of figures on the topologies of figures 1 and 5, were fixed."""
FIXED_EARLIER = date(2026, 11, 21)
"""The day on which the readings of figures 12 and 13 were fixed."""

STALL_AND_AMP = Open(
    "the stall of the authors' simulator explains XMP and DCM (figure 2), but AMP has no timeout here, and its "
    "standard "
    "deviation of 0.56 ms is below 1 ms as well"
)
STALL = Differs(
    "the simulator behind the paper stalls subflows after go-back-N, a fault that Weft does not have",
    "with that fault built in DCM's mean FCT is above 800 ms and XMP's above 600 ms with links of 2 us; the authors' "
    "simulator, rerun from its source, has 878 and 674 ms, and 573 and 522 ms without the fault (decision 7)",
)
STALLED_TIMEOUTS = Open(
    "not the stall of the authors' simulator alone: with it XMP and DCM have at most 10 and 13.6 timeouts per flow, "
    "and "
    "3 and 5.4 at the 90th percentile, for the paper's 10, 16 and 7; without it at most 4"
)
HANDSHAKES = Open(
    "details of handshakes and of the round-robin scheduler decide when suppression begins: each rule of the authors' "
    "simulator alone moves AMP's mean FCT with 40 flows of 128 KB between 2.8 and 132 ms (decision 7), and none was "
    "found with which the statement holds"
)
STARTS = Open(
    "the smallest stable tau is 3 to 10, by link delay, K and start times; none of the five settings that were run "
    "has 6 "
    "for 3, 4 and 5 flows, as the note of the claim about tau >= 6 says"
)
WHOLE_MS = NotStated(
    "the clock of the times between flows, here continuous", "whole milliseconds, which give 0.786 ms (one seed)"
)
BETWEEN = Open(
    "the clock of the times between flows moves it: with whole milliseconds, which AMP's 0.78 ms takes, XMP has 1.6 "
    "and "
    "DCM 1.71 ms (one seed), above the paper's, and with continuous times both are below"
)
ROUNDS = Contradiction('"the SSR mechanism is not triggered at all" against Algorithm 1', sums.rounds_of_64_kb)


def _said(sentence: str, cause: Cause | None = None, same_as: str = "") -> Statement:
    return Statement(sentence=sentence, fixed=FIXED, cause=cause, same_as=same_as)


def _earlier(sentence: str, cause: Cause | None = None) -> Statement:
    return Statement(sentence=sentence, fixed=FIXED_EARLIER, cause=cause)


OTHER_DELAY = {
    "The claims with links of 2 us": Statement(
        sentence="a link delay of 2us ... used without any change", kind=Kind.SHOWN
    )
}
SLOW_MEAN = _said("the average FCT of DCTCP is about 2ms whereas that of DCM and XMP is over 800ms", STALL, "slow mean")

STATEMENTS: dict[str, dict[str, Statement]] = {
    "amp/fig02": {
        "k = 30: the mean FCT of DCTCP is about 2 ms": _said("when k = 30, the average FCT of DCTCP is about 2ms"),
        "k = 30: the mean FCT of DCM and XMP is over 800 ms": SLOW_MEAN,
        "In many cases the mean FCT of DCTCP is 1 to 2 orders of magnitude shorter than that of DCM and XMP": _said(
            "In many cases the average flow completion time (FCT) of DCTCP is almost 1-2 orders of magnitude shorter"
        ),
        "k = 30: the standard deviation of FCT is below 1 ms for DCTCP and above 1 s for DCM and XMP": _said(
            "less than 1 millisecond for DCTCP vs. above 1 second for DCM and XMP", STALL
        ),
        "Retransmission timeouts are what makes some flows of DCM and XMP much slower": _said(
            "make some flows experience much higher FCTs (due to retransmission timeouts)"
        ),
        **OTHER_DELAY,
    },
    "amp/fig04": {
        "(a) 2 subflows: the 8 DCTCP flows have no problem": _said(
            "DCTCP flows seem to have no problem in the 2-subflow case"
        ),
        "(a) The syndrome begins as soon as XMP uses three subflows or more": _said(
            "the syndrome begins as soon as the DCM or XMP flow starts to use three subflows or more"
        ),
        "(a) 4 subflows: XMP obtains 2.3 times a DCTCP flow's goodput": _said(
            "When four subflows are used, the XMP flow obtains 2.3x higher goodput than DCTCP flows",
            NotStated(
                'the link delay, with which "about 30-32" packets are in flight; 2.3 times takes 36',
                "between 5 and 8 us: with links of 5 us it is 2.75 times, with 8 us 1.95 times",
            ),
        ),
        "(b) K = 20, 8 DCTCP flows: the gap is a factor of two": _said(
            "given 8 DCTCP flows, a goodput gap between DCTCP and DCM or XMP is a factor of two"
        ),
        "(b) A larger marking threshold alleviates the problem marginally": _said(
            "increasing the marking threshold marginally alleviates the problem"
        ),
        "cwnd_min = 1 makes the syndrome less likely": _said("This reduced the likelihood of the syndrome"),
        "cwnd_min = 1: 4 flows instead of 1 trigger the syndrome": _said(
            "a slight increase of the number of DCM or XMP flows (from 1 to 4) triggered the syndrome"
        ),
        "2 subflows: the problem recurs with 16 DCTCP flows": _said(
            "the problem recurs when at least about 16 DCTCP flows are in use"
        ),
        "The syndrome gives multipath flows 2 to 5 times the throughput of single-path flows": _said(
            "the syndrome consistently makes multipath flows achieve 2-5x more throughput than single-path flows",
            Contradiction('"2-5x" against r = 7 and 8 of figure 4(a)', sums.goodput_at_the_floor),
        ),
        "DCM, 10 ms and links of 1 Gbps show a very similar trend": _said(
            "from 10ms to 1 sec, use 1Gbps and 10Gbps link and test both DCM and XMP ... we observe a very similar "
            "trend"
        ),
        "All windows are at their floor when more than (BDP + K) / cwnd_min flows and subflows share the bottleneck": (
            _said("the number of flows including single-path flows and subflows ... larger than (BDP + K)/cwnd_min")
        ),
        **OTHER_DELAY,
    },
    "amp/fig06": {
        "Figure 6(a): MPTCP finishes its traffic shifting after about 3 ms": _said(
            "MPTCP finishes its traffic shifting at 2.003s"
        ),
        "Figure 6(b): DCM finishes its traffic shifting after about 7 ms": _said(
            "and DCM does at 2.007s",
            Open(
                "the order of packets at one instant moves it from 4.03 to 6.05 ms (decision 10); with two of five "
                "seeds "
                "it is within the tolerance"
            ),
        ),
        "DCM is 4 ms slower than MPTCP": _said(
            "MPTCP finishes traffic shifting about 4ms faster than DCM",
            Differs(
                "where packets queue when the other flow begins, which the order of packets at one instant decides",
                "with hosts' links of 20 Gbps, so that the bottleneck has the queue, DCM is 4.8 ms slower",
            ),
        ),
        "Figure 11(a): AMP finishes its traffic shifting after about 3 ms": _said(
            "both AMP and XMP achieve similar traffic shifting time (about 3ms)"
        ),
        "Figure 11(b): XMP finishes its traffic shifting after about 3 ms": _said(
            "both AMP and XMP achieve similar traffic shifting time (about 3ms)"
        ),
        "A constant cut shifts traffic faster than DCM's cut by alpha": _said(
            "a fixed amount of congestion window reduction to ECN signals is suitable"
        ),
        "AMP and XMP achieve similar traffic shifting times": _said(
            "both AMP and XMP achieve similar traffic shifting time"
        ),
        **OTHER_DELAY,
    },
    "amp/gamma": {
        "gamma = 1: there is a chance of false alarms": _said("When gamma = 1, there is a chance of false alarm"),
        "gamma >= 3 reacts slowly: with gamma = 3 the mean FCT is an order of magnitude above DCTCP's": _said(
            "average FCT of AMP, when gamma = 3, is an order of magnitude higher than that of DCTCP", HANDSHAKES
        ),
        "gamma = 2 performs best": _said("We find AMP performs best when gamma = 2", HANDSHAKES),
        "gamma under the minimum window syndrome: Jain's index": Statement(
            sentence="in the presence and absence of the TCP incast and minimum window syndrome", kind=Kind.SHOWN
        ),
        **OTHER_DELAY,
    },
    "amp/fig07": {
        "tau < 6: there is more than one suppression episode": _said(
            "when tau < 6, there are more than one episode",
            STARTS,
        ),
        "tau < 6: the number of episodes varies a lot with the number of flows": _said(
            "the count of episodes varies a lot when the number of AMP flows is different"
        ),
        "tau >= 6: there is only one episode": _said(
            "When tau >= 6, the SSR mechanism becomes stable (meaning that there is only one episode)",
            STARTS,
        ),
        "tau >= 6: the median queue is about 10 packets": _said("the median queue length is just about 10 packets"),
        **OTHER_DELAY,
    },
    "amp/fig08": {
        "AMP is as good as DCTCP up to 30 flows": _said("AMP is as good as DCTCP apart from a case of 40 flows"),
        "With 40 flows AMP performs slightly worse than DCTCP": _said(
            "a case of 40 flows, in which AMP performs slightly worse than DCTCP", HANDSHAKES
        ),
        "In most cases the mean FCT of AMP is 1 to 2 orders shorter than that of XMP and DCM": _said(
            "in most cases the average FCT of AMP is almost 1-2 orders of magnitude shorter than that of XMP and DCM"
        ),
        "128 KB, k = 30: the mean FCT of AMP is about 2 ms": _said(
            "when the number of flows is 30 and flow size is 128KB, the FCT of AMP is about 2ms"
        ),
        "128 KB, k = 30: the mean FCT of XMP and DCM is over 800 ms": replace(
            SLOW_MEAN, sentence="that of XMP and DCM is over 800ms"
        ),
        "128 KB, k = 30: the standard deviation of FCT is 1 to 2 ms for AMP and 1 s for XMP and DCM": _said(
            "1-2ms for AMP vs. 1 second for XMP and DCM", STALL_AND_AMP
        ),
        "128 KB, k = 30: AMP has no timeout": _said("AMP has no timeout during the simulation"),
        "128 KB, k = 30: XMP has up to 10 timeouts a flow, DCM up to 16": _said(
            "XMP and DCM face up to 10 and 16 timeouts respectively (with 7 timeouts at 90th percentile for both "
            "schemes)",
            STALLED_TIMEOUTS,
        ),
        "128 KB, k = 30: timeouts set XMP and DCM apart from AMP": _said(
            "The SSR mechanism in AMP mitigates the possibility of buffer overflow significantly, thus that of the "
            "expensive TCP timeout"
        ),
        "64 KB: all multipath schemes work as well as DCTCP, with little difference among them": _said(
            "all multipath schemes work as well as DCTCP and there is little difference among the three", ROUNDS
        ),
        "64 KB: subflow suppression is not triggered at all": _said(
            "even the SSR mechanism is not triggered at all as the flow size is too small", ROUNDS
        ),
        "1 MB: the trend is similar, AMP 1 to 2 orders faster than XMP and DCM": _said(
            "we observe a similar trend for a flow size of 1MB", HANDSHAKES
        ),
        "128 KB, profile `linux`: with delayed joins AMP is as good as DCTCP (not the paper's claim)": Statement(
            origin=Origin.WEFT, fixed=FIXED
        ),
        **OTHER_DELAY,
    },
    "amp/fig09": {
        "In almost all cases AMP is fairer than XMP and DCM": _said(
            "in almost all cases AMP outperforms the other two schemes"
        ),
        "(a) With fewer than 8 DCTCP flows the syndrome is weak and the schemes differ marginally": _said(
            "the syndrome itself is weak in some cases (e.g., given less than 8 flows in Figure 9(a) ...)"
        ),
        "(b) With 4 DCTCP flows the syndrome is weak and the schemes differ marginally": _said(
            "the syndrome itself is weak in some cases (e.g., given ... 4 flows in Figure 9(b))",
            Open(
                "with 4 DCTCP flows the indices are 0.13 apart, more than the 0.1 that counts as marginal here, and "
                "with "
                "8 they are 0.31 apart"
            ),
        ),
        "(b) With fewer than 4 DCTCP flows the syndrome is weak and the schemes differ marginally": Statement(
            sentence="given less than 8 flows in Figure 9(a) and [less than] 4 flows in Figure 9(b)", kind=Kind.SHOWN
        ),
        "More multipath flows aggravate the unfairness even with few DCTCP flows": _said(
            "the syndrome aggravates fairness even in the presence of a small number of DCTCP flows (cf., two cases "
            "of 4 "
            "DCTCP flows between Figures 9(a) and 9(c))"
        ),
        "Without SSR all three schemes are equally poor": _said(
            "When we disable SSR, all three approaches present equally poor performance"
        ),
        **OTHER_DELAY,
    },
    "amp/fig10": {
        "(a) Without the syndrome the queue lengths of AMP, XMP and DCM are alike": _said(
            "When there is no syndrome, the queue length distributions across AMP, XMP and DCM are similar"
        ),
        "(a) The median queue with AMP is 10 packets": _said("at median, 10 packets in Figure 10(a)"),
        "(b) 4 flows of XMP or DCM keep the queue above 20 packets at the median, twice that of (a)": _said(
            "the queue length is more than 20 packets (100% inflation at median)"
        ),
        "(b) With XMP and DCM the queue is above 20 packets all the time": _said(
            "the queue length is more than 20 packets (100% inflation at median) all the time",
            NotStated(
                "whether the queue length counts the packet being sent, here not, as in the authors' simulator",
                "with it, as in the example of section 3.2: then the queue is above 20 packets 100 % of the time",
            ),
        ),
        "(b) The median queue with AMP is 12 packets, about 2 more than in (a)": _said(
            "the queue length difference of AMP is just about 2 packets (at median, ... 12 packets in Figure 10(b))"
        ),
        "(b) Without SSR the three schemes have equally poor queues": _said(
            "SSR ... is key to high performance in both fairness and delay. When we disable SSR, all three approaches "
            "present equally poor performance"
        ),
        "If the intensity of the syndrome grows, the queue becomes more inflated, and AMP mitigates it better": _said(
            "If the intensity of the syndrome grows, the queue length will become more inflated accordingly. In "
            "general "
            "AMP can mitigate the persistent buffer inflation better than other schemes"
        ),
        **OTHER_DELAY,
    },
    "amp/fig12": {
        (
            "AMP's long flows do not harm the jobs: 4, 6 and 8 subflows give slightly better JCTs than long flows by "
            "DCTCP"
        ): _earlier("the AMP case ... obtains slightly better JCT performance than the baseline case"),
        "More subflows of DCM or XMP make the JCT grow quickly": _earlier(
            "more number of subflows in DCM or XMP makes the JCT of short DCTCP flows grow quickly"
        ),
        **{
            f"{subflows} subflows of XMP: the 90th percentile of the JCT is {jct} ms": _earlier(
                f"When XMP is used for long flows, the 90th percentile JCT is {jct}ms in the {subflows}-subflow case"
            )
            for subflows, jct in ((4, 1.2), (6, 1.5), (8, 1.8))
        },
        "8 subflows of AMP: the 90th percentile of the JCT is 1.1 ms": _earlier(
            "the 90th percentile JCT is 1.1ms in case where AMP even has 8 subflows"
        ),
        "8 subflows: AMP's JCT is 39 % below XMP's": _earlier(
            "reducing JCT by 0.6ms (39% improvement) compared to the corresponding XMP case"
        ),
        "Suppression is what makes the competing jobs finish faster": _earlier(
            "our SSR mechanism reduces buffer inflation effectively and hence makes competing short DCTCP flows finish "
            "faster"
        ),
    },
    "amp/fig13": {
        "(a) Short flows achieve the best FCT when AMP and XMP are used for long flows": _earlier(
            "short DCTCP flows achieve the best FCT result when AMP and XMP are used for long flows"
        ),
        "(a) The FCT of short flows is worst when DCTCP is used for long flows": _earlier(
            "The worst FCT performance was observed when DCTCP is used for long flows"
        ),
        "(a) With long DCM flows about 10 % of the short flows obtain longer FCTs than with long AMP flows": _earlier(
            "about 10% of the short DCTCP flows obtain longer FCTs than DCTCP flows competing with long AMP flows",
            NotStated(
                "by how much an FCT counts as longer, here by a factor of 1.1",
                "a factor of about 1.3: the 90th percentile with DCM is 1.31 times that with AMP, the median 1.19",
            ),
        ),
        "(b) The long flows of AMP and XMP show little difference in goodput": _earlier(
            "The long flows of AMP and XMP show little difference in goodput"
        ),
        "(b) DCM achieves the best goodput": _earlier("DCM achieves the best performance"),
        "(b) DCTCP for long flows yields the worst goodput": _earlier(
            "using DCTCP for long flows yields the worst goodput performance"
        ),
        "(c) The multipath schemes perform equally well in utilisation at all layers": _earlier(
            "the mean network [use] at all layers ... As expected, the multipath schemes perform equally well"
        ),
        "DCTCP for long flows and a multipath protocol for short ones differ little from DCTCP for both": _said(
            "other combinations (e.g., DCTCP for long flows and a multipath protocol for short flows) ... make no "
            "significant difference"
        ),
    },
    "amp/fig14": {
        **{
            f"The {percent}th percentile of short flows' FCT with long flows by {name}": _said(
                f"the {percent}th percentile FCT of short DCTCP flows: {fct}ms for {name}", cause
            )
            for percent, name, fct, cause in (
                (90, "AMP", 0.18, None),
                (90, "XMP", 0.27, None),
                (90, "DCM", 0.28, None),
                (99, "AMP", 0.78, WHOLE_MS),
                (99, "XMP", 1.35, BETWEEN),
                (99, "DCM", 1.41, BETWEEN),
            )
        },
        "90th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM": _said(
            "55% improvement over the two schemes"
        ),
        "99th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM": _said(
            "We observe a similar level of improvement at the 99th percentile"
        ),
        "The goodput of long flows is distributed almost identically across all schemes": _said(
            "the goodput distribution of long flows across all schemes is almost identical"
        ),
    },
    **linux_statements.STATEMENTS,
}
