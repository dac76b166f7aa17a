"""Many runs side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft
from tests.command import press_ctrl_c
from weft.errors import ResultWarning, RunError, UsageError
from weft.sweeps.cases import Case, run_cases


def measure(result: weft.Result) -> pl.DataFrame:
    return result.flows.select("fct_s")


@pytest.fixture
def experiment(spec: Path) -> weft.Experiment:
    return weft.load(spec)


def test_rows_follow_the_cases(experiment: weft.Experiment) -> None:
    cases = [Case({"name": f"case {i}", "k": i}, experiment, seed) for i in range(3) for seed in (1, 2)]
    rows = run_cases(cases, measure, workers=2)
    assert rows.columns == ["name", "k", "seed", "fct_s"]
    assert rows["k"].to_list() == [i for i in range(3) for _ in range(8)]
    assert rows["seed"].to_list() == 3 * (4 * [1] + 4 * [2])


def test_warnings_name_their_case_and_the_caller(spec: Path) -> None:
    down = ["events=[{at='0s', links=['s0->r0'], state='down'}]"]
    cases = [Case({"state": state}, weft.load(spec, set_), seed=3) for state, set_ in (("up", []), ("down", down))]
    with pytest.warns(ResultWarning) as warned:
        run_cases(cases, measure)
    (warning,) = warned
    assert str(warning.message).startswith("state = down, seed = 3: transports.")
    assert "no flow was established" in str(warning.message)
    assert warning.filename == __file__


def test_workers_change_nothing(experiment: weft.Experiment) -> None:
    cases = [Case({"k": i}, experiment, i) for i in range(4)]
    assert run_cases(cases, measure, workers=1).equals(run_cases(cases, measure, workers=4))


def test_progress_rises_to_one(experiment: weft.Experiment) -> None:
    seen: list[float] = []
    run_cases([Case({}, experiment, 1), Case({}, experiment, 2)], measure, on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_error_of_a_case_arrives(experiment: weft.Experiment) -> None:
    wrong = experiment.model_copy(update={"duration": "0s"})
    with pytest.raises(weft.SpecError, match="duration"):
        run_cases([Case({}, experiment, 1), Case({}, wrong, 1)], measure)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.5, 1], pl.Float64),
        ([1, 2.5], pl.Float64),
        ([1, 2**31], pl.Int64),
        ([1, 2], pl.Int64),
        (["a", "b"], pl.String),
        ([False, True], pl.Boolean),
    ],
)
def test_labels_are_of_one_type(
    experiment: weft.Experiment, values: list[str | int | float], kind: type[pl.DataType]
) -> None:
    cases = [Case({"load": value}, experiment, seed) for value, seed in zip(values, (1, 5_000_000_000), strict=True)]
    rows = run_cases(cases, measure)
    assert rows.schema == {"load": kind, "seed": pl.Int64, "fct_s": pl.Float64}
    assert rows.select("load", "seed").unique(maintain_order=True).rows() == list(
        zip(values, (1, 5_000_000_000), strict=True)
    )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([{"a": 1}, {"a": "x"}], "label 'a'"),
        ([{"a": 2**200}], "label 'a'"),
        ([{"a": 1}, {"b": 1}], r"labels \['a'\] and \['b'\]"),
        ([{"seed": 1}], "label 'seed'"),
        ([{"fct_s": 1}], "column 'fct_s'"),
    ],
)
def test_labels_that_cannot_be_columns(experiment: weft.Experiment, labels: list[dict[str, int]], words: str) -> None:
    with pytest.raises(UsageError, match=f"{words}.*; "):
        run_cases([Case(label, experiment, 1) for label in labels], measure)


def test_workers_are_counted_from_one(experiment: weft.Experiment) -> None:
    for workers in (-1, "two"):
        with pytest.raises(UsageError, match=f"workers is {workers!r}"):
            run_cases([Case({}, experiment, 1)], measure, workers=workers)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="threads: 'two'"):
        weft.run(experiment, threads="two")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (lambda _: Case({}, dict, 1), "experiment of type type"),  # type: ignore[arg-type]
        (lambda _: Case({}, {"name": "a"}, 1), "experiment of type dict"),  # type: ignore[arg-type]
        (lambda spec: Case({}, spec, "1"), "seed '1'"),  # type: ignore[arg-type]
        (lambda spec: Case([], spec, 1), "labels of type list"),  # type: ignore[arg-type]
        (lambda spec: spec, "of type Experiment; allowed: a Case"),
        (lambda spec: Case({"a": 1}, spec, 7), "given twice"),
    ],
)
def test_cases_that_are_wrong(experiment: weft.Experiment, case: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"case 1: .*{words}|case 1: {words}"):
        run_cases([Case({"a": 1}, experiment, 7), case(experiment)], measure)


def test_measure_that_returns_no_frame(experiment: weft.Experiment) -> None:
    with pytest.raises(UsageError, match="measure returned a value of type int; allowed: a Polars DataFrame"):
        run_cases([Case({}, experiment, 1)], lambda _: 3)  # type: ignore[arg-type,return-value]


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_stops_all(spec: Path) -> None:
    long = weft.load(spec, ["duration=1000s", "traffic[0].size=100GB"])
    press_ctrl_c(0.5)
    with pytest.raises(KeyboardInterrupt):
        run_cases([Case({}, long, seed) for seed in range(8)], measure)
