"""Figure 4 (section IV.B): windows of XMP and AMP-FG after a round of 4 packets with marks, by the equations.

The figure is calculated, not simulated. Equations (3) to (5) and (7) give the window of 4 packets after a round of 3
without marks. In scenario 3 "there are two consistent marked packets"; they are taken to be the last two, where their
weight is highest. "For simplicity, XMP reduces the congestion window by the ratio of ACK packets with ECN-marked"
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft_papers.figure import Claim

BEFORE = (0, 0, 0)
"""Marks of the round before: three packets without marks."""
SCENARIOS = {1: (0, 0, 0, 1), 2: (1, 0, 0, 0), 3: (0, 0, 1, 1)}
WORDS = {1: "the last packet is marked", 2: "the first packet is marked", 3: "two packets in a row are marked"}
PAPER_AMP = {1: 2, 2: 4, 3: 1}
PAPER_XMP = {1: 3, 2: 3, 3: 2}
"""Windows of the next round in the text."""
EQUATIONS, ALGORITHM_1, WEIGHT_RATIO = "equations", "algorithm 1", "weight ratio"


def rows() -> pl.DataFrame:
    """Returns one row per scenario: the windows by the equations, by other readings, and of the simplified XMP.

    `lowest` and `highest` are bounds of the window by the equations over all 16 possible rounds of four before.
    """
    table = []
    for scenario, marks in SCENARIOS.items():
        all_before = [after(marks, before) for before in product((0, 1), repeat=len(marks))]
        of_amp = {EQUATIONS: after(marks), ALGORITHM_1: after_neighbours(marks)}
        of_amp[WEIGHT_RATIO] = after_weight_ratio(marks)
        found = {"xmp": after_ratio(marks), "lowest": min(all_before), "highest": max(all_before)}
        table.append({"scenario": scenario} | of_amp | found)
    return pl.DataFrame(table)


def plot(rows: pl.DataFrame) -> Plot:
    """The window after a round of 4: by the equations, by Algorithm 1's XOR, and in the text."""
    plot = Plot(figsize=(5.4, 3.6), layout="constrained")
    axes = plot.subplots()
    scenarios = rows["scenario"].to_list()
    bars = {
        "AMP-FG in the text": ([PAPER_AMP[scenario] for scenario in scenarios], "#999999"),
        "equations (3) to (7)": (rows[EQUATIONS].to_list(), "#0072b2"),
        "Algorithm 1's XOR": (rows[ALGORITHM_1].to_list(), "#56b4e9"),
        "XMP by the ratio of marks": (rows["xmp"].to_list(), "#d55e00"),
    }
    for index, (label, (windows, colour)) in enumerate(bars.items()):
        at = [scenario + 0.2 * (index - 1.5) for scenario in scenarios]
        axes.bar(at, windows, width=0.18, label=label, color=colour)
    axes.set_xticks(scenarios, [f"{scenario}: {''.join(map(str, SCENARIOS[scenario]))}" for scenario in scenarios])
    axes.set(xlabel="scenario: marks of the round", ylabel="window of the next round (packets)")
    axes.set_ylim(0, 5.5)
    axes.legend(frameon=False, ncols=2, fontsize="small")
    axes.set_title("Figure 4")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section IV.B about its three scenarios."""
    found = {row["scenario"]: row for row in rows.to_dicts()}
    return [
        *(_window(scenario, row) for scenario, row in found.items()),
        *(
            Claim(
                f"Scenario {scenario}, {WORDS[scenario]}: XMP's window of 4 becomes {PAPER_XMP[scenario]}",
                str(PAPER_XMP[scenario]),
                digits(row["xmp"]),
                row["xmp"] == PAPER_XMP[scenario],
                "by the ratio of marked packets, as the text has it; real XMP cuts by a quarter, whatever the ratio",
            )
            for scenario, row in found.items()
        ),
        Claim(
            "AMP-FG cuts more for a mark on the last packet than for one on the first",
            "2 instead of 4",
            f"{digits(found[1][EQUATIONS])} instead of {digits(found[2][EQUATIONS])}",
            found[1][EQUATIONS] < found[2][EQUATIONS],
            f"holds when the window is smaller; with Algorithm 1's XOR {digits(found[1][ALGORITHM_1])} instead of "
            f"{digits(found[2][ALGORITHM_1])}",
        ),
        Claim(
            "AMP-FG cuts more than XMP when the last packets are marked, scenarios 1 and 3",
            "2 instead of 3, 1 instead of 2",
            ", ".join(f"{digits(found[name][EQUATIONS])} instead of {digits(found[name]['xmp'])}" for name in (1, 3)),
            all(found[name][EQUATIONS] < found[name]["xmp"] for name in (1, 3)),
            "holds when both windows are smaller. No round can do that: a weight is at most 1, so that alpha is at "
            "most the ratio of marked packets, by which the figure's XMP cuts",
        ),
        Claim(
            "With alpha as weight ratio the windows are those of the text",
            ", ".join(str(PAPER_AMP[scenario]) for scenario in found),
            ", ".join(digits(row[WEIGHT_RATIO]) for row in found.values()),
            all(int(row[WEIGHT_RATIO]) == PAPER_AMP[scenario] for scenario, row in found.items()),
            'in whole packets; "the weight ratio of ACK packets with ECN-marked" in the text of equation (5), the '
            "parameter `weight_ratio`. AMP-FG then cuts more than the figure's simplified XMP in scenarios 1 and 3",
        ),
    ]


def beta(marks: Sequence[int], before: Sequence[int]) -> float:
    """Returns the share of positions that differ from the round before, by equation (3).

    A position that the round before did not have counts as unmarked.
    """
    other = [*before, *[0] * len(marks)]
    return sum(m != other[j] for j, m in enumerate(marks)) / len(marks)


def beta_of_neighbours(marks: Sequence[int]) -> float:
    """Returns the share of positions that differ from the previous position, with M[0] = 0 (Algorithm 1, line 17)."""
    return sum(m != n for m, n in zip(marks, [0, *marks], strict=False)) / len(marks)


def alpha(marks: Sequence[int], of_beta: float) -> float:
    """Returns the marks, weighted by how late in the round they are, by equations (4) and (5)."""
    cw = len(marks)
    return sum(float(((j + 1) / cw) ** of_beta) * m for j, m in enumerate(marks)) / cw


def after(marks: Sequence[int], before: Sequence[int] = BEFORE) -> float:
    """Returns the window cw (1 - alpha) by equation (7), with equation (3)'s beta."""
    return len(marks) * (1 - alpha(marks, beta(marks, before)))


