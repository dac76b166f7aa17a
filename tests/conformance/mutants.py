"""Changes places of the code, one at a time, and counts the changes that tests find: `make mutants`.

cargo-mutants makes the changes in a scratch copy of the last commit. Each part of the code is tested by its nearest
tests, and a random sample of its changes is made: the first `--sample` ones in an order that `--seed` determines.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.scratch import ROOT, copy_of_head, environment

FOLDER = Path(__file__).parent
SCORES = FOLDER / "mutants.csv"
SURVIVORS = FOLDER / "survivors.csv"
FIELDS = {
    SCORES: ["part", "changes", "seed", "tried", "found", "not found", "not compiled"],
    SURVIVORS: ["part", "change", "reason"],
}
TIMEOUT_S = "1200"
FOUND, MISSED, NOT_COMPILED = "found", "not found", "not compiled"
OUTCOMES = {"CaughtMutant": FOUND, "Timeout": FOUND, "MissedMutant": MISSED, "Unviable": NOT_COMPILED}


@dataclass(frozen=True)
class Part:
    """A part of the code with its tests."""

    name: str
    package: str
    files: tuple[str, ...] = ()
    """Patterns of the files that are changed; empty means all of the package."""
    tests: tuple[str, ...] = ("--lib", "--tests")
    """Arguments of `cargo test`."""


TCP = "crates/weft-packet/src/transport/tcp"
RECOVERY = ("ack_event", "congestion", "expiry", "loss_detection", "recovery", "rtt", "segments/losses", "state")
SOLVERS = ("max_min", "incremental", "coupled", "coupled/*", "equilibrium", "equilibrium/*")
PARTS = (
    # The others, `any_events` and `steady_state`, draw events at random or take a minute of one core.
    Part("congestion control", "weft-cc", tests=("--lib", "--test=amp_alone", "--test=coupled_growth")),
    Part("recovery", "weft-packet", tuple(f"{TCP}/{file}.rs" for file in RECOVERY), ("--lib", "transport::tcp::")),
    Part("paths", "weft-paths"),
    Part("ports", "weft-engine", tuple(f"crates/weft-engine/src/{file}.rs" for file in ("port", "service", "pauses"))),
    Part("flow solvers", "weft-flow", tuple(f"crates/weft-flow/src/{file}.rs" for file in SOLVERS)),
)


def cargo_mutants(part: Part, *arguments: str, copy: Path) -> str:
    """Runs cargo-mutants on a part of the copy, and returns what it prints; progress goes to standard error."""
    files = [argument for file in part.files for argument in ("--file", file)]
    command = ["cargo", "mutants", "--package", part.package, *files, *arguments]
    env = environment(copy.parent)
    return subprocess.run(command, cwd=copy, env=env, check=False, stdout=subprocess.PIPE, text=True).stdout


def all_changes(part: Part, copy: Path) -> list[str]:
    """Returns the names of all changes of a part, in the order of the code."""
    return [change["name"] for change in json.loads(cargo_mutants(part, "--list", "--json", copy=copy))]


def try_change(part: Part, number: int, total: int, copy: Path, *, test_first: bool) -> str:
    """Returns what became of the change with a number, from 0 on: whether tests found it, or it did not compile.

    Args:
        part: the part that is changed.
        number: the change.
        total: the number of all changes.
        copy: the scratch copy.
        test_first: whether the tests are also run without a change.

    Raises:
        ValueError: the tests fail without a change.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = cargo_mutants(
            part, "--test-package", part.package, "--in-place", "--output", folder, "--timeout", TIMEOUT_S,
            "--baseline", "run" if test_first else "skip", "--shard", f"{number}/{total}", "--sharding", "round-robin",
            "--", "--locked", *part.tests, copy=copy,
        )  # fmt: skip
        outcomes = json.loads((Path(folder) / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    found = [OUTCOMES[outcome["summary"]] for outcome in outcomes if isinstance(outcome["scenario"], dict)]
    if len(found) != 1:
        raise ValueError(f"{part.name}: the tests fail without a change\n{printed}")
    return found[0]


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
    """The changes of a part in random order, and what became of the first ones."""

    part: Part
    seed: int
    changes: list[str]
    order: list[int]
    outcomes: dict[str, str] = field(default_factory=dict)

    def extend(self, copy: Path) -> None:
        """Makes one more change, if there is one, and stores the score."""
        tried = len(self.outcomes)
        if tried < len(self.changes):
            number = self.order[tried]
            outcome = try_change(self.part, number, len(self.changes), copy, test_first=tried == 0)
            self.outcomes[self.changes[number]] = outcome
            store(self.part, len(self.changes), self.seed, self.outcomes)
            print(f"{self.changes[number]}: {outcome}", flush=True)


def draw(part: Part, seed: int, copy: Path) -> Sample:
    """Returns the sample of a part before its first change."""
    changes = all_changes(part, copy)
    order = list(range(len(changes)))
    random.Random(seed).shuffle(order)  # noqa: S311
    return Sample(part, seed, changes, order)


def main() -> int:
    """Changes all parts, or the one that is named, and stores the score and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help=", ".join(part.name for part in PARTS))
    parser.add_argument("--sample", type=int, default=40, help="number of changes of each part")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = ROOT / "target" / "mutants"
    os.nice(5)
    with copy_of_head(folder) as copy:
        samples = [draw(p, options.seed, copy) for p in PARTS if not options.part or p.name in options.part]
        # In turn, so that all parts have about as many changes if the run is stopped.
        for _ in range(options.sample):
            for sample in samples:
                sample.extend(copy)
    for row in read(SCORES):
        print(f"{row['part']}: {row['found']} of {int(row['found']) + int(row['not found'])} changes were found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
