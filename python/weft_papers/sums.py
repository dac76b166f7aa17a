"""The sums that prove a contradiction within a paper, computed from the paper's own numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MB = 1e6


def goodput_at_the_floor() -> str:
    """Computes the ratio if all windows are at their floor of two packets (AMP, abstract)."""
    packets = {r: 2 * (8 + r) for r in (6, 7, 8)}
    words = ", ".join(f"{count} for r = {r}" for r, count in packets.items())
    return (
        "8 DCTCP flows and r subflows with windows of 2 packets have "
        f"{words} in flight, and BDP + K is 30. From r = 7 on all windows stay at 2, and the multipath flow gets r "
        "times a DCTCP flow's goodput, 7 and 8 times"
    )


def rounds_of_64_kb() -> str:
    """Computes whether a flow of 64 KB lasts long enough for suppression (AMP, figure 8)."""
    packets = math.floor(64 * 1024 / 1400)
    windows = 4 * 2
    flows = math.ceil(30 / windows)
    return (
        f"4 subflows with windows of 2 packets send {windows} packets per round, so {packets} packets take "
        f"{packets / windows:.1f} rounds, and gamma is 2. {flows} concurrent flows at their floor already have more "
        f"than BDP + K = 30 packets in flight, and Algorithm 1 then suppresses their subflows"
    )


def amp_fg_alpha(marks: Sequence[int], window: int = 4) -> tuple[float, float]:
    """Computes alpha by equations (3) to (5) after a round without marks, normalised by the sum of weights (AMP-FG)."""
    beta = sum(marks) / window
    weights = [(j / window) ** beta for j in range(1, window + 1)]
    marked = sum(w * m for w, m in zip(weights, marks, strict=True))
    return marked / window, marked / sum(weights)


SCENARIOS = {1: ((0, 0, 0, 1), 2), 2: ((1, 0, 0, 0), 4), 3: ((0, 0, 1, 1), 1)}
"""The marks of the round and the window that follows, by scenario (AMP-FG, figure 4)."""


def amp_fg_window(scenario: int) -> str:
    """Computes the window by equation (5), and by the text's "weight ratio" (AMP-FG, figure 4)."""
    marks, paper = SCENARIOS[scenario]
    alpha, normalised = amp_fg_alpha(marks)
    return (
        f"alpha is {alpha:.3f} and the window 4 (1 - alpha) = {4 * (1 - alpha):.2f}, not {paper}. As a share of the "
        f'sum of weights, the text\'s "weight ratio", alpha is {normalised:.3f} and the window '
        f"{4 * (1 - normalised):.2f}, {math.floor(4 * (1 - normalised))} in whole packets"
    )


def amp_fg_first_scenario() -> str:
    """Computes the window of scenario 1 (AMP-FG, figure 4(b))."""
    return amp_fg_window(1)


def amp_fg_second_scenario() -> str:
    """Computes the window of scenario 2 (AMP-FG, figure 4(d))."""
    return amp_fg_window(2)


def amp_fg_third_scenario() -> str:
    """Computes the window of scenario 3 (AMP-FG, figure 4(f))."""
    return amp_fg_window(3)


def amp_fg_cuts_less() -> str:
    """Compares alpha with the ratio of marked packets, by which the figure's XMP cuts (AMP-FG, figure 4)."""
    parts = []
    for scenario in (1, 3):
        marks, _ = SCENARIOS[scenario]
        parts.append(f"{amp_fg_alpha(marks)[0]:.3f} against {sum(marks) / len(marks):.3f} in scenario {scenario}")
    return f"no weight is above 1, so alpha is at most the ratio of marked packets: {', '.join(parts)}"


def fair_sharing_ms(low: float, high: float) -> float:
    """Returns the mean FCT in ms of objects of `low` to `high` bytes among 8 that share 1 Gbps fairly.

    Sizes are uniform from 10 KB to 128 MB. An object of size x shares the link with 7 others, so it ends when x and 7
    E[min(s, x)] bytes have been served.
    """
    least, most = 0.01 * MB, 128 * MB
    goodput = 1e9 / 8 * 1448 / 1514
    steps = 2000
    total = 0.0
    for n in range(steps):
        x = low + (high - low) * (n + 0.5) / steps
        served = (x * x - least * least) / (2 * (most - least)) + x * (most - x) / (most - least)
        total += (x + 7 * served) / goodput
    return 1e3 * total / steps


def fair_sharing(low: float, high: float) -> str:
    """Formats the mean FCT of a range of sizes (AMP-FG, figure 7)."""
    return (
        f"8 objects of a job share one link of 1 Gbps. Shared fairly, objects of {low / MB:g} to {high / MB:g} MB take "
        f"{fair_sharing_ms(low, high):.4g} ms on average, whichever control fills the link. A lower mean takes unfair "
        "sharing, or links that other schemes leave idle"
    )


def fair_sharing_large() -> str:
    """Computes the mean FCT of objects from 100 MB on (AMP-FG, figure 7)."""
    return fair_sharing(100 * MB, 128 * MB)


def opn_best() -> str:
    """Computes the best numbers of subflows by equation (11) and by (7) (OPN)."""
    from weft_papers.opn.fig06 import best_of_throughput, entry, restored

    parts = [
        f"{entry(p)} instead of {best_of_throughput(p)} at p = {p}, {restored(p)} with the exponent"
        for p in (0.3, 0.34, 0.4)
    ]
    return f"a term of (10) has lost the exponent n of (9); (11) then gives {'; '.join(parts)}"


def opn_delta() -> str:
    """Compares Algorithm 1's timer with the round-trip time of a full buffer (OPN)."""
    queue_us = 256 * 1500 * 8 / 1e3
    return (
        f"a full buffer of 256 packets of 1.5 KB takes {queue_us / 1000:.2f} ms at 1 Gbps, {queue_us / 200:.0f} times "
        "the 200 us of Algorithm 1, so that paths count as slow whenever queues fill. Two average round-trip times are "
        "200 us only while all queues are empty"
    )


def schedule_of_three_pairs() -> str:
    """Computes the best schedule of TM2 (Multipath TCP, section 4)."""
    best = 2 / 3
    return (
        f"three pairs of hosts have two paths. Two pairs share one at worst, which leaves {100 * best:.0f} % of the "
        f"maximum of 5.22 Gb/s, {best * 5.22:.1f} Gb/s; the table has 2.7, the value of random paths"
    )
