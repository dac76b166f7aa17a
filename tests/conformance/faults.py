"""Plants faults, each alone in a scratch copy of the repository, and says which tests find them.

`python -m tests.conformance.faults` runs for each fault the tests of the crate that it changes, a part of `make test`.
For a fault in the transport these are the tests of TCP, with the table of public scripts. They also run for a fault in
congestion control that its crate does not find. The results are in `faults.csv` for the page.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from tests.conformance.scratch import ROOT, copy_of_head, environment

FOLDER = Path(__file__).parent
FAULTS = FOLDER / "faults.toml"
FOUND = FOLDER / "faults.csv"
CONFORMANCE = "rules::conformance::"
TRANSPORT = ["-p", "weft-packet", "--lib", "transport::tcp::"]


def tests_for(file: str) -> list[list[str]]:
    """Returns the arguments of `cargo test` for a fault in a file, in the order in which they run."""
    crate = file.split("/")[1]
    own = [["-p", crate, "--lib"], ["-p", crate, "--tests"]]
    return [TRANSPORT] if crate == "weft-packet" else [*own, TRANSPORT] if crate == "weft-cc" else own


def failing(output: str) -> list[str]:
    """Returns the tests that failed."""
    return re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE)


def run_tests(name: str, arguments: list[str], copy: Path) -> list[str]:
    """Returns the tests that fail in the copy.

    Raises:
        ValueError: the program does not compile.
    """
    command = ["cargo", "test", "--locked", "--no-fail-fast", *arguments]
    result = subprocess.run(command, cwd=copy, env=environment(), capture_output=True, text=True, check=False)
    if "could not compile" in result.stderr:
        raise ValueError(f"{name}: does not compile\n{result.stderr}")
    return failing(result.stdout)


def try_fault(fault: dict[str, str], copy: Path) -> tuple[list[str], list[str]]:
    """Plants a fault, and returns the tests that fail and the arguments with which they ran.

    The copy is as before afterwards.

    Raises:
        ValueError: the text of the fault does not occur once, or the faulty program does not compile.
    """
    file = copy / fault["file"]
    sound = file.read_text()
    if sound.count(fault["old"]) != 1:
        raise ValueError(
            f"{fault['name']}: {fault['old']!r} occurs {sound.count(fault['old'])} times in {fault['file']}"
        )
    file.write_text(sound.replace(fault["old"], fault["new"]))
    try:
        for arguments in tests_for(fault["file"]):
            if found := run_tests(fault["name"], arguments, copy):
                return found, arguments
    finally:
        file.write_text(sound)
        os.utime(file)
    return [], []


def main() -> int:
    """Plants all faults, or those whose name contains a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("--missing", action="store_true", help="only faults that faults.csv does not have")
    options = parser.parse_args()
    faults = [f for f in tomllib.loads(FAULTS.read_text())["fault"] if options.word in f["name"]]
    if not faults:
        parser.error(f"word: {options.word}; allowed: a part of a name in {FAULTS.relative_to(ROOT)}")
    rows = {}
    if FOUND.exists():
        with FOUND.open(newline="") as file:
            rows = {row["fault"]: row for row in csv.DictReader(file)}
    if options.missing:
        faults = [fault for fault in faults if fault["name"] not in rows]
    with copy_of_head() as copy:
        passed: list[list[str]] = []
        for fault in faults:
            started = time.monotonic()
            found, arguments = try_fault(fault, copy)
            if found and arguments not in passed:
                if broken := run_tests("without a fault", arguments, copy):
                    print(f"tests fail without a fault: {', '.join(broken)}", file=sys.stderr)
                    return 2
                passed.append(arguments)
            by_scripts = any(CONFORMANCE in name for name in found)
            others = [name for name in found if CONFORMANCE not in name]
            rows[fault["name"]] = {
                "fault": fault["name"],
                "scripts": "yes" if by_scripts else "not run" if "weft-packet" not in fault["file"] else "no",
                "tests": str(len(others)),
                "first": others[0] if others else "",
            }
            print(f"{fault['name']}: scripts {by_scripts}, {len(others)} tests ({time.monotonic() - started:.0f} s)")
            sys.stdout.flush()
            with FOUND.open("w", newline="") as file:
                writer = csv.DictWriter(file, ["fault", "scripts", "tests", "first"], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows.values())
    missed = [row["fault"] for row in rows.values() if row["scripts"] != "yes" and row["tests"] == "0"]
    print(f"{len(rows) - len(missed)} of {len(rows)} faults were found")
    for name in missed:
        print(f"not found: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
