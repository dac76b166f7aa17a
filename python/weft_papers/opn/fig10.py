"""Figure 10 (section "Basic performances"): mean FCT of 1,000 flows of 200 packets from one rack to another.

"1000 flows with same size between each pair of hosts" would be 50 million flows between two racks. Here it is 1,000
from a rack of 50 hosts to another. `weft_papers.opn.two_racks` describes when they open.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.opn import two_racks
from weft_papers.opn.settings import LABELS, OPNS, OTHERS, SCHEMES, SPINES, WITH
from weft_papers.opn.two_racks import (
    ARRIVALS,
    AT_ONCE,
    QUICK,
    SPREAD,
    abstract,
    bars,
    late,
    names,
    opens_ms,
    out_of_order,
    reordered,
)
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

FLOWS, PACKETS = 1000, 200
OPENS = opens_ms(FLOWS * PACKETS)
WITHIN = ("subflow", "connection")
EASILY = 5
"""Percentage points of reordered packets from which a scheme easily leads to reordering."""

__all__ = ["QUICK", "cases", "claims", "measure", "plot"]


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scheme and each reading of when flows open."""
    return two_racks.cases(lambda _: [PACKETS] * FLOWS, OPENS, scale, ARRIVALS)


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: FCT in ms, packets sent and retransmitted, reinjected chunks, timeouts, reordering."""
    return result.flows.join(reordered(result), on="flow", maintain_order="left").select(
        fct_ms=pl.col("fct_s") * 1e3,
        sent="packets_sent",
        again="retransmitted",
        moved="reinjected",
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
        **{f"{what}_{within}": f"{what}_{within}" for what in ("packets", "reordered") for within in WITHIN},
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT of each scheme, and the range of the seeds, by when flows open."""
    plot = Plot(figsize=(8, 3.6), layout="constrained")
    for axes, opens in zip(plot.subplots(1, len(OPENS)), OPENS, strict=True):
        here = rows.filter(opens=opens)
        bars(axes, f"flows open {opens}", {name: _mean(here, name) for name in SCHEMES})
        axes.set_ylabel("mean FCT (ms)")
    plot.suptitle(f"Figure 10: {FLOWS} flows of {PACKETS} packets")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the section's first paragraph."""
    here = rows.filter(opens=AT_ONCE)
    means = {name: _mean(here, name) for name in SCHEMES}
    order = sorted(SCHEMES, key=lambda name: means[name].mean)
    shown = listed((LABELS[name], means[name]) for name in SCHEMES)
    timeouts = listed((LABELS[name], late(_of(here, name))) for name in SCHEMES)
    between = [means[name].mean for name in OTHERS[1:]]
    sent = listed((LABELS[name], _sent(here, name)) for name in SCHEMES)
    least = min(means[name].mean for name in OTHERS)
    opens = f"flows that open within {OPENS[AT_ONCE]:g} ms, and in the table over {OPENS[SPREAD]:g} ms"
    return [
        *(
            Claim(
                f"MPTCP_OPN has the least mean FCT, {WITH[name]}",
                "least",
                shown,
                means[name].mean < least,
                f"compared with the other schemes; with a timeout: {timeouts}; "
                f"packets sent for each of a flow's: {sent}; {opens}",
                table=_table(rows) if name == OPNS[0] else None,
            )
            for name in OPNS
        ),
        Claim(
            "ECMP has the largest mean FCT",
            "largest",
            shown,
            order[-1] == "ecmp",
            f"flows with a timeout: {timeouts}{_without_marks(here)}",
        ),
        Claim(
            "RPS, MPTCP and MMPTCP lie between ECMP and OPN",
            "between",
            shown,
            min(means[name].mean for name in OPNS) < min(between) and max(between) < means["ecmp"].mean,
            "holds when all three do, compared with the better of OPN's timers",
        ),
        Claim(
            "The number of subflows follows losses: the table is below the number of paths",
            "fewer subflows",
            f"{digits(_loss(here, 'opn').mean)} % of OPN's packets sent again",
            _loss(here, "opn").mean / 100 >= _least_loss(),
            f"of the whole run; holds from {_least_loss():.2f} on, where the table falls below {SPINES}. Below that "
            "OPN uses all fast paths, and what it gains or loses is traffic shifting's",
        ),
        *abstract(here, {name: means[name] for name in (*OPNS, "mptcp")}, "OPN's mean FCT"),
        *_reordering(rows),
    ]


def _reordering(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims about reordered packets, within subflows."""
    share = {
        (opens, name): out_of_order(_of(rows.filter(opens=opens), name), "subflow")
        for opens in OPENS
        for name in ("ecmp", "rps", "mptcp", "mmptcp")
    }

    def shown(*schemes: str) -> str:
        return "; ".join(
            f"{opens}: {listed((LABELS[name], share[opens, name]) for name in schemes)}" for opens in OPENS
        )

    seen = "the rule was fixed when the figure's table already had these shares"
    return [
        Claim(
            "RPS easily leads to packet reordering",
            "easily",
            shown("ecmp", "rps"),
            all(share[opens, "rps"].mean >= EASILY + share[opens, "ecmp"].mean for opens in OPENS),
            f"packets that arrive reordered (RFC 4737), by when flows open; holds when RPS has at least {EASILY} "
            f"percentage points more than ECMP; {seen}",
        ),
        Claim(
            "MPTCP and MMPTCP mitigate packet reordering",
            "mitigate",
            shown("rps", "mptcp", "mmptcp"),
            all(share[opens, name].mean < share[opens, "rps"].mean for opens in OPENS for name in ("mptcp", "mmptcp")),
            "packets that arrive reordered in their subflow, by when flows open; holds when both have fewer than RPS; "
            f"{seen}, which also has the larger shares within the data of flows",
        ),
    ]


def _of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return rows.filter(scheme=name)


def _mean(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name), pl.col("fct_ms").mean(), "ms")


def _sent(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name), pl.col("sent").mean() / PACKETS)


def _loss(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name), 100 * pl.col("again").sum() / pl.col("sent").sum(), "%")


def _without_marks(rows: pl.DataFrame) -> str:
    """Formats the results of ECMP and RPS without DCTCP, if they were run; with DCTCP they have no timeouts."""
    found = [name for name in ("ecmp-reno", "rps-reno") if name in names(rows)]
    means = listed((LABELS[name], _mean(rows, name)) for name in found)
    timeouts = listed((LABELS[name], late(_of(rows, name))) for name in found)
    return f". DCTCP's marks keep ECMP and RPS from losses: {means}; with a timeout: {timeouts}" if found else ""


def _least_loss() -> float:
    """Returns the smallest loss rate at which the table is below the number of paths."""
    from weft_papers.opn.fig06 import STEP, entry

    return next(p for p in (round(STEP * index, 2) for index in range(1, 100)) if entry(p) < SPINES)


def _table(rows: pl.DataFrame) -> Table:
    cells = []
    for name in names(rows):
        by_opening = {opens: _of(rows.filter(opens=opens), name) for opens in OPENS}
        means = (str(over_seeds(value, pl.col("fct_ms").mean(), "ms")) for value in by_opening.values())
        reordered = (str(out_of_order(value, within)) for value in by_opening.values() for within in WITHIN)
        cells.append((LABELS[name], *means, *reordered))
    heads = (f"flows open {opens}" for opens in OPENS)
    of_data = {"subflow": "packets reordered in their subflow", "connection": "data reordered in its flow"}
    return Table(
        ("mean FCT", *heads, *(f"{of_data[within]}, {opens}" for opens in OPENS for within in WITHIN)), tuple(cells)
    )
