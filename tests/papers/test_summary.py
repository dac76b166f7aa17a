"""Output of `weft reproduce`: the summary of a run, the papers' conclusions, and figures that are parts of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from generate_claims import CONCLUSIONS
from tests.papers import tiny
from weft.cli import app
from weft.errors import UsageError
from weft.exit_codes import run_command
from weft_papers import summary
from weft_papers.headlines import HEADLINES
from weft_papers.paper import figure_with, find_figures

if TYPE_CHECKING:
    from pathlib import Path


def document(figure: str = "amp/fig02", claims: int = 3, scale: str = "full size, 5 seeds") -> dict[str, Any]:
    return {
        "figure": figure,
        "scale": scale,
        "claims": [{"claim": f"claim {n}", "paper": "1", "measured": "2", "holds": n != 1} for n in range(claims)],
    }


def test_the_claim_of_the_figure_comes_first() -> None:
    shown = document()
    shown["claims"].append({"claim": HEADLINES["amp/fig02"], "paper": "", "measured": "", "holds": False})
    assert summary.rows([shown])[0] == (HEADLINES["amp/fig02"], "", "", "does not hold")


def test_a_summary_has_at_most_twelve_lines() -> None:
    assert len(summary.rows([document(claims=40)])) == summary.MAX_ROWS == 11
    assert summary.left_out([document(claims=40)]) == 29
    assert [len(text) <= width for text, width in zip(summary.rows([document()])[0], summary.WIDTHS, strict=False)]


def test_a_paper_has_a_line_for_each_figure() -> None:
    assert [row[0] for row in summary.rows([document(), document("amp/fig04")])] == ["claim 0", "claim 0"]


def test_a_quick_version_decides_nothing() -> None:
    quick = summary.rows([document(scale="quick, 1 seed; less")])
    assert [row[3] for row in quick] == ["holds (indicative)", "not here (indicative)", "holds (indicative)"]


@pytest.mark.parametrize("verbose", [False, True])
def test_details_need_v(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, verbose: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.install(monkeypatch, "good")
    arguments = ["reproduce", "tiny/good", "--quick", *(["-v"] if verbose else [])]
    assert run_command(lambda: app(arguments, standalone_mode=False)) == 0
    shown = capsys.readouterr().out
    assert "not here (indicative)" in shown
    assert "indicative: only the full size decides" in shown
    assert ("holds when seed 2 is the last" in shown) is verbose


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("amp/fig11", "amp/fig06"),
        ("amp-fg/fig3", "amp-fg/fig02"),
        ("amp-fg/figure-6", "amp-fg/fig05"),
        ("opn/fig04", "opn/fig02"),
        ("opn/fig07", "opn/fig06"),
        ("opn/fig17", "opn/fig16"),
    ],
)
def test_a_figure_inside_another_is_named(name: str, figure: str) -> None:
    with pytest.raises(UsageError, match=f"^figure '{name}' does not exist; it is a part of {figure}: "):
        find_figures(name)


@pytest.mark.parametrize("name", ["amp", "amp/fig99", "amp-fg/fig11", "amp/gamma"])
def test_other_names_are_in_no_figure(name: str) -> None:
    assert figure_with(name) is None


def reproduce(*arguments: str) -> int:
    return run_command(lambda: app(["reproduce", *arguments], standalone_mode=False))


def test_command_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("--headlines", "--json") == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert len(rows) == len(CONCLUSIONS)
    assert reproduce("opn", "--headlines", "-v") == 0
    details = capsys.readouterr().out
    assert reproduce("opn", "--headlines") == 0
    shown = capsys.readouterr().out
    assert ("reason" in details, "reason" in shown) == (True, False)
    assert ("older than today's models." in shown) == any(row["older"] for row in rows if row["paper"] == "opn")
    assert all(row["conclusion"][:20] in shown for row in rows if row["paper"] == "opn")
    assert not any(row["conclusion"] in shown for row in rows if row["paper"] == "amp")


def test_a_paper_without_conclusions_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("warp", "--headlines") == 2
    allowed = ", ".join(dict.fromkeys(conclusion.paper for conclusion in CONCLUSIONS))
    assert allowed in capsys.readouterr().err
