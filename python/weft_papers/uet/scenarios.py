"""Scenarios of the Ultra Ethernet transport: the published numbers of the UEC's simulator, and those of Weft.

Both draw random numbers, in different orders. Times and counters can be equal only where nothing random matters.
Elsewhere the published value is one draw, and the bars of `agreement` apply to the mean over the seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.errors import UsageError
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.uet.agreement import BARS, ONE_PATH_SEEDS, Comparison, is_in_order
from weft_papers.uet.scenario import QUANTITIES, Kind, outcome
from weft_papers.uet.scenario_files import PUBLISHED, Published, load

QUICK_HOSTS = 128
"""Maximum number of hosts of the quick version."""
QUICK = f"scenarios of up to {QUICK_HOSTS} hosts, without those with one path"
NAMES = {
    "fct_min_us": "first completion in us",
    "fct_max_us": "last completion in us",
    "new": "new packets",
    "rtx": "retransmissions",
    "rts": "requests to send",
    "acks": "acknowledgements received",
    "nacks": "reports of trimmed packets received",
    "pulls": "credit packets received",
}
COLOURS = {
    Kind.FEW_FLOWS: "#444444",
    Kind.INCAST: "#0072b2",
    Kind.PERMUTATION: "#009e73",
    Kind.SLOW_LINKS: "#d55e00",
    Kind.ONE_PATH: "#cc79a7",
}


def cases(scale: Scale) -> list[Case]:
    """Returns the runs of all scenarios; those with one path have at least ten seeds.

    Raises:
        UsageError: The file of scenarios is wrong, or the quick version of it is empty.
    """
    file = scale.scenarios or PUBLISHED
    published = [row for row in load(file) if not scale.quick or _is_quick(row)]
    if not published:
        raise UsageError(f"{file}: no scenarios in the quick version, which has {QUICK}; remove --quick")
    return [case for row in published for case in _cases(row, scale.seeds)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row with the published quantities."""
    return outcome(result)


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns a claim per scenario: Weft's numbers agree with the published ones."""
    found = {_key(part): part for _, part in rows.group_by("plan", "number", maintain_order=True)}
    comparisons = {key: _comparison(part) for key, part in found.items()}
    return [
        _claim(part, comparisons[key], [comparisons[other] for other in _balancers(part, found)])
        for key, part in found.items()
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Difference of Weft's last completion from the published one, by the published one."""
    plot = Plot(figsize=(7.2, 3.8), layout="constrained")
    axes = plot.subplots()
    points: dict[Kind, list[tuple[float, float]]] = {}
    for _, part in rows.group_by("plan", "number", maintain_order=True):
        comparison = _comparison(part)
        last, measured = comparison.expected["fct_max_us"], comparison.mean("fct_max_us")
        if last and not math.isnan(measured):
            points.setdefault(comparison.kind, []).append((last, 100 * (measured / last - 1)))
    for kind, values in points.items():
        axes.plot(*zip(*values, strict=True), "o", color=COLOURS[kind], label=str(kind), alpha=0.7)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set(xscale="log", xlabel="published last completion (us)", ylabel="difference (%)")
    axes.grid(visible=True, alpha=0.3)
    if points:
        axes.legend(frameon=False)
    return plot


def _is_quick(row: Published) -> bool:
    return row.scenario.network.hosts <= QUICK_HOSTS and row.scenario.kind is not Kind.ONE_PATH


def _cases(row: Published, seeds: int) -> list[Case]:
    labels: dict[str, str | int | float] = {
        "plan": row.plan,
        "number": row.number,
        "title": row.title,
        "kind": str(row.scenario.kind),
        "control": row.scenario.control,
        "matrix": row.matrix,
        "load_balancing": row.scenario.load_balancing,
        "paths": row.scenario.paths,
        "options": " ".join(sorted(row.options.split())),
    }
    # Labels have values in all cases: NaN stands for a quantity that is not given.
    given = {quantity: value for quantity, value in row.expected.items() if value is not None}
    labels |= {f"published_{quantity}": given.get(quantity, math.nan) for quantity in QUANTITIES}
    experiment = Experiment.model_validate(row.scenario.spec())
    if row.scenario.kind is Kind.ONE_PATH:
        seeds = max(seeds, ONE_PATH_SEEDS)
    return [Case(labels, experiment, seed) for seed in range(1, seeds + 1)]


def _key(part: pl.DataFrame) -> tuple[str, int]:
    return part["plan"][0], part["number"][0]


def _comparison(part: pl.DataFrame) -> Comparison:
    values = {quantity: part[f"published_{quantity}"][0] for quantity in QUANTITIES}
    expected = {quantity: None if math.isnan(value) else value for quantity, value in values.items()}
    return Comparison(Kind(part["kind"][0]), expected, part)


def _balancers(part: pl.DataFrame, found: dict[tuple[str, int], pl.DataFrame]) -> list[tuple[str, int]]:
    """Returns the scenarios with slow links that differ from this one in load balancing alone."""
    if part["kind"][0] != Kind.SLOW_LINKS:
        return []
    settings = ("control", "matrix", "paths", "options", "kind")
    equal = [key for key, other in found.items() if all(other[name][0] == part[name][0] for name in settings)]
    return [key for key in equal if key != _key(part)]


def _claim(part: pl.DataFrame, comparison: Comparison, others: Sequence[Comparison]) -> Claim:
    plan, number = _key(part)
    agrees = comparison.agrees
    if agrees:
        agrees = is_in_order(comparison, others)
    title = f": {part['title'][0]}" if part["title"][0] else ""
    note = f"{comparison.kind}: {BARS[comparison.kind]}"
    if comparison.expected["fct_max_us"] is None:
        note = "no published last completion"
    elif not comparison.is_complete:
        note += "; flows are incomplete at the end"
    quantities = _shown(comparison)
    return Claim(
        f"{plan} {number}{title}",
        ", ".join(_published(comparison, quantity) for quantity in quantities),
        ", ".join(_measured(comparison, quantity) for quantity in quantities),
        agrees,
        note,
        table=_table(comparison),
    )


def _shown(comparison: Comparison) -> tuple[str, ...]:
    """Returns the quantities that decide on agreement."""
    match comparison.kind:
        case Kind.FEW_FLOWS:
            return QUANTITIES
        case Kind.INCAST:
            return ("fct_max_us", "rtx", "rts")
        case _:
            return ("fct_max_us", "rtx")


WORDS = {"fct_min_us": "first", "fct_max_us": "last", "rts": "RTS", "acks": "ACKs", "nacks": "NACKs"}
"""Short names of quantities, where the name differs from the column's."""


def _published(comparison: Comparison, quantity: str) -> str:
    expected = comparison.expected[quantity]
    return f"{WORDS.get(quantity, quantity)} {'not given' if expected is None else _text(expected, quantity)}"


def _measured(comparison: Comparison, quantity: str) -> str:
    values = comparison.values(quantity)
    if not values:
        return f"{WORDS.get(quantity, quantity)} none"
    mean, low, high = (_text(value, quantity) for value in (comparison.mean(quantity), min(values), max(values)))
    spread = "" if low == high else f" ({low} to {high})"
    return f"{WORDS.get(quantity, quantity)} {mean}{spread}"


def _text(value: float, quantity: str) -> str:
    """Formats times with six significant digits, as published, and counters as whole numbers."""
    return f"{value:.6g}" if quantity.endswith("_us") else f"{value:.0f}"


def _table(comparison: Comparison) -> Table:
    lines = []
    for quantity in QUANTITIES:
        expected, values = comparison.expected[quantity], comparison.values(quantity)
        numbers = (comparison.mean(quantity), min(values), max(values)) if values else ()
        cells = [_text(value, quantity) for value in numbers] or ["", "", ""]
        lines.append((NAMES[quantity], "" if expected is None else _text(expected, quantity), *cells))
    return Table(("quantity", "published", "mean", "least", "largest"), tuple(lines))
