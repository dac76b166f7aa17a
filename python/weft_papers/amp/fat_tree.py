"""The common setting of section 5.3's figures: a fat-tree with 128 hosts, ECMP, and three layers of switches.

It has 32 ToR, 32 aggregation and 16 core switches.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes

from weft import Experiment
from weft_papers.amp.settings import AMP, LIMIT, RATE, SHOWN, K, beta_keeps_link_busy

PORTS = 8
HOSTS = PORTS**3 // 4
DELAY_US = 2
"""The paper's link delay, and that of the claims; between pods the base RTT is then 31 us, a BDP of 27 packets."""
OTHER_DELAY_US = 5
"""The other link delay of `settings`; between pods the base RTT is then 67 us, a BDP of 57 packets."""
BDP_PACKETS = {DELAY_US: 27, OTHER_DELAY_US: 57}
"""BDP between pods, by link delay in us."""


def beta_warning(delay_us: int) -> str:
    """Returns a warning for notes if a cut by 1 / beta empties queues between pods; otherwise an empty text."""
    bdp, beta = BDP_PACKETS[delay_us], AMP["beta"]
    if beta_keeps_link_busy(bdp, K, beta):
        return ""
    return f", where cuts empty queues, as (BDP + K) / beta = {(bdp + K) / beta:.1f} is above K = {K}"


def fat_tree(name: str, *, delay_us: int = DELAY_US, ports: int = PORTS, **fields: object) -> Experiment:
    """Returns an experiment in that network with section 5's rates and queues, and these other fields."""
    topology = {"kind": "fat-tree", "k": ports, "rate": RATE, "delay": f"{delay_us}us"}
    queues = {"limit": LIMIT, "mark": f"{K} packets"}
    return Experiment.model_validate({"name": name, "topology": topology, "queues": queues, **fields})


def plot_cdf(
    panel: Axes,
    rows: pl.DataFrame,
    column: str,
    algorithms: Sequence[str],
    up_to: float = 99.5,
    at_least: str | None = None,
) -> None:
    """Plots the CDF of a column for each algorithm over all seeds, up to a percentile, in steps of half a percent.

    `at_least` names the lower bounds of rows without a value. With it, a line ends where its values could be higher.
    """
    from weft import stats

    percents = [n / 2 for n in range(int(2 * up_to) + 1)]
    for algorithm in algorithms:
        found = stats.percentiles(rows.filter(algorithm=algorithm), column, percents, at_least=at_least)
        row = found.row(0, named=True)
        known = [p for p in percents if not row.get(f"p{p:g}_is_lower_bound", False)]
        shown = SHOWN[algorithm]
        panel.plot(
            [row[f"p{p:g}"] for p in known],
            [p / 100 for p in known],
            label=shown.label,
            color=shown.colour,
            linewidth=1.2,
        )
    panel.set(ylim=(0, 1), ylabel="CDF")
    panel.grid(visible=True, alpha=0.3)
