"""The table of scripts, in `scripts`: what is sent when, and what must answer when.

`docs/validation/conformance.md` describes the notation. The tests of `weft-packet` read the same files.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "scripts"
MSS = 1000
"""Payload bytes of a segment: scripts count in segments."""


@dataclass(frozen=True)
class Step:
    """A line of a script."""

    line: int
    """Number of the line in its script, from 1 on."""
    text: str
    after_ms: float
    """Time since the step before."""
    until_ms: float
    """Latest time since the step before."""
    kind: str
    words: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """Returns the word that follows `name`; None if the step does not have it."""
        return self.words[self.words.index(name) + 1] if name in self.words else None

    def ranges(self, name: str) -> list[tuple[int, int]]:
        """Returns the ranges of bytes that follow each `name`."""
        return [byte_range(self.words[i + 1]) for i, word in enumerate(self.words) if word == name]


@dataclass(frozen=True)
class Script:
    """A script of the table."""

    name: str
    origin: str
    group: str
    about: str
    steps: tuple[Step, ...]
    omitted: str = ""
    """The parts of the script that do not apply."""
    setup: dict[str, Any] = field(default_factory=dict)
    weft: str = ""
    """The reason why Weft differs."""
    kernel: str = ""
    """The reason why this kernel differs from the script."""
    not_modelled: str = ""
    """The reason why Weft has nothing to which the script applies."""

    @property
    def is_public(self) -> bool:
        """Whether others wrote the script, rather than this project from a rule."""
        return not self.origin.startswith(("RFC ", "Linux `", "Weft"))


def byte_range(text: str) -> tuple[int, int]:
    """Returns a range of segments, as in `4-7`, in bytes."""
    start, end = text.split("-")
    return round(float(start) * MSS), round(float(end) * MSS)


def parse_steps(text: str) -> tuple[Step, ...]:
    """Returns the steps of a script.

    Raises:
        ValueError: a line is not a step.
    """
    steps = []
    for number, line in enumerate(text.strip().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        time, kind, *rest = words
        if not time.startswith("+"):
            raise ValueError(f"{line}: no time; allowed: +MS KIND ...")
        first, _, last = time[1:].partition("..")
        steps.append(
            Step(number, " ".join(words), float(first), float(last or first), kind, tuple(rest)),
        )
    return tuple(steps)


def read_table(folder: Path = SCRIPTS) -> list[Script]:
    """Returns all scripts, in the order of the files and of their entries."""
    scripts = []
    for file in sorted(folder.glob("*.toml")):
        table = tomllib.loads(file.read_text())
        for entry in table["script"]:
            steps = parse_steps(entry.pop("steps", ""))
            names = entry.pop("names", None) or [entry.pop("name")]
            scripts += [Script(name=name, steps=steps, **entry) for name in names]
    return scripts
