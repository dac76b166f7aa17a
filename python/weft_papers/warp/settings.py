"""The common settings of the figures: the schemes, one bottleneck of 10 Gbps, and criteria for all cells.

Scenes, seeds and criteria were fixed in research/warp/protocol.md, before any of them was run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft import Experiment
from weft.stats import digits
from weft_papers.beyond.all_schemes import SCHEMES as OTHERS
from weft_papers.beyond.all_schemes import Scheme, multipath
from weft_papers.seed_summary import SeedSummary

WARP, TURNS = OWN = ("warp", "warp-rr")
"""Warp with the scheduler of profile `linux`, and with `scheduler = "round-robin"`."""
SCHEMES: dict[str, Scheme] = {
    WARP: multipath("Warp", "warp"),
    TURNS: Scheme("Warp, round-robin", multipath("", "warp").transport | {"scheduler": "round-robin"}),
    **OTHERS,
    "amp-cut": multipath("AMP, alpha cut", {"name": "amp", "dctcp_cut": 1}),
}
RIVALS = tuple(name for name in SCHEMES if name not in OWN)
CHOOSING = ("mmptcp", "opn", "opn-rtts")
"""Schemes whose policies choose paths for packets; a spec with one path rejects them."""
MULTIPATH = tuple(name for name in SCHEMES if name not in ("ecmp", "rps", *CHOOSING))
"""Schemes that run on one bottleneck."""
COLOURS = {
    "warp": "#000000",
    "warp-rr": "#888888",
    "amp": "#0072b2",
    "amp-cut": "#56b4e9",
    "xmp": "#d55e00",
    "dcm": "#009e73",
    "lia": "#cc79a7",
    "ecmp": "#e69f00",
}
"""Colours of the schemes that plots show."""
DCTCP: dict[str, Any] = {"cc": "dctcp"}


def label(name: str) -> str:
    """Returns a scheme's label; where there is one path, DCTCP is a scheme as well."""
    return SCHEMES[name].label if name in SCHEMES else name.upper()


def transport(name: str, subflows: int, **changes: object) -> dict[str, Any]:
    """Returns a scheme's transport with `subflows` subflows, for topologies that place subflows on paths themselves."""
    given = {**SCHEMES[name].transport, "subflows": subflows, **changes}
    return {field: value for field, value in given.items() if (field, value) != ("paths", "ecmp")}


def bottleneck(
    name: str,
    *,
    senders: int,
    delay_us: int,
    mark: int,
    measured_from: str = "0s",
    gbps: int = 10,
    limit: int = 100,
    **fields: object,
) -> Experiment:
    """Returns senders, a switch and a receiver, with these other fields: AMP's figure 1 in profile `linux`."""
    return Experiment.model_validate(
        {
            "name": name,
            "measure": {"start": measured_from},
            "topology": {"kind": "many-to-one", "senders": senders, "rate": f"{gbps}Gbps", "delay": f"{delay_us}us"},
            "queues": {"limit": f"{limit} packets", "mark": f"{mark} packets"},
            **fields,
        }
    )


def extent(spreads: Iterable[SeedSummary]) -> str:
    """Formats the range of the means, as in "0.953 to 1.18"."""
    means = [summary.mean for summary in spreads]
    low, high = digits(min(means)), digits(max(means))
    return low if low == high else f"{low} to {high}"


def met(spreads: Iterable[SeedSummary], bar: Callable[[float], bool]) -> str:
    """Formats the number of cells that meet a criterion, as in "94 of 96 cells, 0.859 to 1"."""
    found = list(spreads)
    return f"{sum(bar(summary.mean) for summary in found)} of {len(found)} cells, {extent(found)}"
