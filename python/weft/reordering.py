"""Packet reordering: RFC 4737's reordered packets and their extent, RFC 5236's densities.

They come from the table `packets`, so a run must have the probe `packets` on the links where arrivals are to be looked
at, such as those to the receivers. A run without that probe pays nothing.

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
"""Whose order: that in which a subflow sent its packets, or that of a connection's data."""


def arrivals(packets: pl.DataFrame, within: Within = "subflow") -> pl.DataFrame:
    """One row an arrival, by link, flow and, `within` a subflow, subflow; in each of these in order of time.

    `within` a subflow, these are packets that were sent for the first time; they leave in the order of their sequence
    numbers, so what is reordered was reordered by the network. `within` a connection, it is the first copy of each
    chunk of its data, retransmitted or not, by whichever subflow: the order that the receiver has to restore. Further
    copies are left out ("only the first to arrive is considered for further analysis", RFC 4737, section 3.3), and
    what never arrives over the link is lost.

    With s[i] the place of the i-th arrival in that order, lost ones left out, there are these columns:

    - `extent`: i - j for the smallest j with s[j] > s[i] (RFC 4737, section 4.2.1). Null if there is none: then s[i] is
      not below NextExp, and the packet is not reordered (section 3.3).
    - `displacement`: i - s[i], the receive_index less the sequence number (RFC 5236); negative: early. A packet counts
      as lost if it never arrives, which a run knows in the end, so there is no displacement threshold.
    - `buffered`: how many arrivals, this one included, then wait for an earlier one that is yet to arrive: the
      occupancy of RFC 5236's hypothetical buffer.

    Args:
        packets: The table `packets` of one run.
        within: Whose order.
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
    # Groups follow each other in both orders, so that places may be those in the whole table.
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
    """How much is reordered, and how far: one row a group.

    The columns of `by`, then `packets`, `reordered`, `ratio` (RFC 4737, section 4.1: reordered packets over packets
    received), `mean_extent`, `max_extent` (both null if none is reordered) and `max_buffered`.

    Args:
        arrived: What `arrivals` yields, perhaps of several runs.
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
    """Share of the packets with each value: the columns of `by`, then the column, rising, and `fraction`.

    Of `displacement` it is RFC 5236's reorder density, of `buffered` its reorder buffer-occupancy density, and of
    `extent` the distribution over the reordered packets.

    Args:
        arrived: What `arrivals` yields, perhaps of several runs.
        column: Which.
        by: Columns that distinguish groups; without any, all rows are one group.
    """
    names = [by] if isinstance(by, str) else list(by)
    counts = arrived.drop_nulls(column).group_by(*names, column).agg(packets=pl.len())
    total = pl.col("packets").sum()
    fraction = pl.col("packets") / (total.over(names) if names else total)
    return counts.select(*names, column, fraction=fraction).sort(*names, column, nulls_last=True)
