"""Statements of pages about queues, compared with the registry of their kinds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kinds import NAMES

ROOT = Path(__file__).parent.parent
TERMS = {kind: kind.replace("-", "[ -]") for kind in NAMES} | {
    "codel": "(?<!FQ-)CoDel|controlled delay",
    "fifo": "FIFO",
    "lossless": "priority flow control|PFC|802.1Qbb",
    "lossy": "random losses|lossy links",
    "priority": "traffic classes|strict priority",
    "red": "RED|WRED|random early detection",
    "shared": "shared buffers?|dynamic thresholds?",
    "trimming": "(?:packet )?trimming",
}
"""The names by which a reader looks for each kind: those here, or the name of the kind itself."""
LACK = r"(?:has|have|models?|supports?|there (?:is|are)) (?:no|neither|nor)\b[^.;:|]*\b(?:{terms})\b"
"""A statement that Weft lacks something."""
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_terms_are_those_of_kinds() -> None:
    assert sorted(TERMS) == sorted(NAMES)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_no_page_says_that_weft_lacks_a_kind_of_queue(page: Path) -> None:
    lack = re.compile(r"\bWeft " + LACK.format(terms="|".join(TERMS.values())), re.IGNORECASE)
    assert lack.findall(" ".join(page.read_text().split())) == []


def test_the_check_finds_such_a_statement() -> None:
    lack = re.compile(r"\bWeft " + LACK.format(terms="|".join(TERMS.values())), re.IGNORECASE)
    assert lack.search("Weft has no priority flow control and no routing protocols.")
    assert not lack.search("Weft has no routing protocols. Kind `lossless` is priority flow control.")


def test_the_page_for_users_of_other_simulators_maps_every_kind() -> None:
    page = (ROOT / "docs" / "how-to" / "ns-3-and-htsim.md").read_text()
    named = re.findall(r'`queues\.kind` "([a-z-]+)"', page)
    assert sorted(set(named)) == sorted(NAMES)


def test_reference_has_each_kinds_treatment_of_packets_without_ecn() -> None:
    page = (ROOT / "docs" / "reference" / "queues.md").read_text()
    table = page.partition("## Packets without ECN")[2]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == sorted(NAMES)
