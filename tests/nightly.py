"""`make nightly`: the long checks one after the other, then one table of their results, and the tables that they print.

Each night draws specs that no earlier night had: their first number follows from the day.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOGS = ROOT / "target" / "nightly"
RELATIONS = 1000
"""Number of random specs a night whose relations are checked."""
GRAPHS = 10_000
"""Number of random graphs of messages a night."""


@dataclass(frozen=True)
class Step:
    """A target of `make`, with the variables that it takes."""

    target: str
    content: str
    seeds: str = ""
    variables: tuple[str, ...] = ()


def steps(today: date) -> list[Step]:
    """The steps of a night."""
    days = (today - date(2026, 1, 1)).days
    first, first_graph = 1_000_000 + RELATIONS * days, 1_000_000 + GRAPHS * days
    return [
        Step("test-versions", "commands with the oldest and newest packages"),
        Step("test-sdist", "the wheel from the packed sources"),
        Step("test-shares", "shares of flows that compete on this kernel"),
        Step("test-all-kernels", "weftd on Debian's kernels, with each mode of ECN"),
        Step("table-by-kernel", "what works on each kernel, and how well"),
        Step("test-coupling", "coupled algorithms, RFC 6356 and CoNEXT 2012, on this kernel"),
        Step("test-failover", "pauses at a failed path, with weftd and with Linux alone"),
        Step(
            "graphs",
            "random graphs of messages over all transports",
            f"{first_graph} to {first_graph + GRAPHS - 1}",
            (f"FIRST={first_graph}", f"CASES={GRAPHS}"),
        ),
        Step("causes", "claims of the papers that fail hold in the run that their cause names"),
        Step("closed-forms", "collective operations of 2 to 1,024 ranks"),
        Step(
            "relations",
            "relations between runs",
            f"{first} to {first + RELATIONS - 1}",
            (f"FIRST={first}", f"CASES={RELATIONS}"),
        ),
        Step("exactness", "the engine and the reference simulator", "fixed", ("NETWORKS=20000",)),
    ]


def table(commit: str, rows: list[tuple[Step, int, float]]) -> str:
    """The table of a night."""
    lines = [f"commit {commit}", "", "| target | content | seeds | result | minutes |", "|---|---|---|---|---|"]
    for step, code, seconds in rows:
        result = "passed" if code == 0 else f"failed: target/nightly/{step.target}.log"
        lines.append(f"| {step.target} | {step.content} | {step.seeds or 'fixed'} | {result} | {seconds / 60:.1f} |")
    return "\n".join(lines)


def tables_of(step: Step, log: str) -> str:
    """The tables that a step has printed, below a heading, or nothing."""
    lines = [line for line in log.splitlines() if line.startswith("|")]
    return "\n".join(["", "", f"## {step.target}", "", *lines]) if lines else ""


def main() -> int:
    """Runs all steps, also after one that failed."""
    git = shutil.which("git") or "git"
    described = subprocess.run(
        [git, "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    LOGS.mkdir(parents=True, exist_ok=True)
    rows = []
    for step in steps(datetime.now(UTC).date()):
        sys.stdout.write(f"{step.target}: {step.content}\n")
        sys.stdout.flush()
        begun = time.monotonic()
        with (LOGS / f"{step.target}.log").open("w", encoding="utf-8") as log:
            command = [os.environ.get("MAKE", "make"), "--no-print-directory", step.target, *step.variables]
            code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
        rows.append((step, code, time.monotonic() - begun))
    text = table(described.stdout.strip() or "unknown", rows)
    for step, _, _ in rows:
        log_text = (LOGS / f"{step.target}.log").read_text(encoding="utf-8", errors="replace")
        text += tables_of(step, log_text)
    (LOGS / "table.md").write_text(f"{text}\n", encoding="utf-8")
    sys.stdout.write(f"{text}\n")
    return int(any(code for _, code, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
