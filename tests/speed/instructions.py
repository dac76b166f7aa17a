"""Counts instructions per packet-hop with valgrind. The difference of two durations leaves out the set-up of a run."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import NamedTuple

RUNNER = Path(__file__).parent / "run_module.py"


class Count(NamedTuple):
    """Instructions and packet-hops of one run."""

    instructions: int
    packet_hops: int


def instructions_per_hop(spec: str, durations: tuple[str, str]) -> float:
    """Returns the instructions per packet-hop of a spec between two durations, the shorter first."""
    shorter, longer = (count(spec, duration) for duration in durations)
    return (longer.instructions - shorter.instructions) / (longer.packet_hops - shorter.packet_hops)


def count(spec: str, duration: str) -> Count:
    """Counts the instructions of a run of the extension module, which has one thread."""
    module = util.find_spec("weft._weft")
    assert module is not None
    assert module.origin is not None
    valgrind = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    # `-S` leaves out the packages of the environment, which the module does not need.
    program = (sys.executable, "-S", str(RUNNER), module.origin, duration)
    done = subprocess.run((*valgrind, *program), input=spec, capture_output=True, text=True, check=True)
    total = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert total is not None, done.stderr
    return Count(int(total[1].replace(",", "")), int(done.stdout))


def compiler() -> str:
    """Returns the version of the Rust compiler."""
    done = subprocess.run(("/usr/bin/env", "rustc", "--version"), capture_output=True, text=True, check=True)
    return done.stdout.split()[1]
