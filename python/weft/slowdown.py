"""The old place of `by_size`, and of the columns that the table `flows` now has itself; it is removed in 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.stats import EDGES_BYTES, by_size

if TYPE_CHECKING:
    import polars as pl

    from weft.api import Result

__all__ = ["EDGES_BYTES", "by_size", "with_slowdown"]


def with_slowdown(result: Result) -> pl.DataFrame:
    """Returns the table `flows`, which has `ideal_s`, `slowdown` and `slowdown_at_least`."""
    return result.flows
