"""The statements of Raiciu et al. (2010) that the claims of `mptcp-dc` judge."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from weft_papers import sums
from weft_papers.statement import Contradiction, Differs, NotStated, Open, Origin, Statement

if TYPE_CHECKING:
    from weft_papers.statement import Cause

FIXED = date(2026, 11, 22)
FIXED_FIRST_FIT = date(2026, 11, 24)
"""The day from which first fit is that of the authors' simulator."""
FIXED_ABSTRACT = date(2026, 11, 28)
"""The day on which the readings of the abstract's sentences were fixed."""
FIXED_ON_LINUX = date(2026, 11, 21)

LARGEST_FLOWS = Open(
    "large flows take 3.14 s at the median here, and around a second in the text; but with sizes that end at 97 MB the "
    "scheduler still has 1.16 times VLB's throughput (2 s, seed 1)"
)
RECOVERY = Open(
    "not the kernel's loss recovery alone: at the packet level with the recovery of 2010 the statements on the latency "
    "do not hold any more either. At the packet level (seed 1) the goodput of multipath TCP is 1.00 of TCP's with "
    "today's "
    "recovery and round-robin, and 0.91 with Linux's packet scheduler, which lowers it (five seeds)"
)


def _said(sentence: str, cause: Cause | None = None, fitted: tuple[str, ...] = ()) -> Statement:
    return Statement(sentence=sentence, fixed=FIXED, cause=cause, fitted=fitted)


def _abstract(sentence: str, cause: Cause | None = None) -> Statement:
    return Statement(sentence=sentence, fixed=FIXED_ABSTRACT, cause=cause, fitted=("the figure as its place",))


def _scheduled(sentence: str, cause: Cause | None = None) -> Statement:
    return replace(_said(sentence, cause), fixed=FIXED_FIRST_FIT)


def _on_linux(statement: Statement, cause: Cause | None = None, fitted: tuple[str, ...] = ()) -> Statement:
    return replace(statement, origin=Origin.LINUX, fixed=FIXED_ON_LINUX, cause=cause, fitted=fitted)


OVER_MULTIPATH = {5: -21, 10: -24, 20: -25, 50: -44}
"""Change in per cent over Multipath TCP just below a threshold, by Hedera's first fit in the run of 2026-11-23."""
NOT_LIMITED = {5: -6.8, 10: -14.5, 20: -24.4, 50: -55.3}
"""Change of the goodput of flows that are not host-limited, in per cent, by threshold, just above it."""
POINTS = 5
"""Percentage points within which a loss counts as the paper's, as in figure 6."""
LOSSES = {5: (-21, -22), 10: (-17, -21), 20: (-22, -23), 50: (-51, -45)}
"""The paper's percentages of loss, by threshold: just above and just below the threshold."""
PEAKS = ("bins and valleys that make a peak",)

JITTER = NotStated(
    "the jitter of hosts, here up to the time of a packet",
    'none: with `hosts.jitter = "0us"`, full size and five seeds, TCP has peaks at 2.24 and 4.47 ms and multipath TCP '
    "at 2.24, 5.62 and 44.7 ms; then no subflow times out, and the smaller peaks are missing",
)
TWO_PEAKS = _said(
    "Regular TCP shows two peaks, corresponding to no retransmission and fast retransmission", JITTER, PEAKS
)
SAME_PEAKS = _said("Multipath TCP shows the same", JITTER, PEAKS)
SMALLER = _said("also smaller peaks corresponding to delays caused by retransmit timeouts on one of the subflows")
UNAFFECTED = _said("Throughput is unaffected by these timeouts")
FEW_RTOS = Open(
    "flows lose little time to RTOs, because lost retransmissions are detected, as in Linux until 4.3: rates are "
    "those of "
    "today's Linux. In the run of 2026-11-23 they were not detected, and 3.15 (VLB, TM1), 4.67 (Multipath TCP, TM1) "
    "and "
    "3.25 Gbit/s (scheduler, TM2) were within the tolerance. The kernel of the testbed is not stated"
)
VLB_TM1, VLB_TM2 = (_said(f"TM {tm} by VLB: 2.7Gb/s", FEW_RTOS) for tm in (1, 2))
MULTIPATH_TM1, MULTIPATH_TM2 = (_said(f"TM {tm} by Multipath TCP: 4.2Gb/s", FEW_RTOS) for tm in (1, 2))
SUBSTANTIAL = _said("This is still a substantial improvement over VLB")


