"""Changes places of the code, one at a time, and counts the changes that tests find: `make mutants`.

cargo-mutants makes the changes in a copy of the repository. Each part of the code is tested by its nearest tests, and a
sample of its places is changed: every `--every`-th one.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
SCORES = FOLDER / "mutants.csv"
SURVIVORS = FOLDER / "survivors.csv"
TIMEOUT_S = "300"


@dataclass(frozen=True)
class Part:
    """A part of the code with its tests."""

    name: str
    package: str
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Arguments of `cargo test`."""


TCP = "crates/weft-packet/src/transport/tcp"
FLOW = "crates/weft-flow/src"
PARTS = (
    Part("congestion control", "weft-cc"),
    Part(
        "recovery",
        "weft-packet",
        tuple(
            f"{TCP}/{file}.rs"
            for file in (
                "ack_event",
                "congestion",
                "expiry",
                "loss_detection",
                "recovery",
                "rtt",
                "segments/losses",
                "state",
            )
        ),
        ("--lib", "transport::tcp::"),
    ),
    Part("paths", "weft-paths"),
    Part("ports", "weft-engine", ("crates/weft-engine/src/port.rs", "crates/weft-engine/src/admission.rs"), ("--lib",)),
    Part(
        "flow solvers",
        "weft-flow",
        tuple(f"{FLOW}/{file}.rs" for file in ("max_min", "incremental", "coupled")),
        ("--lib",),
    ),
)


FAST_BUILDS = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "0",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}
"""Settings of cargo with which a change compiles in seconds."""


def run(part: Part, every: int, program: str) -> dict[str, list[str]]:
    """Returns the changes of a part by what became of them: caught, missed, and so on."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            program, "mutants", "--package", part.package, "--test-package", part.package, "--output", folder,
            "--shard", f"0/{every}", "--sharding", "round-robin", "--timeout", TIMEOUT_S, "--no-shuffle",
            *(argument for file in part.files for argument in ("--file", file)),
            "--", "--locked", *part.tests,
        ]  # fmt: skip
        subprocess.run(command, cwd=ROOT, env={**os.environ, **FAST_BUILDS}, check=False, stdout=sys.stderr)
        outcomes = json.loads((Path(folder) / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        if isinstance(outcome["scenario"], dict):
            found.setdefault(outcome["summary"], []).append(outcome["scenario"]["Mutant"]["name"])
    return found


def main() -> int:
    """Changes all parts, or the one that is named, and stores the score and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=[part.name for part in PARTS])
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--program", default="cargo")
    options = parser.parse_args()
    scores: dict[str, dict[str, str]] = {}
    survivors: dict[str, dict[str, str]] = {}
    for stored, file, key in ((scores, SCORES, "part"), (survivors, SURVIVORS, "change")):
        if file.exists():
            with file.open(newline="") as rows:
                stored.update({row[key]: row for row in csv.DictReader(rows)})
    for part in PARTS:
        if options.part not in (None, part.name):
            continue
        found = run(part, options.every, options.program)
        caught = len(found.get("CaughtMutant", [])) + len(found.get("Timeout", []))
        missed = found.get("MissedMutant", [])
        scores[part.name] = {
            "part": part.name,
            "sample": f"one in {options.every}",
            "found": str(caught),
            "not found": str(len(missed)),
        }
        for change in [c for c, row in survivors.items() if row["part"] == part.name and c not in missed]:
            del survivors[change]
        for change in missed:
            reason = survivors.get(change, {}).get("reason", "")
            survivors[change] = {"part": part.name, "change": change, "reason": reason}
        for stored, file in ((scores, SCORES), (survivors, SURVIVORS)):
            with file.open("w", newline="") as rows:
                names = list(next(iter(stored.values()), {"part": "", "change": "", "reason": ""}))
                writer = csv.DictWriter(rows, names, lineterminator="\n")
                writer.writeheader()
                writer.writerows(stored.values())
        print(f"{part.name}: {caught} of {caught + len(missed)} changes were found", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
