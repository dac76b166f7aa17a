"""The table of public scripts, its page, and the stored results."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance import compare, ns3, page
from tests.conformance.faults import FAULTS
from tests.conformance.kernel import Outcome, play
from tests.conformance.table import Script, Step, parse_steps, read_table

PROGRAM = page.ROOT / "target" / "ns3" / "script"
KINDS = {"write", "ack", "send", "info", "data", "reply", "join", "open", "prio"}


def test_each_script_has_its_own_name_and_known_steps() -> None:
    scripts = read_table()
    names = Counter(script.name for script in scripts)
    assert [name for name, times in names.items() if times > 1] == []
    for script in scripts:
        assert {step.kind for step in script.steps} <= KINDS, script.name
        assert bool(script.steps) != bool(script.not_modelled), script.name


def test_page_is_generated_from_table_and_results() -> None:
    assert page.PAGE.read_text() == page.page(), "make conformance UPDATE=yes"


def test_readme_quotes_the_count() -> None:
    assert page.quoted_count() in page.README.read_text()


def test_each_difference_has_a_reason() -> None:
    _, results = page.read_results()
    for script in read_table():
        if not script.not_modelled:
            result = results[script.name]
            assert (bool(script.weft), bool(script.kernel)) == (not result.weft, not result.kernel), script.name


def test_each_planted_fault_is_text_of_its_file() -> None:
    faults = tomllib.loads(FAULTS.read_text())["fault"]
    assert len(faults) == 40
    for fault in faults:
        assert (page.ROOT / fault["file"]).read_text().count(fault["old"]) == 1, fault["name"]
        assert fault["new"] != fault["old"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+10 ack 4 sack 5-7", (10.0, 10.0, "ack", ("4", "sack", "5-7"))),
        ("+300..310 send 0-1 # a probe", (300.0, 310.0, "send", ("0-1",))),
    ],
)
def test_steps_are_parsed(line: str, expected: tuple[float, float, str, tuple[str, ...]]) -> None:
    (step,) = parse_steps(line)
    assert (step.after_ms, step.until_ms, step.kind, step.words) == expected


def test_a_line_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time"):
        parse_steps("ack 4")


def with_a_wrong_answer(script: Script) -> tuple[Script, Step]:
    """Returns the script with a wrong last answer, and the step that it replaces."""
    last = max(i for i, step in enumerate(script.steps) if step.kind in ("send", "reply"))
    steps = list(script.steps)
    wrong = "7-8" if steps[last].kind == "send" else "7"
    words = (wrong, *steps[last].words[1:])
    text = " ".join([*steps[last].text.split()[:2], *words])
    steps[last] = replace(steps[last], words=words, text=text)
    return replace(script, steps=tuple(steps)), steps[last]


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and TUN")
@pytest.mark.parametrize("name", ["fr-4pkt-sack", "reordering-32145", "mp_prio_server_v4"])
def test_the_driver_tells_a_wrong_answer_of_the_kernel(name: str) -> None:
    script = next(script for script in read_table() if script.name == name)
    assert play(script).difference == ""
    wrong, step = with_a_wrong_answer(script)
    assert play(wrong).difference.startswith(f"line {step.line}")


@pytest.mark.skipif(not PROGRAM.exists(), reason="`make conformance` has not compiled the program")
@pytest.mark.parametrize("name", ["fr-4pkt-sack", "reordering-54321", "ecn-uses-ect0"])
def test_the_driver_tells_a_wrong_answer_of_ns3(name: str) -> None:
    script = next(script for script in read_table() if script.name == name)
    assert ns3.play(script, PROGRAM).difference == ""
    wrong, step = with_a_wrong_answer(script)
    assert ns3.play(wrong, PROGRAM).difference.startswith(step.text)


@pytest.mark.parametrize(
    ("reason", "plays", "expected"),
    [
        ("", [""], ""),
        ("", ["late", "", ""], ""),
        ("", ["wrong", "", "again"], "wrong"),
        ("known", ["wrong"], "wrong"),
        ("known", ["", "", "wrong"], ""),
        ("known", ["", "wrong", "wrong"], "wrong"),
    ],
)
def test_an_unexpected_answer_counts_if_it_repeats(
    monkeypatch: pytest.MonkeyPatch, reason: str, plays: list[str], expected: str
) -> None:
    script = replace(read_table()[0], kernel=reason)
    first, *others = (Outcome(script.name, holds=not text, difference=text) for text in plays)
    left = iter(others)
    monkeypatch.setattr(compare, "play", lambda _: next(left))
    assert compare.settle(script, first).difference == expected
    assert list(left) == []