def after_neighbours(marks: Sequence[int]) -> float:
    """Returns the window by equation (7) with Algorithm 1's beta."""
    return len(marks) * (1 - alpha(marks, beta_of_neighbours(marks)))


def after_weight_ratio(marks: Sequence[int], before: Sequence[int] = BEFORE) -> float:
    """Returns the window if alpha is the text's "weight ratio of ACK packets with ECN-marked" (`weight_ratio = 1`)."""
    every = [1] * len(marks)
    of_beta = beta(marks, before)
    return len(marks) * (1 - alpha(marks, of_beta) / alpha(every, of_beta))


def after_ratio(marks: Sequence[int]) -> float:
    """Returns the window of the figure's simplified XMP."""
    return len(marks) * (1 - sum(marks) / len(marks))


def _window(scenario: int, row: dict[str, float]) -> Claim:
    paper = PAPER_AMP[scenario]
    return Claim(
        f"Scenario {scenario}, {WORDS[scenario]}: AMP-FG's window of 4 becomes {paper}",
        str(paper),
        f"{digits(row[EQUATIONS])} by the equations, {digits(row[ALGORITHM_1])} with Algorithm 1's XOR",
        paper in {row[EQUATIONS], int(row[EQUATIONS]), row[ALGORITHM_1], int(row[ALGORITHM_1])},
        "holds when one of the two gives it, exactly or in whole packets; whatever marks the round before had, the "
        f"equations give {digits(row['lowest'])} to {digits(row['highest'])}",
    )
