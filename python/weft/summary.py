"""The results of a run in a few numbers, as `weft run` prints them.

>>> import polars as pl
>>> flows = pl.DataFrame({"transport": ["amp", "amp"], "fct_s": [0.001, None], "timeouts": [0, 3]})
>>> by_transport(flows)["flows with a timeout"].to_list()
[1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.api import Result

MS_PER_S = 1e3
BPS_PER_MBPS = 1e6
COUNTERS = {
    "drops": "packets dropped",
    "losses": "packets lost",
    "marks": "packets marked",
    "trims": "packets trimmed",
    "pauses": "pauses",
    "timeouts": "timeouts",
}
"""Counters of a manifest that are shown, with their names."""
RARE_COUNTERS = {"losses", "trims", "pauses"}
"""Counters that are shown only if they are not 0."""


COLUMNS = ("transport", "fct_s", "goodput_bps", "timeouts", "suppressions")
"""The columns of the table `flows` that the numbers rest on."""


def flows_of(result: Result) -> pl.DataFrame:
    """Returns the columns of the table `flows` of a run that `by_transport` needs, without reading others."""
    return result.table("flows", COLUMNS)


def by_transport(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per transport: flows, completion times in ms, goodput in Mbps, timeouts and suppressions.

    Completion times are those of finished flows. A column whose data the level does not provide is absent.

    Args:
        flows: The table `flows` of a run.
    """
    fct, goodput = pl.col("fct_s") * MS_PER_S, pl.col("goodput_bps") / BPS_PER_MBPS
    columns = {
        "flows": (pl.len(), "flow"),
        "unfinished": (pl.col("fct_s").null_count(), "fct_s"),
        "mean FCT (ms)": (fct.mean(), "fct_s"),
        "p50 FCT (ms)": (fct.median(), "fct_s"),
        "p99 FCT (ms)": (fct.quantile(0.99, "linear"), "fct_s"),
        "mean goodput (Mbps)": (goodput.mean(), "goodput_bps"),
        "least goodput (Mbps)": (goodput.min(), "goodput_bps"),
        "flows with a timeout": ((pl.col("timeouts") > 0).sum(), "timeouts"),
        "suppressions": (pl.col("suppressions").sum(), "suppressions"),
    }
    present = {name: value for name, (value, needs) in columns.items() if needs == "flow" or needs in flows.columns}
    return flows.group_by("transport", maintain_order=True).agg(**present)


def table(flows: pl.DataFrame) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Returns the numbers of `by_transport` as headings and rows, with a column per transport and a dash for null."""
    results = by_transport(flows)
    names = results["transport"].to_list()
    rows = [(name, *("-" if value is None else value for value in results[name])) for name in results.columns[1:]]
    return ("transport", *names), rows if names else []


def lacking(manifest: Mapping[str, Any], flows: pl.DataFrame) -> list[str]:
    """Returns the rows of `table` and the totals that the run's level does not have, in words.

    Args:
        manifest: The manifest of a run.
        flows: Its table `flows`.
    """
    rows = {"timeouts": "flows with a timeout", "suppressions": "suppressions"}
    counters = manifest.get("counters", {})
    totals_of = {"drops": "packets dropped", "marks": "packets marked"}
    return [
        *(words for column, words in rows.items() if column not in flows.columns),
        *(words for name, words in totals_of.items() if name not in counters),
    ]


def totals(manifest: Mapping[str, Any]) -> dict[str, int | float]:
    """Returns the packets dropped, lost, marked and trimmed in the whole network, pauses, timeouts, and the wall time.

    Args:
        manifest: The manifest of a run. Counters that its level does not have are absent, and so are
            losses of links, trims and pauses if there are none.
    """
    counters = manifest.get("counters", {})
    counted = {
        name: counters[name] for name in COUNTERS if name in counters and (name not in RARE_COUNTERS or counters[name])
    }
    return {**counted, "wall_seconds": manifest["wall_seconds"]}


def drops_by_reason(result: Result) -> dict[str, int]:
    """Returns the packets of the whole run that were dropped or lost, by reason, most first."""
    if not result.manifest["rows"].get("drops"):
        return {}
    drops = result.table("drops", ("reason", "packets"))
    rows = drops.group_by("reason").agg(pl.col("packets").sum()).sort("packets", "reason", descending=[True, False])
    return dict(rows.select("reason", "packets").iter_rows())


def reasons_in_words(drops: Mapping[str, int]) -> str:
    """Returns the reasons of `drops_by_reason` with their counts, in words."""
    return ", ".join(f"{reason} {packets:,}" for reason, packets in drops.items())


def as_json(result: Result) -> dict[str, Any]:
    """Returns the numbers of `by_transport`, `totals` and `drops_by_reason` as one JSON document."""
    return {
        "by_transport": by_transport(flows_of(result)).to_dicts(),
        "totals": totals(result.manifest),
        "drops_by_reason": drops_by_reason(result),
    }


def wall_time(seconds: float) -> str:
    """Returns a wall time with two decimals, or with two digits if it is below a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds:.2g} s"


def totals_line(manifest: Mapping[str, Any]) -> str:
    """Returns the totals of a run in one line."""
    values = totals(manifest)
    counted = [f"{values[name]:,} {word}" for name, word in COUNTERS.items() if name in values]
    return ", ".join([*counted, f"{wall_time(values['wall_seconds'])} of wall time"])
