"""The appearance of algorithms and schemes in the plots of the papers' figures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """The appearance of an algorithm in plots, and its name in texts."""

    label: str
    colour: str
    marker: str = "o"
