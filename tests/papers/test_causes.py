"""Causes of failing claims are runs in which the claims hold, and the runner fails where one does not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

import generate_claims
from tests.papers import snapshots, tiny
from weft.errors import UsageError
from weft_papers import FIGURES, causes
from weft_papers.amp import fig04, settings
from weft_papers.causes import Proof, changed, constants, main, proofs
from weft_papers.figure import Claim, Scale
from weft_papers.paper import find_figures
from weft_papers.roce import fixed_point
from weft_papers.statement import Differs, NotStated, Run, Statement, statements

WITHOUT_RUN: set[tuple[str, str]] = set()
"""Claims whose cause, "not stated" or "differs", names no run yet. Only take entries away: a new cause has a run."""
PROOFS = proofs(FIGURES)


def test_causes_name_runs() -> None:
    without = {
        (figure.name, claim)
        for figure in FIGURES
        for claim, statement in statements(figure.name).items()
        if isinstance(statement.cause, NotStated | Differs) and statement.cause.run is None
    }
    assert without == WITHOUT_RUN


def by_id(proof: Proof) -> str:
    return f"{proof.figure}: {proof.claim}"


@pytest.mark.parametrize("proof", PROOFS, ids=by_id)
def test_the_change_turns_the_verdict(proof: Proof) -> None:
    """Without the change, the claim fails at the same size, so that the size is not the cause."""
    assert verdict(proof.figure, proof.claim, quick=proof.run.quick) is False


@pytest.mark.parametrize("proof", PROOFS, ids=by_id)
def test_runs_name_what_exists(proof: Proof) -> None:
    (figure,) = find_figures(proof.run.figure or proof.figure)
    with constants(figure, proof.run.constants):
        pass
    if proof.run.claim:
        assert proof.run.claim in {claim["claim"] for claim in claims(figure.name, quick=proof.run.quick)}


def claims(figure: str, *, quick: bool) -> list[dict[str, Any]]:
    """The claims of the quick version, or those stored."""
    path = snapshots.path(figure) if quick else generate_claims.result(figure)
    return list(json.loads(path.read_text(encoding="utf-8"))["claims"])


def verdict(figure: str, sentence: str, *, quick: bool) -> object:
    (holds,) = (claim["holds"] for claim in claims(figure, quick=quick) if claim["claim"] == sentence)
    return holds


def even(monkeypatch: pytest.MonkeyPatch, **run: Any) -> None:
    """Makes a paper of one figure, whose claim fails with one seed and holds with two, and gives it a cause."""
    tiny.install(monkeypatch, "good")
    cause = Differs("the seed", "seed 2", Run(**run))
    monkeypatch.setattr(causes, "statements", lambda _: {"Seeds are even": Statement(cause=cause)})


def test_a_cause_whose_claim_holds_passes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    even(monkeypatch, seeds=2, quick=True)
    assert main([]) == 0
    head, _, row, end = capsys.readouterr().out.splitlines()
    assert head == "| cause | figure | claim | run | value | verdict | seconds |"
    assert row.startswith("| differs | tiny/good | Seeds are even | quick, 2 seeds | ")
    assert "| holds |" in row
    assert end.startswith("1 of 1 claims hold")


def test_a_cause_whose_claim_does_not_hold_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    even(monkeypatch, seeds=1)
    assert main(["tiny/good"]) == 1
    assert "| full size, 1 seed |" in (out := capsys.readouterr().out)
    assert "| DOES NOT HOLD |" in out


@pytest.mark.parametrize(
    ("run", "value"),
    [
        ({"seeds": 2, "claim": "Seeds are odd"}, "the run has no such claim"),
        ({"seeds": 2, "set": {"topology.senders": 0}}, "topology.senders"),
        ({"seeds": 2, "only": {"cell": ["another"]}}, "no cases"),
    ],
)
def test_a_run_that_is_not_possible_fails(
    run: dict[str, Any], value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    even(monkeypatch, **run)
    assert main([]) == 1
    assert value in capsys.readouterr().out


def test_claims_of_one_run_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.install(monkeypatch, "good")
    runs: list[Proof] = []

    def claims_of(proof: Proof) -> list[Claim]:
        runs.append(proof)
        return []

    monkeypatch.setattr(causes, "claims_of", claims_of)
    found = [Proof("tiny/good", claim, "differs", Run(seeds=n)) for n in (1, 2) for claim in ("one", "two")]
    assert [outcome.proof.claim for outcome in causes.repeat(found)] == ["one", "two", "one", "two"]
    assert len(runs) == 2


def test_fields_below_a_transport_or_controller_change_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.install(monkeypatch, "good")
    (figure,) = find_figures("tiny/good")
    (case,) = figure.module().cases(Scale(seeds=1))
    (name,) = case.experiment.transports
    everywhere = changed(case.experiment, {"transports.*.subflows": 3, "hosts.jitter": "1us"})
    assert everywhere.transports[name].subflows == 3
    assert changed(case.experiment, {f"transports.{name}.subflows": 3}).transports[name].subflows == 3
    for field in ("transports.absent.subflows", "controller.interval"):
        assert changed(case.experiment, {field: 3}) == case.experiment


def test_constants_change_in_the_modules_of_the_paper_and_return() -> None:
    (figure,) = find_figures("amp/fig04")
    before = (settings.K, fig04.SUBFLOWS_A)
    with constants(figure, {"K": 7, "SUBFLOWS_A": [2, 3]}):
        assert (settings.K, vars(fig04)["K"], fig04.SUBFLOWS_A) == (7, 7, (2, 3))
    after = (settings.K, fig04.SUBFLOWS_A)
    assert after == before


def test_a_field_of_a_constant_changes() -> None:
    (figure,) = find_figures("roce/fixed-point")
    before = fixed_point.MODEL
    with constants(figure, {"MODEL.pmax": 0.05}):
        assert fixed_point.MODEL.pmax == 0.05
        assert fixed_point.MODEL.kmax == before.kmax
    assert fixed_point.MODEL is before


@pytest.mark.parametrize("path", ["ABSENT", "MODEL.absent"])
def test_a_constant_that_is_gone_is_an_error(path: str) -> None:
    (figure,) = find_figures("roce/fixed-point")
    with pytest.raises((AttributeError, UsageError)), constants(figure, {path: 1}):
        pass


def test_a_run_in_words() -> None:
    run = Run(seeds=2, quick=True, set={"hosts.jitter": "0us"}, constants={"FLOWS": [1, 2]}, figure="amp/fig08")
    assert str(run) == "amp/fig08, quick, 2 seeds, hosts.jitter = 0us, FLOWS = 1, 2"
    assert NotStated("the jitter", "none", run).text == f"the jitter; needed: none; run: {run}"
