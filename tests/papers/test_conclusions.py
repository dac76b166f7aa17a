"""The table of what the papers conclude."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import generate_claims
from generate_claims import CONCLUSIONS, Conclusion
from weft_papers.statement import Kind, statement

if TYPE_CHECKING:
    from pathlib import Path

FEWEST, MOST = 3, 8
"""Conclusions per paper."""


def test_the_stored_table_is_that_of_the_stored_claims() -> None:
    stored = json.loads(generate_claims.HEADLINE_TABLE.read_text(encoding="utf-8"))
    assert stored == generate_claims.headlines(), "run `python python/generate_claims.py`"


def test_conclusions_are_judged_claims_of_the_paper() -> None:
    for conclusion in CONCLUSIONS:
        for figure, claim, _ in conclusion.claims:
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
    assert Conclusion.verdict(holds) == expected


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_value_of_the_quick_version_is_only_indicative(
    order: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At full size only the second claim of the figure has a verdict."""
    monkeypatch.setattr(generate_claims, "RESULTS", tmp_path)
    monkeypatch.setattr(generate_claims, "SNAPSHOTS", tmp_path / "quick")
    (tmp_path / "quick").mkdir()
    claims: list[dict[str, Any]] = [
        {"claim": "first", "measured": "1 ms (0.9 to 1.1)", "holds": True},
        {"claim": "second", "measured": "2 ms (1.8 to 2.2)", "holds": True},
    ]
    (tmp_path / "quick" / "amp-fig02.json").write_text(json.dumps({"claims": claims}))
    document = {"date": "2026-11-30", "commit": "a8f5e618", "older_than": "", "claims": claims[1:]}
    (tmp_path / "amp-fig02.json").write_text(json.dumps(document))
    claims_of = [("amp/fig02", name, name) for name in order]
    conclusion = Conclusion(paper="amp", words="words", number="number", claims=claims_of, why="why")
    row = generate_claims.headline_row(conclusion)
    values = {"first": "first: 1 ms", "second": "second: 2 ms"}
    assert (row["verdict"], row["measured"]) == ("indicative: reproduced", "; ".join(values[name] for name in order))
    assert generate_claims.QUICK_ONLY in row["run"]
