"""The table of what the papers conclude."""

from __future__ import annotations

import json

import pytest

import generate_claims
from weft_papers.conclusions import CONCLUSIONS, verdict
from weft_papers.statement import Kind, statement

FEWEST, MOST = 3, 8
"""Conclusions per paper."""


def test_the_stored_table_is_that_of_the_stored_claims() -> None:
    stored = json.loads(generate_claims.HEADLINE_TABLE.read_text(encoding="utf-8"))
    assert stored == generate_claims.headlines(), "run `python python/generate_claims.py`"


def test_conclusions_are_judged_claims_of_the_paper() -> None:
    for conclusion in CONCLUSIONS:
        for figure, claim in conclusion.claims:
            assert figure.partition("/")[0] == conclusion.paper
            behind = statement(figure, claim)
            assert (behind.kind, bool(behind.sentence)) == (Kind.JUDGED, True), claim


def test_every_paper_has_some_conclusions_of_its_abstract() -> None:
    for paper in ("amp", "amp-fg", "opn", "mptcp-dc"):
        of_paper = [conclusion for conclusion in CONCLUSIONS if conclusion.paper == paper]
        assert FEWEST <= len(of_paper) <= MOST
        assert any(conclusion.abstract for conclusion in of_paper)


@pytest.mark.parametrize(
    ("holds", "expected"), [([True, True], "reproduced"), ([True, False], "partly"), ([False], "not")]
)
def test_verdict(holds: list[bool], expected: str) -> None:
    assert verdict(holds) == expected
