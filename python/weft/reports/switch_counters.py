"""Pauses, trimmed and dropped packets of a run: counters of links, packets that pauses blocked, reasons of drops."""

from __future__ import annotations

import polars as pl

from weft.api import Result
from weft.plots import data
from weft.summary import drops_by_reason, reasons_in_words


def links(result: Result, of: pl.DataFrame) -> pl.DataFrame:
    """Returns the table of links with `trims` and `paused`, each only if it is not 0 everywhere.

    `trims` counts packets. `paused` is the share of the measured time for which the link was paused, the sum over its
    classes.

    Args:
        result: The run.
        of: Its table of links.
    """
    found = of
    if result.manifest["rows"].get("traffic_classes"):
        trims = result.traffic_classes.group_by("link").agg(pl.col("trims").sum())
        if trims["trims"].sum():
            found = found.join(trims, on="link", how="left", maintain_order="left").with_columns(
                pl.col("trims").fill_null(0)
            )
    start, end = result.manifest["measured_s"]
    if end > start and "pauses" in found.columns and found["pauses"].sum():
        found = found.with_columns(paused=pl.col("paused_s") / (end - start))
    return found


def victims(flows: pl.DataFrame) -> list[str]:
    """Returns a sentence about packets that waited because of pauses for other ports, if there are some."""
    if "packets_blocked" not in flows.columns or not flows["packets_blocked"].sum():
        return []
    blocked = flows.filter(pl.col("packets_blocked") > 0)
    packets, time = int(blocked["packets_blocked"].sum()), float(blocked["blocked_s"].sum())
    return [
        f"Head-of-line blocking: {packets:,} data packets of {blocked.height:,} flows waited because of pauses for "
        f"other ports, {data.seconds_name(time)} in all."
    ]


def drops(result: Result) -> list[str]:
    """Returns a sentence about the reasons for which packets were dropped or lost, if there are some.

    Args:
        result: The run.
    """
    if not result.manifest["rows"].get("drops"):
        return []
    packets = pl.col("packets").sum()
    shown = reasons_in_words(drops_by_reason(result))
    places = result.drops.group_by("link", "from", "to").agg(packets).sort("packets", "link", descending=[True, False])
    most = places.row(0, named=True)
    place = f"the most, {most['packets']:,}, on the way from {most['from']} to {most['to']}"
    return [f"Packets dropped or lost in the whole run, by reason: {shown}; {place}."]
