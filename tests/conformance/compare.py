"""Plays the table of scripts on Weft and on this machine's kernel, side by side: `make conformance`.

The tests of `weft-packet` have played it on Weft before, and have written what they found to a file.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance import ns3, page
from tests.conformance.kernel import Outcome, play
from tests.conformance.table import Script, read_table

AT_ONCE = 6
"""Number of scripts that are played at the same time; they mostly wait."""


def read_weft(file: Path) -> dict[str, str]:
    """Returns how Weft differs from each script; empty if it does not."""
    return dict(line.split("\t") for line in file.read_text().splitlines())


def settle(script: Script, first: Outcome) -> Outcome:
    """Returns the outcome of most of three plays, if the first is not the expected one.

    The others have the machine for themselves: on a busy one the kernel's timers fire late.
    """
    if first.holds != bool(script.kernel):
        return first
    plays = [first, play(script), play(script)]
    holds = sum(outcome.holds for outcome in plays) >= 2
    return next(outcome for outcome in plays if outcome.holds == holds)


def main() -> int:
    """Plays all scripts, prints a table, and returns 1 if a result is not that of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft", type=Path, help="what the tests of weft-packet found")
    parser.add_argument("--ns3", type=Path, help="the program that plays scripts on ns-3")
    parser.add_argument("--update", action="store_true", help="write the results and the page")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("Skipped: scripts on this machine's kernel, because they need root")
        return 0
    weft = read_weft(options.weft)
    scripts = [script for script in read_table() if not script.not_modelled]
    started = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        first = list(pool.map(play, scripts))
    outcomes = [settle(script, outcome) for script, outcome in zip(scripts, first, strict=True)]
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    _, stored = page.read_results()
    results = {}
    unexpected = []
    print(f"{'script':52} {'Weft':5} {'Linux ' + release:11} ns-3")
    for script, outcome in zip(scripts, outcomes, strict=True):
        before = stored[script.name].ns3 if script.name in stored else None
        on_ns3 = before
        if options.ns3 and not ns3.not_played(script):
            on_ns3 = ns3.play(script, options.ns3).difference
        result = page.Result(not weft[script.name], outcome.holds, on_ns3)
        results[script.name] = result
        print(f"{script.name:52} {result.words[0]:5} {result.words[1]:11} {result.words[2]}")
        if on_ns3 != before:
            unexpected.append(f"{script.name}: ns-3: {on_ns3 or 'answers as stated'}; before: {before or 'as stated'}")
        for who, difference, reason in (
            ("Weft", weft[script.name], script.weft),
            ("kernel", outcome.difference, script.kernel),
        ):
            if difference:
                print(f"    {who}: {difference}")
            if bool(difference) != bool(reason):
                unexpected.append(
                    f"{script.name}: {who}: {difference or 'answers as stated, but a reason says that it does not'}"
                )
    public = [script for script in scripts if script.is_public]
    agree = sum(page.state(script, results) == page.AGREES for script in public)
    print(f"{agree} of {len(public)} public scripts agree ({time.monotonic() - started:.0f} s)")
    if options.update:
        page.write_results(release, results)
        page.PAGE.write_text(page.page())
        page.update_readme()
    for line in unexpected:
        print(line, file=sys.stderr)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
