"""Measures of a run: one number per run, named in words such as "p99 slowdown" or "mean goodput from 10MB".

>>> measure = parse("p99 slowdown below 100KB")
>>> measure.title, measure.best
('p99 slowdown of flows below 100 KB', 'lowest')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

import polars as pl

from weft import stats
from weft.errors import UsageError
from weft.stats import size_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
RATES = ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
PLAIN = ((1.0, ""),)

Units = tuple[tuple[float, str], ...]
"""Units with their sizes, the largest first."""


@dataclass(frozen=True)
class Quantity:
    """A column of a table, with the words for it."""

    table: str
    column: str
    units: Units = PLAIN
    at_least: str = ""
    """The column with a lower bound of values that the end of the run cut off."""
    best: Literal["lowest", "highest", ""] = ""
    weight: str = ""


QUANTITIES: Mapping[str, Quantity] = {
    "fct": Quantity("flows", "fct_s", SECONDS, "unfinished_s", "lowest"),
    "slowdown": Quantity("flows", "slowdown", PLAIN, "slowdown_at_least", "lowest"),
    "goodput": Quantity("flows", "goodput_bps", RATES, best="highest"),
    "timeouts": Quantity("flows", "timeouts", best="lowest"),
    "retransmitted": Quantity("flows", "retransmitted", best="lowest"),
    "marked": Quantity("flows", "marked"),
    "jct": Quantity("jobs", "jct_s", SECONDS, best="lowest"),
    "busbw": Quantity("jobs", "bus_bps", RATES, best="highest"),
    "queue": Quantity("queues", "packets", best="lowest", weight="seconds"),
    "utilisation": Quantity("links", "utilisation", ((0.01, "%"),)),
    "latency": Quantity("latencies", "latency_s", SECONDS, best="lowest"),
}
"""Quantities by their names in measures; each other number of `flows` has the name of its column."""

STATISTICS = ("mean", "median", "min", "max", "sum", "jain")
EXAMPLES = '"p99 slowdown", "mean fct", "min goodput", "jain goodput", "p99 queue" or "mean goodput from 10MB"'

_FORM = re.compile(
    r"(?P<statistic>[a-z]+|p\d+(?:\.\d+)?) (?P<quantity>\w+)"
    r"(?: from (?P<low>[\d.]+ ?[KMG]?B))?(?: below (?P<high>[\d.]+ ?[KMG]?B))?",
    re.ASCII,
)
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True)
class Measure:
    """A statistic of a quantity over the rows of a run, perhaps for flows of some sizes only."""

    text: str
    statistic: str
    quantity: Quantity
    name: str
    """The name of the quantity."""
    low_bytes: float | None = None
    """Smallest size of the flows, in bytes."""
    high_bytes: float | None = None
    """Size in bytes from which on flows do not count."""

    @property
    def title(self) -> str:
        """The measure in words, for the axis of a plot."""
        names = {"fct": "FCT", "jct": "JCT", "busbw": "bus bandwidth", "queue": "queue length (packets)"}
        name = names.get(self.name, self.name)
        words = "Jain's index of goodput" if self.text.startswith("jain goodput") else f"{self.statistic} {name}"
        match self.low_bytes, self.high_bytes:
            case None, None:
                return words
            case low, None:
                return f"{words} of flows from {size_name(low or 0)}"
            case None, high:
                return f"{words} of flows below {size_name(high or 0)}"
            case low, high:
                return f"{words} of flows from {size_name(low or 0)} to {size_name(high or 0)}"

    @property
    def best(self) -> Literal["lowest", "highest", ""]:
        """The direction of the best values; empty if no value is better than others."""
        return "highest" if self.statistic == "jain" else self.quantity.best

    @property
    def units(self) -> Units:
        """Units of the values."""
        return PLAIN if self.statistic == "jain" else self.quantity.units

    def rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of a table that count.

        Raises:
            UsageError: The table has no such column.
        """
        if self.name == "queue":
            keys = [name for name in table.columns if name not in {"time_at_length_s", "packets", "seconds"}]
            table = stats.queue_lengths(table, by=keys)
        elif self.quantity.column not in table.columns:
            numbers = [name for name, kind in table.schema.items() if kind.is_numeric()]
            raise UsageError(f"{self.text!r}: {self.quantity.table} has no {self.name}; allowed: {', '.join(numbers)}")
        if self.name == "slowdown" and "slowdown_at_least" in table.columns:
            # No flow is faster than on an idle path.
            table = table.with_columns(pl.col("slowdown_at_least").clip(lower_bound=1.0))
        if self.low_bytes is not None:
            table = table.filter(pl.col("size_bytes") >= self.low_bytes)
        if self.high_bytes is not None:
            table = table.filter(pl.col("size_bytes") < self.high_bytes)
        return table

    def values(self, table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Returns one number per group: the columns of `by`, `value` and `at_least`.

        Rows that the end of a run cut off count with their lower bounds; `at_least` says where the value may therefore
        be higher. It is null where no row has a value.

        Args:
            table: The table of the quantity, of one or several runs.
            by: Columns that distinguish groups; runs must be different groups.
        """
        rows = self.rows(table)
        column, bound = pl.col(self.quantity.column).cast(pl.Float64), self.quantity.at_least
        bounded = bound if bound and bound in rows.columns else None
        if self.statistic == "median" or self.statistic.startswith("p"):
            percent = 50.0 if self.statistic == "median" else float(self.statistic[1:])
            name = f"p{percent:g}"
            found = stats.percentiles(
                rows, self.quantity.column, [percent], by=by, weight=self.quantity.weight or None, at_least=bounded
            )
            doubt = pl.col(f"{name}_is_lower_bound") if bounded else pl.lit(value=False)
            return found.select(*by, value=pl.col(name).cast(pl.Float64), at_least=doubt.fill_null(value=False))
        known = pl.coalesce(column, pl.col(bounded)) if bounded and self.statistic in {"mean", "max", "sum"} else column
        weight = pl.col(self.quantity.weight) if self.quantity.weight else None
        aggregation = {
            "mean": known.mean() if weight is None else (known * weight).sum() / weight.sum(),
            "min": known.min(),
            "max": known.max(),
            "sum": pl.when(known.count() > 0).then(known.sum()),
            "jain": stats.jain(self.quantity.column),
        }[self.statistic]
        open_rows = (column.is_null() & pl.col(bounded).is_not_null()).any() if bounded else pl.lit(value=False)
        doubt = open_rows if self.statistic in {"mean", "max", "sum"} else pl.lit(value=False)
        if not by:
            return rows.select(value=aggregation, at_least=doubt)
        return rows.group_by(by).agg(value=aggregation, at_least=doubt).sort(by, nulls_last=True)


def parse(text: str) -> Measure:
    """Parses a measure: a statistic, a quantity, and perhaps sizes of flows.

    Statistics are mean, median, min, max, sum, jain and percentiles such as p99. Quantities are fct, slowdown, goodput,
    jct, busbw (NCCL's bus bandwidth of a collective), queue, utilisation, latency, and each column of numbers of
    `flows`. A size is such as "from 10MB" or "from 100KB below 10MB".

    Raises:
        UsageError: It is not a measure.
    """
    found = _FORM.fullmatch(" ".join(text.split())) if isinstance(text, str) else None
    if found is None:
        raise UsageError(f"measure {text!r:.100}: not a statistic and a quantity; allowed: such as {EXAMPLES}")
    statistic, name = found["statistic"], found["quantity"]
    percent = float(statistic[1:]) if re.fullmatch(r"p[\d.]+", statistic) else None
    if (percent is None and statistic not in STATISTICS) or (percent is not None and percent > 100):
        near = get_close_matches(statistic, STATISTICS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"measure {text!r}: {statistic}; {hint}allowed: {', '.join(STATISTICS)}, and p0 to p100")
    quantity = QUANTITIES.get(name, Quantity("flows", name))
    low, high = (None if size is None else _bytes(size) for size in (found["low"], found["high"]))
    if (low is not None or high is not None) and quantity.table != "flows":
        raise UsageError(f"measure {text!r}: {name} has no sizes of flows; remove the sizes")
    return Measure(" ".join(text.split()), statistic, quantity, name, low, high)


def _bytes(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+) ?([KMG]?B)", text, re.ASCII).groups()  # type: ignore[union-attr]
    return float(number) * _SIZES[unit]


def unit_of(values: Sequence[float], units: Units) -> tuple[float, str]:
    """Returns the unit in which the middle one of these values is a short number, and its size."""
    sizes = sorted(abs(value) for value in values if value)
    if not sizes:
        return units[0]
    return next((unit for unit in units if sizes[len(sizes) // 2] >= unit[0] * (1 - 1e-9)), units[-1])
