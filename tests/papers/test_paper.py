"""A whole paper by one command: one page, whatever becomes of its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft as package
from tests.papers import tiny
from weft.cli import app
from weft.errors import RequirementError
from weft.exit_codes import run_command

FILES = {"tiny-good.parquet", "tiny-good.png", "tiny-good.pdf", "claims.json", "index.html"}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def reproduce(*arguments: str) -> int:
    return run_command(lambda: app(["reproduce", *arguments], standalone_mode=False))


def names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    shown = capsys.readouterr()
    assert shown.err == ""
    return json.loads(shown.out)


def test_paper(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good", "other")
    assert reproduce("tiny", "--json", "--seeds", "2", "--out", "out") == 0
    document = printed(capsys)
    assert (document["paper"], document["version"]) == ("tiny", package.__version__)
    assert (document["hold"], document["claims"], document["partial"]) == (4, 4, False)
    assert (document["failed"], document["skipped"], document["left_out"]) == ([], [], [])
    assert [figure["figure"] for figure in document["figures"]] == ["tiny/good", "tiny/other"]
    assert all(Path(path).exists() for figure in document["figures"] for path in (*figure["tables"], *figure["plots"]))
    assert names("out") == FILES | {f"tiny-other.{kind}" for kind in ("parquet", "png", "pdf")}
    page = Path(document["page"]).read_text()
    assert "4 of 4 claims hold" in page
    assert "Tiny: Nobody, &#34;A Paper&#34;" in page
    assert "Partial" not in page
    assert "Failed" not in page


def test_one_figure_is_written_as_a_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good", "other")
    assert reproduce("tiny/good", "--quick", "--json", "--out", "out") == 0
    document = printed(capsys)
    assert (document["figure"], document["seeds"]) == ("tiny/good", 1)
    assert document["caption"] == "FCT of each flow, in ms."
    assert names("out") == FILES
    assert "1 of 2 claims hold" in Path(document["page"]).read_text()


def test_five_seeds_unless_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good")
    assert reproduce("tiny/good", "--json") == 0
    document = printed(capsys)
    assert document["seeds"] == 5
    assert [claim["holds"] for claim in document["claims"]] == [True, False]
    assert [claim["by_seed"] for claim in document["claims"]] == [5 * [True], [False, True, False, False, False]]
    page = Path(document["page"]).read_text()
    assert "5 of 5 seeds" in page
    assert "1 of 5 seeds" in page


@pytest.mark.parametrize(("error", "code", "words"), tiny.FAILURES)
def test_failure_does_not_lose_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, words: str
) -> None:
    tiny.install(monkeypatch, "bad", "good", error=error)
    assert reproduce("tiny", "--json", "--quick", "--out", "out") == code
    shown = capsys.readouterr()
    assert shown.err.startswith("weft: tiny/bad: ")
    assert shown.err.endswith(f"{words}\n")
    document = json.loads(shown.out)
    assert [figure["figure"] for figure in document["figures"]] == ["tiny/good"]
    assert [failure["figure"] for failure in document["failed"]] == ["tiny/bad"]
    assert document["failed"][0]["error"].endswith(words)
    assert document["partial"] is False
    assert names("out") == FILES
    assert words in Path("out/index.html").read_text()


@pytest.mark.parametrize(("error", "code", "words"), tiny.FAILURES)
def test_nothing_is_left_when_all_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, words: str
) -> None:
    tiny.install(monkeypatch, "bad", error=error)
    assert reproduce("tiny", "--quick") == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("others", [(), ("good",)])
def test_rows_are_kept_if_a_claim_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], others: tuple[str, ...]
) -> None:
    tiny.install(monkeypatch, "unjudged", *others, error=ZeroDivisionError("division by zero"))
    assert reproduce("tiny", "--quick", "--out", "out") == 70
    failure, kept = capsys.readouterr().err.splitlines()
    assert failure.startswith("weft: tiny/unjudged: ")
    assert kept == "weft: the measurements of these runs are in out/tiny-unjudged.parquet"
    assert (pl.read_parquet("out/tiny-unjudged.parquet")["fct_ms"] > 0).all()
    assert names("out") == {"tiny-unjudged.parquet"} | (FILES if others else set())


def test_figure_that_the_machine_cannot_run_is_not_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.install(monkeypatch, "bad", "good", error=RequirementError("needs root"))
    assert reproduce("tiny", "--json", "--quick", "--out", "out") == 0
    shown = capsys.readouterr()
    assert shown.err == "weft: tiny/bad: needs root\n"
    document = json.loads(shown.out)
    assert document["skipped"] == [{"figure": "tiny/bad", "error": "needs root"}]
    assert (document["failed"], document["left_out"]) == ([], [])
    assert "tiny/bad: needs root" in Path("out/index.html").read_text()
    assert reproduce("tiny/bad", "--quick") == 3
    assert capsys.readouterr().err == "weft: tiny/bad: needs root\n"


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_keeps_finished_figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good", "long", "other")
    assert reproduce("tiny", "--json", "--quick", "--out", "out") == 130
    shown = capsys.readouterr()
    assert shown.err == "weft: stopped; the finished figures are in out, marked partial\n"
    document = json.loads(shown.out)
    assert document["partial"] is True
    assert document["left_out"] == ["tiny/long", "tiny/other"]
    assert names("out") == FILES
    page = Path("out/index.html").read_text()
    assert "Partial" in page
    assert "tiny/long, tiny/other" in page


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_before_any_has_ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "long", "good")
    assert reproduce("tiny", "--quick") == 130
    assert capsys.readouterr().err == "weft: stopped\n"
    assert list(Path().iterdir()) == []


def test_table_of_a_paper(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good", "other")
    assert reproduce("tiny", "--quick") == 0
    shown = capsys.readouterr().out
    assert "tiny/good" in shown
    assert "tiny/other" in shown
    assert "Open weft-tiny/index.html" in shown


def test_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.install(monkeypatch, "good")
    assert reproduce("--list") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "tiny/good" in line)
    assert line.split()[-4:] == ["2.0", "s", "1.0", "s"]
    assert reproduce("--list", "--json") == 0
    assert printed(capsys) == [
        {
            "figure": "tiny/good",
            "cores": 2,
            "title": tiny.TITLES["good"],
            "level": "packet",
            "seconds": 2,
            "quick_seconds": 1,
        }
    ]
