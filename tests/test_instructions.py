"""A packet-hop costs no more instructions than before.

`WEFT_SNAPSHOTS=renew` writes the table, `tests/speed/instructions.csv`. A higher number is reviewed like a change of
code.
"""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path

import pytest

from tests.speed.instructions import compiler, instructions_per_hop
from weft.bench import spec_text

TABLE = Path(__file__).parent / "speed" / "instructions.csv"
RENEW = os.environ.get("WEFT_SNAPSHOTS") == "renew"
MAX_INCREASE = 0.03

FABRIC = """
name = "sprayed"
duration = "1ms"

[topology]
kind = "fat-tree"
k = 8
rate = "100Gbps"
delay = "1us"

[queues]
limit = "100 packets"
{queues}

[transports.all]
{transport}

[[traffic]]
kind = "bulk"
transport = "all"
pairs = "permutation"
"""
SPECS = {
    "permutation-128": spec_text("permutation-128"),
    "uet, trimming": FABRIC.format(queues='kind = "trimming"', transport='kind = "uet"'),
    "dctcp, shared": FABRIC.format(
        queues='kind = { name = "shared", buffer = "8MB" }\nmark = "65 packets"', transport='cc = "dctcp"'
    ),
    "roce, lossless": FABRIC.format(queues='kind = "lossless"', transport='kind = "roce"'),
}
DURATIONS = ("200us", "500us")


def stored() -> dict[str, tuple[str, float]]:
    """Returns the compiler and the instructions per hop of each spec."""
    with TABLE.open(encoding="utf-8") as lines:
        return {row["spec"]: (row["compiler"], float(row["instructions per hop"])) for row in csv.DictReader(lines)}


def store(name: str, found: float) -> None:
    rows = (stored() if TABLE.exists() else {}) | {name: (compiler(), found)}
    with TABLE.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["spec", "compiler", "instructions per hop"])
        writer.writerows([name, *rows[name][:1], f"{rows[name][1]:.1f}"] for name in SPECS if name in rows)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.skipif(shutil.which("rustc") is None, reason="the compiler of the module is not known: rustc is not there")
@pytest.mark.parametrize("name", SPECS)
def test_a_packet_hop_costs_no_more_instructions(name: str) -> None:
    if not RENEW and stored()[name][0] != compiler():
        pytest.skip(f"the table is of Rust {stored()[name][0]}; the module was compiled with {compiler()}")
    found = instructions_per_hop(SPECS[name], DURATIONS)
    if RENEW:
        store(name, found)
    assert found <= (1 + MAX_INCREASE) * stored()[name][1]
