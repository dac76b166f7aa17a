"""Plays scripts on ns-3: `tests/ns3/script.cc` has a TCP socket of ns-3 answer them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.conformance.kernel import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.table import Script

OPTIONS = ("cc", "rtt", "sack", "timestamps", "ecn", "pacing", "hystart", "checks_data")
"""The entries of a script's `setup` that are options of the program; ns-3 lacks the subjects of the others."""


def not_played(script: Script) -> str:
    """Returns why ns-3 cannot play a script; empty if it can."""
    return "ns-3 has no MPTCP" if script.setup.get("mptcp", False) else ""


def play(script: Script, program: Path) -> Outcome:
    """Plays a script.

    Raises:
        subprocess.CalledProcessError: the program fails.
    """
    options = [f"--{name}={script.setup[name]}".lower() for name in OPTIONS if name in script.setup]
    steps = "".join(f"{step.text}\n" for step in script.steps)
    result = subprocess.run([program, *options], input=steps, capture_output=True, text=True, check=True)
    difference = result.stdout.strip()
    return Outcome(script.name, holds=not difference, difference=difference)
