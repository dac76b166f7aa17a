"""`weft.tune`, `weft.reproduce` and `weft reproduce --export`."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import optuna
import polars as pl
import pytest

import weft
from tests.command import INCAST
from tests.command import weft as command
from weft.errors import UsageError
from weft.search import tune as tune_module
from weft_papers import reproduce as reproduce_module

SPEC: dict[str, Any] = tomllib.loads(INCAST)
OVER = {"traffic[0].flows": [2, 3, 4]}


def slowest(result: weft.Result) -> float:
    return float(result.flows["fct_s"].max())  # type: ignore[arg-type]


def test_documentation() -> None:
    for module in (tune_module, reproduce_module):
        assert doctest.testmod(module, extraglobs={"weft": weft}).failed == 0


@pytest.mark.parametrize("objective", ["max fct", slowest, "max(fct_s) FROM flows"])
def test_objectives_in_words_functions_and_queries_agree(objective: Any) -> None:
    study = weft.tune(SPEC, OVER, objective, trials=3, seeds=2, workers=2)
    assert study.best.values == {"traffic[0].flows": "2"}
    rows = study.trials.sort("flows")
    expected = [
        sum(slowest(weft.run(SPEC | {"traffic": [SPEC["traffic"][0] | {"flows": n}]}, seed=s)) for s in (1, 2)) / 2
        for n in (2, 3, 4)
    ]
    assert rows["objective"].to_list() == pytest.approx(expected)
    assert isinstance(study.study, optuna.Study)
    assert len(study.study.trials) == 3
    assert study.best_spec.traffic[0].flows == 2  # type: ignore[union-attr]
    assert (study.finding() or "").startswith("Fewer than five seeds give no interval")


def test_a_tuning_continues_and_maximises(tmp_path: Path) -> None:
    first = weft.tune(SPEC, OVER, slowest, direction="maximize", trials=2, seeds=1, workers=1, out=tmp_path / "t")
    before = first.trials
    again = weft.tune(SPEC, OVER, slowest, direction="maximize", trials=3, seeds=1, workers=1, out=tmp_path / "t")
    assert again.trials.head(2).equals(before)
    assert again.best.values == {"traffic[0].flows": "4"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weft.tune(SPEC, {}, "max fct"), "over: {}; allowed: a dictionary of fields and ranges"),
        (lambda: weft.tune(SPEC, OVER, "max fct", direction="up"), "direction: 'up'; allowed: minimize, maximize"),  # type: ignore[arg-type]
        (lambda: weft.tune(SPEC, OVER, 3), "objective: 3; allowed: a function"),  # type: ignore[arg-type]
        (lambda: weft.tune(SPEC, OVER, "max fct", trials=0), "trials: 0; allowed: a whole number"),
        (lambda: weft.tune(SPEC, OVER, "most fct"), "measure 'most fct'"),
        (lambda: weft.reproduce("amp"), "a paper with"),
        (lambda: weft.reproduce("amp/fig99"), "does not exist"),
        (lambda: weft.reproduce("amp/fig08", seeds=0), "seeds: 0"),
    ],
)
def test_wrong_arguments_have_one_line(call: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert words in str(caught.value)


def test_an_exported_figure_gives_the_same_rows(tmp_path: Path) -> None:
    figure = weft.reproduce("amp/fig10", quick=True)
    assert "of 7 claims hold" in repr(figure)
    done = command("reproduce", "amp/fig10", "--quick", "--export", "fig10", cwd=tmp_path)
    assert done.code == 0, done
    folder = tmp_path / "fig10"
    runs = json.loads((folder / "runs.json").read_text())
    assert {run["spec"] for run in runs} == {path.name for path in (folder / "specs").iterdir()}
    assert len((folder / "figure.py").read_text().splitlines()) <= 40
    ended = subprocess.run(
        [sys.executable, "figure.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, ended.stderr
    assert pl.read_parquet(folder / "rows.parquet").equals(figure.rows)
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert "several figures" not in ended.stdout
    assert "--export: " in command("reproduce", "amp", "--export", "x", cwd=tmp_path).complaint()
    assert "follows from equations" in command("reproduce", "amp-fg/fig04", "--export", "x", cwd=tmp_path).complaint()
