"""Changes places of the code, one at a time, and counts the changes that tests find: `make mutants`.

cargo-mutants makes the changes in a scratch copy of the last commit. Each part of the code is tested by its nearest
tests, and a random sample of its changes is made: the first `--sample` ones in an order that `--seed` determines.
What became of each change is kept in `target/scratch`, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.scratch import SCRATCH, copy_of_head, environment

FOLDER = Path(__file__).parent
SCORES = FOLDER / "mutants.csv"
SURVIVORS = FOLDER / "survivors.csv"
FIELDS = {
    SCORES: ["part", "changes", "seed", "tried", "found", "not found", "not compiled"],
    SURVIVORS: ["part", "change", "reason"],
}
MIN_TIMEOUT_S = 60
TIMEOUT_MULTIPLIER = 10
"""Times that the tests without a change take, after which a change counts as found."""
FOUND, MISSED, NOT_COMPILED = "found", "not found", "not compiled"
OUTCOMES = {"CaughtMutant": FOUND, "Timeout": FOUND, "MissedMutant": MISSED, "Unviable": NOT_COMPILED}


@dataclass(frozen=True)
class Part:
    """A part of the code with its tests."""

    name: str
    package: str
    files: tuple[str, ...] = ()
    """Patterns of the files that are changed; empty means all of the package."""
    targets: tuple[str, ...] = ("--lib", "--tests")
    """Arguments of cargo that name the test programs; the others are not compiled."""
    tests: tuple[str, ...] = ()
    """Beginnings of the names of tests; empty means all."""


TCP = "crates/weft-packet/src/transport/tcp"
RECOVERY = ("ack_event", "congestion", "expiry", "loss_detection", "recovery", "rtt", "segments/losses", "state")
SOLVERS = ("max_min", "incremental", "coupled", "coupled/*", "equilibrium", "equilibrium/*")
PARTS = (
    # The others, `any_events` and `steady_state`, draw events at random or take a minute of one core.
    Part("congestion control", "weft-cc", targets=("--lib", "--test=amp_alone", "--test=coupled_growth")),
    Part("recovery", "weft-packet", tuple(f"{TCP}/{file}.rs" for file in RECOVERY), ("--lib",), ("transport::tcp::",)),
    Part("paths", "weft-paths"),
    Part("ports", "weft-engine", tuple(f"crates/weft-engine/src/{file}.rs" for file in ("port", "service", "pauses"))),
    Part("flow solvers", "weft-flow", tuple(f"crates/weft-flow/src/{file}.rs" for file in SOLVERS)),
)


def cargo_mutants(part: Part, *arguments: str, copy: Path) -> str:
    """Runs cargo-mutants on a part of the copy, and returns what it prints; progress goes to standard error."""
    files = [argument for file in part.files for argument in ("--file", file)]
    command = ["cargo", "mutants", "--package", part.package, *files, *arguments]
    result = subprocess.run(command, cwd=copy, env=environment(), check=False, stdout=subprocess.PIPE, text=True)
    return result.stdout


def all_changes(part: Part, copy: Path) -> list[str]:
    """Returns the names of all changes of a part, in the order of the code."""
    return [change["name"] for change in json.loads(cargo_mutants(part, "--list", "--json", copy=copy))]


def run_changes(part: Part, *arguments: str, copy: Path) -> list[dict[str, Any]]:
    """Makes the changes that the arguments select, and returns what became of each."""
    with tempfile.TemporaryDirectory() as folder:
        printed = cargo_mutants(
            part, "--test-package", part.package, "--in-place", "--output", folder, *arguments,
            *(f"--cargo-arg={argument}" for argument in ("--locked", *part.targets)), "--", *part.tests, copy=copy,
        )  # fmt: skip
        report = json.loads((Path(folder) / "mutants.out" / "outcomes.json").read_text())
    outcomes: list[dict[str, Any]] = report["outcomes"]
    if any(outcome["scenario"] == "Baseline" and outcome["summary"] != "Success" for outcome in outcomes):
        raise ValueError(f"{part.name}: the tests fail without a change\n{printed}")
    return outcomes


def try_change(part: Part, number: int, total: int, copy: Path, timeout_s: int | None) -> tuple[str, int]:
    """Returns what became of the change with a number, and the time after which tests of a change count as hanging.

    Args:
        part: the part that is changed.
        number: the number of the change, from 0 on.
        total: the number of all changes.
        copy: the scratch copy.
        timeout_s: the time of the last change, in seconds. Without it, the tests are first run without a change.

    Raises:
        ValueError: the tests fail without a change.
    """
    limits = (
        ["--timeout-multiplier", str(TIMEOUT_MULTIPLIER), "--minimum-test-timeout", str(MIN_TIMEOUT_S)]
        if timeout_s is None
        else ["--baseline", "skip", "--timeout", str(timeout_s)]
    )
    shard = ["--shard", f"{number}/{total}", "--sharding", "round-robin"]
    outcomes = run_changes(part, *limits, *shard, copy=copy)
    if timeout_s is None:
        phases = next(outcome["phase_results"] for outcome in outcomes if outcome["scenario"] == "Baseline")
        tests_s = next(phase["duration"] for phase in phases if phase["phase"] == "Test")
        timeout_s = max(MIN_TIMEOUT_S, round(TIMEOUT_MULTIPLIER * tests_s))
    return next(OUTCOMES[o["summary"]] for o in outcomes if isinstance(o["scenario"], dict)), timeout_s


def read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as rows:
        return list(csv.DictReader(rows))


def write(file: Path, rows: list[dict[str, str]]) -> None:
    with file.open("w", newline="") as stored:
        writer = csv.DictWriter(stored, FIELDS[file], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def store(part: Part, total: int, seed: int, found: dict[str, str]) -> None:
    """Replaces the score and the survivors of a part; a survivor keeps its reason."""
    count = Counter(found.values())
    numbers = [total, seed, len(found), count[FOUND], count[MISSED], count[NOT_COMPILED]]
    row = dict(zip(FIELDS[SCORES], [part.name, *map(str, numbers)], strict=True))
    write(SCORES, [old for old in read(SCORES) if old["part"] != part.name] + [row])
    survivors = read(SURVIVORS)
    reasons = {row["change"]: row["reason"] for row in survivors}
    missed = [change for change, outcome in found.items() if outcome == MISSED]
    write(
        SURVIVORS,
        [row for row in survivors if row["part"] != part.name]
        + [{"part": part.name, "change": change, "reason": reasons.get(change, "")} for change in missed],
    )


@dataclass
class Sample:
    """The changes of a part in random order, and what became of some of them."""

    part: Part
    seed: int
    changes: list[str]
    order: list[int]
    kept: Path
    """The file with what became of changes, in this run and in those before."""
    outcomes: dict[str, str]
    timeout_s: int | None = None

    def try_up_to(self, size: int, copy: Path) -> None:
        """Makes those of the first `size` changes that are not tried yet."""
        for number in self.order[:size]:
            change = self.changes[number]
            if change not in self.outcomes:
                total = len(self.changes)
                self.outcomes[change], self.timeout_s = try_change(self.part, number, total, copy, self.timeout_s)
                self.kept.write_text(json.dumps(self.outcomes, indent=1))
                print(f"{self.part.name}, {size}: {change}: {self.outcomes[change]}", flush=True)

    def store(self, size: int) -> None:
        """Stores the score of the first `size` changes, as far as they are tried."""
        sample = [self.changes[number] for number in self.order[:size]]
        tried = {change: self.outcomes[change] for change in sample if change in self.outcomes}
        store(self.part, len(self.changes), self.seed, tried)

    def forget_survivors(self) -> None:
        """Lets the changes that no test found be tried again."""
        self.outcomes = {change: outcome for change, outcome in self.outcomes.items() if outcome != MISSED}


def draw(part: Part, seed: int, copy: Path) -> Sample:
    """Returns the sample of a part, with what earlier runs found for the same changes."""
    changes = all_changes(part, copy)
    order = list(range(len(changes)))
    random.Random(seed).shuffle(order)  # noqa: S311
    version = hashlib.sha256("\n".join(changes).encode()).hexdigest()[:12]
    kept = SCRATCH / f"{part.name.replace(' ', '-')}-{version}.json"
    return Sample(part, seed, changes, order, kept, json.loads(kept.read_text()) if kept.exists() else {})


def main() -> int:
    """Changes all parts, or the ones that are named, and stores the score and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help=f"parts to change: {', '.join(part.name for part in PARTS)}")
    parser.add_argument("--sample", type=int, default=40, help="number of changes of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--survivors", action="store_true", help="try those again that no test found")
    options = parser.parse_args()
    names = [part.name for part in PARTS]
    if unknown := [name for name in options.part if name not in names]:
        parser.error(f"part: {', '.join(unknown)}; allowed: {', '.join(names)}")
    os.nice(5)
    with copy_of_head() as copy:
        samples = [draw(p, options.seed, copy) for p in PARTS if not options.part or p.name in options.part]
        if options.survivors:
            for sample in samples:
                sample.forget_survivors()
        # In turn, so that all parts have about as many changes if the run is stopped.
        for size in range(1, options.sample + 1):
            for sample in samples:
                sample.try_up_to(size, copy)
                sample.store(options.sample)
    for row in read(SCORES):
        print(f"{row['part']}: {row['found']} of {int(row['found']) + int(row['not found'])} changes were found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
