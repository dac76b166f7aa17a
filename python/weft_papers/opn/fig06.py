"""Figures 6 and 7 ("Concurrency tuning"): the model's throughput over the number of subflows, and the best number.

The figures are calculated, not simulated, by equations (3), (4), (7) and (11). Throughput is in MSS per RTT, of which
only the ratios matter.

With x = p^sqrt(2/p), the argument of equation (11)'s Lambert W is x - 1, which is below -1/e for most loss rates.
There W0 is complex and the paper takes its modulus. The cause is equation (10). The derivative of n (1 - x)^n is (1 -
x)^n (1 + n log(1 - x)), which is 0 at n = -1 / log(1 - x). In (10), however, the term without n has lost the exponent
n.

The paper gives neither figure 6's loss rates, here 0.1 to 0.5, nor the ends of the table, here 0.01 to 0.99.
"""

from __future__ import annotations

import cmath
import math
from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft_papers.figure import Claim

GROWS, FALLS = 1.0, 0.5
"""The paper's i and d: the increase and the decrease of windows."""
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Figure 6's loss rates."""
STEP = 0.01
MAX_SUBFLOWS = 32
"""Maximum number of subflows in a kernel, and the table's cap."""
MAX_SEARCHED = 200
"""Number of subflows up to which the best one of equation (7) is searched for."""
AWAY = 1
"""Subflows by which the table may differ from the best of equation (7)."""
LOSES = 0.05
"""Relative distance from the best throughput up to which a throughput counts as the best one."""


def rows() -> pl.DataFrame:
    """Returns one row per loss rate and number of subflows, `n`, with its throughput.

    Each row also has values of the loss rate: the `argument` of W, and the table's entries by equations (11) and (7).
    """
    rates = [round(STEP * index, 2) for index in range(1, 100)]
    return pl.DataFrame(
        [
            {"p": p, "n": n, "throughput": throughput(p, n), "timeout": timeout(p, n)}
            | {"argument": argument(p), "entry": entry(p), "exact": best_of_throughput(p), "restored": restored(p)}
            for p in rates
            for n in range(1, MAX_SUBFLOWS + 1)
        ]
    )


def plot(rows: pl.DataFrame) -> Plot:
    """(6) throughput by number of subflows for some loss rates, and (7) the best number by loss rate."""
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    for p in RATES:
        here = rows.filter((pl.col("p") - p).abs() < STEP / 2)
        left.plot(here["n"].to_list(), here["throughput"].to_list(), label=f"p = {p}", linewidth=1.2)
    left.set(xlabel="subflows", ylabel="throughput (MSS a RTT)", title="(6) equation (7)")
    table = rows.group_by("p", maintain_order=True).agg(pl.col("entry", "exact").first())
    at = table["p"].to_list()
    right.step(at, table["entry"].to_list(), where="post", label="equation (11)", color="#0072b2")
    exact = [min(MAX_SUBFLOWS, n) for n in table["exact"].to_list()]
    right.step(at, exact, where="post", label="best of equation (7)", color="#999999", linestyle="--")
    right.set(xlabel="loss rate", ylabel="best number of subflows", title=f"(7) at most {MAX_SUBFLOWS}")
    for axes in (left, right):
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the section's claims about the model."""
    shown = {p: rows.filter((pl.col("p") - p).abs() < STEP / 2) for p in RATES}
    first, last = (_gain(shown, *ends) for ends in ((1, 2), (MAX_SUBFLOWS - 1, MAX_SUBFLOWS)))
    table = rows.group_by("p", maintain_order=True).agg(pl.col("entry", "exact", "restored", "argument").first())
    entries = table["entry"].to_list()
    capped = table.filter(pl.col("entry") == MAX_SUBFLOWS)["p"]
    below = _ends(table.filter(pl.col("argument") < -1 / math.e)["p"])
    exact = table.with_columns(exact=pl.min_horizontal("exact", pl.lit(MAX_SUBFLOWS)))
    apart = exact.filter((pl.col("entry") - pl.col("exact")).abs() > AWAY)
    corrected = exact.filter((pl.col("restored") - pl.col("exact")).abs() > AWAY)
    loses = _loses(rows, table)
    return [
        Claim(
            "With few subflows, more of them improve the throughput",
            "improve",
            _listed({p: 100 * (gain - 1) for p, gain in first.items()}),
            all(gain > 1 for gain in first.values()),
            "percent that the second subflow adds by equation (7); holds when all are above 0",
        ),
        Claim(
            "With many subflows the throughput falls",
            "falls",
            _listed({p: 100 * (gain - 1) for p, gain in last.items()}),
            all(gain < 1 for gain in last.values()),
            f"percent that the {MAX_SUBFLOWS}th subflow adds by equation (7); holds when all are below 0. It falls "
            "beyond: " + ", ".join(f"{p}: {_most(p)}" for p in RATES),
        ),
        Claim(
            "The best number of subflows falls as the loss rate rises",
            "falls",
            f"{entries[0]} at {table['p'][0]}, {entries[len(entries) // 2]} at {table['p'][len(entries) // 2]}, "
            f"{entries[-1]} at {table['p'][-1]}",
            all(a >= b for a, b in pairwise(entries)) and entries[-1] < entries[0],
            f"equation (11), whole subflows from 1 to {MAX_SUBFLOWS}; holds when no step rises. It is {MAX_SUBFLOWS} "
            "up to "
            f"{_or_never(capped)}; its argument of W is below -1/e, and W complex, at loss rates from {below}",
        ),
        Claim(
            "Equation (11) gives the number with the maximum throughput",
            "maximum",
            f"more than {AWAY} away at {len(apart)} of {len(table)} loss rates"
            + ("" if apart.is_empty() else f", {_ends(apart['p'])}"),
            apart.is_empty() and max(loses.values()) <= LOSES,
            f"compared with the best of equation (7), up to {MAX_SUBFLOWS}; holds when the table is at most {AWAY} "
            f"away and loses at most {LOSES:.0%} of the throughput everywhere; it loses up to "
            f"{100 * max(loses.values()):.3g} %, at {max(loses, key=lambda p: loses[p])}. Equation (11) "
            "solves (10), in which a term has lost the exponent n; with it n* is -1 / log(1 - p^sqrt(2/p)), more than "
            f"{AWAY} away at {len(corrected)} loss rates. By (11), with the exponent, and by (7): {_compared(exact)}",
        ),
    ]


