"""Packet reordering: RFC 4737's reordered packets and their extent, RFC 5236's densities.

They come from the table `packets`, so a run needs the probe `packets` on the links whose arrivals are analysed, such as
those to the receivers. A run without that probe costs nothing.

>>> import polars as pl
>>> from weft import reordering
>>> numbers = [1, 6, 7, 2, 3, 4, 5, 8]
>>> constant = {"kind": "data", "link": 0, "flow": 0, "subflow": 0, "retransmission": False}
>>> packets = pl.DataFrame({"seq": numbers} | constant)
>>> arrived = reordering.arrivals(packets)
>>> arrived["displacement"].to_list()
[0, -4, -4, 2, 2, 2, 2, 0]
>>> reordering.summary(arrived).row(0, named=True)
{'packets': 8, 'reordered': 4, 'ratio': 0.5, 'mean_extent': 3.5, 'max_extent': 5, 'max_buffered': 2}
>>> reordering.density(arrived).rows()
[(-4, 0.25), (0, 0.25), (2, 0.5)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

Within = Literal["subflow", "connection"]
"""The order of comparison: that in which a subflow sent its packets, or that of a connection's data."""


def arrivals(packets: pl.DataFrame, within: Within = "subflow") -> pl.DataFrame:
    """Returns one row per arrival, grouped by link and flow and, within a subflow, by subflow.

    The rows of a group are in order of time. Within a subflow, they are packets that were sent for the first time.
    These leave in the order of their sequence numbers, so the network caused any reordering. Within a connection, they
    are the first copies of chunks of data, retransmitted or not, on any subflow: the receiver has to restore their
    order. Later copies are left out ("only the first to arrive is considered for further analysis", RFC 4737, section
    3.3). A packet that never arrives over the link is lost.

    Let s[i] be the position of the i-th arrival in the order of comparison, without lost packets. The columns are:

    - `extent`: i - j for the smallest j with s[j] > s[i] (RFC 4737, section 4.2.1). Null if there is none: then s[i] is
      not below NextExp, and the packet is not reordered (section 3.3).
    - `displacement`: i - s[i], the receive_index less the sequence number (RFC 5236); negative: early. A packet counts
      as lost if it never arrives. That is known at the end of a run, so there is no displacement threshold.
    - `buffered`: number of arrivals, this one included, that then wait for an earlier packet that has not arrived: the
      occupancy of RFC 5236's hypothetical buffer.

    Args:
        packets: The table `packets` of one run.
        within: The order of comparison.
    """
    groups = ["link", "flow"] if within == "connection" else ["link", "flow", "subflow"]
    data = packets.filter(pl.col("kind") == "data").sort(groups, maintain_order=True)
    if within == "connection":
        data = data.with_columns(number=pl.col("chunk").cast(pl.Int64))
    else:
        # Sequence numbers are modulo 2^32; from one arrival to the next they move by less than half of that.
        seq = pl.col("seq").cast(pl.Int64)
        step = (seq.diff().fill_null(0) + 2**31) % 2**32 - 2**31
        data = data.with_columns(number=(seq.first() + step.cum_sum()).over(groups)).filter(~pl.col("retransmission"))
    data = data.unique([*groups, "number"], keep="first", maintain_order=True)
    # Groups follow each other in both orders, so that positions may be those in the whole table.
    data = data.with_row_index("i").with_columns(pl.col("i").cast(pl.Int64))
    ranks = data.sort(*groups, "number").select("i", s=pl.int_range(pl.len(), dtype=pl.Int64))
    data = data.join(ranks, on="i", maintain_order="left")
    s, highest = data["s"], data["s"].cum_max()
    overtaken_at = highest.search_sorted(s, side="right").cast(pl.Int64)
    missing = s.reverse().cum_min().reverse().shift(-1, fill_value=len(s))
    return data.select(
        *groups,
        extent=pl.when(s < highest).then(pl.col("i") - overtaken_at),
        displacement=pl.col("i") - s,
        buffered=pl.col("i") + 1 - missing,
    )


def summary(arrived: pl.DataFrame, *, by: str | Iterable[str] = ()) -> pl.DataFrame:
    """Returns the amount and the extent of reordering, one row per group.

    The columns are those of `by`, then `packets`, `reordered`, `ratio` (RFC 4737, section 4.1: reordered packets over
    packets received), `mean_extent`, `max_extent` (both null if none is reordered) and `max_buffered`.

    Args:
        arrived: Rows of `arrivals`, of one run or several.
        by: Columns that distinguish groups; without any, all rows are one group.
    """
    extent = pl.col("extent")
    columns = {
        "packets": pl.len(),
        "reordered": extent.count(),
        "ratio": extent.count() / pl.len(),
        "mean_extent": extent.mean(),
        "max_extent": extent.max(),
        "max_buffered": pl.col("buffered").max(),
    }
    names = [by] if isinstance(by, str) else list(by)
    return arrived.group_by(names).agg(**columns).sort(names, nulls_last=True) if names else arrived.select(**columns)


def density(
    arrived: pl.DataFrame,
    column: Literal["displacement", "buffered", "extent"] = "displacement",
    *,
    by: str | Iterable[str] = (),
) -> pl.DataFrame:
    """Returns the fraction of the packets with each value of a column.

    The columns are those of `by`, then the column, rising, and `fraction`. For `displacement` it is RFC 5236's reorder
    density, for `buffered` its reorder buffer-occupancy density, and for `extent` the distribution over the reordered
    packets.

    Args:
        arrived: Rows of `arrivals`, of one run or several.
        column: The column.
        by: Columns that distinguish groups; without any, all rows are one group.
    """
    names = [by] if isinstance(by, str) else list(by)
    counts = arrived.drop_nulls(column).group_by(*names, column).agg(packets=pl.len())
    total = pl.col("packets").sum()
    fraction = pl.col("packets") / (total.over(names) if names else total)
    return counts.select(*names, column, fraction=fraction).sort(*names, column, nulls_last=True)
