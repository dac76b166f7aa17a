"""The table of `make nightly`."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

from tests import nightly

MAKEFILE = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")


def test_steps_are_targets_of_make() -> None:
    for step in nightly.steps(date(2026, 12, 1)):
        assert re.search(rf"^{step.target}:", MAKEFILE, re.MULTILINE), step.target
        names = [variable.partition("=")[0] for variable in step.variables]
        assert all(f"$({name})" in MAKEFILE for name in names), step.target


def test_nights_draw_other_specs() -> None:
    nights = [nightly.steps(date(2026, 12, 1) + timedelta(days=day)) for day in range(3)]
    assert len({step.seeds for steps in nights for step in steps if step.target == "relations"}) == len(nights)


def test_table_names_the_commit_the_seeds_and_failures() -> None:
    first, *_, relations, _ = nightly.steps(date(2026, 12, 1))
    text = nightly.table("9f08a78e", [(first, 0, 90.0), (relations, 2, 600.0)])
    assert text.startswith("commit 9f08a78e\n")
    assert f"| {first.target} | {first.content} | fixed | passed | 1.5 |" in text
    assert f"| {relations.seeds} | failed: target/nightly/relations.log | 10.0 |" in text


def test_tables_of_steps_are_printed_below_their_targets() -> None:
    step = nightly.steps(date(2026, 12, 1))[0]
    log = "   Compiling weft\n| a | b |\n|---|---|\n| 1 | 2 |\ntest result: ok\n"
    assert nightly.tables_of(step, log) == f"\n\n## {step.target}\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert nightly.tables_of(step, "test result: ok\n") == ""