def window(p: float, n: int) -> float:
    """Returns the average window of each of n subflows at the loss rate p, in packets (equation (3))."""
    return math.sqrt(2 * n * GROWS / ((2 * n - FALLS) * p * FALLS))


def timeout(p: float, n: int) -> float:
    """Returns the probability that at least one of n subflows loses a whole window (equation (4))."""
    return float(1 - (1 - p ** window(p, n)) ** n)


def throughput(p: float, n: int) -> float:
    """Returns the throughput in MSS per RTT (equation (7))."""
    return math.sqrt(n * GROWS * (2 * n - FALLS) / (2 * p * FALLS)) * (1 - timeout(p, n))


def lambert_w(z: complex) -> complex:
    """Returns the principal branch of w e^w = z, for real z from -1 on, by Halley's iteration.

    The value is complex below -1/e. The iteration begins with the series around the branch point -1/e: `w = -1 + q -
    q^2 / 3` with `q = sqrt(2 (e z + 1))` (Corless et al., "On the Lambert W Function", 1996, (4.22) and (5.9)).
    """
    q = cmath.sqrt(2 * (math.e * z + 1))
    w = -1 + q - q * q / 3
    for _ in range(50):
        e = cmath.exp(w)
        f = w * e - z
        if abs(f) <= 1e-15 or w == -1:
            break
        w -= f / (e * (w + 1) - (w + 2) * f / (2 * w + 2))
    return w


def argument(p: float) -> float:
    """Returns the argument of equation (11)'s Lambert W."""
    return float(p ** math.sqrt(2 / p) - 1)


def best(p: float) -> float:
    """Returns n* by equation (11), before it is rounded and capped."""
    return abs(lambert_w(argument(p)) / math.log(1 - p ** math.sqrt(2 / p)))


def entry(p: float) -> int:
    """Returns the table's entry: n* in whole subflows, 1 to 32."""
    x = p ** math.sqrt(2 / p)
    # The logarithm of a value that rounds to 1 is 0; the best number then exceeds all bounds.
    return MAX_SUBFLOWS if 1 - x == 1 else max(1, min(MAX_SUBFLOWS, round(best(p))))


def restored(p: float) -> int:
    """Returns the entry with the exponent that equation (10) lost: n = -1 / log(1 - x)."""
    x = p ** math.sqrt(2 / p)
    return MAX_SUBFLOWS if 1 - x == 1 else max(1, min(MAX_SUBFLOWS, round(-1 / math.log(1 - x))))


def best_of_throughput(p: float, most: int = MAX_SEARCHED) -> int:
    """Returns the n with the highest throughput by equation (7)."""
    return max(range(1, most + 1), key=lambda n: throughput(p, n))


def _gain(shown: dict[float, pl.DataFrame], few: int, many: int) -> dict[float, float]:
    """Returns throughput with `many` subflows over that with `few`, by loss rate."""
    by_number = {p: dict(here.select("n", "throughput").iter_rows()) for p, here in shown.items()}
    return {p: here[many] / here[few] for p, here in by_number.items()}


def _loses(rows: pl.DataFrame, table: pl.DataFrame) -> dict[float, float]:
    """Returns the share of the best throughput that the table's entry loses, by loss rate.

    The best throughput is that with up to `MAX_SUBFLOWS` subflows.
    """
    most = rows.group_by("p").agg(most=pl.col("throughput").max())
    of_entry = rows.filter(pl.col("n") == pl.col("entry")).select("p", "throughput")
    both = table.select("p").join(most, on="p").join(of_entry, on="p")
    return dict(both.select("p", 1 - pl.col("throughput") / pl.col("most")).iter_rows())


def _most(p: float) -> str:
    found = best_of_throughput(p)
    return str(found) if found < MAX_SEARCHED else f"not up to {MAX_SEARCHED}"


def _listed(percents: dict[float, float]) -> str:
    return ", ".join(f"p = {p}: {digits(percent)} %" for p, percent in percents.items())


def _or_never(capped: pl.Series) -> str:
    return "nowhere" if capped.is_empty() else f"a loss rate of {capped.to_list()[-1]}"


def _ends(rates: pl.Series) -> str:
    return f"{rates.to_list()[0]} to {rates.to_list()[-1]}"


def _compared(exact: pl.DataFrame) -> str:
    here = exact.filter(pl.col("p").is_in([0.2, 0.3, 0.4, 0.5, 0.6]))
    found = here.select("p", "entry", "restored", "exact").iter_rows()
    return "; ".join(f"{p}: {entry}, {corrected}, {best}" for p, entry, corrected, best in found)
