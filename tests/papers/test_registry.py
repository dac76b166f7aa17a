"""Each figure of the registry is a module that defines what a figure is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import generate_claims
import site_claims
import weft
from tests.papers import snapshots
from weft_papers import FIGURES
from weft_papers.figure import EQUATIONS, Figure, Scale
from weft_papers.statement import Kind, statement

SIMULATED = [figure for figure in FIGURES if figure.level != EQUATIONS]


def test_names_are_unique() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_weft_does_not_need_the_papers() -> None:
    """Only the command line and `weft.reproduce` name the papers' package."""
    package = Path(weft.__file__).parent
    files = {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    assert len(files) > 50
    assert {name for name, text in files.items() if "weft_papers" in text} == {"__init__.py", "cli.py"}


def test_modules_are_figures() -> None:
    for figure in FIGURES:
        module = figure.module()
        if figure in SIMULATED:
            assert module.QUICK
            assert callable(module.measure)
        else:
            assert len(module.rows()) > 0
        assert callable(module.claims)
        assert callable(module.plot)


def test_quick_is_less() -> None:
    for figure in SIMULATED:
        module = figure.module()
        quick, full = module.cases(Scale(seeds=1, quick=True)), module.cases(Scale(seeds=1))
        assert 0 < len(quick) <= len(full)
        assert [case.experiment for case in quick] != [case.experiment for case in full]


def test_seeds_multiply_the_cases() -> None:
    for figure in SIMULATED:
        module = figure.module()
        one, three = module.cases(Scale(seeds=1, quick=True)), module.cases(Scale(seeds=3, quick=True))
        assert len(three) == 3 * len(one)
        assert {case.seed for case in three} == {1, 2, 3}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda value: value.name)
def test_times_are_facts_beside_each_figure(figure: Figure) -> None:
    assert 0 < figure.quick_seconds <= figure.seconds
    assert figure.quick_seconds < 120


def test_quick_versions_fit_into_the_tests() -> None:
    assert sum(figure.quick_seconds for figure in FIGURES) < 15 * 60


def test_kept_claims_are_those_of_the_figures() -> None:
    """A stored document lacks a claim only if its reading was fixed after the run, or if it has no verdict."""
    for figure in FIGURES:
        kept = generate_claims.result(figure.name)
        if kept.exists() and figure.level != "linux":
            quick = {claim["claim"] for claim in snapshots.load(figure.name)["claims"]}
            document = json.loads(kept.read_text())
            missing = quick - {claim["claim"] for claim in document["claims"]}
            behind = {claim: statement(figure.name, claim) for claim in missing}
            fixed = {claim: value.fixed for claim, value in behind.items() if value.kind is not Kind.SHOWN}
            assert [claim for claim, day in fixed.items() if day is None or day.isoformat() <= document["date"]] == []


def test_pages_of_claims_show_every_claim() -> None:
    pages = dict(site_claims.pages())
    for file in generate_claims.RESULTS.glob("*.json"):
        document = json.loads(file.read_text())
        text = pages[site_claims.page(document["figure"].partition("/")[0])]
        assert f"{{ #{site_claims.anchor(document['figure'])} }}" in text
        for claim in document["claims"]:
            assert site_claims._text(claim["claim"]) in text  # noqa: SLF001 - escaped as on the page


def test_table_of_all_figures_is_not_stale() -> None:
    generated = generate_claims.overview()
    assert generate_claims.OVERVIEW.read_text() == generated, "run `python python/generate_claims.py`"
