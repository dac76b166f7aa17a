"""The buffer that AMP needs under incast, by its parameter gamma.

Writes gamma-and-buffer.svg, a map of 40 combinations.
"""

from pathlib import Path

import weft

SPEC = Path(__file__).parent.parent / "incast-amp.toml"
over = {
    "transports.sender.cc.gamma": range(1, 9),
    "queues.limit": [f"{packets} packets" for packets in (60, 80, 100, 150, 200)],
}

if __name__ == "__main__":
    sweep = weft.sweep(SPEC, over, seeds=5)
    print(sweep.summary("mean fct"))
    sweep.plot.heatmap("mean fct").savefig("gamma-and-buffer.svg")
