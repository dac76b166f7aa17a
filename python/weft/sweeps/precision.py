"""Seeds until the interval of a measure is narrow enough: a sequential procedure with a correction for its looks.

Each combination of values is looked at when it has 6, 9, 14, 21 seeds and so on, half as many more each time. Stopping
at the first interval that is narrow by chance would make intervals cover too little. The interval of look k therefore
misses with probability 0.05 / (k (k + 1)) instead of 0.05. These sum to 0.05, so that all looks together miss with at
most that probability, whatever the rule that stops (Bonferroni's inequality, with an error-spending sequence).

Source: Lan and DeMets, "Discrete sequential boundaries for clinical trials" (1983), for spending an error over looks.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.errors import UsageError
from weft.measures import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ERROR = 0.05
"""Probability with which an interval may miss the median."""
FIRST = 6
"""Seeds at the first look."""
GROWTH = 1.5
"""Ratio of the numbers of seeds of two looks."""
MAX_SEEDS = 100
"""Default of the largest number of seeds per combination of values."""


@dataclass(frozen=True)
class Precision:
    """The interval that is wanted."""

    of: str
    """The measure, such as "p99 slowdown"."""
    share: float
    """Half the width of the interval, as a share of the median."""
    max_seeds: int = MAX_SEEDS
    """Number of seeds at which a combination of values is left as it is."""

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            UsageError: A value is out of range, or the measure is none.
        """
        parse(self.of)
        if not (isinstance(self.share, int | float) and 0 < self.share < 1):
            raise UsageError(f"precision: {self.share!r}; allowed: between 0 and 1, such as 0.05 for 5 %")
        if not (isinstance(self.max_seeds, int) and self.max_seeds >= FIRST):
            raise UsageError(f"max_seeds: {self.max_seeds!r}; allowed: a whole number of at least {FIRST}")

    def sizes(self, first: int) -> Iterator[int]:
        """Yields the number of seeds at each look."""
        size = min(max(first, FIRST), self.max_seeds)
        yield size
        while size < self.max_seeds:
            size = min(math.ceil(size * GROWTH), self.max_seeds)
            yield size

    def is_reached(self, values: Sequence[float], look: int) -> bool:
        """Returns whether the interval of these values is narrow enough.

        Args:
            values: One value per seed.
            look: Number of the look, from 1.
        """
        import polars as pl

        from weft.stats import median_ci

        rows = pl.DataFrame({"value": values}, schema={"value": pl.Float64})
        row = median_ci(rows, "value", confidence=confidence(look)).row(0, named=True)
        if row["low"] is None:
            return False
        half = (row["high"] - row["low"]) / 2
        return bool(half <= self.share * abs(row["median"]))

    def document(self) -> dict[str, Any]:
        """Returns the settings as a document for JSON."""
        return {"of": self.of, "share": self.share, "max_seeds": self.max_seeds}


def confidence(look: int) -> float:
    """Returns the confidence of the interval at a look, counted from 1; 0 stands for a fixed number of seeds."""
    return 1 - ERROR if look == 0 else 1 - ERROR / (look * (look + 1))


def parse_share(text: str) -> float:
    """Parses a share such as "5%" or "0.05".

    Raises:
        UsageError: It is none, or not between 0 and 1.
    """
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?) ?(%?)", text.strip(), re.ASCII)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise UsageError(f"--precision {text!r:.50}; allowed: between 0% and 100%, such as 5%")
    return share
