"""The statements behind the claims: complete, dated before their runs, and with causes where they fail."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

import generate_claims
from weft_papers import FIGURES
from weft_papers.counts import count
from weft_papers.figure import Claim
from weft_papers.headlines import HEADLINES
from weft_papers.reproduce import with_statement
from weft_papers.statement import (
    OWN,
    UNEXAMINED,
    Contradiction,
    Differs,
    Kind,
    NotStated,
    Open,
    Origin,
    Statement,
    statements,
)

PAPERS = ("amp", "amp-fg", "mptcp-dc", "opn")
STORED = {
    figure.name: json.loads(generate_claims.result(figure.name).read_text(encoding="utf-8"))
    for figure in FIGURES
    if figure.paper in PAPERS
}
CLAIMS = [(name, claim) for name, document in STORED.items() for claim in document["claims"]]
BEHIND = [(name, claim, statement) for name in STORED for claim, statement in statements(name).items()]


def failing() -> list[tuple[str, dict[str, Any]]]:
    """Stored claims of origin paper that do not hold."""
    return [(name, claim) for name, claim in CLAIMS if claim["origin"] == Origin.PAPER and claim["holds"] is False]


def test_stored_claims_have_statements() -> None:
    assert [(name, claim["claim"]) for name, claim in CLAIMS if claim["claim"] not in statements(name)] == []


def test_failures_of_a_papers_claims_have_causes() -> None:
    texts = [(name, row["claim"], (row["cause"] or {}).get("text")) for name, row in failing()]
    without = [(name, claim) for name, claim, text in texts if text in (None, UNEXAMINED.text)]
    assert len(failing()) > 0
    assert without == []


def test_only_failures_have_causes() -> None:
    assert [
        (name, row["claim"]) for name, row in CLAIMS if row["cause"] is not None and row["holds"] is not False
    ] == []


def test_readings_were_fixed_before_their_runs() -> None:
    verdicts = [(name, row) for name, row in CLAIMS if row["holds"] is not None and row["origin"] != Origin.WEFT]
    late = [(name, row["claim"]) for name, row in verdicts if _day(row["fixed"]) > _day(STORED[name]["date"])]
    assert late == []


def test_judged_statements_have_sentence_and_day() -> None:
    judged = [(name, claim, value) for name, claim, value in BEHIND if value.kind is Kind.JUDGED]
    assert [(name, claim) for name, claim, value in judged if value.fixed is None] == []
    assert [
        (name, claim) for name, claim, value in judged if bool(value.sentence) == (value.origin is Origin.WEFT)
    ] == []


def test_shown_statements_have_no_cause() -> None:
    assert [
        (name, claim) for name, claim, value in BEHIND if value.kind is Kind.SHOWN and value.cause is not None
    ] == []


def test_stored_documents_have_the_current_statements() -> None:
    stale = [name for name, document in STORED.items() if generate_claims.annotate(document) != document]
    assert stale == [], "run `python python/generate_claims.py`"


def test_headlines_are_judged_claims() -> None:
    assert set(HEADLINES) == set(STORED)
    for figure, headline in HEADLINES.items():
        (claim,) = (claim for claim in STORED[figure]["claims"] if claim["claim"] == headline)
        assert claim["kind"] == Kind.JUDGED


def _day(text: str) -> date:
    return date.fromisoformat(text)


def test_proofs_are_computed() -> None:
    proofs = {value.cause.proof for _, _, value in BEHIND if isinstance(value.cause, Contradiction)}
    assert proofs
    assert all(any(sign.isdigit() for sign in proof()) for proof in proofs)


def document(figure: str = "amp/fig02", holds: bool | None = True, **changes: object) -> dict[str, Any]:  # noqa: FBT001, FBT002
    claim = {
        "claim": "k = 30: the mean FCT of DCM and XMP is over 800 ms",
        "paper": "above 800 ms",
        "measured": "564 ms",
        "holds": holds,
        "note": "holds above 800 ms",
        "by_seed": [holds] * 5,
        "table": None,
    }
    return {"figure": figure, "date": "2026-11-30", "claims": [claim | changes]}


def test_annotation_leaves_measured_values() -> None:
    before = document(holds=False)["claims"][0]
    after = generate_claims.annotate(document(holds=False))["claims"][0]
    assert {part: after[part] for part in before} == before
    assert after["cause"]["kind"] == "not stated"
    assert (after["kind"], after["origin"]) == ("judged", "paper")


def test_annotation_is_idempotent() -> None:
    once = generate_claims.annotate(document(holds=False))
    assert generate_claims.annotate(once) == once


def test_run_before_its_reading_has_no_verdict() -> None:
    early = document(holds=False) | {"date": "2026-11-20"}
    (claim,) = generate_claims.annotate(early)["claims"]
    assert (claim["holds"], claim["by_seed"], claim["cause"]) == (None, [], None)
    assert generate_claims.verdict(claim) == "not yet rerun"


def test_shown_claim_has_no_verdict() -> None:
    shown = "MPTCP_OPN has the least mean FCT, with a delta of two smoothed RTTs"
    claim = with_statement("opn/fig10", Claim(shown, "least", "1 ms", holds=True, note="", by_seed=(True, True)))
    assert (claim.holds, claim.by_seed) == (None, ())
    assert claim.document()["kind"] == "shown"


def test_claim_in_no_paper_is_wefts_own() -> None:
    claim = with_statement("warp/incast", Claim("Warp is fast", "", "1 ms", holds=False, note=""))
    assert claim.statement == OWN
    assert claim.document()["cause"] is None


def test_failure_without_a_known_cause_is_open() -> None:
    behind = Statement(sentence="as good", fixed=date(2026, 11, 1))
    assert behind.document(holds=False)["cause"] == {"kind": "open", "text": UNEXAMINED.text}
    assert behind.document(holds=True)["cause"] is None


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Contradiction("(5) against (7)", lambda: "1 + 1 = 3"), "(5) against (7): 1 + 1 = 3"),
        (NotStated("the buffer", "100 packets"), "the buffer; needed: 100 packets"),
        (Differs("rounds", "with others it holds"), "rounds; experiment: with others it holds"),
        (Open("nothing helped"), "nothing helped"),
    ],
)
def test_causes_in_words(cause: Contradiction | NotStated | Differs | Open, text: str) -> None:
    assert cause.text == text


def judged(claim: str, holds: bool | None, **changes: object) -> dict[str, Any]:  # noqa: FBT001
    cause = {"kind": "open", "text": "?"} if holds is False else None
    parts = {"claim": claim, "kind": "judged", "origin": "paper", "holds": holds, "same_as": "", "cause": cause}
    return parts | changes


def test_statement_counts_once() -> None:
    figures = [
        {"figure": "a/1", "claims": [judged("x", holds=True, same_as="s"), judged("y", holds=False, same_as="s")]},
        {"figure": "a/2", "claims": [judged("z", holds=True, same_as="s"), judged("z", holds=True)]},
    ]
    (counted,) = count(figures)
    assert (counted.judged, counted.hold, counted.fail, dict(counted.causes)) == (2, 1, 1, {"open": 1})


def test_equal_sentences_of_two_figures_are_two_statements() -> None:
    figures = [{"figure": name, "claims": [judged("x", holds=True)]} for name in ("a/1", "a/2")]
    assert [value.judged for value in count(figures)] == [2]


def test_counts_are_by_origin_without_shown_claims() -> None:
    claims = [
        judged("x", holds=True),
        judged("y", holds=None, kind="shown"),
        judged("z", holds=False, origin="weft", cause=None),
        judged("w", holds=False, origin="paper on Linux", cause={"kind": "differs", "text": "?"}),
    ]
    paper, linux, weft = count([{"figure": "a/1", "claims": claims}])
    assert (paper.judged, paper.hold, paper.shown) == (1, 1, 1)
    assert linux.document()["causes"] == {"differs": 1}
    assert (weft.fail, dict(weft.causes)) == (1, {"": 1})
