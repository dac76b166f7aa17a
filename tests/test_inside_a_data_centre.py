"""The packet level beside the kernel in docs/linux/inside-a-data-centre.md."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import weft

PAGE = Path(__file__).parent.parent / "docs" / "linux" / "inside-a-data-centre.md"
ALGORITHMS = ("cubic", "lia", "amp")
ROWS: dict[str, tuple[int, dict[str, Any]]] = {
    "one": (1, {}),
    "two": (2, {}),
    "two, each with 1 % of losses": (2, {"loss": 0.01}),
    "two, the first loses everything for 5 s": (2, {"fails": True}),
}
"""The number of paths, and what happens to them."""
SEEDS = (1, 2, 3)
MEGABITS = 480
"""Size of the file, 60 MB."""


def spec(cc: str, paths: int, seed: int, *, loss: float = 0.0, fails: bool = False) -> dict[str, Any]:
    """A file over links of 100 Mbps, of which the first loses everything from 1 s to 6 s if it `fails`."""
    queue = {"queue": {"name": "lossy", "loss": loss}} if loss else {}
    links: list[dict[str, Any]] = []
    for n in range(paths):
        links += [{"a": "client", "b": f"x{n}", "rate": "1Gbps"}]
        links += [{"a": f"x{n}", "b": "server", "rate": "100Mbps"} | queue]
    change = {"links": ["x0->server"], "detection_delay": "60s"}
    events = [{"at": "1s", "state": "down"} | change, {"at": "6s", "state": "up"} | change] if fails else []
    return {
        "name": "file",
        "duration": "60s",
        "seed": seed,
        "topology": {
            "kind": "graph",
            "hosts": ["client", "server"],
            "switches": [f"x{n}" for n in range(paths)],
            "links": links,
            "rate": "1Gbps",
            "delay": "10us",
        },
        "queues": {"limit": "1000 packets", "mark": "20 packets"},
        "transports": {"sender": {"cc": cc, "subflows": paths, "paths": "by-interface"}},
        "traffic": [{"kind": "bulk", "from": "client", "to": "server", "transport": "sender", "size": "60MB"}],
        "events": events,
    }


def mbps(cc: str, paths: int, happens: dict[str, Any]) -> float:
    """The median goodput of three seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.ResultWarning)
        runs = [weft.run(spec(cc, paths, seed, **happens)) for seed in SEEDS]
    return median(MEGABITS / float(run.flows["fct_s"][0]) for run in runs)


def test_page_has_the_goodputs_of_the_packet_level() -> None:
    table = re.findall(
        r"^\| ([^|]+) \|(?: [^|]+ \|){3} (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    found = {name: [round(mbps(cc, *ROWS[name])) for cc in ALGORITHMS] for name in ROWS}
    assert {name: [int(cell) for cell in cells] for name, *cells in table} == found
