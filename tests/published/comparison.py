"""A published number and the numbers of both levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A number of a level and the largest relative difference from the published one."""

    found: Callable[[], float]
    band: float
    agrees: bool = True
    """Whether the number is within the band. If it is not, the comparison has the cause."""


@dataclass(frozen=True)
class Comparison:
    """A published number and the numbers of both levels.

    The published number stands in the source, or follows from equations of the source by means that share no code with
    Weft.
    """

    source: str
    quantity: str
    published: Callable[[], float]
    flow: Measure | None = None
    packet: Measure | None = None
    cause: str = ""
    """The cause of a difference or of a level without a number."""

    @property
    def name(self) -> str:
        """The source's first author and the quantity."""
        return f"{self.source.partition(',')[0]}: {self.quantity}"