def _below(threshold: int) -> Cause:
    return NotStated(
        "the base of the percentages, here the scheduler without host-limited flows, and the rule of first fit, here "
        "that of the authors' simulator",
        f"the throughput of Multipath TCP in the same cell and Hedera's rule: {OVER_MULTIPATH[threshold]} %",
    )


def _above(threshold: int) -> Cause:
    change = NOT_LIMITED[threshold]
    if abs(change - LOSSES[threshold][0]) <= POINTS:
        return NotStated(
            "the flows whose throughput counts, here all",
            f"the flows that are not host-limited, over those of the scheduler without host-limited flows: {change} %",
        )
    return Open(
        f"the flows that are not host-limited lose {-change} %, and all flows have 37 % less than Multipath TCP's. "
        "With minimum RTOs of 10 and 1 ms instead of 200 ms (seed 1) all flows gain 5 and 0.1 %, and those "
        "that are not limited lose 2.5 and 7 %"
    )


STATEMENTS: dict[str, dict[str, Statement]] = {
    "mptcp-dc/fig01": {
        "VLB achieves 77 % of the throughput in VL2": _said(
            "It performs best in the VL2 topology, where it achieves 77% throughput",
            Open(
                "84.1 %; 81.4 to 84.2 % with five link delays (11,520 hosts, seed 1). Switch links of five times the "
                "host's "
                "rate and 10 hosts per rack give 77.2 %, but the paper has links of 10 and 1 Gb/s. Sources that do not "
                "back off, computed stage by stage, have 78.0 % in two wirings"
            ),
        ),
        "VLB performs much worse in FatTree and BCube": _said("but performs much worse in FatTree and BCube"),
        "As additional subflows are added, the overall throughput increases": _said(
            "as additional subflows are added, the overall throughput increases",
            Differs(
                'BCube has four paths here, and the paper "all the paths between a pair of endpoints"',
                "5 to 8 subflows use the four paths again, and the throughput falls from 70.0 to 69.4 % from 4 to 5",
            ),
        ),
        "With enough subflows Multipath TCP loads all three networks nearly to full capacity": Statement(
            origin=Origin.WEFT, fixed=FIXED
        ),
        "BCube, which one path cannot fill, gives full bandwidth to Multipath TCP": _abstract(
            "network topologies that single path TCP is fundamentally unable to fully [use], where "
            "multipath can give full bandwidth",
            Open(
                "not the number of paths: with all shortest and sideways paths, 8 and 16 subflows have 66 to 73 % on "
                "networks of 64 and 256 hosts"
            ),
        ),
    },
    "mptcp-dc/fig02": {
        "FatTree needs eight subflows for 90 % utilisation": _said(
            "For FatTree, eight are needed",
            NotStated(
                "whether the random paths of a connection may repeat, as here, where 9 subflows have 89.98 %",
                "paths that do not repeat: 9 subflows then have 90.16 to 90.48 % with five seeds, and 8 have 88.6 %",
            ),
        ),
        "VL2 needs two subflows for 90 % utilisation": _said("For VL2, two subflows are needed"),
        "Beyond a certain size the number of subflows needed does not increase significantly": _said(
            "beyond a certain size, the number of subflows needed does not increase significantly with network size"
        ),
    },
    "mptcp-dc/fig03": {
        "Multipath always improves fairness, even for the VL2 topology": _said(
            "Multipath always improves fairness, even for the VL2 topology"
        ),
        "With Multipath TCP the slowest flow is faster": _said(
            "Fig. 3 shows the throughput of the lowest speed flow ... Multipath always improves fairness"
        ),
    },
    "mptcp-dc/fig04": {
        "Multipath TCP significantly outperforms VLB": _said("Multipath TCP significantly outperforms VLB"),
        "The scheduler has to run every 100 ms to approach Multipath TCP": _scheduled(
            "it needs to run every 100ms to approach the performance of Multipath TCP",
            Open(
                "0.708 times Multipath TCP's by the authors' first fit (5 s, seed 1), and 0.843 and 0.858 with minimum "
                "RTOs of 10 and 1 ms instead of 200 ms. A flow that waits for an RTO carries nothing for two intervals "
                "and loses its path, which is a part of it"
            ),
        ),
        "Every 500 ms the scheduler is of little benefit": _scheduled(
            "if it runs as frequently as every 500ms there is little benefit because ... even large flows only take "
            "around a second to complete",
            LARGEST_FLOWS,
        ),
        "Multipath TCP outperforms or matches the scheduler at any interval": _abstract(
            "multipath TCP outperforms or at least matches the performance of centralized flow scheduling"
        ),
    },
    "mptcp-dc/fig05": {
        "Under overload even VLB manages to fill the network": _said(
            "under overload conditions even VLB manages to fill the network",
            NotStated(
                "the overload, here 5 flows per host",
                "20 flows per host, the number of section 3.2: VLB then has 92.4 % of the most goodput",
            ),
        ),
        "Under overload Multipath TCP still gives better fairness": _said("Multipath TCP still gives better fairness"),
        "At very light load Multipath TCP gives little benefit over VLB in a fat-tree": _said(
            "At very light load, there are few collisions, so Multipath TCP gives little benefit over VLB",
            NotStated(
                "the very light load, here one of 8 hosts",
                "one of 16 hosts: Multipath TCP then has 1.05 times VLB's throughput, and 1.33 times with one of 8 (2 "
                "s, "
                "five seeds)",
            ),
        ),
    },
    "mptcp-dc/fig06": {
        **{
            f"Threshold of {threshold} %: change of throughput by host-limited flows just {side} it": _scheduled(
                f"Figure 6: {threshold}%, {column} {LOSSES[threshold][index]}%", cause(threshold)
            )
            for threshold in LOSSES
            for index, (side, column, cause) in enumerate(
                (("above", "over-threshold", _above), ("below", "under-threshold", _below))
            )
        },
        "A threshold of 10 % is a sweet spot; others schedule too few flows, or more that cannot expand": _scheduled(
            "the 10% threshold is a sweet spot",
            Open(
                "by the throughput of all flows 20 % loses least, by that of the flows that are not host-limited 5 %. "
                "With minimum RTOs of 10 and 1 ms instead of 200 ms 5 % loses least by either (seed 1)"
            ),
        ),
        "Multipath TCP consistently obtains high throughput with host-limited flows": _said(
            "It responds correctly to competing host-limited flows, consistently obtaining high throughput"
        ),
    },
    "mptcp-dc/fig07": {
        "(a) Linked increases do not increase the network's load: mean loss rate": _said(
            "Multipath TCP does not increase network load, as measured by either mean or max loss rate"
        ),
        "(a) Linked increases do not increase the network's load: maximum loss rate": _said(
            "Multipath TCP does not increase network load, as measured by either mean or max loss rate"
        ),
        "(a) Independent congestion control lets the network become increasingly congested with more subflows": _said(
            "independent congestion control for each subflow causes the network to become increasingly congested"
        ),
        "(b) Independent TCP suffers many timeouts": _said(
            "Unsurprisingly, independent TCP suffers many timeouts",
            NotStated(
                'how many are "many", here 1.25 times those of linked increases',
                "a factor of at most 1.17; it is 1.17 to 1.23, and 37,000 timeouts instead of 2,108 with a single path",
            ),
        ),
        "(b) With linked increases the probability of a timeout increases a little with more subflows": _said(
            "even though the loss rate does not increase as we add subflows, the probability of timeout does "
            "increase a "
            "little",
            NotStated(
                "the probability's base, here all timeouts of a flow",
                "timeouts per subflow: 15.1 times as many with 8 times as many subflows are 1.89 times, within 2",
            ),
        ),
    },
    "mptcp-dc/fig08": {
        "TCP shows two peaks: no retransmission, fast retransmission": TWO_PEAKS,
        "Multipath TCP shows the same two peaks": SAME_PEAKS,
        "Multipath TCP also shows smaller peaks from retransmission timeouts of one subflow": SMALLER,
        "Throughput is unaffected by these timeouts": UNAFFECTED,
    },
    "mptcp-dc/testbed": {
        "TM1: all hosts' goodput by VLB": VLB_TM1,
        "TM1: all hosts' goodput by Scheduler": _said("Scheduler gets 90% of the theoretical maximum on TM1"),
        "TM1: all hosts' goodput by Multipath TCP": MULTIPATH_TM1,
        "TM2: all hosts' goodput by VLB": VLB_TM2,
        "TM2: all hosts' goodput by Scheduler": _said("TM 2 by Scheduler: 2.7Gb/s", FEW_RTOS),
        "TM2: all hosts' goodput by Multipath TCP": MULTIPATH_TM2,
        "Multipath TCP is a substantial improvement over VLB": SUBSTANTIAL,
        "TM2: no schedule of symmetric paths is without collision; Multipath TCP uses all paths and works well": _said(
            "no collision-free schedule is possible for single-path TCP. In contrast, Multipath TCP uses all paths",
            Contradiction(
                "2.7 Gb/s of hard-coded paths that avoid overlap against two paths", sums.schedule_of_three_pairs
            ),
        ),
    },
    "mptcp-dc/testbed-linux": {
        "TM1: all hosts' goodput by VLB": _on_linux(VLB_TM1, RECOVERY),
        "TM2: all hosts' goodput by VLB": _on_linux(VLB_TM2),
        "TM1: all hosts' goodput by Multipath TCP": _on_linux(MULTIPATH_TM1),
        "TM2: all hosts' goodput by Multipath TCP": _on_linux(MULTIPATH_TM2, RECOVERY),
        "Multipath TCP is a substantial improvement over VLB": _on_linux(SUBSTANTIAL, RECOVERY),
        "Multipath TCP uses all paths in TM2, where no assignment of single paths is without collision": _on_linux(
            _said("Multipath TCP uses all paths and so works well despite collisions"), RECOVERY
        ),
        "Multipath TCP improves fairness, which reduces the variance of completion times": _on_linux(
            _said("Multipath TCP also improves fairness which reduces the variance of completion times")
        ),
        "The packet level says the same as the kernel (not the paper's claim)": Statement(
            origin=Origin.WEFT, fixed=FIXED_ON_LINUX, fitted=("rates of the links", "limit of lateness")
        ),
        "The packet level has as many timeouts as the kernel (not the paper's claim)": Statement(
            origin=Origin.WEFT, fixed=FIXED_ON_LINUX
        ),
    },
    "mptcp-dc/latency-linux": {
        "TCP shows two peaks: no retransmission, fast retransmission": _on_linux(TWO_PEAKS, RECOVERY, PEAKS),
        "Multipath TCP shows the same two peaks": _on_linux(SAME_PEAKS, RECOVERY, PEAKS),
        "Multipath TCP also shows smaller peaks from retransmission timeouts of one subflow": _on_linux(SMALLER),
        "Throughput is unaffected by these timeouts": _on_linux(UNAFFECTED, RECOVERY),
    },
}
