"""How many findings each file still has, by rule: `baseline.toml`, whose numbers only fall."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.prose.rules import NAMES

FILE = Path(__file__).parent / "baseline.toml"
HEAD = """\
# Findings that are left, by rule and file. The numbers only fall; to lower them:
# WEFT_PROSE=renew .venv/bin/python -m pytest tests/test_prose.py
"""

Counts = dict[str, dict[str, int]]
"""Counts by rule and file; files without findings are absent."""


def load() -> Counts:
    """The counts of `baseline.toml`."""
    document = tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {rule: dict(document.get(rule, {})) for rule in NAMES}


def save(counts: Counts) -> None:
    """Writes `baseline.toml`."""
    sections = (
        "\n".join([f"[{rule}]", *(f'"{file}" = {count}' for file, count in sorted(counts[rule].items()))]) + "\n"
        for rule in NAMES
    )
    FILE.write_text(HEAD + "".join(f"\n{section}" for section in sections), encoding="utf-8")


def raised(baseline: Counts, found: Counts) -> list[tuple[str, str]]:
    """The rules and files whose counts a renewal may not accept.

    A file of the baseline may not rise. New files together may have as many findings as other files have lost, so that
    a file may be moved or divided.
    """
    refused = []
    for rule in NAMES:
        before, after = baseline[rule], found[rule]
        lost = sum(max(count - after.get(file, 0), 0) for file, count in before.items())
        new = {file: count for file, count in after.items() if file not in before}
        refused += [(rule, file) for file, count in after.items() if count > before.get(file, count)]
        if sum(new.values()) > lost:
            refused += [(rule, file) for file in new]
    return refused


def lowered(baseline: Counts, found: Counts, refused: list[tuple[str, str]]) -> Counts:
    """The counts after a renewal, which keeps the old numbers of what it refuses."""
    counts = {}
    for rule in NAMES:
        kept = {file: baseline[rule].get(file) for refused_rule, file in refused if refused_rule == rule}
        if None in kept.values():
            # New files have more findings than others have lost, so the losses are kept for the next renewal.
            counts[rule] = baseline[rule]
        else:
            counts[rule] = found[rule] | {file: count for file, count in kept.items() if count is not None}
    return counts
