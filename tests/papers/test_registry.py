"""Each figure of the registry is a module that defines what a figure is."""

from __future__ import annotations

from weft.papers import FIGURES
from weft.papers.figure import Scale


def test_names_are_unique() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_modules_are_figures() -> None:
    for figure in FIGURES:
        module = figure.module()
        assert module.QUICK
        assert callable(module.measure)
        assert callable(module.claims)
        assert callable(module.plot)


def test_quick_is_less() -> None:
    for figure in FIGURES:
        module = figure.module()
        quick, full = module.cases(Scale(seeds=1, quick=True)), module.cases(Scale(seeds=1))
        assert 0 < len(quick) <= len(full)
        assert [case.experiment for case in quick] != [case.experiment for case in full]


def test_seeds_multiply_the_cases() -> None:
    for figure in FIGURES:
        module = figure.module()
        one, three = module.cases(Scale(seeds=1, quick=True)), module.cases(Scale(seeds=3, quick=True))
        assert len(three) == 3 * len(one)
        assert {case.seed for case in three} == {1, 2, 3}
